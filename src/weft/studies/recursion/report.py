"""The results of the recursion study as tables, and what the paper says in words beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weft.statistics import Mean, Share, percent
from weft.studies.experiment import Table
from weft.studies.recursion.machine_records import ALL, MachineRecord
from weft.studies.recursion.records import FITTED, RecursionRun, RowRuns
from weft.studies.recursion.rows import HEADER, SHARES, TRACES, USUAL
from weft.tasks.task import TRAIN

MISSING = "–"
SPLITS = (
    TRAIN, "all-carry", "carry-to-last", "deep", "decoy", "all-zeros", "deepest", "left", "right",
    "shorter", "longer", "deeper", "all-carry-longer",
)  # fmt: skip
"""The splits of all rows, in the order of columns."""
REPAIRED = 0.99
LONGEST_LIST = 6
"""How many steps of first errors are listed."""


def tables_of(rows: Sequence[RowRuns]) -> tuple[Table, ...]:
    """All tables of the report that have something to show."""
    every = (
        accuracy_table(rows),
        iterated_table(rows),
        supervision_table(rows),
        repair_table(rows),
        depth_table(rows),
        machine_table(rows),
        unfit_table(rows),
    )
    return tuple(table for table in every if table.rows)


def cell(shares: Sequence[Share]) -> str:
    """One run's share with its interval and n, or the mean of several with that over seeds."""
    if not shares:
        return MISSING
    counts = sorted({share.count for share in shares})
    tests = f" n={' or '.join(f'{count:,}' for count in counts)}"
    if len(shares) > 1:
        mean = Mean(tuple(shares))
        return f"{percent(mean.mean)} {mean.interval}{tests}"
    return f"{percent(shares[0].share)} {shares[0].interval}{tests}"


def accuracy_table(rows: Sequence[RowRuns]) -> Table:
    """Exact match of every row on every split."""
    used = [split for split in SPLITS if any(row.shares(split) for row in rows)]
    return Table(
        title="Exact match (%) by split",
        header=(*HEADER, "seeds", *used),
        rows=tuple(
            (*row.labels, _seeds(row), *(cell(row.shares(split)) for split in used)) for row in rows
        ),
        labels=len(HEADER),
    )


def _seeds(row: RowRuns) -> str:
    ended = len(row.complete)
    if ended == len(row.runs):
        return str(ended)
    others = Counter(run.status for run in row.runs if not run.complete)
    return f"{ended}, {', '.join(f'{count} {status}' for status, count in others.items())}"


def iterated_table(rows: Sequence[RowRuns]) -> Table:
    """What models of atomic steps reach when they are applied to their own outputs."""
    lines = []
    for row in rows:
        runs = [run for run in row.complete if run.iterated]
        for split in [split for split in SPLITS if any(split in run.iterated for run in runs)]:
            found = [run.iterated[split] for run in runs if split in run.iterated]
            errors: Counter[int] = Counter()
            for each in found:
                errors.update(each.errors)
            lines.append(
                (
                    *row.labels[:2],
                    split,
                    cell(tuple(each.per_step for each in found)),
                    cell(tuple(each.whole.share for each in found)),
                    _first_errors(errors),
                )
            )
    return Table(
        title="Atomic steps, iterated: right applications and whole reductions (%)",
        header=("function", "order", "split", "per step", "whole", "first error at step: count"),
        rows=tuple(lines),
        labels=3,
    )


def _first_errors(errors: Counter[int]) -> str:
    shown = [f"{step}: {count}" for step, count in sorted(errors.items())]
    more = len(shown) - LONGEST_LIST
    return ", ".join(shown[:LONGEST_LIST]) + (f" and {more} more steps" if more > 0 else "")


def supervision_table(rows: Sequence[RowRuns]) -> Table:
    """For each function, what every kind of supervision reaches."""
    lines = []
    for function, order in dict.fromkeys(row.labels[:2] for row in rows):
        usual = [row for row in rows if row.labels[:2] == (function, order) and _is_usual(row)]
        if len({row.labels[2] for row in usual}) < 2:
            continue
        for row in usual:
            for split in (TRAIN, "all-carry", "deepest", "deep", "longer", "deeper"):
                shares = _solved(row, split)
                if shares:
                    lines.append((function, order, row.labels[2], split, cell(shares)))
    return Table(
        title="Which supervision gives recursion: values (%), atomic steps iterated",
        header=("function", "order", "learns", "split", "right values"),
        rows=tuple(lines),
        labels=4,
    )


