"""Planted faults that the harness must find: a comparison that cannot fail proves nothing."""
