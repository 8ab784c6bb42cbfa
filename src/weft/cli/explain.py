"""`weft read`: which rules are in the weights of a run, and how far they are from compiled ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import MOST, Json, print_json
from weft.cli.train import Runs

if TYPE_CHECKING:
    from weft.studies import RunReading
    from weft.theory.extraction.distance import Distance, UnitDistance

SAID = {"recovered": "program", "alike": "alike", "extra": "extra"}
NAMES = {"relu": "ReLUs", "clipped": "clipped ReLUs"}


def read_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The beginning of a run's name.")],
    tolerance: Annotated[
        float,
        typer.Option("--tolerance", min=0.0, max=0.5, help="How far levels and writes may be off."),
    ] = 0.1,
    limit: Annotated[
        int,
        typer.Option("--limit", min=0, max=MOST, help="How many rules of a kind to print at most."),
    ] = 100,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Read rules out of a run that learned from traces, and compare it with compiled weights.

    A hidden unit is a rule if it is on where a guard holds, off elsewhere, and writes a new value
    in place of an old one. Each rule that is read is one of the program's, does the same as one on
    all that was trained on (alike), or is neither (extra). Rules are read from one hidden layer of
    ReLUs; of deeper feed-forwards only what they do is compared. Training that shrinks weights
    (supervision.shrink) leaves rules to read; without it there are hardly any.

    Examples:

      weft read 3f2a

      weft read 3f2a --tolerance 0.2 --limit 20

      weft read 3f2a --json
    """
    from weft.studies import read_run
    from weft.training import RunStore

    found = read_run(RunStore(runs).find(run), tolerance=tolerance)
    if json:
        print_json(_plain(found, tolerance))
        return
    for word, value in _summary(found):
        print(f"{word:<14}{value}")
    for line in _rules(found, limit):
        print(line)


def _summary(found: RunReading) -> Iterator[tuple[str, str]]:
    away, states = found.distance, found.states
    supervision = found.run.config.supervision
    yield "run", f"{found.run.name}, {found.run.status}"
    yield "traces", f"{supervision.program}, on {found.inputs:,} inputs of {found.run.config.task}"
    yield "states", f"{len(states):,} distinct of {states.total:,}"
    yield "feed-forward", _layers(found)
    yield "function", _function(away)
    if away.units is None:
        yield "rules", f"{away.rules:,} fire; none are read: {away.unreadable}"
        return
    yield "rules", _counts(away.rules, away.units)
    yield "units", _units(away.units)
    for why, count in _reasons(away.units).items():
        yield "", f"{count:,}: {why}"
    yield "weights", _weights(away.units)
    yield "output bias", f"at most {away.units.reading.output_bias:.2f}; compiled ones have none"


def _function(away: Distance) -> str:
    from weft.theory.extraction.distance import WITHIN

    wrong = f"{away.wrong:.1%} of states wrong, by more than {WITHIN:g} somewhere"
    return f"{wrong}; {away.reconstruction:.3f} off by L1 on average"


def _layers(found: RunReading) -> str:
    widths = " x ".join(f"{width:,}" for width in found.hidden)
    return f"{widths} {NAMES.get(found.activation, found.activation)}"


def _counts(rules: int, units: UnitDistance) -> str:
    return (
        f"{rules:,} fire: {units.recovered:,} read, {units.alike:,} alike, "
        f"{len(units.missing):,} missing; {units.extra:,} extra"
    )


def _units(units: UnitDistance) -> str:
    reading = units.reading
    used = {unit for one in reading.rules for unit in one.units}
    lost = sum(len(one.units) for one in reading.unread)
    return f"{len(used):,} in rules, {len(reading.idle):,} idle, {lost:,} no rule"


def _reasons(units: UnitDistance) -> Counter[str]:
    """How many units are no rule, by reason."""
    found: Counter[str] = Counter()
    for one in units.reading.unread:
        found[one.why] += len(one.units)
    return found


def _weights(units: UnitDistance) -> str:
    return (
        f"{units.weights_l1:.2f} from the compiled by L1, {units.weights_l2:.2f} by L2; "
        f"those have {units.compiled_l1:.2f} and {units.compiled_l2:.2f}"
    )


def _rules(found: RunReading, limit: int) -> Iterator[str]:
    """The rules that were read, each with what it is and its units, and those that were not."""
    units, variables = found.distance.units, found.program.variables
    if units is None:
        return
    pairs = list(zip(units.kinds, units.reading.rules, strict=True))
    for kind, said in SAID.items():
        shown = [
            f"{one.rule.show(variables)}   [{_numbers(one.units)}]"
            for which, one in pairs
            if which == kind
        ]
        yield from _listed(said, shown, limit)
    yield from _listed("missing", [rule.show(variables) for rule in units.missing], limit)


def _listed(said: str, lines: list[str], limit: int) -> Iterator[str]:
    for line in lines[:limit]:
        yield f"{said:<14}{line}"
    if len(lines) > limit:
        yield f"{said:<14}and {len(lines) - limit:,} more (--limit)"


def _numbers(units: tuple[int, ...]) -> str:
    return f"unit{'' if len(units) == 1 else 's'} {', '.join(map(str, units))}"


def _plain(found: RunReading, tolerance: float) -> dict[str, Any]:
    """What was read, for scripts."""
    away = found.distance
    return {
        "run": found.run.name,
        "status": found.run.status,
        "task": found.run.config.task,
        "program": found.run.config.supervision.program,
        "inputs": found.inputs,
        "states": len(found.states),
        "total": found.states.total,
        "hidden": found.hidden,
        "activation": found.activation,
        "tolerance": tolerance,
        "wrong": away.wrong,
        "reconstruction": away.reconstruction,
        "rules": away.rules,
        "unreadable": away.unreadable or None,
        "units": None if away.units is None else _plain_units(found, away.units),
    }


def _plain_units(found: RunReading, units: UnitDistance) -> dict[str, Any]:
    variables, reading = found.program.variables, units.reading
    return {
        "recovered": units.recovered,
        "alike": units.alike,
        "extra": units.extra,
        "read": [
            {"rule": one.rule.show(variables), "kind": kind, "units": one.units}
            for kind, one in zip(units.kinds, reading.rules, strict=True)
        ],
        "missing": [rule.show(variables) for rule in units.missing],
        "no_rule": [{"units": one.units, "why": one.why} for one in reading.unread],
        "idle": reading.idle,
        "output_bias": reading.output_bias,
        "weights": {"l1": units.weights_l1, "l2": units.weights_l2},
        "compiled": {"l1": units.compiled_l1, "l2": units.compiled_l2},
    }
