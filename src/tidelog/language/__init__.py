"""The language: takes rules as text or as Python calls, returns a `Program`; and writes programs back as text."""

from tidelog.language.embedded import rules, variables
from tidelog.language.formatter import format_text
from tidelog.language.parser import parse, parse_file, parse_query
from tidelog.language.printer import print_literal, print_program, print_rule, print_term

__all__ = [
    "format_text",
    "parse",
    "parse_file",
    "parse_query",
    "print_literal",
    "print_program",
    "print_rule",
    "print_term",
    "rules",
    "variables",
]
