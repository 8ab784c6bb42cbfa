from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.ptg.inputs import check_inputs, read_inputs
from weft.ptg.language import BOOLEANS, INTEGERS, LISTS, Limits, Program, shown

NUMBERS = st.integers(-(10**6), 10**6)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(INTEGERS[:4], NUMBERS),
        **{name: st.booleans() for name in BOOLEANS[:4]},
        **{name: st.lists(NUMBERS, max_size=5).map(tuple) for name in LISTS[:4]},
    },
)


@given(values=VALUES, blank=st.sampled_from(["", " "]))
def test_inputs_are_read_back(values: dict, blank: str) -> None:  # type: ignore[type-arg]
    text = f",{blank}".join(f"{name}={shown(value)}" for name, value in values.items())
    assert read_inputs(text) == values
    spaced = text.replace("=", " = ").replace("[", "[ ").replace("]", " ]")
    assert read_inputs(f" {spaced} ") == values
    program = Program(tuple(values), ())
    limits = Limits(value=10**6)
    assert check_inputs(program, values, limits) == values
    assert list(check_inputs(program, dict(reversed(values.items())), limits)) == list(values)


@given(text=st.text(alphabet="ab=,[]- 0129cond_lstTrueFals\u0661\n", max_size=30))
def test_any_text_is_inputs_or_an_error(text: str) -> None:
    try:
        values = read_inputs(text)
    except WeftError:
        return
    for name, value in values.items():
        kind = bool if name.startswith("cond_") else tuple if name.startswith("lst_") else int
        assert type(value) is kind


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a", "the input cannot be read at 'a'"),
        ("a=", "the input gives '' for a"),
        ("a=1 b=2", "the input cannot be read at 'a=1 b=2'"),
        ("aa=1", "the input has an unknown variable 'aa'"),
        ("cond_a=1", "the input gives cond_a=1"),
        ("cond_a=true", "the input gives cond_a=true"),
        ("lst_a=1", "the input gives lst_a=1"),
        ("lst_a=[1,]", "the input gives '' for lst_a"),
        ("lst_a=[[1]]", "the input cannot be read at 'lst_a=[[1]]'"),
        ("lst_a=[True]", "the input gives 'True' for lst_a"),
        ("a=1e3", "the input gives '1e3' for a"),
        ("a=99999999999999999999", "the input gives '99999999999999999999' for a"),
        ("a=--1", "the input gives '--1' for a"),
        ("a=[1]", "the input gives '[1]' for a"),
        (",", "the input cannot be read at ','"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, what: str) -> None:
    with pytest.raises(WeftError) as caught:
        read_inputs(text)
    assert caught.value.what == what
