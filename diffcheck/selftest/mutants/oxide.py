"""Faults in the PTX that cuda-oxide compiled. To add one, add it to `mutants`.

The same faults as in the builder's PTX (`diffcheck.selftest.mutants.ptx`), planted where the compiler left the
instruction that makes them (`diffcheck.selftest.anchors`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from diffcheck.selftest.anchors import REGISTER_ADD, REGISTER_FMA, Part, exchange_links, inside, nth, unfused
from diffcheck.selftest.base import Mutant, StaleMutantError
from diffcheck.selftest.damage import damage_mutant, damaged_store
from diffcheck.selftest.edit import Edit, substitute
from diffcheck.selftest.mutants.ptx import (
    CHAIN,
    DENORMALS,
    FULL_SPLIT,
    INF_BEYOND,
    MANY_SPLITS,
    PARTIAL,
    REDUCE,
    address_as_policy,
    early_rows,
    late_launch_wait,
    parted_branch,
    without_launch_wait,
)
from diffcheck.selftest.ptx_run import MutatedOxideArm, PtxFault

_BARRIER = r"^[ \t]*bar\.sync[ \t]+0;\n"
_WARP_BARRIER = r"^[ \t]*bar\.warp\.sync[ \t]+-1;\n"
_LAUNCH_WAIT = r"^[ \t]*griddepcontrol\.wait;\n"
_ROWS_WAIT = r"^[ \t]*cp\.async\.wait_group \d+;\n"
# How many bytes of a row a copy takes: none of a masked one.
_BYTES = r"selp\.b32([ \t]+)(%r\d+), (?:16, 0|0, 16), %p\d+;"
_STORE = re.compile(r"^[ \t]*st\.global\.b32[ \t]+\[(?P<address>%rd\d+)\], (?P<value>%\w+);\n", re.MULTILINE)
# What the parameters are, by their numbers (docs/contract.md, section 8).
_KV_LEN, _N_SPLITS, _Q_STRIDE_HEAD = 6, 8, 9

WHOLE = Part(PARTIAL)
# The loop over steps, whose blocks the compiler has put in an order of its own: from the wait for the kernel before to
# the warp's barrier behind it. The scores come first behind the wait for their rows. The merge is behind the block's
# barrier.
LOOP = Part(PARTIAL, (_LAUNCH_WAIT, 0), (_WARP_BARRIER, 0))
SCORES = Part(PARTIAL, (_ROWS_WAIT, 0), (_WARP_BARRIER, 0))
MERGE = Part(PARTIAL, (_BARRIER, -1))
CLASSES = Part(REDUCE, None, (_BARRIER, 0))
RESULT = Part(REDUCE, (_BARRIER, -1))


def _parameter(entry: str, number: int, insert: Callable[[str, str], str]) -> Edit:
    """Insert text behind the load of a parameter: `insert` is given the register and the parameters' common name."""
    load = rf"^[ \t]*ld\.param\.b\d+[ \t]+(%\w+), \[(\w+_param_){number}\];\n"
    return inside(Part(entry), substitute(load, lambda match: match[0] + insert(match[1], match[2])))


def _without(entry: str, pattern: str, which: int) -> Edit:
    return inside(Part(entry), nth(re.compile(pattern, re.MULTILINE), which, lambda _match: ""))


def _own_maximum_as_base(part: Part) -> Edit:
    # The first difference of the part is (own maximum - common maximum), as a sum with the negated one if it is reused.
    pattern = re.compile(r"(?:sub|add)\.rn\.f32([ \t]+)(%\w+), (%\w+), (%\w+);")
    return inside(part, nth(pattern, 0, lambda match: f"sub.rn.f32{match[1]}{match[2]}, {match[3]}, {match[3]};"))


