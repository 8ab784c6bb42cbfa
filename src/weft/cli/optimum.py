"""`weft optimum`: whether compiled weights are an optimum of the training loss."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, Layers, MaxLength, Name, Seed, count_option, plural, print_json
from weft.interpreter.inputs import read_input_file, valid_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from weft.language.program import Program
    from weft.language.rules import Rule
    from weft.theory.optimum.coordinatewise import Optimum


def optimum_command(
    name: Name,
    inputs: Annotated[
        Path | None, typer.Option("--inputs", help="A file with one training input per line.")
    ] = None,
    samples: Annotated[
        int, count_option("--samples", "Without a file: how many random inputs to draw.")
    ] = 200,
    max_length: MaxLength = 20,
    seed: Seed = 0,
    alpha: Annotated[float, typer.Option("--alpha", help="The weight of the regulariser.")] = 0.5,
    square: Annotated[bool, typer.Option("--l2", help="Regularise by L2 instead of L1.")] = False,
    fired: Annotated[bool, typer.Option("--fired", help="Use only the rules that fire.")] = False,
    removals: Annotated[
        bool, typer.Option("--removals", help="Also check removals of single constraints.")
    ] = False,
    reading: Annotated[
        str,
        typer.Option("--reading", help="With --removals: weights, logic or exclusive."),
    ] = "weights",
    layers: Layers = None,
    json: Json = False,
) -> None:
    """Check whether compiled weights are an optimum.

    The loss is that of training from traces: the L1 error of outputs plus a regulariser. If the
    compiled feed-forward is not a strict coordinate-wise optimum, prints the first parameter that
    could change and exits with 1. With --removals, it also checks that no unit and no constraint of
    a guard can be removed without changing an output: the rules are minimal by the reading
    `weights` of definition 1, as after `weft minimal --full`.

    Examples:

      weft optimum parity

      weft optimum addition --fired --removals

      weft optimum addition --inputs sums.txt --alpha 0.1 --json
    """
    from weft.interpreter.states import states_of
    from weft.programs import program
    from weft.theory.minimal.minimality import reading_named
    from weft.theory.optimum.coordinatewise import alpha_limit, check_rules
    from weft.theory.optimum.derivatives import Penalty, fired_units
    from weft.theory.optimum.reconstruction import construct, require_categorical

    checked = program(name)
    require_categorical(checked)
    penalty = Penalty(alpha, "l2" if square else "l1")
    of_definition = reading_named(reading)
    if inputs is not None:
        given: list[Any] = list(read_input_file(inputs))
    else:
        given = valid_inputs(checked, samples, max_length, seed, layers)
    states = states_of(checked, given, layers=layers)
    rules: Iterable[Rule] = checked.rules
    if fired:
        rules = fired_units(construct(checked.variables, rules), states).rules
    answer = check_rules(rules, states, penalty, removals=removals, reading=of_definition)
    limit = alpha_limit(rules, states, penalty.kind) if answer and not removals else None
    if json:
        print_json(_plain(checked, len(given), answer, limit))
    else:
        _show(checked, len(given), answer, limit)
    if not answer:
        raise typer.Exit(1)


def _plain(program: Program, inputs: int, answer: Optimum, limit: float | None) -> dict[str, Any]:
    """The answer as plain values, for JSON."""
    named = answer.offender
    offender = named and {
        "parameter": named.parameter,
        "unit": named.unit,
        "rule": named.rule.show(program.variables),
        "where": str(named.rule.where) if named.rule.where else None,
        "weight": named.weight,
        "left": named.left,
        "right": named.right,
        "why": named.why,
    }
    return {
        "optimum": bool(answer),
        "inputs": inputs,
        "units": answer.units,
        "states": answer.states,
        "total": answer.total,
        "alpha": answer.penalty.alpha,
        "regulariser": answer.penalty.kind,
        "removals": answer.removals,
        "reading": answer.reading,
        "minimal": answer.minimal,
        "removable": answer.offence and answer.offence.show(program.variables),
        "alpha_limit": limit,
        "offender": offender,
    }


def _show(program: Program, inputs: int, answer: Optimum, limit: float | None) -> None:
    print(
        f"{inputs:,} inputs: {answer.states:,} distinct states of {answer.total:,}; "
        f"{plural(answer.units, 'unit')}; "
        f"{answer.penalty.kind.upper()}, alpha {answer.penalty.alpha:g}"
    )
    if answer.reading is not None:
        from weft.theory.minimal.minimality import READINGS

        print(f"definition 1 by the reading '{answer.reading}': {READINGS[answer.reading]}")
        if answer.offence is not None:
            print(f"not minimal: {answer.offence.show(program.variables)}")
        elif answer.reading != "weights":
            print("minimal by this reading")
    named = answer.offender
    if named is None:
        also = ", and along every removal of a constraint: the rules are minimal here"
        until = "" if limit is None else f", for every alpha below {limit:g}"
        beyond = also if answer.reading == "weights" else until
        print(f"a strict coordinate-wise optimum{beyond}")
        return
    where = f"  ({named.rule.where})" if named.rule.where else ""
    print(f"no strict optimum: {named.parameter}, as {named.why}")
    print(f"  unit    {named.unit}")
    print(f"  rule    {named.rule.show(program.variables)}{where}")
    print(f"  weight  {named.weight:g}")
    print(f"  left    {named.left:g}, should be below 0")
    print(f"  right   {named.right:g}, should be above 0")
