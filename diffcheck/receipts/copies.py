"""Whether what a record says of its copies of K and V can be."""

from __future__ import annotations

from diffcheck.timing.sets import L2_MULTIPLE, count_sets


def require_rotated(stated: int, buffer_sets: int, kv_bytes: int) -> None:
    """Raise `ValueError` where the bytes of all copies are not those of so many times K and V."""
    if stated != kv_bytes * buffer_sets:
        raise ValueError(f"rotated_bytes: {stated} contradicts {buffer_sets} x {kv_bytes}")


def require_copies(case: str, buffer_sets: int, kv_bytes: int, l2_bytes: int) -> None:
    """Raise `ValueError` where K and V, of one byte at least, were copied too few times to lie outside the L2."""
    needed = count_sets(kv_bytes, l2_bytes)
    if buffer_sets < needed:
        raise ValueError(f"buffer_sets: {buffer_sets} of {case}; {needed} exceed the L2 {L2_MULTIPLE} times")
