from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from random_source import random_source

from weft.ptg.language import BOOLEANS, INTEGERS, LISTS, RICH
from weft.ptg.parser import parse
from weft.ptg.source import canonical_source, source_hash, source_of

NAME = re.compile(r"\b(?:cond_|lst_|)[a-z]\b(?!\()")


def renamed(source: str, rng: random.Random) -> str:
    """The source with other names for all variables."""
    pools = {"": list(INTEGERS), "cond_": list(BOOLEANS), "lst_": list(LISTS)}
    for pool in pools.values():
        rng.shuffle(pool)
    names: dict[str, str] = {}
    for name in NAME.findall(source):
        prefix = name[:-1]
        names[name] = names.get(name) or pools[prefix].pop()
    return NAME.sub(lambda found: names[found[0]], source)


def without_comments(source: str) -> str:
    return "".join(f"{row}\n" for row in source.splitlines() if not row.lstrip().startswith("#"))


@given(seed=st.integers(0, 2000))
def test_the_hash_does_not_depend_on_names_and_comments(seed: int) -> None:
    source, _, _ = random_source(seed)
    other = renamed(source, random.Random(seed))
    parse(other, RICH)
    assert canonical_source(other) == canonical_source(source)
    assert source_hash(other) == source_hash(source)
    assert source_hash(without_comments(source)) == source_hash(source)


@given(seed=st.integers(0, 2000))
def test_the_canonical_source_is_a_program_and_canonical(seed: int) -> None:
    source, _, _ = random_source(seed)
    canonical = canonical_source(source)
    assert source_of(parse(canonical, RICH)) == canonical
    assert canonical_source(canonical) == canonical
    assert canonical.count("\n") == without_comments(source).count("\n")


def test_names_are_in_the_order_of_the_text() -> None:
    assert canonical_source(
        "def f(lst_z,f,cond_q):\n\tx = f + 1\n\ta = x\n\tcond_q = f == a\n\treturn\n"
    ) == ("def f(lst_a,a,cond_a):\n\tb = a + 1\n\tc = b\n\tcond_a = a == c\n\treturn\n")


def test_programs_that_differ_have_different_hashes() -> None:
    sources = {canonical_source(random_source(seed)[0]) for seed in range(500)}
    assert len({source_hash(source) for source in sources}) == len(sources) > 450
    swapped = ["def f(a,b):\n\ta = b\n\treturn\n", "def f(b,a):\n\ta = b\n\treturn\n"]
    assert source_hash(swapped[0]) != source_hash(swapped[1])


def test_all_names_of_a_kind_can_be_in_use() -> None:
    rows = [f"\t{name} = 1" for name in reversed(INTEGERS)]
    source = "\n".join(["def f():", *rows, "\treturn\n"])
    canonical = canonical_source(source)
    assert canonical.split("\n")[1:27] == [f"\t{name} = 1" for name in INTEGERS]
