"""The picture of figure 4 shows the numbers that were measured."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_picture_is_current() -> None:
    spec = importlib.util.spec_from_file_location("figure4", DOCS / "figure4.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "figure4.svg").read_text(encoding="utf-8") == module.picture()
    for name, shares in json.loads((DOCS / "figure4.json").read_text()).items():
        assert name in module.NAMES
        assert all(0 <= share <= 100 for share in shares)
