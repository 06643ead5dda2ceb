"""The A/B run: both arms interleaved in one process on a GPU, with controls, into a receipt."""
