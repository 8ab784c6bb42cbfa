"""Languages on which predictors of length generalisation disagree.

None of the papers trained on these with these predictions at stake. By class, without positions:

    language     C-RASP  R-trivial  R^omega  star-free  communication
    (ab|aabb)*   no      no         no       yes        yes
    (ab|bbaa)*   yes     no         yes      yes        yes
    (ab|bba)*    no      no         yes      yes        yes
    Σ*abΣ*       no      no         no       yes        yes            three letters
    parity       no      no         no       no         yes

With periodic and local predicates, C-RASP expresses all but parity. Every language is asked for
membership of all prefixes, where the predictions are about the language itself, and for legal next
symbols, which can be easier: of (ab|aabb)* C-RASP predicts them without positions, too.
"""

from __future__ import annotations

from weft.studies.length.formal import HEADER, language_row, scales_of
from weft.studies.length.protocol import COLUMNS, NAMES
from weft.studies.study import Study

DISPUTED = ("ab-or-aabb", "ab-or-bbaa", "ab-or-bba", "contains-ab", "parity")
TARGETS = ("membership", "next")

ROWS = tuple(
    language_row(name, target, encoding)
    for name in DISPUTED
    for target in TARGETS
    for encoding in NAMES
)

CRASP_DISPUTED = Study(
    name="crasp-disputed",
    title="Languages on which predictors disagree",
    source="predictions of Weft, no paper",
    task="formal-language",
    header=HEADER,
    rows=ROWS,
    columns=COLUMNS,
    scales=scales_of(ROWS),
    training={"length": (1, 50)},
    notes=(
        "Accuracy is exact match at all prefixes of a string. With the target `membership`, half "
        "of the strings are words of the language, a quarter are words with one or two symbols "
        "replaced, and a quarter are random.",
        "Predictions are in the table of docs/length-studies.md; they were fixed before any run.",
    ),
)
