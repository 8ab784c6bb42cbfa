"""How long it takes to prove library programs from their weights and config."""

from __future__ import annotations

import weft
from measure import Figure
from weft.compiler.proof import Proof, prove
from weft.programs.library import LIBRARY

SHORT = (4, 12)


def figures() -> list[Figure]:
    found = [_slowest("its default length", dict.fromkeys(LIBRARY))]
    for length in SHORT:
        chosen = {name: length for name in LIBRARY if _can_be_short(name, length)}
        found.append(_slowest(f"up to {length} tokens", chosen))
    machine = _proved("subleq(positions=8, low=-8, high=7)")
    found.append(Figure("SUBLEQ with 16 values: proved in", machine.seconds, "s", most=60))
    whole = _proved("addition", level=0)
    found.append(Figure("addition at level 0: proved in", whole.seconds, "s", most=60))
    return found


def _can_be_short(name: str, length: int) -> bool:
    declared = weft.program(name).definition.positions
    return declared is None or length <= declared


def _slowest(what: str, lengths: dict[str, int | None]) -> Figure:
    seconds = {name: _proved(name, length).seconds for name, length in lengths.items()}
    name = max(seconds, key=lambda one: seconds[one])
    return Figure(f"{len(seconds)} programs, {what}: slowest ({name})", seconds[name], "s", most=2)


def _proved(name: str, length: int | None = None, level: int = 2) -> Proof:
    compiled = weft.compile(weft.program(name), max_length=length, level=level)
    proof = prove(compiled.model, compiled.program, compiled.certificate)
    assert proof.proved, proof
    return proof
