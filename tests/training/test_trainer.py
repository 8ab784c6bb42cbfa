"""How runs end: done, stopped, not a number, diverged, out of memory; each keeps what it had."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training_runs import SMALL, folder_of, lines, small, weights

from weft.errors import WeftError
from weft.tasks import Batch, task
from weft.tasks.bits import Parity
from weft.tasks.formats import Pairs
from weft.training import RunStore, TrainingConfig, train
from weft.training.checkpoint import newest_step
from weft.training.learner import Learner, run
from weft.training.loop import Loop
from weft.training.supervision import learner_of


def outcome(runs: Path, config: TrainingConfig) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder_of(runs, config) / "result.json").read_text())
    return found


def test_a_task_is_learned_and_the_run_ends_when_it_is(tmp_path: Path) -> None:
    config = small(
        "task=majority", "parameters.format=tag", "steps=2000", "batch=32", "stop.accuracy=0.3",
        "evaluation.splits=train", "evaluation.every=50", "model.random_offset=0",
    )  # fmt: skip
    result = train(config, runs=tmp_path, device="cpu")
    assert result.status == "stopped"
    assert result.step < 2000
    assert result.accuracy["validation"] == result.best >= 0.3
    assert result.best_step == result.step
    assert list(result.accuracy) == ["validation", "train"]
    losses = [record["loss"] for record in lines(folder_of(tmp_path, config))]
    assert losses[-1] < losses[0]


@dataclass(frozen=True, kw_only=True)
class Misvalidated(Parity):
    """Parity whose validation set has the opposite answers."""

    def validation_set(self, size: int) -> Batch:
        found = super().validation_set(size)
        return dataclasses.replace(
            found, targets=np.where(found.targets < 0, -1, 1 - found.targets)
        )


def test_what_ends_a_run_is_measured_on_validation_and_not_on_tests(tmp_path: Path) -> None:
    config = small("stop.accuracy=0.99", "steps=50", "log_every=50")
    wrong = train(config, runs=tmp_path / "wrong", device="cpu", task=Misvalidated())
    right = train(config, runs=tmp_path / "right", device="cpu")
    assert wrong.accuracy["train"] == right.accuracy["train"]
    assert wrong.accuracy["validation"] == 1 - right.accuracy["validation"]
    seen = [
        [record["accuracy"]["validation"] for record in lines(folder, "evaluations.jsonl")]
        for folder in (folder_of(tmp_path / name, config) for name in ("wrong", "right"))
    ]
    assert (wrong.best, right.best) == (max(seen[0]), max(seen[1]))
    found = RunStore(tmp_path / "right").runs()[0].predictions("validation")
    assert found.batch.content_hash == task("parity").validation_set(32).content_hash


def test_without_a_criterion_nothing_is_validated_unless_it_is_asked_for(tmp_path: Path) -> None:
    result = train(small("steps=3"), runs=tmp_path, device="cpu")
    assert result.best is None
    assert list(result.accuracy) == ["train", "longer", "more-ones"]
    asked = small("steps=3", "evaluation.splits=validation,longer")
    assert list(train(asked, runs=tmp_path, device="cpu").accuracy) == ["validation", "longer"]


def test_a_test_set_cannot_end_a_run(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"'longer' is a test set.*stop.split=train"):
        train(small("stop.split=longer", "stop.patience=1"), runs=tmp_path, device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_patience_ends_a_run_that_gets_no_better(tmp_path: Path) -> None:
    config = small("steps=100", "evaluation.every=5", "stop.patience=2", "optimiser.lr=1e-12")
    result = train(config, runs=tmp_path, device="cpu")
    assert (result.status, result.step, result.best_step) == ("stopped", 15, 5)


def test_what_is_not_a_number_ends_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Learner.learn

    def poisoned(self: Learner, batch: object, step: int) -> torch.Tensor:
        if step == 40:
            handle = self.model.embedding.register_hook(lambda gradient: gradient * float("nan"))
            try:
                return before(self, batch, step)  # type: ignore[arg-type]
            finally:
                handle.remove()
        return before(self, batch, step)  # type: ignore[arg-type]

    monkeypatch.setattr(Learner, "learn", poisoned)
    result = train(SMALL, runs=tmp_path, device="cpu")
    assert (result.status, result.step) == ("nan", 39)
    assert "finite" in result.message
    run_folder = folder_of(tmp_path, SMALL)
    assert outcome(tmp_path, SMALL)["status"] == "nan"
    assert [record["step"] for record in lines(run_folder)] == [7, 14, 21, 28, 35]
    assert result.accuracy.keys() == {"train", "longer", "more-ones"}  # those of step 25
    assert all(np.isfinite(value).all() for value in weights(run_folder).values())
    assert train(SMALL, runs=tmp_path, device="cpu") == result


def test_divergence_ends_a_run(tmp_path: Path) -> None:
    config = small("optimiser.lr=3", "optimiser.clip=0", "schedule.name=constant", "steps=400",
                   "schedule.warm_up=0", "log_every=2")  # fmt: skip
    result = train(config, runs=tmp_path, device="cpu")
    assert result.status == "diverged"
    assert result.step < 400
    losses = [record["loss"] for record in lines(folder_of(tmp_path, config))]
    assert min(losses[-3:]) > 3 * np.log(2)


def test_no_memory_ends_a_run_that_may_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    before = Learner.learn

    def full_at_30(self: Learner, batch: object, step: int) -> torch.Tensor:
        if step == 30:
            full()
        return before(self, batch, step)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn", full_at_30)
        result = train(SMALL, runs=tmp_path, device="cpu")
    assert result.status == outcome(tmp_path, SMALL)["status"] == "out-of-memory"
    assert newest_step(folder_of(tmp_path, SMALL)) == 29
    with monkeypatch.context() as patch:  # and then there is no room for the model itself
        patch.setattr(Learner, "__init__", full)
        assert train(SMALL, runs=tmp_path, device="cpu").step == 29
    assert outcome(tmp_path, SMALL)["step"] == 29
    assert train(SMALL, runs=tmp_path, device="cpu").status == "done"


def test_no_memory_for_the_model_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    for part in ((Loop, "__init__"), (Learner, "learn")):
        with monkeypatch.context() as patch:
            patch.setattr(*part, full)
            assert train(SMALL, runs=tmp_path, device="cpu").status == "out-of-memory"
        assert list(tmp_path.iterdir()) == []


def test_a_model_that_no_machine_has_room_for(tmp_path: Path) -> None:
    for width, said in ((4_000_000_000, "width is"), (20_000_000, "training it takes")):
        config = small(f"model.width={width}", f"model.hidden={width},")
        with pytest.raises(WeftError, match=said):
            train(config, runs=tmp_path, device="cpu")
    assert list(tmp_path.iterdir()) == []


def failing(at: int) -> Any:
    """`Learner.learn`, with an error at one step."""
    before = Learner.learn

    def learn(self: Learner, batch: object, step: int) -> torch.Tensor:
        if step == at:
            raise RuntimeError("something else\nand more about it")
        return before(self, batch, step)

    return learn


def test_other_errors_are_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Learner, "learn", failing(1))
    with pytest.raises(RuntimeError, match="something else"):
        train(SMALL, runs=tmp_path, device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_says_why_and_goes_on_when_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(SMALL, runs=tmp_path / "once", device="cpu")
    runs = tmp_path / "twice"
    folder = folder_of(runs, SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn", failing(40))
        with pytest.raises(WeftError, match="failed after step 39: RuntimeError: something else"):
            train(SMALL, runs=runs, device="cpu")
    found = outcome(runs, SMALL)
    assert (found["status"], found["step"]) == ("failed", 39)
    assert found["message"] == "RuntimeError: something else"
    assert "and more about it" in (folder / "traceback.txt").read_text()
    assert RunStore(runs).query("status=failed")[0].values()["message"] == found["message"]
    assert newest_step(folder) == 39
    result = train(SMALL, runs=runs, device="cpu")
    assert result.status == "done"
    assert not (folder / "traceback.txt").exists()
    once, twice = weights(folder_of(tmp_path / "once", SMALL)), weights(folder)
    assert all((once[key] == twice[key]).all() for key in once)
    assert lines(folder) == lines(folder_of(tmp_path / "once", SMALL))


def test_a_full_disk_is_the_reason_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weft.training.checkpoint.save", full)
    with pytest.raises(WeftError, match="No space left on device"):
        train(SMALL, runs=tmp_path, device="cpu", save_every=0)


def test_an_error_of_the_data_reaches_the_caller(tmp_path: Path) -> None:
    parity = task("parity", format="tag")
    object.__setattr__(parity, "batch", None)
    with pytest.raises(WeftError, match="task parity: its examples cannot be drawn: TypeError"):
        train(SMALL, runs=tmp_path, device="cpu", task=parity)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WeftError, match="cannot be written"):
        train(SMALL, runs=tmp_path / "file", device="cpu")


@dataclass(frozen=True, kw_only=True)
class Brittle(Parity):
    """Parity that breaks when it is drawn for the fifth time."""

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        if split == "train" and size < 100:  # not a chunk of candidates for tests
            self.count.append(1)
        if len(self.count) > 4:
            raise ZeroDivisionError("by zero")
        return super().draw(split, rng, size)

    @cached_property
    def count(self) -> list[int]:
        return []


def test_an_error_of_a_task_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"ZeroDivisionError: by zero \(test_trainer.py:\d+\)"):
        train(SMALL, runs=tmp_path, device="cpu", task=Brittle())
    found = outcome(tmp_path, SMALL)
    assert (found["status"], found["step"]) == ("failed", 4)
    assert "ZeroDivisionError: by zero (test_trainer.py:" in str(found["message"])


def test_batches_are_those_of_their_steps() -> None:
    parity = task("parity", format="tag")
    feed = learner_of(SMALL, parity, torch.device("cpu")).feed(parity, 58)
    for step in (58, 59, 60):
        wanted = parity.batch("train", SMALL.seed, step, SMALL.batch).trimmed()
        found = next(feed)
        assert found.tokens.tolist() == wanted.tokens.tolist()
        assert found.target_count == (wanted.targets >= 0).sum()
        assert found.token_count == wanted.lengths.sum()
    feed.close()


def test_the_average_follows_the_weights() -> None:
    parity = task("parity", format="tag")
    config = small("ema=0.75")
    learner = learner_of(config, parity, torch.device("cpu"))
    wanted = learner.model.embedding.detach().double().clone()
    feed = learner.feed(parity, 1)
    for step, batch in zip(range(1, 6), feed, strict=False):
        learner.learn(batch, step)
        wanted = 0.75 * wanted + 0.25 * learner.model.embedding.detach().double()
    feed.close()
    assert learner.average is not None
    torch.testing.assert_close(learner.average.embedding.double(), wanted, rtol=1e-5, atol=1e-7)
    assert learner.evaluated is learner.average


@pytest.mark.parametrize(
    "changes",
    [("bf16=true",), ("initial=zero-output",), ("model.kind=decoder", "model.random_offset=0")],
)
def test_what_a_config_asks_for_is_done(changes: tuple[str, ...], tmp_path: Path) -> None:
    config = small(*changes, "steps=8", "log_every=4")
    result = train(config, runs=tmp_path, device="cpu")
    assert result.status == "done"
    assert [record["step"] for record in lines(folder_of(tmp_path, config))] == [4, 8]


def test_lengths_are_left_out_where_nothing_depends_on_them() -> None:
    parity = task("parity", format="tag")
    config = small("model.kind=decoder", "model.random_offset=0")
    learner = learner_of(config, parity, torch.device("cpu"))
    batch = learner.batch(parity, 1)
    assert batch.lengths is None
    whole = parity.batch("train", config.seed, 1, config.batch).trimmed()
    told = learner.model(torch.tensor(whole.tokens), torch.tensor(whole.lengths)).logits
    asked = torch.tensor(whole.targets) >= 0
    torch.testing.assert_close(run(learner.model, batch).logits[asked], told[asked])


def test_the_callers_random_numbers_stay_as_they_are(tmp_path: Path) -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    train(small("steps=3"), runs=tmp_path, device="cpu")
    assert torch.rand(3).equal(wanted)


def test_unknown_splits_and_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="Did you mean 'train'"):
        train(small("evaluation.splits=trian"), runs=tmp_path, device="cpu")
    with pytest.raises(WeftError, match="no device 'gpu9'"):
        train(SMALL, runs=tmp_path, device="gpu9")
