"""Checkpoints: safetensors for all tensors, plain JSON for the rest, whole or not there.

A checkpoint is a folder that is written under another name and then renamed, so at any moment the
newest one that there is can be continued from.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.config import from_plain
from weft.errors import WeftError
from weft.files import read_json, reason, replaced, write_json

PREFIX = "checkpoint-"
AGAIN = "Delete the run (weft runs NAME --delete) and train it again"
Files = dict[str, dict[str, Tensor]]


@dataclass(frozen=True, kw_only=True)
class State:
    """Where a run stands, beside its tensors.

    Attributes:
        step: how many steps were made; the next batch is the one after.
        tokens: how many tokens were read.
        seconds: how long it has been learning.
        loss: the sum of losses since the last record.
        counted: of how many steps.
        high: how many records running were above the divergence.
        best: the highest accuracy of the set that decides when it ends.
        best_step: when that was.
        waited: how many evaluations ago.
        ended: the status with which it ended early; empty while it goes on.
        due: whether the step is still to be evaluated.
        rng: the state of PyTorch's random numbers.
        cuda_rng: of those on the GPU.
    """

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    loss: float = 0.0
    counted: int = 0
    high: int = 0
    best: float = -1.0
    best_step: int = 0
    waited: int = 0
    ended: str = ""
    due: bool = False
    rng: tuple[int, ...] = ()
    cuda_rng: tuple[int, ...] = ()


RandomState = tuple[Tensor, Tensor | None]


def random_state(device: torch.device) -> RandomState:
    """The state of PyTorch's random numbers, and of those on a GPU."""
    return torch.get_rng_state(), (
        torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    )


def set_random_state(state: RandomState, device: torch.device) -> None:
    """Go on with random numbers from a state."""
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)


def with_random(state: State, device: torch.device) -> State:
    """The state with that of random numbers, as plain numbers."""
    state = replace(state, rng=tuple(torch.get_rng_state().tolist()))
    if device.type == "cuda":
        state = replace(state, cuda_rng=tuple(torch.cuda.get_rng_state(device).tolist()))
    return state


def restore_random(state: State, device: torch.device) -> None:
    """Go on with the random numbers of a state."""
    if state.rng:
        torch.set_rng_state(torch.tensor(state.rng, dtype=torch.uint8))
    if state.cuda_rng and device.type == "cuda":
        torch.cuda.set_rng_state(torch.tensor(state.cuda_rng, dtype=torch.uint8), device)


def save(folder: Path, state: State, tensors: Files) -> None:
    """Write a checkpoint of a run and drop those before it."""
    target = folder / f"{PREFIX}{state.step:09d}"
    if not target.exists():
        with replaced(target) as scratch:
            scratch.mkdir(parents=True)
            for name, some in tensors.items():
                plain = {key: value.contiguous() for key, value in some.items()}
                save_file(plain, scratch / f"{name}.safetensors")
            write_json(scratch / "state.json", asdict(state))
    for old in found(folder)[:-1]:
        shutil.rmtree(old)


def found(folder: Path) -> list[Path]:
    """The checkpoints of a run, the newest last."""
    return sorted(folder.glob(f"{PREFIX}*"))


def newest_step(folder: Path) -> int:
    """How many steps the newest checkpoint of a run has; 0 where there is none."""
    there = found(folder)
    return int(there[-1].name.removeprefix(PREFIX)) if there else 0


def load(folder: Path) -> tuple[State, Files] | None:
    """The newest checkpoint of a run; None where there is none."""
    there = found(folder)
    if not there:
        return None
    path = there[-1] / "state.json"
    state = from_plain(State, read_json(path, AGAIN), str(path), AGAIN)
    files = {file.stem: _tensors(file) for file in there[-1].glob("*.safetensors")}
    if "model" not in files:
        raise WeftError(f"{there[-1]} has no model.safetensors", remedy=AGAIN)
    return state, files


def _tensors(file: Path) -> dict[str, Tensor]:
    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise WeftError(f"{file} cannot be read: {reason(error)}", remedy=AGAIN) from None


@contextmanager
def restoring(folder: Path) -> Iterator[None]:
    """Tensors that do not fit the model of a run's config are an error that names the run."""
    try:
        yield
    except (RuntimeError, ValueError, LookupError, TypeError) as error:
        raise WeftError(
            f"the checkpoint of {folder} does not fit its config.json", remedy=AGAIN
        ) from error


def without_optimiser(folder: Path) -> None:
    """Drop what only a run that goes on would need."""
    for checkpoint in found(folder):
        (checkpoint / "optimiser.safetensors").unlink(missing_ok=True)
