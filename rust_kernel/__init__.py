"""The Rust side of the workspace, as Python sees it: planner, CPU twin, PTX machine, and the Rust kernels on a GPU.

Four modules over one native library: `rust_kernel.plan`, `rust_kernel.twin`, `rust_kernel.ptx`, `rust_kernel.decode`.
None of them needs a GPU, a driver or CuPy to be imported; `decode` opens the driver when its first object is made.
"""
