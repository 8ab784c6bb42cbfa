"""Predictors on the rows of studies, against the paper's flags and known classes."""

from __future__ import annotations

from typing import Any

import pytest

from weft.automata.languages import LANGUAGES, TABLE
from weft.studies import study
from weft.studies.length.disputed import DISPUTED
from weft.studies.length.predictors import CLASSES, PREDICTORS, predictions
from weft.studies.length.reference import ALGORITHMIC


def asked(language: str, position: str, target: str = "next") -> dict[str, Any]:
    parameters = {"language": language, "target": target}
    return {"task": "formal-language", "parameters": parameters, "model": {"position": position}}


@pytest.mark.parametrize("name", [each.name for each in TABLE if each.name != "d-12"])
@pytest.mark.parametrize("target", ["next", "membership"])
def test_the_papers_flags_of_languages(name: str, target: str) -> None:
    """On these languages, legal next symbols are as hard as membership."""
    known = LANGUAGES[name]
    flags = {"none": known.nope, "learned": known.ape}
    for position, flag in flags.items():
        assert predictions(asked(name, position, target))["C-RASP"] == ("yes" if flag else "no")


def test_the_papers_flags_of_algorithmic_tasks() -> None:
    for each in ALGORITHMIC:
        config = {"task": each.task, "parameters": {}, "model": {"position": each.positions}}
        found = predictions(config)
        assert found["C-RASP"] == ("yes" if each.predicted else "no"), each.task
        refuted = each.task in ("repeat-copy", "binary-addition")
        assert found["communication"] == ("no" if refuted else "yes")
        assert found["star-free"] == ("no" if each.task == "bit-parity" else "–")


def test_disputed_languages_have_the_answers_of_the_table() -> None:
    """The table at the top of `weft.studies.length.disputed`."""
    expected = {
        "ab-or-aabb": ("no", "no", "no", "yes", "yes"),
        "ab-or-bbaa": ("yes", "no", "yes", "yes", "yes"),
        "ab-or-bba": ("no", "no", "yes", "yes", "yes"),
        "contains-ab": ("no", "no", "no", "yes", "yes"),
        "parity": ("no", "no", "no", "no", "yes"),
    }
    assert tuple(expected) == DISPUTED
    for name, answers in expected.items():
        found = predictions(asked(name, "none", "membership"))
        assert tuple(found[each] for each in PREDICTORS[:5]) == answers, name
        assert len(set(answers)) == 2  # they disagree
        learned = predictions(asked(name, "learned", "membership"))["C-RASP"]
        assert learned == ("no" if name == "parity" else "yes")


def test_next_symbols_can_be_easier_than_membership() -> None:
    assert predictions(asked("ab-or-aabb", "none", "next"))["C-RASP"] == "yes"
    assert predictions(asked("ab-or-aabb", "none", "membership"))["C-RASP"] == "no"


def test_encodings_outside_the_theory_have_no_prediction() -> None:
    for _, cell in study("crasp-encodings").cells("smoke"):
        found = predictions(cell.config.as_dict())
        assert {found[name] for name in PREDICTORS[:5]} == {"–"}


def test_classes_are_nested_and_counter_languages_have_none() -> None:
    for name in LANGUAGES:
        if name == "d-12":
            continue
        found = predictions(asked(name, "none", "membership"))
        answers = [found[each] for each in CLASSES]
        assert answers == sorted(answers), name  # no comes before yes
    assert predictions(asked("dyck-1", "none"))["star-free"] == "–"
