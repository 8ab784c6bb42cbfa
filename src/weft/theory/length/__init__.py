"""Length generalisation: which languages C-RASP expresses, decided and certified.

    decider     regular languages without positions: exact
    unfolding   regular languages with positions: a yes, by windows and residues
    blocks      regular languages with positions: a no, by blocks of equal length
    classes     R-trivial, R-omega, star-free or just regular
    checker     checks what these say, from the automaton and the certificate alone

docs/length-theory.md states the theorems.
"""
