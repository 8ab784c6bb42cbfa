"""`weft subleq`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from command_line import weft


def test_an_example_runs_three_ways() -> None:
    text = weft("subleq", "rewrite")
    for part in ("28 cells", "17 instructions", "51 layers", "sum    13   before: 0"):
        assert part in text
    assert text.splitlines()[-1] == "all three leave the same memory"


def test_a_file_of_numbers_runs(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("9 10 3 10 11 6\n0 0 -1  # halt\n3 5 7\n")
    found = json.loads(weft("subleq", str(path), "--json"))
    assert found["memory"] == [0, 10, 3, 10, 11, 6, 0, 0, -1, 3, 2, 5]
    assert (found["instructions"], found["layers"]) == (3, {"interpreter": 9, "weights": 9})
    assert found["agree"]
    assert "memory  0 10 3" in weft("subleq", str(path), "--no-weights")


def test_sizes_are_those_of_the_file_unless_others_are_given() -> None:
    found = json.loads(weft("subleq", "count-down", "--no-weights", "--json"))
    assert (found["positions"], found["low"], found["high"]) == (12, -1, 11)
    sizes = ("--positions", "14", "--low", "-3", "--high", "20")
    found = json.loads(weft("subleq", "count-down", *sizes, "--json"))
    assert (found["positions"], found["low"], found["high"]) == (14, -3, 20)
    assert found["agree"]


def test_the_listing_shows_cells_beside_their_lines() -> None:
    text = weft("subleq", "count-down", "--listing", "--no-weights")
    assert "0  11 9 6        again:  loop n, again" in text
    assert "10  0 1           (added)" in text


def test_what_differs_is_named_and_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    import weft.cli.subleq as command
    from weft.programs.subleq.machine import Machine, MachineRun

    wrong = MachineRun("interpreter", [0] * 12, 30)
    monkeypatch.setattr(Machine, "interpreted", lambda _: wrong)
    with pytest.raises(typer.Exit) as caught:
        command.subleq_command("count-down", weights=False)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("text", "arguments", "part"),
    [
        ("halt\nad a, b", [], "no instruction 'ad' (mine.subleq:2). Did you mean 'add'?"),
        ("# nothing", [], "there is nothing to run"),
        ("jump 0", ["--max-instructions", "5"], "not halted after 5 instructions (mine.subleq:1)"),
        ("sub a, b\nhalt\na: 5\nb: 3", ["--low", "-1"], "3 - 5 is -2, less than -1"),
        ("halt\na: 30", ["--high", "20"], "cell 3 holds 30, more than 20 (mine.subleq:2)"),
        ("halt\n", ["--positions", "3"], "4 cells do not fit into 3 positions"),
        ("subleq 9, 9", [], "uses cell 9; the memory has 3 cells (mine.subleq:1)"),
        ("halt\n", ["-O", "7"], "there is no level 7"),
    ],
)
def test_bad_files_are_one_line_and_exit_code_2(
    tmp_path: Path, text: str, arguments: list[str], part: str
) -> None:
    path = tmp_path / "mine.subleq"
    path.write_text(text)
    message = weft("subleq", str(path), *arguments, code=2)
    assert part in message
    assert len(message.splitlines()) == 1


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    assert "an example: count-down, fibonacci" in weft("subleq", "nowhere", code=2)
    assert "cannot be read" in weft("subleq", str(tmp_path), code=2)
    (tmp_path / "bytes").write_bytes(os.urandom(64) + b"\xff\xfe")
    assert "cannot be read" in weft("subleq", str(tmp_path / "bytes"), code=2)
