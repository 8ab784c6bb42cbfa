"""Mistakes in the text of a C-RASP program: their place, and syntax errors in plain words."""

from __future__ import annotations

import re
from collections.abc import Set
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from weft.crasp.program import KEYWORDS
from weft.errors import Source, WeftError

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


def syntax_error(source: Source, error: UnexpectedInput) -> WeftError:
    """A syntax error in plain words: what stands there, what was expected, what to write."""
    start = error.pos_in_stream if error.pos_in_stream is not None else len(source.text)
    token: Any = getattr(error, "token", None)
    ends = token is not None and token.type in ("$END", "_NEWLINE")
    if ends:
        before = source.text[: start if token.type == "_NEWLINE" else len(source.text)]
        start = len(_without_comments(before).rstrip())
    unquoted = _unquoted(source, start)
    if unquoted is not None:
        return unquoted
    end = start + (len(token) if token is not None and not ends else 1)
    written = "" if ends else source.text[start:end]
    opened = _open_bracket(source.text[:start])
    bracket = "" if opened is None else source.text[opened]
    if opened is not None and (ends or written in {*CLOSING.values()} - {CLOSING[bracket]}):
        return source.error(
            f"'{bracket}' is not closed", opened, opened + 1, f"Add '{CLOSING[bracket]}'"
        )
    expected = set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())
    expected -= {"RPAR", "RSQB", "RBRACE", "COMMA"} - CLOSERS.get(bracket, set())
    if "?" not in source.text[:start].rpartition(":=")[2]:
        expected.discard("COLON")
    first = _first_word(source.text[:start])
    if "_IS" in expected and first[0] in KEYWORDS:
        return source.error(
            f"'{first[0]}' begins a line, but not a statement",
            first[1],
            first[1] + len(first[0]),
            "Indent the line if it continues the one before",
        )
    what = f"'{shown(written)}' stands" if written else "the line ends"
    return source.error(
        f"{what} where {_expectation(expected)} is expected",
        start,
        end,
        _remedy(source.text, written, start, expected, CLOSING.get(bracket, "")),
    )


CLOSING = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {"(": {"RPAR", "COMMA"}, "[": {"RSQB", "COMMA"}, "{": {"RBRACE", "COMMA"}}
"""By open bracket: the terminals that can stand inside it only."""
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


def _first_word(text: str) -> tuple[str, int]:
    """The first word of the last line of a text, and where it stands."""
    begin = text.rfind("\n") + 1
    match = re.compile(r"\s*(\w*)").match(text, begin)
    return (match[1], match.start(1)) if match else ("", begin)


def _similar_word(text: str, written: str, start: int) -> str:
    """The word of the language that a misspelt one, or the one before it, is like."""
    before = re.search(r"(\w+)\s*\Z", text[:start])
    for word, likeness in ((written, 0.6), (before[1] if before else "", 0.8)):
        near = get_close_matches(word, KEYWORDS, 1, likeness)
        if near and len(word) >= 3 and word not in KEYWORDS:
            return near[0]
    return ""


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
        parts.append("an operator (and, <, +, ...)")
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


def _remedy(text: str, written: str, start: int, expected: Set[str], closing: str) -> str:
    """What to write instead of what was written; `closing` would close the innermost bracket."""
    following = text[start + len(written) :].lstrip()
    signs = (text[start : start + 2], text[start : start + 1])
    if written and any(sign in INSTEAD for sign in signs):
        return f"Write '{next(INSTEAD[sign] for sign in signs if sign in INSTEAD)}'"
    if written == '"':
        return "Close the quotes"
    if "WORD" in expected:
        remedies = {"": "Write alphabet a b", ",": "Separate symbols by spaces"}
        return remedies.get(written, f'Put the symbol in quotes: "{shown(written)}"')
    if written.startswith('"'):
        return "Put Q_ before the symbol"
    if written.lower() in KEYWORDS and written not in KEYWORDS:
        return f"Write '{written.lower()}'"
    if similar := _similar_word(text, written, start):
        return f"Did you mean '{similar}'?"
    if "_IS" in expected:
        return "Write := to define a line"
    if STATEMENT in expected:
        return "Indent the line if it continues the one before"
    if "COLON" in expected or written in ("?", ":"):
        return "A conditional is P ? C : D"
    if written == ")" and re.search(r"MOD\s*\([^()]*\Z", text[:start]):
        return "Write MOD(period, residue), as in MOD(3, 1)"
    if written in CLOSING.values() and EXPRESSION not in expected:
        return "Remove it, or open the bracket before"
    if written in ("<", "<=", "==", "=", "!=", ">=", ">") and EXPRESSION not in expected:
        return "Join two comparisons by and: a < b and b < c"
    if written in ("*", "/", "%", "^"):
        return "There are sums and differences only: write C + C for 2 C"
    if following.startswith(":=") and OPERATOR in expected:
        return f"Begin a new line before '{written}'"
    if EXPRESSION in expected:
        return "Write a Boolean such as Q_a, or a count such as # Q_a"
    if OPERATOR in expected:
        close = f", or close with '{closing}'" if closing else ""
        return f"Write an operator between the two{close}"
    if "NAME" in expected or "TITLE" in expected:
        return "Write a name of letters, digits and underscores"
    known = [word for terminal, word in WORDS.items() if terminal in expected]
    return f"Write {known[0]}" if known else f"Remove '{shown(written)}', or begin a new line"


def shown(written: str) -> str:
    """Text as it can be printed on a terminal."""
    return written if written.isprintable() else ascii(written)[1:-1]
