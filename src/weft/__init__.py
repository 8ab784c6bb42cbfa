"""Weft: which algorithms can a transformer express, and which will it learn?

    express   write a `Program`, or take a `program` of the library; `run` it symbolically, one
              layer at a time, many inputs at once with `run_batch`, or `generate` with it
    compile   `compile` it into the exact weights of a PyTorch transformer, `prove` that they
              compute it, `save` and `load` models
    predict   `predict` from its minimal program whether training would find it
    learn     `train` a model on a `task`, `evaluate` it, and put all of this side by side in a
              `verdict`

Names are loaded when first used, so `import weft` is quick and needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.version import VERSION

if TYPE_CHECKING:
    from weft.compiler import Compiled as Compiled
    from weft.compiler import compile_program
    from weft.compiler import save as save
    from weft.compiler.prove import prove as prove
    from weft.errors import WeftError as WeftError
    from weft.interpreter.batched import BatchRun as BatchRun
    from weft.interpreter.batched import run_batch as run_batch
    from weft.interpreter.failures import StepError as StepError
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
    from weft.loading import load as load
    from weft.programs import program as program
    from weft.studies import verdict as verdict
    from weft.tasks import task as task
    from weft.theory import predict as predict
    from weft.training import evaluate as evaluate
    from weft.training import train as train

    compile = compile_program

_HOMES = {
    "weft.compiler": ["Compiled", "save"],
    "weft.loading": ["load"],
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
    "weft.compiler.prove": ["prove"],
    "weft.programs": ["program"],
    "weft.studies": ["verdict"],
    "weft.tasks": ["task"],
    "weft.theory": ["predict"],
    "weft.training": ["evaluate", "train"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_RENAMED = {"compile": ("weft.compiler", "compile_program")}  # `compile` is a builtin's name

__all__ = sorted([*_HOME_OF, *_RENAMED])
__version__ = VERSION


def __getattr__(name: str) -> Any:
    home, attribute = _RENAMED.get(name) or (_HOME_OF.get(name), name)
    if home is None:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    try:
        return getattr(import_module(home), attribute)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from weft.errors import WeftError

        raise WeftError(
            f"weft.{name} needs PyTorch", remedy="Install it with: pip install 'weftwork[torch]'"
        ) from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
