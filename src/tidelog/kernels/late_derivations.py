"""The derivations that late news has to do with, and the facts that they are made of, numbered as they are met.

A derivation is a row. Each row of `places` makes a fact of it: of the columns that it names, and of ~n where n stands
itself; the first `uses_of_one` of these facts are used, the others asked for, and `signs` are added to their doubled
numbers in `uses` and `asks` (see `kernels.late_news`). See `production.late.timelines`.
"""

from __future__ import annotations

from tidelog.kernels.jit import inlined, lean
from tidelog.kernels.row_table import number_rows


@lean
def meet_derivations(
    found, numbers, slots, rows, count, whole_row, places, signs, uses_of_one, rule, fact_slots, fact_rows, fact_count,
    fact, whole_fact, begin, uses, asks, rules, is_asked,
):  # fmt: skip
    """Numbers the derivations `found`, takes in those not seen before, and numbers the facts that these are made of.

    All tables have room. Those taken in stand in `uses`, `asks` and `rules` from `begin` on. Returns the new counts of
    derivations and of facts.
    """
    _, known = number_rows(slots, rows, count, found, whole_row, 0, found.shape[0], numbers)
    for new in range(count, known):
        fact_count = _take_in(
            rows, new, places, signs, uses_of_one, rule, fact_slots, fact_rows, fact_count, fact, whole_fact, numbers,
            begin + new - count, uses, asks, rules, is_asked,
        )  # fmt: skip
    return known, fact_count


@lean
def follow_join(
    queue, cursor, queued, most, is_expanded, relation, key, starts, counts, payload, keep, take, row, numbers, slots,
    rows, count, whole_row, places, signs, uses_of_one, rule, fact_slots, fact_rows, fact_count, fact, whole_fact,
    begin, uses, asks, rules, is_asked,
):  # fmt: skip
    """Meets the derivations that one join finds for facts of one relation in `queue`, from `cursor` on.

    A fact is joined with the block of an index (see `kernels.blocks`) that its column `key` names, the first if that is
    negative. A column of a derivation is the one of the fact that `keep` names, or of `payload` that `take` names. What
    derivations ask for is queued, unless it has been before or there are `most`. Derivations stand from `begin` on.
    Returns the new cursor, and how many facts are queued and derivations and facts known; it stops before the end of
    the queue where there is no room for a derivation more.
    """
    known = count
    most_derivations = min(slots.size - slots.size // 4, rows.shape[0], count + rules.size - begin)
    most_facts = min(fact_slots.size - fact_slots.size // 4, fact_rows.shape[0], is_asked.size) - places.shape[0]
    while cursor < queued:
        number = queue[cursor]
        if fact_rows[number, 0] == relation:
            group = fact_rows[number, 1 + key] if key >= 0 else 0
            first = starts[group] if group < starts.size else 0
            behind = first + counts[group] if group < starts.size else 0
            for match in range(first, behind):
                has_room = min(most, queued + asks.shape[1]) <= queue.size
                if known >= most_derivations or fact_count > most_facts or not has_room:
                    return cursor, queued, known, fact_count
                for column in range(keep.size):
                    kept = keep[column]
                    row[0, column] = fact_rows[number, 1 + kept] if kept >= 0 else payload[match, take[column]]
                before = known
                _, known = number_rows(slots, rows, known, row, whole_row, 0, 1, numbers)
                if known == before:
                    continue
                derivation = begin + before - count
                fact_count = _take_in(
                    rows, before, places, signs, uses_of_one, rule, fact_slots, fact_rows, fact_count, fact, whole_fact,
                    numbers, derivation, uses, asks, rules, is_asked,
                )  # fmt: skip
                for place in range(places.shape[0] - uses_of_one):
                    asked = asks[derivation, place] >> 1
                    if queued < most and not is_expanded[asked]:
                        is_expanded[asked] = True
                        queue[queued] = asked
                        queued += 1
        cursor += 1
    return cursor, queued, known, fact_count


@inlined
def _take_in(
    rows, new, places, signs, uses_of_one, rule, fact_slots, fact_rows, fact_count, fact, whole_fact, numbers,
    derivation, uses, asks, rules, is_asked,
):  # fmt: skip
    """Numbers the facts of the derivation rows[new], which is to stand at `derivation`; returns how many are known."""
    rules[derivation] = rule
    for place in range(places.shape[0]):
        for column in range(places.shape[1]):
            source = places[place, column]
            fact[0, column] = rows[new, source] if source >= 0 else ~source
        _, fact_count = number_rows(fact_slots, fact_rows, fact_count, fact, whole_fact, 0, 1, numbers)
        number = numbers[0]
        if place < uses_of_one:
            uses[derivation, place] = 2 * number + signs[place]
        else:
            asks[derivation, place - uses_of_one] = 2 * number + signs[place]
            is_asked[number] = True
    return fact_count
