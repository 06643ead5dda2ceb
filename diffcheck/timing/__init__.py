"""How long partial and reduce take on a CUDA device."""
