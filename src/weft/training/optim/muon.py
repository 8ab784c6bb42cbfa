"""Muon (Jordan et al. 2024): orthogonalised momentum, for the matrices of layers.

    m  <-  beta m + (1 - beta) g
    u   =  beta m + (1 - beta) g                            Nesterov
    o   =  Newton-Schulz(u)                                 close to U V^T for u = U S V^T
    x  <-  (1 - lr decay) x - lr 0.2 sqrt(max(r, c)) o      rms as of AdamW (Liu et al. 2025)

Newton-Schulz runs five steps of x <- a x + (b A + c A^2) x with A = x x^T, on u / |u|. Singular
values come out between about 0.7 and 1.2, in bfloat16 as in float32.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from weft.training.optim.matrix_views import View

A, B, C = 3.4445, -4.7750, 2.0315
ROUNDS = 5


def orthogonalised(matrices: Tensor) -> Tensor:
    """Matrices (n r c) with all singular values close to 1; computed in bf16 on a GPU."""
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        gram = x @ x.mT
        x = A * x + (B * gram + C * gram @ gram) @ x
    result: Tensor = x.mT if tall else x
    return result.to(matrices.dtype)


class Muon(Optimizer):
    """Muon, for matrices only; `views` says which matrices each parameter holds."""

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        views: dict[nn.Parameter, View],
        *,
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
    ) -> None:
        self.views = views
        super().__init__(
            list(params), {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step; matrices of the same shape are orthogonalised together."""
        for group in self.param_groups:
            alike: dict[tuple[int, ...], list[tuple[nn.Parameter, Tensor]]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    update = self._pushed(parameter, group["momentum"])
                    alike[tuple(update.shape[-2:])].append((parameter, update))
            for shape, members in alike.items():
                scale = group["lr"] * 0.2 * max(shape) ** 0.5
                stacked = orthogonalised(torch.cat([update for _, update in members]))
                parts = torch.split(stacked, [len(update) for _, update in members])
                for (parameter, _), part in zip(members, parts, strict=True):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    step = self.views[parameter].restored(part, parameter)
                    parameter.sub_(step * scale)

    def _pushed(self, parameter: nn.Parameter, beta: float) -> Tensor:
        """The gradient with momentum, as matrices (n r c)."""
        state, gradient = self.state[parameter], parameter.grad
        assert gradient is not None
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        state["momentum"].lerp_(gradient, 1 - beta)
        return self.views[parameter].matrices(gradient.lerp(state["momentum"], beta))
