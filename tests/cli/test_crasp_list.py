"""`weft crasp list`: every library program, within 80 columns."""

from __future__ import annotations

import json

import pytest

from command_line import weft
from weft.crasp import library


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = weft("crasp", "list").splitlines()
    assert lines[0].split()[:4] == ["program", "symbols", "needs", "depth"]
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[1:] if line[0] != " "] == library.names()
    (row,) = (line for line in lines if line.startswith("tomita-4 "))
    assert row.split()[1:4] == ["01", "local", "1"]


def test_json() -> None:
    entries = {entry["name"]: entry for entry in json.loads(weft("crasp", "list", "--json"))}
    assert list(entries) == library.names()
    assert entries["bounded-dyck"] == {
        "name": "bounded-dyck",
        "parameters": {"depth": 2},
        "language": "D_n = (a D_n-1 b)*, of depth at most n",
        "idea": "Dyck-1 in which no prefix may be deeper than the bound either.",
        "example": "aababb",
        "alphabet": ["a", "b"],
        "needs": "none",
        "depth": 2,
    }
    assert entries["interleaved-majority"]["needs"] == "both"
