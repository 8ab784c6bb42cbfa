"""The pieces of Python that random steps are made of: one small function a construct."""

from __future__ import annotations

from hypothesis import strategies as st

from random_steps import Grammar, Writer

# Whole numbers


def arithmetic(w: Writer, depth: int) -> str:
    return f"({w.whole(depth)} {w.pick(('+', '-', '*'))} {w.whole(depth)})"


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


# Simple statements


def write(w: Writer, depth: int) -> None:
    if not w.state:
        return assign(w, depth)
    variable = w.pick(w.writable)
    w.line(f"{w.access(variable)} = {w.in_range(variable)}")


def augmented_write(w: Writer, depth: int) -> None:
    wholes = [v for v in w.writable if v.kind == "var"]
    if not wholes:
        return write(w, depth)
    variable = w.pick(wholes)
    w.line(f"{w.access(variable)} {w.pick(('+=', '-=', '^=', '//=', '*='))} {w.whole(1)}")
    if not w.chance(25):
        w.line(f"{w.access(variable)} %= {len(variable.values)}")


def assign(w: Writer, depth: int) -> None:
    value = w.whole()
    name = w.bind()
    w.line(f"{name} = {value}")
    w.bind_now(name)


def augment(w: Writer, depth: int) -> None:
    if not w.bound & {"t", "u", "v", "w"}:
        return assign(w, depth)
    name = w.pick(sorted(w.bound & {"t", "u", "v", "w"}))
    w.line(f"{name} {w.pick(('+=', '-=', '*='))} {w.whole(1)}")


def unpack(w: Writer, depth: int) -> None:
    one, other = w.bind(), w.bind()
    values = w.pick(
        (
            f"{w.whole(1)}, {w.whole(1)}",
            f"divmod({w.whole(1)}, 2)",
            f"({w.whole(0)}, 1) if {w.test(1)} else (0, {w.whole(0)})",
        )
    )
    w.line(f"{one}, {other} = {values}")
    w.bind_now(one, other)


def swap(w: Writer, depth: int) -> None:
    if len(w.writable) < 2:
        return unpack(w, depth)
    one, other = w.pick(w.writable), w.pick(w.writable)
    w.line(f"{w.access(one)}, {w.access(other)} = {w.in_range(one, 1)}, {w.in_range(other, 1)}")


def leave(w: Writer, depth: int) -> None:
    if w.in_loop and w.chance(70):
        w.line(w.pick(("break", "continue")))
    else:
        w.line(f"return {w.whole(1)}" if w.returns else "return")


def leave_if(w: Writer, depth: int) -> None:
    with w.block(f"if {w.test(1)}:"):
        leave(w, depth)


def call_procedure(w: Writer, depth: int) -> None:
    if not w.procedures or not w.state:
        return assign(w, depth)
    w.line(f"{w.pick(w.procedures)}({w.state}, {w.whole(1)})")


def check(w: Writer, depth: int) -> None:
    w.line(f"assert {w.test(1)} or {w.test(1)}")


# Nested statements


def branch(w: Writer, depth: int) -> None:
    with w.block(f"if {w.test()}:"):
        w.statements(3, depth)
    for _ in range(w.draw(st.integers(0, 1))):
        with w.block(f"elif {w.test()}:"):
            w.statements(2, depth)
    if w.chance(50):
        with w.block("else:"):
            w.statements(3, depth)


def matched(w: Writer, depth: int) -> None:
    pair = w.chance(40)
    w.line(f"match {w.whole(1)}, {w.whole(1)}:" if pair else f"match {w.whole(1)}:")
    w.indent += 1
    patterns = (
        ("0, 1", "t, 0", "_, (1 | 2)", "(0, u) | (u, 0)")
        if pair
        else ("0", "1 | 2", "-1", "int(v)")
    )
    for _ in range(w.draw(st.integers(1, 3))):
        pattern = w.pick(patterns)
        guard = f" if {w.test(1)}" if w.chance(30) else ""
        with w.block(f"case {pattern}{guard}:"):
            w.bind_now(*(name for name in ("t", "u", "v") if name in pattern.replace("int", "")))
            w.statements(2, depth)
    if w.chance(50):
        rest = w.pick(("_", "w"))
        with w.block(f"case {rest}:"):
            w.bind_now(*(["w"] if rest == "w" else []))
            w.statements(2, depth)
    w.indent -= 1


def loop(w: Writer, depth: int) -> None:
    sets = [f"sorted({w.access(v)})" for v in w.of_kind("subset")]
    header, names = w.pick(
        (
            ("for i in range(3):", ["i"]),
            ("for t in (2, 0):", ["t"]),
            ("for i, t in enumerate((1, 3)):", ["i", "t"]),
            (f"for i, u in zip((0, 1), ({w.whole(0)}, {w.whole(0)})):", ["i", "u"]),
            (f"for i in range({w.whole(0)}):", ["i"]),
            *((f"for i in {chosen}:", ["i"]) for chosen in sets),
        )
    )
    _looped(w, depth, header, names)


def while_loop(w: Writer, depth: int) -> None:
    counter = f"n{len(w.lines)}"  # of its own, so that the loop ends
    w.line(f"{counter} = 0")
    w.bind_now(counter)
    test = w.pick((f"{counter} < 2", f"{counter} < 3 and {w.test(1)}"))
    _looped(w, depth, f"while {test}:", [], f"{counter} += 1")


def _looped(w: Writer, depth: int, header: str, names: list[str], first: str = "pass") -> None:
    outside = w.in_loop
    with w.block(header):
        w.in_loop = True
        w.bind_now(*names)
        w.line(first)
        w.statements(3, depth)
        if w.chance(40):
            leave_if(w, depth)
    w.in_loop = outside
    if w.chance(30):
        with w.block("else:"):
            w.statements(2, depth)


def attempt(w: Writer, depth: int) -> None:
    with w.block("try:"):
        w.statements(2, depth)
    with w.block(f"except {w.pick(('ZeroDivisionError', 'Exception'))}:"):
        w.statements(1, depth)


def local_function(w: Writer, depth: int) -> None:
    name = w.pick(("f", "g"))
    kept = w.bound, w.maybe, w.in_loop, w.returns, dict(w.functions)
    default = f", u={w.whole(0)}" if w.chance(30) else ""
    with w.block(f"def {name}(v{default}):"):
        w.in_loop, w.returns = False, "value"
        w.bind_now("v", *(["u"] if default else []))
        w.functions.pop(name, None)
        w.statements(2, min(depth, 1))
        w.line(f"return {w.whole(1)}")
    w.bound, w.maybe, w.in_loop, w.returns, w.functions = kept
    w.functions[name] = 1


def local_lambda(w: Writer, depth: int) -> None:
    hidden = w.bound
    w.bind_now("v")
    body = w.whole(1)
    w.bound = hidden
    w.line(f"h = lambda v: {body}")
    w.functions["h"] = 1


GRAMMAR = Grammar(
    whole=(
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
    ),
    tests=(
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
    ),
    simple=(
        write,
        write,
        write,
        assign,
        augmented_write,
        augment,
        unpack,
        swap,
        leave_if,
        call_procedure,
        check,
    ),
    nested=(
        branch,
        branch,
        branch,
        matched,
        loop,
        loop,
        while_loop,
        local_function,
        local_lambda,
        attempt,
    ),
)
