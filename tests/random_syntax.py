"""Statements of random steps, one small function a construct, and the grammar of them all."""

from __future__ import annotations

from hypothesis import strategies as st

from random_expressions import TESTS, WHOLE
from random_steps import Grammar, Writer

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
    w.line(f"{w.access(variable)} {w.pick(('+=', '-=', '^=', '//='))} {w.whole(1)}")
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
    w.line(f"{name} {w.pick(('+=', '-=', '|='))} {w.whole(1)}" if w.chance(70) else f"{name} *= 2")


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
    whole=WHOLE,
    tests=TESTS,
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
