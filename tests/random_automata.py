"""Random automata, from a seed."""

import random

from weft.automata import DFA


def random_dfa(rng: random.Random, states: tuple[int, int] = (2, 5), letters: str = "abc") -> DFA:
    size = rng.randint(*states)
    alphabet = tuple(letters[: rng.randint(2, len(letters))])
    rows = tuple(tuple(rng.randrange(size) for _ in alphabet) for _ in range(size))
    return DFA(alphabet, rows, 0, frozenset(q for q in range(size) if rng.random() < 0.5))


def random_dfas(seed: int, count: int, **options: object) -> list[DFA]:
    rng = random.Random(seed)
    return [random_dfa(rng, **options) for _ in range(count)]  # type: ignore[arg-type]
