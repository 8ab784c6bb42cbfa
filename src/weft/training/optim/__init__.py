"""AdamW, Adafactor, Muon and the learning-rate schedules, by name."""
