"""Tasks: what models learn, with samplers, splits and exact scores; one module per family.

A `Task` draws batches on the fly, reproducibly from seed and step, and keeps test sets apart from
them. Every example carries its axes, such as its length, so accuracy along an axis is a group-by.
"""

from weft.tasks.batch import Batch, pack
from weft.tasks.registry import TASKS, named, solved_by, task, task_class
from weft.tasks.scoring import by_axis, group_by, score
from weft.tasks.task import Split, Task

__all__ = [
    "TASKS",
    "Batch",
    "Split",
    "Task",
    "by_axis",
    "group_by",
    "named",
    "pack",
    "score",
    "solved_by",
    "task",
    "task_class",
]
