import pytest

from tidelog.connectors import freed_memory
from tidelog.connectors.freed_memory import give_back_freed_memory


@pytest.mark.parametrize(("free", "given_back"), [(1 << 20, []), (1 << 30, [0])])
def test_only_much_memory_is_given_back(monkeypatch, free, given_back):
    kept = []
    monkeypatch.setattr(freed_memory, "_free_bytes", lambda: free)
    monkeypatch.setattr(freed_memory, "_malloc_trim", lambda: kept.append)
    give_back_freed_memory()
    assert kept == given_back


def test_what_the_c_library_keeps_is_less_than_a_machine_has_where_it_says():
    assert freed_memory._free_bytes() >= 0
