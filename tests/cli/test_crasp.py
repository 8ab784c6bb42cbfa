"""`weft crasp show` and `weft crasp run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import weft
from weft.crasp import CraspProgram, library, parse, run
from weft.crasp.batched import run_batch

MANY = """\
alphabet open close "|"
opened := # Q_open
rising := # Q_open > # Q_close
difference := # Q_open - # Q_close
accept := difference == 0
"""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.crasp"
    path.write_text(MANY)
    return path


def table(printed: str) -> dict[str, list[str]]:
    """The cells of a trace by the label of their row, over all blocks."""
    cells: dict[str, list[str]] = {}
    for line in printed.partition("\n\nresult")[0].partition("\n\nnext")[0].splitlines():
        if line:
            label, *values = line.split()
            cells.setdefault(label, []).extend(values)
    return cells


def check_trace(program: CraspProgram, word: list[str], printed: str) -> None:
    assert max(map(len, printed.splitlines())) <= 80
    shown, expected = table(printed), run(program, word)
    assert shown["position"] == [str(i) for i in range(len(word) + 1)]
    assert shown["symbol"] == ["BOS", *word]
    for name, values in expected.values.items():
        boolean = program.kinds[name] == "Boolean"
        assert shown[name] == [("T" if v else ".") if boolean else str(v) for v in values], name


@pytest.mark.parametrize("length", [0, 1, 12, 63, 64, 65, 200])
def test_the_trace_has_the_value_of_every_line_at_every_position(many: Path, length: int) -> None:
    word = [("open", "close", "|")[i * i % 3] for i in range(length)]
    printed = weft("crasp", "run", str(many), " ".join(word), "--trace")
    check_trace(parse(MANY), word, printed)
    difference = word.count("open") - word.count("close")
    assert printed.endswith(f"\nresult   {'rejected' if difference else 'accepted'}\n")


def test_a_trace_in_full() -> None:
    assert weft("crasp", "run", "dyck-1", "())(", "--trace") == (
        "position    0  1  2  3  4\n"
        "symbol    BOS  (  )  )  (\n"
        "bad         .  .  .  T  .\n"
        "accept      T  .  T  .  .\n"
        "\n"
        "result   rejected\n"
    )


def test_the_counts_that_lines_are_made_of(tmp_path: Path) -> None:
    text = "alphabet a b\ncount1 := # Q_a\nx := # Q_a < # (Q_b and # Q_a > 1) or # Q_b = 9\n"
    (tmp_path / "p.crasp").write_text(text)
    arguments = ("crasp", "run", str(tmp_path / "p.crasp"), "aabb", "--trace", "--counts")
    assert weft(*arguments) == (
        "position                                    0  1  2  3  4\n"
        "symbol                                    BOS  a  a  b  b\n"
        "count1                                      0  1  2  2  2\n"
        "#[j <= i] (Q_b(j) and #[k <= j] Q_a(k) …    0  0  0  1  2\n"
        "#[j <= i] Q_b(j)                            0  0  0  1  2\n"
        "x                                           .  .  .  .  .\n"
        "\n"
        "result   rejected\n"
    )
    lines = json.loads(weft(*arguments, "--json"))["lines"]
    assert [line["name"] for line in lines] == [
        "count1", "#[j <= i] (Q_b(j) and #[k <= j] Q_a(k) > 1)", "#[j <= i] Q_b(j)", "x"
    ]  # fmt: skip


def test_the_empty_word_is_judged_at_the_begin_symbol() -> None:
    assert weft("crasp", "run", "dyck-1", "") == "result   accepted\n"
    assert weft("crasp", "run", "majority", "") == "result   rejected\n"


def test_transductions_show_which_symbols_may_come_next(tmp_path: Path) -> None:
    path = tmp_path / "turns.crasp"
    path.write_text("alphabet a b\nNEXT_b := Q_a\nNEXT_a := Q_b or # true == 2\n")
    printed = weft("crasp", "run", str(path), "aab", "--trace")
    assert table(printed)["next"] == [".", "b", "a", "b", "a"]  # at 2, both
    assert "next        .  b  a b  a\n" in printed
    assert printed.endswith("\n\nnext     a\n")
    assert weft("crasp", "run", str(path), "") == "next     stop\n"
    values = json.loads(weft("crasp", "run", str(path), "aab", "--json"))
    assert values["next"] == [[], ["b"], ["a", "b"], ["a"]]


def test_a_transduction_of_the_library() -> None:
    assert weft("crasp", "run", "sort", "a c b |") == "next     a\n"
    assert weft("crasp", "run", "sort", "a c b | a b c") == "next     stop\n"


def test_many_next_symbols_are_counted(tmp_path: Path) -> None:
    letters = "abcdefghijkl"
    lines = "".join(f"NEXT_{letter} := not Q_{letter}\n" for letter in letters)
    (tmp_path / "any.crasp").write_text(f"alphabet {' '.join(letters)}\n{lines}")
    printed = weft("crasp", "run", str(tmp_path / "any.crasp"), "a", "--trace")
    assert "next      12 symbols  11 symbols\n" in printed
    assert printed.endswith("next     b c d e f g h i j k l\n")


def test_long_names_and_unprintable_symbols_do_not_break_the_table(tmp_path: Path) -> None:
    name = "n" * 200
    (tmp_path / "odd.crasp").write_text(f'alphabet "\x1b" 中\n{name} := Q_中\n')
    printed = weft("crasp", "run", str(tmp_path / "odd.crasp"), "中\x1b中", "--trace")
    assert "\x1b" not in printed
    assert f"{'n' * 39}…    .   T     .   T\n" in printed


@pytest.mark.parametrize("word", ["(())", "()" * 50])
def test_json_of_a_run(word: str) -> None:
    values = json.loads(weft("crasp", "run", "dyck-1", word, "--json"))
    assert values == {
        "program": "dyck-1",
        "word": list(word),
        "accepted": True,
        "next": None,
        "lines": None,
    }
    traced = json.loads(weft("crasp", "run", "dyck-1", word, "--json", "--trace"))
    expected = run(library.load("dyck-1"), word)
    assert traced == {
        **values,
        "lines": [
            {"name": name, "kind": "Boolean", "values": list(expected.values[name])}
            for name in ("bad", "accept")
        ],
    }
    assert all(type(value) is bool for line in traced["lines"] for value in line["values"])


@pytest.mark.parametrize("name", ["dyck-1", "unique-copy", "even-length"])
def test_what_is_shown_parses_back(name: str) -> None:
    program = library.load(name)
    assert parse(weft("crasp", "show", name)) == program
    shown = json.loads(weft("crasp", "show", name, "--json"))
    assert parse(shown["text"]) == program
    assert [line["name"] for line in shown["lines"]] == [line.name for line in program.lines]


def test_mistakes_in_a_file_are_one_line_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "wrong.crasp"
    path.write_text("alphabet a b\naccept := # Qa == 0\n")
    said = weft("crasp", "run", str(path), "ab", code=2)
    assert said == "weft: 'Qa' is not defined (wrong.crasp:2:13). Define it in a line above\n"
    said = weft("crasp", "show", str(tmp_path / "none.crasp"), code=2)
    assert said.endswith(
        "none.crasp cannot be read: no such file or directory. Give a .crasp file\n"
    )
    assert "did you mean 'dyck-1'?" in weft("crasp", "show", "dyck1", code=2)
    assert "the symbol 'c' at position 2" in weft("crasp", "run", "dyck-1", "(c", code=2)


def test_both_interpreters_give_the_same_run() -> None:
    """The command takes the batched one for long words."""
    program = parse(MANY)
    word = ["open", "close", "open"] * 9
    assert run_batch(program, [word])[0] == run(program, word)
