"""Counts of operations by fact: takes steps, returns sums and records (see `production.chain_columns`)."""

from __future__ import annotations

from tidelog.kernels.jit import lean


@lean
def sum_by_fact(facts, added, deleted, places, out_facts, out_added, out_deleted):
    """Writes each fact once, with the sums of its counts; returns how many there are.

    `places` has a -1 for each fact, before and after.
    """
    found = 0
    for i in range(facts.size):
        place = places[facts[i]]
        if place < 0:
            place = found
            places[facts[i]] = place
            out_facts[place] = facts[i]
            out_added[place] = 0
            out_deleted[place] = 0
            found += 1
        out_added[place] += added[i]
        out_deleted[place] += deleted[i]
    kept = 0
    for place in range(found):
        places[out_facts[place]] = -1
        if out_added[place] != 0 or out_deleted[place] != 0:
            out_facts[kept] = out_facts[place]
            out_added[kept] = out_added[place]
            out_deleted[kept] = out_deleted[place]
            kept += 1
    return kept


@lean
def records_of_steps(order, facts, iterations, added, deleted, never, out_facts, out_first, out_last, out_counts):
    """Writes the records that steps make, which `order` sorts by fact and iteration; returns how many there are.

    A record goes from where counts are what they are to where they change, or to `never`; there is none where both
    are 0.
    """
    found = 0
    is_open = False
    fact = -1
    more = less = 0
    i = 0
    while i < order.size:
        first = order[i]
        iteration = iterations[first]
        if facts[first] != fact:
            if is_open:
                out_last[found - 1] = never
            is_open = False
            fact = facts[first]
            more = less = 0
        before, before_less = more, less
        while i < order.size and facts[order[i]] == fact and iterations[order[i]] == iteration:
            more += added[order[i]]
            less += deleted[order[i]]
            i += 1
        if more == before and less == before_less:
            continue
        if is_open:
            out_last[found - 1] = iteration
        is_open = more != 0 or less != 0
        if is_open:
            out_facts[found] = fact
            out_first[found] = iteration
            out_counts[found, 0] = more
            out_counts[found, 1] = less
            found += 1
    if is_open:
        out_last[found - 1] = never
    return found


@lean
def find_keys(keys, places, count, wanted, found):
    """Writes the place of each wanted key among `count` sorted ones, -1 where it is not; returns how many are there.

    With `places`, only the first key of each run of neighbours is in `keys`, and its place beside it.
    """
    hits = 0
    for at in range(wanted.size):
        key = wanted[at]
        low, high = 0, keys.size
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] <= key:
                low = middle + 1
            else:
                high = middle
        run = low - 1
        found[at] = -1
        if run < 0:
            continue
        if places.size == 0:
            if keys[run] == key:
                found[at] = run
                hits += 1
        else:
            place = places[run] + (key - keys[run])
            end = places[low] if low < places.size else count
            if place < end:
                found[at] = place
                hits += 1
    return hits
