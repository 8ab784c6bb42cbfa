"""Writing C-RASP programs: text (`grammar.lark`, `parser`, `text`) and Python (`builder`)."""
