"""Receipts that other tools wrote, read into one model. An import is shown and never counts for a verdict."""
