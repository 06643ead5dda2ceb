"""Faults in the kernels' PTX. To add one, add it to `mutants`.

Each names the phase that it changes (see `diffcheck.selftest.edit`) and the cases on which it must show.
"""

from __future__ import annotations

import re

from diffcheck.selftest.anchors import Part, inside
from diffcheck.selftest.base import Mutant, StaleMutantError
from diffcheck.selftest.damage import damage_mutant
from diffcheck.selftest.edit import FMA, Edit, Place, substitute, unfuse, within
from diffcheck.selftest.ptx_run import PtxFault

PARTIAL = "splitk_partial_"
REDUCE = "splitk_reduce_"

# 65 keys: one full split, in which each of 8 warps has keys, and one of a single key.
FULL_SPLIT = "random-8x2-L65-f16"
# 203 keys in splits of 7: 29 splits to merge, every one with a masked row.
MANY_SPLITS = "random-8x2-L203-f32-chunk7"
# An infinity in the row of V that follows a split: masked there with weight 0, and 0 · inf is NaN.
INF_BEYOND = "inf-value-6x2-L250-f16-chunk7"
DENORMALS = "denormals-8x2-L203-f32"
# Two decodes, so that a partial kernel, too, follows a kernel whose memory it touches.
CHAIN = "hops-8x2-L203-f16-chunk61"

_LAUNCH_WAIT = r"^[ \t]*griddepcontrol\.wait;\n"


def _skip_last_key() -> Edit:
    return within(
        Place(PARTIAL, "place"),
        substitute(r"^ *ld\.param\.u32 (%r\d+), \[kv_len\];", r"\g<0>\n    sub.u32 \1, \1, 1;"),
    )


def _own_maximum_as_base(place: Place) -> Edit:
    # The first difference of the phase is (own maximum - common maximum).
    return within(place, substitute(r"sub\.rn\.f32 (%f\d+), (%f\d+), (%f\d+);", r"sub.rn.f32 \1, \2, \2;"))


def _load_masked_rows() -> Edit:
    # Of a row that is masked, no byte is copied.
    return _in_request_of_v(substitute(r"^( *)selp\.b32 (%r\d+), 16, 0, %p\d+;", r"\1mov.b32 \2, 16;", count=0))


def _in_request_of_v(change: Edit) -> Edit:
    # One phase requests a step's rows, those of V behind the place where the pointer of K goes on to the next step.
    def edit(text: str) -> str:
        moved = re.search(r"add\.s64 (%rd\d+), \1, %rd\d+;\n", text)
        if moved is None:
            raise StaleMutantError("no pointer that goes on to the next step")
        return text[: moved.end()] + change(text[moved.end() :])

    return within(Place(PARTIAL, "request"), edit)


def _mask_by_context() -> Edit:
    # Rows of V are live up to kv_len instead of up to the split's end: keys left = (kv_len - k0) - keys of the split
    # more than the phase's own count.
    def mask(text: str) -> str:
        first, end = Place(PARTIAL, "place").span(text)
        keys = re.search(r"min\.u32 (%r\d+), %r\d+, (%r\d+);", text[first:end])
        if keys is None:
            raise StaleMutantError("no minimum of the chunk and the keys left")
        more = f"    .reg .b32 %mutant_r;\n    sub.s32 %mutant_r, {keys[2]}, {keys[1]};\n"

        def count(phase: str) -> str:
            live = re.search(r"setp\.gt\.s32 %p\d+, (%r\d+), 0;", phase)
            if live is None:
                raise StaleMutantError("no predicate of a live row")
            changed = substitute(rf"(setp\.gt\.s32 %p\d+, ){live[1]},", r"\1%mutant_r,", count=0)(phase)
            return f"{more}    add.s32 %mutant_r, %mutant_r, {live[1]};\n{changed}"

        return _in_request_of_v(count)(text)

    return mask


def _swap_group_index() -> Edit:
    # Head n·G + g becomes head g·num_kv_heads + n: base n, stride num_kv_heads.
    def swap(text: str) -> str:
        # Behind the stride between the heads of q, in bytes, the phase computes where they are and nothing else.
        stride = re.search(r"ld\.param\.u64 (%rd\d+), \[q_stride_head\];\n *shl\.b64 (%rd\d+), \1, 2;\n", text)
        if stride is None:
            raise StaleMutantError("no stride between the heads of q")
        factor = (
            "    .reg .b32 %mutant_r;\n    .reg .b64 %mutant_rd;\n    mov.u32 %mutant_r, %nctaid.x;\n"
            f"    cvt.u64.u32 %mutant_rd, %mutant_r;\n    mul.lo.u64 {stride[2]}, {stride[2]}, %mutant_rd;\n"
        )
        pointer = substitute(r"mul\.lo\.u32 (%r\d+), (%r\d+), \d+;", r"mov.u32 \1, \2;")(text[stride.end() :])
        return text[: stride.end()] + substitute(r"^ *mad\.wide\.u32 .*\n", rf"\g<0>{factor}")(pointer)

    return within(Place(PARTIAL, "addresses"), swap)


