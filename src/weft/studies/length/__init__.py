"""Studies of length generalisation, beside the predictions of C-RASP.

reference       what Huang et al. (2025) and a re-run of 2026 report, with sources
protocol        the paper's training as settings of runs
algorithmic     eight algorithmic tasks, with and without learned positions
formal          formal languages, with and without learned positions
disputed        languages on which predictors disagree
variations      the regulariser, other encodings, other offsets
position_terms  position terms learned from short windows
inference       idealised inference: the regulariser as the context grows
selection       the paper's selection of models and seeds
records         the results of runs in one small file
roles           what heads do with positions, and what a task needs of them
predictors      what each predictor says of a row
report          results as a table and a page, with predictions and published results
scores          how often predictions came true
"""
