"""Certificates: what the deciders found, as plain values for a JSON file.

A certificate holds the automaton of the question and a witness. `weft.theory.length.checker` checks
it without the deciders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.automata.dfa import DFA
from weft.automata.files import automaton_json
from weft.crasp.program import CraspProgram
from weft.theory.length.blocks import BlockObstruction
from weft.theory.length.decider import Component, Decision, Round
from weft.theory.length.unfolding import Unfolded, Unfolding


def decision_certificate(dfa: DFA, decision: Decision) -> dict[str, Any]:
    """The certificate of a decision without positions: potentials for a yes, flows for a no."""
    common = {"automaton": automaton_json(dfa), "last_symbol": decision.last_symbol}
    if decision.inside:
        parts = [
            {
                "letter": part.letter,
                "components": [_potentials(each, int) for each in part.components],
            }
            for part in decision.parts
        ]
        return {"kind": "potentials", **common, "parts": parts}
    part, component = decision.failing
    return {"kind": "flows", **common, "letter": part.letter, **_flows(component)}


def unfolding_certificate(dfa: DFA, unfolding: Unfolding) -> dict[str, Any]:
    """The certificate of a yes with positions: potentials of the unfolded automaton."""
    return {
        "kind": "unfolding",
        "automaton": automaton_json(dfa),
        "last_symbol": unfolding.last_symbol,
        "period": unfolding.period,
        "window": unfolding.window,
        "parts": [
            {
                "letter": part.letter,
                "components": [
                    _potentials(each, lambda q, names=part.states: _plain(names[q]))  # type: ignore[misc]
                    for each in part.components
                ],
            }
            for part in unfolding.parts
        ],
    }


def block_certificate(dfa: DFA, blocks: BlockObstruction) -> dict[str, Any]:
    """The certificate of a no with positions: blocks, and flows between states."""
    return {
        "kind": "blocks",
        "automaton": automaton_json(dfa),
        "frame": list(blocks.frame),
        "middles": [list(word) for word in blocks.middles],
        **_flows(blocks.component),
    }


def program_certificate(dfa: DFA, program: CraspProgram) -> dict[str, Any]:
    """The certificate of a yes that is a C-RASP program; the checker proves it on all words."""
    return {"kind": "program", "automaton": automaton_json(dfa), "program": str(program)}


def _plain(state: Unfolded) -> list[Any]:
    return [state[0], list(state[1]), state[2]]


def _potentials(component: Component, name: Callable[[int], Any]) -> dict[str, Any]:
    """The rounds of a component. In each round, a class is known by one state that is in it."""
    return {
        "states": [name(state) for state in component.states],
        "rounds": [_round(each, component, name) for each in component.rounds],
    }


def _round(each: Round, component: Component, name: Callable[[int], Any]) -> dict[str, Any]:
    member = {each.classes[state]: state for state in reversed(component.states)}
    return {
        "weights": [
            [name(member[label[0]]), label[1], list(weights)]
            for label, weights in each.weights.items()
        ],
        "potentials": [list(each.potentials[state]) for state in component.states],
    }


def _flows(component: Component) -> dict[str, Any]:
    members: dict[int, list[int]] = {}
    for state in component.states:
        members.setdefault(component.classes[state], []).append(state)
    return {
        "classes": list(members.values()),
        "flows": [
            {
                "source": flow.source,
                "target": flow.target,
                "units": flow.units,
                "edges": [[*edge, amount] for edge, amount in flow.edges.items()],
            }
            for flow in component.flows
        ],
    }
