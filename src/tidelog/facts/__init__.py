"""Rows at rest: values as dense ids (`values`), relations as append-only arrays of ids (`relation`), and the sets that
keep rows apart (`membership`). Outside the engine rows are Arrow tables (`columns`)."""
