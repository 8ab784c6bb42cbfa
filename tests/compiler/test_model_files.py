"""Models on disk: written whole, read without the program, and never trusted."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import torch

import weft


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    weft.save(weft.compile(weft.program("parity")), tmp_path / "model", name="parity")
    return tmp_path / "model"


def test_a_model_comes_back_as_it_was(folder: Path) -> None:
    model = weft.load(folder)
    original = weft.compile(weft.program("parity")).model
    for name, tensor in original.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor), name
    assert model.config == original.config
    assert model.layout["done"] == original.layout["done"]
    assert model(torch.tensor([[2, 1, 0, 1]])).logits.argmax(-1).tolist() == [[0, 1, 1, 0]]


def test_variables_can_be_read_from_the_stream(folder: Path) -> None:
    model = weft.load(folder)
    stream = model(torch.tensor([[2, 1, 0, 1]])).stream
    assert model.read(stream)["parity"] == [[0, 1, 1, 0]]


def test_writing_again_replaces_the_model_and_leaves_nothing_behind(folder: Path) -> None:
    weft.save(weft.compile(weft.program("parity"), level=0), folder)
    assert sum(weft.load(folder).config.hidden) == 7
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_folder_with_other_things_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(weft.WeftError, match="not empty"):
        weft.save(weft.compile(weft.program("parity")), tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_truncated_weights_are_refused(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(weft.WeftError, match="cannot be read"):
        weft.load(folder)


def test_a_pickle_is_never_executed(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(pickle.dumps({"embedding": 1}))
    with pytest.raises(weft.WeftError, match="cannot be read"):
        weft.load(folder)


def test_weights_that_do_not_fit_the_config_are_refused(folder: Path) -> None:
    description = json.loads((folder / "config.json").read_text())
    description["config"]["hidden"] = [5]
    (folder / "config.json").write_text(json.dumps(description))
    with pytest.raises(weft.WeftError, match="does not fit its config"):
        weft.load(folder)


@pytest.mark.parametrize(
    ("text", "part"),
    [("{", "is not JSON"), ("[]", "not a model"), ('{"format": 99}', "not a model")],
)
def test_a_foreign_config_is_refused(folder: Path, text: str, part: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(weft.WeftError, match=part):
        weft.load(folder)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(weft.WeftError, match="no folder"):
        weft.load(tmp_path / "nowhere")
