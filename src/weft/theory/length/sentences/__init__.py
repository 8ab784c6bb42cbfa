"""Witnesses of the deciders in words.

conflicts    a no as two states, a path between them, and cycles with the same labels
refusals     ... in words
potentials   a yes without positions: combinations of counts, with their value in each state
unfoldings   a yes with positions: what is read off, and what is counted
"""

from weft.theory.length.blocks import BlockObstruction
from weft.theory.length.decider import Decision
from weft.theory.length.sentences.conflicts import Conflict, Cycle
from weft.theory.length.sentences.potentials import inside_details, inside_reason
from weft.theory.length.sentences.refusals import refusal
from weft.theory.length.sentences.unfoldings import unfolding_details, unfolding_reason
from weft.theory.length.unfolding import Unfolding

Witness = Decision | Unfolding | BlockObstruction

__all__ = ["Conflict", "Cycle", "Witness", "conflict", "details", "reason"]


def reason(witness: Witness) -> str:
    """The reason for a verdict, in one sentence.

    Args:
        witness: a decision without positions, or an unfolding (a yes with positions), or a block
            obstruction (a no with positions).

    Example:
        >>> from weft.automata import expression_dfa
        >>> from weft.theory.length.decider import decide
        >>> reason(decide(expression_dfa("(ab)*"))).split("; ")[1]
        "for example in the words before a last b, #a - #b is 0 after the empty word, 1 after 'a'"
        >>> reason(decide(expression_dfa("(aa)*"))).split(", but ")[1]
        "'a' is rejected and 'aa' is accepted"
    """
    match witness:
        case Decision(inside=True):
            return inside_reason(witness)
        case Unfolding():
            return unfolding_reason(witness)
        case _:
            return refusal(witness).reason()


def details(witness: Witness) -> list[str]:
    """What shows the verdict, in a few lines that a reader can check by hand.

    Example:
        >>> from weft.automata import expression_dfa
        >>> from weft.theory.length.decider import decide
        >>> print("\\n".join(details(decide(expression_dfa("(aa)*")))))
        automaton of the words before a last a
        component: state 0 (after the empty word), state 1 (after 'a')
        letter by letter,
          2 times 'a', from state 0 to state 1
          = 1 times the cycle 'aa' at state 0
        so a combination of counts that no cycle changes is the same in 0 and in 1,
        but 'a' is rejected and 'aa' is accepted
    """
    match witness:
        case Decision(inside=True):
            return inside_details(witness)
        case Unfolding():
            return unfolding_details(witness)
        case _:
            return refusal(witness).details()


def conflict(witness: Decision | BlockObstruction) -> Conflict:
    """The shortest conflict that a no shows.

    For blocks, path and cycles are numbers of blocks; words and ending are letters.

    Example:
        >>> from weft.automata import expression_dfa
        >>> from weft.theory.length.decider import decide
        >>> found = conflict(decide(expression_dfa("(aa)*")))
        >>> found.words, found.path, found.times, found.cycles[0].word
        (((), (0,)), (0,), 2, (0, 0))
    """
    return refusal(witness).conflict
