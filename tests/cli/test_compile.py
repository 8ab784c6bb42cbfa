"""`weft compile`, `weft check`, `weft prove` and `weft run DIR`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import weft


def test_compile_reports_sizes_as_json() -> None:
    found = json.loads(weft("compile", "parity", "--json"))
    assert found["hidden_units"] == 3
    assert {"rules", "hidden_units", "d_model", "heads", "parameters", "seconds"} <= set(found)


def test_a_model_is_written_run_and_proved(tmp_path: Path) -> None:
    folder = str(tmp_path / "addition")
    weft("compile", "addition", "-o", folder)
    assert json.loads(weft("run", folder, "12+34", "--json"))["result"] == 46
    assert json.loads(weft("prove", folder, "--json"))["proved"]
    card = (tmp_path / "addition" / "card.md").read_text()
    assert "proved for inputs of up to 1,048,576 tokens" in card


def test_a_proof_says_for_what_it_holds(tmp_path: Path) -> None:
    """Not of every length where the model has a longest one, nor of every state with `--for`."""
    weft("compile", "parity-absolute(positions=8)", "-o", str(tmp_path / "short"))
    assert "proved for inputs of up to 8 tokens " in weft("prove", str(tmp_path / "short"))
    (tmp_path / "inputs").write_text("1+1\n12+10\n")
    weft("compile", "addition", "--for", str(tmp_path / "inputs"), "-o", str(tmp_path / "few"))
    said = weft("prove", str(tmp_path / "few"))
    assert "proved for the 2 inputs that it was compiled for " in said


def test_layers_can_have_weights_of_their_own(tmp_path: Path) -> None:
    shared = json.loads(weft("compile", "rule-110", "-o", str(tmp_path / "shared"), "--json"))
    folder = str(tmp_path / "separate")
    separate = json.loads(weft("compile", "rule-110", "--separate-layers", "-o", folder, "--json"))
    assert separate["parameters"] > 4 * shared["parameters"]
    config = json.loads(weft("show", folder, "--json"))["config"]
    assert (config["layers"], config["loops"]) == (8, 1)
    assert json.loads(weft("run", folder, "00000000001", "--json"))["result"] == "00111111101"
    assert json.loads(weft("prove", folder, "--json"))["proved"]
    assert "it runs until it halts" in weft("compile", "parity", "--separate-layers", code=2)


def test_a_program_runs_compiled() -> None:
    found = json.loads(weft("run", "parity", "10110", "--compiled", "--json"))
    assert (found["result"], found["layers"]) == (1, 5)


def test_check_says_that_all_three_agree() -> None:
    assert json.loads(weft("check", "parity", "--samples", "20", "--json"))["agree"]


def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    for arguments, part in (
        (["prove", str(tmp_path)], "holds no model"),
        (["compile", "parity", "-O", "1"], "there is no level 1"),
        (["compile", "parity", "--dtype", "int8"], "no number format 'int8'"),
        (["compile", "parity", "--for", str(tmp_path / "none")], "cannot be read"),
        (["compile", "parity-absolute(positions=4)", "--max-length", "9"], "4 positions"),
    ):
        message = weft(*arguments, code=2)
        assert part in message, message
        assert len(message.splitlines()) == 1


LEFT_OUT = """
import weft


class LeftOut(weft.Program):
    tokens, layers = 2, 1
    bit = weft.var(2, token=lambda t: t)
    note = weft.var(2)
    output = bit

    def step(z):
        z.note = z.bit

    def decode(self, stream):
        return stream["note"]
"""


def test_decoding_what_the_weights_leave_out_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "left_out.py"
    file.write_text(LEFT_OUT)
    message = weft("run", str(file), "01", "--compiled", code=2)
    assert "its decode reads 'note', which the weights leave out" in message


PROGRAMS = """
import weft


class Overflows(weft.Program):
    tokens, layers = 2, 1
    bit = weft.var(2, token=lambda t: t)
    output = bit

    def step(z):
        z.bit = z.bit + 1


class Never(weft.Program):
    tokens, max_layers = 2, 20
    bit = weft.var(2, token=lambda t: t)
    done = weft.var(2)
    output = bit
    halt = done == 1

    def step(z):
        z.bit = 1 - z.bit
"""
FEW = ("--samples", "20", "--max-length", "4")


def check(*arguments: str, code: int = 0) -> str:
    return weft("check", *arguments, code=code)


def check_json(*arguments: str, code: int = 0) -> Any:
    return json.loads(check(*arguments, "--json", code=code))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "failing.py"
    path.write_text(PROGRAMS)
    return str(path)


def test_an_input_on_which_the_program_fails_is_shown_with_the_reason(file: str) -> None:
    said = check(f"{file}:Overflows", *FEW, code=1)
    assert "input '1', layer 1, position 0: 'bit' is written outside its range" in said
    assert "reference, batched and compiled agree" in said
    found = check_json(f"{file}:Overflows", *FEW, code=1)
    assert (found["passed"], found["agree"]) == (False, True)
    assert found["failure"]["input"] == "1"
    assert "failing.py:11" in found["failure"]["reason"]
    assert found["inputs"] + found["failed"] == found["tried"] == 20


def test_failures_can_be_allowed(file: str) -> None:
    assert "the program fails on" in check(f"{file}:Overflows", *FEW, "--allow-failures")
    assert check_json(f"{file}:Overflows", *FEW, "--allow-failures")["passed"]


def test_a_program_that_never_halts_is_said_to(file: str) -> None:
    assert "the program never halts" in check(f"{file}:Never", *FEW, code=1)
    found = check_json(f"{file}:Never", *FEW, "--allow-failures", code=1)
    assert found["never_halts"], "nothing was compared, so nothing can be allowed"


def test_the_model_is_compiled_for_the_length_that_is_given() -> None:
    assert check_json("parity-sum", "--max-length", "9", "--samples", "20")["passed"]
    refused = check("parity-absolute(positions=4)", "--max-length", "9", code=2)
    assert "it has 4 positions and cannot be compiled for 9" in refused
    assert check_json("parity-absolute(positions=4)", "--samples", "20")["passed"]
