"""Reference figures: what a paper reports for a task and a program, to stand beside our results.

They are data. The studies that they belong to define them (`weft.studies.alta`), and a verdict
takes those that match its task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.tasks import Task


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Accuracies that a paper reports.

    Attributes:
        source: the paper, and the table or figure in it.
        task: the task with the parameters of the paper.
        stage: the stage of a verdict that it reports, such as `from traces`.
        program: the program, without parameters.
        accuracy: by split, between 0 and 1.
    """

    source: str
    task: Task
    stage: str
    program: str
    accuracy: Mapping[str, float]

    def matches(self, task: Task, stage: str, program: str) -> bool:
        """Whether it is about this task, stage and program."""
        name = program.partition("(")[0].strip()
        return (self.task, self.stage, self.program) == (task, stage, name)
