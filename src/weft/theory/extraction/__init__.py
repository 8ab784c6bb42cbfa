"""Rules extracted from trained weights, and their distance from the compiled ones."""
