"""How good predictors of length generalisation are: predictions beside outcomes.

An outcome is a row of a table: a task, what is asked of it, and a positional encoding, with the
accuracy of the models that were trained on it. Three sources have outcomes: the paper's two tables,
the re-run of 2026, and records of our own studies.

A predictor answers yes or no. A row generalises if its models fit in distribution and are right on
enough of the longer tests; rows whose models do not fit say nothing about generalisation and are
left out, or count as not generalising under a stricter criterion. How often yes came with
generalisation, and no with its absence, are shares with Wilson intervals.

Rows are not independent, so the intervals only say how small the counts are: the same languages
occur with and without positions and in all three sources, models were selected by the tests that
the criterion uses, and the authors chose the tasks knowing the theory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.statistics import Share
from weft.studies.length.predictors import PREDICTORS, Prediction, predictions
from weft.studies.length.records import RowRecords, StudyRecords
from weft.studies.length.reference import ALGORITHMIC, FORMAL, Bins
from weft.studies.length.selection import SUFFIX

PAPER_A, PAPER_B = "paper, algorithmic", "paper, formal"
RERUN = "re-run of 2026"
OURS = "ours"
SOURCES = (PAPER_A, PAPER_B, RERUN, OURS)
"""Where outcomes come from, in the order of the page."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What happened in one row of one source.

    Attributes:
        source: where it comes from.
        task: the task or the language.
        target: what is asked of a language; empty for other tasks.
        positions: the positional encoding.
        train: mean accuracy in distribution, between 0 and 1.
        longer: mean accuracy on lengths 51 to 100.
        longest: mean accuracy on lengths 101 to 150.
        fits: whether the models fit in distribution by the rule of their source; None if the
            accuracy in distribution decides.
        seeds: the number of models; 0 if it is not known.
        predicted: by predictor, its answer.
    """

    source: str
    task: str
    target: str
    positions: str
    train: float
    longer: float
    longest: float
    fits: bool | None
    seeds: int
    predicted: Mapping[str, Prediction]

    @property
    def name(self) -> str:
        """The row in words."""
        return ", ".join(part for part in (self.task, self.target, self.positions) if part)


@dataclass(frozen=True)
class Criterion:
    """When a row counts as generalising.

    Attributes:
        split: the tests that decide: `longer` or `longest`.
        least: the smallest accuracy on them.
        in_range: the smallest accuracy in distribution with which published models fit.
        unfitted: what becomes of rows whose models do not fit: left out, or not generalising.
    """

    split: str = "longer"
    least: float = 0.95
    in_range: float = 0.99
    unfitted: str = "left out"

    def __str__(self) -> str:
        where = {"longer": "51–100", "longest": "101–150"}[self.split]
        return f"at least {self.least:.0%} of the tests of lengths {where}"

    def generalised(self, outcome: Outcome) -> bool | None:
        """Whether a row generalises; None if it is left out."""
        fits = outcome.train >= self.in_range if outcome.fits is None else outcome.fits
        if not fits:
            return None if self.unfitted == "left out" else False
        accuracy: float = getattr(outcome, self.split)
        return accuracy >= self.least


CRITERION = Criterion()
"""The criterion of the main table, fixed before any of our runs."""
VARIED = tuple(
    Criterion(split, least, unfitted=unfitted)
    for unfitted in ("left out", "not generalising")
    for split in ("longer", "longest")
    for least in (0.9, 0.95, 0.99)
)
"""Criteria of the sensitivity table."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The answers of one predictor.

    Attributes:
        predictor: its name.
        yes: of the rows with answer yes, how many generalise.
        no: of the rows with answer no, how many do not generalise.
        silent: the rows with another answer.
    """

    predictor: str
    yes: Share
    no: Share
    silent: int

    @property
    def right(self) -> Share:
        """Of the rows with an answer, how many agree with it."""
        return Share(self.yes.right + self.no.right, self.yes.count + self.no.count)

    def as_dict(self) -> dict[str, Any]:
        """The tally for JSON."""
        shares = {"yes": self.yes, "no": self.no, "right": self.right}
        plain = {name: share.as_dict() for name, share in shares.items()}
        return {"predictor": self.predictor, **plain, "silent": self.silent}


def tally(outcomes: Iterable[Outcome], predictor: str, criterion: Criterion = CRITERION) -> Tally:
    """How often a predictor's answers came true.

    Example:
        >>> rows = [row for row in published() if row.source == PAPER_A]
        >>> found = tally(rows, "C-RASP")
        >>> print(found.yes.right, found.yes.count, found.no.right, found.no.count)
        8 8 6 6
    """
    yes, no, silent = [], [], 0
    for outcome in outcomes:
        happened = criterion.generalised(outcome)
        if happened is None:
            continue
        answer = outcome.predicted[predictor]
        if answer == "yes":
            yes.append(happened)
        elif answer == "no":
            no.append(not happened)
        else:
            silent += 1
    return Tally(predictor=predictor, yes=Share.of(yes), no=Share.of(no), silent=silent)


def tallies(outcomes: Sequence[Outcome], criterion: Criterion = CRITERION) -> list[Tally]:
    """The tallies of all predictors."""
    return [tally(outcomes, predictor, criterion) for predictor in PREDICTORS]


def surprises(
    outcomes: Iterable[Outcome], predictor: str, criterion: Criterion = CRITERION
) -> Iterator[Outcome]:
    """The rows in which a predictor's answer did not come true."""
    for outcome in outcomes:
        happened = criterion.generalised(outcome)
        answer = outcome.predicted[predictor]
        if happened is not None and answer in ("yes", "no") and happened != (answer == "yes"):
            yield outcome