def _without_barrier(entry: str) -> Edit:
    return within(Place(entry, "exchange"), substitute(r"^ *bar\.sync 0;\n", ""))


def _without_wait() -> Edit:
    return within(Place(PARTIAL, "wait"), substitute(r"^ *cp\.async\.wait_group \d+;\n", ""))


def without_launch_wait(entry: str) -> Edit:
    """Return the edit that takes the wait for the kernel before out of a kernel of either arm."""
    return inside(Part(entry), substitute(_LAUNCH_WAIT, ""))


def late_launch_wait() -> Edit:
    """Return the edit that moves the partial kernel's wait for the kernel before behind the loads of q."""
    return inside(Part(PARTIAL), substitute(rf"({_LAUNCH_WAIT})((?:.*\n)*.*ld\.global\.nc.*\n)", r"\2\1"))


def early_rows() -> Edit:
    """Return the edit that loads what the partial kernel prefetches, before it waits for the kernel before."""
    load = r"    .reg .b32 %mutant_r;\n\1ld.global.nc.b32 %mutant_r, \2;"
    return inside(Part(PARTIAL), substitute(r"^(.*)prefetch\.global\.L2 (\[.*\]);", load))


def address_as_policy() -> Edit:
    """Return the edit that gives a copy its source's address as the cache policy, in a kernel of either arm."""
    copy = r"(cp\.async\.cg\.shared\.global\.L2::cache_hint[ \t]+\[[^\]]+\], \[(%rd\d+)[^\]]*\], 16, %r\d+), %rd\d+;"
    return inside(Part(PARTIAL), substitute(copy, r"\1, \2;"))


def parted_branch() -> Edit:
    """Return the edit that has half of a warp say `.uni` of a branch to the statement behind it."""
    branch = (
        "    .reg .b32 %mutant_r;\n    .reg .pred %mutant_p;\n    mov.u32 %mutant_r, %laneid;\n"
        "    setp.lt.u32 %mutant_p, %mutant_r, 16;\n    @%mutant_p bra.uni mutant_behind;\nmutant_behind:\n"
    )
    return inside(Part(PARTIAL), substitute(r"^[ \t]*ld\.param\.", rf"{branch}\g<0>"))


def _swap_warps() -> Edit:
    # Each warp's share of a lane's four dimensions is four sums: exchange the second warp's and the third's.
    share = r"(?:^ *fma\.rn\.f32 (%f\d+), %f\d+, %f\d+, \{0};\n){{4}}"
    first, second, third = (f"(?P<w{warp}>{share.format(2 * warp + 2)})" for warp in range(3))
    return within(Place(PARTIAL, "merge"), substitute(first + second + third, r"\g<w0>\g<w2>\g<w1>"))


def _swap_classes() -> Edit:
    # a + b, then + c  ->  a + c, then + b, in the chain of the accumulators (the second one of the phase).
    chain = (
        r"(?P<first>add\.rn\.f32 (%f\d+), (%f\d+), )(?P<b>%f\d+)(?P<next>;\n *add\.rn\.f32 (%f\d+), \2, )(?P<c>%f\d+);"
    )

    def swap(text: str) -> str:
        at = text.rfind("ld.shared")
        changed = substitute(chain, lambda m: f"{m['first']}{m['c']}{m['next']}{m['b']};")(text[at:])
        return text[:at] + changed

    return within(Place(REDUCE, "merge"), swap)


def _unfused(place: Place, which: int) -> Edit:
    # Not the first of an accumulator: there the sum is with +0, which rounds nothing.
    def unfuse_one(text: str) -> str:
        found = list(re.finditer(FMA, text, flags=re.MULTILINE))
        try:
            chosen = found[which]
        except IndexError:
            raise StaleMutantError(f"no FMA number {which} in {place}") from None
        return text[: chosen.start()] + unfuse(chosen) + text[chosen.end() :]

    return within(place, unfuse_one)


