"""Terms, literals, facts and rules: recursive descent over a cursor."""

from __future__ import annotations

from tidelog.errors import Diagnostic
from tidelog.language.cursor import Cursor, SyntaxFailure, describe
from tidelog.language.lexer import DIRECTIVE, END, NAME, NUMBER, STRING, Token, decode_string
from tidelog.language.logic import disjunction, negate
from tidelog.language.numbers import read_number
from tidelog.language.parse_precedence import parse_precedence, parse_sign, signs_of
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Literal,
    OrderHint,
    Rule,
    Term,
    Test,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.language.words import (
    AGGREGATES,
    BINARY_OPERATORS,
    COMPARISONS,
    KEYWORDS,
    OPERATORS,
    POWER_SPELLINGS,
    PREFIX_OPERATORS,
    TESTS,
)
from tidelog.schema import Kind
from tidelog.span import Span

COMPARISON_OPERATORS = {operator.value: operator for operator in ComparisonOperator}


def parse_clause(cursor: Cursor, identity: int) -> Rule | None:
    """The fact or rule at the cursor, with its `.plan`; None where it is of a kind that is not supported yet."""
    first = cursor.token
    signs = [parse_sign(cursor)]
    heads = [parse_atom(cursor)]
    while cursor.accept(","):
        signs.append(parse_sign(cursor))
        heads.append(parse_atom(cursor))
    body: tuple[Literal, ...] = ()
    if cursor.token.kind == "<=":
        cursor.later("subsumption ('<=' between heads) is", first.span.to(cursor.token.span))
        skip_clause(cursor)
        return None
    if cursor.accept(":-"):
        body = parse_body(cursor)
    end_clause(cursor)
    span = cursor.since(first)
    precedence = parse_precedence(cursor) if cursor.token.kind == "[" else None
    plan = parse_plan(cursor) if cursor.token.text == ".plan" else None
    return Rule(tuple(heads), body, plan, span, identity, signs_of(cursor, signs, span), precedence)


def end_clause(cursor: Cursor) -> None:
    """Moves behind the '.' that ends a clause."""
    if cursor.accept("."):
        return
    token, previous = cursor.token, cursor.previous
    starts_anew = token.kind in (END, DIRECTIVE) or (token.kind == NAME and token.line > previous.end_line)
    if starts_anew:
        hint = "end each fact and each rule with '.'"
        cursor.report("D101", "missing '.' at the end of this clause", previous.end_span, hint)
        return
    if token.kind in (")", "]", "}"):
        raise cursor.failure("D118", f"this '{token.text}' closes nothing", token.span, "remove it, or open it before")
    if token.kind == ":-":
        raise cursor.failure("D127", "a second ':-' in one rule", token.span, "end the rule before it with '.'")
    if token.text in COMPARISONS:
        hint = "write two comparisons, such as 1 < x, x < 5"
        raise cursor.failure("D117", "comparisons cannot be chained", token.span, hint)
    raise cursor.unexpected("',', ';' or '.'", "end each fact and each rule with '.', and put ',' between literals")


def skip_clause(cursor: Cursor) -> None:
    """Moves behind the '.' that ends the clause, or before the next directive or the end."""
    while cursor.token.kind not in (END, DIRECTIVE):
        token = cursor.advance()
        if token.kind != ".":
            continue
        before, after = cursor.tokens[cursor.at - 2], cursor.token
        if not (before.kind == after.kind == NAME and before.touches(token) and token.touches(after)):
            return


def parse_plan(cursor: Cursor) -> OrderHint | None:
    """`.plan 0:(2,1), 1:(1,2)` at the cursor; None, reported, when it cannot be read."""
    start = cursor.at
    first = cursor.advance()
    try:
        orders = [parse_order(cursor)]
        while cursor.accept(","):
            orders.append(parse_order(cursor))
    except SyntaxFailure as failure:
        cursor.diagnostics.append(failure.diagnostic)
        cursor.skip_lines_of(start)
        return None
    return OrderHint(tuple(orders), cursor.since(first))


def parse_order(cursor: Cursor) -> tuple[int, tuple[int, ...]]:
    hint = "write .plan 0:(2,1) for 'in version 0, the second atom first'"
    version = plain_integer(cursor, hint)
    cursor.expect(":", "':'", hint)
    opening = cursor.expect("(", "'('", hint)
    order: list[int] = []
    if cursor.token.kind != ")":
        order.append(plain_integer(cursor, hint))
        while cursor.accept(","):
            order.append(plain_integer(cursor, hint))
    cursor.expect_close(opening, "',' or ')'")
    return version, tuple(order)


