"""The study of program trace generation, and what a run of it has learned.

steps         the step, line and statement of each token; first errors
hazards       how likely the next step goes wrong, against sizes of the program's state
analysis      a model on a split: accuracy, hazards, kinds of errors
continuation  what a model writes by itself
heads         a NaPE model without some of its heads
attention     where heads look, and how far away what they need is
explanation   all of that for one run (`weft explain`)
rows, study   the study: rows and scales, and training them
records       the results, run by run, in small files
reference     the paper's figures
report        tables and figures
"""
