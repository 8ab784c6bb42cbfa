"""`weft run` on programs and on compiled models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import weft

PROGRAM = '''
import weft

class Swap(weft.Program):
    """Turns every bit over."""
    tokens = ["a", "b"]
    bit = weft.var(2, token=lambda t: t == "b")
    output = bit
    layers = 1

    def step(z):
        z.bit = 1 - z.bit
'''


def test_run_prints_outputs_result_and_layers_as_json() -> None:
    found = json.loads(weft("run", "parity", "101", "--json"))
    assert (found["outputs"], found["result"], found["layers"]) == ([0, 1, 1, 0], 0, 3)
    assert json.loads(weft("run", "addition", "12+34", "--json"))["result"] == 46


def test_run_takes_marks_that_are_already_there() -> None:
    assert json.loads(weft("run", "addition", "s12+34e", "--json"))["result"] == 46


def test_trace_shows_every_layer_and_marks_changes() -> None:
    text = weft("run", "parity", "101", "--trace")
    for part in ("start", "layer 1", "layer 3", "parity_left", "∅", "*1"):
        assert part in text


def test_trace_as_json_has_streams_selected_keys_and_fired_rules() -> None:
    layer = json.loads(weft("run", "parity", "10", "--trace", "--json"))["trace"]["layers"][0]
    assert layer["attended"]["parity_left"] == [None, 0, 1]
    assert layer["selected"]["parity_left"] == [[], [0], [1]]
    assert layer["fired"] == [[], ["done_left = 1 => done: 0 -> 1"], []]


def test_a_trace_of_weights_shows_values_margins_and_gaps(tmp_path: Path) -> None:
    weft("compile", "addition", "-o", str(tmp_path / "model"))
    for arguments in (("addition", "12+34", "--compiled"), (str(tmp_path / "model"), "12+34")):
        text = weft("run", *arguments, "--trace")
        assert max(map(len, text.splitlines())) <= 80
        lines = [line.split() for line in text.splitlines()]
        second = lines[lines.index(["layer", "2", *"s12+34e", "margin", "gap"]) :]
        rows = {row[0]: row[1:] for row in second[1:12]}
        assert rows["digit"] == ["0", "0", "0", "0", "0", "*6", "0", "0.5"]
        assert rows["a"][:8] == ["2"] * 7 + ["0.5"]
        assert float(rows["a"][8]) > 10
        assert lines[-2] == ["result", "46"]
    traced = json.loads(weft("run", "parity", "10", "--compiled", "--trace", "--json"))["trace"]
    exact = json.loads(weft("run", "parity", "10", "--trace", "--json"))["trace"]
    for ours, theirs in zip(traced["layers"], exact["layers"], strict=True):
        assert ours["attended"]["parity_left"] == theirs["attended"]["parity_left"]
        assert ours["after"]["parity"] == theirs["after"]["parity"]
        assert ours["margins"]["parity"] == 0.5


def test_a_trace_of_a_model_with_other_names_of_tokens(tmp_path: Path) -> None:
    """Tokens of tasks are text, so a model trained from traces has '1' for the program's 1."""
    folder = tmp_path / "model"
    weft("compile", "parity", "-o", str(folder))
    before = weft("run", str(folder), "101", "--trace")
    description = json.loads((folder / "config.json").read_text())
    description["vocabulary"] = [str(token) for token in description["vocabulary"]]
    (folder / "config.json").write_text(json.dumps(description))
    assert weft("run", str(folder), "101", "--trace") == before


def test_wide_inputs_are_folded() -> None:
    text = weft("run", "parity", "1" * 100, "--trace")
    assert max(map(len, text.splitlines()[:-3])) <= 80
    assert "  from 2" in text


def test_layers_stop_early() -> None:
    assert json.loads(weft("run", "parity", "111", "--layers", "1", "--json"))["layers"] == 1


def test_a_program_in_a_file_runs(tmp_path: Path) -> None:
    path = tmp_path / "swap.py"
    path.write_text(PROGRAM)
    for name in (str(path), f"{path}:Swap"):
        assert json.loads(weft("run", name, "ab", "--json"))["outputs"] == [1, 0]
    assert "bit" in weft("rules", str(path))
    assert "Turns every bit over" in weft("show", str(path))


def test_a_picture_is_written(tmp_path: Path) -> None:
    picture = tmp_path / "trace.svg"
    weft("run", "parity", "101", "--trace", "--svg", str(picture))
    text = picture.read_text()
    assert text.startswith("<svg")
    assert "http" not in text.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "parit", "101"], "did you mean 'parity'"),
        (["run", "parity", "101", "--compiled", "--max-layers", "2"], "is for the interpreter"),
        (["run", "parity", "12"], "there is no token '2'"),
        (["run", "nowhere.py:X", "1"], "no file nowhere.py"),
        (["run", "parity-absolute(n=3)", "1"], "cannot be made"),
        (["run", "parity-absolute(positions=2)", "101"], "3 tokens; the program has 2 positions"),
        (["run", "addition", "12"], "not a sum of two numbers"),
        (["run", "parity", "101", "--max-layers", "1"], "not halted after 1 layers"),
        (["rules", "parity", "--variable", "dune"], "did you mean 'done'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], part: str) -> None:
    message = weft(*arguments, code=2)
    assert part.lower() in message.lower()
    assert len(message.splitlines()) == 1


def test_a_broken_program_file_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(PROGRAM.replace("z.bit = 1 - z.bit", "z.bits = 1"))
    message = weft("run", str(path), "ab", code=2)
    assert "there is no variable 'bits'" in message
    assert "broken.py:12" in message
    assert len(message.splitlines()) == 1