def plain_integer(cursor: Cursor, hint: str) -> int:
    token = cursor.expect(NUMBER, "a number", hint)
    if not token.text.isdigit():
        raise cursor.failure("D100", f"expected a plain number, found {token.text}", token.span, hint)
    return int(token.text)


def parse_body(cursor: Cursor) -> tuple[Literal, ...]:
    """Literals with ',' between them, and alternatives with ';' between them."""
    first = cursor.token
    alternatives = [parse_conjunction(cursor)]
    while cursor.accept(";"):
        alternatives.append(parse_conjunction(cursor))
    if len(alternatives) == 1:
        return alternatives[0]
    return disjunction(alternatives, cursor.since(first))


def parse_conjunction(cursor: Cursor) -> tuple[Literal, ...]:
    literals = parse_literal(cursor)
    while cursor.accept(","):
        literals += parse_literal(cursor)
    return literals


def parse_literal(cursor: Cursor) -> tuple[Literal, ...]:
    """The literal at the cursor; several when it is a group or the negation of one."""
    token = cursor.token
    if token.kind == "!":
        cursor.advance()
        cursor.enter(token)
        inner = parse_literal(cursor)
        cursor.leave()
        return negate(inner, cursor.since(token))
    if token.kind == "(" and not operand_ends_at(cursor, cursor.at):
        cursor.advance()
        cursor.enter(token)
        inner = parse_body(cursor)
        cursor.expect_close(token, "',', ';' or ')'")
        cursor.leave()
        return inner
    if token.kind == NAME:
        if cursor.ahead().kind == "(":
            if token.text in TESTS:
                cursor.advance()
                arguments = parse_arguments(cursor)
                return (Test(token.text, arguments, span=cursor.since(token)),)
            if token.text not in KEYWORDS and not operand_ends_at(cursor, cursor.at + 1):
                return (parse_atom(cursor),)
        elif token.text in ("true", "false"):
            cursor.advance()
            return (Truth(token.text == "true", token.span),)
        elif token.text == "not" and cursor.ahead().kind == NAME:
            raise cursor.failure("D107", "'not' is not an operator here", token.span, "write '!' to negate")
        elif cursor.ahead().kind == "." and token.touches(cursor.ahead()) and cursor.ahead(3).kind == "(":
            return (parse_atom(cursor),)
    return (parse_comparison(cursor),)


def operand_ends_at(cursor: Cursor, opening: int) -> bool:
    """Whether the parenthesis at `opening` belongs to an operand: an operator follows its match."""
    return cursor.tokens[min(cursor.matching(opening) + 1, len(cursor.tokens) - 1)].text in OPERATORS


def parse_comparison(cursor: Cursor) -> Comparison:
    first = cursor.token
    if first.kind in (".", ",", ";", ")", "}", END):
        raise cursor.failure(
            "D119",
            "a literal is missing here",
            first.span if first.kind != END else cursor.previous.end_span,
            "write an atom such as edge(x, y) or a comparison, or remove the mark before",
        )
    left = parse_term(cursor)
    operator = COMPARISON_OPERATORS.get(cursor.token.text)
    if operator is None:
        if isinstance(left, Variable):
            hint = f"an atom has parentheses, even without arguments: {left.name}()"
            raise cursor.failure("D116", f"'{left.name}' alone is not a literal", left.span, hint)
        if isinstance(left, Call):
            hint = f"compare it, as in x = {left.function}(…)" if left.function.isidentifier() else "compare it"
            raise cursor.failure("D116", "a value alone is not a literal", left.span, hint)
        raise cursor.unexpected("a comparison such as '=' or '<'", "a value alone is not a literal; compare it")
    cursor.advance()
    right = parse_term(cursor)
    return Comparison(operator, left, right, cursor.since(first))


def parse_atom(cursor: Cursor) -> Atom:
    """`relation(term, …)` at the cursor."""
    name = cursor.relation_name("the name of a relation")
    if cursor.token.kind != "(":
        if cursor.token.kind in (".", ",", ";", ":-", END, DIRECTIVE):
            hint = f"an atom has parentheses, even without arguments: {name.text}()"
            raise cursor.failure("D116", f"'{name.text}' alone is not an atom", name.span, hint)
        raise cursor.unexpected(f"'(' after '{name.text}'")
    arguments = parse_arguments(cursor)
    return Atom(name.text, arguments, cursor.since(name))


