"""What the verifiers share: floating-point bounds, and how a proof is reported.

`weft.compiler.proof` verifies compiled programs, `weft.crasp.proof` compiled C-RASP programs.
"""

from weft.proofs.report import Proof, Shown, Verdict

__all__ = ["Proof", "Shown", "Verdict"]
