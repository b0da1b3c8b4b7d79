"""How much the components of a graph reach, estimated in one pass over the edges.

For each component a few registers stand for the set that it reaches, and the registers of a union are the greater ones
(HyperLogLog, Flajolet and others 2007). One estimate is wrong by a fifth or so, their sum by less.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import ONE, count_ones
from tidelog.kernels.jit import kernel

REGISTERS = 32

_CORRECTION = 0.697 * REGISTERS * REGISTERS
_FEW = 2.5 * REGISTERS
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(32)
_LAST = np.uint64(REGISTERS - 1)
_USED = np.uint64(5)


@kernel
def estimate_reach(order, begins, slots, starts, counts, payload, slot_of, registers):
    """About how many slots all components have in their rows. They come after all that they reach.

    `registers` are zeros, REGISTERS for each slot.
    """
    total = 0.0
    for k in range(slots.size):
        slot = slots[k]
        for i in range(begins[k], begins[k + 1]):
            node = order[i]
            for e in range(starts[node], starts[node] + counts[node]):
                target = slot_of[payload[e, 0]]
                if target != slot:
                    for r in range(np.uint64(REGISTERS)):
                        registers[slot, r] = max(registers[slot, r], registers[target, r])
                _note(target, registers, slot)
        total += _estimate(registers, slot)
    return total


@kernel
def _note(target, registers, slot):
    hashed = np.uint64(target + 1) * _SPREAD
    hashed = (hashed ^ (hashed >> _FOLD)) * _SPREAD
    hashed ^= hashed >> _FOLD
    rest = (hashed >> _USED) | (ONE << np.uint64(50))
    zeros = count_ones((rest & (~rest + ONE)) - ONE)
    register = hashed & _LAST
    registers[slot, register] = max(registers[slot, register], np.uint8(zeros + 1))


@kernel
def _estimate(registers, slot):
    unused = 0
    total = 0.0
    for r in range(REGISTERS):
        unused += registers[slot, r] == 0
        total += 1.0 / np.float64(ONE << np.uint64(registers[slot, r]))
    estimate = _CORRECTION / total
    if estimate <= _FEW and unused:
        estimate = REGISTERS * np.log(REGISTERS / unused)
    return estimate
