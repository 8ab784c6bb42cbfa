"""The verifier of certificates: it shares no code with the deciders or the synthesis.

witnesses    `check`: every kind of certificate, from plain values
reading      reads plain values strictly, and bounds what a check costs
potentials   a yes: potentials that separate the states of every component
flows        a no: flows that keep two states together, for letters or for blocks
exploration  `prove_equal`: a program accepts what an automaton accepts, by an invariant
words        the same on all words up to a length
normal_form  a program as Boolean nodes and combinations of counts
evaluation   these at one position, with unknown values
"""
