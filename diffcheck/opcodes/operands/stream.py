"""Random bits that are the same everywhere and for ever: SplitMix64 (Steele, Lea, Flood 2014) in counter mode."""

from __future__ import annotations

import hashlib

import numpy as np

from diffcheck.opcodes.fields import Bits

_GAMMA = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def random_bits(seed: str, count: int) -> Bits:
    """`count` words of 64 uniform bits that follow from the text `seed` alone."""
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little")
    words = np.array([(start + (index + 1) * _GAMMA) & _MASK for index in range(count)], np.uint64)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)), np.uint64)


def random_below(seed: str, count: int, limit: int) -> Bits:
    """`count` numbers of 0 … limit - 1; `limit` is small against 2^64, so that the bias is none that matters."""
    return np.asarray(random_bits(seed, count) % np.uint64(limit), np.uint64)
