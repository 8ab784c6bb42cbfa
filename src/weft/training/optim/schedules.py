"""Learning rates: a linear warm-up, then down.

cosine        floor + (1 - floor) (1 + cos(pi p)) / 2, where p goes from 0 to 1
linear        floor + (1 - floor) (1 - p)
exponential   floor^p
inverse-sqrt  sqrt(warm_up / step)
constant      1
"""

from __future__ import annotations

import math

from weft.training.config import ScheduleConfig


def share(schedule: ScheduleConfig, step: int, steps: int) -> float:
    """Which share of the highest learning rate a step has; steps count from 1."""
    if step <= schedule.warm_up:
        return step / schedule.warm_up
    if schedule.name == "constant":
        return 1.0
    if schedule.name == "inverse-sqrt":
        return math.sqrt(max(1, schedule.warm_up) / step)
    passed = (step - schedule.warm_up) / max(1, steps - schedule.warm_up)
    if schedule.name == "exponential":
        return float(schedule.floor**passed)
    down = (1 + math.cos(math.pi * passed)) / 2 if schedule.name == "cosine" else 1 - passed
    return schedule.floor + (1 - schedule.floor) * down
