"""Expressions of random steps, whole numbers and tests: one small function a construct."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from random_steps import Writer

Expression = Callable[[Writer, int], str]

# Whole numbers


def arithmetic(w: Writer, depth: int) -> str:
    sign = w.pick(("+", "-", "*"))
    right = w.pick((2, 3, 0)) if sign == "*" else w.whole(depth)  # squares of squares are endless
    return f"({w.whole(depth)} {sign} {right})"


def division(w: Writer, depth: int) -> str:
    below = w.whole(0) if w.chance(15) else str(w.draw(st.integers(1, 3)))
    return f"({w.whole(depth)} {w.pick(('//', '%'))} {below})"


def bits(w: Writer, depth: int) -> str:
    return f"({w.whole(depth)} {w.pick(('^', '&', '|'))} {w.whole(0)})"


def builtin(w: Writer, depth: int) -> str:
    name = w.pick(("min", "max", "abs", "divmod", "int"))
    if name in ("min", "max"):
        return f"{name}({w.whole(depth)}, {w.whole(depth)})"
    if name == "divmod":
        return f"divmod({w.whole(depth)}, {w.draw(st.integers(1, 3))})[{w.pick((0, 1, -1))}]"
    if name == "int" and w.of_kind("number"):
        return f"int({w.access(w.pick(w.of_kind('number')))} * 2)"
    return f"abs({w.whole(depth)})"


def conditional(w: Writer, depth: int) -> str:
    return f"({w.whole(depth)} if {w.test(depth)} else {w.whole(depth)})"


def as_number(w: Writer, depth: int) -> str:
    return f"({w.test(depth)} + {w.whole(depth)})" if w.chance(50) else f"int({w.test(depth)})"


def short_circuit(w: Writer, depth: int) -> str:
    return f"({w.whole(depth)} {w.pick(('and', 'or'))} {w.whole(depth)})"


def looked_up(w: Writer, depth: int) -> str:
    table = w.pick(("(2, 0, 1)", "TABLE", "{0: 1, 1: 2, 2: 0}", "[1, 0, 3]"))
    return f"{table}[{w.whole(depth)} % 3]"


def size_of_set(w: Writer, depth: int) -> str:
    sets = w.of_kind("subset")
    return f"len({w.access(w.pick(sets))})" if sets else w.whole(depth)


def summed(w: Writer, depth: int) -> str:
    name = w.pick(("i", "t"))
    hidden = w.bound
    w.bind_now(name)
    inner = w.whole(depth)
    kept = f" if {w.test(0)}" if w.chance(30) else ""
    w.bound = hidden
    items = w.pick(("range(3)", "(1, 2)", f"({w.whole(0)}, {w.whole(0)})", f"range({w.whole(0)})"))
    return f"{w.pick(('sum', 'sum', 'len'))}([{inner} for {name} in {items}{kept}])"


def called(w: Writer, depth: int) -> str:
    if not w.functions:
        return w.whole(depth)
    name = w.pick(sorted(w.functions))
    return f"{name}({', '.join(w.whole(depth) for _ in range(w.functions[name]))})"


def called_with_state(w: Writer, depth: int) -> str:
    if not w.procedures or not w.state:
        return called(w, depth)
    return f"{w.pick(w.procedures)}({w.state}, {w.whole(depth)})"


def immediate_lambda(w: Writer, depth: int) -> str:
    hidden = w.bound
    w.bind_now("t")
    body = w.whole(depth)
    w.bound = hidden
    return f"(lambda t: {body})({w.whole(0)})"


def named(w: Writer, depth: int) -> str:
    value = w.whole(depth)
    w.maybe |= {"k"}
    return f"(k := {value})"


# Tests


def comparison(w: Writer, depth: int) -> str:
    sign = w.pick(("==", "!=", "<", "<=", ">", ">="))
    return f"({w.whole(depth)} {sign} {w.whole(depth)})"


def chained(w: Writer, depth: int) -> str:
    signs = w.pick(("<=", "<")), w.pick(("<", "==", "!="))
    return f"({w.whole(depth)} {signs[0]} {w.whole(depth)} {signs[1]} {w.whole(0)})"


def joined(w: Writer, depth: int) -> str:
    return f"({w.test(depth)} {w.pick(('and', 'or'))} {w.test(depth)})"


def negated(w: Writer, depth: int) -> str:
    return f"(not {w.test(depth)})"


def truth(w: Writer, depth: int) -> str:
    return w.whole(depth)


def among(w: Writer, depth: int) -> str:
    sets = [w.access(v) for v in w.of_kind("subset")]
    items = w.pick(("(0, 2)", "{1, 3}", "[0]", "range(2)", f"({w.whole(0)}, 1)", *sets))
    return f"({w.whole(depth)} {w.pick(('in', 'not in'))} {items})"


def number_test(w: Writer, depth: int) -> str:
    numbers = w.of_kind("number")
    if not numbers:
        return comparison(w, depth)
    number = w.pick(numbers)
    return f"({w.access(number)} {w.pick(('>=', '==', '<'))} {w.pick(number.literals)})"


def set_test(w: Writer, depth: int) -> str:
    sets = w.of_kind("subset")
    if not sets:
        return comparison(w, depth)
    chosen = w.pick(sets)
    return f"({w.access(chosen)} {w.pick(('==', '<=', '!='))} {w.pick(chosen.literals)})"


def quantified(w: Writer, depth: int) -> str:
    hidden = w.bound
    w.bind_now("i")
    inner = w.test(depth)
    w.bound = hidden
    items = w.pick(("range(3)", "(0, 2)", f"({w.whole(0)}, {w.whole(0)})"))
    return f"{w.pick(('any', 'all'))}({inner} for i in {items})"


WHOLE: tuple[Expression, ...] = (
    arithmetic,
    arithmetic,
    division,
    builtin,
    conditional,
    as_number,
    short_circuit,
    bits,
    looked_up,
    size_of_set,
    called,
    called,
    called_with_state,
    summed,
    immediate_lambda,
    named,
)
TESTS: tuple[Expression, ...] = (
    comparison,
    comparison,
    chained,
    joined,
    joined,
    negated,
    truth,
    among,
    number_test,
    set_test,
    quantified,
)
