"""Model folders whose parts do not fit are refused before anything is allocated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import weft
from weft.errors import WeftError
from weft.models import files
from weft.models.catalogue import check_memory
from weft.models.files import record_verified
from weft.models.presets import preset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    weft.save(weft.compile(weft.program("parity")), tmp_path / "model", name="parity")
    return tmp_path / "model"


def change(folder: Path, part: str, **values: Any) -> None:
    path = folder / "config.json"
    description = json.loads(path.read_text())
    (description[part] if part else description).update(values)
    path.write_text(json.dumps(description))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"width": 10**15}, "width is 1e+15. "),
        ({"width": 10_000_000}, "does not fit its config: embedding is (3, 8)"),
        ({"hidden": [10**14]}, "hidden is"),
        ({"hidden": [1000] * 500}, "tensors for 1 layers"),
        ({"layers": 4000, "halt": None}, "tensors for 4,000 layers"),
        ({"heads": 10**9}, "heads"),
        ({"offsets": 200_000_000}, "does not fit its config"),
        ({"width": "8"}, "'width' is \"8\", not a whole number"),
        ({"hidden": 3}, "'hidden' is 3, not a list of whole numbers"),
        ({"kind": "bogus"}, "'kind' is \"bogus\", not one of encoder"),
        ({"vocabulary": 4}, "3 tokens are listed, and 4 embedded"),
    ],
)
def test_absurd_configs_are_refused_before_they_are_allocated(
    folder: Path, values: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(folder, "config", **values)

    def made(*given: Any) -> None:
        raise AssertionError("memory was allocated")

    monkeypatch.setattr(files, "load_file", made)
    with pytest.raises(WeftError) as error:
        weft.load(folder)
    assert said in error.value.line
    assert str(folder) in error.value.line


@pytest.mark.parametrize(
    ("part", "values", "said"),
    [
        ("", {"layout": 3}, "'layout' is 3"),
        ("", {"program": []}, "'program' is []"),
        ("program", {"found_as": 3}, "'found_as' is 3, not text"),
        ("program", {"level": "2"}, "'level' is \"2\""),
        ("", {"vocabulary": [{}, 1, 2]}, "'vocabulary'"),
        ("", {"kind": "stolen"}, "'kind' is \"stolen\", not one of compiled"),
        ("", {"heads": [["a"]]}, "1 heads are named, and the model has 4"),
        ("", {"text": None}, "'text' is null, not an object"),
        ("", {"rounds": True, "layout": None, "heads": []}, "has no layout"),
        ("text", {"mode": "sing"}, "'mode' is \"sing\", not one of every"),
        ("text", {"before": [3]}, "tokens beyond the 3 of the model"),
        ("text", {"end": 2}, "classes beyond the 2 of the model"),
        ("text", {"longest": -1}, "'longest' is -1"),
        ("text", {"longest_answer": 10**12}, "'longest_answer' is"),
        ("config", {"max_length": -1}, "max_length is -1"),
        ("config", {"max_length": 10**12}, "max_length is"),
        ("", {"format": 99}, "not a model of this version"),
    ],
)
def test_descriptions_with_wrong_types_name_the_key(
    folder: Path, part: str, values: dict[str, Any], said: str
) -> None:
    change(folder, part, **values)
    with pytest.raises(WeftError) as error:
        weft.load(folder)
    assert said in error.value.line


def test_a_layout_beyond_the_stream_is_refused(folder: Path) -> None:
    description = json.loads((folder / "config.json").read_text())
    description["layout"][0]["start"] = 7
    (folder / "config.json").write_text(json.dumps(description))
    with pytest.raises(WeftError, match="dimensions 7 to 8 of a stream of 8"):
        weft.load(folder)


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_weights_that_are_cut_off_are_named(folder: Path, keep: int) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(WeftError, match=r"model\.safetensors cannot be read"):
        weft.load(folder)


def test_a_model_without_its_card_can_be_verified(folder: Path) -> None:
    (folder / "card.md").unlink()
    record_verified(folder, "proved")
    assert "## Verified\n\nproved" in (folder / "card.md").read_text()


def test_a_run_folder_is_not_overwritten_by_a_model(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")
    with pytest.raises(WeftError, match="is not empty and holds no model"):
        weft.save(weft.compile(weft.program("parity")), tmp_path / "run")
    assert (tmp_path / "run" / "config.json").read_text() == "{}"


def test_models_larger_than_the_memory_are_refused() -> None:
    check_memory(preset("nano"), torch.device("cpu"))
    with pytest.raises(WeftError, match="parameters: training it takes"):
        check_memory(preset("nano", width=2_000_000, key_width=8), torch.device("cpu"))
