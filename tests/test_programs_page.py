"""The pages of the libraries say what their programs are and cost today."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_current() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))["page"]()
    written = (DOCS / "programs.md").read_text(encoding="utf-8")
    assert page == written, "write it anew: make docs"


def test_the_page_of_the_crasp_library_is_current() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))["crasp_page"]()
    written = (DOCS / "crasp-programs.md").read_text(encoding="utf-8")
    assert page == written, "write it anew: make docs"
