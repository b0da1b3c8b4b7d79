"""Ids that lead to others along the rows of an index, round after round."""

from __future__ import annotations

from tidelog.kernels.jit import kernel, prefetch


@kernel
def follow_path(ids, begin, end, found, seen, starts, counts, payload, most, ends):
    """Rounds that begin with ids[begin:end], until `most` ids or more are new: (rounds, ids found, derived).

    An id leads to what stands in its block (see `blocks`). What is not marked in `seen`, a byte for each id, is written
    behind the `found` ids that there are; ends[r] is their number after round r. A round that finds no room is none,
    but what it has found stays.
    """
    derived = rounds = 0
    while begin < end and (rounds == 0 or end - begin < most) and rounds < ends.size:
        total = 0
        for i in range(begin, end):
            if ids[i] < starts.size:
                total += counts[ids[i]]
                prefetch(payload, starts[ids[i]])
        if found + total >= ids.size:
            break
        for i in range(begin, end):
            if ids[i] >= starts.size:
                continue
            first = starts[ids[i]]
            for j in range(first, first + counts[ids[i]]):
                identity = payload[j]
                if identity >= seen.size:
                    return rounds, found, derived
                ids[found] = identity
                found += seen[identity] == 0
                seen[identity] = 1
        begin, end = end, found
        ends[rounds] = found
        rounds += 1
        derived += total
    return rounds, found, derived
