"""`weft.predict` on languages, programs and tasks, and files of certificates."""

import json
from pathlib import Path

import pytest

import weft
from random_automata import random_dfas
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.automata.languages import TABLE
from weft.crasp import parse
from weft.crasp.reference import run
from weft.errors import WeftError
from weft.theory.length.certificate_files import check_certificates, write_certificates
from weft.theory.length.checker.witnesses import check
from weft.theory.length.regular import predict_language, with_neutral_letter, without_letter
from weft.theory.prediction import Prediction


def length(subject: object, **options: object) -> Prediction:
    return weft.predict(subject, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [each.name for each in TABLE])
def test_all_flags_of_the_table_with_certificates(name: str) -> None:
    found = weft.predict(name).length
    assert found is not None
    assert (found.none.verdict == "yes", found.absolute.verdict == "yes") == (
        LANGUAGES[name].nope,
        LANGUAGES[name].ape,
    )
    for answer in (found.none, found.absolute):
        assert answer.support == "proved"
        assert check(answer.certificate).inside == (answer.verdict == "yes")
        if answer.verdict == "yes":
            assert answer.program


@pytest.mark.parametrize("seed", range(3))
def test_programs_of_random_languages_are_right_on_short_words(seed: int) -> None:
    programs = 0
    for dfa in random_dfas(seed, 12, states=(2, 4), letters="ab"):
        found = predict_language(dfa)
        for answer in (found.none, found.absolute):
            if not answer.program:
                continue
            programs += 1
            program = parse(answer.program)
            for word in ("", "a", "b", "ab", "ba", "aab", "abba", "babab", "aabbab", "bbbaaab"):
                assert run(program, tuple(word)).accepted == dfa.accepts(word)
    assert programs


def test_the_last_symbol_is_part_of_the_question() -> None:
    assert length("[ab]*b").length.none.verdict == "yes"
    without = length("[ab]*b", last_symbol=False).length
    assert without.none.verdict == "no"
    assert "may read the last symbol: yes" in without.none.change


def test_the_alphabet_is_part_of_the_question() -> None:
    assert length("[be]*be*", alphabet="be").length.none.verdict == "yes"
    outside = length("[abe]*be*", alphabet="abe").length
    assert outside.none.verdict == "no"
    assert "without e: yes" in outside.none.change


def test_what_would_change_an_answer_does_change_it() -> None:
    for name in ("last-b", "contains-ab", "tomita-4", "ends-in-b"):
        found = predict_language(LANGUAGES[name].dfa)
        for answer in (found.none, found.absolute):
            for change in filter(None, answer.change.split("; ")):
                what, _, verdict = change.rpartition(": ")
                assert changed(found.dfa, answer.positions, what) == verdict, change


def changed(dfa: DFA, positions: str, what: str) -> str:
    if what.startswith("learned"):
        return predict_language(dfa).absolute.verdict
    if what.startswith("programs may not"):
        return predict_language(dfa, last_symbol=False).none.verdict
    if what.startswith("an alphabet without"):
        other = without_letter(dfa, what.split()[-1])
    else:
        assert what.startswith("one more letter")
        other = with_neutral_letter(dfa)
    found = predict_language(other)
    return found.none.verdict if positions == "none" else found.absolute.verdict


@pytest.mark.parametrize(("text", "accepts"), [("[ab]*", True), ("a", False)])
def test_trivial_languages_are_said_to_be(text: str, accepts: bool) -> None:
    dfa = expression_dfa(text, "ab") if accepts else DFA(("a",), ((0,),), 0, frozenset())
    found = predict_language(dfa)
    assert found.none.verdict == "yes"
    assert ("accepted" if accepts else "rejected") in found.none.reason


def test_other_theories_and_where_they_disagree() -> None:
    found = length("(ab|aabb)*").length
    assert {each.verdict for each in found.others} == {"no", "yes", "consistent"}
    assert found.disagreements == ("hard attention: star-free says yes where C-RASP says no",)


def test_crasp_programs_and_tasks() -> None:
    majority = length("crasp:majority").length
    assert (majority.none.verdict, majority.absolute.verdict) == ("yes", "yes")
    assert length("task:parity").length.absolute.verdict == "no"
    words = length("formal-language", language="tomita-4", target="membership").length
    assert [each.question for each in words.readings] == ["membership", "legal next symbols"]
    symbols = length("formal-language", language="ab-or-aabb").length
    assert symbols.readings[0].question == "legal next symbols"
    assert symbols.none.verdict == "yes"
    uncovered = length("scan").length
    assert not uncovered.readings
    assert "scan" in uncovered.uncovered
    with pytest.raises(WeftError, match="scan"):
        _ = uncovered.none


def test_minimal_programs_are_one_of_the_theories() -> None:
    found = weft.predict("parity-sum", ["0", "1", "11", "111"], ["1011", "11111"])
    assert found.length is None
    assert found.minimal is not None
    assert not found.minimal.solved


@pytest.mark.parametrize(
    "arguments",
    [
        {"subject": "(ab)*", "encoding": "rotary"},
        {"subject": DFA(("a",), tuple(((i + 1) % 301,) for i in range(301)), 0, frozenset({0}))},
    ],
)
def test_bad_input(arguments: dict[str, object]) -> None:
    with pytest.raises(WeftError):
        length(**arguments)  # type: ignore[arg-type]


def test_tests_need_training_inputs() -> None:
    with pytest.raises(WeftError, match="training"):
        weft.predict("parity", None, "length<=3")


# Files of certificates


@pytest.fixture
def written(tmp_path: Path) -> Path:
    found = length("tomita-4")
    write_certificates(tmp_path / "t4.json", found.subject, found.length)
    return tmp_path / "t4.json"


def test_a_written_file_holds(written: Path) -> None:
    answers = check_certificates(written, LANGUAGES["tomita-4"].dfa)
    assert [(each.question, each.positions, each.holds) for each in answers] == [
        ("membership", "none", True),
        ("membership", "absolute", True),
        ("legal next symbols", "none", None),
        ("legal next symbols", "absolute", None),
    ]


def test_a_file_of_another_language_is_refused(written: Path) -> None:
    with pytest.raises(WeftError, match="another language"):
        check_certificates(written, LANGUAGES["tomita-7"].dfa)
    with pytest.raises(WeftError, match="alphabet"):
        check_certificates(written, LANGUAGES["d-2"].dfa)


@pytest.mark.parametrize(
    "forge",
    [
        lambda data: data["readings"][0]["none"].update(verdict="yes"),
        lambda data: data["readings"][0]["absolute"].update(verdict="no"),
        lambda data: data["readings"][0]["none"].update(
            verdict="yes", certificate=data["readings"][0]["absolute"]["certificate"]
        ),
        lambda data: data["readings"][0]["absolute"].update(
            verdict="no", certificate=data["readings"][0]["none"]["certificate"]
        ),
        lambda data: data["automaton"].update(accepting=["0"]),
        lambda data: data["readings"][0]["none"].update(verdict="unknown"),
    ],
)
def test_forged_claims_do_not_hold(written: Path, forge: object) -> None:
    data = json.loads(written.read_text())
    forge(data)  # type: ignore[operator]
    written.write_text(json.dumps(data))
    assert any(each.holds is False for each in check_certificates(written))


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 1}', '{"format": 1, "readings": 3}', "x"])
def test_files_that_hold_no_prediction(written: Path, text: str) -> None:
    written.write_text(text)
    with pytest.raises(WeftError):
        check_certificates(written)
