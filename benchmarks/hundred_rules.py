"""One run of a hundred rules that are all worth compiling: the first answer must not wait for that.

`python -m benchmarks.hundred_rules TIER` prints as JSON what it took, and how many rules code was asked for. Rules are
compiled after a twentieth of the usual time here, so that it does not take a minute.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from unittest.mock import patch

import tidelog
from benchmarks.compilers import ended_compilers
from tidelog import Tier
from tidelog.backends.local import tiers
from tidelog.kernels.jit import use_compiled

RULES, NODES, EDGES = 100, 400, 120
SOONER = 20


def program() -> str:
    """Each rule joins the relation of the one before with edges, the first that of the last."""
    texts = [".decl edge(x: number, y: number)", *(f".decl p{each}(x: number, y: number)" for each in range(RULES))]
    texts.append("p0(x, y) :- edge(x, y).")
    texts += [f"p{(each + 1) % RULES}(x, z) :- p{each}(x, y), edge(y, z), x != {each}." for each in range(RULES)]
    return "\n".join(texts)


def run(tier: Tier) -> dict[str, float]:
    """Seconds up to the answer, and the number of rules that another process was asked to compile."""
    asked: set[int] = set()

    def wait(self: tiers.Tiers, candidate: tiers.Candidate) -> None:
        asked.add(id(candidate.node))
        waits(self, candidate)

    edges = [(number, (7_919 * number + 31 * step) % NODES) for number in range(NODES) for step in range(EDGES)]
    waits = tiers.Tiers._wait
    worth = patch.multiple(
        tiers, WORTH_COMPILING=tiers.WORTH_COMPILING / SOONER, WORTH_LOADING=tiers.WORTH_LOADING / SOONER
    )
    with worth, patch.object(tiers.Tiers, "_wait", wait):
        started = perf_counter()
        with tidelog.open(program(), tier=tier, maintenance=tidelog.Maintenance(modules=False)) as session:
            session.insert("edge", edges)
            session.materialize()
            return {"seconds": perf_counter() - started, "asked": len(asked)}


if __name__ == "__main__":
    use_compiled()
    with ended_compilers():
        print(json.dumps(run(Tier(sys.argv[1]))))
