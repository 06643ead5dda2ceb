"""A kernel that adds one to every word of an array and may start before the kernel before it has completed.

It lets the next kernel start at once and takes its time between its load and its store: without its wait, the next
kernel would read words before they are stored, and additions would be lost.
"""

from __future__ import annotations

GRID, BLOCK = (64, 1, 1), (128, 1, 1)
WORDS = GRID[0] * BLOCK[0]

PTX = """\
.version 7.8
.target sm_90
.address_size 64

.visible .entry add_one(.param .u64 words)
{
    .reg .pred %again;
    .reg .b32 %block, %thread, %threads, %index, %value, %turn;
    .reg .b64 %address;
    griddepcontrol.launch_dependents;
    ld.param.u64 %address, [words];
    mov.u32 %block, %ctaid.x;
    mov.u32 %thread, %tid.x;
    mov.u32 %threads, %ntid.x;
    mad.lo.u32 %index, %block, %threads, %thread;
    mad.wide.u32 %address, %index, 4, %address;
    griddepcontrol.wait;
    ld.global.u32 %value, [%address];
    mov.u32 %turn, 0;
delay:
    add.u32 %turn, %turn, 1;
    nanosleep.u32 200;
    setp.lt.u32 %again, %turn, 8;
    @%again bra delay;
    add.u32 %value, %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
"""
