"""The A/B run: two arms timed against each other on one device, and how sure the ratio is."""
