"""C-RASP programs under the names that commands take: run, compiled, learned, judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import weft
from command_line import weft as weft_command
from weft.crasp import library, run
from weft.crasp.syntax.text import text
from weft.errors import WeftError
from weft.tasks import named, task


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.crasp"
    path.write_text(text(library.load("anbn")))
    return path


def test_parameters_are_those_of_the_library_and_the_length() -> None:
    program = weft.program("crasp:bounded-dyck(depth=1, max_length=5)")
    assert (program.name, program.positions) == ("bounded-dyck(depth=1)", 6)
    assert weft.run(program, "abab").result
    assert not weft.run(program, "aabb").result


def test_a_file_is_a_program(file: Path) -> None:
    program = weft.program(f"{file}(max_length=4)")
    assert program.positions == 5
    assert [weft.run(program, word).result for word in ("aabb", "abab", "")] == [True, False, True]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crasp:dyk-1", "Did you mean 'dyck-1'"),
        ("crasp:dyck-1(depth=3)", "dyck-1: it has no parameter 'depth'"),
        ("crasp:dyck-1(max_length=0)", "max_length cannot be 0"),
        ("crasp:dyck-1(max_length=long)", "max_length cannot be 'long'"),
        ("crasp:dyck-1(3)", "does not name a program"),
        ("nothing.crasp", "nothing.crasp"),
    ],
)
def test_mistakes_are_explained(name: str, message: str) -> None:
    with pytest.raises(WeftError, match=message):
        weft.program(name)


def test_a_file_has_no_parameters_of_its_own(file: Path) -> None:
    with pytest.raises(WeftError, match=r"mine\.crasp has no parameter 'depth'"):
        weft.program(f"{file}(depth=3)")


def test_the_task_of_a_program() -> None:
    name, parameters = named("crasp:dyck-1")
    assert (name, parameters) == ("program", {"program": "crasp:dyck-1"})
    dyck = task(name, **parameters, length=8, longer=12)
    batch = dyck.test_set("longer", 50)
    questions = dyck.asked(batch)
    accepted = 0
    for tokens, answers in zip(questions, batch.targets.tolist(), strict=True):
        values = run(library.load("dyck-1"), tokens[1:]).values["accept"]
        assert [dyck.answers[k] for k in answers[: len(tokens)]] == [str(int(v)) for v in values]
        accepted += values[-1]
    assert 5 < accepted < 45


def test_a_task_notices_that_its_file_has_changed(file: Path) -> None:
    name, parameters = named(str(file))
    assert task(name, **parameters, length=4, longer=6).content
    file.write_text(text(library.load("tie")))
    with pytest.raises(WeftError, match="has changed since this task was configured"):
        task(name, **parameters)


def test_a_compiled_model_finds_its_program_again(tmp_path: Path, file: Path) -> None:
    folder = tmp_path / "model"
    weft_command("compile", f"{file}(max_length=4)", "-o", str(folder))
    assert "proved" in weft_command("prove", str(folder))
    assert weft.load(folder).answer("aabb") == "True"
    file.write_text(file.read_text().replace("Q_a(j) == ", "Q_a(j) <= "))
    assert "the source of anbn has changed" in weft_command("prove", str(folder), code=2)


def test_show_prints_the_text() -> None:
    shown = weft_command("show", "crasp:tomita-4")
    assert "accept := #[j <= i] bad(j) == 0" in shown


@pytest.mark.slow
def test_verdict_with_a_trained_model(tmp_path: Path) -> None:
    name = "crasp:tomita-4"
    common = ("--runs", str(tmp_path / "runs"), "--device", "cpu")
    weft_command("train", name, "steps=2", "evaluation.size=8", "--quiet", *common)
    judged = ("verdict", name, "--examples", "60", "--tests", "8", *common, "--json")
    stages = json.loads(weft_command(*judged))["stages"]
    assert [stage["name"] for stage in stages] == [
        "compiled", "predicted", "from traces", "from answers",
    ]  # fmt: skip
    assert stages[-1]["run"]
    for stage in stages[:2]:
        assert {split: one["share"] for split, one in stage["shares"].items()} == {
            "train": 1.0,
            "longer": 1.0,
        }


def test_verdict_of_a_counter() -> None:
    """Differences of counts that no training input reaches are not in the minimal program."""
    name, parameters = "crasp:majority(max_length=13)", {"length": 6, "longer": 14}
    result = weft.verdict(name, parameters=parameters, examples=200, tests=60)
    assert result.stage("compiled", name).shares["longer"].share == 1.0
    predicted = result.stage("predicted", name).shares
    assert predicted["train"].share == 1.0
    assert predicted["longer"].share < 1.0
