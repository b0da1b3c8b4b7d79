"""Which signature each call of a rule has. Takes calls over nodes, narrows the nodes, returns what does not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidelog.analysis.unify import Nodes
from tidelog.analysis.wording import conversion, listed, with_article
from tidelog.errors import Diagnostic
from tidelog.language.functions import FUNCTIONS, Notation, Signature
from tidelog.language.syntax_tree import Call
from tidelog.schema import Kind


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call whose signature may still be one of several."""

    call: Call
    operands: tuple[int, ...]
    result: int
    candidates: tuple[Signature, ...]


def solve(calls: list[PendingCall], nodes: Nodes) -> list[Diagnostic]:
    """Decides every call. Where the rule leaves several signatures possible, the first of them is taken."""
    diagnostics: list[Diagnostic] = []
    while calls:
        waiting, found = settle(calls, nodes)
        diagnostics += found
        if waiting == calls:
            first = waiting[0]
            waiting[0] = replace(first, candidates=first.candidates[:1])
        calls = waiting
    return diagnostics


def settle(calls: list[PendingCall], nodes: Nodes) -> tuple[list[PendingCall], list[Diagnostic]]:
    """The calls that are still open after looking at each once, and a diagnostic for each that no signature fits."""
    waiting: list[PendingCall] = []
    diagnostics: list[Diagnostic] = []
    for pending in calls:
        fitting = tuple(signature for signature in pending.candidates if _fits(signature, pending, nodes))
        if not fitting:
            diagnostics.append(_no_signature(pending, nodes))
            nodes.give_up(pending.result)
            continue
        _narrow(pending, fitting, nodes)
        if len(fitting) > 1:
            waiting.append(replace(pending, candidates=fitting))
    return waiting, diagnostics


def _fits(signature: Signature, pending: PendingCall, nodes: Nodes) -> bool:
    return signature.result in nodes.allowed(pending.result) and all(
        kind in nodes.allowed(node) for kind, node in zip(signature.operands, pending.operands, strict=True)
    )


def _narrow(pending: PendingCall, fitting: tuple[Signature, ...], nodes: Nodes) -> None:
    """Says about the operands and the result what all fitting signatures say."""
    nodes.narrow(pending.result, frozenset(signature.result for signature in fitting), pending.call.span)
    for position, node in enumerate(pending.operands):
        kinds = frozenset(signature.operands[position] for signature in fitting)
        nodes.narrow(node, kinds, pending.call.arguments[position].span)
    if all(set(signature.operands) == {signature.result} for signature in fitting):
        for node in pending.operands:
            nodes.unify(pending.result, node)


def _no_signature(pending: PendingCall, nodes: Nodes) -> Diagnostic:
    function = FUNCTIONS[pending.call.function]
    given = [nodes.allowed(node) for node in pending.operands]
    signatures = function.takes(len(pending.operands))
    spelled = "-" if function.name == "neg" else function.name
    return Diagnostic(
        "D303",
        f"'{spelled}' cannot be applied to {listed([with_article(kinds) for kinds in given], 'and')}",
        pending.call.span,
        _hint(signatures, given, function.notation),
    )


def _hint(signatures: tuple[Signature, ...], given: list[frozenset[Kind]], notation: Notation) -> str:
    takes = f"it takes {listed([str(signature) for signature in signatures], 'or')}"
    if notation is not Notation.INFIX:
        return takes
    taken = {signature.result for signature in signatures}
    ways = [(found, wanted) for found, wanted in (given, given[::-1]) if len(wanted) == 1 and wanted <= taken]
    # A float can stand for a number, mostly; the other way round something is lost.
    ways.sort(key=lambda way: Kind.FLOAT not in way[1])
    advice = next(filter(None, (conversion(found, wanted) for found, wanted in ways)), "")
    return f"both sides must be of one kind; {advice}" if advice else takes