def _mask_by_context() -> Edit:
    # Rows past a split are live in every split but the last one, where there is no memory.
    def more(text: str) -> str:
        name = re.search(r"(\w+_param_)\d+\]", text)
        if name is None:
            raise StaleMutantError("no parameter of the kernel")
        later = (
            "\t.reg .b32 %mutant_r<2>; .reg .pred %mutant_p;\n\tmov.u32 %mutant_r0, %ctaid.y;\n"
            f"\tadd.u32 %mutant_r0, %mutant_r0, 1;\n\tld.param.u32 %mutant_r1, [{name[1]}{_N_SPLITS}];\n"
            "\tsetp.lt.u32 %mutant_p, %mutant_r0, %mutant_r1;\n"
        )
        text = substitute(_LAUNCH_WAIT, lambda match: match[0] + later)(text)
        return substitute(_BYTES, lambda match: f"{match[0]} @%mutant_p mov.b32 {match[2]}, 16;", count=0)(text)

    return inside(WHOLE, more)


def _load_masked_rows() -> Edit:
    return inside(LOOP, substitute(_BYTES, r"mov.b32\1\2, 16;", count=0))


def _swap_group_index() -> Edit:
    # Head n·G + g becomes head g·num_kv_heads + n: the stride times num_kv_heads, and the pointer moved so that the
    # group's first head, n·G strides on, is head n.
    def swap(text: str) -> str:
        named = re.search(rf"\.entry {PARTIAL}\w*?_g(\d+)_", text)
        if named is None:
            raise StaleMutantError(f"no kernel {PARTIAL}* to change")

        def pointer(register: str, name: str) -> str:
            return f"""\t{{ .reg .b64 mutant_rd<3>; .reg .b32 mutant_r<2>;
\tmov.u32 mutant_r0, %nctaid.x; mul.wide.u32 mutant_rd0, mutant_r0, {named[1]};
\tmov.u64 mutant_rd1, 1; sub.s64 mutant_rd0, mutant_rd1, mutant_rd0;
\tld.param.u64 mutant_rd1, [{name}{_Q_STRIDE_HEAD}]; mul.lo.s64 mutant_rd0, mutant_rd0, mutant_rd1;
\tmov.u32 mutant_r1, %ctaid.x; cvt.u64.u32 mutant_rd2, mutant_r1; mul.lo.s64 mutant_rd0, mutant_rd0, mutant_rd2;
\tshl.b64 mutant_rd0, mutant_rd0, 2; add.s64 {register}, {register}, mutant_rd0; }}
"""

        def stride(register: str, _name: str) -> str:
            return f"""\t{{ .reg .b64 mutant_rd; .reg .b32 mutant_r; mov.u32 mutant_r, %nctaid.x;
\tcvt.u64.u32 mutant_rd, mutant_r; mul.lo.s64 {register}, {register}, mutant_rd; }}
"""

        return _parameter(PARTIAL, _Q_STRIDE_HEAD, stride)(_parameter(PARTIAL, 0, pointer)(text))

    return swap


def _shorter_context(register: str, _name: str) -> str:
    return f"\tsub.s32 {register}, {register}, 1;\n"


def _exchange_classes() -> Edit:
    # The accumulators' sum is what the division divides.
    def exchange(text: str) -> str:
        division = re.search(r"div\.rn\.f32[ \t]+%\w+, (%\w+), ", text)
        if division is None:
            raise StaleMutantError("no division")
        links: list[re.Match[str]] = []
        wanted = division[1]
        for link in reversed(list(REGISTER_ADD.finditer(text))):
            if link["d"] == wanted:
                links.append(link)
                wanted = link["a"]
        if len(links) < 3:
            raise StaleMutantError("no chain of sums before the division")
        names = "|".join(re.escape(link["d"]) for link in links)
        chain = rf"^[ \t]*add\.rn\.f32[ \t]+(?P<d>{names}), (?P<a>%\w+), (?P<b>%\w+);\n"
        return exchange_links(re.compile(chain, re.MULTILINE), 0, "a")(text)

    return inside(RESULT, exchange)


