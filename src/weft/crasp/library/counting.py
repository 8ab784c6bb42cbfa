"""Languages of counters: majority, brackets, and blocks of equal length.

None of them needs positions, and only those with a bound are regular.
"""

from __future__ import annotations

from itertools import pairwise
from string import ascii_lowercase

from weft.crasp.library.catalogue import check_range, library_program, multiple
from weft.crasp.program import CraspProgram
from weft.crasp.syntax.builder import CraspBuilder, all_of, any_of, count

BITS = "01"
BRACKETS = ("()", "[]", "{}", "<>")


@library_program("majority", "more 1s than 0s", "10110")
def majority() -> CraspProgram:
    """Count the 0s and the 1s, and compare."""
    program = CraspBuilder(BITS)
    zero, one = program.symbols
    program.accept = count(zero) < count(one)
    return program.build()


@library_program("at-least-half", "at least as many 1s as 0s", "0110")
def at_least_half() -> CraspProgram:
    """Majority in which a tie counts, so the empty word does too."""
    program = CraspBuilder(BITS)
    zero, one = program.symbols
    program.accept = count(zero) <= count(one)
    return program.build()


@library_program("tie", "as many 1s as 0s", "0110")
def tie() -> CraspProgram:
    """Count the 0s and the 1s; they must be equal."""
    program = CraspBuilder(BITS)
    zero, one = program.symbols
    program.accept = count(zero) == count(one)
    return program.build()


@library_program("super-majority", "more than part/whole of the symbols are 1", "110111")
def super_majority(part: int = 2, whole: int = 3) -> CraspProgram:
    """Multiply both counts: part times the 0s must be less than the rest times the 1s.

    A share of 1s above part/whole means that `part * #0 < (whole - part) * #1`. Products with
    constants are sums.
    """
    check_range("part", part, 1)
    check_range("whole", whole, part + 1, 100)
    program = CraspBuilder(BITS)
    zero, one = program.symbols
    program.accept = multiple(part, count(zero)) < multiple(whole - part, count(one))
    return program.build()


@library_program("at-most", "at most `ones` 1s (COUNT_k)", "0100110")
def at_most(ones: int = 3) -> CraspProgram:
    """Count the 1s and compare with a constant."""
    check_range("ones", ones, 0)
    program = CraspBuilder(BITS)
    _, one = program.symbols
    program.accept = count(one) <= ones
    return program.build()


@library_program("parity-up-to", "an odd number of 1s, at most `ones` (PARITY_k)", "0100")
def parity_up_to(ones: int = 3) -> CraspProgram:
    """Compare the number of 1s with each odd number up to a bound.

    Parity without a bound is not in C-RASP. The size of this program grows with the bound, and
    with it the number of examples that learning it takes.
    """
    check_range("ones", ones, 1, 1000)
    program = CraspBuilder(BITS)
    _, one = program.symbols
    program.accept = any_of(count(one) == number for number in range(1, ones + 1, 2))
    return program.build()


@library_program("dyck-1", "well-nested brackets", "(()())")
def dyck_1() -> CraspProgram:
    """No prefix closes more than it opened, and in the end all is closed."""
    program = CraspBuilder("()")
    opening, closing = program.symbols
    program.bad = count(opening) < count(closing)
    program.accept = (count(program.bad) == 0) & (count(opening) == count(closing))
    return program.build()


@library_program("bounded-dyck", "D_n = (a D_n-1 b)*, of depth at most n", "aababb")
def bounded_dyck(depth: int = 2) -> CraspProgram:
    """Dyck-1 in which no prefix may be deeper than the bound either."""
    check_range("depth", depth, 1)
    program = CraspBuilder("ab")
    a, b = program.symbols
    program.bad = (count(a) < count(b)) | (count(b) + depth < count(a))
    program.accept = (count(program.bad) == 0) & (count(a) == count(b))
    return program.build()


@library_program("shuffle", "brackets of several kinds, each well nested on its own", "([)]")
def shuffle(pairs: int = 2) -> CraspProgram:
    """One Dyck-1 for each kind of bracket, all in one count of mistakes."""
    check_range("pairs", pairs, 1, len(BRACKETS))
    program = CraspBuilder("".join(BRACKETS[:pairs]))
    openings, closings = program.symbols[::2], program.symbols[1::2]
    kinds = list(zip(openings, closings, strict=True))
    program.bad = any_of(count(opening) < count(closing) for opening, closing in kinds)
    closed = all_of(count(opening) == count(closing) for opening, closing in kinds)
    program.accept = (count(program.bad) == 0) & closed
    return program.build()


@library_program("anbn", "a^n b^n", "aabb")
def anbn() -> CraspProgram:
    """No a comes after a b, and both are equally frequent."""
    return _equal_blocks("ab")


@library_program("anbncn", "a^n b^n c^n", "aabbcc")
def anbncn() -> CraspProgram:
    """No letter comes after a later one, and all are equally frequent."""
    return _equal_blocks("abc")


@library_program("counter", "a^n b^n c^n d^n, for a number of letters", "aabbccdd")
def counter(letters: int = 4) -> CraspProgram:
    """No letter comes after a later one, and neighbouring letters are equally frequent."""
    check_range("letters", letters, 2, len(ascii_lowercase))
    return _equal_blocks(ascii_lowercase[:letters])


def _equal_blocks(letters: str) -> CraspProgram:
    program = CraspBuilder(letters)
    symbols = program.symbols
    program.bad = any_of(
        letter & (sum(map(count, symbols[place:])) > 0)
        for place, letter in enumerate(symbols[:-1], 1)
    )
    equal = [count(letter) == count(following) for letter, following in pairwise(symbols)]
    program.accept = all_of([count(program.bad) == 0, *equal])
    return program.build()


@library_program("prefix-expressions", "operators before their operands", "ba01")
def prefix_expressions(arity: int = 3) -> CraspProgram:
    """Count the operands that are missing; there are none at the end, and never before.

    Values are 0 and 1. Operators are letters: a takes one operand, b two, and so on. An operator of
    n operands supplies one and asks for n, so the number missing changes by n - 1. (Boolean-n in
    the literature.)
    """
    check_range("arity", arity, 1, len(ascii_lowercase))
    program = CraspBuilder(BITS + ascii_lowercase[:arity])
    zero, one, _, *operators = program.symbols
    asked = [multiple(more, count(operator)) for more, operator in enumerate(operators, 1)]
    program.missing = sum(asked) + 1 - count(zero) - count(one)
    program.complete = program.missing <= 0
    program.accept = program.complete & (count(program.complete) == 1)
    return program.build()
