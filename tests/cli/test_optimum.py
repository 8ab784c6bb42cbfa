"""`weft optimum` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import HEAVY, imported, weft


def test_yes_says_for_which_alpha() -> None:
    shown = weft("optimum", "parity", "--samples", "30", "--max-length", "8")
    assert "a strict coordinate-wise optimum, for every alpha below" in shown


def test_no_names_parameter_unit_rule_and_both_derivatives() -> None:
    shown = weft("optimum", "addition", code=1)
    assert "no strict optimum: W2[here_a=0, 12], as its rule never fires" in shown
    assert "phase = 0, token = 10, token_right = 11 => here_a: 0 -> 1  (addition.py:" in shown
    assert "left    -0.5, should be below 0\n  right   -0.5, should be above 0" in shown


def test_inputs_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "inputs.txt"
    file.write_text("1\n\n")
    found = json.loads(weft("optimum", "parity", "--inputs", str(file), "--json", code=1))
    assert (found["optimum"], found["inputs"], found["units"]) == (False, 1, 3)
    assert found["offender"]["why"] == "its rule never fires"
    file.write_text("101\n11\n")
    found = json.loads(weft("optimum", "parity", "--inputs", str(file), "--json"))
    assert (found["optimum"], found["total"], found["alpha_limit"]) == (True, 18, 1.0)


def test_removals_decide_what_coordinates_do_not() -> None:
    assert "a strict" in weft("optimum", "rule-110", "--samples", "50")
    shown = weft("optimum", "rule-110", "--samples", "50", "--removals", code=1)
    assert "W1[1, edge=0] down, b1[1] up, as no state fails edge=0 alone" in shown


def test_the_reading_of_definition_1_is_said_and_can_be_chosen() -> None:
    given = ("optimum", "rule-110", "--samples", "50", "--removals")
    assert "definition 1 by the reading 'weights': a constraint can go if" in weft(*given, code=1)
    found = json.loads(weft(*given, "--reading", "exclusive", "--json", code=1))
    assert (found["reading"], found["minimal"]) == ("exclusive", False)
    assert found["removable"].endswith("needs no constraint on edge")
    assert found["offender"] is None  # a strict optimum of coordinates, and yet not minimal
    assert "no reading 'weight' of definition 1" in weft(*given, "--reading", "weight", code=2)


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    assert "categorical variables only" in weft("optimum", "parity-sum", code=2)
    assert "alpha is 0" in weft("optimum", "parity", "--alpha", "0", code=2)
    assert "cannot be read" in weft("optimum", "parity", "--inputs", str(tmp_path / "no"), code=2)
    (tmp_path / "empty").write_text("\n")
    assert "has no inputs" in weft("optimum", "parity", "--inputs", str(tmp_path / "empty"), code=2)


def test_it_needs_no_torch() -> None:
    assert not imported("optimum", "parity", "--samples", "20") & HEAVY
