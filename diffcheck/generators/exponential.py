"""Scores that hand the exponential chosen arguments: those at its edges, and those at which a wrong constant shows.

One ULP in a constant of the contract's exponential (section 4) changes its result for hardly any argument: one in three
million for the last coefficient. `ARGUMENTS` has, for each constant off by one ULP either way and for each of its
operations rounded in another direction or unfused, arguments at which the result differs; a sweep over every f32 of the
range found them. The exponential stands at four places of a decode, and each of the four generators hands the arguments
to one of them: to the weights, rescales and merge of the partial kernel, and to the reduce kernel.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from diffcheck.generators.base import F64Array, Request, generator
from diffcheck.generators.merges import MergeRequest, merge

# Bit patterns. First the cut-off, small numbers, and ties of the range reduction with their neighbours.
_PATTERNS = (
    *(0xC2AE0000, 0xC2ADFFFF, 0xC2AE0001, 0xC2D00000, 0xBF800000, 0xBF000000, 0xB9800000, 0xB5800000),
    *(0xBEB17217, 0xBEB17218, 0xBEB17219, 0xBF851591, 0xBF851592, 0xBF851593, 0xC22D496A, 0xC22D496B),
    *(0xC22D496C, 0xC2713645, 0xC2713646, 0xC2713647),
    # One ULP in LOG2E, or its product rounded by itself, shows for these and hardly any other.
    *(0xC120CF65, 0xC136FDA8, 0xC14D2BEB, 0xC187DB5B, 0xC19E099E, 0xC1B437E1, 0xC1CA6624, 0xC28CB579),
    0xC2A2E3BC,
    # So does one ULP in C6 or C5, or a product of the polynomial that is rounded by itself.
    *(0xBE6D0CA1, 0xBE97CE68, 0xBEA651CB, 0xBEA6AD0C, 0xBE613B00, 0xBE619D6A, 0xBE6AD27D, 0xBE99721C),
    *(0xBEC7B8D3, 0xBECF4776, 0xBE051495, 0xBE151959, 0xBE497E98, 0xBE4A1DDD),
    # Each other constant and rounding shows at several of these.
    *(0xBFE60BF0, 0xBF918A4A, 0xBFDF0825, 0xBEB65834, 0xBFCD9978, 0xBE8C8F89, 0xBEACE5B6, 0xBEA41F0B),
    *(0xC2465068, 0xBF859564, 0xBF9FA861, 0xBF6EC635, 0xC1CEFF09, 0xC1D9A174, 0xC16CF0CA, 0xC2965AB9),
    *(0xC1FC542D, 0xC2922B53),
)
ARGUMENTS = tuple(float(x) for x in np.array(_PATTERNS, dtype=np.uint32).view(np.float32))
"""None below -128, and all whole multiples of 2^-37."""
PIECES = 4
PIECE_BITS = 11
LARGEST_UNIT = 2.0**-4
_KEYS_APART = 128
# The second makes products with small weights, and what rescales leave of them, denormal.
_VALUES = (1.0, 1.5 * 2.0**-21)

Indices = npt.NDArray[np.intp]


def _write(request: Request, argument: Indices, zero: npt.NDArray[np.bool_]) -> None:
    """Make the score of key j for head h argument number `argument[j, h]`, or 0 where `zero[j, h]`.

    The case's seed is added to the numbers, which go round.

    A score is written as four pieces of 11 bits, which f16 holds; q scales them back by powers of two, in elements of
    the head's own. Every subset of the pieces sums up exactly, so that no order of summation rounds. V has every key in
    elements of its own, so that each weight can be seen.
    """
    case = request.case
    scores = np.where(zero, 0.0, np.array(ARGUMENTS)[(argument + case.seed) % len(ARGUMENTS)])
    pieces = _pieces(scores)
    request.q[...] = request.k[...] = request.v[...] = 0
    for head in range(case.num_q_heads):
        kv_head, member = divmod(head, case.group_size)
        for piece in range(PIECES):
            dim = PIECES * member + piece
            request.q[head, dim] = np.sqrt(case.head_dim) * 2.0 ** (-PIECE_BITS * piece)
            request.k[:, kv_head, dim] = pieces[:, head, piece]
    keys = np.arange(case.kv_len)
    for part in range(case.head_dim // _KEYS_APART):
        # In turn, so that each element of a lane's vectors has both.
        values = np.array(_VALUES)[(keys // 4 + part) % 2]
        request.v[keys, :, keys % _KEYS_APART + part * _KEYS_APART] = values[:, None]


def _pieces(scores: F64Array) -> F64Array:
    """Divide scores `[...]` into pieces `[..., PIECES]`; raises `ValueError` where a rest is left."""
    rest, found = -scores, []
    for piece in range(PIECES):
        unit = LARGEST_UNIT * 2.0 ** (-PIECE_BITS * piece)
        part = np.floor(rest / unit) * unit
        rest = rest - part
        found.append(-part * 2.0 ** (PIECE_BITS * piece))
    if np.any(rest) or np.any(scores <= -128):
        raise ValueError("an argument of the exponential that four pieces of 11 bits do not hold")
    return np.stack(found, axis=-1)


def _places(request: Request) -> tuple[Indices, Indices, Indices, Indices, Indices]:
    """For each key (down) and head (across): its split, its step, its warp, its row in the step, and the head."""
    plan, tile = request.plan, request.plan.tile
    key = np.arange(request.case.kv_len)[:, None]
    head = np.arange(request.case.num_q_heads)[None, :]
    split, within = key // plan.chunk, key % plan.chunk
    step, in_step = within // (tile.warps * tile.rows), within % (tile.warps * tile.rows)
    found = np.broadcast_arrays(split, step, in_step // tile.rows, in_step % tile.rows, head)
    return found[0], found[1], found[2], found[3], found[4]


@generator("exponential-weights", "chosen arguments of a key's weight: each warp's maximum is 0", expect="bound")
def weights(request: Request) -> None:
    """The first row of each warp's steps scores 0, every other one argument lower."""
    split, step, warp, row, head = _places(request)
    rows = request.plan.tile.rows
    number = ((split * 5 + step) * request.plan.tile.warps + warp) * (rows - 1) + row - 1
    _write(request, number + 7 * head, row == 0)


