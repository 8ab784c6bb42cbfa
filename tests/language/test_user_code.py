"""What a user's own code does wrong is one error, with the user's line."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.errors import WeftError
from weft.language.user_code import (
    decode_stream,
    encode_text,
    expected_answer,
    sample_input,
    user_code,
)


class Flip(weft.Program):
    """Turns every bit over."""

    tokens = ["a", "b"]
    bit = weft.var(2, token=lambda t: t == "b")
    output = bit
    layers = 1

    def step(z):
        z.bit = 1 - z.bit


def program(**methods: Any) -> weft.Program:
    """`Flip` with other methods."""
    kind = type("Flip", (Flip,), {})
    for name, value in methods.items():
        setattr(kind, name, value)
    return kind()


def raising(error: BaseException) -> Any:
    def method(*given: Any) -> Any:
        raise error

    return method


RNG = random.Random(0)
CALLS = {
    "sample": lambda p: sample_input(p, RNG, 3),
    "task": lambda p: expected_answer(p, ["a"]),
    "encode": lambda p: encode_text(p, "ab"),
    "decode": lambda p: decode_stream(p, weft.run(Flip, "ab").stream),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("method", "said"),
    [
        (raising(RuntimeError("no\nway")), "RuntimeError: no way"),
        (raising(KeyError("x")), "KeyError: 'x'"),
        (raising(SystemExit(3)), "it calls sys.exit"),
        (lambda: None, "TypeError"),
        (3, "is 3, not a method"),
    ],
)
def test_every_failure_names_the_method_and_the_reason(name: str, method: Any, said: str) -> None:
    with pytest.raises(WeftError) as error:
        CALLS[name](program(**{name: method}))
    line = error.value.line
    assert said in line
    assert f"its {name}" in line
    assert "\n" not in line
    assert isinstance(error.value.__cause__, BaseException) or "not a method" in said


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (17, "returns 17, not a list of tokens"),
        (None, "returns None, not a list of tokens"),
        (["q"], "returns ['q']: there is no token 'q'"),
        ([[]], "there is no token []"),
    ],
)
def test_samples_that_are_no_inputs_are_shown(returned: Any, said: str) -> None:
    with pytest.raises(WeftError) as error:
        sample_input(program(sample=lambda self, rng, length: returned), RNG, 3)
    assert said in error.value.line


def test_the_users_line_is_named_and_interrupts_pass() -> None:
    with pytest.raises(WeftError) as error, user_code("it fails"):
        raise RuntimeError("x")
    assert error.value.where is not None
    assert error.value.where.file == __file__
    with pytest.raises(KeyboardInterrupt), user_code("it fails"):
        raise KeyboardInterrupt


def test_what_encode_itself_refuses_keeps_its_words() -> None:
    with pytest.raises(WeftError, match="cannot read 'aq': there is no token 'q'"):
        encode_text(Flip(), "aq")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys\nsys.exit(3)", "cannot be imported: it calls sys.exit (it.py:2)"),
        ("raise KeyError('a\\nb')", "cannot be imported: KeyError: 'a\\nb' (it.py:1)"),
        ("class (", "cannot be imported: SyntaxError: invalid syntax, line 1"),
        ("x = 1", "defines no program"),
    ],
)
def test_files_that_hold_no_program_say_why(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "it.py").write_text(text)
    with pytest.raises(WeftError) as error:
        weft.program(str(tmp_path / "it.py"))
    assert said in error.value.line
    loaded = any(name.startswith("weft_file_it") for name in sys.modules)
    assert not loaded or said == "defines no program"


INIT = '''
import sys, weft
class P(weft.Program):
    """x"""
    tokens = ["a"]
    def __init__(self, n, low=2):
        {}
'''


@pytest.mark.parametrize(
    ("body", "arguments", "said"),
    [
        ("sys.exit('bye')", "(n=1)", "cannot be made: it calls sys.exit (it.py:7)"),
        ("raise KeyError('x')", "(n=1)", "cannot be made: KeyError: 'x' (it.py:7)"),
        ("len(3)", "(n=1)", "cannot be made: TypeError: object of type 'int' has no len() (it.py"),
        ("pass", "", "missing a required argument: 'n'. Its parameters are (n, low=2)"),
        ("pass", "(m=1)", "Its parameters are (n, low=2)"),
    ],
)
def test_programs_that_cannot_be_made_say_why(
    tmp_path: Path, body: str, arguments: str, said: str
) -> None:
    (tmp_path / "it.py").write_text(INIT.format(body))
    with pytest.raises(WeftError) as error:
        weft.program(f"{tmp_path / 'it.py'}:P{arguments}")
    assert said in error.value.line


def test_equal_steps_in_two_files_are_told_apart(tmp_path: Path) -> None:
    text = Path(__file__).read_text()
    source = "import weft\n" + text[text.index("class Flip") : text.index("def program(")]
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(source)
        found = weft.program(str(tmp_path / name))
        assert all(str(rule.where).startswith(name) for rule in found.rules)


@pytest.mark.parametrize("name", ["parity(1)", "parity(**{})", "parity(", f"parity({'(' * 300}"])
def test_parameters_that_do_not_parse_are_shown_as_they_were_typed(name: str) -> None:
    with pytest.raises(WeftError) as error:
        weft.program(name)
    assert f"'{name}'" in error.value.line