def parse_arguments(cursor: Cursor) -> tuple[Term, ...]:
    """`(term, …)` at the cursor."""
    opening = cursor.advance()
    if cursor.accept(")"):
        return ()
    cursor.enter(opening)
    arguments = [parse_term(cursor)]
    while cursor.accept(","):
        arguments.append(parse_term(cursor))
    cursor.leave()
    cursor.expect_close(opening, "',' or ')'")
    return tuple(arguments)


def parse_term(cursor: Cursor) -> Term:
    """The term at the cursor, as long as it goes."""
    # Most arguments are one token; this spares them the walk down the operators.
    following = cursor.ahead().kind
    if (following == "," or following == ")") and cursor.token.kind in (NAME, NUMBER, STRING):
        return parse_primary(cursor)
    return parse_operators(cursor, 1)


def parse_operators(cursor: Cursor, weakest: int) -> Term:
    """Operands joined by operators that bind at least as tightly as `weakest`."""
    first = cursor.token
    left = parse_prefix(cursor)
    while (strength := BINARY_OPERATORS.get(cursor.token.text, 0)) >= weakest:
        operator = cursor.advance()
        cursor.enter(operator)
        right = parse_operators(cursor, strength + 1)
        cursor.leave()
        left = Call(operator.text, (left, right), cursor.since(first))
    return left


def parse_prefix(cursor: Cursor) -> Term:
    """A prefix operator with its operand, or a power."""
    token = cursor.token
    function = PREFIX_OPERATORS.get(token.text)
    if function is None:
        return parse_power(cursor)
    cursor.advance()
    directly = cursor.token
    cursor.enter(token)
    operand = parse_prefix(cursor)
    cursor.leave()
    span = cursor.since(token)
    if (
        function == "neg"
        and directly.kind == NUMBER
        and isinstance(operand, Constant)
        and operand.spelled is not Kind.UNSIGNED
    ):
        return number(cursor, directly, span, "-")
    return Call(function, (operand,), span)


def parse_power(cursor: Cursor) -> Term:
    first = cursor.token
    base = parse_primary(cursor)
    if cursor.token.kind not in POWER_SPELLINGS:
        return base
    cursor.enter(cursor.advance())
    exponent = parse_prefix(cursor)
    cursor.leave()
    return Call("^", (base, exponent), cursor.since(first))


def parse_primary(cursor: Cursor) -> Term:
    """A constant, variable, `_`, function call, aggregate, or a term in parentheses."""
    token = cursor.token
    match token.kind:
        case "number":
            cursor.advance()
            return number(cursor, token, token.span, "")
        case "string":
            cursor.advance()
            return string(cursor, token)
        case "name":
            return parse_named(cursor)
        case "(":
            cursor.advance()
            cursor.enter(token)
            inner = parse_term(cursor)
            cursor.leave()
            cursor.expect_close(token)
            return inner
        case "[":
            cursor.later("records are", cursor.skip_group())
            return Wildcard(token.span)
        case "$" | "@":
            return skip_sigil(cursor)
        case _:
            hint = "write '_' for any value, or remove the ','" if token.kind in (")", ",") else ""
            raise cursor.unexpected("a value or variable", hint)


def number(cursor: Cursor, token: Token, span: Span, sign: str) -> Constant:
    """The constant that a number token stands for; 0, reported, when it is out of range."""
    constant = read_number(sign + token.text, span)
    if isinstance(constant, Diagnostic):
        cursor.diagnostics.append(constant)
        return Constant(0, None, span)
    return constant


def string(cursor: Cursor, token: Token) -> Constant:
    """The constant that a string token stands for; an empty one, reported, when an escape is wrong."""
    text = decode_string(token)
    if isinstance(text, Diagnostic):
        cursor.diagnostics.append(text)
        text = ""
    return Constant(text, Kind.SYMBOL, token.span)


