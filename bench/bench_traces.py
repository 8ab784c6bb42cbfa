"""Traces: how fast they are extracted, and how fast a feed-forward learns from them on a CPU.

Side by side in the same run: states by the batched interpreter with packed rows, against the
reference interpreter position by position.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import torch

import weft
from measure import Figure, seconds
from weft.tasks import task
from weft.training import collect, override, trace_config
from weft.training.program_task import ProgramTask
from weft.training.supervision import learner_of, task_of

INPUTS, FEW, STEPS = 10_000, 20, 200


def figures() -> list[Figure]:
    program = weft.program("parity")
    made = ProgramTask(inner=task("parity"), program=program)
    inputs = list(made.inputs(0, INPUTS))
    quick = seconds(lambda: collect(program, inputs)) / INPUTS
    slow = seconds(lambda: _by_reference(program, inputs[:FEW])) / FEW
    return [
        Figure(f"traces of {INPUTS:,} parity inputs in", quick * INPUTS, "s", most=2.0),
        Figure("traces: quicker than the reference interpreter", slow / quick, "x", least=20.0),
        Figure("traces: steps of relative parity, 2 x 128, one core", _rate(), "a second"),
    ]


def _by_reference(program: weft.Program, inputs: list[Any]) -> Counter[Any]:
    """The same states, one by one."""
    found: Counter[Any] = Counter()
    for tokens in inputs:
        trace = weft.run(program, tokens, trace=True).trace
        assert trace is not None
        for layer in trace.layers:
            for place in range(layer.attended.positions):
                found[str(layer.attended.at(place)), str(layer.after.at(place))] += 1
    return found


def _rate() -> float:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    config = override(trace_config("parity", "parity"), ["supervision.examples=2000"])
    made = task_of(config)
    learner = learner_of(config, made, torch.device("cpu"))
    feed = learner.feed(made, 1)

    def some() -> None:
        for step, batch in enumerate(islice(feed, STEPS), 1):
            learner.learn(batch, step)

    taken = seconds(some)
    torch.set_num_threads(threads)
    return STEPS / taken
