"""`weft minimal`: its tables, and what one may write for a split."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import weft as package
from command_line import HEAVY, imported, weft
from weft.errors import WeftError
from weft.tasks import TASKS
from weft.theory.minimal.input_splits import split_inputs


def found(*arguments: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(weft("minimal", *arguments, "--json"))
    return loaded


def test_the_parity_programs_are_those_of_the_paper() -> None:
    tests = ("--train", "train", "--test", "longer", "--test", "more-ones", "--tests", "150")
    rows = {name: found(name, *tests) for name in ("parity", "parity-absolute", "parity-sum")}
    assert {name: row["rules"] + row["resets"] for name, row in rows.items()} == {
        "parity": 7,
        "parity-absolute": 7,
        "parity-sum": 31,
    }
    solved = {name: [test["solved"] for test in row["tests"]] for name, row in rows.items()}
    assert solved == {
        "parity": [True, True],
        "parity-absolute": [False, False],
        "parity-sum": [False, False],
    }
    longer, more = rows["parity-sum"]["tests"]
    assert longer["covered"] > 0
    assert more["covered"] == 0
    assert sum(longer["endings"].values()) == longer["inputs"] == 150
    assert longer["missing"][0].startswith("share = ")


def test_tables_in_the_terminal_and_as_markdown(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("1\n10\n11\n")
    (tmp_path / "test.txt").write_text("0\n\n110\n")
    given = ("parity", "--train", f"{tmp_path}/train.txt", "--test", f"{tmp_path}/test.txt")
    shown = weft("minimal", *given, "--full", "--forms", "--rules", "--dropped",
                 "--reading", "exclusive")  # fmt: skip
    for part in (
        "3 training inputs",
        "'documented'",
        "minimal forms of the rules that fired: 1",
        "done_left = 1, parity_left = 1 => parity: 1 -> 0",
        "constraint parity_left in `done = 0, done_left = 1, parity_left = 1 => parity: 0 -> 1`",
        "does not solve",
        "Definition 1 by the reading 'exclusive'",
        "warning: fewer than 100 tests of",
        " of 2 right, ",
    ):
        assert part in " ".join(shown.split()), part
    written = weft("minimal", *given, "--markdown")
    assert "| rules | 3 | 3 | 2 | 0 |" in written  # in 110 no parity of 0 is flipped
    assert f"| {tmp_path}/test.txt | 2 | 2 | 2 | 0 | 0 | 0 |" in written
    assert "The minimal program solves" in written


def test_the_default_reading_is_that_of_the_optimum() -> None:
    """What `--full` leaves is minimal for `weft optimum --removals`, whose default is the same."""
    given = ("--train", "length<=4", "--size", "30", "--test", "length=6", "--full")
    report = found("comparison", *given)
    assert report["constraints"]["reading"] == "weights"
    shown = " ".join(weft("minimal", "comparison", *given).split())
    assert "Definition 1 by the reading 'weights': a constraint can go if no training" in shown
    less = found("comparison", *given, "--reading", "logic")
    more = found("comparison", *given, "--reading", "exclusive")
    left = [one["constraints"]["left"] for one in (less, report, more)]
    assert left == sorted(left)
    assert less["rules"] < report["rules"] == more["rules"]
    said = weft("minimal", "parity", "--train", "train", "--full", "--reading", "logics", code=2)
    assert "no reading 'logics' of definition 1. Did you mean 'logic'?" in said


def test_shares_have_n_and_an_interval() -> None:
    report = found("parity-sum", "--train", "length<=9", "--test", "length=19", "--tests", "150")
    (test,) = report["tests"]
    assert (test["n"], test["right"] / 150) == (150, test["share"])
    assert test["low"] < test["share"] < test["high"]
    assert test["intervals"]["covered"]["right"] == test["covered"]


def test_what_is_not_right_is_shown_with_its_reason() -> None:
    report = found("parity-absolute", "--train", "length<=3", "--size", "50", "--test", "length=5")
    (test,) = report["tests"]
    assert test["endings"] == {"not halted": 1000}
    assert test["not right"][0]["reason"] == "it has not halted after 4 layers"
    assert report["positions"] == 3


SPLITS = {
    "dyck": "dyck(brackets='()[]{}'):train",
    "reverse-absolute": "reverse(length=8, longer=9):train",
    "sort-unique": "sort(unique=True, length=8, longer=9):train",
}


@pytest.mark.parametrize("name", [name for kind in TASKS.values() for name in kind.programs])
def test_every_program_reads_the_inputs_of_its_task(name: str) -> None:
    program = package.program(name)
    for text in split_inputs(program, name, SPLITS.get(name, "train"), size=5)[:5]:
        run = package.run(program, text)
        assert run.result == program.task(list(run.tokens))


def test_a_program_without_a_task_has_splits_of_its_own() -> None:
    program = package.program("regex")
    train = split_inputs(program, "regex", "train", size=40)
    longer = split_inputs(program, "regex", "longer", size=40, testing=True)
    assert max(map(len, train)) <= 10 < min(map(len, longer))


def test_scan_takes_all_commands_of_a_split(tmp_path: Path) -> None:
    program = package.program("scan")
    assert len(split_inputs(program, "scan", "train", size=3)) == 16_990
    assert len(split_inputs(program, "scan", "scan(split=jump):test", size=3, testing=True)) == 7706
    for part in ("train", "test"):
        text = (
            f"IN: walk twice OUT: I_WALK I_WALK\nIN: {'jump' * (part == 'test') or 'run'} OUT: X\n"
        )
        (tmp_path / f"tasks_{part}_simple.txt").write_text(text)
    given = f"scan(split=simple, folder={tmp_path}):test"
    assert split_inputs(program, "scan", given, size=1) == ["walk twice", "jump"]
    packed = tmp_path / "commands.txt.gz"
    packed.write_bytes(gzip.compress(b"IN: run OUT: I_RUN\nlook left\n"))
    assert split_inputs(program, "scan", str(packed), size=1) == ["run", "look left"]


def test_training_and_test_inputs_are_apart() -> None:
    program = package.program("addition")
    written = "addition(digits=2, longer=9):train"
    train = split_inputs(program, "addition", written, size=3000)
    test = split_inputs(program, "addition", written, size=300, testing=True)
    assert not set(map(str, train)) & set(map(str, test))


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("parity", "longest", "no split 'longest'"),
        ("parity", "parity(length):train", "parameters that cannot be read"),
        ("parity", "parity(lenght=3):train", "no parameter 'lenght'"),
        ("parity", "party:train", "no task 'party'"),
        ("parity", "train!", "is not a split"),
        ("parity", "length=5..3", "no input has"),
        ("turing", "deeper", "no split 'deeper'"),
    ],
)
def test_what_is_no_split_is_refused(name: str, written: str, said: str) -> None:
    with pytest.raises(WeftError, match=said.replace("(", r"\(")):
        split_inputs(package.program(name), name, written, size=3)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe")
    for name, said in (("empty.txt", "has no inputs"), ("binary.txt", "cannot be read")):
        with pytest.raises(WeftError, match=said):
            split_inputs(package.program("parity"), "parity", str(tmp_path / name), size=3)


def test_unknown_forms_are_refused() -> None:
    said = weft("minimal", "parity", "--train", "train", "--form", "set", code=2)
    assert "there is no form 'set'" in said


def test_it_needs_no_torch() -> None:
    given = ("--train", "length<=5", "--size", "20", "--test", "length=9")
    assert not imported("minimal", "parity", *given) & HEAVY
