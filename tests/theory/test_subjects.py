"""What names and values refer to."""

from pathlib import Path

import pytest

import weft
from weft.automata import DFA, expression_dfa, language, write_automaton
from weft.crasp.loading import load
from weft.errors import WeftError
from weft.theory.subjects import read_subject


@pytest.mark.parametrize(
    ("name", "kind", "also"),
    [
        ("(ab)*", "language", ()),
        ("re:abc", "language", ()),
        ("tomita-4", "language", ()),
        ("parity", "language", ("task:parity", "program:parity")),
        ("language:parity", "language", ()),
        ("task:parity", "task", ()),
        ("program:parity", "program", ()),
        ("sorting", "task", ()),
        ("dyck", "task", ("program:dyck",)),
        ("subleq", "program", ()),
        ("crasp:majority", "C-RASP program", ()),
    ],
)
def test_names(name: str, kind: str, also: tuple[str, ...]) -> None:
    subject = read_subject(name)
    assert (subject.kind, subject.also, subject.name) == (kind, also, name)


def test_values() -> None:
    dfa = expression_dfa("(ab)*")
    assert read_subject(dfa).value is dfa
    assert read_subject(language("tomita-4")).alphabet == ("0", "1")
    assert read_subject(load("dyck-1")).kind == "C-RASP program"
    assert read_subject(weft.task("sorting")).kind == "task"
    assert read_subject(weft.program("parity")).kind == "program"
    assert read_subject(len, "ab").kind == "function"


def test_files(tmp_path: Path) -> None:
    write_automaton(language("tomita-4").dfa, tmp_path / "t4.json")
    (tmp_path / "mine.crasp").write_text("alphabet a b\naccept := # Q_a == 0\n")
    (tmp_path / "mine.py").write_text(
        "import weft\n"
        "def accepts(word):\n    return word.count('a') == 2\n"
        "class Same(weft.Program):\n"
        "    tokens = [0, 1]\n    x = weft.var(2, token=lambda t: t)\n    output = x\n"
        "    halt = x == 1\n    def step(z):\n        pass\n"
    )
    automaton = read_subject(str(tmp_path / "t4.json"))
    assert isinstance(automaton.value, DFA)
    assert automaton.value.difference(language("tomita-4").dfa) is None
    assert read_subject(tmp_path / "mine.crasp").alphabet == ("a", "b")
    function = read_subject(f"{tmp_path}/mine.py:accepts", "ab")
    assert function.value("aba")
    assert read_subject(f"{tmp_path}/mine.py:Same").kind == "program"


def test_names_that_a_file_does_not_define(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("number = 3\nclass Plain:\n    pass\n")
    for name in ("nosuch", "number", "Plain"):
        with pytest.raises(WeftError, match=f"no function, task or program '{name}'"):
            read_subject(f"{tmp_path}/mine.py:{name}", "ab")
    with pytest.raises(WeftError, match="names no function"):
        read_subject(f"{tmp_path}/mine.py", "ab")


def test_a_name_like_no_other_does_not_list_all_names() -> None:
    with pytest.raises(WeftError) as error:
        read_subject("xyzzy")
    assert len(str(error.value)) < 250


def test_parameters_choose_the_task() -> None:
    assert read_subject("parity", parameters={"length": 7}).value.length == 7
    assert read_subject("task:parity(length=8)").value.length == 8


@pytest.mark.parametrize(
    ("given", "alphabet", "parameters", "what"),
    [
        ("tomita4", "", {}, "there is no language, task or program 'tomita4'"),
        ("(ab", "", {}, r"a \) is missing"),
        ("nothere.json", "", {}, "cannot be read"),
        ("nothere.py:f", "", {}, "no file"),
        ("language:nosuch", "", {}, "nosuch"),
        ("crasp:nosuch", "", {}, "no C-RASP program"),
        ("tomita-4", "ab", {}, "alphabet of its own"),
        ("(ab)*", "", {"length": 3}, "no parameters"),
        ("sorting", "", {"nosuch": 3}, "no parameter"),
        (len, "", {}, "alphabet"),
        (3, "", {}, "type int"),
    ],
)
def test_bad_input(given: object, alphabet: str, parameters: dict[str, int], what: str) -> None:
    with pytest.raises(WeftError, match=what):
        read_subject(given, alphabet, parameters)
