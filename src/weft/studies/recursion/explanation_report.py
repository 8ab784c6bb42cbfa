"""An explanation of a model of recursion as text, as values, and as a page with figures."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from weft.statistics import Share
from weft.studies.recursion.explanation import REMAINDER, RecursionExplanation
from weft.studies.recursion.explanation_heads import parts_of
from weft.studies.recursion.explanation_ranking import Support
from weft.theory.recursion import StateMachine
from weft.theory.recursion.state_machines import Word

NAME = "explanation"
INDENT = 12
MOST_EDGES = 64
"""How many all-carry inputs a page lists."""

Table = tuple[list[str], list[list[str]]]
"""The header and the rows; all columns but the first are numbers."""


def summary(found: RecursionExplanation) -> Iterator[tuple[str, str]]:
    """The main results, each with a word for it."""
    best = found.best
    yield "subject", found.name
    sizes = f"{found.task.shortest}-{found.task.length} in training, up to {found.task.longer}"
    yield "task", f"{found.subject.name}; sizes {sizes} in tests"
    yield "computes" if found.supported else "undecided", _verdict(found)
    yield "agreement", f"{best.agreement} outputs, right or wrong"
    yield "accuracy", f"{found.truth.agreement} (agreement with the true machine)"
    other = found.runner_up
    if other is not None:
        margin = found.margin
        yield "runner-up", other.name
        agreeing = f"{margin.count:,} outputs that are those of only one of the two"
        yield "margin", f"{margin.right:,} of {agreeing} are those of the best"
    yield "failures", _failures(found)
    if found.fitted is not None and found.failed:
        yield "fitted rules", _fitted(found)
    for each in found.ranges:
        first = each.ranking[0]
        yield each.name, f"{first.name}: {first.agreement}; failures {first.recall}"
    if found.attention is not None:
        yield from _attention_summary(found)


def _verdict(found: RecursionExplanation) -> str:
    name = found.best.name
    if not found.supported:
        return f"no machine agrees with most outputs; the best is {name}"
    same = [each.name for each in found.ranking if found.best.kind in each.same_as]
    told = f"; the same on these inputs: {', '.join(same)}" if same else ""
    if found.decided or found.runner_up is None:
        return name + told
    other, count = found.runner_up.name, found.margin.count
    few = f"only {count:,} output{'' if count == 1 else 's'}" if count else "no output"
    return f"{name}{told}; {few} tell{'s' if count == 1 else ''} it from {other}"


def _failures(found: RecursionExplanation) -> str:
    best = found.best
    if not found.failed:
        return f"none among {len(found.test):,} outputs"
    if best.candidate.is_true:
        return f"{found.failed:,} of {len(found.test):,}; no machine explains them"
    told = f"{best.recall} predicted exactly; {best.precision} of its own failures are the model's"
    return told if found.explains_failures else f"not explained: {told}"


def _fitted(found: RecursionExplanation) -> str:
    assert found.fitted is not None
    margin = found.fitted_margin
    word = "better" if found.fitted_is_better else "not better"
    only = f"{margin.right:,} of the {margin.count:,} that only one of the two predicts"
    return (
        f"{word} than the best machine on held-out failures: {found.fitted.recall} predicted, "
        f"and {only}; agreement {found.fitted.agreement.short}"
    )


def _attention_summary(found: RecursionExplanation) -> Iterator[tuple[str, str]]:
    attention = found.attention
    assert attention is not None
    if not attention.inputs:
        yield "heads", "not examined: no output on an input of a trained size ends"
    if attention.scores:
        names = ", ".join(head.name for head in attention.recursion_heads)
        yield "heads", f"recursion heads: {names or 'none'}"
    for each in attention.following:
        yield (
            each.intervention,
            f"{each.position.percent} follow the position, {each.token.percent} the token, of "
            f"{each.token.count:,}",
        )


# Tables


def ranking_table(found: RecursionExplanation) -> Table:
    """The machines, best first, and the fitted rules."""
    header = ["machine", "agreement (95%)", "recall", "precision"]
    rows = [_row(each) for each in found.ranking]
    if found.fitted is not None:
        rows.append(_row(found.fitted))
    return header, rows


def _row(each: Support) -> list[str]:
    shares = [_short(share) for share in (each.recall, each.precision)]
    return [each.name, each.agreement.short, *shares]


def _short(share: Share) -> str:
    return f"{share.percent} of {share.count:,}" if share.count else "–"


def same_predictions(found: RecursionExplanation) -> list[str]:
    """Which machines write the same on all inputs."""
    names = {each.kind: each.name for each in found.ranking}
    return [
        f"{each.name}: on these inputs, the same as {names[each.same_as[0]]}"
        for each in found.ranking
        if each.same_as
    ]


def split_table(found: RecursionExplanation) -> Table:
    """Accuracy by split, and the kinds of wrong outputs."""
    rows = []
    for name, share in found.by_group.items():
        part = found.questions.take(
            [row for row, group in enumerate(found.questions.groups) if group == name]
        )
        kinds = Counter(
            found.subject.error(*each)
            for each in zip(part.inputs, part.outputs, part.truths, strict=True)
        )
        del kinds["right"]
        shown = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common(3))
        rows.append([name, f"{share.count:,}", share.short, shown or "–"])
    return ["split", "n", "right (95%)", "most frequent failures"], rows


def kind_table(found: RecursionExplanation) -> Table:
    """All outputs by kind."""
    total = len(found.questions)
    rows = [[kind, f"{count:,}", Share(count, total).short] for kind, count in found.kinds.items()]
    return ["output", "n", "share (95%)"], rows


def edge_table(found: RecursionExplanation) -> Table:
    """All-carry inputs with their outputs."""
    rows = [
        [str(len(given)), kind, _text(output)] for given, output, kind in found.edges[:MOST_EDGES]
    ]
    return ["tokens", "kind", "output"], rows


def remainder_table(found: RecursionExplanation) -> Table:
    """Failures that the best machine does not predict."""
    left = found.remainder
    rows = [
        [_text(given), _text(output), found.subject.error(given, output, truth)]
        for given, output, truth in list(zip(left.inputs, left.outputs, left.truths, strict=True))[
            :REMAINDER
        ]
    ]
    return ["input", "output", "kind"], rows


SHORT = {"01": "s", "XO": "0", "X1": "1"}
"""Binary constructors as one character each."""


def _text(word: Word | None) -> str:
    """Tokens as text; binary numbers with s for 01, 0 and 1."""
    if word is None:
        return "no end"
    if word and all(token in SHORT for token in word):
        return "".join(SHORT[token] for token in word)
    return " ".join(word) or "nothing"


def dependence_table(found: RecursionExplanation) -> Table:
    """Dependence by part, of the function and of the best machine."""
    assert found.dependences is not None
    rows = []
    for source, row in found.dependences[0].by_part.items():
        for part, share in row.items():
            its = found.dependences[1].by_part.get(source, {}).get(part, Share(0, 0))
            rows.append([f"{source} -> {part}", f"{share.count:,}", share.short, its.percent])
    return ["replaced -> changes", "n", "model (95%)", "machine"], rows


def head_table(found: RecursionExplanation) -> Table:
    """Each head: its recursion scores, and its largest effect on each part of the output."""
    attention = found.attention
    assert attention is not None
    parts = parts_of(attention.effects)
    scores = {(each.head, each.target): each for each in attention.scores}
    targets = list(dict.fromkeys(each.target for each in attention.scores))
    rows = []
    for head in dict.fromkeys(each.head for each in attention.effects):
        row = [head.name + (" *" if head in attention.recursion_heads else "")]
        for target in targets:
            score = scores[head, target]
            row.append(f"{score.score:+.2f} ±{score.error:.2f}{'!' if score.above else ''}")
        mine = [each for each in attention.effects if each.head == head]
        for part in parts:
            shares = [each.flips[part] for each in mine if part in each.flips]
            row.append(max((each.share for each in shares if each.count), default=0.0))  # type: ignore[arg-type]
        rows.append([each if isinstance(each, str) else f"{100 * each:.0f}%" for each in row])
    return ["head", *(f"score, {target}" for target in targets), *parts], rows


# As text


def lines(found: RecursionExplanation, limit: int) -> Iterator[str]:
    """The explanation as text, with at most `limit` rows of each table."""
    for word, value in summary(found):
        yield from _wrapped(word, value)
    yield ""
    yield from _aligned(_narrow(ranking_table(found)), limit)
    for sentence in same_predictions(found):
        yield from wrap(sentence, 80, subsequent_indent="  ")
    yield ""
    yield from _aligned(split_table(found), limit)
    if found.edges:
        yield ""
        kinds = Counter(kind for _, _, kind in found.edges)
        listed = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
        yield from wrap(f"All-carry inputs: {listed}", 80)
        yield from _aligned(edge_table(found), limit)
    if found.attention is not None and found.attention.effects:
        yield ""
        yield "Heads: recursion scores (! above the null set), and the share of inputs on which"
        yield "a part of the output changes under the strongest knock-out (* recursion head)"
        yield from _aligned(head_table(found), limit)


def _wrapped(word: str, value: str) -> list[str]:
    return wrap(
        value, 80, initial_indent=f"{word:<{INDENT}} ", subsequent_indent=" " * (INDENT + 1)
    )


def _narrow(table: Table) -> Table:
    """A table without the intervals, for a terminal."""
    header, rows = table
    return (
        [header[0], "agreement", *header[2:]],
        [["\n".join(wrap(row[0], 38)), row[1].split(" ")[0], *row[2:]] for row in rows],
    )


def _aligned(table: Table, limit: int) -> Iterator[str]:
    """A table whose first column is aligned to the left, and the others to the right."""
    header, rows = table
    shown = [header, *rows[:limit]]
    columns = range(len(header))
    widths = [max(len(part) for row in shown for part in row[at].split("\n")) for at in columns]
    text = [at for at in columns if any(_is_text(row[at]) for row in rows)]
    for row in shown:
        first, *more = row[0].split("\n")
        cells = [first.ljust(widths[0])]
        for at in columns[1:]:
            cells.append(row[at].ljust(widths[at]) if at in text else row[at].rjust(widths[at]))
        yield "  ".join(cells).rstrip()
        yield from (f"  {part}" for part in more)
    if len(rows) > limit:
        yield f"and {len(rows) - limit:,} more (--limit)"


def _is_text(cell: str) -> bool:
    return bool(cell) and not any(letter.isdigit() for letter in cell) and cell != "–"


# As values


def as_dict(found: RecursionExplanation) -> dict[str, Any]:
    """The explanation as plain values, for JSON."""
    other, better = found.runner_up, found.fitted_is_better
    values: dict[str, Any] = {
        "subject": found.name,
        "task": found.subject.name,
        "parameters": found.task.parameters,
        "inputs": len(found.questions),
        "best": found.best.kind,
        "computes": found.best.name,
        "supported": found.supported,
        "decided": found.decided,
        "explains_failures": found.explains_failures,
        "agreement": found.best.agreement.as_dict(),
        "accuracy": found.truth.agreement.as_dict(),
        "runner_up": None if other is None else other.kind,
        "margin": found.margin.as_dict(),
        "failures": found.failed,
        "ranking": [each.as_dict() for each in found.ranking],
        "machine": _machine(found.best),
        "fitted": None,
        "ranges": [each.as_dict() for each in found.ranges],
        "kinds": found.kinds,
        "by_split": {name: share.as_dict() for name, share in found.by_group.items()},
        "edges": [
            {"input": given, "output": output, "kind": kind} for given, output, kind in found.edges
        ],
        "remainder": len(found.remainder),
        "dependence": None,
        "attention": None if found.attention is None else found.attention.as_dict(),
    }
    if found.fitted is not None:
        margin = found.fitted_margin.as_dict()
        rules = {"machine": _machine(found.fitted), "better": better, "margin": margin}
        values["fitted"] = found.fitted.as_dict() | rules
    if found.dependences is not None:
        mine, its = found.dependences
        distance = mine.distance(its)
        values["dependence"] = {
            "model": mine.as_dict(),
            "machine": its.as_dict(),
            "distance": None if math.isnan(distance) else distance,
        }
    return values


def _machine(support: Support) -> list[str] | None:
    """A machine as lines of text; None if it is no state machine."""
    machine = support.candidate.machine
    return list(machine.lines()) if isinstance(machine, StateMachine) else None


# As a page


def page(found: RecursionExplanation, figures: dict[str, str]) -> str:
    """The explanation as a page in Markdown.

    Args:
        found: the explanation.
        figures: the file of each figure, by its name.
    """
    from weft.studies.report import markdown_table

    parts = [f"# What a model of the {found.subject.name} computes", ""]
    parts += markdown_table(["", "result"], [[word, value] for word, value in summary(found)])
    parts += ["", "## Machines", ""]
    parts += [
        f"Free parameters were chosen on {found.best.fitted.count:,} held-out inputs, and "
        f"everything was measured on {found.best.agreement.count:,} others, spread over all "
        "splits. Agreement is the share of all outputs that are exactly the machine's; recall is "
        "that of the model's wrong outputs; precision is the share of the inputs on which the "
        "machine is wrong for which the model writes the same.",
        "",
        *markdown_table(*ranking_table(found)),
        "",
        *(f"- {sentence}" for sentence in same_predictions(found)),
        "",
        "The best machine:",
        "",
        *_code(found.best),
    ]
    if found.fitted is not None:
        parts += ["", "The fitted rules:", "", *_code(found.fitted)]
    parts += ["", "## Outputs", "", *markdown_table(*split_table(found))]
    parts += ["", *markdown_table(*kind_table(found))]
    if found.edges:
        parts += ["", "All-carry inputs (s is 01, 0 is XO, 1 is X1):", ""]
        parts += markdown_table(*edge_table(found))
    left = found.remainder
    if len(left):
        parts += ["", "## The remainder", ""]
        parts += [
            f"{len(left):,} failures of both halves that the best machine does not predict, by "
            "kind: " + _kinds(found) + f". The first {min(REMAINDER, len(left))}:",
            "",
            *markdown_table(*remainder_table(found)),
        ]
    parts += _interventions(found, figures)
    return "\n".join(parts) + "\n"


def _kinds(found: RecursionExplanation) -> str:
    left = found.remainder
    kinds = Counter(
        found.subject.error(*each)
        for each in zip(left.inputs, left.outputs, left.truths, strict=True)
    )
    return ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())


def _code(support: Support) -> list[str]:
    return [f"    {line}" for line in _machine(support) or [support.name]]


def _interventions(found: RecursionExplanation, figures: dict[str, str]) -> Iterator[str]:
    """The sections on interventions."""
    from weft.studies.report import markdown_table

    if found.dependences is not None:
        yield from ("", "## Replaced tokens", "")
        yield f"![Dependence of output tokens on input tokens]({figures['dependence']})"
        yield ""
        yield (
            "One token of the input is replaced, and the shade is the share of questions on which "
            f"a token of the output changes, for inputs of {found.dependences[0].length} tokens. "
            "Beside the model, the best machine on the same questions. By part:"
        )
        yield from ("", *markdown_table(*dependence_table(found)))
    attention = found.attention
    if attention is None or not attention.effects:
        return
    yield from ("", "## Attention heads", "")
    yield (
        f"Knock-outs on {attention.inputs:,} inputs of trained sizes, while the model reads its "
        "own outputs: the share of inputs on which a prediction changes."
    )
    yield from ("", f"![Effects of knocking out heads]({figures['knock-outs']})", "")
    if attention.scores:
        yield (
            "Recursion scores: attention to the start of the run, or to the run, from queries "
            "within it, minus that from other queries, in excess of the null set. ! marks scores "
            "above the threshold, * recursion heads, which have an effect as well. The columns of "
            "output parts show the strongest knock-out of each head."
        )
        yield from ("", f"![Recursion scores]({figures['scores']})", "")
    yield from markdown_table(*head_table(found))
    if "attention" in figures:
        yield from ("", f"![Attention weights on one input]({figures['attention']})")
    if attention.following:
        yield from ("", "## Positions", "")
        rows = [
            [each.intervention, f"{each.token.count:,}", each.position.short, each.token.short]
            for each in attention.following
        ]
        header = ["intervention", "n", "follow the position (95%)", "follow the token (95%)"]
        yield from markdown_table(header, rows)


def write(found: RecursionExplanation, folder: Path) -> list[Path]:
    """Write page, values and figures into a folder; returns the files."""
    from weft.studies.plotting import save
    from weft.studies.recursion.explanation_figures import figures_of

    folder.mkdir(parents=True, exist_ok=True)
    drawn = {name: save(figure, folder, name) for name, figure in figures_of(found).items()}
    written, values = folder / f"{NAME}.md", folder / f"{NAME}.json"
    text = page(found, {name: path.name for name, path in drawn.items()})
    written.write_text(text, encoding="utf-8")
    content = json.dumps(as_dict(found), ensure_ascii=False, indent=1)
    values.write_text(content + "\n", encoding="utf-8")
    return [written, values, *drawn.values()]
