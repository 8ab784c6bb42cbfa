"""What a model of program traces does: its first errors, its hazards, and where its heads look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.statistics import Share
from weft.studies.ptg.analysis import SplitAnalysis, analysis_of
from weft.studies.ptg.attention import AttentionMass, attention_mass
from weft.studies.ptg.heads import head_groups, zeroed_heads
from weft.studies.ptg.records import FEW, LEARNED, traces_task
from weft.tasks.task import TRAIN
from weft.training.callbacks import GOOD
from weft.training.store import UNFINISHED, Run
from weft.training.supervision import task_of

if TYPE_CHECKING:
    from weft.models.config import TransformerConfig
    from weft.models.factory import Model
    from weft.tasks.program_traces import ProgramTraces
    from weft.training.evaluation import Predictions

READ = 8
"""How many examples attention is measured on."""
READ_FROM = ("longer-traces-1", TRAIN)
"""The first of these splits that a run has is read: long traces need tokens that are far away."""
ERRORS = 100
"""How many wrong traces per split are classified by default."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A run that is explained, or one that it is compared with.

    Attributes:
        run: its name.
        mechanism: its positional encoding, attention and Canon layers, in words.
        attention: where its heads look; None if it has none.
    """

    run: str
    mechanism: str
    attention: AttentionMass | None

    @property
    def name(self) -> str:
        """The run as figures call it."""
        return f"{self.mechanism} ({self.run[:6]})"

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        mass = None if self.attention is None else self.attention.as_dict()
        return {"run": self.run, "mechanism": self.mechanism, "attention": mass}


@dataclass(frozen=True, kw_only=True)
class TraceExplanation:
    """The explanation of a run.

    Attributes:
        subject: the run.
        status: how it ended.
        parameters: how many weights it has.
        splits: its analysis on each split.
        without: by what it is evaluated without, the share of right traces by split.
        beside: the runs that its attention is compared with.
    """

    subject: Subject
    status: str
    parameters: int
    splits: Mapping[str, SplitAnalysis]
    without: Mapping[str, Mapping[str, Share]]
    beside: tuple[Subject, ...] = ()

    def lines(self, limit: int) -> Iterator[str]:
        """The explanation as text, with at most `limit` rows of each table."""
        from weft.studies.ptg.explanation_report import lines

        return lines(self, limit)

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        return {
            **self.subject.as_dict(),
            "status": self.status,
            "parameters": self.parameters,
            "splits": [analysis.as_dict() for analysis in self.splits.values()],
            "without": {
                name: {split: share.as_dict() for split, share in shares.items()}
                for name, shares in self.without.items()
            },
            "beside": [subject.as_dict() for subject in self.beside],
        }

    def write(self, folder: Path) -> list[Path]:
        """Write page, values and figures into a folder; returns the files."""
        from weft.studies.ptg.explanation_report import write

        return write(self, folder)


def is_trace_run(run: Run) -> bool:
    """Whether a run trained a model on program traces."""
    from weft.tasks.program_traces import ProgramTraces

    return run.config.task == ProgramTraces.name and run.config.supervision.by == "answers"


def explain_traces(
    run: Run, *, beside: Sequence[Run] = (), errors: int = ERRORS
) -> TraceExplanation:
    """Explain what the model of a run on program traces does.

    Args:
        run: a finished run.
        beside: further runs, whose heads are shown beside its own.
        errors: how many wrong traces per split are classified.

    Raises:
        WeftError: if a run is not finished, or of another task.
    """
    task, model, predictions = _loaded(run)
    analyses = _analyses(task, model, predictions, errors)
    config = run.config
    without: dict[str, dict[str, Share]] = {}
    for name, heads in head_groups(model.config).items():
        with zeroed_heads(model, heads):
            without[name] = _accuracies(model, predictions, config.evaluation.batch)
    assert run.result is not None
    return TraceExplanation(
        subject=_subject(run, task, model, predictions),
        status=run.status,
        parameters=run.result.parameters,
        splits=analyses,
        without=without,
        beside=tuple(_subject(other, *_loaded(other)) for other in beside),
    )


def _loaded(run: Run) -> tuple[ProgramTraces, Model, dict[str, Predictions]]:
    """The task, the model and the final predictions of a run."""
    if not is_trace_run(run):
        raise WeftError(
            f"the run {run.name} trained {run.config.task}, not program-traces",
            remedy="Give runs of `weft train program-traces` or `weft study ptg`",
        )
    if run.status not in GOOD:
        ended = "is not finished" if run.status == UNFINISHED else f"ended as {run.status}"
        raise WeftError(f"the run {run.name} {ended}", remedy="Train it to its end first")
    task = traces_task(run.config)
    splits = run.config.evaluation.splits or task_of(run.config).tested
    predictions = {split: run.predictions(split) for split in splits}
    return task, run.model(task=task), predictions


def _analyses(
    task: ProgramTraces, model: Model, predictions: Mapping[str, Predictions], errors: int
) -> dict[str, SplitAnalysis]:
    trained = predictions.get(TRAIN)
    if trained is not None and trained.accuracy < LEARNED:
        errors = min(errors, FEW)
    return {
        split: analysis_of(task, table, model, looked_at=errors)
        for split, table in predictions.items()
    }


def _accuracies(
    model: Model, predictions: Mapping[str, Predictions], size: int
) -> dict[str, Share]:
    from weft.training.evaluation import evaluate

    tests = {split: table.batch for split, table in predictions.items()}
    return {split: table.share for split, table in evaluate(model, tests, batch=size).items()}


def _subject(
    run: Run, task: ProgramTraces, model: Model, predictions: Mapping[str, Predictions]
) -> Subject:
    mass = None
    if model.config.architecture == "transformer" and not task.answer:
        split = next((name for name in READ_FROM if name in predictions), next(iter(predictions)))
        mass = attention_mass(model, task, predictions[split].batch.take(slice(0, READ)))
    return Subject(run=run.name, mechanism=mechanism_of(model.config), attention=mass)


NAMES = {
    "none": "NoPE", "rotary": "RoPE", "alibi": "ALiBi", "nape": "NaPE", "t5": "T5", "fire": "FIRE",
    "forgetting": "FoX", "path": "PaTH", "swan": "SWAN",
}  # fmt: skip


def mechanism_of(config: TransformerConfig) -> str:
    """The mechanism of a model in words.

    Example:
        >>> from weft.models import preset
        >>> mechanism_of(preset("nano", position="nape", canon="ABCD"))
        'NaPE + Canon'
        >>> mechanism_of(preset("nano", attention="forgetting"))
        'FoX'
    """
    if config.architecture == "lstm":
        return "LSTM"
    position = NAMES.get(config.position, config.position)
    attention = NAMES.get(config.attention, config.attention)
    parts = [position]
    if config.attention != "softmax":
        parts = [attention] if config.position == "none" else [attention, position]
    parts += ["Canon"] if config.canon else []
    return ("looped " if config.loops > 1 else "") + " + ".join(parts)
