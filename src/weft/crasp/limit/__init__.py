"""From C-RASP programs to limit transformers, which run on words of any length.

Open `construct` for the stages in order: `normal_form`, `schedule`, `glue`, `transformer`.
"""
