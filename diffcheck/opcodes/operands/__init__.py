"""Operands of the tests: special values of every type, constructed near-halfway cases, and random bits from a seed."""
