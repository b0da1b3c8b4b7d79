"""Takes rule plans and Arrow tables, returns Arrow tables: the engine in this process.

`translate` turns a plan into a `body` (a source, steps, a head); `steps` join batches of ids by `indexes` of the
`store` through compiled kernels; `team` shares the work of a body between threads; `backend` is the door.
"""
