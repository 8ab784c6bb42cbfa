"""Mistakes in the text of a C-RASP program: their place, and syntax errors in plain words."""

from __future__ import annotations

import os
import re
from collections.abc import Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.crasp.program import KEYWORDS
from weft.errors import Location, WeftError

if TYPE_CHECKING:
    from lark import UnexpectedInput

INSTEAD = {
    "&": "and", "&&": "and", "∧": "and", "|": "or", "||": "or", "∨": "or", "!": "not", "~": "not",
    "¬": "not", "∃": "exists", "≤": "<=", "≥": ">=", "≠": "!=", "−": "-",
}  # fmt: skip
"""Signs of other notations, and what to write here."""

EXPRESSION = "SYMBOL"
"""A terminal that can begin an expression, and nothing else."""
OPERATOR = "PLUS"
"""A terminal that can stand after an operand, and nowhere else."""
STATEMENT = "ALPHABET"
WORDS = {
    "RPAR": "')'",
    "RSQB": "']'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "COLON": "':'",
    "LPAR": "'('",
    "_IS": "':='",
    "WORD": "a symbol",
    "TITLE": "a name",
    "NAME": "a name",
    "INTEGER": "a number",
}
"""Other terminals that may be expected, in words."""


@dataclass(frozen=True)
class TextLocation(Location):
    """A place in the text of a program, with its line; the column is shown, counted from 1."""

    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        column = (self.column or 0) + 1
        if not self.file:
            return f"line {self.line}, column {column}"
        return f"{os.path.basename(self.file)}:{self.line}:{column}"

    def source_line(self) -> str:
        """The line of the text; tabs are shown as single spaces, which keeps carets in place."""
        return self.text.replace("\t", " ")


@dataclass(frozen=True)
class Source:
    """A text, and the file that it comes from, if any."""

    text: str
    file: str = ""

    def place(self, start: int, end: int) -> TextLocation:
        """The place of the characters from `start` to `end`, of which the first line is marked."""
        begin = self.text.rfind("\n", 0, start) + 1
        stop = self.text.find("\n", start)
        line = self.text[begin : stop if stop >= 0 else len(self.text)]
        column = start - begin
        last = min(max(end - begin, column + 1), max(len(line), column + 1))
        number = self.text.count("\n", 0, start) + 1
        return TextLocation(self.file, number, column, last, text=line or " ")

    def error(self, what: str, start: int, end: int, remedy: str = "") -> WeftError:
        """A mistake in the characters from `start` to `end`."""
        return WeftError(what, where=self.place(start, end), remedy=remedy)


def syntax_error(source: Source, error: UnexpectedInput) -> WeftError:
    """A syntax error in plain words: what stands there, what was expected, what to write."""
    start = error.pos_in_stream if error.pos_in_stream is not None else len(source.text)
    token = getattr(error, "token", None)
    ends = token is not None and token.type in ("$END", "_NEWLINE")
    if ends:
        before = source.text[: start if token.type == "_NEWLINE" else len(source.text)]
        start = len(_without_comments(before).rstrip())
    unquoted = _unquoted(source, start)
    if unquoted is not None:
        return unquoted
    end = start + (len(token) if token is not None and not ends else 1)
    expected = set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())
    if ends and (opened := _open_bracket(source.text[:start])) is not None:
        bracket = source.text[opened]
        return source.error(
            f"'{bracket}' is not closed", opened, opened + 1, f"Add '{CLOSING[bracket]}'"
        )
    found = source.text[start:end]
    what = "the line ends" if ends else f"'{found}' stands"
    return source.error(
        f"{what} where {_expectation(expected)} is expected",
        start,
        end,
        _remedy(source, found, start, expected),
    )


CLOSING = {"(": ")", "[": "]", "{": "}"}
QUOTED = r'"(?:[^"\\\n]|\\.)*"'


def _without_comments(text: str) -> str:
    """The text with its comments blank; quoted symbols may hold two slashes."""
    return re.sub(
        rf"{QUOTED}|//[^\n]*",
        lambda match: match[0] if match[0][0] == '"' else " " * len(match[0]),
        text,
    )


def _open_bracket(text: str) -> int | None:
    """Where the innermost bracket stands that the last statement of a text leaves open."""
    stack: list[int] = []
    for match in re.finditer(rf"{QUOTED}|[()\[\]{{}}]|:=", _without_comments(text)):
        if match[0] == ":=":
            stack.clear()
        elif match[0] in CLOSING:
            stack.append(match.start())
        elif match[0] in CLOSING.values() and stack:
            stack.pop()
    return stack[-1] if stack else None


def _unquoted(source: Source, position: int) -> WeftError | None:
    """The error for a symbol that needs quotes, if one stands just before the position."""
    begin = source.text.rfind("\n", 0, position) + 1
    line = _without_comments(source.text[begin:]).partition("\n")[0]
    for match in re.finditer(rf'{QUOTED}|(?<!\w)(Q_|NEXT_)([^\w\s"])', line):
        start = begin + match.start()
        if match[1] and start <= position:
            return source.error(
                f"{match[1]} is not followed by a symbol",
                start,
                begin + match.end(),
                f'Put the symbol in quotes: {match[1]}"{match[2]}"',
            )
    return None


def _expectation(expected: Set[str]) -> str:
    """What was expected, in words."""
    if STATEMENT in expected:
        return "a definition such as name := expression"
    parts = []
    if EXPRESSION in expected:
        parts.append("an expression")
    elif OPERATOR in expected:
        parts.append("an operator such as 'and', '<' or '+'")
    if EXPRESSION not in expected:
        parts += [
            word
            for terminal, word in WORDS.items()
            if terminal in expected and not (terminal == "LPAR" and OPERATOR in expected)
        ]
    parts = list(dict.fromkeys(parts))
    if not parts:
        return "a new line"
    return " or ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _remedy(source: Source, found: str, start: int, expected: Set[str]) -> str:
    """What to write instead."""
    rest = source.text[start : start + 2]
    for sign in (rest, rest[:1]):
        if sign in INSTEAD:
            return f"Write '{INSTEAD[sign]}'"
    if "WORD" in expected and found == ",":
        return "Separate symbols by spaces"
    if "WORD" in expected:
        return f'Put the symbol in quotes: "{found}"'
    if found.startswith('"'):
        return "Close the quotes" if found == '"' else "Put Q_ before the symbol"
    if found.lower() in KEYWORDS and found not in KEYWORDS:
        return f"Write '{found.lower()}'"
    if found == "MOD" or (found in KEYWORDS and "NAME" in expected):
        return f"'{found}' is a word of the language: use another name"
    if found in ("=", "==") and "_IS" in expected:
        return "Write := to define a line"
    if found in ("<", "<=", "==", "=", "!=", ">=", ">"):
        return "Join two comparisons by and: a < b and b < c"
    if found in ("*", "/", "%", "^"):
        return "There are sums and differences only: write C + C for 2 C, and MOD(m, r)"
    if STATEMENT in expected:
        return "Indent the line if it continues the one before"
    return ""
