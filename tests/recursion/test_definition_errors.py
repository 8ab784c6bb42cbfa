"""Mistakes in types and functions: each is refused when it is defined, at its line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.extensions import load_file
from weft.recursion import Function

TYPES = '''
from weft.recursion import Inductive, Symbols, recursive

class Nat(Inductive):
    """Numbers."""

class O(Nat): """0."""

class S(Nat):
    before: Nat

class Letter(Symbols):
    alphabet = "a b c"

class Tree(Inductive):
    """Trees."""

class Leaf(Tree): """The empty tree."""

class Branch(Tree):
    label: Letter
    left: Tree
    right: Tree
'''


def load(folder: Path, source: str, name: str = "mine") -> object:
    path = folder / f"{name}.py"
    path.write_text(TYPES + textwrap.dedent(source))
    return load_file(path)


def refused(folder: Path, source: str) -> tuple[str, str]:
    """The message about a source, and the line that it points at."""
    with pytest.raises(WeftError) as caught:
        load(folder, source)
    where = caught.value.where
    assert where is not None, caught.value.line
    return caught.value.line, where.source_line().strip()


CASES: dict[str, tuple[str, str, str]] = {
    "missing case": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case S(b): return f(b)
        """,
        "no case matches f O",
        "def f(n: Nat) -> Nat:",
    ),
    "missing deep case": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(S(b)): return f(b)
        """,
        "no case matches f (S O)",
        "def f(n: Nat) -> Nat:",
    ),
    "missing pair": (
        """
        @recursive
        def f(m: Nat, n: Nat) -> Nat:
            match m, n:
                case O(), _: return n
                case S(a), S(b): return f(a, b)
        """,
        "no case matches f (S _) O",
        "def f(m: Nat, n: Nat) -> Nat:",
    ),
    "missing symbol": (
        """
        @recursive
        def f(x: Letter) -> Letter:
            match x:
                case Letter("a"): return Letter("b")
                case Letter("b"): return x
        """,
        "no case matches f c",
        "def f(x: Letter) -> Letter:",
    ),
    "same case twice": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return f(b)
                case S(c): return f(c)
        """,
        "cases 2 and 3 overlap: both match f (S _)",
        "case S(c): return f(c)",
    ),
    "wildcard behind a case": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case _: return n
        """,
        "cases 1 and 2 overlap: both match f O",
        "case _: return n",
    ),
    "variable behind a case": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case other: return other
        """,
        "cases 1 and 2 overlap",
        "case other: return other",
    ),
    "overlap within pairs": (
        """
        @recursive
        def f(m: Nat, n: Nat) -> Nat:
            match m, n:
                case O(), _: return n
                case _, O(): return m
                case S(a), S(b): return f(a, b)
        """,
        "both match f O O",
        "case _, O(): return m",
    ),
    "guard": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b) if b: return f(b)
                case S(b): return b
        """,
        "a case has a guard",
        "case S(b) if b: return f(b)",
    ),
    "or pattern": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O() | S(O()): return O()
                case S(S(b)): return f(b)
        """,
        "Write one case for each alternative",
        "case O() | S(O()): return O()",
    ),
    "as pattern": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b) as c: return c
        """,
        "not a pattern of an equation",
        "case S(b) as c: return c",
    ),
    "constructor without brackets": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O: return n
        """,
        "'O' without brackets is a variable, not the constructor",
        "case O: return n",
    ),
    "constructor of another type": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case Leaf(): return O()
                case S(b): return b
        """,
        "'Leaf' does not make a Nat",
        "case Leaf(): return O()",
    ),
    "arity of a pattern": (
        """
        @recursive
        def f(t: Tree) -> Nat:
            match t:
                case Leaf(): return O()
                case Branch(l, r): return f(l)
        """,
        "Branch takes 3, and has 2 here",
        "case Branch(l, r): return f(l)",
    ),
    "arity of a constructor": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return S()
                case S(b): return b
        """,
        "S takes 1, and is given 0",
        "case O(): return S()",
    ),
    "arity of a call": (
        """
        @recursive
        def f(m: Nat, n: Nat) -> Nat:
            match m:
                case O(): return n
                case S(b): return f(b)
        """,
        "f takes 2, and is given 1",
        "case S(b): return f(b)",
    ),
    "type of a result": (
        """
        @recursive
        def f(n: Nat) -> Tree:
            match n:
                case O(): return Leaf()
                case S(b): return b
        """,
        "'b' is a Nat, not a Tree",
        "case S(b): return b",
    ),
    "type of an argument": (
        """
        @recursive
        def f(t: Tree) -> Nat:
            match t:
                case Leaf(): return O()
                case Branch(x, l, r): return S(l)
        """,
        "'l' is a Tree, not a Nat",
        "case Branch(x, l, r): return S(l)",
    ),
    "type of a call's argument": (
        """
        @recursive
        def f(t: Tree) -> Nat:
            match t:
                case Leaf(): return O()
                case Branch(x, l, r): return f(x)
        """,
        "'x' is a Letter, not a Tree",
        "case Branch(x, l, r): return f(x)",
    ),
    "no annotation": (
        "@recursive\ndef f(n) -> Nat:\n    return n\n",
        "'n' has no type",
        "def f(n) -> Nat:",
    ),
    "no result type": (
        "@recursive\ndef f(n: Nat):\n    return n\n",
        "its result has no type",
        "def f(n: Nat):",
    ),
    "Python type": (
        "@recursive\ndef f(n: int) -> Nat:\n    return O()\n",
        "is not an inductive type",
        "def f(n: int) -> Nat:",
    ),
    "constructor as a type": (
        "@recursive\ndef f(n: S) -> Nat:\n    return O()\n",
        "is the constructor S",
        "def f(n: S) -> Nat:",
    ),
    "default": (
        "@recursive\ndef f(n: Nat, m: Nat = O()) -> Nat:\n    return m\n",
        "its parameters have defaults",
        "def f(n: Nat, m: Nat = O()) -> Nat:",
    ),
    "keyword only": (
        "@recursive\ndef f(n: Nat, *, m: Nat) -> Nat:\n    return m\n",
        "its parameters have defaults, or are not plain",
        "def f(n: Nat, *, m: Nat) -> Nat:",
    ),
    "no parameter": (
        "@recursive\ndef f() -> Nat:\n    return O()\n",
        "no parameter",
        "def f() -> Nat:",
    ),
    "two statements": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    m = S(n)\n    return m\n",
        "its body is not one statement",
        "return m",
    ),
    "loop": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    while True: pass\n",
        "its body is not a match statement",
        "while True: pass",
    ),
    "two statements in a case": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b):
                    c = b
                    return c
        """,
        "a case is not one return",
        "c = b",
    ),
    "match on a call": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match S(n):
                case O(): return O()
                case S(b): return b
        """,
        "a match is on parameters only",
        "match S(n):",
    ),
    "unknown name": (
        """
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return O()
                case S(b): return c
        """,
        "'c' is not a variable of this case",
        "case S(b): return c",
    ),
    "global value": (
        """
        zero = O()
        @recursive
        def f(n: Nat) -> Nat:
            match n:
                case O(): return zero
                case S(b): return b
        """,
        "'zero' is not a variable of this case",
        "case O(): return zero",
    ),
    "number": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return 3\n",
        "'3' is not a term",
        "return 3",
    ),
    "conditional": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return O() if n else n\n",
        "is not a term",
        "return O() if n else n",
    ),
    "lambda": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return (lambda m: m)(n)\n",
        "is not a constructor or a function by equations",
        "return (lambda m: m)(n)",
    ),
    "keyword": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return S(before=n)\n",
        "arguments are given by place",
        "return S(before=n)",
    ),
    "star": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return S(*n)\n",
        "arguments are given by place",
        "return S(*n)",
    ),
    "unknown symbol": (
        '@recursive\ndef f(n: Nat) -> Letter:\n    return Letter("z")\n',
        "this is not a symbol of Letter",
        'return Letter("z")',
    ),
    "type as a constructor": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return Nat(n)\n",
        "'Nat' is a type",
        "return Nat(n)",
    ),
    "second decorator": (
        "import functools\n@recursive\n@functools.cache\ndef f(n: Nat) -> Nat:\n    return n\n",
        "is not a plain Python function",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", [name for name in CASES if name != "second decorator"])
def test_a_mistake_in_a_function_is_refused_at_its_line(tmp_path: Path, case: str) -> None:
    source, message, line = CASES[case]
    said, shown = refused(tmp_path, source)
    assert message in said
    assert shown == line
    assert "mine.py:" in said


def test_a_second_decorator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="is not a plain Python function"):
        load(tmp_path, CASES["second decorator"][0])