def _once_more(match: re.Match[str]) -> str:
    return f"{match[0]}\tst.global.b32 [{match['address']}+4096], {match['value']};\n"


def _kernels_mutants() -> tuple[Mutant, ...]:
    """Faults in what is read and where it goes."""
    return (
        _oxide(
            *("dropped-last-key", "the context ends one key early", "bits"),
            *(_parameter(PARTIAL, _KV_LEN, _shorter_context), FULL_SPLIT),
        ),
        _oxide(
            *("split-not-clipped", "the last split goes on as if the context were longer", "executes"),
            inside(WHOLE, substitute(r"min\.u32([ \t]+)(%\w+), %\w+, (%\w+);", r"mov.u32\1\2, \3;")),
            FULL_SPLIT,
        ),
        _oxide(
            *("v-not-masked", "a masked row brings the V of the next split, with weight 0", "bits"),
            *(_mask_by_context(), INF_BEYOND),
        ),
        _oxide(
            *("v-past-the-end", "a masked row is loaded where no memory is", "executes"),
            *(_load_masked_rows(), FULL_SPLIT),
        ),
        _oxide(
            *("score-not-masked", "a masked row keeps the score of the zeros in its place", "bits"),
            inside(LOOP, substitute(r"selp\.f32([ \t]+%\w+, %\w+), 0fFF800000, %p\d+;", _first_choice, count=0)),
            FULL_SPLIT,
        ),
        _oxide(
            *("group-index-swapped", "member g of KV head n is head g·num_kv_heads + n", "bits"),
            *(_swap_group_index(), FULL_SPLIT),
        ),
        _oxide(
            *("missing-barrier-partial", "warps merge before all have written", "executes"),
            *(_without(PARTIAL, _BARRIER, -1), FULL_SPLIT),
        ),
        _oxide(
            *("missing-wait", "a step computes with rows that are still on their way", "executes"),
            *(_without(PARTIAL, _ROWS_WAIT, 0), FULL_SPLIT),
        ),
        _oxide(
            *("missing-wait-reduce", "splits merge while the kernel that writes them may still run", "executes"),
            *(without_launch_wait(REDUCE), FULL_SPLIT),
        ),
        _oxide(
            *("missing-wait-partial", "a decode starts on what the one before it still writes and reads", "executes"),
            *(without_launch_wait(PARTIAL), CHAIN),
        ),
        _oxide(
            *("late-wait-partial", "q is read while the kernel that writes it may still run", "executes"),
            *(late_launch_wait(), CHAIN),
        ),
        _oxide(
            *("early-rows", "a row of K is read while the kernel that writes it may still run", "executes"),
            *(early_rows(), FULL_SPLIT),
        ),
        _oxide(
            *("address-as-policy", "a copy takes an address for its cache policy", "executes"),
            *(address_as_policy(), FULL_SPLIT),
        ),
        _oxide(
            *("parted-branch", "half of a warp takes a branch that says .uni", "executes"),
            *(parted_branch(), FULL_SPLIT),
        ),
        _oxide(
            *("missing-barrier-reduce", "classes merge before all have written", "executes"),
            *(_without(REDUCE, _BARRIER, 0), FULL_SPLIT),
        ),
        _oxide(
            *("output-not-written", "the result is never stored", "memory"),
            *(inside(RESULT, nth(_STORE, -1, lambda _match: "")), FULL_SPLIT),
        ),
        _oxide(
            *("store-past-the-end", "each result is stored once more, 4 KiB further on", "executes"),
            *(inside(RESULT, nth(_STORE, -1, _once_more)), FULL_SPLIT),
        ),
    )


