"""Guards, gaps and poison show what a kernel must not have done; every layout keeps the contract's rules."""

from __future__ import annotations

import numpy as np
import pytest

from diffcheck.buffers import GUARD_WORDS, Placed, new_buffer, poison, unwritten
from diffcheck.cases import Case, Storage
from diffcheck.layouts import OVERLAPPING_LAYOUTS, allocate_inputs, allocate_outputs, layouts

STORAGES: tuple[Storage, ...] = ("f32", "f16")


def make(layout: str, storage: Storage, kv_len: int = 9) -> Case:
    return Case("c", 6, 3, kv_len, storage, "random", "bound", layout=layout)


def arrays(case: Case) -> tuple[Placed, Placed, Placed]:
    placed = allocate_inputs(case)
    return placed.q, placed.k, placed.v


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("layout", layouts())
def test_strides_and_addresses_are_multiples_of_16_bytes(layout: str, storage: Storage) -> None:
    for placed in arrays(make(layout, storage)):
        size = placed.view.itemsize
        assert placed.strides[-1] == 1
        assert all(stride * size % 16 == 0 for stride in placed.strides[:-1])
        assert placed.byte_offset % 16 == 0
        assert placed.view.ctypes.data % 16 == 0
        assert placed.view.ctypes.data == placed.buffer.raw.ctypes.data + placed.byte_offset


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("layout", layouts())
def test_arrays_do_not_overlap_and_leave_gaps_alone(layout: str, storage: Storage) -> None:
    placed = arrays(make(layout, storage))
    for number, array in enumerate(placed):
        array.view[...] = number + 1
    for number, array in enumerate(placed):
        assert np.all(array.view == number + 1)
        assert array.buffer.damage() == []
        assert np.isnan(array.buffer.raw).sum() >= 2 * GUARD_WORDS


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("layout", [name for name in layouts() if name not in OVERLAPPING_LAYOUTS])
def test_the_row_past_the_context_is_nan(layout: str, storage: Storage) -> None:
    case = make(layout, storage)
    _, k, v = arrays(case)
    for placed in (k, v):
        placed.view[...] = 1
        end = placed.placement.start + GUARD_WORDS + case.kv_len * placed.strides[0]
        for head in range(case.num_kv_heads):
            first = end + head * placed.strides[1]
            assert np.all(np.isnan(placed.buffer.raw[first : first + case.head_dim]))


def test_layouts_differ_in_every_stride_where_it_matters() -> None:
    q, k, v = arrays(make("padded", "f16"))
    assert len({q.strides[0], k.strides[0], k.strides[1], v.strides[0], v.strides[1]}) == 5
    q, k, v = arrays(make("packed", "f32"))
    assert q.buffer is k.buffer is v.buffer
    assert q.view.ctypes.data == k.view[-1].ctypes.data - 6 * 256 * 4


@pytest.mark.parametrize("at", [0, GUARD_WORDS - 1])
def test_a_changed_guard_is_named(at: int) -> None:
    buffer = allocate_outputs(make("dense", "f32"), 3).part_m.buffer
    for index, offset, region in ((at, at - GUARD_WORDS, "front guard"), (-1 - at, 18 + 63 - at, "back guard")):
        after = buffer.raw.copy()
        after[index] = 1
        (damage,) = buffer.damage(after)
        assert (damage.buffer, damage.offset, damage.region) == ("part_m", offset, region)
        assert (damage.expected, damage.found, damage.words) == ("0x7fc0dead", "0x3f800000", 1)
        assert f"word {offset} ({region})" in str(damage)


def test_a_write_between_strides_is_damage_and_a_write_to_the_output_is_none() -> None:
    out = allocate_outputs(make("padded", "f32"), 1).out
    after = out.buffer.raw.copy()
    out.over(after)[...] = 0
    assert out.buffer.damage(after) == []
    after[GUARD_WORDS + 256 : GUARD_WORDS + 260] = 0
    (damage,) = out.buffer.damage(after)
    assert (damage.offset, damage.region, damage.words) == (256, "gap or tail", 4)


@pytest.mark.parametrize("layout", layouts())
def test_any_change_of_an_input_is_damage(layout: str) -> None:
    _, k, _ = arrays(make(layout, "f16"))
    k.view[...] = 1
    after = k.buffer.raw.copy()
    assert k.buffer.damage(after) == []
    k.over(after)[0, 0, 7] = 2
    (damage,) = k.buffer.damage(after)
    assert (damage.offset, damage.region, damage.expected) == (k.placement.start + 7, "input data", "0x3c00")


def test_words_of_another_buffer_are_refused() -> None:
    out = allocate_outputs(make("dense", "f32"), 1).out
    with pytest.raises(ValueError, match="out: "):
        out.buffer.damage(np.zeros(3, dtype=np.float32))
    with pytest.raises(ValueError, match="out: "):
        out.over(np.zeros(3, dtype=np.float32))
    with pytest.raises(ValueError, match="small: an array over"):
        new_buffer("small", 4, np.float32, "output").place(1, (4,), (1,))


def test_scratch_has_exactly_the_size_of_the_call() -> None:
    outputs = allocate_outputs(make("dense", "f32"), 5)
    assert [buffer.words for buffer in outputs.buffers] == [6 * 256, 30, 30, 30 * 256]
    assert outputs.part_acc.shape == (6, 5, 256)


def test_unwritten_words_are_counted() -> None:
    out = allocate_outputs(make("padded", "f32"), 1).out
    assert unwritten(out.view) == 6 * 256
    out.view[:, 1:] = np.nan
    assert unwritten(out.view) == 6
    poison(out.view)
    assert unwritten(out.view) == 6 * 256
    assert np.all(np.isnan(out.view))
