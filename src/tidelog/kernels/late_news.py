"""Two runs side by side, iteration after iteration: the old one, whose records are known, and one with late news.

Facts are numbers. Of each it is known whether the old run has it (`is_there`), whether the new one does not agree
(`differs`), and which of its `records` is the first that has not ended (`at`, the last one is before `ends`): rows of
first iteration, iteration behind the last, additions, deletions. Columns of counts are additions and deletions.
See `production.late.timelines`.
"""

from __future__ import annotations

from tidelog.kernels.jit import inlined, lean

REACHED, MEETS_MORE, NEEDS_ROOM, AGREES = range(4)
"""Why `go_on` stops: it came as far as it should, facts differ whose derivations are not known yet, there is no room
for what it says, or nothing is different any more."""


@lean
def go_on(
    number, until, steady, fact_count, derivation_count, is_there, differs, is_expanded, at, ends, records,
    coming, taken, news, more, noted, uses, asks, rules, moved, steps, spans, counts,
):  # fmt: skip
    """Goes from iteration `number` to `until` or less far; returns where it is and why it stops.

    `steps` gets what rules ask for more than in the iteration before: fact, iteration, additions, deletions. `spans`
    gets iterations that are alike: the first, the one behind the last, how many facts more than in the old run move in
    the first; `counts` beside it how many more derivations of each rule hold. `taken` has how many of `coming`, of
    `steps` and of `spans` there are so far.
    """
    while number < until:
        is_ready = arrive(number, fact_count, differs, is_expanded, at, ends, records, coming, taken, news)
        if is_ready == 0:
            return number, MEETS_MORE
        if taken[1] + fact_count > steps.shape[0] or taken[2] == spans.shape[0]:
            return number, NEEDS_ROOM
        ask(fact_count, derivation_count, is_there, differs, more, uses, asks, rules, counts, taken)
        moves = settle(
            number, fact_count, is_there, differs, at, ends, records, news, more, noted, moved, steps, spans, taken
        )
        after = number + 1
        if moves == 0 and after < until:
            after = next_change(number, until, fact_count, at, ends, records, coming, taken)
        spans[taken[2] - 1, 1] = after
        if number < steady and taken[0] == coming.shape[0] and not any_differs(fact_count, differs):
            return number + 1, AGREES
        number = after
    return number, REACHED


@lean
def take_records(
    iteration, facts, is_first, places, first, last, added, deleted, records, begin, is_there, was_first, begins, at,
    ends,
):  # fmt: skip
    """Writes the records of facts from `begin` on, and whether the old run has these facts before an iteration.

    Records are sorted, and `places` are those of their facts in `facts`.
    """
    record = 0
    for place in range(facts.size):
        fact = facts[place]
        was_first[fact] = is_first[place]
        begins[fact] = at[fact] = begin + record
        status = is_first[place]
        while record < places.size and places[record] == place:
            records[begin + record, 0] = first[record]
            records[begin + record, 1] = last[record]
            records[begin + record, 2] = added[record]
            records[begin + record, 3] = deleted[record]
            if first[record] < iteration:
                status = settled(status, added[record], deleted[record])
            record += 1
        is_there[fact] = status
        ends[fact] = begin + record


@lean
def arrive(number, fact_count, differs, is_expanded, at, ends, records, coming, taken, news):
    """Makes everything as it is in an iteration; whether all that differs was met with its derivations."""
    while taken[0] < coming.shape[0] and coming[taken[0], 1] <= number:
        fact = coming[taken[0], 0]
        news[fact, 0] += coming[taken[0], 2]
        news[fact, 1] += coming[taken[0], 3]
        taken[0] += 1
    is_ready = 1
    for fact in range(fact_count):
        while at[fact] < ends[fact] and records[at[fact], 1] <= number:
            at[fact] += 1
        if differs[fact] and not is_expanded[fact]:
            is_ready = 0
    return is_ready


@lean
def ask(fact_count, derivation_count, is_there, differs, more, uses, asks, rules, counts, taken):
    """Sets `more` to how often facts are added and deleted more in the new run, and the next row of `counts`.

    A derivation uses facts, doubled, and one more where it must not be there; it asks for facts, doubled, and one more
    where they are deleted. -1 is none.
    """
    for fact in range(fact_count):
        more[fact, 0] = 0
        more[fact, 1] = 0
    span = taken[2]
    for rule in range(counts.shape[1]):
        counts[span, rule] = 0
    for derivation in range(derivation_count):
        was = now = True
        for place in range(uses.shape[1]):
            use = uses[derivation, place]
            if use < 0:
                break
            fact = use >> 1
            is_used = is_there[fact] != (use & 1 == 1)
            was = was and is_used
            now = now and is_used != differs[fact]
        if was != now:
            times = 1 if now else -1
            counts[span, rules[derivation]] += times
            for place in range(asks.shape[1]):
                asked = asks[derivation, place]
                if asked < 0:
                    break
                more[asked >> 1, asked & 1] += times


@lean
def settle(number, fact_count, is_there, differs, at, ends, records, news, more, noted, moved, steps, spans, taken):
    """Goes behind an iteration (COMPUTE_NEW); returns how many facts move in it, in one run or the other.

    `moved` is 1 for facts that come in the new run, 2 for those that go, and 0.
    """
    old = new = 0
    for fact in range(fact_count):
        if more[fact, 0] != noted[fact, 0] or more[fact, 1] != noted[fact, 1]:
            step = taken[1]
            steps[step, 0] = fact
            steps[step, 1] = number
            steps[step, 2] = more[fact, 0] - noted[fact, 0]
            steps[step, 3] = more[fact, 1] - noted[fact, 1]
            taken[1] += 1
            noted[fact, 0] = more[fact, 0]
            noted[fact, 1] = more[fact, 1]
        added = deleted = 0
        if at[fact] < ends[fact] and records[at[fact], 0] <= number:
            added = records[at[fact], 2]
            deleted = records[at[fact], 3]
        was = is_there[fact]
        now = was != differs[fact]
        will = settled(was, added, deleted)
        after = settled(now, added + more[fact, 0] + news[fact, 0], deleted + more[fact, 1] + news[fact, 1])
        moved[fact] = 0
        if was != will:
            old += 1
        if now != after:
            new += 1
            moved[fact] = 1 if after else 2
        is_there[fact] = will
        differs[fact] = will != after
    spans[taken[2], 0] = number
    spans[taken[2], 1] = number + 1
    spans[taken[2], 2] = new - old
    taken[2] += 1
    return old + new


@inlined
def settled(is_there, added, deleted):
    """Whether a fact is there after so many operations."""
    if (added > 0) == (deleted > 0):
        return is_there
    return added > 0


@lean
def next_change(number, until, fact_count, at, ends, records, coming, taken):
    """The next iteration that is not as this one, in which nothing moves; `until` if there is none before."""
    found = until
    if taken[0] < coming.shape[0]:
        found = min(found, coming[taken[0], 1])
    for fact in range(fact_count):
        if at[fact] < ends[fact]:
            first, last = records[at[fact], 0], records[at[fact], 1]
            found = min(found, first if first > number else last)
    return found


@lean
def any_differs(fact_count, differs):
    """Whether a fact differs."""
    for fact in range(fact_count):
        if differs[fact]:
            return True
    return False
