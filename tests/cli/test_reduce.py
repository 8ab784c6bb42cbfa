"""`weft reduce`: definitions, reductions and their traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import execute, imported, weft
from weft.recursion import DEFINITIONS

MINE = """
from weft.recursion import Inductive, recursive

class Nat(Inductive):
    "Numbers."

class O(Nat):
    "0."

class S(Nat):
    before: Nat

@recursive
def double(n: Nat) -> Nat:
    "2 n."
    match n:
        case O(): return O()
        case S(b): return S(S(double(b)))
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_a_value() -> None:
    assert weft("reduce", "successor", "X1 X1 01") == "XO XO XO 01\n"
    assert weft("reduce", "successor", "01 X1 X1", "--order", "natural") == "01 XO XO XO\n"
    assert weft("reduce", "in-order", "(a(b EMPTY EMPTY)EMPTY)", "--style", "empty") == (
        "( b ( a EMPTY ) )\n"
    )


def test_a_trace_in_full() -> None:
    assert weft("reduce", "successor", "X1 XO 01", "--trace") == (
        "round  case  term\n"
        "    0        successor X1 XO 01\n"
        "    1  X1 b  XO successor XO 01\n"
        "    2  XO b  XO X1 01\n"
        "\n"
        "value after 2 rounds\n"
    )


def test_steps_in_full() -> None:
    body = "match n with 01 => XO 01 | XO b => X1 b | X1 b => XO (successor b)"
    assert weft("reduce", "successor", "X1 01", "--steps", "--rounds", "1") == (
        "round  case  term\n"
        "    0        successor X1 01\n"
        f"       delta  successor := fun n => {body}\n"
        "       beta   n := X1 01\n"
        "       iota   X1 b with b := 01\n"
        "    1  X1 b  XO successor 01\n"
        "\n"
        "not finished after 1 round\n"
    )


def test_parallel_rounds() -> None:
    letters = " ".join(f"Cons {letter}" for letter in "abcdefgh") + " Nil"
    one_by_one = weft("reduce", "reverse", letters, "--trace")
    parallel = weft("reduce", "reverse", letters, "--trace", "--parallel")
    assert one_by_one.splitlines()[-1] == "value after 45 rounds"
    assert parallel.splitlines()[-1] == "value after 24 rounds"
    assert "2 calls" in parallel


def test_only_some_functions_are_reduced() -> None:
    printed = weft(
        "reduce", "in-order", "Branch a Branch b Leaf Leaf Leaf", "--parallel", "--trace",
        "--only", "in-order", "--style", "flat",
    )  # fmt: skip
    assert [line.split("  ")[-1].strip() for line in printed.splitlines()[2:5]] == [
        "in_order Branch b Leaf Leaf a in_order Leaf",
        "in_order Leaf b in_order Leaf a",
        "b a",
    ]
    assert printed.endswith("normal form after 3 rounds\n")


def test_several_arguments() -> None:
    apart = weft("reduce", "add", "XO 01", "X1 01")
    assert apart == weft("reduce", "add", "XO 01 X1 01") == "X1 XO 01\n"
    natural = weft("reduce", "add", "01 XO", "01 X1", "--order", "natural")
    assert natural == weft("reduce", "add", "01 XO 01 X1", "--order", "natural") == "01 XO X1\n"
    assert weft("reduce", "append", "a b", "c", "--style", "flat") == "a b c\n"
    assert weft("reduce", "append", "", "c", "--style", "flat") == "c\n"


def test_arguments_may_hold_calls() -> None:
    assert weft("reduce", "successor", "X1 successor 01") == "XO X1 01\n"


def test_json() -> None:
    shown = json.loads(weft("reduce", "successor", "X1 01", "--json"))
    assert shown["definition"] == "successor"
    assert [one["term"] for one in shown["rounds"]] == [
        ["XO", "successor", "01"],
        ["XO", "XO", "01"],
    ]
    first = shown["rounds"][0]["calls"][0]
    assert [step["kind"] for step in first["steps"]] == ["delta", "beta", "iota"]
    assert first["equation"] == "successor (X1 b) = XO (successor b)"
    assert first["position"] == []
    assert shown["term"] == ["XO", "XO", "01"]
    assert shown["finished"] is True


def test_definitions_are_listed_and_shown() -> None:
    listed = weft("reduce")
    assert all(f"\n{name} " in listed for name in DEFINITIONS)
    assert max(map(len, listed.splitlines())) <= 80
    named = [one["name"] for one in json.loads(weft("reduce", "--json"))]
    assert named == list(DEFINITIONS)
    shown = weft("reduce", "in-order")
    assert "List = Nil | Cons Letter List" in shown
    assert "append Nil right = right" in shown
    assert "left-comb" in shown
    one = json.loads(weft("reduce", "successor", "--json"))
    assert one["equations"][0] == "successor 01 = XO 01"
    assert "... 671 more" in weft("reduce", "tree-insert")


def test_a_file_of_ones_own(mine: Path) -> None:
    assert weft("reduce", f"{mine}:double", "S S O") == "S S S S O\n"
    assert (
        weft("reduce", str(mine), "S O", "--trace").splitlines()[2] == "    1  S b   S S double O"
    )
    assert "double (S b) = S (S (double b))" in weft("reduce", str(mine))


REFUSED = {
    ("sucessor",): "there is no definition 'sucessor'. Did you mean 'successor'? Or name one in a "
    "file, as path/file.py:name",
    ("successor", "X1 Y"): "the argument 'n' of successor: token 2 is 'Y': there is no constructor "
    "'Y' of Positive. Known: 01, XO, X1",
    ("successor", "X1"): "the argument 'n' of successor: the term ends after token 1, where a "
    "Positive should follow. Constructors of Positive: 01, XO, X1",
    ("add", "01 01 01"): "the arguments of add: token 3 is '01': the Positive is complete without "
    "it. Remove what is too much, or check the number of arguments of the constructors",
    ("successor", "01", "01"): "successor: it takes 1 term (n: Positive), and is given 2. Put each "
    "term in quotation marks",
    ("in-order", "S O"): "the argument 'tree' of in_order: token 1 is 'S': there is no constructor "
    "'S' of Tree. Known: Leaf, Branch",
    ("successor", "01", "--style", "x"): "notation: style cannot be 'x'. Known: prefix, "
    "parenthesised, empty, bracket, flat",
    ("successor", "01", "--only", "add"): "successor does not call a function 'add'. Known: "
    "successor",
    ("reverse", "Cons a Cons b Nil", "--max-rounds", "2"): "the reduction takes more than 2 "
    "rounds. Give a smaller term, or raise max_rounds (--max-rounds)",
    ("successor", "01", "--rounds", "-1"): "invalid value for '--rounds -1': it must be at least "
    "0. See weft reduce --help",
}  # fmt: skip


@pytest.mark.parametrize("arguments", REFUSED)
def test_mistakes_are_one_line(arguments: tuple[str, ...]) -> None:
    done = execute(["reduce", *arguments])
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == f"weft: {REFUSED[arguments]}\n"


def test_a_definition_that_is_wrong_is_one_line_with_its_place(mine: Path) -> None:
    mine.write_text(MINE.replace("double(b)", "double(n)"))
    done = execute(["reduce", f"{mine}:double", "S O"])
    assert done.code == 2
    assert done.stderr == (
        "weft: double: the recursive call double n is not on a strict subterm of an argument "
        "(mine.py:18). Recurse on variables of the case's pattern\n"
    )


def test_torch_and_numpy_are_not_imported() -> None:
    modules = imported("reduce", "successor", "XO 01", "--trace")
    assert not {"torch", "numpy"} & set(modules)
