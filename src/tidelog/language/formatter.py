"""A program's text laid out anew. It works on tokens, so comments, preprocessor lines and macros stay what they are.

Only spaces and line ends change. A clause that stood on one line stays on one if it fits; one that had a line end
gets a line for each literal. Blank lines between items are kept, never more than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from tidelog.language.lexer import COMMENT, DIRECTIVE, HASH_LINE, NAME, STRING, Token, scan
from tidelog.language.parser import parse
from tidelog.language.spacing import ends_line, join
from tidelog.language.words import BINARY_OPERATORS, QUALIFIERS

WIDTH = 100
INDENT = 4


def format_text(text: str, file: str = "<text>", include_folders: Sequence[Path] = ()) -> str:
    """`text` in the usual layout. Raises ProgramError if it does not parse; the meaning never changes."""
    program = parse(text, file, include_folders)
    text = text.replace("\r\n", "\n")
    formatted = "".join(f"{line}\n" for line in lay_out(text, file))
    if parse(formatted, file, include_folders) != program:
        raise AssertionError(f"formatting would change the meaning of {file}; please report this")
    return formatted


def lay_out(text: str, file: str) -> Iterator[str]:
    """The lines of the text in the usual layout, without their ends."""
    written = text.splitlines(keepends=True)
    previous: Token | None = None
    for stretch in stretches(scan(text, file)):
        if previous is not None and stretch[0].line > previous.end_line + 1:
            yield ""
        yield from settled_lines(stretch, written)
        previous = stretch[-1]


def stretches(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Each preprocessor line by itself, and what stands between two of them."""
    return (list(group) for _, group in groupby(tokens, lambda token: token.kind == HASH_LINE and token))


def settled_lines(stretch: list[Token], written: list[str]) -> list[str]:
    """`stretch` laid out, or as it is in `written` where its tokens would then be others, or be laid out otherwise.

    That happens only in what `#ifdef` leaves out, which need not be text of the language.
    """
    lines = list(lay_out_pieces(pieces(stretch)))
    again = list(scan("\n".join(lines), stretch[0].file))
    if words_of(again) == words_of(stretch) and list(lay_out_pieces(pieces(again))) == lines:
        return lines
    return "".join(written[stretch[0].line - 1 : stretch[-1].end_line]).removesuffix("\n").split("\n")


def words_of(tokens: list[Token]) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens if token.kind not in (COMMENT, HASH_LINE)]


@dataclass(slots=True)
class Piece:
    """An item, a comment or a preprocessor line."""

    tokens: list[Token] = field(default_factory=list)

    @property
    def first(self) -> Token:
        return self.tokens[0]

    @property
    def last(self) -> Token:
        return self.tokens[-1]

    @property
    def is_clause(self) -> bool:
        return self.first.kind not in (DIRECTIVE, HASH_LINE, COMMENT)


def pieces(tokens: list[Token]) -> Iterator[Piece]:
    """The pieces that `tokens` make up, in order."""
    piece = Piece()
    depth = 0
    for token in tokens:
        if piece.tokens and (token.kind == HASH_LINE or (depth <= 0 and ends_before(piece, token))):
            yield piece
            piece, depth = Piece(), 0
        piece.tokens.append(token)
        depth += (token.kind in ("(", "[", "{")) - (token.kind in (")", "]", "}"))
    if piece.tokens:
        yield piece


def ends_before(piece: Piece, token: Token) -> bool:
    """Whether `piece` is complete and `token` begins the next one."""
    first, last = piece.first, piece.last
    if last.kind == "." and token.kind == "[":
        return False
    if token.kind == DIRECTIVE or first.kind in (HASH_LINE, COMMENT) or last.kind == ".":
        return True
    if last.kind == "]" and piece.is_clause:
        return True
    new_line = token.line > last.end_line
    if first.kind == DIRECTIVE:
        if token.kind == COMMENT:
            return True
        goes_on = last.kind in (",", "=", "<:", "|", ":") or token.kind in (",", "=", "<:", "|", "(", STRING)
        return new_line and not goes_on and last is not first and token.text not in QUALIFIERS
    # A macro that stands for a whole clause has no '.' of its own.
    return new_line and last.kind == ")" and token.kind == NAME and token.text not in BINARY_OPERATORS


