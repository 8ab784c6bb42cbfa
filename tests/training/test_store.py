"""Folders of runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from training_runs import folder_of, small

from weft.errors import WeftError
from weft.tasks import task
from weft.training import RunStore, evaluate, train
from weft.training.distributed import Group
from weft.training.trainer import locked

CONFIGS = [small("steps=4", f"seed={seed}", f"optimiser.lr={lr}", "ema=0.5")
           for seed, lr in ((0, 1e-3), (1, 1e-3), (0, 3e-4))]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    folder = tmp_path_factory.mktemp("runs")
    for config in CONFIGS:
        train(config, runs=folder, device="cpu")
    (folder_of(folder, CONFIGS[2]) / "result.json").unlink()
    return RunStore(folder)


def test_runs_are_listed_in_order_with_what_they_are(store: RunStore) -> None:
    runs = store.runs()
    assert [run.config for run in runs] == CONFIGS
    assert [run.status for run in runs] == ["done", "done", "unfinished"]
    assert [record["step"] for record in runs[0].metrics()] == [4]
    assert [record["step"] for record in runs[0].evaluations()] == [4]
    assert runs[0].result is not None
    assert runs[2].result is None


def test_queries_find_runs_by_any_value(store: RunStore) -> None:
    def found(*conditions: str) -> list[int]:
        names = [config.hash for config in CONFIGS]
        return [names.index(run.name) for run in store.query(*conditions)]

    assert found() == [0, 1, 2]
    assert found("seed=0") == [0, 2]
    assert found("seed=0", "status=done") == [0]
    assert found("optimiser.lr<1e-3") == [2]
    assert found("optimiser.lr>=0.0003") == [0, 1, 2]
    assert found("seed!=0") == [1]
    assert found("step=4") == [0, 1]
    assert found("accuracy.train<=1", "seed>0") == [1]
    assert found("model.hidden=32,") == [0, 1, 2]
    with pytest.raises(WeftError, match="'task' is not a number"):
        found("task>3")
    assert found("task=sorting") == []
    with pytest.raises(WeftError, match="Did you mean 'optimiser"):
        store.query("optimizer.lr=3")
    with pytest.raises(WeftError, match="is not a condition"):
        store.query("seed")


def test_comparing_names_what_differs(store: RunStore) -> None:
    assert store.compare(store.runs()) == {"seed": [0, 1, 0], "optimiser.lr": [1e-3, 1e-3, 3e-4]}
    assert store.compare(store.runs()[:1]) == {}


def test_runs_are_found_by_the_beginning_of_their_name(store: RunStore) -> None:
    assert store.find(CONFIGS[1].hash[:6]).config == CONFIGS[1]
    with pytest.raises(WeftError, match="no run 'zz'"):
        store.find("zz")
    with pytest.raises(WeftError, match="several runs"):
        store.find("")


def test_the_model_of_a_run_is_the_one_that_was_evaluated(store: RunStore) -> None:
    run = store.runs()[0]
    tests = {"longer": task("parity", format="tag").test_set("longer", 32)}
    again = evaluate(run.model(), tests)["longer"]
    assert run.predictions("longer").chosen.tolist() == again.chosen.tolist()
    assert run.predictions("longer").loss == pytest.approx(again.loss)
    assert not run.model().training
    with pytest.raises(WeftError, match="Did you mean 'longer'"):
        run.predictions("longr")


def test_runs_are_deleted_but_not_while_they_are_trained(tmp_path: Path) -> None:
    config = small("steps=1")
    train(config, runs=tmp_path, device="cpu")
    store = RunStore(tmp_path)
    with locked(folder_of(tmp_path, config), Group()):
        with pytest.raises(WeftError, match="another process"):
            store.delete(store.runs()[0])
    store.delete(store.runs()[0])
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_weights_says_so(tmp_path: Path) -> None:
    config = small("steps=1")
    train(config, runs=tmp_path, device="cpu")
    (checkpoint,) = folder_of(tmp_path, config).glob("checkpoint-*")
    checkpoint.rename(tmp_path / "elsewhere")
    with pytest.raises(WeftError, match="no weights"):
        RunStore(tmp_path).runs()[0].model()
