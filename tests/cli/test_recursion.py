"""`weft recursion` and `weft study recursion` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import execute, weft

TINY = (
    "model.width=8", "model.heads=1", "model.layers=1", "model.hidden=8", "steps=2", "batch=4",
    "evaluation.size=4", "parameters.length=6", "parameters.longer=8",
)  # fmt: skip
PROMPTS = ("recursion", "prompts", "successor", "--depths", "0-2", "--per-depth", "3")


def test_prompts_are_written_and_answers_graded(tmp_path: Path) -> None:
    file, answers = tmp_path / "prompts.jsonl", tmp_path / "answers.jsonl"
    assert "wrote 9 prompts" in weft(*PROMPTS, "--out", str(file))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    right = [{"id": each["id"], "answer": each["expected"][0]} for each in lines]
    right[-1]["answer"] = "01"
    answers.write_text("".join(json.dumps(each) + "\n" for each in right[1:]))
    shown = weft("recursion", "grade", str(file), str(answers))
    assert "1 prompts have no answer" in shown
    found = json.loads(weft("recursion", "grade", str(file), str(answers), "--json"))
    assert (found["missing"], found["n"]) == (1, 8)
    assert [row["n"] for row in found["depth"]] == [2, 3, 3]
    assert found["depth"][2]["value"] == 2


def test_steps_are_iterated(tmp_path: Path) -> None:
    runs = ("--runs", str(tmp_path), "--device", "cpu")
    made = json.loads(
        weft("train", "recursion", "parameters.part=step", *TINY, *runs, "--quiet", "--json")
    )
    name, again = made["name"], ("--split", "train", "--size", "5")
    shown = weft("recursion", "iterate", name, *again, *runs)
    assert "whole reductions" in shown
    assert "first wrong step" in shown
    (found,) = json.loads(weft("recursion", "iterate", name, *again, *runs, "--json"))
    assert found["whole"]["n"] == 5
    assert sum(found["first_errors"].values()) == 5 - found["whole"]["right"]
    wrong = execute(["recursion", "iterate", name, "--by", "colour", *again, *runs])
    assert wrong.code == 2
    assert "no axis 'colour'" in wrong.stderr


def test_models_of_values_are_not_iterated(tmp_path: Path) -> None:
    runs = ("--runs", str(tmp_path), "--device", "cpu")
    made = json.loads(weft("train", "recursion", *TINY, *runs, "--quiet", "--json"))
    done = execute(["recursion", "iterate", made["name"], *runs])
    assert done.code == 2
    assert "parameters.part=step" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "9-2"], "sizes is 9 to 2"),
        (["--sizes", "x"], "not a range"),
        (["--demonstrations", "0"], "neither demonstrations nor the definition"),
        (["--ask", "poem"], "poem"),
        (["--order", "wrong"], "wrong"),
        (["--depths", "40"], "no input of sizes 4 to 10"),
    ],
)
def test_prompts_that_cannot_be_made(tmp_path: Path, arguments: list[str], said: str) -> None:
    file = tmp_path / "prompts.jsonl"
    done = execute([*PROMPTS, "--out", str(file), *arguments])
    assert done.code == 2
    assert said in done.stderr
    assert not file.exists()


@pytest.mark.slow
def test_the_study_trains_reports_and_reads_records(tmp_path: Path) -> None:
    where = ("--runs", str(tmp_path / "runs"), "--device", "cpu", "--seeds", "1")
    rows = ("--only", "successor", "--only", "natural", "--only", "step")
    smoke = ("study", "recursion", "--scale", "smoke", *rows, *where)
    records = tmp_path / "records.json"
    shown = weft(*smoke, "--out", str(tmp_path / "out"), "--records", str(records))
    assert "Atomic steps, iterated" in shown
    stem = "recursion-smoke"
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {f"{stem}.md", f"{stem}.json", f"{stem}-depth.svg"} <= files
    page = (tmp_path / "out" / f"{stem}.md").read_text()
    assert "weft study recursion --scale smoke" in page
    assert "Runs below 99% in distribution" in page
    again = weft("study", "recursion", "--scale", "smoke", "--from", str(records))
    assert again.strip() == shown.strip()
