"""Every command with bad values and broken folders: one line and an exit code, never a traceback.

A quick version runs always, a larger one with `make test-slow`. All of it follows from a seed.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from hostile import (
    BASES,
    ON_PROGRAMS,
    PROGRAMS,
    commands,
    damage,
    filled,
    invocations,
    invoke,
    make_workspace,
    run_name,
)

EACH, EACH_SLOW = 1, 20
"""Bad values for every option."""
MODELS, MODELS_SLOW = 12, 600
"""Broken model folders, compiled and trained, each run, proved and shown."""
RUNS, RUNS_SLOW = 12, 400
"""Broken run folders, each listed, evaluated and continued."""
PARTS = 4


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    make_workspace(folder)
    return folder


@pytest.fixture
def workspace(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to spoil, as the working directory."""
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder, symlinks=True)
    monkeypatch.chdir(folder)
    return folder


def test_every_command_is_attacked_and_ends_well_without_attack(workspace: Path) -> None:
    assert set(BASES) == set(commands())
    for command, base in BASES.items():
        # the run is of answers to parity; export and fine-tuning need an extra
        if command not in ("explain", "export", "recursion iterate", "recursion finetune"):
            found = invoke(*command.split(), *filled(base))
            assert found.code == 0, (found.arguments, found.err)


def test_there_are_at_least_300_invocations() -> None:
    options = sum(len(invocations(command, EACH)) for command in BASES)
    assert options + len(PROGRAMS) + 6 * MODELS + 3 * RUNS >= 300


@pytest.mark.parametrize("command", BASES)
def test_bad_values(command: str, workspace: Path) -> None:
    attack_options(command, EACH, 0)


@pytest.mark.slow
@pytest.mark.parametrize("command", BASES)
def test_many_bad_values(command: str, workspace: Path) -> None:
    attack_options(command, EACH_SLOW, 1)


def attack_options(command: str, each: int, seed: int) -> None:
    for arguments in invocations(command, each, seed):
        invoke(*filled(arguments)).check()


@pytest.mark.parametrize("part", range(PARTS))
def test_broken_programs(part: int, workspace: Path) -> None:
    for number, name in list(enumerate(PROGRAMS))[part::PARTS]:
        attack_program(name, number % len(ON_PROGRAMS))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_commands_on_broken_programs(name: str, workspace: Path) -> None:
    for place in range(len(ON_PROGRAMS)):
        attack_program(name, place)


def attack_program(name: str, place: int) -> None:
    Path("p.py").write_text(PROGRAMS[name])
    found = invoke(*ON_PROGRAMS[place])
    found.check()
    if found.code == 0:
        assert found.out, f"{name}: {found.arguments} said nothing"


@pytest.mark.parametrize("part", range(PARTS))
def test_broken_models(part: int, workspace: Path) -> None:
    for number in range(part, MODELS, PARTS):
        attack_model(number)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_broken_models(part: int, workspace: Path) -> None:
    for number in range(MODELS + part, MODELS_SLOW, PARTS):
        attack_model(number)


@pytest.mark.parametrize("part", range(PARTS))
def test_broken_trained_models(part: int, workspace: Path) -> None:
    for number in range(part, MODELS, PARTS):
        attack_model(number, f"runs/{run_name()}")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_broken_trained_models(part: int, workspace: Path) -> None:
    for number in range(MODELS + part, MODELS_SLOW, PARTS):
        attack_model(number, f"runs/{run_name()}")


def attack_model(number: int, name: str = "model") -> None:
    """Break a model folder, or that of a run, and give it to all commands that take one."""
    with spoilt(name if name == "model" else f"{name}/model", number) as done:
        for arguments in (["run", name, "101"], ["prove", name], ["show", name]):
            found = invoke(*arguments)
            try:
                found.check()
            except AssertionError as error:
                raise AssertionError(f"{done}: {error}") from None


@pytest.mark.parametrize("part", range(PARTS))
def test_broken_runs(part: int, workspace: Path) -> None:
    for number in range(part, RUNS, PARTS):
        attack_run(number)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_broken_runs(part: int, workspace: Path) -> None:
    for number in range(RUNS + part, RUNS_SLOW, PARTS):
        attack_run(number)


def attack_run(number: int) -> None:
    name = run_name()
    with spoilt(f"runs/{name}", number) as done:
        if number % 3 == 0:  # a run that has not ended is continued from its checkpoint
            result = Path("runs", name, "result.json")
            shutil.rmtree(result) if result.is_dir() else result.unlink(missing_ok=True)
        for arguments in (
            ["runs", "--runs", "runs", "--compare"],
            ["eval", name, "--runs", "runs", "--size", "2", "--device", "cpu"],
            ["train", *BASES["train"]],
        ):
            found = invoke(*arguments)
            try:
                found.check()
            except AssertionError as error:
                raise AssertionError(f"{done}: {error}") from None


class spoilt:
    """A folder with one file broken, whole again afterwards."""

    def __init__(self, folder: str, seed: int) -> None:
        self.folder, self.seed = Path(folder), seed
        self.aside = Path("../aside")

    def __enter__(self) -> str:
        shutil.copytree(self.folder, self.aside)
        return damage(self.folder, random.Random(self.seed))

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.folder)
        shutil.move(self.aside, self.folder)
