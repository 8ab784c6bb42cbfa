"""Library programs by name and parameters."""

from __future__ import annotations

import pytest

from weft.crasp import library
from weft.crasp.syntax.parser import parse
from weft.crasp.syntax.text import text
from weft.errors import WeftError


def test_parameters_in_brackets() -> None:
    program = library.load("bounded-dyck(depth=3)")
    assert program == library.load("bounded-dyck", depth=3)
    assert program.name == "bounded-dyck(depth=3)"
    assert program != library.load("bounded-dyck")


def test_default_parameters_are_not_in_the_name() -> None:
    assert library.load("bounded-dyck", depth=2).name == "bounded-dyck"
    assert library.load("bounded-dyck", depth=2) == library.load("bounded-dyck")


@pytest.mark.parametrize("name", library.names())
def test_entries_describe_themselves(name: str) -> None:
    entry, program = library.entry(name), library.load(name)
    assert program.name == entry.name == name
    assert program.about.startswith(entry.idea)
    assert entry.idea.endswith(".")
    assert len(entry.idea) <= 92
    assert 0 < len(entry.language) <= 60
    assert entry.example


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dyk-1", r"no C-RASP program 'dyk-1'\. Did you mean 'dyck-1'\?"),
        ("majority(n=3)", r"majority: it has no parameter 'n'\. Leave it out"),
        ("bounded-dyck(deep=3)", r"no parameter 'deep'\. Did you mean 'depth'\? \(depth=2\)"),
        ("bounded-dyck(depth=two)", r"depth cannot be 'two'\. Give a whole number, as in depth=2"),
        ("bounded-dyck(depth=True)", "depth cannot be True"),
        ("bounded-dyck(depth=0)", r"bounded-dyck: depth cannot be 0\. Give at least 1"),
        ("shuffle(pairs=9)", r"pairs cannot be 9\. Give 1 to 4"),
        ("sort(letters=27)", r"letters cannot be 27\. Give 2 to 26"),
        ("subsequence(pattern='a b')", "pattern cannot be 'a b'"),
        ("subsequence(pattern=3)", r"pattern cannot be 3\. Give text"),
        ("majority(3)", "does not name a program of the library"),
        ("majority(", "does not name a program of the library"),
    ],
)
def test_mistakes_are_explained(name: str, message: str) -> None:
    with pytest.raises(WeftError, match=message):
        library.load(name)


@pytest.mark.parametrize("name", [*library.names(), "bounded-dyck(depth=3)", "sort(letters=6)"])
def test_programs_are_their_text(name: str) -> None:
    program = library.load(name)
    assert parse(text(program)) == program
