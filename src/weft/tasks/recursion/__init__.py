"""Structural recursion: functions on inductive types, evaluated whole or step by step.

settings       the parameters that determine the examples, and what a source of them is
binary         binary numbers and the reduction of their successor, for whole batches
successor      examples of the binary successor, with all its edge cases
terms          examples of any other definition of the calculus
recursion      the task
"""

from weft.tasks.recursion.recursion import Recursion

__all__ = ["Recursion"]
