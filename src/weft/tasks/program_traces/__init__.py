"""Program traces: given a program and its inputs, write the execution trace.

splits     the splits in two tiers, and which symbols they need
drawing    the examples of a split, each from its own random seed
task       the task: batches, test sets, tokens and text
"""

from weft.tasks.program_traces.splits import TIERS, Plan, Tier
from weft.tasks.program_traces.task import ProgramTraces

__all__ = ["TIERS", "Plan", "ProgramTraces", "Tier"]
