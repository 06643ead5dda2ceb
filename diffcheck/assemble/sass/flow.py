"""Control flow of a listing: basic blocks, and the natural loop in which a kernel spends its time.

Dominators by iteration (Cooper, Harvey, Kennedy, "A simple, fast dominance algorithm", 2001); a natural loop is a back
edge to a block that dominates its source, with every block that reaches the source without passing the head.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from diffcheck.assemble.sass.nvdisasm import DisassembleError, Listing, Sass

_TARGET = re.compile(r"`\((\.L_\w+)\)")
_ENDS = ("EXIT", "RET", "BRX", "JMP", "BREAK")


@dataclass(frozen=True)
class Graph:
    """Basic blocks as ranges of instructions, and each block's successors."""

    listing: Listing
    blocks: tuple[tuple[int, int], ...]
    successors: tuple[tuple[int, ...], ...]

    def instructions(self, block: int) -> tuple[Sass, ...]:
        """The instructions of a block."""
        first, end = self.blocks[block]
        return self.listing.instructions[first:end]


@dataclass(frozen=True)
class Loop:
    """A natural loop: its head, the blocks from which it goes back, and all its blocks."""

    head: int
    latches: frozenset[int]
    blocks: frozenset[int]


def graph_of(listing: Listing) -> Graph:
    """Divide a listing into basic blocks. Raises `DisassembleError` for a branch to a label that is not there."""
    count = len(listing.instructions)
    jumps = {index: _jump(listing, index) for index in range(count) if _leaves(listing.instructions[index])}
    leaders = {0, *listing.labels.values(), *(index + 1 for index in jumps)} - {count}
    starts = sorted(leaders)
    block_of = {start: number for number, start in enumerate(starts)}
    blocks = tuple(zip(starts, [*starts[1:], count], strict=True))
    successors: list[tuple[int, ...]] = []
    for _first, end in blocks:
        target, falls = jumps.get(end - 1, (None, True))
        after = [block_of[target]] if target is not None and target in block_of else []
        after += [block_of[end]] if falls and end in block_of else []
        successors.append(tuple(dict.fromkeys(after)))
    return Graph(listing, blocks, tuple(successors))


def _leaves(instruction: Sass) -> bool:
    return instruction.base in {"BRA", "BSYNC", *_ENDS}


def _jump(listing: Listing, index: int) -> tuple[int | None, bool]:
    """Where an instruction may go (None: nowhere in the kernel), and whether it may fall through."""
    instruction = listing.instructions[index]
    guarded = instruction.guard not in {"", "PT", "!UPT"}
    if instruction.base in _ENDS:
        return None, guarded
    target = _TARGET.search(instruction.rest)
    if instruction.base == "BSYNC":
        # Lanes that wait here go on where the matching BSSY said; written just before, control falls through to it.
        return _reconvergence(listing, index), True
    if target is None or target[1] not in listing.labels:
        raise DisassembleError(f"a branch without a target: {instruction.opcode} {instruction.rest}")
    # A predicate may also stand as an operand, and BRA.DIV goes on in the lanes that agree.
    conditional = guarded or instruction.rest[: target.start()].strip() != "" or instruction.opcode != "BRA"
    return listing.labels[target[1]], conditional


def _reconvergence(listing: Listing, index: int) -> int | None:
    barrier = listing.instructions[index].rest.split(",")[0].strip()
    for before in reversed(listing.instructions[:index]):
        if before.base == "BSSY" and before.rest.split(",")[0].strip() == barrier:
            target = _TARGET.search(before.rest)
            return listing.labels.get(target[1]) if target else None
    return None


def natural_loops(graph: Graph) -> list[Loop]:
    """Return the natural loops, those with the same head as one."""
    order = _reverse_postorder(graph)
    dominator = _dominators(graph, order)
    latches: dict[int, set[int]] = {}
    for block in order:
        for successor in graph.successors[block]:
            if _dominates(dominator, successor, block):
                latches.setdefault(successor, set()).add(block)
    before = _predecessors(graph)
    return [
        Loop(head, frozenset(ends), frozenset(_body(head, ends, before, set(order)))) for head, ends in latches.items()
    ]


def _body(head: int, ends: set[int], before: list[list[int]], reachable: set[int]) -> set[int]:
    body, open_blocks = {head, *ends}, [end for end in ends if end != head]
    while open_blocks:
        for block in before[open_blocks.pop()]:
            if block not in body and block in reachable:
                body.add(block)
                open_blocks.append(block)
    return body


def _predecessors(graph: Graph) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in graph.blocks]
    for block, successors in enumerate(graph.successors):
        for successor in successors:
            before[successor].append(block)
    return before


def _reverse_postorder(graph: Graph) -> list[int]:
    order: list[int] = []
    seen = {0}
    stack: list[tuple[int, Iterator[int]]] = [(0, iter(graph.successors[0]))]
    while stack:
        block, following = stack[-1]
        for successor in following:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(graph.successors[successor])))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


def _dominators(graph: Graph, order: list[int]) -> dict[int, int]:
    rank = {block: number for number, block in enumerate(order)}
    before = _predecessors(graph)
    dominator = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [one for one in before[block] if one in dominator]
            common = known[0]
            for other in known[1:]:
                common = _meet(dominator, rank, common, other)
            if dominator.get(block) != common:
                dominator[block] = common
                changed = True
    return dominator


def _meet(dominator: dict[int, int], rank: dict[int, int], a: int, b: int) -> int:
    while a != b:
        while rank[a] > rank[b]:
            a = dominator[a]
        while rank[b] > rank[a]:
            b = dominator[b]
    return a


def _dominates(dominator: dict[int, int], a: int, b: int) -> bool:
    while b != a and dominator[b] != b:
        b = dominator[b]
    return a == b


def cheapest_turn(graph: Graph, loop: Loop, gain: Callable[[Sass], int]) -> tuple[int, ...]:
    """Return the blocks of the turn of a loop with the largest gain and, among those, the fewest instructions.

    `gain` is what an instruction adds to the first. Loops inside the loop are passed once.
    """
    best: dict[int, tuple[int, int, tuple[int, ...]]] = {}

    def weight(block: int) -> tuple[int, int]:
        instructions = graph.instructions(block)
        return -sum(map(gain, instructions)), len(instructions)

    for block in [one for one in _reverse_postorder(graph) if one in loop.blocks]:
        own = weight(block)
        arrived = best.get(block, (0, 0, ()) if block == loop.head else None)
        if arrived is None:
            continue
        total = (arrived[0] + own[0], arrived[1] + own[1], (*arrived[2], block))
        best[block] = total
        for successor in graph.successors[block]:
            if successor in loop.blocks and successor != loop.head and successor not in total[2]:
                known = best.get(successor)
                if known is None or total[:2] < known[:2]:
                    best[successor] = total
    ends = [best[latch] for latch in loop.latches if latch in best]
    if not ends:
        raise DisassembleError("a loop without a way through it")
    return min(ends)[2]
