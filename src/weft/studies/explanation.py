"""What the model of a run has learned, explained by a method that suits how it was trained.

`explain` looks the method up in `EXPLAINERS`:

- A run from traces (`weft train TASK --traces PROGRAM`) trains the feed-forward of a compiled
  model, in whose residual stream every variable has its own dimensions, so its hidden units can be
  read as rules (`weft.theory.extraction.extract`) and compared with the compiled ones
  (`weft.theory.extraction.weight_distance`).
- A run from the answers of an arithmetic task is explained by hypotheses about the function that it
  computes, and by interventions on single digits (`weft.studies.arithmetic.explanation`).
- A run on program traces is explained by its first errors, its hazards and what its heads attend to
  (`weft.studies.ptg.explanation`).
- A run from the answers of a recursion task is explained by abstract state machines that predict
  its outputs, and by interventions on tokens, attention heads and positions
  (`weft.studies.recursion.explanation`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from weft.errors import WeftError
from weft.interpreter.states import StateSet
from weft.interpreter.trace import plain
from weft.language.program import Program
from weft.studies.arithmetic.explanation import arithmetic_task, explain_arithmetic
from weft.studies.ptg.explanation import explain_traces, is_trace_run
from weft.studies.recursion.explanation import explain_recursion, recursion_task
from weft.theory.extraction.weight_distance import WITHIN, Distance, UnitDistance, distance
from weft.theory.optimum.reconstruction import require_categorical
from weft.training.program_task import ProgramTask
from weft.training.store import Run
from weft.training.supervision import task_of
from weft.training.traces.trace_learner import feed_forward_of, traces_of

KINDS = {"recovered": "program", "alike": "alike", "extra": "extra"}
"""Kinds of extracted rules, and the word that a listing shows for each."""
MOST_LINES = 100_000
"""Of rules of a kind on a page."""
ACTIVATIONS = {"relu": "ReLUs", "clipped": "clipped ReLUs"}


class Explanation(Protocol):
    """What a method found out about a run."""

    def lines(self, limit: int) -> Iterator[str]:
        """The explanation as text, with at most `limit` entries of each list."""

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""

    def write(self, folder: Path) -> list[Path]:
        """Write page, values and figures into a folder; returns the files."""


@dataclass(frozen=True)
class Options:
    """How to explain a run; every method takes what concerns it.

    Attributes:
        tolerance: of rules: how far numbers in the weights may be from the values they are read as.
        inputs: of arithmetic and recursion: how many questions hypotheses are compared on.
        beside: of program traces: further runs, whose heads are shown beside its own.
    """

    tolerance: float = 0.1
    inputs: int = 2000
    beside: tuple[Run, ...] = ()


@dataclass(frozen=True)
class Explainer:
    """A method of explaining runs.

    Attributes:
        explains: the runs that it explains, in words.
        command: the command that trains such a run.
        applies: whether it can explain a run.
        explain: the method.
    """

    explains: str
    command: str
    applies: Callable[[Run], bool]
    explain: Callable[[Run, Options], Explanation]


def explain(
    run: Run, *, tolerance: float = 0.1, inputs: int = 2000, beside: Sequence[Run] = ()
) -> Explanation:
    """Explain what the model of a run has learned, by the first method that applies to it.

    Args:
        run: a run with weights; of an arithmetic task, it must be finished.
        tolerance: of rules: how far numbers in the weights may be from the values they are read as.
        inputs: of arithmetic and recursion: how many questions hypotheses are compared on.
        beside: of program traces: further runs, whose heads are shown beside its own.
    """
    for explainer in EXPLAINERS:
        if explainer.applies(run):
            return explainer.explain(run, Options(tolerance, inputs, tuple(beside)))
    known = "; ".join(explainer.explains for explainer in EXPLAINERS)
    raise WeftError(
        f"there is no explanation yet for the run {run.name}, which trained {run.config.task} from "
        f"{run.config.supervision.by}",
        remedy=f"These can be explained: {known}. Train one: "
        f"{' or '.join(explainer.command for explainer in EXPLAINERS)}",
    )


@dataclass(frozen=True)
class RuleExplanation:
    """The rules in the weights of a run that was trained from a program's traces.

    Attributes:
        run: the run.
        program: the program whose traces it was trained from.
        hidden: the widths of its hidden layers.
        activation: its activation function.
        inputs: how many inputs the traces come from.
        states: the states of these traces, D.
        distance: how far the trained feed-forward is from the compiled one on D.
        tolerance: how far levels and written values were allowed to be off.
    """

    run: Run
    program: Program
    hidden: tuple[int, ...]
    activation: str
    inputs: int
    states: StateSet
    distance: Distance
    tolerance: float = 0.1

    def lines(self, limit: int) -> Iterator[str]:
        """A summary, then the rules, at most `limit` of each kind."""
        for word, value in self._summary():
            yield f"{word:<14}{value}"
        yield from self._rules(limit)

    def _summary(self) -> Iterator[tuple[str, str]]:
        away, states = self.distance, self.states
        supervision = self.run.config.supervision
        yield "run", f"{self.run.name}, {self.run.status}"
        yield (
            "traces",
            f"{supervision.program}, on {self.inputs:,} inputs of {self.run.config.task}",
        )
        yield "states", f"{len(states):,} distinct of {states.total:,}"
        widths = " x ".join(f"{width:,}" for width in self.hidden)
        yield "feed-forward", f"{widths} {ACTIVATIONS.get(self.activation, self.activation)}"
        wrong = f"{away.wrong:.1%} of states wrong, by more than {WITHIN:g} somewhere"
        yield "function", f"{wrong}; mean L1 error {away.reconstruction:.3f}"
        if away.units is None:
            yield "rules", f"{away.rules:,} fire; none are extracted: {away.unreadable}"
            return
        yield from _unit_summary(away.rules, away.units)

    def _rules(self, limit: int) -> Iterator[str]:
        """The extracted rules, each with its kind and its units, and the missing ones."""
        units, variables = self.distance.units, self.program.variables
        if units is None:
            return
        pairs = list(zip(units.kinds, units.reading.rules, strict=True))
        for kind, word in KINDS.items():
            rules = [
                f"{result.rule.show(variables)}   [{_unit_list(result.units)}]"
                for which, result in pairs
                if which == kind
            ]
            yield from _limited(word, rules, limit)
        yield from _limited("missing", [rule.show(variables) for rule in units.missing], limit)

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        away = self.distance
        return {
            "run": self.run.name,
            "status": self.run.status,
            "task": self.run.config.task,
            "program": self.run.config.supervision.program,
            "inputs": self.inputs,
            "states": len(self.states),
            "total": self.states.total,
            "hidden": self.hidden,
            "activation": self.activation,
            "tolerance": self.tolerance,
            "wrong": away.wrong,
            "reconstruction": away.reconstruction,
            "rules": away.rules,
            "unreadable": away.unreadable or None,
            "units": None if away.units is None else _units_as_dict(self.program, away.units),
        }

    def write(self, folder: Path) -> list[Path]:
        """Write a page with all rules, and the values, into a folder; returns the files."""
        folder.mkdir(parents=True, exist_ok=True)
        page, values = folder / "explanation.md", folder / "explanation.json"
        rules = "\n".join(f"    {line}" for line in self.lines(MOST_LINES))
        title = f"# Rules in the weights of a model of {self.run.config.task}"
        page.write_text(f"{title}\n\n{rules}\n", encoding="utf-8")
        text = json.dumps(plain(self.as_dict()), ensure_ascii=False, indent=1)
        values.write_text(f"{text}\n", encoding="utf-8")
        return [page, values]


def _unit_summary(rules: int, units: UnitDistance) -> Iterator[tuple[str, str]]:
    reading = units.reading
    yield (
        "rules",
        f"{rules:,} fire: {units.recovered:,} extracted, {units.alike:,} alike, "
        f"{len(units.missing):,} missing; {units.extra:,} extra",
    )
    used = {unit for result in reading.rules for unit in result.units}
    reasons: Counter[str] = Counter()
    for unread in reading.unread:
        reasons[unread.why] += len(unread.units)
    yield (
        "units",
        f"{len(used):,} in rules, {len(reading.idle):,} idle, {reasons.total():,} not a rule",
    )
    for why, count in reasons.items():
        yield "", f"{count:,}: {why}"
    yield (
        "weights",
        f"distance from the compiled weights {units.weights_l1:.2f} (L1), {units.weights_l2:.2f} "
        f"(L2); their norms {units.compiled_l1:.2f}, {units.compiled_l2:.2f}",
    )
    yield "output bias", f"at most {reading.output_bias:.2f}; compiled models have none"


def _limited(word: str, lines: Sequence[str], limit: int) -> Iterator[str]:
    for line in lines[:limit]:
        yield f"{word:<14}{line}"
    if len(lines) > limit:
        yield f"{word:<14}and {len(lines) - limit:,} more (--limit)"


def _unit_list(units: tuple[int, ...]) -> str:
    return f"unit{'' if len(units) == 1 else 's'} {', '.join(map(str, units))}"


def _units_as_dict(program: Program, units: UnitDistance) -> dict[str, Any]:
    variables, reading = program.variables, units.reading
    return {
        "recovered": units.recovered,
        "alike": units.alike,
        "extra": units.extra,
        "read": [
            {"rule": result.rule.show(variables), "kind": kind, "units": result.units}
            for kind, result in zip(units.kinds, reading.rules, strict=True)
        ],
        "missing": [rule.show(variables) for rule in units.missing],
        "no_rule": [{"units": unread.units, "why": unread.why} for unread in reading.unread],
        "idle": reading.idle,
        "output_bias": reading.output_bias,
        "weights": {"l1": units.weights_l1, "l2": units.weights_l2},
        "compiled": {"l1": units.compiled_l1, "l2": units.compiled_l2},
    }


def extract_rules(run: Run, *, tolerance: float = 0.1) -> RuleExplanation:
    """The rules in the weights of a run from traces, and its distance from the compiled optimum.

    Args:
        run: a run with weights, finished or not.
        tolerance: how far levels and written values may be off.

    Example:
        >>> import tempfile
        >>> from weft.studies import extract_rules
        >>> from weft.training import RunStore, override, trace_config, train
        >>> short = ["steps=20", "parameters.length=6", "parameters.longer=8"]
        >>> short += ["supervision.examples=200", "evaluation.size=16"]
        >>> config = override(trace_config("parity", "parity", small=True), short)
        >>> with tempfile.TemporaryDirectory() as runs:
        ...     result = train(config, runs=runs, device="cpu")
        ...     explanation = extract_rules(RunStore(runs).find(config.hash))
        >>> explanation.distance.rules, explanation.distance.units
        (7, None)
        >>> explanation.distance.unreadable
        "rules are read from one hidden layer of ReLUs, and this has 2 hidden layers of 'relu'"
    """
    task = task_of(run.config)
    assert isinstance(task, ProgramTask)
    require_categorical(task.program)
    model = run.model(task=task)
    traces = traces_of(run.config, task)
    layout = task.compiled.model.layout
    trained = feed_forward_of(model)
    return RuleExplanation(
        run=run,
        program=task.program,
        hidden=model.config.hidden,
        activation=trained.activation,
        inputs=traces.inputs,
        states=traces.states,
        distance=distance(trained, layout, task.program, traces.states, tolerance=tolerance),
        tolerance=tolerance,
    )


EXPLAINERS = [
    Explainer(
        explains="runs trained from a program's traces",
        command="weft train TASK --traces PROGRAM",
        applies=lambda run: run.config.supervision.by == "traces",
        explain=lambda run, options: extract_rules(run, tolerance=options.tolerance),
    ),
    Explainer(
        explains="runs trained on the answers of an arithmetic task",
        command="weft train addition",
        applies=lambda run: arithmetic_task(run) is not None,
        explain=lambda run, options: explain_arithmetic(run, inputs=options.inputs),
    ),
    Explainer(
        explains="runs trained on program traces",
        command="weft train program-traces",
        applies=is_trace_run,
        explain=lambda run, options: explain_traces(run, beside=options.beside),
    ),
    Explainer(
        explains="runs trained on the answers of a recursion task",
        command="weft train recursion",
        applies=lambda run: recursion_task(run) is not None,
        explain=lambda run, options: explain_recursion(run, inputs=options.inputs),
    ),
]
"""All methods; `explain` takes the first that applies."""
