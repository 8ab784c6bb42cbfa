"""Checkpoints: safetensors for all tensors, JSON for the rest, written atomically.

A checkpoint is a folder that is written under another name and then renamed, so the newest one is
always complete. Tensors of more than 16 MiB are kept in several files (`shards`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from weft.config import from_plain
from weft.errors import WeftError
from weft.files import read_json, replaced, write_json
from weft.training.shards import Files as Files
from weft.training.shards import load_shards, save_shards, shard_files

PREFIX = "checkpoint-"
AGAIN = "Delete the run (weft runs NAME --delete) and train it again"


@dataclass(frozen=True, kw_only=True)
class RunState:
    """The state of a run besides its tensors.

    Attributes:
        step: number of steps so far.
        tokens: number of tokens so far.
        seconds: training time so far.
        loss: sum of losses since the last record.
        counted: number of steps since the last record.
        high: number of consecutive records above the divergence threshold.
        best: highest accuracy of the split that decides when to stop.
        best_step: the step at which it was reached.
        waited: number of evaluations since.
        ended: the status with which the run stopped early; empty while it runs.
        due: whether this step still has to be evaluated.
        rng: state of PyTorch's random number generator.
        cuda_rng: state of the GPU's generator.
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
    """The states of PyTorch's random number generators, of the CPU and of a GPU."""
    return torch.get_rng_state(), (
        torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    )


def set_random_state(state: RandomState, device: torch.device) -> None:
    """Set the states of PyTorch's random number generators."""
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)


def with_random(state: RunState, device: torch.device) -> RunState:
    """The run state with those of the random number generators, as plain numbers."""
    cpu, gpu = random_state(device)
    cuda_rng = () if gpu is None else tuple(gpu.tolist())
    return replace(state, rng=tuple(cpu.tolist()), cuda_rng=cuda_rng)


def restore_random(state: RunState, device: torch.device) -> None:
    """Set the random number generators to what a run state says."""
    cpu, gpu = (torch.tensor(rng, dtype=torch.uint8) for rng in (state.rng, state.cuda_rng))
    if len(cpu):
        set_random_state((cpu, gpu if len(gpu) and device.type == "cuda" else None), device)


def save(folder: Path, state: RunState, tensors: Files) -> Path:
    """Write a checkpoint of a run, delete older ones, and return its folder."""
    target = folder / f"{PREFIX}{state.step:09d}"
    if not target.exists():
        with replaced(target) as scratch:
            scratch.mkdir(parents=True)
            for name, values in tensors.items():
                save_shards(values, scratch, name)
            write_json(scratch / "state.json", asdict(state))
    for old in checkpoints(folder)[:-1]:
        shutil.rmtree(old)
    return target


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted(folder.glob(f"{PREFIX}*"))


def newest_step(folder: Path) -> int:
    """The step of the newest checkpoint of a run; 0 if there is none."""
    result = checkpoints(folder)
    return int(result[-1].name.removeprefix(PREFIX)) if result else 0


def load(folder: Path) -> tuple[RunState, Files] | None:
    """The newest checkpoint of a run; None if there is none."""
    result = checkpoints(folder)
    if not result:
        return None
    path = result[-1] / "state.json"
    state = from_plain(RunState, read_json(path, AGAIN), str(path), AGAIN)
    files = load_shards(result[-1], AGAIN)
    if "model" not in files:
        raise WeftError(f"{result[-1]} has no model.safetensors", remedy=AGAIN)
    return state, files


@contextmanager
def restoring(folder: Path) -> Iterator[None]:
    """Turn errors about tensors that do not fit the run's config into a `WeftError`."""
    try:
        yield
    except (RuntimeError, ValueError, LookupError, TypeError) as error:
        raise WeftError(
            f"the checkpoint of {folder} does not fit its config.json", remedy=AGAIN
        ) from error


def without_optimiser(folder: Path) -> None:
    """Delete optimiser states, which only a run that resumes needs."""
    for checkpoint in checkpoints(folder):
        for file in shard_files(checkpoint, "optimiser"):
            file.unlink()
