"""Bad values, broken folders and broken programs, generated from a seed; and `invoke`.

Commands and options are read from the command line itself, so that new ones are attacked too.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, get_args, get_type_hints

import weft
import weft.cli
from weft.crasp import library
from weft.crasp.construction import compile_crasp
from weft.crasp.model_files import save_crasp
from weft.tasks.recursion.prompts import PromptSettings, write_prompts

LIMIT = 120
"""Seconds for one invocation, on a machine that is busy with other things."""


NOTES = ("result.json", "traceback.txt")
"""In these, a run that fails after its first step says why; that is not left behind, but kept."""


class TooSlow(BaseException):
    """An invocation did not end."""


@dataclass(frozen=True)
class Outcome:
    arguments: tuple[str, ...]
    code: int
    out: str
    err: str
    new: tuple[str, ...]

    def check(self) -> None:
        """No traceback, no other exit code, one line for a mistake, and nothing left behind."""
        said = f"weft {' '.join(map(repr, self.arguments))}\n{self.err}"
        assert self.code in (0, 1, 2), said
        assert "Traceback" not in self.err, said
        assert "[Errno" not in self.err, said
        if self.code == 2:
            assert self.err.startswith("weft: "), said
            assert len(self.err.rstrip("\n").splitlines()) == 1, said
            left = [path for path in self.new if os.path.basename(path) not in NOTES]
            assert not left, f"{said}left behind: {left}"


def invoke(*arguments: str) -> Outcome:
    """Run the command line in this process and folder, as `main` does it.

    What it has written is removed again.
    """
    out, err = io.StringIO(), io.StringIO()
    before, argv = _files(), sys.argv
    sys.argv = ["weft", *arguments]
    code: Any = 0
    try:
        with _limited(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            weft.cli.main()
    except SystemExit as exit:
        code = exit.code or 0
    finally:
        sys.argv = argv
    new = sorted(_files() - before)
    for path in new:
        if os.path.lexists(path):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    return Outcome(arguments, code, out.getvalue(), err.getvalue(), tuple(new))


def _files() -> set[str]:
    found = set()
    for folder, folders, files in os.walk("."):
        folders[:] = [one for one in folders if one != "__pycache__"]
        found |= {os.path.join(folder, one) for one in (*folders, *files)}
    return found


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(" ".join(sys.argv))

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# Commands and their options

TINY = ["steps=2", "batch=4", "evaluation.size=4", "model.width=8", "model.heads=2"]
TINY += ["model.hidden=8", "model.layers=1"]
TRAIN = ["parity", *TINY, "--quiet", "--runs", "runs", "--device", "cpu"]

BASES: dict[str, list[str]] = {
    "list": [],
    "run": ["parity", "101"],
    "rules": ["parity"],
    "show": ["parity"],
    "compile": ["parity"],
    "check": ["parity", "--samples", "2", "--max-length", "4"],
    "prove": ["model"],
    "subleq": ["count-down", "--no-weights"],
    "models": ["rotary"],
    "tasks": ["parity"],
    "traces": ["parity", "--samples", "2", "--max-length", "4"],
    "train": TRAIN,
    "eval": ["RUN", "--runs", "runs", "--size", "2", "--device", "cpu"],
    "runs": ["--runs", "runs"],
    "explain": ["RUN", "--runs", "runs"],
    "sweep": ["sweep.toml", "--list", "--runs", "runs"],
    "study": ["parity", "--report", "--runs", "runs"],
    "minimal": ["parity", "--train", "length<=3", "--size", "2", "--tests", "2"],
    "optimum": ["parity", "--samples", "2", "--max-length", "4"],
    "verdict": ["parity", "--tests", "2", "--examples", "2", "--runs", "runs", "--device", "cpu"],
    "crasp list": [],
    "crasp show": ["majority.crasp"],
    "crasp run": ["majority.crasp", "011"],
    "crasp equal": ["majority.crasp", "majority.crasp", "--length", "5"],
    "crasp simplify": ["majority.crasp", "--length", "5"],
    "crasp compile": ["majority.crasp", "--max-length", "5"],
    "crasp check": ["majority.crasp", "--samples", "2", "--max-length", "5"],
    "crasp positions": ["counting"],
    "ptg run": ["double.trace", "--input", "a=3, lst_a=[0,9]"],
    "ptg show": ["double.trace", "--input", "a=3, lst_a=[0,9]", "--trace", "written"],
    "ptg sample": ["tier=nano", "--size", "2"],
    "recursion iterate": ["RUN", "--runs", "runs", "--size", "2", "--device", "cpu"],
    "recursion prompts": ["successor", "--out", "new.jsonl", "--depths", "1"],
    "recursion finetune": ["adir", "--steps", "1", "--device", "cpu"],
    "recursion grade": ["prompts.jsonl", "answers.jsonl"],
    "regulariser": ["counting"],
    "predict": ["(aa)*", "--seconds", "1"],
    "reduce": ["successor", "XO X1 01"],
    "export": ["model", "exported"],
}
"""Arguments with which each command ends well and soon; a bad value is put after them."""

NUMBERS = ["-1", "", "x", "1.5", "nan", "inf", str(10**20), str(-(10**20)), "0x10", "1e400", "--"]
PATHS = [
    "afile", "afile/x", "adir/afile", "/dev/null", "/dev/null/x", "/proc/none/x", "loop", "loop/x",
    "", "n" * 300, "binary", "empty", "nowhere/x", "model/model.safetensors", "a\nb", "\udcff",
]  # fmt: skip
TEXTS = [
    *PATHS, *NUMBERS, "parity(", "parity)", "parity(x=1)", "parity(1)", "parity-absolute(positions",
    "parity-absolute(positions=-3)", "parity-absolute(positions='x')", "broken.py", "broken.py:No",
    "no.py", "=", "a=b=c", "steps>", "length<=0", "length=3..1", "addition(digits=0):train", "é∅",
    "parity(" + "(" * 300, "length=-3", "seed=-1", "steps=-5", "model.width=-1", ":", "..", "x=1",
    "model.width=1000000000000", "parameters.length=-1", "optimiser.lr=nan", "{}", "[", "'",
]  # fmt: skip


def commands() -> dict[str, Any]:
    """All commands, as Typer has parsed them."""
    return {name: weft.cli.built(name) for name in weft.cli.COMMANDS}


def invocations(command: str, each: int, seed: int = 0) -> list[list[str]]:
    """Arguments with one bad value: for every option, and in place of every argument."""
    rng = random.Random(f"{command} {seed}")
    base, found = BASES[command], []
    hints = get_type_hints(weft.cli.function_of(command))
    for parameter in weft.cli.built(command).params:
        flag = parameter.opts[0]
        if flag == "--help" or getattr(parameter, "is_flag", False):
            continue
        pool = _pool(hints[parameter.name])
        for value in rng.sample(pool, min(each, len(pool))):
            if parameter.param_type_name == "option":
                found.append([*command.split(), *base, flag, value])
                continue
            if base and not base[0].startswith("-"):
                found.append([*command.split(), value, *base[1:]])
            found.append([*command.split(), *base, value])
    return found


def _pool(hint: Any) -> list[str]:
    kinds = {hint, *get_args(hint)}
    if kinds & {int, float}:
        return NUMBERS
    return PATHS if Path in kinds else TEXTS


# A folder to work in

PROGRAM = '''
import sys
import weft

class P(weft.Program):
    """Turns every bit over."""
    tokens = ["a", "b"]
    bit = weft.var(2, token=lambda t: t == "b")
    output = bit
    layers = 1

    def step(z):
        z.bit = 1 - z.bit
'''
INIT = "layers = 1\n\n    def __init__(self):\n        "
METHODS = ("sample(self, rng, length)", "task(self, tokens)", "encode(self, text)",
           "decode(self, stream)")  # fmt: skip
BODIES = ("raise RuntimeError('no\\nway')", "sys.exit(3)", "return object()", "return None",
          "return [[]]", "return 1 / 0", "return ['q']", "return ''")  # fmt: skip
PROGRAMS = {
    "module raises": PROGRAM + "raise KeyError('x\\ny')",
    "module exits": PROGRAM + "sys.exit()",
    "module exits with text": PROGRAM + "sys.exit('bye')",
    "syntax": "class (",
    "indentation": "  x = 1\n y = 2",
    "nothing": "",
    "two": PROGRAM + PROGRAM.replace("class P", "class Q"),
    "null bytes": "\0",
    "import": "import no_such_module_at_all",
    "init raises": PROGRAM.replace("layers = 1", INIT + "raise KeyError('x')"),
    "init exits": PROGRAM.replace("layers = 1", INIT + "sys.exit('bye')"),
    "init wants more": PROGRAM.replace("layers = 1", INIT.replace("self", "self, n") + "pass"),
    "step raises": PROGRAM.replace("z.bit = 1 - z.bit", "raise RuntimeError('x')"),
    "step exits": PROGRAM.replace("z.bit = 1 - z.bit", "sys.exit(1)"),
    "token fails": PROGRAM.replace('t == "b"', "1 / 0"),
    "token exits": PROGRAM.replace('t == "b"', "sys.exit(1)"),
    "layers": PROGRAM.replace("layers = 1", "layers = -1"),
    "layers text": PROGRAM.replace("layers = 1", "layers = 'x'"),
    "positions": PROGRAM.replace("layers = 1", "layers = 1\n    positions = 'x'"),
    "one token": PROGRAM.replace('["a", "b"]', '["a"]'),
    "no tokens": PROGRAM.replace('["a", "b"]', "[]"),
    "no output": PROGRAM.replace("output = bit", ""),
    **{
        f"{method.partition('(')[0]}: {body}": f"{PROGRAM}\n    def {method}:\n        {body}\n"
        for method in METHODS
        for body in BODIES
    },
    **{
        f"{method.partition('(')[0]} {kind}": PROGRAM + line.format(method.partition("(")[0])
        for method in METHODS
        for kind, line in {
            "without parameters": "\n    def {}(self): return []\n",
            "is a number": "\n    {} = 3\n",
        }.items()
    },
}
ON_PROGRAMS = [
    ["run", "p.py", "ab"],
    ["run", "p.py", "ab", "--compiled", "--json"],
    ["check", "p.py", "--samples", "3", "--max-length", "4"],
    ["traces", "p.py", "--samples", "3", "--max-length", "4"],
    ["tasks", "p.py"],
    ["minimal", "p.py", "--train", "length<=3", "--size", "3", "--test", "length=2"],
    ["optimum", "p.py", "--samples", "3", "--max-length", "4"],
    ["compile", "p.py", "-o", "out"],
    ["show", "p.py"],
    ["rules", "p.py", "--json"],
    ["train", "p.py", *TRAIN[1:]],
    ["train", "parity", "--traces", "p.py", "--quiet", "steps=2", "--runs", "runs"],
]  # fmt: skip


def make_workspace(folder: Path) -> None:
    """Fill a folder with what commands read: good files, files that are none, a model, a run."""
    (folder / "afile").write_text("hello\n")
    (folder / "empty").write_text("")
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "loop").symlink_to("loop")
    (folder / "adir").mkdir()
    (folder / "adir" / "afile").write_text("hello\n")
    (folder / "broken.py").write_text("raise RuntimeError('broken')")
    (folder / "sweep.toml").write_text('task = "parity"\n[grid]\nseed = [0, 1]\n')
    (folder / "majority.crasp").write_text("alphabet 0 1\naccept := # Q_0 < # Q_1\n")
    source = "def f(a,lst_a):\n\ta = a + 1\n\tlst_a.append(a)\n\treturn\n"
    (folder / "double.trace").write_text(source)
    (folder / "written").write_text("L2,a:4\nL3,lst_a:[0,9]\nL4,\n")
    write_prompts(PromptSettings(depths=(1, 1), per_depth=1), folder / "prompts.jsonl")
    (folder / "answers.jsonl").write_text('{"id": 0, "answer": "XO X1 01"}\n')
    weft.save(weft.compile(weft.program("parity")), folder / "model", name="parity")
    local = compile_crasp(library.load("tomita-4"), max_length=5, form="absolute")
    save_crasp(local, folder / "counting")
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert weft_train() == 0
    finally:
        os.chdir(before)


def weft_train() -> int:
    from weft.tasks import named
    from weft.training import TrainingConfig, override, train

    name, parameters = named("parity")
    config = override(TrainingConfig(task=name, parameters=parameters), TINY)
    return int(train(config, runs="runs", device="cpu").status != "done")


def run_name() -> str:
    """The run of the workspace, which is the working directory."""
    return next(path.parent.name for path in Path("runs").glob("*/config.json"))


def filled(arguments: list[str]) -> list[str]:
    """Arguments with the name of the run."""
    return [run_name() if one == "RUN" else one for one in arguments]


# Broken folders

VALUES: list[Any] = [
    None, True, -1, 0, 1.5, "x", [], {}, [1], ["a"], {"a": 1}, 10**30, 10**12, float("nan"),
    float("inf"), [10**15], [[]], "", [None], -(10**18),
]  # fmt: skip
DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda data: None,
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "junk": lambda data: b"\xff" * 64,
    "longer": lambda data: data + b"}x",
    "huge header": lambda data: (2**62).to_bytes(8, "little") + data[8:],
    "nested": lambda data: b"[" * 100_000,
    "digits": lambda data: b"1" * 5000,
    "other JSON": lambda data: b"[1, 2]",
    "flipped": lambda data: bytes(255 - byte for byte in data),
}


def damage(folder: Path, rng: random.Random) -> str:
    """Break one file of a folder at random; says what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    file = rng.choice(files)
    if file.suffix == ".json" and rng.random() < 0.8:
        values = json.loads(file.read_text())
        place = rng.choice(list(_places(values)))
        value = rng.choice([KeyError, *VALUES])
        file.write_text(json.dumps(_replaced(values, place, value)))
        return f"{file.name} {place} = {value!r}"
    if rng.random() < 0.15:
        file.unlink()
        file.mkdir()
        return f"{file.name} is a folder"
    kind = rng.choice(list(DAMAGES))
    data = DAMAGES[kind](file.read_bytes())
    file.unlink()
    if data is not None:
        file.write_bytes(data)
    return f"{file.name} {kind}"


def _places(values: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values of nested dictionaries; of a list, to its first."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(values, dict):
        inner = list(values.items())
    elif isinstance(values, list) and values:
        inner = [(0, values[0])]
    for key, value in inner:
        yield (*before, key)
        yield from _places(value, (*before, key))


def _replaced(values: Any, place: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(values)
    owner = made
    for key in place[:-1]:
        owner = owner[key]
    if value is KeyError:
        del owner[place[-1]]
    else:
        owner[place[-1]] = value
    return made
