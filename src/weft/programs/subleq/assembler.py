"""An assembler for SUBLEQ: labels, data and a few idioms.

A line has an instruction or numbers, with an optional label before and a comment after them:

    again:  add step, total     # total = total + step
            loop count, again   # count = count - 1; back to again while it is above 0
            halt
    step:   3
    count:  4
    total:  0

Operands are labels or numbers, also as in `again+1`; `data again` is a cell with an address in it.
The only machine instruction is `subleq a, b, c`: b = b - a, then go to c if b <= 0; without c, to
the next instruction. All others are written in terms of it, in `IDIOMS`. The cells `zero`, `one`
and `counter`, which these use, are added if a program does not define them; `zero` holds 0 between
idioms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.errors import Location, WeftError, did_you_mean

IDIOMS = {
    "sub a, b": "subleq a, b",  # b = b - a
    "clear b": "subleq b, b",  # b = 0
    "add a, b": "sub a, zero; sub zero, b; clear zero",  # b = b + a
    "move a, b": "clear b; add a, b",  # b = a
    "jump c": "subleq zero, zero, c",
    "branch b, c": "subleq zero, b, c",  # to c if b <= 0
    "loop b, c": "subleq one, b, done; jump c; done:",  # b = b - 1, to c if b > 0
    "multiply a, b, p": (  # p = a * b, for b >= 0
        "clear p; move b, counter; branch counter, done; "
        "again: add a, p; loop counter, again; done:"
    ),
    "halt": "jump -1",
}
HELPERS = {"zero": 0, "one": 1, "counter": 0}
LINE = re.compile(r"(?:(?P<label>[^\s:]+)\s*:)?\s*(?P<rest>.*)")
NAME = re.compile(r"[a-zA-Z_]\w*")
OPERAND = re.compile(r"(?P<name>[a-zA-Z_]\w*(?: \d+)?)?(?P<number>[+-]?\d+)?")


@dataclass(frozen=True)
class Assembly:
    """A machine program, ready to run.

    Attributes:
        cells: its memory.
        labels: their addresses.
        data: the labels before numbers, each with the count of numbers: they name the results.
        lines: the source line of every cell; 0 for cells that were added.
    """

    cells: tuple[int, ...]
    labels: Mapping[str, int]
    data: Mapping[str, int]
    lines: tuple[int, ...]


def assemble(text: str, file: str = "<text>") -> Assembly:
    """Assemble a program. `file` is named in errors."""
    assembler = _Assembler(file)
    for number, line in enumerate(text.splitlines(), 1):
        assembler.line = number
        assembler.read(line.split("#")[0])
    return assembler.finish()


@dataclass
class _Assembler:
    file: str
    line: int = 0
    operands: list[tuple[str, int]] = field(default_factory=list)  # one per cell, with its line
    labels: dict[str, int] = field(default_factory=dict)
    data: dict[str, int] = field(default_factory=dict)
    expansions: int = 0

    def read(self, line: str, scope: Mapping[str, str] | None = None) -> None:
        """One line; within an idiom, `scope` says what its names stand for."""
        result = LINE.fullmatch(line.strip())
        assert result is not None
        names = scope or {}
        label, words = result["label"], re.split(r"[,\s]+", result["rest"].strip(", \t"))
        if label is not None:
            self.define(names.get(label, label), is_idiom=scope is not None)
        if words == [""]:
            return
        word, operands = words[0], [names.get(each, each) for each in words[1:]]
        if word == "data" or not NAME.fullmatch(word):
            numbers = operands if word == "data" else words
            self.data |= {label: len(numbers)} if label is not None else {}
            self.operands += [(each, self.line) for each in numbers]
        elif word == "subleq":
            self.emit(operands)
        else:
            self.expand(word, operands)

    def emit(self, operands: list[str]) -> None:
        """One SUBLEQ instruction."""
        if len(operands) not in (2, 3):
            raise self.wrong(f"subleq takes two or three operands, not {len(operands)}")
        behind = str(len(self.operands) + 3)
        self.operands += [(each, self.line) for each in [*operands, behind][:3]]

    def expand(self, word: str, operands: list[str]) -> None:
        """An idiom, as what it stands for; labels within it are its own."""
        known = {form.split()[0]: form for form in IDIOMS}
        if word not in known:
            remedy = did_you_mean(word, ["subleq", *known]).capitalize()
            raise self.wrong(f"there is no instruction '{word}'", remedy)
        form = known[word]
        names = form.replace(",", "").split()[1:]
        if len(names) != len(operands):
            what = f"{word} takes {len(names)} operands, not {len(operands)}"
            raise self.wrong(what, f"Write {form}")
        self.expansions += 1
        own = {label: f"{label} {self.expansions}" for label in ("again", "done")}
        for line in IDIOMS[form].split(";"):
            self.read(line, own | dict(zip(names, operands, strict=True)))

    def define(self, label: str, *, is_idiom: bool) -> None:
        if not is_idiom and not NAME.fullmatch(label):
            raise self.wrong(f"'{label}' is not a label", "A label is a name, as in again:")
        if label in self.labels:
            raise self.wrong(f"the label '{label}' is defined twice", "Give each its own name")
        self.labels[label] = len(self.operands)

    def finish(self) -> Assembly:
        """Put addresses in the place of labels, and add the cells that idioms use."""
        if not self.operands:
            raise self.wrong("there is nothing to run", "Write at least one instruction")
        used = {self.parts(*each)[0] for each in self.operands}
        for name, value in HELPERS.items():
            if name in used and name not in self.labels:
                self.labels[name] = len(self.operands)
                self.operands.append((str(value), 0))
        cells = tuple(self.resolve(address) for address in range(len(self.operands)))
        labels = {name: place for name, place in self.labels.items() if " " not in name}
        return Assembly(cells, labels, self.data, tuple(line for _, line in self.operands))

    def resolve(self, address: int) -> int:
        """The number in a cell."""
        operand, self.line = self.operands[address]
        name, number = self.parts(operand, self.line)
        if name and name not in self.labels:
            own = [label for label in self.labels if " " not in label]
            known = f"; {did_you_mean(name, own)}" if own else ""
            raise self.wrong(f"there is no label '{name}'", f"Define it, as in {name}: 0{known}")
        return number + (self.labels[name] if name else 0)

    def parts(self, operand: str, line: int) -> tuple[str, int]:
        """`again+1` as a label and a number."""
        self.line = line
        result = OPERAND.fullmatch(operand)
        if result is None or (result["name"] and (result["number"] or "+")[0] not in "+-"):
            raise self.wrong(f"'{operand}' is not an operand", "Use a label, a number, or label+1")
        return result["name"] or "", int(result["number"] or 0)

    def wrong(self, what: str, remedy: str = "") -> WeftError:
        return WeftError(what, where=Location(self.file, self.line), remedy=remedy)
