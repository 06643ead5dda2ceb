"""Who owns which sum after the transposed reduction."""

from __future__ import annotations

import pytest

from py_builder_kernel.kernels.butterfly import LEVELS, Ownership

SHAPES = [(rows, group) for rows in (1, 2, 4, 8, 16) for group in range(1, 9)]


@pytest.mark.parametrize(("rows", "group"), SHAPES)
def test_every_sum_has_an_owner(rows: int, group: int) -> None:
    own = Ownership(rows, group)
    assert set(own.owners) == {(row, head) for row in range(rows) for head in range(group)}


@pytest.mark.parametrize(("rows", "group"), SHAPES)
def test_the_reduction_leaves_the_sums_where_ownership_says(rows: int, group: int) -> None:
    """Follow one lane at a time through the levels, as the emitted selects do."""
    own = Ownership(rows, group)
    for lane in range(32):
        rows_left = list(range(rows))
        for level in own.row_levels:
            rows_left = rows_left[1::2] if lane & level else rows_left[::2]
        heads = list(range(group))
        for level in own.head_levels:
            pairs = list(zip(heads[::2], heads[1::2], strict=False))
            kept = [b if lane & level else a for a, b in pairs]
            heads = kept + ([heads[-1]] if len(heads) % 2 else [])
        assert [own.row(lane)] == rows_left
        assert [own.head(lane, slot) for slot in range(own.slots)] == heads


@pytest.mark.parametrize("rows", [1, 2, 4, 8, 16])
def test_a_lane_with_its_rows_in_order_keeps_the_first_of_each_pair(rows: int) -> None:
    """In place i is row i xor the lane's own: what a lane sends of a pair is what its partner keeps."""
    own = Ownership(rows, 1)
    places = {lane: [i ^ own.row(lane) for i in range(rows)] for lane in range(32)}
    for level in own.row_levels:
        assert all(places[lane][1::2] == places[lane ^ level][::2] for lane in range(32))
        places = {lane: kept[::2] for lane, kept in places.items()}
    assert all(kept == [own.row(lane)] for lane, kept in places.items())


@pytest.mark.parametrize(("rows", "group"), SHAPES)
def test_lanes_of_one_head_differ_in_row_bits_only(rows: int, group: int) -> None:
    """So that a maximum over rows is a shuffle over the row levels."""
    own = Ownership(rows, group)
    row_bits = sum(own.row_levels)
    for lane in range(32):
        for other in range(32):
            if lane & ~row_bits == other & ~row_bits:
                assert [own.head(lane, s) for s in range(own.slots)] == [own.head(other, s) for s in range(own.slots)]


def test_the_levels_are_the_contracts_tree() -> None:
    assert LEVELS == (16, 8, 4, 2, 1)


@pytest.mark.parametrize(("rows", "group"), [(3, 1), (0, 1), (32, 1), (8, 0), (8, 9)])
def test_other_shapes_are_refused(rows: int, group: int) -> None:
    with pytest.raises(ValueError, match="allowed: 1"):
        Ownership(rows, group)