def lay_out_pieces(all_pieces: Iterable[Piece]) -> Iterator[str]:
    """The lines that the pieces are written on, without their ends."""
    line = ""
    previous: Piece | None = None
    for piece in all_pieces:
        texts = lines_of(piece)
        if previous is None:
            line = ""
        elif piece.first.line == previous.last.end_line and shares_line(previous, piece, line, texts):
            gap = "  " if piece.first.kind == COMMENT else " "
            texts[0] = f"{line}{gap}{texts[0]}"
        else:
            yield line
            if piece.first.line > previous.last.end_line + 1:
                yield ""
        yield from texts[:-1]
        line = texts[-1]
        previous = piece
    if previous is not None:
        yield line


def shares_line(previous: Piece, piece: Piece, line: str, texts: list[str]) -> bool:
    """Whether `piece`, which stood on the line where `previous` ends, may stay there."""
    if piece.first.kind == COMMENT:
        return previous.first.kind != COMMENT
    return previous.is_clause and piece.is_clause and len(texts) == 1 and len(line) + 1 + len(texts[0]) <= WIDTH


def lines_of(piece: Piece) -> list[str]:
    """The lines that `piece` is written on."""
    tokens = piece.tokens
    if piece.first.kind in (HASH_LINE, COMMENT):
        return [line.rstrip() for line in piece.first.text.split("\n")]
    margin = INDENT if piece.first.text == ".plan" else 0
    several = tokens[0].line < tokens[-1].end_line or any(ends_line(token) for token in tokens)
    if not several:
        line = " " * margin + join(tokens)
        if len(line) <= WIDTH:
            return [line]
    lines: list[str] = []
    for indent, part in split_clause(tokens) if piece.is_clause else split_directive(tokens):
        lines += wrap(part, margin + indent, tokens)
    return lines


def split_clause(tokens: list[Token]) -> list[tuple[int, list[Token]]]:
    """A line for the head, and one for each literal at the top of the body."""
    return break_after(tokens, (":-",), 0)


def break_after(tokens: list[Token], starts: tuple[str, ...], level: int) -> list[tuple[int, list[Token]]]:
    """Lines that end behind the first of `starts` and behind each ',' and ';' that follows at that `level`."""
    lines: list[tuple[int, list[Token]]] = [(0, [])]
    depth = 0
    started = False
    breaking: Token | None = None
    for token in tokens:
        if breaking is not None and not (token.kind == COMMENT and token.line == breaking.line):
            lines.append((INDENT, []))
            breaking = None
        depth -= token.kind in (")", "]", "}")
        if started and level and depth == level - 1 and token.kind == ")":
            lines.append((0, []))
            started = False
        lines[-1][1].append(token)
        depth += token.kind in ("(", "[", "{")
        if not started and token.kind in starts and depth == level:
            started = True
            breaking = token
        elif started and depth == level and token.kind in (",", ";"):
            breaking = token
    return [line for line in lines if line[1]]


def split_directive(tokens: list[Token]) -> list[tuple[int, list[Token]]]:
    """A line for each attribute or parameter; a directive without parentheses is one line."""
    return break_after(tokens, ("(",), 1) if tokens[0].text != ".plan" else [(0, tokens)]


def wrap(part: list[Token], indent: int, item: list[Token]) -> Iterator[str]:
    """The text of `part`, broken behind ',' or ';' where it is too long and behind each line comment."""
    deeper = indent + INDENT
    margin = indent
    line: list[Token] = []
    for chunk in chunks(part):
        own_line = chunk[0].kind == COMMENT and bool(line) and chunk[0].line > line[-1].end_line
        too_long = margin + len(join([*line, *chunk], item)) > WIDTH and not ends_line(chunk[0])
        if line and (own_line or too_long or ends_line(line[-1])):
            yield " " * margin + join(line, item)
            margin = margin if all(token.kind == COMMENT for token in line) else deeper
            line = []
        line += chunk
    if line:
        yield " " * margin + join(line, item)


def chunks(part: list[Token]) -> Iterator[list[Token]]:
    """Runs of tokens that stay on one line: a line may end behind each."""
    chunk: list[Token] = []
    for token in part:
        if token.kind == COMMENT or ends_line(token):
            if chunk:
                yield chunk
                chunk = []
            yield [token]
            continue
        chunk.append(token)
        if token.kind in (",", ";"):
            yield chunk
            chunk = []
    if chunk:
        yield chunk
