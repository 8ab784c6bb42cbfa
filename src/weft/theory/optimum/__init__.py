"""Whether training would stay at compiled weights (ALTA paper, appendices B.4 to B.8)."""
