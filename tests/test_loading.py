"""Model folders of every kind, read back: they take and give text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import weft
from weft.cli import app
from weft.compiler.proof import prove
from weft.language.vocabulary import vocabulary
from weft.models.files import load_model, read_description, save_model
from weft.models.text import TokenFormat
from weft.weights.emit import EmbeddingTables, emit
from weft.weights.layers import AttentionMatrices, LayerMatrices, no_feed_forward


def test_a_compiled_model_answers_as_its_program_does(tmp_path: Path) -> None:
    for name, text, answer in (
        ("addition", "987+13", "1000"),
        ("parity", "10110", "1"),
        ("sort-unique", "3 1 2", None),
        ("dyck", "([])", None),
    ):
        program = weft.program(name)
        weft.save(weft.compile(program), tmp_path / name, name=name)
        expected = str(weft.run(program, text).result)
        assert answer in (None, expected)
        assert weft.load(tmp_path / name).answer(text) == expected


def test_inputs_that_a_model_does_not_take_are_refused(tmp_path: Path) -> None:
    weft.save(
        weft.compile(weft.program("parity-sum"), max_length=6), tmp_path / "m", name="parity-sum"
    )
    model = weft.load(tmp_path / "m")
    assert model.answer("110") == str(weft.run(weft.program("parity-sum"), "110").result)
    with pytest.raises(weft.WeftError, match="made for at most 6"):
        model.answer("110110110")
    with pytest.raises(weft.WeftError, match="there is no token 'x'"):
        model.answer("1x")
    with pytest.raises(weft.WeftError, match="does not read text"):
        weft.compile(weft.program("parity")).model.answer("101")


SOURCE = '''
import weft


class Flip(weft.Program):
    """Turns every bit over."""

    tokens = ["a", "b"]
    bit = weft.var(2, token=lambda t: t == "b")
    output = bit
    layers = 1

    def step(z):
        z.bit = 1 - z.bit

    def decode(self, stream):
        return "".join("ab"[bit] for bit in stream["bit"])
'''


def test_without_its_program_a_model_goes_by_the_names_of_tokens(tmp_path: Path) -> None:
    file, folder = tmp_path / "flip.py", tmp_path / "model"
    file.write_text(SOURCE)
    name = f"{file}:Flip"
    weft.save(weft.compile(weft.program(name)), folder, name=name)
    assert weft.load(folder).answer("abb") == "baa"
    file.write_text(SOURCE.replace("1 - z.bit", "z.bit"))  # another program now
    assert weft.load(folder).answer("abb") == "1 0 0"
    file.unlink()
    assert weft.load(folder).answer("abb") == "1 0 0"
    with pytest.raises(weft.WeftError, match="there is no token 'c'"):
        weft.load(folder).answer("abc")


def format_2(folder: Path) -> None:
    """Rewrite a folder's description as earlier versions wrote it."""
    values = json.loads((folder / "config.json").read_text())
    about = values["program"]
    old: dict[str, Any] = {
        "format": 2,
        "weft": "0.1.0",
        "program": {
            "name": about["name"],
            "found_as": about["found_as"],
            "source_hash": about["source_hash"],
            "tokens": values["vocabulary"],
        },
        "level": 2,
        "max_length": None,
        "for_inputs": None,
        "sizes": {"rules": 7},
        "passes": [["dead variables", "none"]],
        "config": values["config"],
        "layout": values["layout"],
        "verified": None,
    }
    (folder / "config.json").write_text(json.dumps(old))


def test_folders_of_format_2_still_load_and_are_proved(tmp_path: Path) -> None:
    program = weft.program("parity")
    compiled = weft.compile(program)
    weft.save(compiled, tmp_path / "m", name="parity")
    format_2(tmp_path / "m")
    model = weft.load(tmp_path / "m")
    assert model.answer("111") == "1"
    assert model.config == compiled.model.config
    assert prove(model, program, compiled.certificate).proved
    result = CliRunner().invoke(app, ["prove", str(tmp_path / "m")])
    assert result.exit_code == 0, result.output
    description = read_description(tmp_path / "m")
    assert description.format == 3
    assert description.verified is not None


