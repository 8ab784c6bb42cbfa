"""The algorithmic tasks of Huang et al. (2025), on which length generalisation is measured."""

from weft.tasks.algorithmic.addition import BinaryAddition
from weft.tasks.algorithmic.counting import (
    BinaryMajority,
    BitParity,
    InterleavedMajority,
    LetterMajority,
)
from weft.tasks.algorithmic.protocol import LengthTask
from weft.tasks.algorithmic.rewriting import RepeatCopy, Sorting, UniqueCopy

__all__ = [
    "BinaryAddition",
    "BinaryMajority",
    "BitParity",
    "InterleavedMajority",
    "LengthTask",
    "LetterMajority",
    "RepeatCopy",
    "Sorting",
    "UniqueCopy",
]
