"""What a decode is held against: two empty kernels, and reading the bytes of K and V once, in one launch.

Both are written as text here: they are yardsticks, and must not move when an arm's builder does.
"""

from __future__ import annotations

# A lane loads at most 16 bytes at a time; eight loads in flight hide the latency of the memory.
LOADS_IN_FLIGHT = 8
FLOOR_THREADS = 512
VECTOR_BYTES = 16


def empty_ptx(target: str) -> str:
    """Return a module with the kernel `empty`, which does nothing."""
    return _header(target) + ".visible .entry empty()\n{\n    ret;\n}\n"


def read_ptx(target: str) -> str:
    """Return a module with the kernel `read_both(first, second, vectors, sink)`, of a grid with two rows of blocks.

    Each row of blocks reads `vectors` vectors of 16 bytes, at `first` or at `second`, each once, striding over them,
    and stores to `sink` only if the exclusive or of all words is one certain number, so that no load can be left out.
    """
    loads: list[str] = []
    for i in range(LOADS_IN_FLIGHT):
        registers = ", ".join(f"%v{4 * i + part}" for part in range(4))
        loads.append(f"    ld.global.nc.L1::no_allocate.v4.b32 {{{registers}}}, [%a{i}];")
    mixes = [f"    xor.b32 %x, %x, %v{i};" for i in range(4 * LOADS_IN_FLIGHT)]
    addresses = [f"    add.s64 %a{i}, %a{i - 1}, %step;" for i in range(1, LOADS_IN_FLIGHT)]
    return _header(target) + "\n".join(
        [
            ".visible .entry read_both(",
            "    .param .u64 first, .param .u64 second, .param .u64 vectors, .param .u64 sink",
            ")",
            f".maxntid {FLOOR_THREADS}, 1, 1",
            "{",
            "    .reg .pred %p<3>;",
            f"    .reg .b32 %r<5>, %v<{4 * LOADS_IN_FLIGHT}>, %x;",
            f"    .reg .b64 %a<{LOADS_IN_FLIGHT}>, %data, %end, %sink, %step, %jump;",
            "    ld.param.u64 %data, [first];",
            "    mov.u32 %r0, %ctaid.y;",
            "    setp.ne.u32 %p0, %r0, 0;",
            "    @%p0 ld.param.u64 %data, [second];",
            "    ld.param.u64 %end, [vectors];",
            "    ld.param.u64 %sink, [sink];",
            "    mov.u32 %r0, %ctaid.x;",
            "    mov.u32 %r1, %ntid.x;",
            "    mov.u32 %r2, %tid.x;",
            "    mad.lo.u32 %r3, %r0, %r1, %r2;",
            "    mov.u32 %r4, %nctaid.x;",
            "    mul.lo.u32 %r4, %r4, %r1;",
            f"    mul.wide.u32 %step, %r4, {VECTOR_BYTES};",
            f"    mul.lo.u64 %jump, %step, {LOADS_IN_FLIGHT};",
            f"    mad.wide.u32 %a0, %r3, {VECTOR_BYTES}, %data;",
            f"    mad.lo.u64 %end, %end, {VECTOR_BYTES}, %data;",
            "    mov.b32 %x, 0;",
            "batch:",
            *addresses,
            f"    setp.ge.u64 %p0, %a{LOADS_IN_FLIGHT - 1}, %end;",
            "    @%p0 bra single;",
            *loads,
            *mixes,
            "    add.s64 %a0, %a0, %jump;",
            "    bra batch;",
            "single:",
            "    setp.ge.u64 %p1, %a0, %end;",
            "    @%p1 bra done;",
            "    ld.global.nc.L1::no_allocate.v4.b32 {%v0, %v1, %v2, %v3}, [%a0];",
            *mixes[:4],
            "    add.s64 %a0, %a0, %step;",
            "    bra single;",
            "done:",
            "    setp.ne.u32 %p2, %x, 0x5EEDF00D;",
            "    @%p2 bra out;",
            "    st.global.u32 [%sink], %x;",
            "out:",
            "    ret;",
            "}",
            "",
        ]
    )


def _header(target: str) -> str:
    version = {"sm_120": "8.7", "sm_121": "8.8"}.get(target, "7.8")
    return f".version {version}\n.target {target}\n.address_size 64\n\n"