def test_a_format_from_the_future_is_refused(tmp_path: Path) -> None:
    weft.save(weft.compile(weft.program("parity")), tmp_path / "m", name="parity")
    file = tmp_path / "m" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 4}))
    with pytest.raises(weft.WeftError, match="not a model of this version of Weft"):
        weft.load(tmp_path / "m")


def shares() -> Any:
    """Two different layers: the share of ones so far, then that of the position before."""
    width = 3

    def head(read: int, write: int, bias: list[float] | None) -> LayerMatrices:
        zero = np.zeros((1, width, 1))
        value, output = np.zeros((1, width, 1)), np.zeros((1, 1, width))
        value[0, read, 0] = output[0, 0, write] = 1.0
        biases = None if bias is None else np.array([bias])
        sink = None if bias is None else np.zeros(1)
        return LayerMatrices(
            AttentionMatrices(zero, zero, value, output, biases, sink), no_feed_forward(width)
        )

    inf = np.inf
    layers = [head(0, 1, None), head(1, 2, [-inf, 900.0, -inf, -inf, -inf])]
    embedding = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    return emit(layers, EmbeddingTables(embedding, np.eye(3)[1:]), causal=True, dtype="float64")


def test_a_constructed_model_is_saved_loaded_shown_and_undecided(tmp_path: Path) -> None:
    folder = tmp_path / "shares"
    text = TokenFormat(mode="every", classes=("now", "before"))
    save_model(
        shares(), folder, kind="constructed", name="shares", text=text, vocabulary=vocabulary("01")
    )
    model = weft.load(folder)
    tokens = torch.tensor([[1, 0, 0, 1]])
    expected = [[1, 0], [1 / 2, 1], [1 / 3, 1 / 2], [1 / 2, 1 / 3]]
    np.testing.assert_allclose(model(tokens).logits[0], expected)
    assert torch.equal(load_model(folder)(tokens).logits, shares()(tokens).logits)
    assert model.answer("1001") == "now before before now"
    shown = CliRunner().invoke(app, ["show", str(folder)])
    assert shown.exit_code == 0, shown.output
    assert "shares, constructed" in shown.output
    proof = CliRunner().invoke(app, ["prove", str(folder)])
    assert proof.exit_code == 1
    assert "undecided: the model is constructed: there is no program" in proof.output


def test_show_names_the_variables_and_heads_of_a_compiled_model(tmp_path: Path) -> None:
    weft.save(weft.compile(weft.program("parity")), tmp_path / "m", name="parity")
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "m")])
    assert shown.exit_code == 0, shown.output
    assert "Parity, compiled" in shown.output
    assert "0..1" in shown.output
    heads = shown.output.partition("Heads")[2].split()
    assert heads[heads.index("parity_left") - 1] == "0"
    assert heads[heads.index("done_left") - 1] == "1"
    assert weft.load(tmp_path / "m").layout.heads[:2] == (("parity_left",), ("done_left",))
    described = json.loads(CliRunner().invoke(app, ["show", str(tmp_path / "m"), "--json"]).output)
    assert described["kind"] == "compiled"
    assert described["vocabulary"] == [0, 1, "s"]


def test_models_that_are_loaded_under_inference_mode_run_and_train(tmp_path: Path) -> None:
    compiled = weft.compile(weft.program("parity"))
    weft.save(compiled, tmp_path / "parity", name="parity")
    with torch.inference_mode():
        model = weft.load(tmp_path / "parity")
        again = weft.compile(weft.program("parity")).model
        assert model.answer("101") == "0"
        assert again(torch.tensor([[2, 1, 0]])).logits.isfinite().all()
    assert model.answer("1011") == "1"
    model.requires_grad_(True)
    model(torch.tensor([[2, 1, 0]])).logits.sum().backward()
    assert model.embedding.grad is not None
