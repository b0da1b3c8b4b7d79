"""`python -m benchmarks.counter_cost`: what a counter for each fact would cost (docs/decisions/0007).

A derived pair is looked up among 1.3 million, as the engine does it, and as it would have to be done if each fact
counted its derivations: its number is found, and the counter at that number grows.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from tidelog.facts.membership import PairSet, Rows, RowSet
from tidelog.kernels.jit import kernel, use_compiled

FACTS = 1_300_000
BATCH = 1 << 16
BATCHES = 200
ANDERSEN = 45_000_000
"""The derivations of andersen from nothing."""


def main() -> None:
    use_compiled()
    measure(2)
    known, counted = measure(BATCHES)
    print(f"looked up: {known * 1e9:.0f} ns a derivation, {known * ANDERSEN:.1f} s for andersen")
    print(f"counted:   {counted * 1e9:.0f} ns a derivation, {counted * ANDERSEN:.1f} s for andersen")
    print(f"ratio:     {counted / known:.1f}")


def measure(batches: int) -> tuple[float, float]:
    """Seconds of the processor for each derivation, without and with a counter."""
    random = np.random.default_rng(1)
    facts = some_pairs(random)
    held, numbers, counters = PairSet(), RowSet(2), np.zeros(len(facts), np.int64)
    held.add(facts, np.empty((len(facts) + 1, 2), np.int32), 0)
    numbers.enter(facts, np.arange(len(facts)))
    looked_up = counted = 0.0
    for _ in range(batches):
        derived = facts[random.integers(0, len(facts), BATCH)]
        started = process_time()
        held.unknown(derived)
        between = process_time()
        count(counters, numbers.find(derived, np.arange(2)))
        looked_up, counted = looked_up + between - started, counted + process_time() - between
    return looked_up / (batches * BATCH), counted / (batches * BATCH)


def some_pairs(random: np.random.Generator) -> Rows:
    """Different pairs in which some second ids are far more frequent than others."""
    sources = random.integers(0, 30_000, 2 * FACTS, dtype=np.int32)
    targets = (random.zipf(1.3, 2 * FACTS) % 50_000).astype(np.int32)
    pairs = np.unique(np.stack([sources, targets], axis=1), axis=0)[:FACTS]
    return np.ascontiguousarray(random.permutation(pairs))


@kernel
def count(counters, numbers):  # type: ignore[no-untyped-def]
    """Adds one to the counter of each number."""
    for i in range(numbers.size):
        counters[numbers[i]] += 1


if __name__ == "__main__":
    main()
