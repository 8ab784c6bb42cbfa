"""The page of mechanisms: each has a section and a picture, and the pictures are today's."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from weft.models.catalogue import mechanism
from weft.models.config import ATTENTIONS, POSITIONS
from weft.studies.plotting import svg_of

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
NAMES = (*POSITIONS, *ATTENTIONS)


QUICK = ("abacus", "swan", "forgetting")
"""The others are drawn by `make test-slow`."""


@pytest.fixture(scope="module")
def pictures() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "pictures.py"))


def sections() -> dict[str, str]:
    parts = re.split(r"^###? (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_has_a_section_with_a_formula_and_a_picture(name: str) -> None:
    text = sections()[name]
    assert text.count("```text") == 1
    assert f"](mechanisms/{name}.svg)" in text
    for part in ("- Precision: ", "- Memory: "):
        assert part in text


def test_every_block_is_on_the_page() -> None:
    for name in ("pre", "post", "none", "swiglu", "gelu", "relu", "clipped", "encoder-decoder"):
        assert re.search(f'[`"]{name}[`"]', sections()["Blocks"]), name
    assert all(mechanism(f"canon-{place}").text for place in "ABCD")


def test_there_is_one_picture_for_each(pictures: dict[str, Any]) -> None:
    assert set(pictures["PICTURES"]) == set(NAMES)
    assert {file.stem for file in (DOCS / "mechanisms").iterdir()} == set(NAMES)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in NAMES],
)
def test_pictures_are_current_and_label_their_axes(name: str, pictures: dict[str, Any]) -> None:
    figure = pictures["figure_of"](pictures["PICTURES"][name])
    written = (DOCS / "mechanisms" / f"{name}.svg").read_text(encoding="utf-8")
    assert svg_of(figure) == written, "draw it anew: make docs"
    labels = [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes]
    assert labels == [("key (token)", "query (token)")] * 2


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_small_and_need_no_network(name: str) -> None:
    file = DOCS / "mechanisms" / f"{name}.svg"
    assert file.stat().st_size < 80_000
    assert 'href="http' not in file.read_text(encoding="utf-8")
