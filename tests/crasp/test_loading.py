"""Programs by name: files, and the library."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from weft.crasp import library, load, parse, read, run
from weft.crasp.reference import allowed_next
from weft.errors import WeftError

EXAMPLES = Path(__file__).parents[2] / "examples"


def depths(word: str) -> list[int]:
    return [word[:n].count("(") - word[:n].count(")") for n in range(len(word) + 1)]


def test_the_example_accepts_shallow_brackets_and_says_what_may_come_next() -> None:
    program = read(EXAMPLES / "brackets.crasp")
    assert parse(str(program)) == program
    for length in range(9):
        for letters in product("()", repeat=length):
            word = "".join(letters)
            depth = depths(word)
            good = min(depth) >= 0 and max(depth) <= 3
            result = run(program, word)
            assert result.accepted == (good and depth[-1] == 0)
            expected = ("(",) * (good and depth[-1] < 3) + (")",) * (good and depth[-1] > 0)
            assert allowed_next(program, result)[-1] == expected


def test_files_are_told_apart_from_names_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "alphabet a\naccept := Q_a\n"
    (tmp_path / "mine.crasp").write_text(text)
    (tmp_path / "other").write_text(text)
    assert load("mine.crasp") == parse(f"program mine\n{text}")
    assert load("other").alphabet == ("a",)
    assert load("majority") == library.load("majority")
    assert load("bounded-dyck(depth=2)") == library.load("bounded-dyck", depth=2)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dyck1", "there is no C-RASP program 'dyck1'. Name a .crasp file, or a program of the"),
        ("no.crasp", "no.crasp cannot be read: no such file or directory"),
        ("", "there is no C-RASP program ''"),
        ("bounded-dyck(depth", "bounded-dyck"),
        ("bounded-dyck(3)", "bounded-dyck"),
        ("a\0b.crasp", "cannot be read"),
    ],
)
def test_other_names_are_mistakes(name: str, said: str) -> None:
    with pytest.raises(WeftError) as caught:
        load(name)
    assert said in str(caught.value)
