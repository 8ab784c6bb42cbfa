"""Program trace generation: a small imperative language, its execution, traces and samplers."""
