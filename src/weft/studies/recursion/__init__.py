"""Which algorithm a model of a recursive function has learned (Zhang et al. 2024).

explanation              what a model computes, and how: `weft explain RUN`
explanation_subjects     what is known about each function
explanation_model        a model as a function, with names for the parts of its texts
explanation_ranking      machines compared with outputs
explanation_replacement  dependence of output tokens on input tokens
explanation_heads        knock-outs of attention heads, and recursion scores
explanation_resume       passes that begin at the layer that an intervention changes
explanation_positions    interventions on positions
explanation_programs     a model beside a compiled program
explanation_figures      figures of these
explanation_report       all of it as text, values and a page

study                    `weft study recursion`: what is learned, and by which supervision
rows                     its rows and scales, as settings of runs
records                  its results, run by run, in one file
machine_records          which machine explains a run of the study
report, figure           its tables and figures
"""
