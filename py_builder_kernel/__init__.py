"""PTX built from Python: split-K decode attention."""
