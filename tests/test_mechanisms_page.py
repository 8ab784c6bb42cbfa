"""The page of mechanisms: each has a section and a picture, and the pictures are today's."""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from weft.models.catalogue import mechanism
from weft.models.config import ATTENTIONS, POSITIONS

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
NAMES = (*POSITIONS, *ATTENTIONS)


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    drawn: dict[str, str] = runpy.run_path(str(DOCS / "pictures.py"))["pictures"]()
    return drawn


def sections() -> dict[str, str]:
    parts = re.split(r"^###? (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_has_a_section_with_a_formula_and_a_picture(name: str) -> None:
    text = sections()[name]
    assert text.count("```text") == 1
    assert f"](mechanisms/{name}.svg)" in text
    for part in ("- Numbers: ", "- Memory: "):
        assert part in text


def test_every_block_is_on_the_page() -> None:
    for name in ("pre", "post", "none", "swiglu", "gelu", "relu", "clipped", "encoder-decoder"):
        assert re.search(f'[`"]{name}[`"]', sections()["Blocks"]), name
    assert all(mechanism(f"canon-{place}").text for place in "ABCD")


def test_there_is_one_picture_for_each(pictures: dict[str, str]) -> None:
    assert set(pictures) == set(NAMES)
    assert {file.stem for file in (DOCS / "mechanisms").iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_current(name: str, pictures: dict[str, str]) -> None:
    written = (DOCS / "mechanisms" / f"{name}.svg").read_text(encoding="utf-8")
    assert pictures[name] == written, "draw it anew: make docs"


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_small_and_label_their_axes(name: str) -> None:
    file = DOCS / "mechanisms" / f"{name}.svg"
    assert file.stat().st_size < 20_000
    words = [text for text in ElementTree.parse(file).getroot().itertext() if text.strip()]
    assert words.count("query") == words.count("key") == 2
    assert "http" not in file.read_text(encoding="utf-8").replace("http://www.w3.org", "")
