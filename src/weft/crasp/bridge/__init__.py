"""C-RASP programs as Weft programs, computed from left to right; `program` is where to start."""
