"""Attempts to define functions that do not end, or that are not what they seem."""

from __future__ import annotations

import itertools
import textwrap
from pathlib import Path
from typing import Any

import pytest
from test_definition_errors import load

from weft.errors import WeftError
from weft.recursion import definition, next_term

ENDLESS = {
    "itself": "def f(n: Nat) -> Nat:\n    return f(n)\n",
    "same argument in a case": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return f(n)
        """,
    "same argument, rebuilt": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return f(S(b))
        """,
    "larger argument": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return f(S(S(b)))
        """,
    "a constant": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return f(S(O()))
        """,
    "a subterm in another constructor": """
        def f(t: Tree) -> Nat:
            match t:
                case Leaf(): return O()
                case Branch(x, l, r): return f(Branch(x, r, l))
        """,
    "its own result": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return f(f(b))
        """,
    "a call as the argument": """
        def g(n: Nat) -> Nat:
            return n

        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return f(g(b))
        """,
    "through a function below": """
        def f(n: Nat) -> Nat:
            return g(n)

        @recursive
        def g(n: Nat) -> Nat:
            return f(n)
        """,
    "through two functions below": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return g(b)

        @recursive
        def g(n: Nat) -> Nat:
            return h(n)

        @recursive
        def h(n: Nat) -> Nat:
            return f(S(n))
        """,
    "smaller in one direction, larger in the other": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return g(b)

        @recursive
        def g(n: Nat) -> Nat:
            return f(S(n))
        """,
    "exchanged arguments": """
        def f(m: Nat, n: Nat) -> Nat:
            match m:
                case O(): return n
                case S(a): return f(n, S(a))
        """,
    "one argument smaller, then the other grows": """
        def f(m: Nat, n: Nat) -> Nat:
            match m, n:
                case O(), _: return n
                case S(a), O(): return f(a, S(S(O())))
                case S(a), S(b): return f(S(S(a)), b)
        """,
    "one smaller each, in turn restored": """
        def f(m: Nat, n: Nat) -> Nat:
            match m:
                case O(): return n
                case S(a): return g(a, S(n))

        @recursive
        def g(m: Nat, n: Nat) -> Nat:
            match n:
                case O(): return m
                case S(b): return f(S(m), b)
        """,
    "exchanged through another": """
        def f(m: Nat, n: Nat) -> Nat:
            return g(n, m)

        @recursive
        def g(m: Nat, n: Nat) -> Nat:
            match m:
                case O(): return n
                case S(a): return f(S(a), n)
        """,
    "hidden in an argument": """
        def f(m: Nat, n: Nat) -> Nat:
            match m:
                case O(): return n
                case S(a): return f(a, f(m, n))
        """,
    "hidden in a constructor": """
        def f(n: Nat) -> Nat:
            return S(f(n))
        """,
    "second call of two": """
        def f(t: Tree) -> Nat:
            match t:
                case Leaf(): return O()
                case Branch(x, l, r): return g(f(l), f(t))

        @recursive
        def g(m: Nat, n: Nat) -> Nat:
            return m
        """,
    "a variable of the same name as the parameter's subterm": """
        def f(m: Nat, n: Nat) -> Nat:
            match m, n:
                case O(), b: return b
                case S(a), b: return f(b, b)
        """,
}


@pytest.mark.parametrize("case", ENDLESS)
def test_a_function_that_may_not_end_is_refused(tmp_path: Path, case: str) -> None:
    source = f"@recursive\n{textwrap.dedent(ENDLESS[case]).lstrip()}"
    with pytest.raises(WeftError) as caught:
        load(tmp_path, source)
    said = caught.value.line
    assert "strict subterm" in said or "make no argument smaller" in said, said
    assert caught.value.where is not None
    assert "return" in caught.value.where.source_line()


ENDING = {
    "on a subterm of a subterm": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(O()): return O()
                case S(S(b)): return f(b)
        """,
    "on a subterm that is built anew": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(O()): return O()
                case S(S(b)): return f(S(b))
        """,
    "on the second argument": """
        def f(m: Nat, n: Nat) -> Nat:
            match n:
                case O(): return m
                case S(b): return f(S(m), b)
        """,
    "exchanged, and smaller": """
        def f(m: Nat, n: Nat) -> Nat:
            match m:
                case O(): return n
                case S(a): return f(n, a)
        """,
    "either of two": """
        def f(m: Nat, n: Nat) -> Nat:
            match m, n:
                case O(), _: return n
                case S(a), O(): return f(a, n)
                case S(a), S(b): return f(m, b)
        """,
    "lexicographic (Ackermann)": """
        def f(m: Nat, n: Nat) -> Nat:
            match m, n:
                case O(), _: return S(n)
                case S(a), O(): return f(a, S(O()))
                case S(a), S(b): return f(a, f(m, b))
        """,
    "mutual, smaller in one direction": """
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return g(b)

        @recursive
        def g(n: Nat) -> Nat:
            return f(n)
        """,
    "through the value of another function": """
        def f(n: Nat, m: Nat) -> Nat:
            match n:
                case O(): return m
                case S(b): return g(h(m), b, m)

        @recursive
        def g(k: Nat, n: Nat, m: Nat) -> Nat:
            match k:
                case O(): return f(n, S(m))
                case S(_): return f(n, m)

        @recursive
        def h(n: Nat) -> Nat:
            match n:
                case O(): return S(O())
                case S(b): return b
        """,
}


@pytest.mark.parametrize("case", ENDING)
def test_a_function_that_ends_is_accepted_and_ends(tmp_path: Path, case: str) -> None:
    module: Any = load(tmp_path, f"@recursive\n{textwrap.dedent(ENDING[case]).lstrip()}")
    numbers = [module.O()]
    for _ in range(3):
        numbers.append(module.S(numbers[-1]))
    for given in itertools.product(numbers, repeat=module.f.arity):
        assert module.f(*given) == module.f.evaluate(*given)


DISGUISES = {
    "a plain Python function": (
        "def helper(n): return f(n)\n@recursive\ndef f(n: Nat) -> Nat:\n    return helper(n)\n",
        "'helper' is not a constructor or a function by equations",
    ),
    "a class that is called": (
        "class Helper:\n    def __new__(cls, n): return f(n)\n"
        "@recursive\ndef f(n: Nat) -> Nat:\n    return Helper(n)\n",
        "'Helper' is not a constructor or a function by equations",
    ),
    "a method of a function": (
        "@recursive\ndef g(n: Nat) -> Nat:\n    return n\n"
        "@recursive\ndef f(n: Nat) -> Nat:\n    return g.evaluate(n)\n",
        "'g.evaluate' is not a constructor or a function by equations",
    ),
    "its own method": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return f.evaluate(n)\n",
        "'f.evaluate' is not a constructor or a function by equations",
    ),
    "a parameter that shadows a function": (
        "@recursive\ndef f(f: Nat) -> Nat:\n    return f(f)\n",
        "'f' is a variable here, not a function",
    ),
    "a variable that shadows a constructor": (
        "@recursive\ndef f(n: Nat, S: Nat) -> Nat:\n    return S(n)\n",
        "'S' is a variable here, not a function",
    ),
    "a variable of a pattern that shadows a parameter": (
        "@recursive\ndef f(m: Nat, n: Nat) -> Nat:\n    match m:\n"
        "        case O(): return n\n        case S(n): return f(n, n)\n",
        "the variable 'n' is a parameter, too",
    ),
    "an assignment expression": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return (m := n)\n",
        "is not a term",
    ),
    "a parameter that patterns do not bind": (
        "@recursive\ndef f(_: Nat, n: Nat) -> Nat:\n    match n:\n        case O(): return _\n"
        "        case S(_): return _\n",
        "a parameter is named _",
    ),
    "a subscript": ("@recursive\ndef f(n: Nat) -> Nat:\n    return n[0]\n", "is not a term"),
    "an attribute of a term": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return n.before\n",
        "is not a term",
    ),
    "a default that is a call": (
        "@recursive\ndef g(n: Nat) -> Nat:\n    return n\n"
        "@recursive\ndef f(n: Nat, m: Nat = g(O())) -> Nat:\n    return m\n",
        "its parameters have defaults",
    ),
    "a nested function": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    def g(m): return f(m)\n    return g(n)\n",
        "its body is not one statement",
    ),
    "a generator": ("@recursive\ndef f(n: Nat) -> Nat:\n    yield n\n", "is not a match statement"),
    "a coroutine": ("@recursive\nasync def f(n: Nat) -> Nat:\n    return n\n", "not available"),
    "a global statement": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    global f\n    return f(n)\n",
        "its body is not one statement",
    ),
    "a mapping pattern": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    match n:\n        case {}: return n\n",
        "not a pattern of an equation",
    ),
    "a sequence pattern": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    match n:\n        case (b,): return b\n"
        "        case (): return n\n",
        "not a pattern of an equation",
    ),
    "a literal pattern": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    match n:\n        case 0: return n\n",
        "not a pattern of an equation",
    ),
    "a keyword pattern": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    match n:\n        case O(): return n\n"
        "        case S(before=b): return b\n",
        "given by place",
    ),
}


@pytest.mark.parametrize("case", DISGUISES)
def test_recursion_cannot_be_hidden(tmp_path: Path, case: str) -> None:
    source, message = DISGUISES[case]
    with pytest.raises(WeftError) as caught:
        load(tmp_path, source)
    assert message in caught.value.line


def test_a_name_that_changes_later_does_not_change_what_was_checked(tmp_path: Path) -> None:
    module: Any = load(
        tmp_path,
        """
        @recursive
        def g(n: Nat) -> Nat:
            return S(n)

        @recursive
        def f(n: Nat) -> Nat:
            return g(n)
        """,
    )
    module.g = lambda n: n
    assert module.f.evaluate(module.O()) == module.S(module.O())


def test_a_function_whose_callee_never_comes_cannot_be_used(tmp_path: Path) -> None:
    module: Any = load(tmp_path, "@recursive\ndef f(n: Nat) -> Nat:\n    return nowhere(n)\n")
    with pytest.raises(WeftError, match="there is no constructor or function 'nowhere'") as caught:
        module.f.evaluate(module.O())
    assert caught.value.where is not None
    assert caught.value.where.source_line().strip() == "return nowhere(n)"
    with pytest.raises(WeftError, match="nowhere"):
        definition(f"{tmp_path}/mine.py:f")


def test_the_fault_of_a_function_below_is_found_when_that_is_defined(tmp_path: Path) -> None:
    source = """
        @recursive
        def f(n: Nat) -> Nat:
            return later(n, n)

        @recursive
        def later(n: Nat) -> Nat:
            return n
        """
    with pytest.raises(WeftError, match="later takes 1, and is given 2") as caught:
        load(tmp_path, source)
    assert caught.value.where is not None
    assert caught.value.where.source_line().strip() == "return later(n, n)"


def test_a_function_that_failed_is_not_usable_afterwards(tmp_path: Path) -> None:
    source = """
        @recursive
        def f(n: Nat) -> Nat:
            return g(n)

        first = f
        try:
            @recursive
            def g(n: Nat) -> Nat:
                return f(n)
        except ValueError:
            pass
        """
    module: Any = load(tmp_path, source)
    with pytest.raises(WeftError, match="make no argument smaller"):
        module.first.evaluate(module.O())
    with pytest.raises(WeftError, match="make no argument smaller"):
        module.first(module.O())


GLOBAL_AND_LOCAL = """
@recursive
def g(n: Nat) -> Nat:
    return n

def make():
    @recursive
    def f(n: Nat) -> Nat:
        return g(n)

    @recursive
    def g(n: Nat) -> Nat:
        return S(n)

    return f
"""


def test_names_mean_what_they_mean_in_python(tmp_path: Path) -> None:
    module: Any = load(tmp_path, GLOBAL_AND_LOCAL)
    local = module.make()
    assert local(module.O()) == local.evaluate(module.O()) == module.S(module.O())
    endless = GLOBAL_AND_LOCAL.replace("return S(n)", "return f(n)")
    with pytest.raises(WeftError, match="make no argument smaller"):
        load(tmp_path, endless).make()  # type: ignore[attr-defined]


def test_a_function_in_a_class_is_refused(tmp_path: Path) -> None:
    source = """
        class Group:
            S = Leaf

            @recursive
            def f(n: Nat) -> Nat:
                return f(n)
        """
    with pytest.raises(WeftError, match="it stands in a class"):
        load(tmp_path, source)


def test_a_function_that_is_renamed_is_known_by_its_source(tmp_path: Path) -> None:
    source = """
        def f(n: Nat) -> Nat:
            return g(n)

        f.__name__ = "g"
        g = f
        f = recursive(f)
        """
    with pytest.raises(WeftError, match="'g' is not a constructor or a function by equations"):
        load(tmp_path, source)


def test_two_functions_that_are_written_alike_are_refused(tmp_path: Path) -> None:
    source = """
        @recursive
        def f(n: Nat) -> Nat:
            return n

        first = f

        @recursive
        def f(n: Nat) -> Nat:
            return first(n)
        """
    with pytest.raises(WeftError, match="its calls are written 'f', as are those of another"):
        load(tmp_path, source)
    with pytest.raises(WeftError, match="its calls are written 'S', as is a constructor of Nat"):
        load(tmp_path, '@recursive(token="S")\ndef f(n: Nat) -> Nat:\n    return n\n')


def test_too_many_arguments_to_check_are_refused(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(8)]
    rotated = "\n".join(
        f"@recursive\ndef f{k}({', '.join(f'{n}: Nat' for n in names)}) -> Nat:\n"
        f"    match n0:\n        case O(): return n1\n"
        f"        case S(b): return f{(k + 1) % 6}("
        f"{', '.join(['b', *names[1 + k % 3 : 8], *names[1 : 1 + k % 3]])})\n"
        for k in range(6)
    )
    load(tmp_path, rotated)  # n0 becomes smaller every time, whatever the others do


def nested(levels: int, inner: str = "b") -> str:
    return "S(" * levels + inner + ")" * levels


def test_deep_patterns_and_terms_are_refused_or_evaluated(tmp_path: Path) -> None:
    rows = "".join(f"        case {nested(k, 'O()')}: return O()\n" for k in range(39))
    source = "@recursive\ndef f(n: Nat) -> Nat:\n    match n:\n" + rows
    module: Any = load(tmp_path, f"{source}        case {nested(39)}: return {nested(38)}\n")
    number = module.O()
    for _ in range(60):
        number = module.S(number)
    assert module.f(number) == module.f.evaluate(number)
    assert next_term(module.f.call(number)) == module.f(number)
    with pytest.raises(WeftError, match="nested more than 40 levels deep"):
        load(tmp_path, f"{source}        case {nested(41)}: return b\n")
    with pytest.raises(WeftError, match="nested more than 40 levels deep"):
        load(tmp_path, f"@recursive\ndef f(b: Nat) -> Nat:\n    return {nested(80)}\n")


def test_cases_with_very_many_decisions_are_refused(tmp_path: Path) -> None:
    """The last parameters say which of the first ones counts: 2^16 decisions from left to right."""
    bits = 4
    names = [f"n{number}" for number in range(2**bits + bits)]
    rows = []
    for number in range(2**bits):
        code = ["S(_)" if number >> bit & 1 else "O()" for bit in range(bits)]
        for pattern in ("O()", "S(_)"):
            row = ["_"] * number + [pattern] + ["_"] * (2**bits - number - 1) + code
            rows.append(f"        case {', '.join(row)}: return n0\n")
    header = f"@recursive\ndef f({', '.join(f'{n}: Nat' for n in names)}) -> Nat:\n"
    source = f"{header}    match {', '.join(names)}:\n{''.join(rows)}"
    with pytest.raises(WeftError, match="its cases are too involved to be checked"):
        load(tmp_path, source)
    reordered = [*names[2**bits :], *names[: 2**bits]]
    rows = [
        row.replace("        case ", "").replace(": return n0\n", "").split(", ") for row in rows
    ]
    first = "".join(
        f"        case {', '.join([*row[2**bits :], *row[: 2**bits]])}: return n0\n" for row in rows
    )
    header = f"@recursive\ndef f({', '.join(f'{n}: Nat' for n in reordered)}) -> Nat:\n"
    load(tmp_path, f"{header}    match {', '.join(reordered)}:\n{first}")
