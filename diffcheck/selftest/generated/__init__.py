"""Faults that a program makes of the kernels' own PTX: operators over its instructions, and what becomes of each."""
