"""What the assembler made of a kernel, instruction by instruction, from NVIDIA's disassembler."""
