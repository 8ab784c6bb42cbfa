"""Paths that a user names: refused before work begins, with the reason, and nothing created."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.files import is_file, is_folder, output_file, output_folder, read_json
from weft.interpreter.inputs import read_input_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("file", "is a file, not a folder"),
        ("file/x", "file is not a folder"),
        ("file/x/y", "file is not a folder"),
        ("loop", "is a file, not a folder"),
        ("loop/x", "loop is not a folder"),
        ("full", "is not empty and holds no model"),
        ("n" * 300, "file name too long"),
        ("/proc/none/x", "no such file or directory"),
    ],
)
def test_output_folders_are_refused_by_name(folder: Path, name: str, said: str) -> None:
    before = sorted(os.walk(folder))
    with pytest.raises(WeftError) as error:
        output_folder(folder / name, holds="model", marker="model.safetensors", option="-o")
    assert said in error.value.line
    assert f"-o {folder / name}" in error.value.line
    assert sorted(os.walk(folder)) == before


@pytest.mark.parametrize("name", ["new", "new/deeper/still", "."])
def test_output_folders_are_not_created_by_the_check(folder: Path, name: str) -> None:
    before = sorted(os.walk(folder))
    assert output_folder(folder / name) == folder / name
    assert sorted(os.walk(folder)) == before


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("full", "is a folder, not a file"),
        ("none/x.svg", "there is no folder"),
        ("file/x.svg", "there is no folder"),
        ("n" * 300, "file name too long"),
    ],
)
def test_output_files_are_refused_by_name(folder: Path, name: str, said: str) -> None:
    with pytest.raises(WeftError, match=said):
        output_file(folder / name, option="--svg")
    assert output_file(folder / "new.svg") == folder / "new.svg"
    assert not (folder / "new.svg").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "line 1, column 1"),
        (b'{"a": 1,\n "b" 2}', "line 2, column 6"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"[" * 100_000, "is not JSON that can be read"),
        (b"1" * 10_000, "is not JSON that can be read"),
    ],
)
def test_json_that_cannot_be_read_says_where(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(data)
    with pytest.raises(WeftError) as error:
        read_json(path)
    assert said in error.value.line
    assert str(path) in error.value.line
    assert "Errno" not in error.value.line


def test_reading_a_folder_or_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="cannot be read: is a directory"):
        read_json(tmp_path)
    with pytest.raises(WeftError, match="cannot be read: no such file"):
        read_input_file(tmp_path / "none")
    (tmp_path / "blank").write_text("\n  \n")
    with pytest.raises(WeftError, match="has no inputs"):
        read_input_file(tmp_path / "blank")


def test_names_that_no_file_can_have_are_no_files() -> None:
    for name in ("n" * 5000, "a\0b", ""):
        assert not is_file(name)
        assert not is_folder(name)
