"""Tasks from any definition: every part agrees with the calculus, pools are stable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.programs import program
from weft.recursion import Notation, decode_term, definition, encode_term
from weft.tasks import Task, task
from weft.tasks.recursion import Recursion

SMALL: dict[str, Any] = {"shortest": 2, "length": 4, "longer": 5, "pool": 1024}
OWN = '''
from weft.recursion import Inductive, recursive

class Nat(Inductive):
    "Numbers."
class O(Nat):
    "Zero."
class S(Nat):
    before: Nat

@recursive
def twice(n: Nat) -> Nat:
    """Two times n."""
    match n:
        case O():
            return O()
        case S(m):
            return S(S(twice(m)))
'''


def made(definition_: str, **parameters: Any) -> Task:
    return task("recursion", definition=definition_, **{**SMALL, **parameters})


def oracle(tree: Any) -> list[str]:
    """In-order traversal in plain Python."""
    if not tuple(tree):
        return []
    label, left, right = tree
    return [*oracle(left), label.symbol, *oracle(right)]


def test_traversals_are_those_of_plain_python() -> None:
    walks = made("in-order", notation="flat")
    kind = definition("in-order").parameters[0][1]
    for question, answer in walks.examples(walks.test_set("train", 100)):
        assert oracle(decode_term(question, kind)) == list(answer)


@pytest.mark.parametrize(
    ("name", "notation"),
    [("in-order", "flat"), ("pre-order", "empty"), ("reverse", "prefix"), ("append", "prefix")],
)
def test_every_part_has_the_answers_of_the_reference(name: str, notation: str) -> None:
    for part in ("evaluate", "atomic", "step", "trace", "rounds", "branch"):
        each = made(name, notation=notation, part=part)
        questions = list(each.examples(each.test_set("train", 20)))
        assert len(questions) == 20
        for question, answer in questions:
            assert each.reference(question) == answer


def test_combine_is_given_the_values_of_recursive_calls() -> None:
    each = made("post-order", part="combine")
    function = definition("post-order")
    tree, notation = function.parameters[0][1], Notation()
    for question, answer in each.examples(each.test_set("train", 40)):
        head, constructor, label, *lists = question
        assert (head, constructor) == (function.token, "Branch")
        sides = " ".join(lists).split("Nil")
        letters = [word for side in sides[:2] for word in side.split() if word != "Cons"]
        written = [word for word in answer if word not in ("Cons", "Nil")]
        assert written == [*letters, label]
    assert tree.constructors
    assert notation.style == "prefix"


def test_steps_of_held_out_terms_are_never_trained_on() -> None:
    each = made("in-order", part="step", notation="flat")
    drawn = {q for step in range(3) for q, _ in each.examples(each.batch("train", 0, step, 300))}
    for split in ("train", "longer"):
        tested = {question for question, _ in each.examples(each.test_set(split, 100))}
        assert tested
        assert not tested & drawn


def test_batches_repeat_and_depend_on_the_step() -> None:
    first, again = (made("reverse").batch("train", 0, 3, 50) for _ in range(2))
    assert first.content_hash == again.content_hash
    assert first.content_hash != made("reverse").batch("train", 0, 4, 50).content_hash


def test_splits_by_depth_and_shape() -> None:
    trees = task("recursion", definition="in-order", shortest=1, length=7, longer=9, deep=6)
    deepest = trees.test_set("deepest", 60).axes
    assert (deepest["depth"] >= deepest["size"]).all()
    assert trees.test_set("deep", 60).axes["depth"].min() >= 6
    left = trees.test_set("left", 60)
    for question, _ in trees.examples(left):
        assert "Leaf Branch" not in " ".join(question)
    limited = task("recursion", definition="in-order", shortest=1, length=7, longer=9, depth=4)
    assert limited.batch("train", 0, 0, 300).axes["depth"].max() <= 4


def test_shares_of_deep_inputs_are_added() -> None:
    parameters: dict[str, Any] = {"definition": "in-order", "shortest": 6, "length": 6, "longer": 7}
    usual = task("recursion", **parameters)
    more = task("recursion", **parameters, deepest_share=0.5)
    shares = [
        (each.draw("train", np.random.default_rng(0), 1000).axes["depth"] >= 6).mean()
        for each in (usual, more)
    ]
    assert shares[1] > shares[0] + 0.2


def test_a_definition_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    each = task("recursion", definition=f"{file}:twice", shortest=1, length=40, longer=60)
    for question, answer in each.examples(each.test_set("longer", 10)):
        assert len(answer) == 2 * len(question) - 1
    with pytest.raises(WeftError, match="no definition 'thrice'"):
        task("recursion", definition=f"{file}:thrice")


def test_programs_read_the_questions() -> None:
    walks = made("post-order", notation="flat", length=3, longer=4)
    walker = program("tree-walk(order=post, letters=abcdefghijklmnopqrstuvwxyz)")
    batch = walks.test_set("longer", 5)
    for text, (_, answer) in zip(walks.asked(batch), walks.examples(batch), strict=True):
        assert isinstance(text, str)
        assert walker.task(walker.encode(text)) == "".join(answer)


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("append", {"notation": "flat"}, "where one argument ends"),
        ("append", {"part": "combine"}, "one argument each"),
        ("in-order", {"part": "combine", "notation": "flat"}, "prefix notation"),
        ("post-order", {"format": "tag", "notation": "prefix", "part": "trace"}, "not aligned"),
    ],
)
def test_what_a_definition_has_not_is_refused(
    name: str, parameters: dict[str, Any], said: str
) -> None:
    with pytest.raises(WeftError, match=said):
        made(name, **parameters)


def test_answers_that_are_too_long_cannot_be_aligned() -> None:
    with pytest.raises(WeftError, match="room for one"):
        made("stutter", format="tag").batch("train", 0, 0, 50)


def test_written_terms_are_those_of_the_calculus() -> None:
    each = made("mirror", notation="parenthesised")
    assert isinstance(each, Recursion)
    kind, notation = definition("mirror").parameters[0][1], Notation("parenthesised")
    for question, answer in each.examples(each.test_set("train", 30)):
        tree = decode_term(question, kind, notation)
        assert tuple(encode_term(definition("mirror")(tree), notation)) == answer
