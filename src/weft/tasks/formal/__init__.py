"""Formal languages as tasks: legal next symbols, or membership, at every prefix."""

from weft.tasks.formal.formal_language import FormalLanguage
from weft.tasks.formal.machines import COUNTERS, Machine, machine
from weft.tasks.formal.sampling import WordSampler

__all__ = ["COUNTERS", "FormalLanguage", "Machine", "WordSampler", "machine"]