def _is_usual(row: RowRuns) -> bool:
    """Whether a row differs from the first ones in its supervision at most."""
    if row.labels[2] == TRACES:
        return True
    return row.labels[3:] == ("encoder-decoder", "absolute", "1", "2 x 4", USUAL)


def _solved(row: RowRuns, split: str) -> tuple[Share, ...]:
    if row.labels[2] != "step":
        return row.shares(split)
    return tuple(run.iterated[split].whole.share for run in row.complete if split in run.iterated)


def repair_table(rows: Sequence[RowRuns]) -> Table:
    """The smallest share of rare cases with which every split is right."""
    lines = []
    for cases in ("all-carry", "deep"):
        found: dict[str, RowRuns] = {}
        for row in rows:
            if row.labels[:5] != (
                "successor",
                "natural",
                "evaluate",
                "encoder-decoder",
                "absolute",
            ):
                continue
            if row.labels[5:7] != ("1", "2 x 4"):
                continue
            label = row.labels[7]
            if label == USUAL or label.endswith(f" {cases}"):
                found[label.partition(" ")[0] if label != USUAL else "0%"] = row
        if len(found) < 2:
            continue
        order = ["0%", *SHARES]
        for split in SPLITS:
            reached = {
                share: found[share].shares(split)
                for share in order
                if share in found and found[share].shares(split)
            }
            if not reached:
                continue
            right = [
                share
                for share, shares in reached.items()
                if sum(s.share for s in shares) / len(shares) >= REPAIRED
            ]
            lines.append(
                (
                    cases,
                    split,
                    right[0] if right else "none",
                    "; ".join(f"{share}: {cell(shares)}" for share, shares in reached.items()),
                )
            )
    return Table(
        title=f"Smallest share of added cases with at least {REPAIRED:.0%} on a split",
        header=("added", "split", "smallest share", "exact match (%) by share"),
        rows=tuple(lines),
        labels=2,
    )


def depth_table(rows: Sequence[RowRuns]) -> Table:
    """The largest depth up to which every depth is right, in the training range of sizes."""
    lines = []
    for row in rows:
        for run in row.solving:
            curve = depth_curve(run)
            reached = [depth for depth in sorted(curve) if curve[depth].share < REPAIRED]
            first = reached[0] if reached else None
            lines.append(
                (
                    row.name,
                    str(run.seed),
                    f"0 to {max(curve)}" if curve else MISSING,
                    "none" if first is None else f"{first} ({curve[first]})",
                )
            )
    return Table(
        title=f"First recursion depth below {REPAIRED:.0%}, on sizes of the training range",
        header=("row", "seed", "depths tested", "first depth below"),
        rows=tuple(lines),
        labels=1,
    )


def machine_table(rows: Sequence[RowRuns]) -> Table:
    """Which machine agrees with most outputs, and which failures it predicts exactly.

    Seeds of a row share a line if the best machine is the same.
    """
    lines = []
    for row in rows:
        groups: dict[tuple[str, str], list[tuple[int, MachineRecord]]] = {}
        for run in row.complete:
            for each in run.machines:
                groups.setdefault((each.sizes, _machine(each)), []).append((run.seed, each))
        for (sizes, name), group in sorted(groups.items(), key=lambda at: RANGES.index(at[0][0])):
            found = [record for _, record in group]
            wrong: Counter[str] = Counter()
            for each in found:
                wrong.update(each.wrong)
            lines.append(
                (
                    *(label for column, label in enumerate(row.labels) if column != LEARNS),
                    ", ".join(str(seed) for seed, _ in group),
                    sizes,
                    name,
                    cell(tuple(each.agreement for each in found)),
                    cell(tuple(each.recall for each in found if each.recall.count)),
                    cell(tuple(each.precision for each in found if each.precision.count)),
                    _explained(found),
                    ", ".join(f"{kind} {count:,}" for kind, count in wrong.most_common())
                    or MISSING,
                )
            )
    labels = tuple(label for column, label in enumerate(HEADER) if column != LEARNS)
    return Table(
        title="Which machine explains the failures: shares (%) of held-out outputs",
        header=(
            *labels, "seed", "inputs", "best machine", "agreement", "failures predicted exactly",
            "its failures that are the model's", "explained", "wrong outputs",
        ),
        rows=tuple(lines),
        labels=len(labels) + 3,
    )  # fmt: skip


