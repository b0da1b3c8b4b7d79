"""What `make demo` shows: a program, its answers, and what one more fact changes."""

from __future__ import annotations

import time
from os.path import relpath
from pathlib import Path

import tidelog

FOLDER = Path(__file__).parent / "exposure"
TRY_NEXT = """\
What to try next:
  .venv/bin/tidelog query examples/exposure/program.dl 'needs("web-frame", X)' -F examples/exposure/facts
  .venv/bin/tidelog run   examples/exposure/program.dl -F examples/exposure/facts -D /tmp
  .venv/bin/tidelog plan  examples/exposure/program.dl
  docs/tutorial/first-program.md     your first program, step by step
  make test                          everything that is checked, checked here
"""


def main() -> None:
    program = tidelog.parse_file(FOLDER / "program.dl")
    print(f"Which services run a package with a known weakness?  ({relpath(FOLDER / 'program.dl')})\n")
    started = time.perf_counter()
    with tidelog.open(program) as db:
        facts = db.load_inputs(FOLDER / "facts")
        db.materialize()
        spent = time.perf_counter() - started
        print(f"{facts} facts read, {len(db['needs'])} dependencies followed, all rules answered in {spent:.2f} s\n")
        print(db["risk"], db["safe"], sep="\n\n")

        print("\nNow retry depends on text-codec: one fact more.\n")
        db.insert("depends", [("retry", "text-codec")])
        print(db.query('exposed("scheduler", Package, Severity)'), end="\n\n")
    print(TRY_NEXT)


if __name__ == "__main__":
    main()
