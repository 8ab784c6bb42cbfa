"""Constructing weights: circuits of clipped-ReLU units, their matrices, and number formats."""