def _arithmetic_mutants() -> tuple[Mutant, ...]:
    """Faults in roundings and their order."""
    return (
        _oxide(
            *("wrong-warp-base", "warps merge as if each one's own maximum were the block's", "bits"),
            *(_own_maximum_as_base(MERGE), FULL_SPLIT),
        ),
        _oxide(
            *("wrong-split-base", "splits merge as if each one's own maximum were the head's", "bits"),
            *(_own_maximum_as_base(CLASSES), MANY_SPLITS),
        ),
        _oxide(
            *("reordered-warps", "the second and third warp merge in exchanged order", "bits"),
            *(inside(MERGE, exchange_links(REGISTER_FMA, 0, "c")), FULL_SPLIT),
        ),
        _oxide(
            *("reordered-merge", "two classes of splits merge in exchanged order", "bits"),
            *(_exchange_classes(), MANY_SPLITS),
        ),
        _oxide(
            *("shuffle-distance", "one level of a score's sum takes another lane's", "bits"),
            inside(SCORES, substitute(r"(shfl\.sync\.bfly\.b32[ \t]+%\w+, %\w+, )16,", r"\g<1>8,")),
            FULL_SPLIT,
        ),
        _oxide(
            *("wrong-constant", "C2 of the exponential of a step is one bit pattern higher", "bits"),
            *(inside(LOOP, substitute("0f3EFFFFFE", "0f3EFFFFFF", count=0)), FULL_SPLIT),
        ),
        _oxide(
            *("unfused-fma-scores", "one product of the scores is rounded before it is added", "bits"),
            *(inside(SCORES, nth(REGISTER_FMA, 0, unfused)), FULL_SPLIT),
        ),
        _oxide(
            *("unfused-fma-values", "one product of the values is rounded before it is added", "bits"),
            *(inside(LOOP, _last_value_unfused), FULL_SPLIT),
        ),
        _oxide(
            *("unfused-fma-sums", "one product of the split sums is rounded before it is added", "bits"),
            *(inside(CLASSES, nth(REGISTER_FMA, 4, unfused)), MANY_SPLITS),
        ),
        _oxide(
            *("flushed-denormals", "products flush denormals to zero", "bits"),
            inside(WHOLE, substitute(r"fma\.rn\.f32([ \t]+%\w+, %\w+, %\w+, %)", r"fma.rn.ftz.f32\1", count=0)),
            DENORMALS,
        ),
        _oxide(
            *("approximate-division", "the last division is approximate", "executes"),
            *(inside(RESULT, substitute(r"div\.rn\.f32", "div.approx.f32")), FULL_SPLIT),
        ),
        _oxide(
            *("fusible-add", "an add says no rounding, so that an assembler may fuse it", "executes"),
            *(inside(RESULT, substitute(r"add\.rn\.f32", "add.f32")), FULL_SPLIT),
        ),
    )


def _first_choice(match: re.Match[str]) -> str:
    return f"mov.b32{match[1]};"


def _last_value_unfused(text: str) -> str:
    # The values are added behind the shuffle that brings the last weight, up to the end of its block.
    weights = text.rfind("shfl.sync.idx.b32")
    branch = re.compile(r"\bbra\b").search(text, max(weights, 0))
    if weights < 0 or branch is None:
        raise StaleMutantError("no shuffle of a weight before a branch")
    block = text[weights : branch.start()]
    return text[:weights] + nth(REGISTER_FMA, -1, unfused)(block) + text[branch.start() :]


def mutants() -> tuple[Mutant, ...]:
    """Return the mutants of the Rust kernel's PTX."""
    damage = damage_mutant("oxide-one-ulp-damage", MutatedOxideArm, inside(RESULT, nth(_STORE, -1, _damaged)))
    return (*_kernels_mutants(), *_arithmetic_mutants(), damage)


def _damaged(match: re.Match[str]) -> str:
    return damaged_store(match[0], match["address"], match["value"], "splitk_reduce_d256_param_3")


def _oxide(name: str, what: str, meant_for: str, edit: Edit, *cases: str) -> Mutant:
    return Mutant(f"oxide-{name}", "ptx", what, meant_for, PtxFault(edit, cases, MutatedOxideArm))
