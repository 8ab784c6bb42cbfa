"""Large checkpoints in small files: what is read is what was written, whatever the sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from training_runs import folder_of, small

from weft.errors import WeftError
from weft.training import checkpoint, train
from weft.training import shards as module
from weft.training.shards import MAX_BYTES, SUFFIX, load_shards, save_shards, shard_files

shapes = st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=6)
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool)


@given(sizes=shapes, most=st.integers(1, 3000), dtype=st.integers(0, 4))
@settings(max_examples=60)
def test_what_is_read_is_what_was_written(
    sizes: list[list[int]], most: int, dtype: int, tmp_path_factory: Any
) -> None:
    """In files that hold at most so many bytes, or a single row of a tensor."""
    folder = tmp_path_factory.mktemp("shards")
    drawn = {f"layers.{n}.weight": torch.randn(size) for n, size in enumerate(sizes)}
    tensors = {name: value.to(DTYPES[dtype]) for name, value in drawn.items()}
    paths = save_shards(tensors, folder, "model", most)
    save_shards({"other": torch.ones(2)}, folder, "model-average")
    assert shard_files(folder, "model") == paths
    found = load_shards(folder, "Train again")
    assert set(found) == {"model", "model-average"}
    assert set(found["model"]) == set(tensors)
    for name, tensor in tensors.items():
        assert found["model"][name].dtype == tensor.dtype
        assert found["model"][name].shape == tensor.shape
        assert torch.equal(found["model"][name], tensor)
    rows = [value[:1].nbytes for value in tensors.values() if value.dim()]
    least = max([8, *rows])  # a row, or a number without axes, is never cut
    for path in paths:
        header = int.from_bytes(path.read_bytes()[:8], "little") + 8
        assert path.stat().st_size - header <= max(most, least)


def test_a_missing_file_is_named_and_nothing_is_loaded(tmp_path: Path) -> None:
    paths = save_shards({"a": torch.ones(100), "b": torch.ones(100)}, tmp_path, "model", 400)
    assert [path.name for path in paths] == [f"model-0000{n}-of-00002{SUFFIX}" for n in (1, 2)]
    paths[0].unlink()
    with pytest.raises(WeftError, match="has 1 of the 2 files of 'model'"):
        load_shards(tmp_path, "Copy all files")
    paths[1].write_bytes(b"damaged")
    with pytest.raises(WeftError, match=paths[1].name):
        load_shards(tmp_path, "Copy all files")


def test_small_checkpoints_are_one_file_and_large_ones_stay_below_16_mib(tmp_path: Path) -> None:
    (path,) = save_shards({"a": torch.zeros(1000, 1000)}, tmp_path, "optimiser")
    assert path.name == f"optimiser{SUFFIX}"
    paths = save_shards({"a": torch.zeros(5000, 1000), "b": torch.zeros(3)}, tmp_path, "model")
    assert len(paths) == 2
    assert all(path.stat().st_size <= 16 * 2**20 for path in paths)
    assert MAX_BYTES < 16 * 2**20


def test_runs_resume_from_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And finished ones keep the weights alone."""
    config = small("steps=4", "evaluation.size=8")
    whole = train(config, runs=tmp_path / "whole", device="cpu")
    write = module.save_shards
    monkeypatch.setattr(checkpoint, "save_shards", lambda *given: write(*given, 5000))
    result = train(config, runs=tmp_path / "cut", device="cpu")
    folder = folder_of(tmp_path / "cut", config)
    (kept,) = checkpoint.checkpoints(folder)
    assert len(shard_files(kept, "model")) > 1
    assert not shard_files(kept, "optimiser")
    assert result.accuracy == whole.accuracy
    _, tensors = checkpoint.load(folder) or (None, {})
    _, expected = checkpoint.load(folder_of(tmp_path / "whole", config)) or (None, {})
    assert {name: value.tolist() for name, value in tensors["model"].items()} == {
        name: value.tolist() for name, value in expected["model"].items()
    }
