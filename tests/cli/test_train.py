"""`weft train` and `weft eval`."""

from __future__ import annotations

import inspect
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from training_runs import at, send, usual_handlers

from command_line import weft
from weft.cli import COMMANDS, function_of
from weft.tasks import TASKS
from weft.training import RunStore, TrainingConfig, model_config
from weft.training.learner import Learner

QUICK = (
    "parameters.format=tag", "steps=3", "batch=4", "evaluation.size=16", "model.width=8",
    "model.heads=2", "model.layers=1", "model.hidden=8,", "log_every=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        weft("train", "parity", *QUICK, f"seed={seed}", "--runs", str(folder), "--quiet",
             "--device", "cpu")  # fmt: skip
    return folder


def names(runs: Path) -> list[str]:
    return [run.name for run in RunStore(runs).runs()]


def test_training_says_what_came_of_it_and_does_it_once(runs: Path) -> None:
    again = weft("train", "parity", *QUICK, "seed=0", "--runs", str(runs), "--quiet")
    assert f"run           {runs / names(runs)[0]}" in again
    assert "status        done" in again
    for split in ("train", "longer", "more-ones"):
        assert f"\n{split:<14}" in again
    loaded: dict[str, Any] = json.loads(
        weft("train", "parity", *QUICK, "seed=0", "--runs", str(runs), "--json")
    )
    assert loaded["name"] == names(runs)[0]
    assert loaded["step"] == 3
    assert len(names(runs)) == 2


