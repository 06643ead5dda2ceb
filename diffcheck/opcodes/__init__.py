"""The opcode suite: every supported PTX form on edge values, held to what a GPU was measured to give."""
