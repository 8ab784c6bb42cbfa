"""Random programs as source text, made into classes as if they stood in a file.

`programs()` draws a program of all kinds of variables and heads; `states(program)` a state of one
position, reachable or not; `inputs(program)` a batch of inputs.
"""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import weft
from random_steps import Declared, Draw, Grammar, Writer, literal
from random_syntax import GRAMMAR

LONGEST = 6
TOKENS = 3
MOST_STATES = 4000
BUCKETS = ([0, 1], [0, 0.25, 0.5, 1], [-1, 0, 2], [0.1, 0.2, 0.3], [1 / 3, 2 / 3], [0.5])
SETS = ([[], [0], [0, 1]], [[1], [0, 1, 2]], [[], [0, 2], [1]], [[0, 1]])

HEADER = """\
import functools

import weft

TABLE = (1, 2, 0)


def count_down(n):
    return 0 if n <= 0 else 1 + count_down(n - 2)


@functools.lru_cache(maxsize=None)
def cached(x, y):
    return x - y


def adder(k):
    def add(x):
        return x + k if x < 3 else k

    return add


add_two = adder(2)
double = lambda x: 2 * x  # noqa: E731

"""
FUNCTIONS = {"count_down": 1, "cached": 2, "add_two": 1, "double": 1, "helper": 2}

_numbers = itertools.count()