LEARNS = HEADER.index("learns")
RANGES = (ALL, "shorter", "trained", "longer")
"""Sizes of inputs, in the order of lines."""


def _machine(record: MachineRecord) -> str:
    """The best machine in words, and how many others cannot be told from it."""
    same = len(record.same_as)
    others = f" (or {same} that write{'s' if same == 1 else ''} the same)" if same else ""
    return f"{'' if record.supported else 'undecided: '}{record.machine}{others}"


def _explained(found: Sequence[MachineRecord]) -> str:
    """In how many seeds with failures these are explained; for one seed, whether."""
    failed = [each for each in found if each.recall.count]
    if not failed:
        return "no failures"
    explained = sum(each.explains_failures for each in failed)
    if len(found) > 1:
        return f"{explained} of {len(failed)}"
    if explained:
        return "yes"
    (only,) = failed
    few = min(only.recall.count, only.precision.count) < FEWEST_FAILURES
    return "too few" if few and not only.is_true else "no"


FEWEST_FAILURES = 4
"""With fewer, no interval lies above one half."""


INSIDE = (TRAIN, "deep", "all-carry", "carry-to-last", "deepest")
"""Splits with the sizes of the training range, without decoys."""


def depth_curve(run: RecursionRun, splits: Sequence[str] = INSIDE) -> dict[int, Share]:
    """Exact match by recursion depth over some splits, or of whole reductions if iterated."""
    total: dict[int, tuple[int, int]] = {}
    for split in splits:
        record = run.splits.get(split)
        if run.iterated:
            record = run.iterated[split].whole if split in run.iterated else None
        for depth, share in record.depth.items() if record is not None else ():
            right, count = total.get(depth, (0, 0))
            total[depth] = (right + share.right, count + share.count)
    return {depth: Share(*pair) for depth, pair in sorted(total.items())}


def unfit_table(rows: Sequence[RowRuns]) -> Table:
    """The runs below 99% in distribution."""
    return Table(
        title=f"Runs below {FITTED:.0%} in distribution",
        header=("row", "seed", "steps", "in distribution", "minutes"),
        rows=tuple(
            (
                row.name,
                str(run.seed),
                f"{run.step:,}",
                str(run.splits[TRAIN].share),
                f"{run.seconds / 60:.1f}",
            )
            for row in rows
            for run in row.complete
            if not run.fits
        ),
        labels=1,
    )


def notes_of(rows: Sequence[RowRuns]) -> tuple[str, ...]:
    """What to know about the results, and what the paper says."""
    seconds = [run.seconds for row in rows for run in row.complete]
    spent = f"{sum(seconds) / 60:.0f} minutes in {len(seconds)} runs" if seconds else "no run yet"
    return (
        "The paper says in words: models reach high accuracy on usual inputs and fail on edge "
        "cases that are rare in training; the natural-order successor looks for the run of "
        "carries and rewrites it; over-sampling edge cases repairs part of the failures.",
        "The paper says: different factors C of the learning rate give different attention "
        "patterns; a low rate gives a weaker algorithm that generalises somewhat more broadly, "
        "a high one specialised heads and a brittle algorithm.",
        "The paper says: in-order traversal fails as a whole while its atomic steps are learned; "
        "pre-order partly works, by copying the labels; solutions are specific to depth, and more "
        "depth needs more heads.",
        "The paper's constructor order is called reverse order there.",
        "Of inputs of which there is one per length, odd lengths are held out of training and even "
        "ones are not; under uniform sampling long ones hardly ever occur.",
        "Tests of `longer` and `deeper` reach positions that no training example has: models with "
        "learned absolute positions have never trained the vectors of these.",
        "Models of atomic steps are trained on single rounds. `whole` counts reductions of "
        "held-out inputs, none of whose terms were trained on, that are right in every term.",
        "The best machine is the one that agrees with most outputs of one half of the held-out "
        "inputs; shares are those on the other half. Failures count as explained if the shares "
        "of failures predicted and of its failures that are the model's both lie above one half "
        f"with 95%, which takes at least {FEWEST_FAILURES} of each. `weft explain RUN` "
        "shows all machines.",
        "Fine-tuned pretrained models (the paper compares CodeT5, T5 and GPT-2) were not run here.",
        f"Training took {spent}.",
    )
