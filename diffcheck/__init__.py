"""Compare implementations of split-K decode attention with each other, to the bit, with or without a GPU."""
