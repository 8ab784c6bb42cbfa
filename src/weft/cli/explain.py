"""`weft explain`: what the model of a run has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Json, Out, RunName, Runs, count_option, print_json
from weft.files import output_folder

MAX_INPUTS = 1_000_000


def explain_command(
    run: RunName,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            min=0.0,
            max=0.5,
            help="Of rules: how far a unit may be from the exact values of a rule.",
        ),
    ] = 0.1,
    inputs: Annotated[
        int,
        typer.Option(
            "--inputs",
            min=1,
            max=MAX_INPUTS,
            help="Of arithmetic and recursion: how many questions hypotheses are compared on.",
        ),
    ] = 2000,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            "--beside",
            metavar="RUN",
            help="Of program traces: a run whose heads are shown beside; may be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int, count_option("--limit", "How many rules of a kind, or rows of a table, to print.", 0)
    ] = 100,
    out: Out = None,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Show what the model of a run has learned.

    For a run trained from a program's traces, these are the rules in its weights, compared with
    the compiled ones. A hidden unit is a rule if it is on when a guard holds, off otherwise, and
    writes a new value in place of an old one. An extracted rule is either one of the program's, or
    does the same as one on all training states (alike), or neither (extra). Rules are extracted
    from one hidden layer of ReLUs; deeper feed-forwards are compared only in their function. An L1
    penalty in training (supervision.l1) leaves rules that can be extracted; without it there
    are hardly any.

    For a run trained on the answers of an arithmetic task, it is the function that the model
    computes. Hypotheses compete: the operation on all digits, on the last n or fewer, a residue, a
    copy of an operand, a constant. Each is fitted on one half of the questions, and compared with
    the model's outputs, right or wrong, on the other. Changing single digits shows which of them
    each output digit depends on.

    For a run trained on the answers of a recursion task, it is the abstract state machine that
    agrees with most outputs, the share of the model's failures that the machine predicts exactly,
    and what interventions on tokens, attention heads and positions change.

    For a run on program traces, these are its first errors by category and statement, how likely
    each step goes wrong, the model without its ALiBi or its NoPE heads if it has both, and how much
    attention each head gives to the program, the call, the trace, and the tokens that a value
    needs. Other runs have no explanation yet.

    Examples:

      weft explain 3f2a

      weft explain 3f2a --tolerance 0.2 --limit 20

      weft explain 3f2a --inputs 4000 --out explanation

      weft explain 3f2a --beside 77c1 --beside 01be --out explanation

      weft explain 3f2a --json
    """
    from weft.studies import explain
    from weft.training import RunStore

    if out is not None:
        output_folder(out, option="--out")
    store = RunStore(runs)
    others = [store.find(name) for name in beside or []]
    explanation = explain(store.find(run), tolerance=tolerance, inputs=inputs, beside=others)
    if out is not None:
        explanation.write(out)
    if json:
        print_json(explanation.as_dict())
        return
    for line in explanation.lines(limit):
        print(line)
