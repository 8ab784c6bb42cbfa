"""`weft.predict` on languages, programs and tasks, and files of certificates."""

import json
from pathlib import Path
from typing import Any

import pytest

import weft
from random_automata import random_dfas
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.automata.languages import TABLE
from weft.crasp import parse
from weft.crasp.reference import run
from weft.errors import WeftError
from weft.tasks.bits import Parity
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
    (_, legal) = without.readings
    assert (legal.none.verdict, legal.absolute.verdict) == ("no", "yes")


def test_that_a_program_does_not_read_the_last_symbol_is_certified(tmp_path: Path) -> None:
    found = length("(ab)*", last_symbol=False)
    assert found.length.none.program
    write_certificates(tmp_path / "ab.json", found.subject, found.length)
    assert [each.holds for each in check_certificates(tmp_path / "ab.json")][:2] == [True, True]


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("(ab|aabb)*", "membership of arbitrary words: no"),
        ("(aa)*", "learned absolute positions: yes"),
        ("(ab)*", ""),
    ],
)
def test_what_would_change_an_answer_on_legal_next_symbols(text: str, change: str) -> None:
    (_, legal) = length(text).length.readings  # type: ignore[union-attr]
    assert legal.none.change == change


def test_the_alphabet_is_part_of_the_question() -> None:
    assert length("[be]*be*", alphabet="be").length.none.verdict == "yes"
    outside = length("[abe]*be*", alphabet="abe").length
    assert outside.none.verdict == "no"
    assert "without e: yes" in outside.none.change


def test_what_would_change_an_answer_does_change_it() -> None:
    for name in ("last-b", "contains-ab", "tomita-4", "ends-in-b", "aa-star"):
        found = predict_language(LANGUAGES[name].dfa)
        for answer in (found.none, found.absolute):
            assert f": {answer.verdict}" not in answer.change
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


class AtLeastOne(Parity):
    """A task that keeps the name of the one it comes from, and asks something else."""

    def decide(self, ones: Any, lengths: Any) -> Any:
        return ones > 0


def test_a_class_of_the_same_name_is_another_task() -> None:
    assert AtLeastOne().name == "parity"
    assert not weft.predict(AtLeastOne()).length.readings  # type: ignore[union-attr]


def test_copies_of_distinct_letters_are_another_question() -> None:
    def verdicts(task: object) -> list[str]:
        found = weft.predict(task).length
        assert found is not None
        return [each.verdict for reading in found.readings for each in reading.answers]

    assert verdicts(weft.task("copy")) == ["no", "no"]
    distinct = verdicts(weft.task("copy", unique=True, length=10, longer=20))
    assert distinct == verdicts("unique-copy") == ["no", "yes", "yes", "yes"]


def test_an_alphabet_that_is_a_number_is_a_parameter_of_a_task() -> None:
    assert weft.predict("sorting", alphabet=200).subject.value.alphabet == 200


def test_options_of_minimal_programs_are_known() -> None:
    with pytest.raises(WeftError, match="'tires'"):
        weft.predict("parity", "length<=3", tires=2)


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
        lambda data: data["readings"][0]["none"].update(certificate=None),
        lambda data: data["readings"][0].update(question="legal next symbols"),
        lambda data: data.update(automaton=None),
    ],
)
def test_forged_claims_do_not_hold(written: Path, forge: object) -> None:
    data = json.loads(written.read_text())
    forge(data)  # type: ignore[operator]
    written.write_text(json.dumps(data))
    assert any(each.holds is False for each in check_certificates(written))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[ab]*b", (False, False)), ("(ab)*", (True, True)), ("(aa)*", (True, False))],
)
def test_whether_programs_read_the_last_symbol_is_compared(
    text: str, expected: tuple[bool, bool], tmp_path: Path
) -> None:
    """A no about programs that may read it is one about all, and so is a yes by one that does not.

    The file first says that they may, which is changed, then that they may not.
    """
    for last_symbol, holds in zip((True, False), expected, strict=True):
        found = length(text, last_symbol=last_symbol)
        write_certificates(tmp_path / "file.json", found.subject, found.length)
        data = json.loads((tmp_path / "file.json").read_text())
        data["last_symbol"] = not last_symbol
        (tmp_path / "file.json").write_text(json.dumps(data))
        assert check_certificates(tmp_path / "file.json")[0].holds is holds


@pytest.mark.parametrize(
    "subject", [lambda word: len(word) % 2 == 0, "task:bit-parity", "task:interleaved-majority"]
)
def test_certificates_of_automata_that_only_agree_are_not_proofs(
    subject: object, tmp_path: Path
) -> None:
    found = weft.predict(subject, alphabet="" if isinstance(subject, str) else "ab", max_length=6)
    assert found.length is not None
    assert all(answer.support != "proved" for answer in found.length.readings[0].answers)
    write_certificates(tmp_path / "file.json", found.subject, found.length)
    assert {each.holds for each in check_certificates(tmp_path / "file.json")} == {None}
    data = json.loads((tmp_path / "file.json").read_text())
    data["readings"][0]["none"]["support"] = "proved"
    (tmp_path / "file.json").write_text(json.dumps(data))
    assert check_certificates(tmp_path / "file.json")[0].holds is False


EMPTY = '{"format": 1, "readings": [], "automaton": null, "last_symbol": true}'


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"format": 1}', '{"format": 1, "readings": 3}', "x", EMPTY]
)
def test_files_that_hold_no_prediction(written: Path, text: str) -> None:
    written.write_text(text)
    with pytest.raises(WeftError):
        check_certificates(written)