few = settings(
    max_examples=40,
    derandomize=True,  # the same programs every time; the slow variant draws new ones
    deadline=None,
    print_blob=True,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # the slow variant makes examples small
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
many = settings(few, max_examples=3000, derandomize=False, phases=list(Phase))


def make(source: str, name: str = "Random") -> Any:
    """The class of this name in the source, which `inspect` finds as if it stood in a file."""
    file = f"<random program {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "random_program"}
    exec(compile(source, file, "exec"), scope)
    scope[name].source_text = source
    return scope[name]


@st.composite
def programs(draw: Any, grammar: Grammar = GRAMMAR) -> weft.Program:
    """A program."""
    variables, declarations = _declarations(draw)
    source = HEADER + _helpers(draw, grammar, variables) + "\n".join(declarations) + "\n"
    writer = Writer(draw, grammar, variables, functions=dict(FUNCTIONS), procedures=("change",))
    writer.statements(6, 3)
    source += "\n    def step(z):\n" + "\n".join(writer.lines) + "\n"
    return make(source)()  # type: ignore[no-any-return]


def _helpers(draw: Draw, grammar: Grammar, variables: Sequence[Declared]) -> str:
    """A helper of values and a helper of the state."""
    functions = {name: count for name, count in FUNCTIONS.items() if name != "helper"}
    plain = Writer(draw, grammar, (), None, indent=1, functions=dict(functions), returns="value")
    plain.bind_now("x", "y")
    plain.budget = 4
    plain.statements(2, 1)
    plain.line(f"return {plain.whole(1)}")
    stateful = Writer(draw, grammar, variables, "s", indent=1, functions={**functions, "helper": 2})
    stateful.bind_now("v")
    stateful.returns = "value"
    stateful.budget = 4
    stateful.statements(2, 1)
    stateful.line(f"return {stateful.whole(1)}")
    lines = ["def helper(x, y=1):", *plain.lines, "", "", "def change(s, v):", *stateful.lines]
    return "\n".join([*lines, "", "", ""])


def _declarations(draw: Draw) -> tuple[list[Declared], list[str]]:
    lines = ["class Random(weft.Program):", f"    tokens = {TOKENS}", f"    positions = {LONGEST}"]
    lines += ["    causal = True"] if draw(st.booleans()) else []
    variables = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        size = draw(st.sampled_from((2, 3, 1, 4, 5)))
        variables.append(Declared(name, "var", tuple(range(size))))
        lines.append(f"    {name} = weft.var({size}{_initial(draw, variables[-1])})")
    if draw(st.booleans()):
        buckets = draw(st.sampled_from(BUCKETS))
        variables.append(Declared("x", "number", tuple(map(float, buckets))))
        lines.append(f"    x = weft.number({buckets}{_initial(draw, variables[-1])})")
    if draw(st.booleans()):
        variables.append(_subset(draw, variables))
        sets = [set(chosen) for chosen in variables[-1].values]
        size = variables[-1].size
        lines.append(f"    s = weft.subset({size}, {sets}{_initial(draw, variables[-1])})")
    heads = []
    for number in range(draw(st.integers(0, 3))):
        head, text = _head(draw, f"h{number}", variables)
        if math.prod(len(v.values) + v.is_head for v in (*variables, *heads, head)) <= MOST_STATES:
            heads.append(head)
            lines.append(text)
    lines.append(f"    output = {draw(st.sampled_from(_wholes(variables))).name}")
    return [*variables, *heads], [*lines, *_ending(draw, variables)]


def _wholes(variables: Sequence[Declared]) -> list[Declared]:
    return [v for v in variables if v.kind == "var"]


def _subset(draw: Draw, variables: Sequence[Declared]) -> Declared:
    """A set variable, of subsets of what some categorical variable may hold."""
    size = len(draw(st.sampled_from(_wholes(variables))).values)
    listed = draw(st.sampled_from(SETS))
    sets = dict.fromkeys(frozenset(i for i in chosen if i < size) for chosen in listed)
    return Declared("s", "subset", tuple(sets), size=size)


def _initial(draw: Draw, variable: Declared) -> str:
    """From the token, the position or a constant."""
    listed = "".join(f"{text}, " for text in variable.literals)
    by = draw(st.sampled_from(("token", "position", "default")))
    if by == "default":
        return f", default={literal(draw(st.sampled_from(variable.values)))}"
    return f", {by}=lambda given: ({listed})[given % {len(variable.values)}]"


def _head(draw: Draw, name: str, variables: Sequence[Declared]) -> tuple[Declared, str]:
    value = draw(st.sampled_from([v for v in variables if v.kind != "subset"]))
    values, output = value.values, ""
    if draw(st.integers(0, 3)) == 3:
        if value.kind == "number":
            buckets = draw(st.sampled_from(BUCKETS))
            values, output = tuple(map(float, buckets)), f", output=weft.number({buckets})"
        else:
            values = tuple(range(len(values) + 1))
            output = f", output=weft.var({len(values)})"
    head = Declared(name, value.kind, values, is_head=True)
    if draw(st.booleans()):
        offset = draw(st.sampled_from((0, -1, 1, -2, 3)))
        return head, f"    {name} = weft.relative({value.name}, {offset}{output})"
    key = draw(st.sampled_from(_wholes(variables)))
    queries = [v for v in variables if (v.size or len(v.values)) == len(key.values)]
    query = draw(st.sampled_from([v for v in queries if v.kind != "number"]))
    offsets = draw(st.sampled_from((None, {-1, 0}, {0}, {1, -2}, {-1, 0, 1})))
    mask = f", relative={offsets}" if offsets else ""
    arguments = f"{query.name}, {key.name}, {value.name}{mask}{output}"
    return head, f"    {name} = weft.attend({arguments})"


def _ending(draw: Draw, variables: Sequence[Declared]) -> list[str]:
    """A halting condition, or a number of layers."""
    if draw(st.booleans()):
        return [f"    layers = {draw(st.integers(0, 3))}"]
    watched = draw(st.sampled_from(_wholes(variables)))
    return [f"    halt = {watched.name} == {draw(st.sampled_from(watched.values))}"]


@st.composite
def states(draw: Any, program: weft.Program) -> dict[str, Any]:
    """What one position may hold when a step begins, reachable or not."""
    state = {}
    for name, variable in program.variables.items():
        values = list(variable.range.values)
        undefined = variable.is_head and draw(st.integers(0, 5)) == 5
        state[name] = weft.UNDEFINED if undefined else draw(st.sampled_from(values))
    return state


def all_states(program: weft.Program) -> list[dict[str, Any]]:
    """Every state that a position may be in when a step begins."""
    columns = [
        (*variable.range.values, weft.UNDEFINED) if variable.is_head else variable.range.values
        for variable in program.variables.values()
    ]
    return [dict(zip(program.variables, row, strict=True)) for row in itertools.product(*columns)]


def batches() -> st.SearchStrategy[list[list[int]]]:
    """Inputs of different lengths, empty ones included."""
    tokens = st.lists(st.integers(0, TOKENS - 1), max_size=LONGEST)
    return st.lists(tokens, min_size=1, max_size=5)
