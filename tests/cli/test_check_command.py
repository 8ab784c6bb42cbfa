"""`weft check` on programs that fail, never halt or are given a length, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from weft.cli import app
from weft.errors import WeftError

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
    done = CliRunner().invoke(app, ["check", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.output


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
    with pytest.raises(WeftError, match="it has 4 positions and cannot be compiled for 9"):
        check("parity-absolute(positions=4)", "--max-length", "9")
    assert check_json("parity-absolute(positions=4)", "--samples", "20")["passed"]
