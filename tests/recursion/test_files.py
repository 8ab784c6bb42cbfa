"""Definitions in users' files."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_definition_errors import TYPES

from weft.errors import WeftError
from weft.recursion import definition, definition_name

DOUBLE = """
@recursive
def double(n: Nat) -> Nat:
    match n:
        case O(): return O()
        case S(b): return S(S(double(b)))
"""


def write(folder: Path, source: str) -> Path:
    path = folder / "mine.py"
    path.write_text(source)
    return path


def test_a_definition_in_a_file_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, TYPES + DOUBLE)
    found = definition(f"{path}:double")
    assert found is definition(str(path))
    assert definition_name(found) == f"{path}:double"
    assert found.name == "double"


def test_the_digest_depends_on_equations_and_not_on_comments(tmp_path: Path) -> None:
    first = definition(str(write(tmp_path, TYPES + DOUBLE))).digest
    commented = definition(str(write(tmp_path, TYPES + "# Twice." + DOUBLE))).digest
    changed = DOUBLE.replace("return O()", "return S(O())")
    other = definition(str(write(tmp_path, TYPES + changed))).digest
    assert first == commented != other


REFUSED = {
    "raises": ("raise KeyError('x')", "cannot be imported: KeyError: 'x'"),
    "exits": ("import sys\nsys.exit(3)", "it calls sys.exit"),
    "syntax": ("def f(", "SyntaxError"),
    "nothing": ("", "defines no function by equations"),
    "types only": (TYPES, "defines no function by equations"),
    "two": (
        TYPES + DOUBLE + DOUBLE.replace("double", "again"),
        "has 2 definitions",
    ),
    "no such name": (TYPES + DOUBLE, "has no definition 'doubel'"),
    "endless": (TYPES + DOUBLE.replace("double(b)", "double(n)"), "not on a strict subterm"),
    "never defined": (TYPES + DOUBLE.replace("double(b)", "twice(b)"), "no constructor or"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, case: str) -> None:
    source, message = REFUSED[case]
    name = ":doubel" if case == "no such name" else ""
    path = write(tmp_path, source)
    with pytest.raises(WeftError, match=message) as caught:
        definition(f"{path}{name}")
    assert "mine.py" in caught.value.line


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"there is no definition 'sucessor'\. Did you mean 'succ"):
        definition("sucessor")
    with pytest.raises(WeftError, match="there is no file"):
        definition(f"{tmp_path}/none.py:f")
    write(tmp_path, TYPES + DOUBLE)
    with pytest.raises(WeftError, match="has no definition 'Nat'"):
        definition(f"{tmp_path}/mine.py:Nat")