def test_a_users_callback_follows_the_run(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(
        "from weft.training import Callback\n"
        "class Steps(Callback):\n"
        "    def __init__(self, word='step'):\n"
        "        self.word = word\n"
        "    def on_record(self, record):\n"
        "        print(self.word, record.step)\n"
    )
    command = ("train", "parity", *QUICK, "--runs", str(tmp_path / "runs"), "--quiet")
    printed = weft(*command, "--device", "cpu", "--callback", f"{tmp_path}/steps.py:Steps(word=at)")
    assert "at 1\nat 2\nat 3\n" in printed


def test_the_model_option_is_the_preset(runs: Path, tmp_path: Path) -> None:
    weft("train", "parity", *QUICK, "--model", "micro", "--runs", str(tmp_path), "--quiet",
         "--device", "cpu")  # fmt: skip
    (run,) = RunStore(tmp_path).runs()
    assert run.config.preset == "micro"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "party"), "Did you mean 'parity'?"),
        (("train", "parity", "stpes=3"), "Did you mean 'steps'?"),
        (("train", "parity", "parameters.longr=3"), "Did you mean 'longer'?"),
        (("train", "parity", "--model", "nanno"), "Did you mean 'nano'?"),
        (("eval", "zzz"), "there is no run 'zzz'"),
        (("runs", "--delete"), "no runs were named"),
    ],
)
def test_mistakes_are_one_line_with_a_remedy(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    error = weft(*arguments, "--runs", str(tmp_path), code=2)
    assert error.count("\n") == 1
    assert said in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_says_where_it_saved_on_one_line(
    number: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("train", "parity", *QUICK, "--runs", str(tmp_path), "--device", "cpu", "--quiet")
    with monkeypatch.context() as patch, usual_handlers():
        patch.setattr(Learner, "loss", at(2, lambda: send(number), Learner.loss))
        said = weft(*arguments, code=code)
    (run,) = RunStore(tmp_path).runs()
    assert said == (
        f"weft: interrupted after step 2, which is saved in {run.folder}; "
        "the same command resumes the run\n"
    )
    assert run.status == "unfinished"
    assert "status        done" in weft(*arguments)


def test_a_run_that_fails_exits_with_one(tmp_path: Path) -> None:
    changes = ("optimiser.lr=1e30", "optimiser.clip=0", "schedule.warm_up=0", "model.norm=none")
    arguments = ("train", "parity", *QUICK, *changes, "steps=30", "--runs", str(tmp_path))
    assert "status " in weft(*arguments, "--quiet", code=1)
    (run,) = RunStore(tmp_path).runs()
    assert run.status in ("nan", "diverged")


def test_a_run_that_raises_says_why_where_runs_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("no such kernel")

    arguments = ("train", "parity", *QUICK, "--runs", str(tmp_path), "--device", "cpu", "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "loss", at(3, broken, Learner.loss))
        said = weft(*arguments, code=2)
    (run,) = RunStore(tmp_path).runs()
    assert said.count("\n") == 1
    assert f"run {run.name}: it failed after step 2: RuntimeError: no such kernel." in said
    listed = weft("runs", "--runs", str(tmp_path))
    assert f"{run.name[:8]}: failed: RuntimeError: no such kernel (after 2 steps)" in listed
    (entry,) = json.loads(weft("runs", "--runs", str(tmp_path), "--json"))
    assert (entry["status"], entry["message"]) == ("failed", "RuntimeError: no such kernel")
    assert "status        done" in weft(*arguments)


def test_the_device_of_every_command_is_the_best_there_is() -> None:
    signatures = {name: inspect.signature(function_of(name)).parameters for name in COMMANDS}
    defaults = {name: s["device"].default for name, s in signatures.items() if "device" in s}
    assert defaults.keys() >= {"train", "eval", "sweep", "study", "verdict", "check"}
    assert set(defaults.values()) == {"auto"}


@pytest.mark.parametrize("name", ["gpu9", "mps", "cuda:99", "meta"])
def test_devices_that_are_not_there_are_refused(name: str, tmp_path: Path) -> None:
    arguments = ("train", "parity", *QUICK, "--runs", str(tmp_path), "--device", name)
    assert f"there is no device '{name}' here" in weft(*arguments, code=2)
    assert list(tmp_path.iterdir()) == []


def test_evaluation_gives_the_figures_of_the_run(runs: Path) -> None:
    name = names(runs)[0]
    result = RunStore(runs).find(name).result
    assert result is not None
    loaded = json.loads(weft("eval", name[:8], "--runs", str(runs), "--by", "length", "--json"))
    assert {one["split"]: one["accuracy"] for one in loaded} == result.accuracy
    for one in loaded:
        assert sum(group["count"] for group in one["length"]) == one["count"]
    text = weft("eval", name, "--runs", str(runs), "--split", "longer", "--by", "ones")
    assert text.startswith("longer ")
    assert "\n  ones " in text
    assert "train" not in text


def test_every_share_has_n_and_an_interval_and_few_tests_a_warning(runs: Path) -> None:
    """In the table of `train`, in `eval` with and without an axis, in `runs`, and in JSON."""
    name = names(runs)[0]
    result = RunStore(runs).find(name).result
    assert result is not None
    told = {split: str(share) for split, share in result.shares.items()}
    assert set(told) == set(result.accuracy)
    trained = weft("train", "parity", *QUICK, "seed=0", "--runs", str(runs), "--quiet")
    listed = weft("runs", name, "--runs", str(runs))
    for split, text in told.items():
        assert f"\n{split:<14}{text}\n" in trained
        assert result.shares[split].short in listed
        assert "[" in text
    few = weft("eval", name, "--runs", str(runs), "--split", "longer", "--size", "7")
    assert " of 7, loss" in few
    assert "warning: fewer than 100 tests of longer (7)" in few
    many = weft("eval", name, "--runs", str(runs), "--split", "longer", "--size", "100")
    assert "warning" not in many
    loaded = json.loads(weft("eval", name, "--runs", str(runs), "--size", "40", "--json"))
    for one in loaded:
        assert one["n"] == one["count"]
        assert one["low"] <= one["share"] <= one["high"]


def test_a_config_can_be_made_for_every_task() -> None:
    for name, kind in TASKS.items():
        task = kind()
        model = model_config(TrainingConfig(task=name), task)
        assert model.vocabulary == len(task.vocabulary)
        assert model.outputs == task.outputs
