"""Where the published files of SCAN are: the environment says so.

WEFT_SCAN names the folder of the SCAN repository's files (tasks.txt, length_split/...),
WEFT_SCAN_MCD that of the index files mcd1.json to mcd3.json. They may be packed by gzip.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


def folder(variable: str, capfd: pytest.CaptureFixture[str]) -> Path:
    """The folder that the environment names; where it names none, the test is skipped, aloud."""
    named = os.environ.get(variable)
    if named is None:
        message = f"NOT COMPARED with the published files of SCAN: {variable} names no folder"
        with capfd.disabled():
            print(f"\n{message}", file=sys.stderr)
        pytest.skip(message)
    return Path(named)
