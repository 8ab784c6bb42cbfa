"""Adafactor (Shazeer and Stern 2018) without momentum, as T5 used it.

    b   =  1 - t^-0.8
    R  <-  b R + (1 - b) mean over columns of g^2 + 1e-30        C the same over rows
    v   =  R C / mean(R);  for vectors  v <- b v + (1 - b) (g^2 + 1e-30)
    u   =  g / sqrt(v),  divided by max(1, rms(u))
    x  <-  (1 - lr decay) x - lr max(0.001, rms(x)) u

rms is the root mean square over a matrix. Learning rates are relative to the size of the weights;
0.01 is typical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from weft.training.optim.matrix_views import View

EPSILON, SMALLEST_RMS, POWER = 1e-30, 1e-3, 0.8


class Adafactor(Optimizer):
    """Adafactor for parameters of any shape; `views` says which hold several matrices or heads."""

    def __init__(
        self,
        params: Iterable[Any],
        views: dict[nn.Parameter, View],
        *,
        lr: float,
        weight_decay: float = 0.0,
    ) -> None:
        self.views = views
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group["lr"], group["weight_decay"])

    def _update(self, parameter: nn.Parameter, lr: float, decay: float) -> None:
        assert parameter.grad is not None
        view = self.views.get(parameter, View()) if parameter.dim() > 1 else None
        gradient = parameter.grad if view is None else view.matrices(parameter.grad)
        weight = parameter if view is None else view.matrices(parameter)
        update = gradient.float() * self._scale(parameter, gradient.float())
        update /= _rms(update).clamp(min=1.0)
        update *= lr * _rms(weight.float()).clamp(min=SMALLEST_RMS)
        parameter.mul_(1 - lr * decay)
        parameter.sub_(update if view is None else view.restored(update, parameter))

    def _scale(self, parameter: nn.Parameter, gradient: Tensor) -> Tensor:
        """1 / sqrt(v), where v is the running mean of squared gradients."""
        state = self.state[parameter]
        if "step" not in state:
            state["step"] = torch.zeros((), device=gradient.device)
        state["step"] += 1  # in place, like all state: a CUDA graph replays it
        new = state["step"] ** -POWER
        squares = gradient.square() + EPSILON
        if parameter.dim() < 2:
            return _running_mean(state, "squares", squares, new).rsqrt()
        rows = _running_mean(state, "rows", squares.mean(-1), new)
        columns = _running_mean(state, "columns", squares.mean(-2), new)
        shares = rows / rows.mean(-1, keepdim=True)
        return shares.rsqrt()[..., :, None] * columns.rsqrt()[..., None, :]


def _running_mean(state: dict[str, Tensor], name: str, value: Tensor, new: Tensor) -> Tensor:
    """Update the running mean `name` with a value of weight `new`; returns it."""
    if name not in state:
        state[name] = torch.zeros_like(value)
    return state[name].lerp_(value, new)


def _rms(values: Tensor) -> Tensor:
    """The root mean square of each matrix, or of a vector."""
    axes = (-2, -1) if values.dim() > 2 else tuple(range(values.dim()))
    return values.square().mean(axes, keepdim=True).sqrt() if axes else values.abs()
