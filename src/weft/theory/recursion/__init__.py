"""Which algorithm computes a recursive function, or fails to: machines as executable rules.

state_machines      abstract state machines: guarded rules, run one decoding step at a time
successor_machines  the binary successor and its shortcuts
traversal_machines  traversals of binary trees, and their shortcuts
rule_lists          guarded rules fitted to outputs, as machines
wrong_outputs       what exactly is wrong about an output
"""

from __future__ import annotations

from weft.theory.recursion.rule_lists import Language, fit_rules
from weft.theory.recursion.state_machines import Pointer, Rule, StateMachine
from weft.theory.recursion.successor_machines import (
    Candidate,
    all_carry,
    capped_machine,
    copy_machine,
    depth_of,
    shortcut_machine,
    successor,
    successor_candidates,
    successor_language,
    successor_machine,
)
from weft.theory.recursion.traversal_machines import (
    drop_machine,
    traversal_candidates,
    traversal_machine,
)

__all__ = [
    "Candidate",
    "Language",
    "Pointer",
    "Rule",
    "StateMachine",
    "all_carry",
    "capped_machine",
    "copy_machine",
    "depth_of",
    "drop_machine",
    "fit_rules",
    "shortcut_machine",
    "successor",
    "successor_candidates",
    "successor_language",
    "successor_machine",
    "traversal_candidates",
    "traversal_machine",
]
