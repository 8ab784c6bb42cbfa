"""`weft predict`: what the theories say about a language, function, program or task."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, count_option, new_console, new_table, plural, print_json
from weft.errors import WeftError
from weft.files import output_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.theory.arithmetic import ArithmeticPrediction
    from weft.theory.length.answers import Answer
    from weft.theory.length.prediction import LengthPrediction, Reading
    from weft.theory.prediction import Prediction
    from weft.theory.subjects import Subject

NAMES = {"none": "no positions", "absolute": "learned absolute positions"}
SUPPORT = {
    "proved": "proved",
    "theorem": "by an argument in docs/length-theory.md",
    "checked": "checked on words, not proved",
    "none": "",
}


def predict_command(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT",
            help="A regular expression, a named language, an automaton (FILE.json), a C-RASP "
            "program (crasp:NAME, FILE.crasp), a function of words (FILE.py:NAME), a task or a "
            "program; a prefix picks one reading: language:, task:, program:, re:.",
        ),
    ] = "",
    parameters: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE ...", help="Parameters of a task, such as digits=4."),
    ] = None,
    alphabet: Annotated[
        str,
        typer.Option(
            "--alphabet",
            help="The letters, for an expression or a function; the answer depends on them.",
        ),
    ] = "",
    no_last_symbol: Annotated[
        bool,
        typer.Option(
            "--no-last-symbol",
            help="Programs without positions may not read the last symbol.",
        ),
    ] = False,
    encoding: Annotated[
        str,
        typer.Option(
            "--encoding",
            help="Of arithmetic tasks: absolute, relative, none, rotary, t5, alibi, abacus, ...",
        ),
    ] = "absolute",
    train: Annotated[
        str,
        typer.Option(
            "--train", metavar="SPLIT", help="Predict by the minimal program of these inputs."
        ),
    ] = "",
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="SPLIT", help="With --train: test inputs."),
    ] = None,
    program: Annotated[
        bool, typer.Option("--program", help="Print the C-RASP programs in full.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print what a person can check by hand.")
    ] = False,
    communication: Annotated[
        bool,
        typer.Option("--communication", help="Print how many different first halves there are."),
    ] = False,
    protocol: Annotated[
        bool,
        typer.Option(
            "--protocol",
            help="Of a C-RASP program: what Alice sends so that Bob computes the rest.",
        ),
    ] = False,
    max_length: Annotated[
        int,
        typer.Option(
            "--max-length", min=2, max=16, help="Of functions and programs: words that are tried."
        ),
    ] = 10,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            min=0.1,
            max=3600,
            help="Of functions and programs: time to search, and for each batch of words.",
        ),
    ] = 60.0,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the answers with their certificates."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check",
            metavar="FILE",
            help="Verify the certificates of a file, without the predictor; with SUBJECT, also "
            "that they are about it.",
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the named languages with their answers.")
    ] = False,
    limit: Annotated[
        int, count_option("--limit", "How many lines of details to print per answer.")
    ] = 40,
    json: Json = False,
) -> None:
    """Predict whether training would generalise.

    Length generalisation is predicted by C-RASP: for no positional encoding and for learned
    absolute positions, the answer is yes, no or unknown, with a reason and a certificate.
    Arithmetic tasks get an accuracy for every number of digits. With --train, a program's rules
    that the training inputs exercise are run on the test inputs. Nothing is trained.

    Examples:

      weft predict '(ab|aabb)*'

      weft predict tomita-4 --program --out tomita-4.json

      weft predict --check tomita-4.json

      weft predict mine.py:accepts --alphabet ab

      weft predict sorting

      weft predict modular-addition modulus=150 digits=4

      weft predict parity --train 'length<=4' --test length=5..9
    """
    if listed:
        _list(json)
        return
    if check is not None:
        _check(check, subject, alphabet, parameters or [], json)
        return
    if not subject:
        raise WeftError(
            "there is no subject", remedy="Give one, as in weft predict '(aa)*', or --list"
        )
    if out is not None:
        output_file(out, option="--out")
    found = _predict(
        subject, parameters or [], alphabet, not no_last_symbol, encoding, train, test or [],
        max_length, seconds,
    )  # fmt: skip
    extra = _extra(found.subject, communication, protocol)
    if out is not None:
        _write(out, found)
    if json:
        print_json(found.as_dict() | {name: value.as_dict() for name, value in extra.items()})
        return
    console = new_console()
    if found.minimal is not None:
        console.print(found.minimal.markdown())
    elif found.arithmetic is not None:
        _print_arithmetic(found.arithmetic)
    elif found.length is not None:
        _print_length(found.subject, found.length, program, details, limit)
    for value in extra.values():
        console.print()
        console.print(str(value), soft_wrap=True)
    if out is not None:
        console.print(f"wrote {out}; verify it with: weft predict --check {out}")


def _predict(
    subject: str,
    parameters: Sequence[str],
    alphabet: str,
    last_symbol: bool,
    encoding: str,
    train: str,
    tests: Sequence[str],
    max_length: int,
    seconds: float,
) -> Prediction:
    from weft.config import assignment
    from weft.theory.prediction import predict_subject

    if tests and not train:
        raise WeftError("--test needs training inputs", remedy="Give --train, too")
    with redirect_stdout(sys.stderr):  # what a user's file prints is no part of the output
        return predict_subject(
            subject,
            dict(map(assignment, parameters)),
            train or None,
            tests,
            alphabet=_letters(alphabet),
            last_symbol=last_symbol,
            encoding=encoding,
            max_length=max_length,
            seconds=seconds,
        )


def _letters(text: str) -> str | tuple[str, ...]:
    """The letters of --alphabet: characters, or words if there are blanks."""
    return tuple(text.split()) if " " in text.strip() else text


def _extra(subject: Subject, communication: bool, protocol: bool) -> dict[str, Any]:
    """Evidence that is asked for besides."""
    result: dict[str, Any] = {}
    if communication:
        from weft.theory.length.evidence import communication_of

        with redirect_stdout(sys.stderr):
            result["communication"] = communication_of(subject)
    if protocol:
        from weft.theory.length.evidence import protocol_of

        result["protocol"] = protocol_of(subject)
    return result


def _write(path: Path, found: Prediction) -> None:
    from weft.theory.length.certificate_files import write_certificates

    if found.length is None or not found.length.readings:
        raise WeftError(
            f"the prediction for {found.subject.name} has no certificates", remedy="Use --json"
        )
    write_certificates(path, found.subject, found.length)


# Length generalisation


def _print_length(
    subject: Subject, found: LengthPrediction, program: bool, details: bool, limit: int
) -> None:
    console = new_console()
    console.print(_title(subject, found), soft_wrap=True)
    if not found.readings:
        console.print(f"unknown: {found.uncovered}", soft_wrap=True)
        return
    if len(found.readings) > 1 or found.readings[0].question:
        console.print()
        console.print(_verdicts(found.readings))
    main = found.readings[0]
    same = main.none.reason == main.absolute.reason
    for answer in (main.none,) if same else main.answers:
        console.print()
        _print_answer(answer, same, program, details, limit)
    if found.others:
        console.print()
        rows = [(each.name, NAMES[each.positions], each.verdict) for each in found.others]
        console.print(new_table(("other theories", "positions", "verdict"), rows, ()))
    for line in found.disagreements:
        console.print(f"- {line}")
    if subject.also:
        console.print(f"\nalso: {', '.join(subject.also)}")


def _title(subject: Subject, found: LengthPrediction) -> str:
    title = f"{subject.name}: {subject.description}"
    if found.dfa is not None:
        letters = found.dfa.alphabet
        shown = " ".join(letters[:26]) + (" ..." if len(letters) > 26 else "")
        known = found.language_class.name if found.language_class else None
        title += f"\n  alphabet {shown}; {plural(found.dfa.size, 'state')}"
        title += f"; {known}" if known else ""
        title += "" if found.last_symbol else "; without positions, the last symbol is not read"
    elif subject.alphabet:
        title += f"\n  alphabet {' '.join(subject.alphabet)}"
    return title


def _verdicts(readings: Sequence[Reading]) -> Any:
    columns = [reading.question or "answer" for reading in readings]
    rows = [
        (NAMES[name], *(getattr(reading, name).verdict for reading in readings))
        for name in ("none", "absolute")
    ]
    return new_table(("generalises?", *columns), rows, ())


def _print_answer(answer: Answer, both: bool, program: bool, details: bool, limit: int) -> None:
    console = new_console()
    name = "with and without positions" if both else NAMES[answer.positions]
    support = SUPPORT[answer.support]
    console.print(f"{name}: {answer.verdict}{f' ({support})' if support else ''}")
    console.print(f"  because {answer.reason}", soft_wrap=True)
    if shown := _certificate(answer):
        console.print(f"  certificate: {shown}", soft_wrap=True)
    if answer.change:
        console.print(f"  what would change it: {answer.change}", soft_wrap=True)
    if details:
        for line in answer.details[:limit]:
            console.print(f"    {line}", soft_wrap=True)
        if len(answer.details) > limit:
            console.print(f"    ... {len(answer.details) - limit} more lines (--limit)")
    if answer.program and program:
        for line in answer.program.splitlines():
            console.print(f"    {line}", soft_wrap=True)


def _certificate(answer: Answer) -> str:
    """The certificate of an answer, in words."""
    kind = answer.certificate["kind"] if answer.certificate else ""
    lines = plural(sum(":=" in line for line in answer.program.splitlines()), "line")
    match kind:
        case "program":
            return f"a C-RASP program of {lines}, equal to the automaton on all words"
        case "potentials" | "unfolding":
            text = "weights and potentials that separate all states"
            if answer.checked_to is not None:
                text += f"; a program of {lines}, checked to length {answer.checked_to}"
            return text
        case "flows":
            return "a flow: cycles whose letters cancel between two different states"
        case "blocks":
            return "blocks of equal length, and a flow between two different states"
    if answer.program:
        if answer.checked_to is None:
            return f"the C-RASP program itself, {lines}"
        return f"a C-RASP program of {lines}, checked to length {answer.checked_to}"
    return ""


def _print_arithmetic(found: ArithmeticPrediction) -> None:
    from weft.theory.arithmetic import sentences, table_rows

    console = new_console()
    first, *others = sentences(found)
    console.print(first, soft_wrap=True)
    console.print()
    header, rows = table_rows(found)
    console.print(new_table(header, rows, header[2:]))
    console.print()
    for line in others:
        console.print(f"- {line}", soft_wrap=True)


# Files and lists


def _check(path: Path, subject: str, alphabet: str, parameters: Sequence[str], json: bool) -> None:
    """Verify a file; a certificate that does not hold ends with status 1."""
    from weft.config import assignment
    from weft.theory.length.certificate_files import check_certificates

    expected = None
    if subject:
        from weft.theory.subjects import read_subject

        read = read_subject(subject, _letters(alphabet), dict(map(assignment, parameters)))
        if read.kind != "language":
            raise WeftError(
                f"{subject} is a {read.kind}, and certificates are about regular languages",
                remedy="Leave the subject out, or give an expression, a language or an automaton",
            )
        expected = read.value
    answers = check_certificates(path, expected)
    if json:
        print_json([vars(answer) for answer in answers])
    else:
        marks = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}
        console = new_console()
        for each in answers:
            question = f"{each.question}, " if each.question else ""
            claim = f"{question}{NAMES.get(each.positions, each.positions)}: {each.verdict}"
            console.print(f"{claim}\n  {marks[each.holds]}: {each.summary}", soft_wrap=True)
    if any(answer.holds is False for answer in answers):
        raise typer.Exit(1)


def _list(json: bool) -> None:
    from weft.automata import LANGUAGES
    from weft.theory.length.regular import predict_language

    found = {name: predict_language(each.dfa) for name, each in LANGUAGES.items()}
    if json:
        print_json(
            [
                {
                    "name": name,
                    "expression": LANGUAGES[name].expression,
                    "alphabet": LANGUAGES[name].alphabet,
                    "none": each.none.verdict,
                    "absolute": each.absolute.verdict,
                    "class": each.language_class.name,
                }
                for name, each in found.items()
            ]
        )
        return
    rows = [
        (name, LANGUAGES[name].notation, each.none.verdict, each.absolute.verdict,
         each.language_class.name or "-")
        for name, each in found.items()
    ]  # fmt: skip
    header = ("language", "words", "no positions", "absolute", "class")
    new_console().print(new_table(header, rows, ()))