TYPE_MISTAKES = {
    "empty type": (
        "class T(Inductive): pass\n@recursive\ndef f(t: T) -> T:\n    return t\n",
        "it has no constructors",
    ),
    "no base case": (
        "class T(Inductive): pass\nclass C(T):\n    inner: T\n@recursive\n"
        "def f(t: T) -> T:\n    return t\n",
        "it has no term",
    ),
    "no base case, mutually": (
        "class T(Inductive): pass\nclass U(Inductive): pass\nclass C(T):\n    inner: U\n"
        "class D(U):\n    inner: T\n@recursive\ndef f(t: T) -> T:\n    return t\n",
        "it has no term",
    ),
    "argument of a Python type": (
        "class T(Inductive): pass\nclass C(T):\n    inner: int\n@recursive\n"
        "def f(t: T) -> T:\n    return t\n",
        "is not an inductive type",
    ),
    "argument of an unknown type": (
        "class T(Inductive): pass\nclass C(T):\n    inner: 'Nowhere'\n@recursive\n"
        "def f(t: T) -> T:\n    return t\n",
        "is not an inductive type",
    ),
    "default": ("class T(Inductive): pass\nclass C(T):\n    inner: T = None\n", "has a default"),
    "method": (
        "class T(Inductive): pass\nclass C(T):\n    def f(self): return 1\n",
        "its body defines 'f'",
    ),
    "__new__": (
        "class T(Inductive): pass\nclass C(T):\n    inner: T\n"
        "    def __new__(cls, one): return one\n",
        "its body defines '__new__'",
    ),
    "__class_getitem__": (
        "class T(Inductive):\n    def __class_getitem__(cls, key): return cls\n",
        "its body defines '__class_getitem__'",
    ),
    "__match_args__": (
        "class T(Inductive): pass\nclass C(T):\n    __match_args__ = ()\n    inner: T\n",
        "its body defines '__match_args__'",
    ),
    "constructor of a constructor": ("class C(S): pass\n", "S is a constructor"),
    "two types": ("class C(Nat, Tree): pass\n", "belongs to one type"),
    "same token": (
        "class T(Inductive): pass\nclass C(T, token='x'): pass\nclass D(T, token='x'): pass\n",
        "that of C, too",
    ),
    "token with a blank": (
        "class T(Inductive): pass\nclass C(T, token='x y'): pass\n",
        "cannot be a token",
    ),
    "token of brackets": (
        "class T(Inductive): pass\nclass C(T, token='('): pass\n",
        "cannot be a token",
    ),
    "weight": (
        "class T(Inductive): pass\nclass C(T, weight=0):\n    inner: T\n",
        "its weight is 0",
    ),
    "type with a token": ("class T(Inductive, token='x'): pass\n", "a type has no token"),
    "type with arguments": ("class T(Inductive):\n    x: Nat\n", "a type has no arguments"),
    "alphabet with a constructor": ("class C(Letter): pass\n", "has an alphabet"),
    "alphabet": (
        "class A(Symbols): pass\n@recursive\ndef f(a: A) -> A:\n    return a\n",
        "its alphabet is None",
    ),
    "alphabet with the same letter": (
        "class A(Symbols):\n    alphabet = 'a a'\n@recursive\ndef f(a: A) -> A:\n    return a\n",
        "its alphabet is",
    ),
    "late constructor": (
        "@recursive\ndef f(n: Nat) -> Nat:\n    return n\nclass Late(Nat): pass\n",
        "Nat is complete: f uses it already",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TYPE_MISTAKES)
def test_a_mistake_in_a_type_is_refused(tmp_path: Path, case: str) -> None:
    source, message = TYPE_MISTAKES[case]
    with pytest.raises(WeftError) as caught:
        load(tmp_path, source)
    assert message in caught.value.line
    assert "mine.py:" in caught.value.line


def test_a_type_cannot_be_changed(tmp_path: Path) -> None:
    module = load(tmp_path, "")
    constructor = module.S  # type: ignore[attr-defined]
    with pytest.raises(WeftError, match="does not change"):
        constructor.before = 3
    with pytest.raises(AttributeError):
        constructor(module.O()).before = 3  # type: ignore[attr-defined]


def test_a_function_without_source_is_refused() -> None:
    space: dict[str, object] = {}
    exec("from weft.recursion import *\ndef f(n): return n", space)
    with pytest.raises(WeftError, match="its source is not available"):
        space["recursive"](space["f"])  # type: ignore[operator]


def test_types_of_definitions_within_a_function_are_found() -> None:
    from weft.recursion import Inductive, recursive

    class Bits(Inductive):
        """Bit strings."""

    class End(Bits):
        """The end."""

    class Bit(Bits):
        rest: Bits

    @recursive
    def even(bits: Bits) -> Bits:
        match bits:
            case End():
                return End()
            case Bit(rest):
                return odd(rest)

    @recursive
    def odd(bits: Bits) -> Bits:
        match bits:
            case End():
                return Bit(End())
            case Bit(rest):
                return even(rest)

    assert isinstance(even, Function)
    assert even.group == (even, odd)
    assert even(Bit(Bit(Bit(End())))) == even.evaluate(Bit(Bit(Bit(End())))) == Bit(End())


def test_wrong_terms_are_refused(tmp_path: Path) -> None:
    module = load(tmp_path, "@recursive\ndef f(n: Nat) -> Nat:\n    return S(n)\n")
    f, zero, leaf = module.f, module.O(), module.Leaf()  # type: ignore[attr-defined]
    for wrong in (leaf, 3, None, "O", (), f.call(zero)):
        with pytest.raises(WeftError, match="its argument 'n' is"):
            f(wrong)
        with pytest.raises(WeftError, match="its argument 'n' is"):
            f.evaluate(wrong)
        with pytest.raises(WeftError, match="its argument 'before' is"):
            module.S(wrong)  # type: ignore[attr-defined]
    with pytest.raises(WeftError, match="its argument 'n' is of type Tree"):
        f.call(leaf)
    with pytest.raises(WeftError, match=r"it takes 1 \(n\), and is given 2"):
        f(zero, zero)
    with pytest.raises(WeftError, match="it is a type"):
        module.Nat()  # type: ignore[attr-defined]
    with pytest.raises(WeftError, match="terms have no order"):
        assert zero < zero
    assert f.call(f.call(zero)).arguments == (f.call(zero),)
