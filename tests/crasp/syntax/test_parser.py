"""Reading programs: what the text means, and what is said about mistakes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import odd_programs

from weft.crasp import (
    Add,
    And,
    Comparison,
    Conditional,
    Counting,
    CraspProgram,
    Exists,
    Expression,
    Integer,
    Line,
    Local,
    Name,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
    library,
    parse,
    read,
    run,
)
from weft.crasp.program import MAX_NESTING
from weft.errors import WeftError

A, B = Symbol("a"), Symbol("b")
C, P, ODD = Name("C"), Name("P"), Position(Periodic(2, (1,), "odd"))
ZERO, ONE = Integer(0), Integer(1)
HEADER = "alphabet a b\nperiodic odd := MOD(2, 1)\nlocal near := {0, 1}\nC := # Q_a\nP := Q_a\n"


def expression(written: str) -> Expression:
    """The expression of a line; it may use C, P, odd and near."""
    program = parse(f"{HEADER}x := {written}\n")
    assert program.lines[-1].name == "x"
    return program.lines[-1].expression


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("# Q_a < # Q_b", Comparison("<", Counting(A), Counting(B))),
        ("#[j <= i] Q_a(j) < #[k <= i] Q_b(k)", Comparison("<", Counting(A), Counting(B))),
        ("# Q_a = 1", Comparison("==", Counting(A), ONE)),
        ("#[j <= i, j = i - 2] Q_a(j) == 0", Comparison("==", Counting(A, Local((2,))), ZERO)),
        ("exists[j <= i, j == i] Q_a", Exists(A, Local((0,)))),
        ("exists[j <= i, j >= i - 2] Q_a", Exists(A, Local((0, 1, 2)))),
        ("exists[j <= i, j > i - 2] Q_a", Exists(A, Local((0, 1)))),
        ("exists[j <= i, j in i - {2, 0, 2}] Q_a", Exists(A, Local((0, 2)))),
        ("exists[j <= i, near(i, j)] Q_a", Exists(A, Local((0, 1), "near"))),
        ("exists[x <= i] exists[y <= x] Q_a(y)", Exists(Exists(A))),
        ("exists exists Q_a", Exists(Exists(A))),
        ("exists[j <= i] (Q_a(j) and P)", Exists(And((A, P)))),
        ("odd and MOD(3, {2, 1})", And((ODD, Position(Periodic(3, (1, 2)))))),
        ("exists[j <= i] odd(j)", Exists(ODD)),
        ("exists[j <= i] MOD(2, 1)(j)", Exists(Position(Periodic(2, (1,))))),
        ("Q_a(i) or P(i)", Or((A, P))),
        ("# not Q_a > 0", Comparison(">", Counting(Not(A)), ZERO)),
        ("not # Q_a > 0", Not(Comparison(">", Counting(A), ZERO))),
        ("not Q_a and Q_b", And((Not(A), B))),
        ("Q_a or Q_b and P", Or((A, And((B, P))))),
        ("Q_a and Q_b and (P and P)", And((A, B, And((P, P))))),
        ("previous previous Q_a", Previous(Previous(A))),
        ("previous Q_a and Q_b", And((Previous(A), B))),
        ("C - 1 - -1 < 0", Comparison("<", Subtract(Subtract(C, ONE), Integer(-1)), ZERO)),
        ("-C <= - 2", Comparison("<=", Subtract(ZERO, C), Integer(-2))),
        ("C + (C + C) != 0", Comparison("!=", Add(C, Add(C, C)), ZERO)),
        (
            "(Q_a ? 1 : P ? C : 0) > 0",
            Comparison(">", Conditional(A, ONE, Conditional(P, C, ZERO)), ZERO),
        ),
        ("Q_a // and Q_b", A),
        ("Q_a\n  and // more\n\n  // nothing\n  Q_b", And((A, B))),
        ("(Q_a\nand Q_b\n)", And((A, B))),
    ],
)
def test_expressions(written: str, meant: Expression) -> None:
    assert expression(written) == meant


def test_a_text_may_be_indented_and_begin_with_empty_lines() -> None:
    program = parse(
        """

        // Two letters.
        // That is all.

        // This is not about the program.
        program ab
        alphabet a
                 b
        x := Q_a
            and previous Q_b
        """
    )
    assert (program.name, program.about) == ("ab", "Two letters.\nThat is all.")
    assert program.alphabet == ("a", "b")
    assert program.expressions == {"x": And((A, Previous(B)))}


def test_words_of_the_language_can_be_symbols() -> None:
    program = parse('alphabet and 0 "//" "\\"" if\naccept := Q_and or Q_0 or Q_"//" or Q_"\\""\n')
    assert program.alphabet == ("and", "0", "//", '"', "if")
    assert program.expressions["accept"] == Or(tuple(map(Symbol, ("and", "0", "//", '"'))))


def test_files_give_programs_their_name(tmp_path: Path) -> None:
    (tmp_path / "some.crasp").write_bytes(b"// One.\r\nalphabet a\r\naccept := Q_a\r\n")
    program = read(tmp_path / "some.crasp")
    assert (program.name, program.about) == ("some", "One.")
    with pytest.raises(WeftError, match=r"none\.crasp cannot be read: no such file"):
        read(tmp_path / "none.crasp")


MISTAKES = {
    # Syntax.
    "x := Q_a and\ny := Q_b": ("the line ends where an expression is expected", "1:13", "Write a"),
    "x := (Q_a and Q_b\ny := Q_b": ("'(' is not closed", "1:6", "Add ')'"),
    "x := #[j <= i Q_a(j) > 0": ("'Q_a' stands where an operator", "1:15", "close with ']'"),
    "x := min(C, #[j <= i) > 0": ("'[' is not closed", "1:14", "Add ']'"),
    "x = Q_a": ("'=' stands where ':=' is expected", "1:3", "Write :="),
    "x := C < C < 3": ("'<' stands where an operator", "1:12", "Join two comparisons by and"),
    "x := Q_a && Q_b": ("'&' stands where an operator", "1:10", "Write 'and'"),
    "x := ¬Q_a": ("'¬' stands where an expression is expected", "1:6", "Write 'not'"),
    "x := Q_a AND Q_b": ("'AND' stands where an operator", "1:10", "Write 'and'"),
    "x := 2 * C > 0": ("'*' stands where an operator", "1:8", "write C + C"),
    "x := Q_a Q_b": ("'Q_b' stands where an operator", "1:10", "operator between"),
    "x := true y := false": ("'y' stands where", "1:11", "Begin a new line before 'y'"),
    "x := Q_a\nand Q_b": ("'and' begins a line, but not a statement", "2:1", "Indent the line"),
    "x := true)": ("')' stands where a new line is expected", "1:10", "Remove it"),
    "x := Q_((i)": ("Q_ is not followed by a symbol", "1:6", 'Q_"("'),
    "x := Q_": ("Q_ is not followed by a symbol", "1:6", "Write Q_a"),
    'x := Q_"a': ("'\"' stands where", "1:8", "Close the quotes"),
    'x := "a"': ("'\"a\"' stands where an expression", "1:6", "Put Q_ before the symbol"),
    "x := Q_a adn Q_b": ("'adn' stands where an operator", "1:10", "Did you mean 'and'?"),
    "x := exist Q_a": ("'Q_a' stands where an operator", "1:12", "Did you mean 'exists'?"),
    "perodic p := MOD(2, 1)": ("'p' stands where ':='", "1:9", "Did you mean 'periodic'?"),
    "x := Q_a ? 1": ("the line ends where ':' is expected", "1:13", "A conditional is P ? C : D"),
    "x := MOD(2)": ("')' stands where ',' is expected", "1:11", "MOD(3, 1)"),
    "x := Q_a : 1": ("':' stands where a new line is expected", "1:10", "A conditional is"),
    "x := Q_a, Q_b": ("',' stands where a new line is expected", "1:9", "Remove ','"),
    "x := min 3": ("'3' stands where '(' is expected", "1:10", "Write '('"),
    "local := {1}": ("':=' stands where a name is expected", "1:7", "Write a name"),
    "x := \x07": ("'\\x07' stands where an expression is expected", "1:6", "Write a Boolean"),
    "and := true": ("'and' cannot be the name of a line", "1:1", "Use another name"),
    "Q_a := true": ("'Q_a' cannot be the name of a line: Q_ is for symbols", "1:1", "another"),
    "5 := true": ("'5' stands where a definition", "1:1", "Indent the line"),
    # Kinds.
    "x := P < 1": ("a Boolean stands where a count is needed", "1:6", "Count it: #[j <= i] P(j)"),
    "x := not (C)": ("a count stands where a Boolean is needed", "1:11", "Compare it: C >= 1"),
    "x := # # Q_a > 0": ("a count stands where a Boolean is needed", "1:8", "Compare it"),
    "NEXT_a := C": ("'NEXT_a' must be Boolean", "1:11", ""),
    # Names and symbols.
    "x := bda\nbad := true": ("'bda' is not defined", "1:6", "Known: C, P"),
    "bad := true\nx := Q_a or bda": ("'bda' is not defined", "2:13", "Did you mean 'bad'?"),
    "x := y\ny := true": ("'y' is used before it is defined", "1:6", "Move its definition up"),
    "x := # x > 0": ("'x' is used in its own definition", "1:8", "earlier lines only"),
    "x := true\nx := false": ("'x' is defined twice", "2:1", "Use another name"),
    "odd := true": ("'odd' is the name of a predicate", "1:1", "Use another name"),
    "x := b": ("'b' is not defined", "1:6", "Write Q_b for the symbol"),
    "x := Q_A": ("'A' is not in the alphabet", "1:6", "Known: a, b"),
    "NEXT_c := true": ("'c' is not in the alphabet", "1:1", "Known: a, b"),
    # Indices.
    "x := #[j <= i] Q_a(i) > 0": ("the index here is j, not i", "1:19", "is read at j"),
    "x := #[j <= i] P(k) > 0": ("the index here is j, not k", "1:17", "Write (j)"),
    "x := Q_a(j)": ("the index here is i, not j", "1:9", "Write (i)"),
    "x := # Q_a(j) > 0": ("the count around this names no index", "1:11", "Leave out (j)"),
    "x := # exists[k <= j] Q_a > 0": ("the count around this names no index", "1:15", "there"),
    "x := Q_a(i - 1)": ("an index cannot be computed", "1:9", "previous"),
    "x := P(i, j)": ("a vector has one index", "1:7", "Leave out"),
    "x := #[j < i] P(j) > 0": ("counts include the position i itself", "1:8", "previous P(j)"),
    "x := #[j >= i] P > 0": ("this does not bind an index", "1:8", "Begin with j <= i"),
    "x := #[j <= k] P > 0": ("the index here is i, not k", "1:13", "Begin with j <= i"),
    "x := #[i <= i] P > 0": ("the index i is taken", "1:8", "Begin with j <= i"),
    # Predicates.
    "x := exists[j <= i, j != i - 1] P": ("neither periodic nor local", "1:21", "j == i - 1"),
    "x := exists[j <= i, j == i + 1] P": ("neither periodic nor local", "1:21", "j == i - 1"),
    "x := exists[j <= i, j <= i - 1] P": ("neither periodic nor local", "1:21", "j == i - 1"),
    "x := exists[j <= i, j == 2] P": ("neither periodic nor local", "1:21", "j == i - 1"),
    "x := exists[j <= i, prime(i, j)] P": ("neither periodic nor local", "1:21", "Declare it"),
    "x := exists[j <= i, nera(i, j)] P": ("neither periodic", "1:21", "did you mean 'near'?"),
    "x := exists[j <= i, near(j, i)] P": ("'near' relates i and j", "1:21", "near(i, j)"),
    "x := exists[j <= i, odd(j)] P": ("'odd' is periodic", "1:21", "(P(j) and odd(j))"),
    "x := exists[j <= i, MOD(2, 1)] P": ("a condition on j alone", "1:21", "(P(j) and ...)"),
    "x := exists[j <= i, j == i, j == i] P": ("one predicate at most", "1:29", "Leave one out"),
    "x := near": ("'near' is a local predicate", "1:6", "near(i, j)"),
    "periodic p := Q_a\nx := p": ("this is not a periodic predicate", "1:15", "MOD(2, 1)"),
    "local p := MOD(2, 1)\nx := true": ("this is not a local predicate", "1:12", "{0, 1, 2}"),
    "x := p\nperiodic p := MOD(2, 1)": ("'p' is used before it is declared", "1:6", "up"),
    "periodic p := MOD(3, {0, 3})\nx := p": ("no position is 3 modulo 3", "1:22", "from 0 to 2"),
    "x := MOD(0, 0)": ("a period is at least 1", "1:10", "MOD(2, 1)"),
    "x := MOD(i, 2)": ("this is not a number", "1:10", "MOD(3, 1)"),
    "x := mod(2, 1)": ("'MOD' is written in capitals", "1:6", "MOD(2, 1)"),
    # Limits.
    f"x := {'9' * 2000} > 0": ("the number has more than 1000 digits", "1:6", ""),
    f"x := {'not ' * 300}true": ("nested more than 200 deep", "1:810", "Give its parts names"),
}


@pytest.mark.parametrize(("text", "said"), MISTAKES.items(), ids=range(len(MISTAKES)))
def test_mistakes_name_the_place_and_a_way_out(text: str, said: tuple[str, str, str]) -> None:
    what, place, remedy = said
    lines = HEADER.count("\n")
    with pytest.raises(WeftError) as caught:
        parse(HEADER + text, "folder/some.crasp")
    error = caught.value
    number, _, column = place.partition(":")
    assert what in error.what
    assert f"(some.crasp:{int(number) + lines}:{column})" in error.line
    assert remedy in error.remedy
    shown, carets = str(error).splitlines()[1:]
    if len(text) < 80:
        assert shown.endswith(f"| {text.splitlines()[int(number) - 1]}")
        assert carets.index("^") - carets.index("|") - 2 == int(column) - 1
    assert len(carets) <= 110


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the alphabet is missing (line 1, column 1). Begin with the line: alphabet a b"),
        ('x := Q_"(" and Q_z', 'Begin with the line: alphabet "(" z'),
        ("alphabet a", "it has no Boolean line, so it accepts nothing (line 1, column 1)"),
        ("alphabet ( )\nx := true", 'Put the symbol in quotes: "("'),
        ("alphabet a, b\nx := true", "Separate symbols by spaces"),
        ("alphabet a a\nx := true", "the symbol a is given twice (line 1, column 12)"),
        ('alphabet "a b"\nx := true', "a symbol cannot be empty or have white space"),
        ('alphabet "a\nx := true', "Close the quotes"),
        ("alphabet\nx := true", "the line ends where a symbol is expected (line 1, column 9)"),
        ("program a\nprogram b\nalphabet b", "the program is named twice (line 2, column 1)"),
        ("alphabet a\nalphabet b\nx := true", "the alphabet is given twice (line 2, column 1)"),
    ],
)
def test_mistakes_in_the_alphabet(text: str, said: str) -> None:
    with pytest.raises(WeftError) as caught:
        parse(text)
    assert said in caught.value.line


def test_the_excerpt_shows_the_line_and_a_caret_below() -> None:
    with pytest.raises(WeftError) as caught:
        parse("alphabet a b\nbad := Q_a\naccept := # bda == 0\n", "dyck.crasp")
    assert str(caught.value) == (
        "'bda' is not defined (dyck.crasp:3:13). Did you mean 'bad'?\n"
        "     3 | accept := # bda == 0\n"
        "       |             ^^^"
    )


# Any text is a program or a mistake.

TOKENS = (
    "alphabet a b\n", "program", "periodic", "local", "x", ":=", "\n", "\n  ", "Q_a", 'Q_"("', "Q_",
    "NEXT_a", "MOD", "(", ")", "[", "]", "{", "}", "#", "exists", "previous", "not", "and", "or",
    "min", "max", "true", "?", ":", "+", "-", "<", "<=", "==", "=", ",", "j", "i", "j <= i", "in",
    "0", "12", '"', "//", "\\", "&", "*", " ", "\t", "\r\n", "é", "\x00", "\u2028",
    "#[j <= i] P(j)", "x := Q_a\n",
)  # fmt: skip


def check(text: str) -> None:
    try:
        program = parse(text)
    except WeftError:
        return
    assert parse(str(program)) == program


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=30), st.booleans())
def test_random_tokens(tokens: list[str], header: bool) -> None:
    check(HEADER * header + "".join(tokens))
    check(HEADER * header + "x := " + " ".join(tokens))


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_random_text(text: str) -> None:
    check(text)
    check(f"{HEADER}x := {text}")


@settings(max_examples=80, deadline=None)
@given(odd_programs(max_lines=2, depth=2), st.randoms(use_true_random=False))
def test_programs_with_a_few_characters_changed(program: CraspProgram, rng: random.Random) -> None:
    characters = list(str(program))
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(characters))
        characters[place : place + rng.randint(0, 2)] = rng.choice(TOKENS)
    check("".join(characters))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4_000,
        "x := " + "(" * 4_000 + "Q_a" + ")" * 4_000,
        "x := " + "#[j <= i] " * 2_000 + "Q_a",
        "x := " + "- " * 2_000 + "1 < 0",
        "x := 0 < " + " + ".join(["C"] * 2_000),
        "x := " + " or ".join(["P"] * 4_000),
        "x := " + "Q_a ? 1 : " * 2_000 + "0",
        "// a comment\n" * 4_000 + "x",
        "\n" * 4_000 + "x",
        " " * 100_000,
        "x := " + '"' * 4_000,
        "x := Q_a\n" * 1_000,
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_large_texts_neither_crash_nor_hang(text: str) -> None:
    check(HEADER + text)


def nested(levels: int) -> Expression:
    expression: Expression = A
    for level in range(levels):
        expression = Exists(expression) if level % 2 else Not(And((expression, A)))
    return expression


def test_expressions_nested_as_deep_as_allowed_can_be_used() -> None:
    levels = MAX_NESTING * 2 // 3  # of which every other one has two
    program = CraspProgram(("a", "b"), (Line("x", nested(levels)),))
    assert parse(str(program)) == program
    assert run(program, "a").accepted in (True, False)


def test_programs_nested_deeper_are_refused_in_python_too() -> None:
    with pytest.raises(WeftError, match="nested more than 200 deep"):
        CraspProgram(("a", "b"), (Line("x", nested(MAX_NESTING)),))


def test_library_programs_are_parsed_in_milliseconds() -> None:
    """Processor time, which a busy machine does not change; the grammar is read once."""
    import time

    texts = [str(library.load(name)) for name in library.names()]
    parse(texts[0])
    slowest = 0.0
    for text in texts:
        start = time.process_time()
        parse(text)
        slowest = max(slowest, time.process_time() - start)
    assert slowest < 0.1


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mine.crasp"
    path.write_bytes(b"\xef\xbb\xbfalphabet a b\r\naccept := Q_a\r\n")
    assert read(path).alphabet == ("a", "b")


def test_a_range_that_is_too_wide_is_local_all_the_same() -> None:
    with pytest.raises(WeftError, match="too many positions"):
        parse("alphabet a b \n x := exists[j <= i, j >= i - 99999] Q_a(j)")
