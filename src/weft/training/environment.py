"""The environment of a run: versions, device and commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from weft.errors import WeftError
from weft.version import VERSION

PACKAGES = ("torch", "numpy", "safetensors")


def device_of(name: str = "auto") -> torch.device:
    """A device by name; `auto` is a GPU if there is one, and under torchrun this process's own.

    Apple's GPUs (`mps`) are refused: losses are summed in float64, which they do not support.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        name = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    known = device is not None and (
        device.type == "cpu"
        or (device.type == "cuda" and (device.index or 0) < torch.cuda.device_count())
    )
    if device is None or not known:
        gpus = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        remedy = f"Give one of: {', '.join(['auto', 'cpu', *gpus])}"
        raise WeftError(f"there is no device '{name}' here", remedy=remedy)
    return device


def environment(device: torch.device) -> dict[str, Any]:
    """Versions, system, device and commit, to be stored with the results."""
    return {
        "weft": VERSION,
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "device": _described(device),
        "threads": torch.get_num_threads(),
        "commit": commit(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _described(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def commit() -> str | None:
    """The commit of Weft's source, with a + if files were changed; None outside a repository.

    Only a repository that tracks Weft itself counts, not one that it happens to be installed in. If
    the source was copied without its repository, set WEFT_COMMIT.
    """
    if given := os.environ.get("WEFT_COMMIT"):
        return given
    here = Path(__file__).parent
    try:
        known = _git(here, "ls-files", "--error-unmatch", Path(__file__).name)
        head = _git(here, "rev-parse", "--short=12", "HEAD") if known else ""
        changed = _git(here, "status", "--porcelain", "--untracked-files=no") if head else ""
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}{'+' if changed else ''}" if head else None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()
