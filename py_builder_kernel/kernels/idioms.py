"""Short sequences that every kernel uses."""

from __future__ import annotations

from collections.abc import Iterable

from py_builder_kernel.kernels.storage import Storage
from py_builder_kernel.ptx import F32, U32, Address, F32Literal, Function, Param, Reg, Vec, at_param
from py_builder_kernel.ptx.special import TID_X

ALL_LANES = 0xFFFFFFFF
# The lowest finite f32: where a running maximum starts, so that no difference of maxima is NaN.
MINUS_MAX = F32Literal(0xFF7FFFFF)
MINUS_INF = F32Literal(0xFF800000)


def constant(f: Function, literal: F32Literal) -> Reg:
    """A register that holds an f32 constant."""
    return f.new("mov.f32", literal)


def shuffle(f: Function, mode: str, value: Reg, lane: Reg | int, *, width: int = 32) -> Reg:
    """An f32 of another lane: `bfly` of lane xor `lane`, `idx` of lane `lane`, counted in the lane's own `width` lanes.

    All 32 lanes take part.
    """
    result = f.reg(F32)
    # The bits of a lane's number that stay its own, and the last lane of 32 (PTX ISA, shfl.sync).
    segment = (32 - width) << 8 | 31
    f.emit(f"shfl.sync.{mode}.b32", result, value, lane, segment, ALL_LANES)
    return result


def xor_tree(f: Function, mnemonic: str, value: Reg, levels: Iterable[int]) -> Reg:
    """Combine lanes pairwise with a commutative operation at each level; every lane ends with the same bits."""
    for level in levels:
        value = f.new(mnemonic, value, shuffle(f, "bfly", value, level))
    return value


def warp_maximum(f: Function, value: Reg) -> Reg:
    """The greatest f32 of all lanes, in every lane; no value may be NaN.

    One instruction for integers: read as signed ones, floats that are not negative are in their order, and the others
    when their other bits are inverted.
    """
    greatest = f.new("redux.sync.max.s32", _in_integer_order(f, f.new("mov.b32", value)), ALL_LANES)
    result = f.reg(F32)
    f.emit("mov.b32", result, _in_integer_order(f, greatest))
    return result


def _in_integer_order(f: Function, bits: Reg) -> Reg:
    """Its own inverse."""
    negative = f.new("shr.s32", bits, 31)
    return f.new("xor.b32", bits, f.new("and.b32", negative, 0x7FFFFFFF))


def lane_and_warp(f: Function) -> tuple[Reg, Reg]:
    """The thread's lane and its warp's number in the block.

    The number is lane 0's, so that ptxas knows it, and the branches that depend on it, to be the same in all lanes.
    """
    tid = f.new("mov.u32", TID_X)
    warp = f.reg(U32)
    f.emit("shfl.sync.idx.b32", warp, f.new("shr.u32", tid, 5), 0, 31, ALL_LANES)
    return f.new("and.b32", tid, 31), warp


def load_param(f: Function, param: Param) -> Reg:
    """A parameter's value."""
    return f.new(f"ld.param.{param.dtype}", at_param(param))


def global_pointer(f: Function, param: Param) -> Reg:
    """A pointer parameter as an address of global space."""
    return f.new("cvta.to.global.u64", load_param(f, param))


def advance(f: Function, pointer: Reg, count: Reg, bytes_each: int) -> Reg:
    """`pointer + count · bytes_each`, where count is 32 bits wide."""
    return f.new("mad.wide.u32", count, bytes_each, pointer)


def advance_wide(f: Function, pointer: Reg, count: Reg, bytes_each: Reg) -> Reg:
    """`pointer + count · bytes_each`, where bytes_each is a 64-bit register and count is 32 bits wide."""
    return f.new("mad.lo.u64", f.new("cvt.u64.u32", count), bytes_each, pointer)


def stride_bytes(f: Function, param: Param, size: int) -> Reg:
    """A stride parameter, in elements of `size` bytes, as bytes."""
    return f.new("shl.b64", load_param(f, param), size.bit_length() - 1)


def into(f: Function, mnemonic: str, accumulator: Reg, *sources: Reg | F32Literal) -> None:
    """An operation whose result replaces its last operand: `fma a, b, acc -> acc`, `add p, l -> l`."""
    f.emit(mnemonic, accumulator, *sources, accumulator)


def unpack_row(f: Function, storage: Storage, words: list[Reg]) -> list[Reg]:
    """A lane's loaded words as f32."""
    return [element for word in words for element in storage.unpack(f, word)]


def load_f32(f: Function, addresses: Iterable[Address], *, cache: str = "") -> list[Reg]:
    """Four f32 from each address, with 16-byte loads."""
    values: list[Reg] = []
    for address in addresses:
        quad = f.regs(F32, 4)
        f.emit(f"ld.{address.space}{cache}.v4.f32", Vec(tuple(quad)), address)
        values += quad
    return values
