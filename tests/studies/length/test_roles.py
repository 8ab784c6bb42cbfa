"""Heads matched to what programs need."""

from __future__ import annotations

import pytest

from weft.crasp import library
from weft.crasp.construction import compile_crasp
from weft.studies.length.records import HeadRole
from weft.studies.length.roles import Needs, head_roles, missing, needs_of


def head(distance: int | None = None, period: int = 1, spread: float = 1.0) -> HeadRole:
    return HeadRole(
        layer=1, head=1, description="", spread=spread, distance=distance, period=period, misfit=0.1
    )


def test_heads_of_a_compiled_program_are_what_the_program_needs() -> None:
    """Tomita-4 is compiled to heads that look back 1 and 2 positions, and one that is uniform."""
    model = compile_crasp(library.load("tomita-4"), max_length=40, form="absolute").model
    roles = head_roles(model)
    asked = {"language": "tomita-4", "target": "membership"}
    needs = needs_of({"task": "formal-language", "parameters": asked})
    assert needs == Needs(distances=(1, 2))
    assert missing(roles, needs) == []
    assert missing(roles, Needs(distances=(3,), uniform=True)) == ["no head attends to j = i - 3"]
    assert {role.distance for role in roles} >= {1, 2}


@pytest.mark.parametrize(
    ("heads", "needs", "said"),
    [
        ([head(1)], Needs(distances=(1, 2)), ["no head attends to j = i - 2"]),
        ([head(period=4)], Needs(period=2), []),  # residues modulo 4 give those modulo 2
        ([head(period=3)], Needs(period=2), ["no head tells positions modulo 2 apart"]),
        ([head(spread=0.01)], Needs(uniform=True), []),
        ([head(1)], Needs(uniform=True), ["no head is uniform over positions"]),
        ([], Needs(distances=(1,)), ["no head attends to j = i - 1"]),
    ],
)
def test_what_no_head_does_is_named(heads: list[HeadRole], needs: Needs, said: list[str]) -> None:
    assert missing(heads, needs) == said


@pytest.mark.parametrize(
    ("language", "target", "said"),
    [
        ("tomita-4", "next", "a head at j = i - 1"),  # the current symbol and the one before it
        ("aa-star", "next", "positions modulo 2"),
        ("abab", "membership", "positions modulo 4"),
        ("tomita-2", "next", "a uniform head"),
        ("ab-or-aabb", "membership", "a head at j = i - 1"),
        ("ab-or-aabb", "next", "a uniform head"),
        ("dyck-1", "next", "a uniform head"),
    ],
)
def test_what_a_language_needs(language: str, target: str, said: str) -> None:
    asked = {"language": language, "target": target}
    assert str(needs_of({"task": "formal-language", "parameters": asked})) == said


def test_what_an_algorithmic_task_needs() -> None:
    assert (
        str(needs_of({"task": "unique-copy", "parameters": {"stride": 3}})) == "a head at j = i - 3"
    )
    assert str(needs_of({"task": "unique-copy", "parameters": {}})) == "a head at j = i - 1"
    assert str(needs_of({"task": "interleaved-majority", "parameters": {}})) == "positions modulo 3"
    assert needs_of({"task": "bit-parity", "parameters": {}}) is None
    outside = {"language": "parity", "target": "membership"}
    assert needs_of({"task": "formal-language", "parameters": outside}) is None
