"""Errors: what is wrong, where, and what to do about it."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

MAX_EXCERPT = 100
"""Columns of an excerpt, at most."""
EXCERPT_CONTEXT = 40
"""Columns of an excerpt before the place, at most."""


@dataclass(frozen=True)
class Location:
    """A place in source code. Columns count from 0 and are None if only the line is known."""

    file: str
    line: int
    column: int | None = None
    end_column: int | None = None
    owner: str = field(default="", compare=False)  # the class that contains it, if known

    def __str__(self) -> str:
        name = os.path.basename(self.file)
        return f"{name}:{self.line}" if self.line else name

    def source_line(self) -> str:
        """The source line; empty if it cannot be read."""
        return linecache.getline(self.file, self.line)

    def excerpt(self) -> str:
        """The source line, with a caret below it; empty if the source cannot be read."""
        text = self.source_line().rstrip()
        if not text:
            return ""
        start = self.column if self.column is not None else len(text) - len(text.lstrip())
        end = self.end_column if self.end_column is not None else len(text)
        return marked(self.line, text, start, min(end, len(text)))


def marked(number: int, text: str, start: int, end: int) -> str:
    """A numbered line of text, with carets below the columns from `start` to `end`."""
    gutter = f"{number:>6} | "
    carets = "^" * max(1, end - start)
    return f"{gutter}{text}\n{' ' * (len(gutter) - 2)}| {' ' * start}{carets}"


class WeftError(ValueError):
    """The one error that Weft raises for bad input.

    `str(error)` shows the message, the place and the source line; `error.line` is the same on one
    line, which is what the command line prints.
    """

    def __init__(
        self,
        what: str,
        *,
        subject: str = "",
        where: Location | None = None,
        remedy: str = "",
    ) -> None:
        self.what = what
        self.subject = subject
        self.where = where
        self.remedy = remedy
        super().__init__(self.line)

    @property
    def line(self) -> str:
        """The message on one line: subject, what is wrong, the place, the remedy."""
        subject = f"{self.subject}: " if self.subject else ""
        where = f" ({self.where})" if self.where else ""
        remedy = f". {self.remedy}" if self.remedy else ""
        return " ".join(f"{subject}{self.what}{where}{remedy}".splitlines())

    def revised(self, **parts: Any) -> WeftError:
        """The same error with other parts, as in `error.revised(subject="Parity")`."""
        mine: dict[str, Any] = {"what": self.what, "subject": self.subject, "where": self.where}
        return WeftError(**{**mine, "remedy": self.remedy, **parts})

    def __str__(self) -> str:
        excerpt = self.where.excerpt() if self.where else ""
        return f"{self.line}\n{excerpt}" if excerpt else self.line


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

    def excerpt(self) -> str:
        """The line with carets; of a long line, the part around the place."""
        start = self.column or 0
        end = self.end_column or start + 1
        first = max(0, start - EXCERPT_CONTEXT) if len(self.text) > MAX_EXCERPT else 0
        shown = self.source_line()[first : first + MAX_EXCERPT].rstrip()
        if not shown:
            return ""
        return marked(self.line, shown, start - first, min(end - first, MAX_EXCERPT))


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


class Interrupted(KeyboardInterrupt):
    """A signal, Ctrl-C (SIGINT) or SIGTERM, has interrupted work that can be resumed.

    Attributes:
        number: of the signal.
        code: the exit status by convention, 128 + number.
        what: what was saved, and how to resume.
    """

    def __init__(self, number: int, what: str = "") -> None:
        self.number = number
        self.code = 128 + number
        self.what = what
        super().__init__(what or "interrupted")


def caller_location(depth: int) -> Location:
    """Where the code `depth` frames above the caller of this function stands."""
    frame = sys._getframe(depth + 1)
    owner = ""
    if "__qualname__" in frame.f_locals:  # the body of a class
        owner = frame.f_code.co_name
    elif frame.f_code.co_name == "__init__" and "self" in frame.f_locals:
        owner = type(frame.f_locals["self"]).__name__
    return Location(frame.f_code.co_filename, frame.f_lineno, owner=owner)


def did_you_mean(name: str, known: list[str]) -> str:
    """A suggestion for a misspelt name, or the list of known names if none is close."""
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known: {', '.join(known)}" if known else "there are none"


def unknown_name(
    what: str, name: str, known: Iterable[str], *, subject: str = "", where: Location | None = None
) -> WeftError:
    """An error about a name that does not exist, which suggests a similar one or lists them all."""
    suggestion = did_you_mean(name, list(known))
    remedy = suggestion[:1].upper() + suggestion[1:]
    return WeftError(what, subject=subject, where=where, remedy=remedy)


def check_known(
    name: str,
    known: Collection[str],
    what: str,
    *,
    subject: str = "",
    where: Location | None = None,
) -> None:
    """Raise `unknown_name` unless a name is one of those that are known.

    Example:
        >>> check_known("Paritty", ["Parity", "Sort"], "there is no program 'Paritty'")
        Traceback (most recent call last):
            ...
        weft.errors.WeftError: there is no program 'Paritty'. Did you mean 'Parity'?
    """
    if name not in known:
        raise unknown_name(what, name, known, subject=subject, where=where)
