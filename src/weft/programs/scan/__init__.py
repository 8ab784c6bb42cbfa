"""SCAN (Lake and Baroni, 2018): the program, its grammar and parser, and the published splits."""
