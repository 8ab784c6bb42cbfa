"""Length generalisation of tasks that are not regular languages.

    programs    C-RASP programs of the tasks, beyond those of the library
    questions   what a task asks, and all of its inputs of a length
    comparison  a program compared with a task
    arguments   why a task has no program: by automata, by communication, by the number of symbols
    answers     the answers for a task; `distinct` has those on distinct symbols, `pairs` the parts

docs/length-theory.md states and proves what the arguments use.
"""

from weft.theory.length.transductions.answers import predict_task, task_readings

__all__ = ["predict_task", "task_readings"]
