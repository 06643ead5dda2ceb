"""Builders of synthetic evidence for tests. Nothing here measures anything."""
