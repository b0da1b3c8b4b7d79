"""Arrays in, arrays out: the loops that run compiled.

Each file holds plain Python functions over NumPy arrays, marked with `kernel`. They run as they stand for small work
and through Numba for the rest (see `jit`); both give the same arrays. Nothing here knows relations, rules or values.
"""
