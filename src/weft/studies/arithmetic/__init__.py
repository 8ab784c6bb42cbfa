"""Which digits and moduli carry over: arithmetic, predicted and measured (Xu et al. 2025).

reference    the figures of the paper
rows         the rows and scales of the study, as settings of runs
records      the results of runs in one small file, with the agreement with the truncated function
comparison   predictions beside measurements, and how often they came true
report       results as tables, with notes
figure       predicted and measured accuracy by number of digits
study        the study itself
"""