# Outcomes


def published() -> list[Outcome]:
    """The outcomes of the paper's two tables, and those of the re-run of 2026."""
    result = [
        _published(PAPER_A, each.title, "", each.positions, each.accuracy, each.task, {}, 5)
        for each in ALGORITHMIC
    ]
    for known in FORMAL:
        asked = {"language": known.language, "target": "next"}
        bins = {"learned": known.learned, "none": known.none}
        result += [
            _published(PAPER_B, known.language, "next", each, bins[each], "formal-language", asked)
            for each in ("learned", "none")
        ]
    for known in FORMAL:
        asked = {"language": known.language, "target": "next"}
        result.append(
            _published(
                RERUN, known.language, "next", "learned", known.rerun, "formal-language", asked, 1
            )
        )
    return result


def _published(
    source: str,
    title: str,
    target: str,
    positions: str,
    bins: Bins,
    task: str,
    parameters: Mapping[str, Any],
    seeds: int = 0,
) -> Outcome:
    config = {"task": task, "parameters": parameters, "model": {"position": positions}}
    return Outcome(
        source=source,
        task=title,
        target=target,
        positions=POSITIONS[positions],
        train=bins[0] / 100,
        longer=bins[1] / 100,
        longest=bins[2] / 100,
        fits=None,
        seeds=seeds,
        predicted=predictions(config),
    )


POSITIONS = {"learned": "absolute", "none": "none"}


def recorded(records: Iterable[StudyRecords]) -> list[Outcome]:
    """The outcomes of our own studies.

    A row's accuracy is the mean over the seeds that fit in distribution, as in the paper, or over
    all seeds if none fits. Rows with the regulariser and rows with encodings outside the theory are
    left out, as are grids of models, and a row that several studies share counts once.
    """
    found: dict[str, Outcome] = {}
    for study in records:
        for row in () if study.study.endswith(SUFFIX) else study.rows:
            outcome = _recorded(row)
            if outcome is not None:
                found.setdefault(_key(row), outcome)
    return list(found.values())


def _key(row: RowRecords) -> str:
    """The same for rows of two studies that train the same task and model."""
    parts = ("task", "parameters", "model", "optimiser", "steps")
    return repr([row.config[part] for part in parts])


def _recorded(row: RowRecords) -> Outcome | None:
    config = row.config
    position = str(config["model"].get("position", "none"))
    if position not in POSITIONS or "penalty" in config:
        return None
    seeds = [seed for seed in (row.kept or row.complete) if "longest" in seed.accuracy]
    if not seeds:
        return None

    def mean(split: str) -> float:
        return sum(seed.accuracy[split].share for seed in seeds) / len(seeds)

    asked = config["parameters"]
    language = config["task"] == "formal-language"
    name = asked["language"] if language else config["task"]
    details = [f"stride {asked['stride']}"] if asked.get("stride", 1) > 1 else []
    details += [f"lengths to {asked['length']}"] if "length" in asked else []
    return Outcome(
        source=OURS,
        task=", ".join([str(name), *details]),
        target=str(asked.get("target", "next")) if language else "",
        positions=POSITIONS[position],
        train=mean("train"),
        longer=mean("longer"),
        longest=mean("longest"),
        fits=bool(row.kept),
        seeds=len(seeds),
        predicted=predictions(config),
    )
