"""Position products on their own: fits of p_i Wq Wk^T p_j to a function of the distance i - j.

Huang et al. (2025, appendix G.2) ask which position terms a head can learn from windows that are
shorter than the table. There is no task and no softmax:

    A = P Wq Wk^T P^T      P: positions x width    Wq, Wk: width x width

    loss = mean of (A_ij - T(i - j))^2 over the pairs j <= i of 64 random windows of 50 positions
           + 0.01 (mean P^2 + mean Wq^2 + mean Wk^2)

T is 2 log 50 where the target holds and 0 elsewhere. As in the published code, P starts uniform in
[-1, 1], Wq and Wk in [-1, 1] / sqrt(width), and Adam has a constant learning rate.

The published code gathers the windows of a batch and multiplies them one by one. Here A is computed
once per step, and each pair counts as often as the windows contain it, which is the same loss at a
fraction of the cost. All fits of one width are trained together, by batched matmuls.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from weft.config import check_bounds, content_hash, to_plain
from weft.errors import Interrupted, WeftError, check_known
from weft.files import Log, read_json, read_lines, write_json
from weft.tasks.arrays import Bools, Ints
from weft.training import checkpoint
from weft.training.environment import device_of, environment
from weft.training.interrupts import Interrupts

if TYPE_CHECKING:
    from jaxtyping import Float

FORMAT = 1
"""Part of every hash; raise it whenever a default or the computation changes."""
INIT, WINDOWS = range(2)  # independent random streams
RECORDS = 15
"""How many records a fit has."""
SAVE_EVERY = 60.0
NAMES = ("table", "query", "key")


def _primes(distances: Ints) -> Bools:
    largest = max(2, int(distances.max(initial=0)))
    prime = np.array([n > 1 and all(n % d for d in range(2, n)) for n in range(largest + 1)])
    return np.asarray(prime[np.maximum(distances, 0)])


TARGETS: Mapping[str, Callable[[Ints], Bools]] = {
    "j=i-1": lambda distances: distances == 1,
    "j=i-5": lambda distances: distances == 5,
    "j=i-25": lambda distances: distances == 25,
    "j>i-2": lambda distances: distances < 2,
    "i-j=0 mod 3": lambda distances: distances % 3 == 0,
    "i-j=2 mod 5": lambda distances: distances % 5 == 2,
    "j<i": lambda distances: distances > 0,
    "i-j prime": _primes,
}
"""By name, where a target holds, as a function of the distances i - j >= 0."""


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """One fit.

    Attributes:
        target: a name in `TARGETS`.
        width: dimensions of the position vectors, and of queries and keys.
        positions: number of position vectors.
        window: length of a training window.
        steps: number of steps.
        batch: windows per step.
        lr: learning rate of Adam.
        decay: coefficient of the mean squares of the parameters, part of the published loss.
        seed: seed of the initial values and of the windows.
    """

    target: str
    width: int
    positions: int = 200
    window: int = 50
    steps: int = 15_000
    batch: int = 64
    lr: float = 1e-3
    decay: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        check_known(self.target, TARGETS, f"there is no target '{self.target}'")
        bounds = {
            **dict.fromkeys(("width", "window", "batch", "steps"), (1.0, 1e9)),
            "positions": (1.0, 10_000.0), "seed": (0.0, 2.0**63 - 1),
            "lr": (0.0, 1e9), "decay": (0.0, 1e9),
        }  # fmt: skip
        check_bounds(self, bounds, "FitConfig")

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits; the name of its folder."""
        return content_hash(self, FORMAT)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of test windows: from the training length to three times that."""
        return tuple(self.window * half // 2 for half in range(2, 7))

    @property
    def height(self) -> float:
        """The value of the target where it holds."""
        return 2 * math.log(self.window)


@dataclass(frozen=True, kw_only=True)
class FitResult:
    """A finished fit.

    Attributes:
        test: by length, the mean squared error over all windows of that length.
        history: records of the training loss and of `test`, by step.
        seconds: its share of the time that the fits of its width took together.
    """

    test: Mapping[int, float]
    history: tuple[Mapping[str, Any], ...]
    seconds: float


def check_windows(config: FitConfig) -> None:
    """Refuse a config whose longest test windows do not fit the positions."""
    if config.lengths[-1] > config.positions:
        raise WeftError(
            f"there are {config.positions} positions, and tests have windows of "
            f"{config.lengths[-1]}",
            subject="FitConfig",
            remedy="Give at least three times as many positions as a window has",
        )


def target_values(config: FitConfig) -> Float[Tensor, "positions positions"]:
    """T(i - j) at [i, j], in float64; pairs j > i have no target and are set to 0."""
    places = np.arange(config.positions)
    distances = places[:, None] - places
    holds = TARGETS[config.target](np.maximum(distances, 0)) & (distances >= 0)
    return torch.from_numpy(holds * config.height)


def pair_weights(counts: Ints, window: int) -> Float[np.ndarray, "positions positions"]:
    """How many windows contain both i and j, for j <= i; 0 for j > i.

    Args:
        counts: how many windows start at each position that a window can start at.
        window: the length of a window.

    Example:
        >>> pair_weights(np.array([1, 2]), 2).tolist()
        [[1.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0, 2.0, 2.0]]
    """
    starts = len(counts)
    positions = starts + window - 1
    before = np.concatenate([[0], np.cumsum(counts)])  # windows that start before a position
    places = np.arange(positions)
    latest = before[np.minimum(places, starts - 1) + 1]  # that start at j or before
    earliest = before[np.clip(places - window + 1, 0, starts)]  # that end before i
    weights: Any = np.maximum(latest[None, :] - earliest[:, None], 0)
    return np.asarray(np.tril(weights), dtype=np.float64)


def products(
    table: Float[Tensor, "fits positions width"],
    query: Float[Tensor, "fits width width"],
    key: Float[Tensor, "fits width width"],
) -> Float[Tensor, "fits positions positions"]:
    """A = P Wq Wk^T P^T of every fit."""
    return (table @ query) @ (table @ key).transpose(1, 2)


def initial_values(config: FitConfig) -> dict[str, Tensor]:
    """The initial table, query and key matrix; the same for all targets."""
    rng = np.random.default_rng([INIT, config.seed, config.width])
    size, bound = config.width, config.width**-0.5
    shapes = {"table": (config.positions, size), "query": (size, size), "key": (size, size)}
    return {
        name: torch.from_numpy(
            rng.uniform(-1, 1, shape) * (1.0 if name == "table" else bound)
        ).float()
        for name, shape in shapes.items()
    }


def drawn_counts(config: FitConfig, step: int) -> Ints:
    """How many windows of a step start at each position."""
    starts = config.positions - config.window + 1
    rng = np.random.default_rng([WINDOWS, config.seed, step])
    return np.bincount(rng.integers(0, starts, config.batch), minlength=starts)


def run_fits(
    configs: Sequence[FitConfig],
    folder: Path,
    *,
    device: str = "auto",
    progress: Callable[[int], None] = lambda steps: None,
    save_every: float = SAVE_EVERY,
) -> dict[str, FitResult]:
    """Compute fits, resume interrupted ones, and read finished ones.

    Each fit has the folder `folder/HASH` with its config, a log and its result. Fits that differ
    only in their target, and have made the same number of steps, are trained together.

    Args:
        configs: the fits.
        folder: the folder of all fits.
        device: `cpu`, `cuda`, or `auto` for a GPU if there is one.
        progress: called with the number of steps that fits have made since the last call.
        save_every: seconds between checkpoints.

    Raises:
        Interrupted: a signal arrived; the last complete step of every fit is saved.
    """
    groups: dict[tuple[Any, ...], list[FitConfig]] = {}
    for config in configs:
        check_windows(config)
        place = folder / config.hash
        if (place / "result.json").exists():
            progress(config.steps)
            continue
        step = checkpoint.newest_step(place)
        progress(step)
        alike = tuple(value for name, value in to_plain(config).items() if name != "target")
        groups.setdefault((step, *alike), []).append(config)
    for (step, *_), group in groups.items():
        _train(group, int(step), folder, device_of(device), progress, save_every)
    return {config.hash: read_fit(folder / config.hash) for config in configs}


def read_fit(folder: Path) -> FitResult:
    """The result of a finished fit."""
    values = read_json(folder / "result.json")
    return FitResult(
        test={int(length): loss for length, loss in values["test"].items()},
        history=tuple(read_lines(folder / "metrics.jsonl")),
        seconds=values["seconds"],
    )


class _Stack:
    """Fits that differ only in their target, with one Adam over their stacked parameters."""

    def __init__(self, configs: Sequence[FitConfig], device: torch.device) -> None:
        self.configs, self.device = configs, device
        self.config = configs[0]  # of which only the target is particular
        initial = [initial_values(config) for config in configs]
        self.parameters = {
            name: torch.stack([each[name] for each in initial]).to(device).requires_grad_()
            for name in NAMES
        }
        values = torch.stack([target_values(config) for config in configs])
        self.targets = values.float().to(device)
        self.optimiser = torch.optim.Adam(self.parameters.values(), lr=self.config.lr, fused=True)
        causal = self.config.window * (self.config.window + 1) // 2
        self.pairs = self.config.batch * causal

    def losses(self, step: int) -> Float[Tensor, " fits"]:
        """The loss of every fit on the windows of a step."""
        weights = pair_weights(drawn_counts(self.config, step), self.config.window) / self.pairs
        errors = (products(**self.parameters) - self.targets).square()
        squares = sum(part.square().mean((1, 2)) for part in self.parameters.values())
        fitted = torch.einsum("fij,ij->f", errors, self._on_device(weights))
        return fitted + self.config.decay * squares

    def learn(self, step: int) -> Float[Tensor, " fits"]:
        """Take a step; returns the losses before it."""
        losses = self.losses(step)
        self.optimiser.zero_grad(set_to_none=True)
        losses.sum().backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return losses.detach()

    @torch.no_grad()
    def tests(self) -> list[dict[int, float]]:
        """By fit and length, the mean squared error over all windows of that length."""
        errors = (products(**self.parameters) - self.targets).double().square()
        columns = {}
        for length in self.config.lengths:
            weights = pair_weights(np.ones(self.config.positions - length + 1, np.int64), length)
            share = self._on_device(weights / weights.sum()).double()
            columns[length] = torch.einsum("fij,ij->f", errors, share).tolist()
        return [
            {length: losses[number] for length, losses in columns.items()}
            for number in range(len(self.configs))
        ]

    def _on_device(self, weights: Float[np.ndarray, "positions positions"]) -> Tensor:
        return torch.from_numpy(weights).float().to(self.device)

    def tensors(self, number: int) -> checkpoint.Files:
        """The parameters of one fit and the moments of its optimiser."""
        moments = {}
        for name, parameter in self.parameters.items():
            for moment in ("exp_avg", "exp_avg_sq"):
                if parameter in self.optimiser.state:
                    stored = self.optimiser.state[parameter][moment]
                    moments[f"{name}.{moment}"] = stored[number].clone()
        model = {name: part.detach()[number].clone() for name, part in self.parameters.items()}
        return {"model": model, "optimiser": moments}

    def restore(self, step: int, files: Sequence[checkpoint.Files]) -> None:
        """Load the checkpoints of all fits, in their order."""
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(torch.stack([each["model"][name] for each in files]))
                self.optimiser.state[parameter] = {
                    "step": torch.tensor(float(step), device=self.device),
                    **{
                        moment: torch.stack(
                            [each["optimiser"][f"{name}.{moment}"] for each in files]
                        ).to(self.device)
                        for moment in ("exp_avg", "exp_avg_sq")
                    },
                }


def _train(
    configs: Sequence[FitConfig],
    step: int,
    folder: Path,
    device: torch.device,
    progress: Callable[[int], None],
    save_every: float,
) -> None:
    """Train some fits from a step to the end."""
    places = [folder / config.hash for config in configs]
    stack, spent = _Stack(configs, device), 0.0
    for config, place in zip(configs, places, strict=True):
        place.mkdir(parents=True, exist_ok=True)
        write_json(place / "config.json", to_plain(config))
        write_json(place / "environment.json", environment(device))
    if step:
        loaded = [_loaded(place) for place in places]
        spent = loaded[0][0].seconds
        with checkpoint.restoring(places[0]):
            stack.restore(step, [files for _, files in loaded])
    steps = configs[0].steps
    every = max(1, steps // RECORDS)
    began = saved = time.perf_counter()

    def seconds() -> float:
        return spent + (time.perf_counter() - began) / len(configs)

    def save() -> None:
        state = checkpoint.RunState(step=step, seconds=seconds())
        for number, place in enumerate(places):
            checkpoint.save(place, state, stack.tensors(number))

    with ExitStack() as held, Interrupts() as interrupts, interrupts.held():
        logs = [Log(place / "metrics.jsonl", step) for place in places]
        for log in logs:
            held.callback(log.close)
        while step < steps:
            losses = stack.learn(step)
            step += 1
            progress(len(configs))
            if step % every == 0 or step == steps:
                _record(stack, logs, step, losses.tolist())
            if interrupts.number:
                save()
                raise Interrupted(
                    interrupts.number,
                    f"interrupted; {len(configs)} fits in {folder} are saved at step {step:,}; "
                    "the same command resumes them",
                )
            if time.perf_counter() - saved >= save_every and step < steps:
                save()
                saved = time.perf_counter()
        for number, (place, test) in enumerate(zip(places, stack.tests(), strict=True)):
            state = checkpoint.RunState(step=step, seconds=seconds())
            checkpoint.save(place, state, {"model": stack.tensors(number)["model"]})
            values = {"step": step, "test": test, "seconds": round(seconds(), 1)}
            write_json(place / "result.json", values)


def _loaded(place: Path) -> tuple[checkpoint.RunState, checkpoint.Files]:
    loaded = checkpoint.load(place)
    if loaded is None or "optimiser" not in loaded[1]:
        raise WeftError(f"{place} has no checkpoint", remedy="Delete it: the fit starts again")
    return loaded


def _record(stack: _Stack, logs: Sequence[Log], step: int, losses: Sequence[float]) -> None:
    for log, loss, test in zip(logs, losses, stack.tests(), strict=True):
        if not math.isfinite(loss):
            raise WeftError(f"a fit's loss is {loss} at step {step:,}", remedy="Give a smaller lr")
        log.append({"step": step, "loss": loss, "test": test})