def parse_named(cursor: Cursor) -> Term:
    """A term that begins with a name."""
    token = cursor.token
    name = token.text
    if name not in KEYWORDS:
        cursor.advance()
        if cursor.token.kind == "(":
            arguments = parse_arguments(cursor)
            return Call(name, arguments, cursor.since(token))
        return Wildcard(token.span) if name == "_" else Variable(name, token.span)
    if name in ("min", "max") and cursor.ahead().kind == "(" and has_comma(cursor, cursor.at + 1):
        cursor.advance()
        arguments = parse_arguments(cursor)
        return Call(name, arguments, cursor.since(token))
    if name in AGGREGATES:
        return parse_aggregate(cursor)
    if name == "as" and cursor.ahead().kind == "(":
        return parse_cast(cursor)
    if name == "nil":
        cursor.advance()
        cursor.later("records ('nil') are", token.span)
        return Wildcard(token.span)
    if name in ("true", "false"):
        raise cursor.failure("D111", f"'{name}' is not a value", token.span, "use 1 and 0, or a string")
    hint = "choose another name" if name not in BINARY_OPERATORS else f"'{name}' stands between two values"
    raise cursor.failure("D111", f"the reserved word '{name}' is not a value", token.span, hint)


def has_comma(cursor: Cursor, opening: int) -> bool:
    """Whether the parentheses at `opening` have more than one argument."""
    depth = 0
    for at in range(opening, cursor.matching(opening)):
        kind = cursor.tokens[at].kind
        depth += (kind in ("(", "{", "[")) - (kind in (")", "}", "]"))
        if kind == "," and depth == 1:
            return True
    return False


def parse_cast(cursor: Cursor) -> Cast:
    """`as(term, type)` at the cursor."""
    first = cursor.advance()
    opening = cursor.advance()
    cursor.enter(opening)
    term = parse_term(cursor)
    cursor.leave()
    cursor.expect(",", "',' and a type", "write as(x, type)")
    type_name = cursor.expect(NAME, "the name of a type", "write as(x, type)")
    cursor.expect_close(opening)
    return Cast(term, type_name.text, cursor.since(first))


def parse_aggregate(cursor: Cursor) -> Aggregate:
    """`sum x : { body }` or `count : atom` at the cursor."""
    word = cursor.advance()
    function = AggregateFunction(word.text)
    if cursor.token.kind in (")", "}", ",", ";", ".", ":-") or cursor.token.text in OPERATORS - {"-"}:
        message = f"'{word.text}' is a reserved word and cannot name a variable"
        raise cursor.failure("D111", message, word.span, f"choose another name, such as '{word.text}_'")
    cursor.enter(word)
    target = None
    if function is not AggregateFunction.COUNT:
        if cursor.token.kind == ":":
            hint = f"write {word.text} x : {{ … }}"
            raise cursor.failure("D121", f"'{word.text}' needs a value before ':'", word.span, hint)
        target = parse_term(cursor)
    elif cursor.token.kind != ":":
        hint = "write count : { edge(x, y) }; 'count' is a reserved word"
        raise cursor.failure(
            "D121", f"expected ':' after 'count', found {describe(cursor.token)}", cursor.token.span, hint
        )
    hint = f"'{word.text}' is a reserved word: write {word.text}{' x' if target else ''} : {{ edge(x, y) }}"
    if function in (AggregateFunction.MIN, AggregateFunction.MAX):
        hint += f", or {word.text}(a, b) for the {word.text}imum of values"
    cursor.expect(":", f"':' after the value of '{word.text}'", hint)
    body: tuple[Literal, ...]
    if cursor.token.kind == "{":
        opening = cursor.advance()
        body = parse_body(cursor)
        cursor.expect_close(opening, "',', ';' or '}'")
    else:
        body = (parse_atom(cursor),)
    cursor.leave()
    return Aggregate(function, target, body, cursor.since(word))


def skip_sigil(cursor: Cursor) -> Wildcard:
    """Passes over `$Branch(…)`, `$` or `@functor(…)`, which are for later."""
    first = cursor.advance()
    what = "user-defined functors are" if first.kind == "@" else "branches of algebraic types and the counter '$' are"
    while cursor.token.kind == "@":
        cursor.advance()
    if cursor.accept(NAME):
        while cursor.token.kind == "." and cursor.previous.touches(cursor.token) and cursor.ahead().kind == NAME:
            cursor.at += 2
        if cursor.token.kind == "(":
            cursor.skip_group()
    cursor.later(what, cursor.since(first))
    return Wildcard(first.span)
