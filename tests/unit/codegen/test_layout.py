"""Boxes in layers: none covers another, and edges lead down but for those that close a cycle."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.codegen.layout import Layout, Place, lay_out

names = st.integers(0, 14).map(str)
sizes = st.dictionaries(names, st.tuples(st.floats(10, 300), st.floats(10, 90)), max_size=15)


@settings(max_examples=100)
@given(sizes, st.lists(st.tuples(names, names), max_size=30))
def test_no_box_covers_another_and_edges_lead_down(
    boxes: dict[str, tuple[float, float]], pairs: list[tuple[str, str]]
) -> None:
    edges = [edge for edge in pairs if edge[0] in boxes and edge[1] in boxes and edge[0] != edge[1]]
    layout = lay_out(boxes, edges)
    assert layout.places.keys() == boxes.keys()
    assert not any(covers(one, other) for one, other in combinations(layout.places.values(), 2))
    assert all(leads(edge, layout) for edge in edges)
    assert all(at.x - at.width / 2 >= -0.01 and at.x + at.width / 2 <= layout.width + 0.01 for at in places(layout))


def test_a_graph_without_cycles_has_no_edge_that_leads_up() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("b", "d")]
    assert lay_out(dict.fromkeys("abcd", (50.0, 20.0)), edges).back == frozenset()


def test_of_a_cycle_one_edge_leads_up() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "b")]
    assert lay_out(dict.fromkeys("abc", (50.0, 20.0)), edges).back == {("c", "b")}


def test_parts_without_a_connection_stand_side_by_side() -> None:
    layout = lay_out(dict.fromkeys("abcd", (50.0, 20.0)), [("a", "b"), ("c", "d")])
    assert layout.places["a"].y == layout.places["c"].y


def places(layout: Layout) -> list[Place]:
    return [*layout.places.values()]


def covers(one: Place, other: Place) -> bool:
    across = abs(one.x - other.x) < (one.width + other.width) / 2 - 0.01
    return across and abs(one.y - other.y) < (one.height + other.height) / 2 - 0.01


def leads(edge: tuple[str, str], layout: Layout) -> bool:
    """Whether the edge leads up or down as the layout says."""
    source, target = (layout.places[name] for name in edge)
    return (source.y > target.y) if edge in layout.back else (source.y < target.y)
