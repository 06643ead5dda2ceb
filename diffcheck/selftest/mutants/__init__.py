"""The planted faults, one module for each place they are planted in."""
