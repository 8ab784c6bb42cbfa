"""Studies of length generalisation, beside the predictions of C-RASP.

reference    what Huang et al. (2025) and a re-run of 2026 report, with sources
algorithmic  eight algorithmic tasks, with and without learned positions
formal       formal languages, with and without learned positions
"""
