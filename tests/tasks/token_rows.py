"""Rows of tokens for tests: lists padded with 0, drawn by hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

rows = st.lists(st.lists(st.integers(5, 9), max_size=6), min_size=1, max_size=5)


def padded(lists: list[list[int]], width: int = 6) -> tuple[Any, Any]:
    """Rows of one width, and their lengths."""
    filled = [one + [0] * (width - len(one)) for one in lists]
    return np.array(filled), np.array([len(one) for one in lists])
