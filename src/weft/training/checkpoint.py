"""Checkpoints: safetensors for all tensors, plain JSON for the rest, whole or not there.

A checkpoint is a folder that is written under another name and then renamed, so at any moment the
newest one that there is can be continued from.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.errors import WeftError
from weft.training.files import read_json, replaced, write_json

PREFIX = "checkpoint-"
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
    try:
        state = State(**read_json(there[-1] / "state.json"))
    except TypeError as error:
        raise WeftError(f"{there[-1].name} is of another version: {error}") from None
    return state, {file.stem: load_file(file) for file in there[-1].glob("*.safetensors")}


def without_optimiser(folder: Path) -> None:
    """Drop what only a run that goes on would need."""
    for checkpoint in found(folder):
        (checkpoint / "optimiser.safetensors").unlink(missing_ok=True)
