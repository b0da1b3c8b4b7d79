"""Takes streams of tuples, returns a stream of what begins and ends, by a Yield index in each of a few buckets.

`script` says which tuples go to which bucket, `bucket` is an index at work, `processor` keeps the log of each bucket in
Spark's state store, `stages` brings rows into buckets and matches out of them, `run` follows the tuples of a pipeline.
"""
