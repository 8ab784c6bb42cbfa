"""What the command line says when something is wrong: one line that names what was typed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer
from hostile import BASES, PROGRAM, TINY, invoke, make_workspace, run_name
from typer.models import OptionInfo

import weft.cli


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("errors")
    make_workspace(folder)
    return folder


@pytest.fixture
def workspace(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder, symlinks=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bogus"], "there is no command 'bogus'"),
        (["chekc", "parity"], "there is no command 'chekc'. Did you mean 'check'?"),
        (["run", "parity"], "missing argument 'INPUT'. See weft run --help"),
        (["crasp", "rnu"], "there is no command 'crasp rnu'. Did you mean 'run'?"),
        (["crasp", "run"], "missing argument 'FILE|NAME'. See weft crasp run --help"),
        (["crasp", "--fast"], "no such option: --fast. See weft crasp --help"),
        (["check", "parity", "--samples", "-3"], "'--samples -3'"),
        (["check", "parity", "--samples=-3"], "'--samples -3'"),
        (["check", "parity", "--samples", str(10**20)], f"'--samples {10**20}'"),
        (["compile", "parity", "--max-length", "x"], "'--max-length x': it must be an integer"),
        (["check", "parity", "--layers", "-1"], "'--layers -1': it must be at least 0"),
        (["check", "parity", "-O", "7"], "there is no level 7"),
        (["export", "model", "out", "--to", "onnx"], "there is no export to 'onnx'. Known: hf"),
        (["compile", "parity", "-o", "afile"], "-o afile is a file, not a folder"),
        (["compile", "parity", "-o", "afile/x"], "-o afile/x cannot be written"),
        (["compile", "parity", "-o", "adir"], "-o adir is not empty and holds no model"),
        (["traces", "parity", "-o", "adir"], "-o adir is not empty and holds no traces"),
        (["run", "parity", "1", "--svg", "no/x.svg"], "--svg no/x.svg cannot be written"),
        (["train", "parity", "--runs", "afile"], "--runs afile is a file"),
        (["verdict", "parity", "--out", "/dev/null/x"], "--out /dev/null/x cannot be written"),
        (["study", "parity", "--report", "--out", "afile"], "--out afile is a file"),
        (["runs", "--runs", "afile"], "afile is a file"),
        (["eval", "x", "--runs", "none"], "there is no folder none"),
        (["check", "model"], "model is a folder, not a program"),
        (["prove", "afile"], "afile is a file. Give a folder that `weft compile` wrote"),
        (["prove", "model", "--program", "addition"], "compiled from Parity, not from Addition"),
        (["run", "model", "10x"], "there is no token 'x'"),
        (["subleq", "multiply", "--high", "5000"], "bound them with --low and --high"),
        (["train", "parity", "seed=-1"], "seed is -1"),
        (["train", "parity", "steps=1e30"], "steps is 1e+30"),
        (["train", "parity", "optimiser.lr=nan"], "optimiser.lr is nan"),
        (["train", "parity", "optimiser.betas=2,2"], "optimiser.betas is 2"),
        (["train", "parity", "model.vocabulary=2"], "model.vocabulary is 2, but parity has"),
        (["train", "parity", "model.width=20000000"], "Make it smaller: model.width"),
        (["train", "parity", "model.layers=1000000"], "layers is 1,000,000"),
        (
            ["train", "parity", "--traces", "addition"],
            "the program Addition does not take the inputs of the task parity",
        ),
        (["train", "parity", "--traces", "addition"], "Name a program that solves it: parity,"),
        (["verdict", "parity", "--device", "abacus"], "there is no device 'abacus'"),
    ],
)
def test_mistakes_are_one_line_that_names_them(
    workspace: Path, arguments: list[str], said: str
) -> None:
    found = invoke(*arguments)
    found.check()
    assert (found.code, said in found.err) == (2, True), found.err


def test_a_program_with_one_token_hears_that_its_inputs_are_few(workspace: Path) -> None:
    Path("one.py").write_text(PROGRAM.replace('["a", "b"]', '["a"]'))
    found = invoke("train", "one.py", *TINY)
    assert found.code == 2
    assert "with 1 token" in found.err
    assert "held_out" not in found.err


@pytest.mark.parametrize(
    ("conditions", "count"),
    [
        (["steps>1 and seed=0"], 1),
        (["steps>100 and seed=0"], 0),
        (["steps>1", "and", "seed=0"], 1),
        (["steps==2"], 1),
        (["task='parity' and status=done"], 1),
        (["model.hidden=8"], 1),
        (["RUN and steps=2"], 1),
    ],
)
def test_conditions_are_joined_by_and(workspace: Path, conditions: list[str], count: int) -> None:
    found = invoke(
        "runs", "--runs", "runs", *(one.replace("RUN", run_name()) for one in conditions)
    )
    assert found.code == 0, found.err
    assert (run_name()[:8] in found.out) == bool(count)
    if not count:
        assert found.out == "no runs in runs match steps>100 and seed=0\n"


@pytest.mark.parametrize(
    "condition",
    [
        "steps>1 or seed=0", "not seed=0", "steps>>1", "(steps>1)", "steps>abc", "task>3", "steps>",
        "seed=0 & steps=2", "seed=0,steps=2", "steps>1 and", "and", "", "=", "steps=>2",
    ],
)  # fmt: skip
def test_other_conditions_are_refused_and_delete_nothing(workspace: Path, condition: str) -> None:
    name = run_name()
    found = invoke("runs", "--runs", "runs", condition, "--delete")
    found.check()
    assert found.code == 2, found.out
    assert Path("runs", name, "config.json").is_file()


def test_a_damaged_run_is_listed_among_the_others_and_can_be_deleted(workspace: Path) -> None:
    good = run_name()
    shutil.copytree(f"runs/{good}", "runs/damaged00000")
    Path("runs/damaged00000/config.json").write_text('{"task": 3}')
    found = invoke("runs", "--runs", "runs", "--compare")
    assert found.code == 0, found.err
    assert good[:8] in found.out
    assert "damaged0: unreadable: runs/damaged00000/config.json" in found.out
    assert invoke("eval", "damaged", "--runs", "runs").code == 2
    assert invoke("runs", "--runs", "runs", "status=unreadable", "--delete").code == 0
    assert not Path("runs/damaged00000").exists()
    assert Path("runs", good).exists()


def test_a_bug_is_one_line_too_and_the_traceback_can_be_had(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    def broken(name: str) -> None:
        raise LookupError("two\nlines")

    monkeypatch.setattr("weft.programs.program", broken)
    found = invoke("show", "parity")
    assert found.code == 70
    assert found.err.startswith("weft: a bug in Weft: LookupError: two lines (programs.py:")
    assert len(found.err.splitlines()) == 1
    monkeypatch.setenv("WEFT_TRACEBACK", "1")
    with pytest.raises(LookupError):
        invoke("show", "parity")


def test_no_arguments_is_help(workspace: Path) -> None:
    found = invoke()
    assert found.code == 0
    assert all(name.partition(" ")[0] in found.out for name in BASES)


def test_every_number_has_bounds() -> None:
    """A number without bounds runs for years, or asks for more memory than there is."""
    for command in weft.cli.COMMANDS:
        hints = get_type_hints(weft.cli.function_of(command), include_extras=True)
        for name, hint in hints.items():
            kind, *extras = get_args(hint) or (hint,)
            numbers = {kind, *get_args(kind)} & {int, float}
            for option in (one for one in extras if isinstance(one, OptionInfo) and numbers):
                if name not in ("alpha", "level"):  # above 0; 0 or 2: the library says so
                    assert None not in (option.min, option.max), (command, name)


def test_usage_errors_are_found_in_this_version_of_typer() -> None:
    assert issubclass(typer.BadParameter, weft.cli.USAGE_ERROR)
    assert weft.cli.USAGE_ERROR.__name__ == "UsageError"
