"""Values of arguments and options, from text.

Recent versions of Typer convert values by Pydantic, whose import takes as long as everything else
that `weft run` imports. Weft's options are text, paths and bounded numbers, converted here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import typer

NUMBERS = {int: "an integer", float: "a number"}


class Conversion:
    """Converts the values of one argument or option; takes the place of Typer's own."""

    def __init__(self, annotation: Any, low: float | None, high: float | None) -> None:
        self.kind = next(iter(get_args(annotation)), annotation)
        self.low, self.high = low, high

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter, or of each if it may be repeated."""
        if param.multiple or param.nargs == -1:
            return tuple(self._converted(item, param, ctx) for item in value or ())
        return None if value is None else self._converted(value, param, ctx)

    def _converted(self, value: Any, param: Any, ctx: Any) -> Any:
        if self.kind is Path:
            return Path(value)
        if self.kind not in NUMBERS:
            return value
        try:
            number = self.kind(value)
        except ValueError:
            message = f"it must be {NUMBERS[self.kind]}"
            raise typer.BadParameter(message, ctx=ctx, param=param) from None
        if self.low is not None and not number >= self.low:  # which is so of nan, too
            raise typer.BadParameter(f"it must be at least {self.low}", ctx=ctx, param=param)
        if self.high is not None and not number <= self.high:
            raise typer.BadParameter(f"it must be at most {self.high}", ctx=ctx, param=param)
        return number


def without_pydantic(params: list[Any]) -> list[Any]:
    """Parameters with these conversions, if this version of Typer would import Pydantic."""
    for param in params:
        described = getattr(param, "type_descriptor", None)
        if described is not None:
            info = described.parameter_info
            conversion = Conversion(described.annotation, info.min, info.max)
            param.get_runtime_param = lambda conversion=conversion: conversion
    return params
