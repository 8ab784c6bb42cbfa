"""Weft: which algorithms can a transformer express, and which will it learn?

Write an algorithm as a `Program`, run it symbolically with `run`, one layer at a time, and see
every variable at every position. Names are loaded when first used, so `import weft` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.errors import WeftError as WeftError
    from weft.interpreter.batched import BatchRun as BatchRun
    from weft.interpreter.batched import run_batch as run_batch
    from weft.interpreter.errors import StepError as StepError
    from weft.interpreter.generate import generate as generate
    from weft.interpreter.reference import run as run
    from weft.interpreter.trace import Run as Run
    from weft.interpreter.trace import Trace as Trace
    from weft.language import UNDEFINED as UNDEFINED
    from weft.language import Program as Program
    from weft.language import Rule as Rule
    from weft.language import RuleSet as RuleSet
    from weft.language import Stream as Stream
    from weft.language import attend as attend
    from weft.language import number as number
    from weft.language import relative as relative
    from weft.language import subset as subset
    from weft.language import var as var
    from weft.programs import program as program

_HOMES = {
    "weft.errors": ["WeftError"],
    "weft.language": [
        "UNDEFINED",
        "Program",
        "Rule",
        "RuleSet",
        "Stream",
        "attend",
        "number",
        "relative",
        "subset",
        "var",
    ],
    "weft.interpreter": ["Run", "StepError", "Trace", "run"],
    "weft.interpreter.batched": ["BatchRun", "run_batch"],
    "weft.interpreter.generate": ["generate"],
    "weft.programs": ["program"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
