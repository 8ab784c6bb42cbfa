"""A first look at Weft, in a few seconds: write a program, run it, compile it, prove it.

    make demo

It writes a program into demo-out/, and shows the commands that it runs so that you can run them
yourself. Each step is a function; `STEPS` is their order.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from itertools import accumulate
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax

import weft

FOLDER = Path("demo-out")
FILE = FOLDER / "maximum.py"
INPUT = "31415"
LONGEST = 40
PER_LENGTH = 5

PROGRAM = '''\
"""The running maximum of a string of digits."""

import weft


class Maximum(weft.Program):
    """Every position finds the largest digit so far, one position per layer."""

    tokens = list(range(10))
    positions = 40

    best = weft.var(10, token=lambda t: t)
    done = weft.var(2, position=lambda i: i == 0)
    best_left = weft.relative(best, -1)
    done_left = weft.relative(done, -1)

    output = best
    halt = done == 1

    def step(z):
        if not z.done and z.done_left:
            z.best = max(z.best, z.best_left)
            z.done = 1
'''

console = Console(highlight=False)


def write_program() -> None:
    """A program is a class: variables, heads, and a step that every position runs."""
    FOLDER.mkdir(exist_ok=True)
    FILE.write_text(PROGRAM, encoding="utf-8")
    console.print(Syntax(PROGRAM.rstrip(), "python", background_color="default"))


def run_it() -> None:
    """Run it as a transformer would. A star marks what a layer changed, ∅ an undefined head."""
    command("run", str(FILE), INPUT, "--trace")


def show_rules() -> None:
    """What the step does, as guarded updates, and the transition rules that they expand to."""
    command("rules", str(FILE), "--updates")
    command("rules", str(FILE), "--variable", "best", "--limit", "5")


def check() -> None:
    """Both interpreters against plain Python, on random inputs of 1 to 40 digits."""
    rng = random.Random(0)
    inputs = [rng.choices(range(10), k=n) for n in range(1, LONGEST + 1) for _ in range(PER_LENGTH)]
    expected = [tuple(accumulate(digits, max)) for digits in inputs]
    program = weft.program(str(FILE))
    weft.run_batch(program, ["0"])  # derives the rules and loads NumPy, which is not timed

    start = time.perf_counter()
    reference = [weft.run(program, digits).outputs for digits in inputs]
    middle = time.perf_counter()
    batched = weft.run_batch(program, inputs).outputs
    end = time.perf_counter()

    report("reference interpreter", reference, expected, middle - start)
    report("batched interpreter", batched, expected, end - middle)
    if not reference == batched == expected:
        sys.exit("the interpreters and Python disagree")


def compile_it() -> None:
    """Into the weights of a transformer; then a proof from these weights, and a run of them."""
    model = str(FOLDER / "maximum")
    command("compile", str(FILE), "-o", model, "--explain")
    command("prove", model)
    command("run", model, INPUT)
    command("check", str(FILE), "--samples", "100", "--max-length", str(LONGEST))


STEPS = (write_program, run_it, show_rules, check, compile_it)


def command(*arguments: str) -> None:
    """Show a command and run it."""
    console.print(f"[bold]$ weft {' '.join(arguments)}[/bold]")
    subprocess.run([sys.executable, "-m", "weft", *arguments], check=True)
    console.print()


def report(name: str, found: list, expected: list, seconds: float) -> None:
    agreed = sum(one == other for one, other in zip(found, expected, strict=True))
    console.print(f"{name:<22} {agreed} of {len(expected)} agree with Python ({seconds:.2f} s)")


def say_what_next() -> None:
    console.rule("[bold]next", align="left")
    console.print(
        f"Edit {FILE} (max to min, say) and run it again:\n"
        f"  .venv/bin/weft run {FILE} 271828 --trace\n"
        "Ask whether training would find it, and train from its traces:\n"
        f"  .venv/bin/weft verdict {FILE}\n"
        f"  .venv/bin/weft train {FILE} --traces {FILE} --small\n"
        "Look at a program of the library:\n"
        "  .venv/bin/weft list\n"
        "  .venv/bin/weft show addition\n"
        "  .venv/bin/weft run addition 58+67 --trace\n"
        "Read docs/language.md for the words of the language,\n"
        "docs/rules.md for what becomes of a step."
    )


def main() -> None:
    for number, step in enumerate(STEPS, 1):
        console.rule(f"[bold]{number}  {step.__name__.replace('_', ' ')}", align="left")
        console.print(f"{step.__doc__}\n", style="italic", markup=False)
        step()
        console.print()
    say_what_next()


if __name__ == "__main__":
    main()
