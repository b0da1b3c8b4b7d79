"""Takes rows from files, databases and frames and gives Arrow tables of a relation's schema; and the way back.

`read_input` and `write_outputs` carry out a program's directives, `to_table` takes what Python code has at hand,
`open_source` and `open_sink` go by the suffix of a file.
"""

from tidelog.connectors.directives import read_input, write_outputs
from tidelog.connectors.frames import to_pandas, to_polars, to_rows, to_table
from tidelog.connectors.parameters import check_directive, check_directives
from tidelog.connectors.protocol import Options, Sink, Source, open_sink, open_source

__all__ = [
    "Options",
    "Sink",
    "Source",
    "check_directive",
    "check_directives",
    "open_sink",
    "open_source",
    "read_input",
    "to_pandas",
    "to_polars",
    "to_rows",
    "to_table",
    "write_outputs",
]
