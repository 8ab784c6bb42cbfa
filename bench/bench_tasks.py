"""How many examples a second each task makes, on one core, laid out as a model takes them."""

from __future__ import annotations

from measure import Figure, seconds
from weft.tasks import TASKS, Task, task

SIZE = 1024  # examples of a batch
STEPS = 20


def figures() -> list[Figure]:
    return [
        *(Figure(f"{name}: examples", _rate(task(name)), "a second") for name in TASKS),
        *(
            Figure(f"addition of {digits} digits: examples", _rate(_sums(digits)), "a second")
            for digits in (20, 40)
        ),
        Figure("parity: 1,000 tests of each split in", 1000 * _testing(task("parity")), "ms"),
    ]


def _rate(made: Task) -> float:
    made.batch("train", 0, 0, SIZE)  # what is made once
    return STEPS * SIZE / seconds(lambda: [made.batch("train", 0, n, SIZE) for n in range(STEPS)])


def _sums(digits: int) -> Task:
    return task("addition", digits=digits, longer=2 * digits)


def _testing(made: Task) -> float:
    return seconds(lambda: [made.test_set(split, 1000) for split in made.tested])
