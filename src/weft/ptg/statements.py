"""Drawing and writing simple statements of random programs: source tokens and instructions."""

from __future__ import annotations

from random import Random

from weft.ptg import machine as codes
from weft.ptg.fragments import Fragments
from weft.ptg.language import Language
from weft.ptg.machine import Instruction, Machine
from weft.ptg.sizes import Sizes, Weights

LARGEST_PRODUCT = 9999
COMMENT = 8
"""The largest length of a comment."""


class StatementWriter:
    """Writes the simple statements of one program; `begin` starts another.

    Attributes:
        code: the tokens of each line of source after the first, without labels.
        comments: indices of comments in `code`.
        shortest, longest: bounds of the current length of each list; equal unless the program has
            to be valid for any input.
        integers, booleans: number of variables with a value; `new_integers` and `new_booleans` are
            still to come.
        bound: variables beyond the parameters in order of first occurrence, as (kind, number) with
            the kinds 0 for integers, 1 for Booleans and 3 for counters.
        loops: number of loops.
        trips: the largest number of iterations of a loop.
    """

    def __init__(
        self, language: Language, sizes: Sizes, weights: Weights, fragments: Fragments
    ) -> None:
        self.language, self.sizes, self.fragments = language, sizes, fragments
        self.machine = Machine(fragments)
        kinds = weights.simple + weights.branch + weights.loop
        self.simple_share = weights.simple / kinds
        self.branch_share = (weights.simple + weights.branch) / kinds
        of_list = weights.list * sizes.list_share
        simple = weights.integer + weights.boolean + of_list
        self.integer_share = weights.integer / simple
        self.boolean_share = (weights.integer + weights.boolean) / simple
        product = weights.product if language.multiplication and not sizes.any_input else 0.0
        parts = (weights.operand, weights.sum, weights.item, weights.length, product)
        total = sum(parts)
        self.operand, self.sum, self.item, self.length = (
            sum(parts[: count + 1]) / total for count in range(4)
        )
        self.weights = weights
        self.variable_items = language.variable_index and not sizes.any_input
        encode = fragments.tokeniser.encode
        self.plus, self.minus = encode(" + "), encode(" - ")
        self.equal, self.unequal = encode(" == "), encode(" != ")
        self.times = encode(" * ") if language.multiplication else b""
        self.open, self.close = encode("["), encode("]\n")
        self.append, self.pop = encode(".append("), encode(".pop()\n")
        self.bracket, self.len = encode(")\n"), encode("len(")
        self.if_, self.while_, self.block_begins = encode("if "), encode("while "), encode(":\n")
        self.else_line = encode("else:\n") if language.else_blocks else b""
        self.return_line = fragments.indent[1] + encode("return\n")
        self.hash = encode("#") if language.comments else b""

    def begin(
        self,
        random: Random,
        parameters: tuple[int, int, int],
        new: tuple[int, int],
        lengths: list[int],
        first_label: int,
    ) -> None:
        """Start a program with these numbers of parameters and other variables, by kind."""
        self.random = random.random
        self.code: list[bytes] = []
        self.comments: list[int] = []
        self.integers, self.booleans, self.lists = parameters
        self.new_integers, self.new_booleans = new
        self.shortest, self.longest = lengths, lengths.copy()
        self.bound: list[tuple[int, int]] = []
        self.loops = self.trips = 0
        self.first_label = first_label
        self._counters = 0  # counters that have occurred
        self.owed: tuple[int, bool] | None = None  # a list, and whether to append to it
        self.forget()

    def forget(self) -> None:
        """Forget the guards that the last statement needed."""
        self.grow = [0] * self.lists
        self.shrink = [0] * self.lists
        self.need = [0] * self.lists
        self.frozen: set[int] = set()
        self.written: set[int] = set()
        self.nested = self.branches = False

    def note_lengths(self, lists: list[list[int]] | None) -> None:
        """Note the lengths of lists after a statement; without them, how they may have changed."""
        if lists is not None:
            self.shortest = [len(values) for values in lists]
            self.longest = self.shortest.copy()
        else:
            for name, (grow, shrink) in enumerate(zip(self.grow, self.shrink, strict=True)):
                self.shortest[name] -= shrink if self.branches else shrink - grow
                self.longest[name] += grow if self.branches else grow - shrink
        self.forget()

    @property
    def pending(self) -> int:
        """Number of variables that are still to get their first value."""
        return self.new_integers + self.new_booleans

    def _head(self, line: bytes, name: bytes) -> bytes:
        """Add a line of source; the beginning of its trace line, up to the value."""
        self.code.append(line)
        fragments = self.fragments
        return fragments.head[len(self.code) + self.first_label] + name + fragments.colon

    # Simple statements

    def simple(
        self, indent: int, times: int = 1, *, new: bool = False, followed: bool = False
    ) -> Instruction:
        """Draw and write a simple statement.

        Args:
            indent: how deep it stands.
            times: the largest number of times that it is executed.
            new: whether it must give a new variable its first value.
            followed: whether another simple statement comes next in the same block.
        """
        if self.owed is not None:
            return self._second(indent)
        share = self.random()
        if new:
            if self.new_integers:
                return self._integer(indent, times, True)
            return self._comparison(indent, True)
        if share < self.integer_share:
            return self._integer(indent, times, False)
        if share < self.boolean_share:
            return self._comparison(indent, False)
        return (
            self._list(indent, times)
            or (self._first(indent) if followed else None)
            or self._integer(indent, times, False)
        )

    def _integer(self, indent: int, times: int, new: bool) -> Instruction:
        """An assignment to an integer."""
        random, fragments, count = self.random, self.fragments, self.integers
        if self.new_integers and indent == 1 and (new or random() < self.weights.new):
            target = count
            self.new_integers -= 1
            self.integers += 1
            self.bound.append((0, target))
        else:
            target = int(random() * count)
            if self.frozen:
                target = self._unfrozen(target)
                if target < 0:
                    return self._comparison(indent, False)
            if times > 1 or indent > 1:
                self.written.add(target)
        name = fragments.integer[target]
        begin = fragments.indent[indent] + name + fragments.assign
        share = random()
        if share < self.operand:
            if random() < self.weights.variable:
                source = int(random() * count)
                if source == target and count > 1:
                    source = (source + 1) % count
                line = begin + fragments.integer[source] + fragments.newline
                return (codes.COPY, self._head(line, name), target, source)
        elif share < self.sum:
            source, sign = int(random() * count), random() < 0.5
            number = 1 + int(random() * self.language.addend)
            line = begin + fragments.integer[source] + (self.plus if sign else self.minus)
            head = self._head(line + fragments.line[number], name)
            return (codes.SUM, head, target, source, number if sign else -number)
        elif share < self.length:
            found = self._read(begin, name, target, count, share >= self.item)
            if found is not None:
                return found
        elif times == 1:
            found = self._product(begin, name, target, count)
            if found is not None:
                return found
        number = int(random() * (self.language.literal + 1))
        written = fragments.line[number]
        return (codes.CONSTANT, self._head(begin + written, name) + written, target, number)

    def _unfrozen(self, target: int) -> int:
        """An integer that may change, from `target` on; -1 if there is none."""
        for step in range(self.integers):
            if (found := (target + step) % self.integers) not in self.frozen:
                return found
        return -1

    def _read(
        self, begin: bytes, name: bytes, target: int, count: int, length: bool
    ) -> Instruction | None:
        """The length or an element of a list; `count` integers have a value."""
        if not self.lists:
            return None
        random, fragments = self.random, self.fragments
        chosen = int(random() * self.lists)
        if length:
            line = begin + self.len + fragments.list[chosen] + self.bracket
            return (codes.LENGTH, self._head(line, name), target, chosen)
        room = self.shortest[chosen] - self.shrink[chosen]
        begin += fragments.list[chosen] + self.open
        if self.variable_items and random() < self.weights.variable:
            index = int(random() * count)
            value = self.machine.integers[index]
            if 0 <= value < room and index != target and index not in self.written:
                self.frozen.add(index)
                self.need[chosen] = max(self.need[chosen], value + 1)
                line = begin + fragments.integer[index] + self.close
                return (codes.ITEM_VARIABLE, self._head(line, name), target, chosen, index)
        room = min(room, self.language.literal + 1)
        if room <= 0:
            return None
        place = int(random() * room)
        if place >= self.need[chosen]:
            self.need[chosen] = place + 1
        line = begin + fragments.number[place] + self.close
        return (codes.ITEM, self._head(line, name), target, chosen, place)

    def _product(self, begin: bytes, name: bytes, target: int, count: int) -> Instruction | None:
        """A product that stays small, outside of loops and branches, where its value is known."""
        values, fragments = self.machine.integers, self.fragments
        if self.nested:
            return None
        left = int(self.random() * count)
        begin += fragments.integer[left] + self.times
        if self.random() < self.weights.variable:
            right = int(self.random() * count)
            if abs(values[left] * values[right]) > LARGEST_PRODUCT:
                return None
            line = begin + fragments.integer[right] + fragments.newline
            return (codes.PRODUCT_VARIABLE, self._head(line, name), target, left, right)
        number = int(self.random() * (self.language.literal + 1))
        if abs(values[left] * number) > LARGEST_PRODUCT:
            return None
        return (
            codes.PRODUCT, self._head(begin + fragments.line[number], name), target, left, number
        )  # fmt: skip

    def _comparison(self, indent: int, new: bool) -> Instruction:
        """A comparison of an integer with another or with a number."""
        random, fragments = self.random, self.fragments
        target = self.new_boolean(new) if indent == 1 else -1
        if target < 0:
            if not self.booleans:
                return self._fallback(indent)
            target = int(random() * self.booleans)
        name = fragments.boolean[target]
        left, equal = int(random() * self.integers), random() < 0.5
        line = fragments.indent[indent] + name + fragments.assign + fragments.integer[left]
        line += self.equal if equal else self.unequal
        if random() < self.weights.variable:
            right = int(random() * self.integers)
            if right == left and self.integers > 1:
                right = (right + 1) % self.integers
            head = self._head(line + fragments.integer[right] + fragments.newline, name)
            return (codes.EQUALS_VARIABLE, head, target, left, right, equal)
        number = int(random() * (self.language.literal + 1))
        head = self._head(line + fragments.line[number], name)
        return (codes.EQUALS, head, target, left, number, equal)

    def _fallback(self, indent: int) -> Instruction:
        """An assignment that is always possible."""
        target = max(0, self._unfrozen(int(self.random() * self.integers)))
        name = self.fragments.integer[target]
        line = self.fragments.indent[indent] + name + self.fragments.assign + name
        self.written.add(target)
        return (
            codes.COPY, self._head(line + self.fragments.newline, name), target, target
        )  # fmt: skip

    def new_boolean(self, forced: bool = False) -> int:
        """A Boolean that has no value yet, sometimes or if it is forced; -1 for none."""
        if not self.new_booleans or not (forced or self.random() < self.weights.new):
            return -1
        self.new_booleans -= 1
        self.bound.append((1, self.booleans))
        self.booleans += 1
        return self.booleans - 1

    def condition(self, indent: int) -> int:
        """The Boolean of a loop."""
        new = self.new_boolean(not self.booleans) if indent == 1 else -1
        return int(self.random() * self.booleans) if new < 0 else new

    def _list(self, indent: int, times: int) -> Instruction | None:
        """An append or a pop, of any list that allows it."""
        if not self.lists:
            return None
        random, cap = self.random, self.sizes.list_length[1]
        first, appends = int(random() * self.lists), random() < 0.5
        for wanted in (appends, not appends):
            for step in range(self.lists):
                chosen = (first + step) % self.lists
                if wanted:
                    if self.longest[chosen] + self.grow[chosen] + times <= cap:
                        return self._append(indent, times, chosen)
                elif self.shortest[chosen] - self.shrink[chosen] - times >= self.need[chosen]:
                    return self._pop(indent, times, chosen)
        return None

    def _first(self, indent: int) -> Instruction | None:
        """An append or a pop that the next statement, the opposite, makes up for in every round."""
        if not self.lists:
            return None
        chosen, cap = int(self.random() * self.lists), self.sizes.list_length[1]
        grows = self.longest[chosen] + self.grow[chosen] + 1 <= cap
        shrinks = self.shortest[chosen] - self.shrink[chosen] - 1 >= self.need[chosen]
        if not (grows or shrinks):
            return None
        appends = self.random() < 0.5 if grows and shrinks else grows
        self.owed, self.branches = (chosen, not appends), True
        return self._append(indent, 1, chosen) if appends else self._pop(indent, 1, chosen)

    def _second(self, indent: int) -> Instruction:
        """The statement that makes up for the last one."""
        assert self.owed is not None
        chosen, appends = self.owed
        self.owed = None
        return self._append(indent, 0, chosen) if appends else self._pop(indent, 0, chosen)

    def _pop(self, indent: int, times: int, chosen: int) -> Instruction:
        """A pop, with the room that it takes."""
        self.shrink[chosen] += times
        name = self.fragments.list[chosen]
        line = self.fragments.indent[indent] + name + self.pop
        return (codes.POP, self._head(line, name), chosen)

    def _append(self, indent: int, times: int, chosen: int) -> Instruction:
        """An append, with the room that it takes."""
        fragments = self.fragments
        self.grow[chosen] += times
        name = fragments.list[chosen]
        line = fragments.indent[indent] + name + self.append
        if self.random() < self.weights.variable:
            source = int(self.random() * self.integers)
            head = self._head(line + fragments.integer[source] + self.bracket, name)
            return (codes.APPEND_VARIABLE, head, chosen, source)
        number = int(self.random() * (self.language.literal + 1))
        head = self._head(line + fragments.number[number] + self.bracket, name)
        return (codes.APPEND, head, chosen, number)

    def comment(self) -> None:
        """Write a comment."""
        self.comments.append(len(self.code))
        length = 1 + int(self.random() * COMMENT)
        self.code.append(self.fragments.indent[1] + self.hash * length + self.fragments.newline)

    def lengthen(self, code: list[bytes], place: int, signs: int) -> None:
        """Add signs to a comment."""
        code[place] = code[place][:-1] + self.hash * signs + self.fragments.newline
