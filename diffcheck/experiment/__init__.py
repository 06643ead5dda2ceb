"""Experiments, hosts and policies: what is asked, of whom, and what is enough. Data in `diffcheck/experiments`."""
