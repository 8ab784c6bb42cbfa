"""Reading source line by line: names and numbers at a cursor, and errors with their place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from weft.config import override
from weft.errors import TextLocation, WeftError
from weft.ptg.language import COUNTERS, GRAMMAR, KINDS, NUMBER, Kind, Language, Operand

WORD = re.compile(r"[^\W\d]\w*")
"""A word as Python has it, to name in messages; no word with letters beyond ASCII is accepted."""
ARTICLES: dict[Kind, str] = {
    "integer": "an integer variable",
    "Boolean": "a Boolean variable",
    "list": "a list",
    "counter": "a counter",
}


@dataclass
class Reader:
    """A cursor over the lines of a source.

    Attributes:
        rows: the lines.
        language: what the program may use.
        file: the file that the text comes from, for messages.
        row: the index of the line that is read.
        column: the cursor in that line.
        bound: the variables that a parameter or a statement has bound so far.
        reads: the variables that are read, with the row and the column.
    """

    rows: list[str]
    language: Language
    file: str
    row: int = 0
    column: int = 0
    bound: set[str] = field(default_factory=set)
    reads: list[tuple[str, int, int]] = field(default_factory=list)

    # Lines

    @property
    def text(self) -> str:
        return self.rows[self.row] if self.row < len(self.rows) else ""

    def ended(self) -> bool:
        """Whether all lines are read."""
        return self.row >= len(self.rows)

    def indent(self) -> int:
        """The tabs before the code of the current line; 0 after the last line."""
        return len(self.text) - len(self.text.lstrip("\t"))

    def starts(self, word: str) -> bool:
        """Whether the code of the current line starts with a whole word."""
        found = WORD.match(self.text.lstrip("\t"))
        return found is not None and found[0] == word

    def begin(self) -> None:
        """Place the cursor at the code of the current line."""
        self.column = self.indent()
        if self.column == len(self.text):
            self.fail("the line is empty", "statement", "Remove it")
        if self.text[self.column].isspace():
            self.fail(
                f"{_sign(self.text[self.column])} stands before the statement",
                "statement",
                "Indent with tabs alone",
            )

    def end(self, rule: str) -> None:
        """Check that the line ends here, and go to the next one."""
        rest = self.text[self.column :]
        if rest.isspace():
            self.fail("the line ends in blanks", rule, "Remove them", end=len(self.text))
        if rest:
            self.fail(f"{_excerpt(rest)} is not expected", rule, end=len(self.text))
        self.row += 1
        self.column = 0

    # Parts of a line

    def take(self, sign: str) -> bool:
        """Whether a sign stands at the cursor; if so, go behind it."""
        found = self.text.startswith(sign, self.column)
        self.column += len(sign) * found
        return found

    def expect(self, sign: str, rule: str) -> None:
        """Go behind a sign that must stand at the cursor."""
        if not self.take(sign):
            self.fail(f"{quoted(sign)} is expected, not {self.found()}", rule)

    def found(self) -> str:
        """What stands at the cursor, for messages."""
        rest = self.text[self.column :]
        if not rest:
            return "the end of the line" if not self.ended() else "the end of the program"
        word = WORD.match(rest) or re.match(r"[0-9]+", rest)
        return _excerpt(word[0] if word else rest[0])

    def word(self) -> str:
        """The word at the cursor, which stays there; empty if there is none."""
        found = WORD.match(self.text, self.column)
        return found[0] if found else ""

    def name(self, kind: Kind, rule: str, *, reads: bool = True) -> str:
        """A name of a kind."""
        word = self.word()
        if KINDS.get(word) != kind:
            what = f"{ARTICLES[kind]} is expected, not {self.found()}"
            if word in COUNTERS:
                what = f"{word} is a counter, which only the lines of its loop may use"
            self.fail(what, rule, end=self.column + max(1, len(word)))
        if reads:
            self.reads.append((word, self.row, self.column))
        else:
            self.bound.add(word)
        self.column += len(word)
        return word

    def number(self, rule: str) -> int:
        """A number without leading zeros."""
        found = NUMBER.match(self.text, self.column)
        if not found:
            self.fail(f"a number is expected, not {self.found()}", rule)
        end = found.end()
        if self.text[end : end + 1].isdecimal():
            zeros = "starts with 0" if found[0] == "0" else "is too long"
            self.fail(f"a number {zeros}", "number")
        self.column = end
        return int(found[0])

    def bounded(self, rule: str, option: str, words: str, least: int = 0) -> int:
        """A number that an option of the language bounds."""
        start = self.column
        number = self.number(rule)
        most: int = getattr(self.language, option)
        if number > most:
            self.refuse(
                f"{number} is more than {words}, which is {most}", f"{option}={number}", start
            )
        if number < least:
            self.column = start
            self.fail(f"the number is {number}", rule, f"Use {least} or more")
        return number

    def operand(self, rule: str) -> Operand:
        """An integer variable or a number."""
        if self.word():
            return self.name("integer", rule)
        return self.bounded("operand", "literal", "the largest literal")

    # Failures

    def place(self, start: int, end: int, row: int | None = None) -> TextLocation:
        number = self.row if row is None else row
        text = self.rows[number] if number < len(self.rows) else " "
        return TextLocation(self.file, number + 1, start, max(end, start + 1), text=text or " ")

    def fail(self, what: str, rule: str, remedy: str = "", *, end: int = 0) -> NoReturn:
        """Raise an error at the cursor, with the rule that is violated."""
        advice = f"{remedy}{'' if remedy.endswith('?') else '.'} " if remedy else ""
        raise WeftError(
            what,
            where=self.place(self.column, end),
            remedy=f"{advice}Rule {rule}: {GRAMMAR[rule]}",
        )

    def refuse(self, what: str, option: str, start: int = 0, end: int = 0) -> NoReturn:
        """Raise an error about what an option switches off."""
        where = self.place(start, end or self.column)
        try:
            override(self.language, [option])
        except WeftError as error:  # no value of the option allows it
            raise WeftError(what, where=where, remedy=error.line.capitalize()) from None
        raise WeftError(what, where=where, remedy=f"Allow it with the option {option}")


def quoted(text: str) -> str:
    """Text in quotes."""
    return f"'{text}'"


def _excerpt(text: str) -> str:
    """Text as a message quotes it: short, and printable in ASCII."""
    short = text if len(text) <= 20 else f"{text[:17]}..."
    return ascii(short)


def _sign(text: str) -> str:
    return {" ": "a blank", "\f": "a form feed"}.get(text, f"the sign {text!a}")
