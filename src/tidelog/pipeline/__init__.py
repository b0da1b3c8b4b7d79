"""Takes a pipeline file, or a program and DataFrames, returns answers on Spark that are kept true.

`config` says what a pipeline file says, `flow` is the open pipeline, `run` and `follow` are its commands.
"""
