"""Constructing weights: circuits of clipped-ReLU units, their matrices, number formats, and `emit`,
which turns a list of constructed layers into a Transformer.
"""
