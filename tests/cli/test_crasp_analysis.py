"""`weft crasp equal` and `weft crasp simplify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import HEAVY, execute, imported, weft
from weft.crasp.library import load
from weft.crasp.syntax.parser import parse

DEPTH = """\
alphabet "(" ")"
depth := # Q_"(" - # Q_")"
accept := not exists (depth < 0) and depth == 0
"""
SHALLOW = DEPTH.rstrip() + " and not exists (depth > 2)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "depth.crasp").write_text(DEPTH)
    (tmp_path / "shallow.crasp").write_text(SHALLOW)
    return tmp_path


def test_equal_programs_up_to_a_length(folder: Path) -> None:
    finished = execute(["crasp", "equal", "dyck-1", "depth.crasp"], folder)
    assert (finished.code, finished.stderr) == (0, "")
    assert finished.stdout == "equal on all words up to length 40 (40 configurations)\n"


def test_equal_programs_on_all_words(folder: Path) -> None:
    arguments = ["crasp", "equal", "shallow.crasp", "shallow.crasp", "--json"]
    finished = execute(arguments, folder)
    assert finished.code == 0
    assert json.loads(finished.stdout) == {
        "equal": True, "word": None, "length": 40, "all_lengths": True, "configurations": 1
    }  # fmt: skip


def test_a_difference_is_shown_with_both_traces(folder: Path) -> None:
    finished = execute(["crasp", "equal", "depth.crasp", "shallow.crasp"], folder)
    assert finished.code == 1
    lines = finished.stdout.splitlines()
    assert lines[0] == "they differ on '((()))' (length 6)"
    assert lines[2] == "depth.crasp"
    assert "depth       0  1  2  3  2  1  0" in lines
    assert [line.split()[-1] for line in lines if line.startswith("result")] == [
        "accepted",
        "rejected",
    ]
    finished = execute(["crasp", "equal", "depth.crasp", "shallow.crasp", "--json"], folder)
    assert finished.code == 1
    assert json.loads(finished.stdout)["word"] == list("((()))")
    finished = execute(["crasp", "equal", "depth.crasp", "shallow.crasp", "--length", "5"], folder)
    assert finished.code == 0


def test_a_search_that_is_too_long_says_how_far_it_went(folder: Path) -> None:
    finished = execute(["crasp", "equal", "dyck-1", "depth.crasp", "--limit", "9"], folder)
    assert finished.code == 2
    assert finished.stderr == (
        "weft: more than 9 configurations; the programs agree on all words up to length 9. "
        "Search shorter words, or allow more configurations\n"
    )


def test_a_program_is_simplified_and_compared(tmp_path: Path) -> None:
    (tmp_path / "long.crasp").write_text(
        "alphabet a b\n"
        "unused := # Q_a > 2\n"
        "some := not not (# Q_a >= 1)\n"
        "accept := some and # Q_a + 1 <= 3 and # Q_b >= 0 and MOD(1, 0)\n"
    )
    finished = execute(["crasp", "simplify", "long.crasp"], tmp_path)
    assert finished.code == 0
    assert finished.stdout == (
        "program long\n"
        "alphabet a b\n"
        "count_a := #[j <= i] Q_a(j)\n"
        "some := count_a >= 1\n"
        "accept := some and count_a <= 2\n"
    )
    assert finished.stderr == (
        "14 -> 4 operations, 3 -> 3 lines; equal on all words (3 configurations)\n"
    )
    shown = json.loads(weft("crasp", "simplify", f"{tmp_path}/long.crasp", "--json"))
    assert parse(shown["text"]) == parse(finished.stdout)
    assert shown["before"] == {"operations": 14, "lines": 3}
    assert shown["after"] == {"operations": 4, "lines": 3}
    assert shown["all_lengths"] is True


def test_a_program_is_simplified_without_a_check_beyond_the_limit(tmp_path: Path) -> None:
    (tmp_path / "p.crasp").write_text("alphabet a b\naccept := max(# Q_a, 0) == # Q_b\n")
    finished = execute(["crasp", "simplify", "p.crasp", "--limit", "1"], tmp_path)
    assert finished.code == 0
    assert finished.stderr.endswith("not checked within the limit\n")


def test_they_need_no_torch() -> None:
    assert not imported("crasp", "equal", "dyck-1", "dyck-1") & {*HEAVY, "lark"}
    assert not imported("crasp", "simplify", "dyck-1") & {*HEAVY, "lark"}


def test_show_ends_with_the_measures_as_a_comment() -> None:
    shown = weft("crasp", "show", "tomita-4")
    assert shown.endswith(
        "// counting depth 1, 8 operations\n"
        "// 2 layers with 3 + 1 heads\n"
        "// local predicates with offsets 1, 2\n"
    )
    assert parse(shown) == load("tomita-4")
    assert "// 1 layer with 1 head\n" in weft("crasp", "show", "majority")
    assert "period 2\n" in weft("crasp", "show", "even-length")
    measures = json.loads(weft("crasp", "show", "dyck-1", "--json"))["measures"]
    assert (measures["depth"], measures["heads"], measures["offsets"]) == (2, [1, 1], [])