def mutants() -> tuple[Mutant, ...]:
    """Return the mutants of the builder's PTX."""
    return (
        _ptx("dropped-last-key", "the context ends one key early", "bits", _skip_last_key(), FULL_SPLIT),
        _ptx(
            *("wrong-warp-base", "warps merge as if each one's own maximum were the block's", "bits"),
            *(_own_maximum_as_base(Place(PARTIAL, "merge")), FULL_SPLIT),
        ),
        _ptx(
            *("wrong-split-base", "splits merge as if each one's own maximum were the head's", "bits"),
            *(_own_maximum_as_base(Place(REDUCE, "factors")), MANY_SPLITS),
        ),
        _ptx(
            *("v-not-masked", "a masked row brings the V of the next split, with weight 0", "bits"),
            *(_mask_by_context(), INF_BEYOND),
        ),
        _ptx(
            *("v-past-the-end", "a masked row of V is loaded where no memory is", "executes"),
            *(_load_masked_rows(), FULL_SPLIT),
        ),
        _ptx(
            "group-index-swapped",
            "member g of KV head n is head g·num_kv_heads + n",
            "bits",
            _swap_group_index(),
            FULL_SPLIT,
        ),
        _ptx(
            *("missing-barrier-partial", "warps merge before all have written", "executes"),
            *(_without_barrier(PARTIAL), FULL_SPLIT),
        ),
        _ptx(
            *("missing-wait", "a step computes with rows that are still on their way", "executes"),
            *(_without_wait(), FULL_SPLIT),
        ),
        _ptx(
            *("missing-wait-reduce", "splits merge while the kernel that writes them may still run", "executes"),
            *(without_launch_wait(REDUCE), FULL_SPLIT),
        ),
        _ptx(
            *("missing-wait-partial", "a decode starts on what the one before it still writes and reads", "executes"),
            *(without_launch_wait(PARTIAL), CHAIN),
        ),
        _ptx(
            *("late-wait-partial", "q is read while the kernel that writes it may still run", "executes"),
            *(late_launch_wait(), CHAIN),
        ),
        _ptx(
            *("early-rows", "a row of K is read while the kernel that writes it may still run", "executes"),
            *(early_rows(), FULL_SPLIT),
        ),
        _ptx(
            *("missing-barrier-reduce", "classes merge before all have written", "executes"),
            *(_without_barrier(REDUCE), FULL_SPLIT),
        ),
        _ptx(
            "reordered-warps", "the second and third warp merge in exchanged order", "bits", _swap_warps(), FULL_SPLIT
        ),
        _ptx("reordered-merge", "two classes of splits merge in exchanged order", "bits", _swap_classes(), MANY_SPLITS),
        _ptx(
            *("unfused-fma-scores", "one product of the scores is rounded before it is added", "bits"),
            *(_unfused(Place(PARTIAL, "scores"), 0), FULL_SPLIT),
        ),
        _ptx(
            *("unfused-fma-values", "one product of the values is rounded before it is added", "bits"),
            *(_unfused(Place(PARTIAL, "values"), -1), FULL_SPLIT),
        ),
        _ptx(
            *("unfused-fma-sums", "one product of the split sums is rounded before it is added", "bits"),
            *(_unfused(Place(REDUCE, "sums"), 4), MANY_SPLITS),
        ),
        _ptx(
            *("flushed-denormals", "the products of the values flush denormals to zero", "bits"),
            within(Place(PARTIAL, "values"), substitute(r"fma\.rn\.f32", "fma.rn.ftz.f32", count=0)),
            DENORMALS,
        ),
        _ptx(
            *("approximate-division", "the last division is approximate", "executes"),
            *(within(Place(REDUCE, "write"), substitute(r"div\.rn\.f32", "div.approx.f32")), FULL_SPLIT),
        ),
        _ptx(
            *("fusible-add", "an add says no rounding, so that an assembler may fuse it", "executes"),
            *(within(Place(REDUCE, "merge"), substitute(r"add\.rn\.f32", "add.f32")), FULL_SPLIT),
        ),
        _ptx(
            *("output-not-written", "the result is never stored", "memory"),
            *(within(Place(REDUCE, "write"), substitute(r"^ *st\.global\.f32.*\n", "")), FULL_SPLIT),
        ),
        _ptx(
            *("store-past-the-end", "each result is stored once more, 4 KiB further on", "executes"),
            within(
                Place(REDUCE, "write"),
                substitute(r"^( *st\.global\.f32 \[%rd\d+)(\], %f\d+;)", r"\g<0>\n\1+4096\2"),
            ),
            FULL_SPLIT,
        ),
        _ptx(
            *("address-as-policy", "a copy takes an address for its cache policy", "executes"),
            *(address_as_policy(), FULL_SPLIT),
        ),
        _ptx(
            *("parted-branch", "half of a warp takes a branch that says .uni", "executes"),
            *(parted_branch(), FULL_SPLIT),
        ),
        damage_mutant(),
    )


def _ptx(name: str, what: str, meant_for: str, edit: Edit, *cases: str) -> Mutant:
    return Mutant(name, "ptx", what, meant_for, PtxFault(edit, cases))
