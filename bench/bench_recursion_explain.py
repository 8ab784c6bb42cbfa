"""Explaining a model of the successor: machines compared, and interventions on 2,000 inputs."""

from __future__ import annotations

from measure import Figure, seconds
from weft.models import Transformer, initialise, preset
from weft.studies.recursion.explanation import explain_function, intervene
from weft.studies.recursion.explanation_model import AskedModel
from weft.studies.recursion.explanation_subjects import SuccessorSubject
from weft.tasks.recursion import Recursion
from weft.theory.recursion import shortcut_machine

INPUTS = 2000


def figures() -> list[Figure]:
    return [
        Figure(
            f"machines compared with {INPUTS:,} outputs of the successor",
            seconds(_compare, 1),
            "s",
            most=30,
        ),
        Figure(
            f"interventions on a model of 2 + 2 layers, {INPUTS:,} inputs",
            seconds(_intervene, 1),
            "s",
            most=120,
        ),
    ]


def _compare() -> None:
    machine = shortcut_machine("bounded", "short", 8)
    task = Recursion(order="natural", length=20, longer=40)
    found = explain_function(
        task, lambda inputs: [machine(given) for given in inputs], inputs=INPUTS
    )
    assert found.explains_failures


def _intervene() -> None:
    """All knock-outs, recursion scores and positions; random weights take as long as others."""
    task, subject = Recursion(order="natural"), SuccessorSubject("natural")
    settings = preset(
        "nano", vocabulary=len(task.vocabulary), kind="encoder-decoder", layers=2, width=128,
        heads=4, hidden=(512,), activation="relu", position="learned", positions=64,
    )  # fmt: skip
    model = AskedModel(task, initialise(Transformer(settings), seed=0).eval(), subject)
    inputs = [
        number for length in range(8, 21) for number in subject.examples(length, INPUTS // 13 + 30)
    ][:INPUTS]
    found = intervene(model, inputs, [subject.truth(number) for number in inputs])
    assert found.inputs == len(inputs) > 0.9 * INPUTS
