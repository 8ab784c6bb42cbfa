"""Dataclasses from plain values: unknown, missing and wrongly typed keys are named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from weft.config import from_plain, require
from weft.errors import WeftError


@dataclass(frozen=True, kw_only=True)
class Inner:
    share: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Outer:
    size: int
    name: str = ""
    flag: bool = False
    kind: Literal["a", "b"] = "a"
    widths: tuple[int, ...] = ()
    pair: tuple[float, float] = (0.0, 1.0)
    limit: int | None = None
    inner: Inner = Inner()
    shares: dict[str, float] | None = None


GOOD: dict[str, Any] = {
    "size": 3, "name": "x", "flag": True, "kind": "b", "widths": [1, 2], "pair": [0, 2.5],
    "limit": None, "inner": {"share": 1}, "shares": {"a": 0.5},
}  # fmt: skip


def test_plain_values_become_what_they_stand_for() -> None:
    made = from_plain(Outer, GOOD, "it")
    assert made == Outer(
        size=3, name="x", flag=True, kind="b", widths=(1, 2), pair=(0, 2.5), limit=None,
        inner=Inner(share=1), shares={"a": 0.5},
    )  # fmt: skip
    assert from_plain(Outer, {"size": 1}, "it") == Outer(size=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size": "3"}, "'size' is \"3\", not a whole number"),
        ({"size": True}, "'size' is true, not a whole number"),
        ({"size": 3.0}, "'size' is 3.0, not a whole number"),
        ({"size": None}, "'size' is null, not a whole number"),
        ({"name": 3}, "'name' is 3, not text"),
        ({"flag": 0}, "'flag' is 0, not true or false"),
        ({"kind": "c"}, "'kind' is \"c\", not one of a, b"),
        ({"kind": ["a"]}, "'kind' is ['a'], not one of a, b"),
        ({"widths": 3}, "'widths' is 3, not a list of whole numbers"),
        ({"widths": [1, "x"]}, "not a list of whole numbers"),
        ({"pair": [1]}, "not a list of 2 values"),
        ({"limit": "x"}, "not a whole number or null"),
        ({"inner": 3}, "'inner' is 3, not an object"),
        ({"inner": {"share": "x"}}, "'inner': 'share' is \"x\", not a number"),
        ({"shares": {"a": "x"}}, "'shares' is {'a': 'x'}, not an object of numbers or null"),
        ({"sizes": 3}, "has an unknown key 'sizes'. Did you mean 'size'?"),
        ({"name": "x" * 999}, None),
        ({"size": "x" * 999}, "xxx..., not a whole number"),
    ],
)
def test_wrong_values_are_named(change: dict[str, Any], said: str | None) -> None:
    if said is None:
        from_plain(Outer, {**GOOD, **change}, "it")
        return
    with pytest.raises(WeftError) as error:
        from_plain(Outer, {**GOOD, **change}, "it")
    assert said in error.value.line
    assert error.value.line.startswith("it")


def test_missing_keys_and_what_is_no_object_are_named() -> None:
    with pytest.raises(WeftError, match="it has no 'size'"):
        from_plain(Outer, {}, "it")
    for value in (None, [], 3, "x"):
        with pytest.raises(WeftError, match="not an object"):
            from_plain(Outer, value, "it")


def test_required_keys_are_checked_and_others_ignored() -> None:
    require({"a": 1, "b": object()}, {"a": int}, "it")
    with pytest.raises(WeftError, match="it has no 'a'"):
        require({}, {"a": int}, "it")
    with pytest.raises(WeftError, match="it: 'a' is null, not a whole number"):
        require({"a": None}, {"a": int}, "it")