@generator("exponential-steps", "chosen arguments of a rescale: a warp's maximum rises once, to 0", expect="bound")
def steps(request: Request) -> None:
    """All rows of a warp's first step score one argument, those of its later steps 0."""
    split, step, warp, _, head = _places(request)
    _write(request, split * request.plan.tile.warps + warp + 7 * head, step > 0)


@generator("exponential-warps", "chosen arguments of the warps' merge: one warp of a split has 0", expect="bound")
def warps(request: Request) -> None:
    """All rows of a warp score one argument, those of one warp 0: of the first in half the splits, then the second.

    Where splits / 2 times the heads of a group are as many as there are arguments, every warp is handed every one, and
    with as many warps as heads so is every head: some arms merge warp by warp, others all warps of a head at once.
    """
    split, _, warp, _, head = _places(request)
    half = max(1, request.plan.n_splits // 2)
    _write(request, split % half + half * (head % request.case.group_size + warp), warp == split // half % 2)


@merge("merge-exponential", "chosen arguments of the splits' merge: one split has the maximum 0", expect="bound")
def splits(request: MergeRequest) -> None:
    """Each split has one argument as its maximum, and every weight comes out as it is.

    The sum of weights is 1 in split 0 and too small in the others to count, so that the last division is by 1. A head
    shows 256 splits, one an element, and every argument among them: a kernel weighs them all by the same instructions.
    """
    head, split = np.arange(request.case.num_q_heads)[:, None], np.arange(request.n_splits)[None, :]
    dim = request.case.head_dim
    windows = -(-request.n_splits // dim)
    number = request.case.seed + split + 29 * (head // windows)
    request.m[...] = np.where(split == 0, 0, np.array(ARGUMENTS)[number % len(ARGUMENTS)])
    request.s[...] = np.where(split == 0, 1, 2.0**-60)
    request.acc[...] = 0
    shown = np.argwhere(split // dim == head % windows)
    request.acc[shown[:, 0], shown[:, 1], shown[:, 1] % dim] = 1
