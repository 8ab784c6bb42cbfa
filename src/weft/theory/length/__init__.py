"""Length generalisation: which languages C-RASP expresses, decided and certified.

    decider        regular languages without positions: exact
    unfolding      regular languages with positions: a yes, by windows and residues
    blocks         regular languages with positions: a no, by blocks of equal length
    classes        R-trivial, R-omega, star-free or just regular
    transductions  tasks: a program compared with the task, or one of three arguments for a no
    functions      Python functions: a learned automaton, a program by search, or evidence
    communication  tables and fooling families; `protocol` is the message of a program
    synthesis      a C-RASP program for a yes
    sentences      what a decider found, in words that a person can follow
    certificates   what a decider found, as plain values for a file
    checker        checks what these say, from the automaton and the certificate alone

docs/length-theory.md states the theorems.
"""
