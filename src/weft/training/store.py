"""The store of runs: list, query, compare and delete the folders that `train` writes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.config import guess
from weft.errors import WeftError, check_known, unknown_name
from weft.files import named, read_json, read_lines
from weft.training.config import TrainingConfig, training_config

if TYPE_CHECKING:
    from weft.models.factory import Model
    from weft.tasks import Task
    from weft.training.callbacks import Result
    from weft.training.evaluation import Predictions

UNFINISHED = "unfinished"
"""Status of a run that has not ended."""
CONDITION = re.compile(r"([\w.-]+)\s*(<=|>=|!=|==|=|<|>)\s*([^<>=!()]*(?:\(.*\))?)")
OTHER_WORDS = re.compile(r"(^|\s)(or|not|and|in|is)(\s|$)|[|&]")
EQUAL = ("=", "!=")
FORMS = "Write key=value, or != < > <= >= in place of =; join several by 'and'"
AGAIN = "Delete the run (weft runs NAME --delete) and train it again"


@dataclass(frozen=True)
class Run:
    """A run, by its folder."""

    folder: Path

    @property
    def name(self) -> str:
        """The hash of its config."""
        return self.folder.name

    @cached_property
    def config(self) -> TrainingConfig:
        """Its config."""
        path = self.folder / "config.json"
        with named(path, AGAIN):
            return training_config(read_json(path, AGAIN))

    @cached_property
    def result(self) -> Result | None:
        """How it ended; None if it has not."""
        from weft.training.trainer import finished

        return finished(self.folder)

    @cached_property
    def problem(self) -> str:
        """Why its files cannot be read; empty if they can."""
        try:
            _ = self.result, (self.folder / "config.json").exists() and self.config
        except WeftError as error:
            return error.line
        return ""

    @property
    def status(self) -> str:
        """How it ended, or `unfinished`, or `unreadable`."""
        if self.problem:
            return "unreadable"
        return UNFINISHED if self.result is None else self.result.status

    def metrics(self) -> list[dict[str, Any]]:
        """Its records: step, loss, lr, tokens, seconds and tokens per second."""
        return read_lines(self.folder / "metrics.jsonl")

    def evaluations(self) -> list[dict[str, Any]]:
        """Accuracy and loss of all splits, at every evaluation."""
        return read_lines(self.folder / "evaluations.jsonl")

    def predictions(self, split: str) -> Predictions:
        """Its final predictions on a split."""
        from weft.training.evaluation import load_predictions

        path = self.folder / "predictions" / f"{split}.npz"
        if not path.exists():
            known = sorted(entry.stem for entry in path.parent.glob("*.npz"))
            what = f"the run {self.name} has no predictions of '{split}'"
            raise unknown_name(what, split, known)
        return load_predictions(path)

    def model(self, device: str = "cpu", task: Task | None = None) -> Model:
        """Its model with the newest weights: the average if the config keeps one.

        Args:
            device: where the model goes.
            task: its task, if the caller has it already.
        """
        from weft.training import checkpoint
        from weft.training.supervision import model_of, task_of

        loaded = checkpoint.load(self.folder)
        if loaded is None:
            raise WeftError(f"the run {self.name} has no weights yet", remedy="Train it first")
        model = model_of(self.config, task_of(self.config) if task is None else task)
        with checkpoint.restoring(self.folder):
            model.load_state_dict(loaded[1].get("ema", loaded[1]["model"]))
        return model.to(device).eval()

    def values(self) -> dict[str, Any]:
        """Everything that conditions can refer to, by `key.sub`."""
        if self.problem:
            return {"name": self.name, "status": self.status, "message": self.problem}
        values = {"name": self.name, "status": self.status, **flat(self.config.as_dict())}
        if self.result is not None:
            ended = self.result
            values |= {"step": ended.step, "best": ended.best, "seconds": ended.seconds}
            values |= {"message": ended.message} if ended.message else {}
            values |= {f"accuracy.{split}": value for split, value in ended.accuracy.items()}
            values |= {f"loss.{split}": value for split, value in ended.loss.items()}
        return values


class RunStore:
    """All runs in a folder.

    Example:
        >>> from weft.training import RunStore
        >>> RunStore("no-such-folder").runs()
        []
    """

    def __init__(self, folder: str | Path = "runs") -> None:
        self.folder = Path(folder)

    def runs(self) -> list[Run]:
        """All runs, oldest first."""
        if self.folder.exists() and not self.folder.is_dir():
            raise WeftError(f"{self.folder} is a file", remedy="Give the folder of all runs")
        there = [path.parent for path in self.folder.glob("*/config.json")]
        return [Run(path) for path in sorted(there, key=_age)]

    def find(self, name: str) -> Run:
        """The run whose name starts with `name`."""
        matches = [run for run in self.runs() if run.name.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        known = [run.name for run in self.runs()]
        if not self.folder.is_dir():
            raise WeftError(f"there is no folder {self.folder}", remedy="Name it with --runs")
        if not matches:
            raise unknown_name(f"there is no run '{name}' in {self.folder}", name, known)
        remedy = f"Give more of its name: {', '.join(run.name for run in matches)}"
        raise WeftError(f"several runs begin with '{name}'", remedy=remedy)

    def query(self, *conditions: str) -> list[Run]:
        """The runs for which all conditions hold, such as `task=parity` or `accuracy.train>0.99`.

        A condition is a key, one of = != < > <= >= and a value; several may be joined by `and`. A
        run without the key, such as an unfinished one, does not match.
        """
        runs = self.runs()
        wanted = [_read(entry) for condition in conditions for entry in clauses(condition)]
        values = [run.values() for run in runs]
        known = sorted({key for entry in values for key in entry})
        for key, sign, _ in wanted:
            if runs:
                check_known(key, known, f"no run has a value '{key}'")
            kinds = {type(entry[key]) for entry in values if key in entry}
            if sign not in EQUAL and kinds and not kinds & {int, float}:
                raise WeftError(f"'{key}' is not a number, so {sign} says nothing", remedy=FORMS)
        return [run for run in runs if all(_holds(run.values(), *entry) for entry in wanted)]

    def compare(self, runs: Sequence[Run]) -> dict[str, list[Any]]:
        """The keys in which configs differ, with the value of each run; None if it has none."""
        flats = [{} if run.problem else flat(run.config.as_dict()) for run in runs]
        keys = dict.fromkeys(key for entry in flats for key in entry)
        values = {key: [entry.get(key) for entry in flats] for key in keys}
        return {key: some for key, some in values.items() if any(v != some[0] for v in some)}

    def delete(self, run: Run) -> None:
        """Delete a run and all its files, unless it is being trained."""
        from weft.training.distributed import ALONE
        from weft.training.trainer import locked

        with locked(run.folder, ALONE):
            shutil.rmtree(run.folder)


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values by `key.sub`."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result


def _age(folder: Path) -> tuple[float, str]:
    return (folder / "config.json").stat().st_mtime, folder.name


def clauses(condition: str) -> list[str]:
    """The parts of a condition that are joined by `and`.

    Example:
        >>> from weft.training.store import clauses
        >>> clauses("steps>100 and seed=0")
        ['steps>100', 'seed=0']
    """
    return [part.strip() for part in re.split(r"\s+and\s+", condition.strip())]


def _read(condition: str) -> tuple[str, str, Any]:
    match = CONDITION.fullmatch(condition)
    if match is None or OTHER_WORDS.search(match[3]):
        raise WeftError(f"'{condition}' is not a condition", remedy=FORMS)
    sign, value = match[2].replace("==", "="), guess(match[3].strip("'\""))
    if sign not in EQUAL and not isinstance(value, int | float):
        raise WeftError(f"'{condition}' compares with '{value}', not a number", remedy=FORMS)
    return match[1], sign, value


def _holds(values: Mapping[str, Any], key: str, sign: str, wanted: Any) -> bool:
    if key not in values:
        return False
    value = values[key]
    wanted = list(wanted) if isinstance(wanted, tuple) else wanted
    if key == "name":
        wanted = str(wanted)
    if isinstance(value, list) and not isinstance(wanted, list):
        wanted = [wanted]  # model.hidden=8 stands for a list of one
    if sign in EQUAL:
        return bool(value == wanted) == (sign == "=")
    if not isinstance(value, int | float) or not isinstance(wanted, int | float):
        return False
    order = {"<": value < wanted, ">": value > wanted, "<=": value <= wanted, ">=": value >= wanted}
    return bool(order[sign])
