"""Machines for the binary successor: the true one, and the shortcuts that models may learn instead.

Numbers are sequences of the constructors 01, XO and X1. In natural order 01 comes first; the carry
run is the X1s at the end. In constructor order, which Zhang et al. (2024) call reverse, everything
is mirrored. In natural order, with i the position before the run, every detector writes

    input[k] for k < i,    X1 at k = i,    XO for i < k <= L

and differs in how it finds i:

    successor   last position that does not hold X1: the true machine
    run         the same, without the case of all-carry inputs
    bounded     the same, but at least L - D: runs are seen up to a length of D
    longest     L - (length of the longest run of X1 anywhere), if the input ends in X1; otherwise L
    fixed       L - D if the input ends in X1, at least 1; otherwise L: every run has length D
    off         i as it should be for runs of up to D; then one less, or one more

On all-carry inputs, i = 1 and holds 01. The truth is one token longer than the input; the two
variants of the shortcut leave the length as it is, and write 01 (`short`) or X1 (`flip`) at i.
`capped` writes the first T tokens of the truth, `window` the successor of the first T tokens of the
input (in natural order, as if the input ended there), and `copy` the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from weft.errors import WeftError, check_known
from weft.theory.recursion.rule_lists import Language
from weft.theory.recursion.state_machines import Pointer, Rule, StateMachine, Word

Order = Literal["natural", "constructor"]
AllCarry = Literal["short", "flip", "right"]
Detector = Literal["run", "bounded", "longest", "fixed", "off"]
ORDERS: tuple[Order, ...] = get_args(Order)
DETECTORS: tuple[Detector, ...] = get_args(Detector)
ONE, ZERO_BIT, ONE_BIT = "01", "XO", "X1"
TOKENS = (ONE, ZERO_BIT, ONE_BIT)

CARRY_WORDS = {
    "short": "all-carry one token short",
    "flip": "all-carry with X1 for 01",
    "right": "all-carry right",
}


@dataclass(frozen=True)
class Candidate:
    """A machine that competes to explain a model.

    Attributes:
        kind: what it is called in tables; candidates of one kind differ in their parameters.
        machine: what it computes.
        name: the same in words, with its parameters.
        is_true: whether it computes the function itself.
    """

    kind: str
    machine: Callable[[Word], Word]
    name: str
    is_true: bool = False


def successor(number: Sequence[str], order: Order = "natural") -> Word:
    """The successor of a number, by the equations.

    Example:
        >>> from weft.theory.recursion import successor
        >>> successor(("01", "X1", "X1")), successor(("X1", "XO", "01"), "constructor")
        (('01', 'XO', 'XO', 'XO'), ('XO', 'X1', '01'))
    """
    bits = list(number) if order == "natural" else list(reversed(number))
    place = len(bits) - 1
    while place and bits[place] == ONE_BIT:
        bits[place] = ZERO_BIT
        place -= 1
    if place:
        bits[place] = ONE_BIT
    else:
        bits[:1] = [ONE, ZERO_BIT]
    return tuple(bits) if order == "natural" else tuple(reversed(bits))


def depth_of(number: Sequence[str], order: Order = "natural") -> int:
    """The recursion depth of the successor: the length of the carry run.

    Example:
        >>> from weft.theory.recursion import depth_of
        >>> depth_of(("01", "XO", "X1", "X1")), depth_of(("01", "X1"), "constructor")
        (2, 0)
    """
    depth = 0
    for token in reversed(number) if order == "natural" else number:
        if token != ONE_BIT:
            break
        depth += 1
    return depth


def all_carry(number: Sequence[str], order: Order = "natural") -> bool:
    """Whether all constructors but 01 are X1, so that the successor is one token longer."""
    return depth_of(number, order) == len(number) - 1


def longest_run(number: Sequence[str]) -> int:
    """The length of the longest run of X1 anywhere."""
    longest = current = 0
    for token in number:
        current = current + 1 if token == ONE_BIT else 0
        longest = max(longest, current)
    return longest


def successor_machine(order: Order = "natural") -> StateMachine:
    """The true machine.

    In constructor order it carries as it reads, and needs one register. In natural order the
    leading tokens are written before the run is read, so that a pointer has to find it.

    Example:
        >>> from weft.theory.recursion import successor_machine
        >>> print(successor_machine("natural"))
        successor
          i: last position that does not hold X1
          if k < i then emit input[k]
          if k = i and input[i] = XO then emit X1
          if k = i and input[i] = 01 then emit 01
          if i < k and k <= L then emit XO
          if k = L + 1 and input[i] = 01 then emit XO
    """
    check_known(order, ORDERS, f"there is no order '{order}'")
    if order == "natural":
        rules = (
            Rule("k < i", emit="input[k]"),
            Rule('k == i and input[i] == "XO"', emit='"X1"'),
            Rule('k == i and input[i] == "01"', emit='"01"'),
            Rule("i < k and k <= L", emit='"XO"'),
            Rule('k == L + 1 and input[i] == "01"', emit='"XO"'),
        )
        return StateMachine("successor", rules, (_pointer("run", order, 0),))
    rules = (
        Rule('mode == "carry" and input[k] == "X1"', emit='"XO"'),
        Rule('mode == "carry" and input[k] == "XO"', emit='"X1"', mode='"copy"'),
        Rule('mode == "carry" and input[k] == "01"', emit='"XO"', mode='"end"'),
        Rule('mode == "end"', emit='"01"', mode='"copy"'),
        Rule('mode == "copy" and k <= L and output[k - 1] != "01"', emit="input[k]"),
    )
    return StateMachine("successor", rules, registers={"mode": "carry"})


def shortcut_machine(
    detector: Detector = "run",
    all_carry: AllCarry = "short",
    bound: int = 4,
    order: Order = "natural",
    shift: int = 1,
) -> StateMachine:
    """A machine that finds a run and rewrites it.

    Args:
        detector: how it finds the run: `run`, `bounded`, `longest`, `fixed` or `off`.
        all_carry: what it does when the run reaches 01: `short`, `flip` or `right`.
        bound: the D of `bounded`, `fixed` and `off`.
        order: `natural` or `constructor`.
        shift: of `off`: by how many tokens the rewritten run is too long; negative if too short.

    Example:
        >>> from weft.theory.recursion import shortcut_machine
        >>> shortcut_machine("run", "flip")(("01", "X1", "X1"))
        ('X1', 'XO', 'XO')
        >>> shortcut_machine("bounded", bound=2)(("01", "XO", "X1", "X1", "X1"))
        ('01', 'XO', 'X1', 'XO', 'XO')
        >>> shortcut_machine("longest")(("01", "X1", "X1", "XO", "X1"))
        ('01', 'X1', 'X1', 'XO', 'XO')
    """
    check_known(detector, DETECTORS, f"there is no detector '{detector}'")
    check_known(all_carry, CARRY_WORDS, f"all_carry cannot be '{all_carry}'")
    check_known(order, ORDERS, f"there is no order '{order}'")
    if bound < 0:
        raise WeftError(f"bound is {bound}", remedy="Give at least 0")
    pointer = _pointer(detector, order, bound, shift)
    found = {"flip": '"X1"', "short": '"01"', "right": '"01"'}[all_carry]
    run, copied = "i < k and k <= L", "k < i"
    if order == "constructor":
        run, copied = copied, run
    rules = [
        Rule(copied, emit="input[k]"),
        Rule('k == i and input[i] != "01"', emit='"X1"'),
        Rule('k == i and input[i] == "01"', emit=found),
        Rule(run, emit='"XO"'),
    ]
    if all_carry == "right" and order == "natural":
        rules.append(Rule('k == L + 1 and input[i] == "01"', emit='"XO"'))
    if all_carry == "right" and order == "constructor":
        rules[2] = Rule('k == i and input[i] == "01"', emit='"XO"')
        rules.append(Rule('k == L + 1 and input[i] == "01"', emit='"01"'))
    return StateMachine(_name(detector, all_carry, bound, shift), tuple(rules), (pointer,))


def capped_machine(cap: int, order: Order = "natural") -> StateMachine:
    """The true machine, stopped after a number of tokens."""
    true = successor_machine(order)
    rules = tuple(Rule(f"k <= {cap} and ({rule.guard})", **rule.updates) for rule in true.rules)
    name = f"successor, first {cap} tokens"
    return StateMachine(name, rules, true.pointers, true.registers)


def window_machine(window: int, all_carry: AllCarry = "right") -> StateMachine:
    """The machine of the natural order that reads the first tokens alone, as if there were no more.

    Args:
        window: how many tokens it reads.
        all_carry: what it does when the run reaches 01.

    Example:
        >>> from weft.theory.recursion.successor_machines import window_machine
        >>> window_machine(3)(("01", "XO", "X1", "XO", "XO"))
        ('01', 'X1', 'XO')
    """
    detector = shortcut_machine("run", all_carry)
    rules = tuple(
        Rule(rule.guard.replace("L", "M"), **rule.updates)  # no other name has an L
        for rule in detector.rules
    )
    pointers = (
        Pointer("M", f"the smaller of L and {window}", lambda number: min(len(number), window)),
        Pointer(
            "i",
            "last position up to M that does not hold X1",
            lambda number: min(len(number), window) - depth_of(number[:window]),
        ),
    )
    name = f"successor of the first {window} tokens, {CARRY_WORDS[all_carry]}"
    return StateMachine(name, rules, pointers)


def copy_machine() -> StateMachine:
    """The machine that copies its input."""
    return StateMachine("copy", (Rule("k <= L", emit="input[k]"),))


def successor_candidates(order: Order, longest: int) -> Iterator[Candidate]:
    """All machines with all values of their parameters, in the order in which they are preferred.

    Args:
        order: `natural` or `constructor`.
        longest: the number of tokens of the longest input.
    """
    yield _candidate("successor", successor_machine(order), is_true=True)
    for carry in ("short", "flip"):
        yield _candidate(f"run, {carry}", shortcut_machine("run", carry, order=order))
    for carry in CARRIES:
        for bound in range(longest):
            machine = shortcut_machine("bounded", carry, bound, order)
            yield _candidate(f"bounded, {carry}", machine)
    for carry in CARRIES:
        machine = shortcut_machine("longest", carry, order=order)
        yield _candidate(f"longest, {carry}", machine)
    for carry in CARRIES:
        for bound in range(1, longest):
            yield _candidate("fixed", shortcut_machine("fixed", carry, bound, order))
    for carry in CARRIES:
        for shift in (1, -1):
            for bound in range(longest):
                machine = shortcut_machine("off", carry, bound, order, shift)
                yield _candidate("off by one", machine)
    for cap in range(1, longest + 1):
        yield _candidate("capped", capped_machine(cap, order))
    if order == "natural":
        for carry in CARRIES:
            for window in range(1, longest + 1):
                yield _candidate("window", window_machine(window, carry))
    yield _candidate("copy", copy_machine())


CARRIES: tuple[AllCarry, ...] = ("right", "short", "flip")


def successor_language(order: Order, inputs: Sequence[Word]) -> Language:
    """Tests and actions for rules that are fitted to a model of the successor.

    Tests compare k with the pointer and the ends, ask for the tokens there and the last token
    written, and compare the length of the run, that of the input, and k with thresholds.

    Args:
        order: `natural` or `constructor`.
        inputs: the inputs that rules are fitted to.
    """
    pointers = (
        _pointer("run", order, 0),
        Pointer("d", "length of the carry run", lambda number: depth_of(number, order)),
        Pointer("r", "length of the longest run of X1", longest_run),
    )
    tests = [f"k {sign} {place}" for place in ("i", "L") for sign in ("<", "==", ">")]
    tests += ["k == i - 1", "k == L + 1", "k == L - 1", "k == 1", "d == r", "d == 0"]
    tests += ['input[i] == "01"', 'input[i] != "01"']
    tests += [f'input[k] == "{token}"' for token in TOKENS]
    tests += [f'output[k - 1] == "{token}"' for token in TOKENS]
    runs = [depth_of(number, order) for number in inputs]
    lengths = [len(number) for number in inputs]
    for name, low, high in (
        ("d", 1, max(runs, default=1)),
        ("L", min(lengths, default=1), max(lengths, default=1)),
        ("k", min(lengths, default=1), max(lengths, default=1) + 1),
    ):
        step = max(1, (high - low) // MOST_THRESHOLDS)
        for bound in range(low, high, step):
            tests += [f"{name} > {bound}", f"{name} <= {bound}"]
    edges = ["r + 1", "d + 1"]
    if order == "natural":
        edges = [
            "L - r",
            "L - d",
            *(f"L - {bound}" for bound in range(2, max(runs, default=1) + 1)),
        ]
    tests += [f"k {sign} {edge}" for edge in (*edges, "i + 1") for sign in ("<", "==", ">")]
    actions = ("input[k]", *(f'"{token}"' for token in TOKENS), "input[k - 1]", "input[k + 1]")
    return Language(pointers, tuple(tests), actions)


MOST_THRESHOLDS = 24
"""About how many thresholds a number is compared with."""


def _candidate(kind: str, machine: StateMachine, *, is_true: bool = False) -> Candidate:
    return Candidate(kind, machine, machine.name, is_true)


def _name(detector: Detector, carry: AllCarry, bound: int, shift: int) -> str:
    longer = "short" if shift < 0 else "long"
    names = {
        "run": "run detector",
        "bounded": f"run detector up to {bound}",
        "longest": "longest-run detector",
        "fixed": f"runs of length {bound}",
        "off": f"run {abs(shift)} too {longer} beyond {bound}",
    }
    return f"{names[detector]}, {CARRY_WORDS[carry]}"


def _pointer(detector: Detector, order: Order, bound: int, shift: int = 1) -> Pointer:
    """The pointer i of a detector, as a position from 1."""
    natural = order == "natural"

    def run(number: Word) -> int:
        """The length of the run that the detector sees."""
        depth, most = depth_of(number, order), len(number) - 1
        if detector == "bounded":
            return min(depth, bound)
        if detector == "longest":
            return min(most, longest_run(number)) if depth else 0
        if detector == "fixed":
            return min(most, bound) if depth else 0
        if detector == "off" and depth > bound:
            return max(0, min(most, depth + shift))
        return depth

    def derive(number: Word) -> int:
        return len(number) - run(number) if natural else run(number) + 1

    side, far = ("last", "L - ") if natural else ("first", "1 + ")
    plain = f"{side} position that does not hold X1"
    ends = "input[L] = X1" if natural else "input[1] = X1"
    here = "L" if natural else "1"
    limit = ("at least 1" if natural else "at most L") + f"; {here} unless {ends}"
    sign = "-" if natural == (shift > 0) else "+"
    meanings = {
        "run": plain,
        "bounded": f"{plain}, but {'at least' if natural else 'at most'} {far}{bound}",
        "longest": f"{far}(length of the longest run of X1), {limit}",
        "fixed": f"{far}{bound}, {limit}",
        "off": f"{plain}, {sign} {abs(shift)} for runs longer than {bound}",
    }
    return Pointer("i", meanings[detector], derive)
