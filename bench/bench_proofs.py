"""How long it takes to prove library programs from their weights, for inputs of every length."""

from __future__ import annotations

import weft
from measure import Figure
from weft.compiler.proof import prove

PROGRAMS = {
    "parity": "parity",
    "addition": "addition",
    "SUBLEQ with 16 values": "subleq(positions=8, low=-8, high=7)",
    "sort": "sort",
    "sort of unique items": "sort-unique",
    "Dyck": "dyck",
    "Rule 110": "rule-110",
    "a regular expression": 'regex(pattern="(ab|ba)*c?")',
}


def figures() -> list[Figure]:
    found = []
    for shown, name in PROGRAMS.items():
        compiled = weft.compile(weft.program(name))
        proof = prove(compiled.model, compiled.program, compiled.certificate)
        assert proof.proved, proof
        found.append(Figure(f"{shown}: proved in", proof.seconds, "s", most=60))
    return found
