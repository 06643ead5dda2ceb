"""Faults that both the PTX machine and NVIDIA's compute-sanitizer must report, and kernels that neither may."""
