"""How long it takes to prove compiled C-RASP programs, at length 1,000 in float32."""

from __future__ import annotations

from measure import Figure
from weft.crasp import library
from weft.crasp.construction import compile_crasp
from weft.crasp.proof import CraspProof, prove

LENGTH = 1000
NAMED = ("dyck-1", "majority", "anbncn", "tomita-4", "even-length", "unique-copy")


def figures() -> list[Figure]:
    found = [
        Figure(f"{name}: proved to length {LENGTH:,} in", _proved(name).seconds, "s", most=10)
        for name in NAMED
    ]
    seconds = {name: _proved(name).seconds for name in library.names()}
    slowest = max(seconds, key=lambda name: seconds[name])
    what = f"{len(seconds)} programs of the library, to length {LENGTH:,}"
    found.append(Figure(f"{what}: slowest ({slowest})", seconds[slowest], "s", most=10))
    found.append(Figure(f"{what}: all of them", sum(seconds.values()), "s"))
    absolute = _proved("contains-ab", form="absolute").seconds
    found.append(Figure("a model with 1,001 one-hot positions: proved in", absolute, "s", most=10))
    return found


def _proved(name: str, **options: str) -> CraspProof:
    compiled = compile_crasp(library.load(name), max_length=LENGTH, **options)  # type: ignore[arg-type]
    proof = prove(compiled.model, compiled.program, search=False)
    assert proof.proved, proof
    return proof
