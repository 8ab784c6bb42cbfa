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


def sparse_dfa(rng: random.Random, states: tuple[int, int] = (3, 7), letters: str = "ab") -> DFA:
    """An automaton with many transitions to a sink, as those of regular expressions have."""
    sink = rng.randint(*states)
    rows = tuple(
        tuple(sink if rng.random() < 0.45 else rng.randrange(sink) for _ in letters)
        for _ in range(sink)
    )
    accepting = frozenset(q for q in range(sink) if rng.random() < 0.5)
    return DFA(tuple(letters), (*rows, (sink,) * len(letters)), 0, accepting)
