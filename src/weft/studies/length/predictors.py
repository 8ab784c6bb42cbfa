"""What each predictor says of a row of a study: does training generalise in length?

C-RASP            by positions: programs without positional predicates for no positional encoding,
                  programs with periodic and local ones for learned absolute positions. For
                  `next`, the question is the legal next symbols of prefixes, for `membership` the
                  language itself.
R-trivial         the language is R-trivial, the class of transformers of fixed precision
R^omega           it is in R^omega, a necessary test of the theory of C-RASP
star-free         it is star-free, the class of unique hard attention without positions
communication     no fooling family shows that more than O(log N) bits must be sent

The classes are of regular languages and say nothing of other tasks. They and communication do not
depend on positions. The theory does not cover rotary positions, ALiBi and T5 biases.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from weft.errors import WeftError
from weft.tasks import task
from weft.tasks.formal.machines import COUNTERS

Prediction = Literal["yes", "no", "unknown", "–"]
"""`unknown` if a predictor does not decide; `–` if it says nothing of the question."""

CRASP = "C-RASP"
ALWAYS, NEVER = "always yes", "always no"
CLASSES = ("R-trivial", "R^omega", "star-free")
PREDICTORS = (CRASP, *CLASSES, "communication", ALWAYS, NEVER)
"""All predictors; the last two are baselines."""
SHORT = {"length": 10, "longer": 20, "longest": 30}
"""Predictions do not depend on the lengths of the tests; short ones are quicker to look at."""
POSITIONS = {"none": 0, "learned": 1}
"""Encodings that the theory covers, by their place in a pair of answers."""


def predictions(config: Mapping[str, Any]) -> dict[str, Prediction]:
    """What every predictor says of a run, by its config as plain values.

    Example:
        >>> run = {"task": "formal-language", "model": {"position": "none"},
        ...        "parameters": {"language": "tomita-4", "target": "next"}}
        >>> found = predictions(run)
        >>> found["C-RASP"], found["star-free"]
        ('no', 'yes')
    """
    parameters = tuple(sorted(dict(config["parameters"]).items()))
    name, position = str(config["task"]), str(config["model"].get("position", "none"))
    result: dict[str, Prediction] = dict.fromkeys(PREDICTORS, "–")
    result |= {ALWAYS: "yes", NEVER: "no"}
    if position not in POSITIONS:
        return result
    result[CRASP] = _crasp(name, parameters)[POSITIONS[position]]
    result |= _classes(name, parameters)
    result["communication"] = _communication(name)
    return result


@cache
def _crasp(name: str, parameters: tuple[tuple[str, Any], ...]) -> tuple[Prediction, Prediction]:
    """Without positions, and with learned absolute ones."""
    given = dict(parameters)
    if name == "formal-language" and given.get("language") not in COUNTERS:
        return _regular(str(given["language"]), str(given.get("target", "next")))
    from weft.theory.length.transductions import predict_task

    answers = predict_task(task(name, **{**given, **SHORT}))
    if answers is None:
        raise WeftError(f"there is no prediction for the task {name}")
    none, absolute = answers
    return none.verdict, absolute.verdict


@cache
def _regular(language: str, target: str) -> tuple[Prediction, Prediction]:
    from weft.theory.length.blocks import block_obstruction
    from weft.theory.length.decider import decide
    from weft.theory.length.legal import predict_legal_next
    from weft.theory.length.unfolding import unfold

    dfa = _dfa(language)
    if target == "next":
        none, absolute = predict_legal_next(dfa)
        return none.verdict, absolute.verdict
    if decide(dfa).inside:
        return "yes", "yes"
    if block_obstruction(dfa) is not None:
        return "no", "no"
    return "no", "unknown" if unfold(dfa) is None else "yes"


def _dfa(text: str) -> Any:
    from weft.automata import LANGUAGES, expression_dfa, language

    return language(text).dfa if text in LANGUAGES else expression_dfa(text)


REGULAR_TASKS = {"bit-parity": "parity"}
"""Tasks whose answer is membership in a regular language."""


@cache
def _classes(name: str, parameters: tuple[tuple[str, Any], ...]) -> dict[str, Prediction]:
    from weft.theory.length.classes import language_class

    text = dict(parameters).get("language") if name == "formal-language" else None
    text = REGULAR_TASKS.get(name, text)
    if text is None or text in COUNTERS:
        return {}
    found = language_class(_dfa(str(text))).name
    if found is None:
        return dict.fromkeys(CLASSES, "unknown")
    smaller = CLASSES[CLASSES.index(found) :] if found in CLASSES else ()
    return {each: "yes" if each in smaller else "no" for each in CLASSES}


def _communication(name: str) -> Prediction:
    from weft.theory.length.communication import FAMILIES

    return "no" if name in FAMILIES else "yes"
