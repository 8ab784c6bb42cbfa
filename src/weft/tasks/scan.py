"""SCAN: commands to actions (Lake and Baroni, 2018), with every published split.

The splits by length and by a new primitive are derived from the grammar. The simple split and MCD 1
to 3 (Keysers et al., 2020) are random; they are read from the published files in `folder`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from weft.programs.scan import splits as scan_splits
from weft.programs.scan.grammar import ACTIONS, WORDS, meaning
from weft.tasks.arrays import Bools, Ints, taken
from weft.tasks.formats import Format, Pairs
from weft.tasks.hashing import Hashes, hashed, in_bucket
from weft.tasks.task import TRAIN, Split, Task, check_ascending

FIRST = 4  # the token of the first word; actions come after the words
LONGEST = 48  # the maximum number of actions of a command

DESCRIPTIONS = {
    "length": ("commands of at most {} actions", "commands of more than {} actions"),
    "jump": ("commands without `jump`, and `jump` alone", "all other commands with `jump`"),
    "turn-left": ("commands without `turn left`, and it alone", "all others with `turn left`"),
    "simple": ("four of five commands, at random", "the other commands"),
    **{
        f"mcd{number}": (
            f"half of all commands, chosen for MCD {number}",
            "the same words in maximally different combinations",
        )
        for number in (1, 2, 3)
    },
}


@dataclass(frozen=True, kw_only=True)
class Scan(Task):
    """The actions that a command of SCAN asks for: `jump twice` is `I_JUMP I_JUMP`.

    The test set of `test` is the published one. The test set of `train` and the validation set are
    training commands that are held out: `held_out` is their share. If it is 0, all are trained on
    and `train` has neither set. The axes are `length`, the number of actions, and `words`.

    Attributes:
        split: which of the published splits.
        folder: the folder with the files of `simple` and `mcd1` to `mcd3`, gzipped or not.
        longest: the maximum number of actions of a training command in the length split.
    """

    name: ClassVar[str] = "scan"
    formats: ClassVar[tuple[Format, ...]] = ("seq2seq", "lm")
    programs: ClassVar[tuple[str, ...]] = ("scan",)
    published: ClassVar[bool] = True
    format: Format = "seq2seq"
    held_out: float = 0.02
    split: Literal["length", "jump", "turn-left", "simple", "mcd1", "mcd2", "mcd3"] = "length"
    folder: str = ""
    longest: int = 22

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self, ("longest", 1))
        if self.longest >= LONGEST:
            raise self.error(f"longest is {self.longest}", f"Give less than {LONGEST}, the maximum")
        if not self.folder and self.split not in ("length", "jump", "turn-left"):
            raise self.error(
                f"the split '{self.split}' is read from files",
                "Give folder, which has tasks_train_simple.txt and tasks_test_simple.txt, or "
                "mcd1.json and tasks.txt, or tasks_train_mcd1.txt and tasks_test_mcd1.txt",
            )

    @property
    def symbols(self) -> tuple[str, ...]:
        return (*WORDS, *ACTIONS)

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        train, test = (text.format(self.longest) for text in DESCRIPTIONS[self.split])
        texts = {TRAIN: train, "test": test, "dev": "commands to choose hyperparameters by"}
        return {
            name: Split(
                description=texts[name],
                axes={axis: (int(all.min()), int(all.max())) for axis, all in pairs.axes.items()},
            )
            for name, pairs in self._pairs.items()
        }

    @property
    def tested(self) -> tuple[str, ...]:
        return tuple(name for name in self.splits if name != TRAIN or self.held_out)

    @cached_property
    def commands(self) -> scan_splits.ScanSplit:
        """The commands of the split, with the repetitions that the published training set has."""
        if self.split == "length":
            return scan_splits.length_split(self.longest)
        if self.split in ("jump", "turn-left"):
            return scan_splits.primitive_split(self.split.replace("-", " "))
        return read(Path(self.folder), self.split)

    @cached_property
    def _pairs(self) -> Mapping[str, Pairs]:
        """All examples of each split."""
        parts = {TRAIN: self.commands.train, "test": self.commands.test, "dev": self.commands.dev}
        return {name: self._written(commands) for name, commands in parts.items() if commands}

    def _written(self, commands: Sequence[str]) -> Pairs:
        words, words_lengths = self._rows([command.split() for command in commands])
        actions, lengths = self._rows([meaning(command) for command in commands])
        return Pairs(
            question=words,
            question_lengths=words_lengths,
            answer=actions,
            answer_lengths=lengths,
            axes={"length": lengths, "words": words_lengths},
        )

    def _rows(self, names: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
        """Token numbers for names, padded (b l), and their lengths."""
        numbers = {symbol: FIRST + place for place, symbol in enumerate(self.symbols)}
        rows = np.zeros((len(names), max(map(len, names))), dtype=np.int64)
        for row, each in zip(rows, names, strict=True):
            row[: len(each)] = [numbers[name] for name in each]
        return rows, np.array([len(each) for each in names], dtype=np.int64)

    @cached_property
    def _trained(self) -> Hashes:
        """The sorted hashes of training questions. Repeated commands are never held out."""
        hashes = hashed(self._pairs[TRAIN].question)
        count = Counter(self.commands.train)
        repeated = np.array([count[command] > 1 for command in self.commands.train])
        return np.unique(hashes[repeated | ~in_bucket(hashes, self.held_out)])

    @cached_property
    def _known(self) -> Hashes:
        """The sorted hashes of all commands of the training split, held out or not."""
        return np.unique(hashed(self._pairs[TRAIN].question))

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        pairs = self._pairs[split]
        return taken(pairs, rng.integers(0, len(pairs.question), size))

    def is_held_out(self, pairs: Pairs) -> Bools:
        return ~_among(hashed(pairs.question), self._trained)

    def is_in_distribution(self, pairs: Pairs) -> Bools:
        return _among(hashed(pairs.question), self._known)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return meaning(" ".join(tokens))


def _among(hashes: Hashes, known: Hashes) -> Bools:
    """Which hashes (b) are among some sorted ones."""
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.asarray(known[places] == hashes)


def read(folder: Path, split: str) -> scan_splits.ScanSplit:
    """A split from the published files in a folder, or in its folder `simple_split`."""
    inner = folder / "simple_split"
    if split == "simple" and inner.is_dir():
        folder = inner
    train, test, dev = (folder / f"tasks_{part}_{split}.txt" for part in ("train", "test", "dev"))
    if split != "simple" and not _there(train):
        return scan_splits.mcd_split(folder / f"{split}.json", folder / "tasks.txt")
    result = scan_splits.read_split(train, test)
    developed = scan_splits.read_examples(dev) if _there(dev) else []
    return scan_splits.ScanSplit(
        result.train, result.test, tuple(command for command, _ in developed)
    )


def _there(path: Path) -> bool:
    return path.is_file() or Path(f"{path}.gz").is_file()
