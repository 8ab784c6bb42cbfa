"""What the compiler relied on about a program. It is stored with the model.

The verifier (`compiler.proof`) does not repeat the compiler's passes. It checks these statements
against the program, and then the weights against the statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Certificate:
    """Statements about a program that its model rests on.

    Attributes:
        values: for each variable in the stream, the codes that it can have; for the output of a
            head, whenever the head is defined.
        left_out: variables that neither the output nor halting depends on.
        merged: heads that share the slot of an equal head, and which.
        inputs: the token numbers of the only inputs that the model is made for; None for all.
    """

    values: Mapping[str, tuple[int, ...]]
    left_out: tuple[str, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[tuple[int, ...], ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The certificate as plain values, for JSON."""
        return {
            "values": {name: list(codes) for name, codes in self.values.items()},
            "left_out": list(self.left_out),
            "merged": dict(self.merged),
            "inputs": None if self.inputs is None else [list(tokens) for tokens in self.inputs],
        }


def certificate_from_dict(stated: Any) -> Certificate:
    """A certificate from plain values; `ValueError` if they are not those of one."""
    try:
        inputs = stated["inputs"]
        return Certificate(
            values={_text(name): _numbers(codes) for name, codes in stated["values"].items()},
            left_out=tuple(_text(name) for name in stated["left_out"]),
            merged={_text(name): _text(into) for name, into in stated["merged"].items()},
            inputs=None if inputs is None else tuple(_numbers(tokens) for tokens in inputs),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a name")
    return value


def _numbers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{values!r} is not a list")
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise TypeError(f"{value!r} is not a code")
    return tuple(values)
