"""Random rule sets as the ALTA paper's appendix B has them, with states for them."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from optimum_oracles import Plain, exclusive

from weft.errors import Location
from weft.language.program import Variable
from weft.language.ranges import UNDEFINED, categorical

NOWHERE = Location("<test>", 0)
few = settings(
    max_examples=90,
    derandomize=True,
    deadline=None,
    print_blob=True,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
many = settings(few, max_examples=3000, derandomize=False, phases=list(Phase))


def variables(*sizes: int, head: bool = False) -> dict[str, Variable]:
    made = {
        name: Variable(name, categorical(size), NOWHERE, default=0)
        for name, size in zip("abcd", sizes, strict=False)
    }
    if head:
        made["h"] = Variable("h", categorical(2), NOWHERE, is_head=True)
    return made


Instance = tuple[dict[str, Variable], list[Plain], list[dict[str, Any]]]


@st.composite
def instances(draw: Any) -> Instance:
    """Variables, rules that exclude each other, and the states of D, some of them repeated."""
    sizes = draw(st.lists(st.integers(2, 3), min_size=1, max_size=3))
    declared = variables(*sizes, head=draw(st.booleans()))
    rules: list[Plain] = []
    for _ in range(draw(st.integers(0, 5))):
        target = draw(st.sampled_from([n for n, v in declared.items() if not v.is_head]))
        old, new = draw(st.permutations(declared[target].range.values))[:2]
        others = [n for n in declared if n != target and draw(st.booleans())]
        guard = [(n, draw(st.sampled_from(declared[n].range.values))) for n in others]
        rule = Plain((*guard, (target, old)), target, new)
        if exclusive([*rules, rule]):
            rules.append(rule)
    columns = [(*v.range.values, UNDEFINED) if v.is_head else v.range.values
               for v in declared.values()]  # fmt: skip
    state = st.tuples(*(st.sampled_from(column) for column in columns))
    rows = draw(st.lists(state, min_size=1, max_size=12))
    return declared, rules, [dict(zip(declared, row, strict=True)) for row in rows]
