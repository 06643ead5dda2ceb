"""The Rust side of the workspace, as Python sees it: planner, CPU twin and PTX machine.

Three modules over one native library: `rust_kernel.plan`, `rust_kernel.twin`, `rust_kernel.ptx`. None of them needs a
GPU, a driver or CuPy.
"""
