"""What a program is: variables, heads, `Program`, the step function's front end, rules.

Read `declare` for the words that a program is written in, `program` for what they make, `frontend`
for how a step becomes guarded updates, and `rules` for what those expand to. Nothing here needs
NumPy.
"""

from weft.language.declare import attend, number, relative, subset, var
from weft.language.program import Program
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule, RuleSet
from weft.language.stream import Stream

__all__ = [
    "UNDEFINED",
    "Program",
    "Rule",
    "RuleSet",
    "Stream",
    "attend",
    "number",
    "relative",
    "subset",
    "var",
]
