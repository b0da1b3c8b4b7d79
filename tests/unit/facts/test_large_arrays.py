"""Memory of large arrays is used again once nobody has it, and never before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tidelog.facts import large_arrays
from tidelog.facts.large_arrays import empty, zeros

MUCH = 1 << 23

pytestmark = pytest.mark.skipif(not large_arrays._HAS_LARGE_PAGES, reason="without large pages nothing is kept")


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_arrays, "_kept", [])


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def kept_bytes() -> int:
    return sum(each.taken for each in large_arrays._kept)


def filled(array: np.ndarray) -> np.ndarray:
    array[:] = 1
    return array


def test_an_array_has_the_shape_and_the_kind_that_was_asked_for():
    for rows in (3, MUCH // 8):
        found = empty((rows, 2), np.int32)
        assert (found.shape, found.dtype, found.flags.writeable) == ((rows, 2), np.int32, True)
        found[:] = 7
        assert found.sum() == 14 * rows


def test_memory_that_nobody_has_is_used_again():
    first = empty((MUCH,), np.uint8)
    place = address(first)
    del first
    assert address(empty((MUCH - 5,), np.uint8)) == place


def test_a_view_keeps_its_memory():
    first = empty((MUCH,), np.uint8)
    first[:] = 1
    view = first[100:1100].view(np.int32).reshape(-1, 5)[3:4, 1:]
    del first
    other = zeros(MUCH, np.uint8)
    other[:] = 2
    assert (view == 0x01010101).all()


def test_zeros_are_zeros_also_where_something_was_before():
    size = 3 * large_arrays._MOST_OF_ONE
    first = zeros(size, np.uint8)
    place = address(first)
    first[:] = 255
    del first
    found = zeros(size, np.uint8)
    assert address(found) == place
    assert not found.any()


def test_plenty_of_room_does_not_take_the_memory_of_what_is_written_to_everywhere():
    full, plenty = zeros(MUCH, np.uint8), empty((MUCH,), np.uint8)
    of_full, of_plenty = address(full), address(plenty)
    del full, plenty
    assert address(empty((MUCH // 2,), np.uint8)) == of_plenty
    assert address(zeros(MUCH, np.uint8)) == of_full


def test_an_array_does_not_take_full_memory_of_twice_its_size():
    first = zeros(MUCH, np.uint8)
    place = address(first)
    del first
    assert address(zeros(MUCH // 2, np.uint8)) != place
    assert address(zeros(MUCH // 2 + 1, np.uint8)) == place


def test_what_was_never_written_to_leaves_room_for_others():
    some = [empty((MUCH,), np.uint8) for _ in range(2 * large_arrays._MOST_KEPT // MUCH)]
    many = len(some)
    while some:
        del some[0]
    assert len(large_arrays._kept) == many


def test_small_arrays_leave_what_is_kept_alone():
    del [filled(zeros(MUCH, np.uint8))][:]
    assert kept_bytes() == MUCH
    assert not zeros(100, np.int64).any()
    empty((100, 2), np.int32)[:] = 1
    assert kept_bytes() == MUCH


def test_no_more_is_kept_than_may_be():
    some = [filled(zeros(MUCH, np.uint8)) for _ in range(2 * large_arrays._MOST_KEPT // MUCH)]
    last = address(some[-1])
    while some:
        del some[0]
    assert 0 < kept_bytes() <= large_arrays._MOST_KEPT
    assert last in [each.address for each in large_arrays._kept]


def test_threads_never_have_the_same_memory():
    def use(number: int) -> bool:
        for _ in range(50):
            mine = empty((MUCH,), np.uint8)
            mine[:: 1 << 12] = number
            if not (mine[:: 1 << 12] == number).all():
                return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(use, range(4)))
