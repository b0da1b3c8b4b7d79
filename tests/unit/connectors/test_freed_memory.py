import pytest

from tidelog.connectors import freed_memory
from tidelog.connectors.freed_memory import Kept

FEW, SOME, MANY = 1 << 18, 3 << 20, 1 << 25


@pytest.mark.parametrize(
    ("free", "given_back"),
    [
        ([0, FEW], 0),
        ([0, MANY], 1),
        ([MANY, MANY + FEW], 0),
        ([0, SOME, SOME, 2 * SOME], 1),
        ([0, SOME, SOME, FEW, FEW, SOME], 0),
        ([0, MANY, 0, SOME], 1),
        ([None, None], 1),
    ],
)
def test_what_loads_freed_goes_back_once_it_is_much(monkeypatch, free, given_back):
    said, kept, trimmed = iter(free), Kept(), []
    monkeypatch.setattr(freed_memory, "_free_bytes", lambda: next(said))
    monkeypatch.setattr(freed_memory, "_malloc_trim", lambda: trimmed.append)
    for _ in range(len(free) // 2):
        with kept.freeing():
            pass
    assert trimmed == [0] * given_back


def test_what_the_c_library_keeps_is_a_number_of_bytes_where_it_says():
    free = freed_memory._free_bytes()
    assert free is None or 0 <= free < 1 << 40
