"""Tasks by name, and what is said of wrong names and parameters."""

from __future__ import annotations

from typing import Any

import pytest

from weft.errors import WeftError
from weft.tasks import task


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: task("parrity"), "did you mean 'parity'?"),
        (lambda: task("parity", lenght=3), "Did you mean 'length'?"),
        (lambda: task("parity", length="3"), "Give it as int"),
        (lambda: task("parity", length=True), "Give it as int"),
        (lambda: task("parity", length=0), "Give at least 1"),
        (lambda: task("parity", length=40), "Give at least 41, more than length"),
        (lambda: task("parity", format="lm"), "Give one of: tag"),
        (lambda: task("parity", answer="lats"), "Did you mean 'last'?"),
        (lambda: task("parity", held_out=1.0), "Give a share between 0 and 1"),
        (lambda: task("parity", held_out=0), "Give a share between 0 and 1"),
        (lambda: task("scan", held_out=0).test_set("train", 5), "a larger `held_out`"),
        (lambda: task("scan", held_out=0).validation_set(5), "do not stop early"),
        (lambda: task("scan").batch("test", 0, 0, 1), "Train on another split"),
        (lambda: task("scan", longest=48), "Give less than 48"),
        (lambda: task("scan", split="mcd1"), "Give folder, which has"),
        (
            lambda: task("modular-addition", modulus=3, held_out=1e-9).test_set("unseen", 1),
            "larger modulus",
        ),
        (lambda: task("modular-addition").batch("unseen", 0, 0, 1), "Train on another split"),
        (lambda: task("copy", letters="aa"), "at least 2 distinct characters"),
        (lambda: task("copy", unique=True), "longer of at most 26"),
        (lambda: task("dyck", brackets="()["), "as in ()[]"),
        (lambda: task("dyck", length=10), "Give at least 16"),
        (lambda: task("addition", longer=5), "Give at least 6, more than digits"),
        (lambda: task("parity").batch("long", 0, 0, 1), "Did you mean 'longer'?"),
        (lambda: task("parity").test_set("xyz", 1), "Known: train, longer, more-ones"),
    ],
)
def test_mistakes_are_told_with_a_remedy(make: Any, told: str) -> None:
    with pytest.raises(WeftError) as caught:
        make()
    assert told.lower() in str(caught.value).lower()
