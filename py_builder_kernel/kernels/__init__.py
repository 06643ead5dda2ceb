"""The kernels of the contract `splitk/1` (docs/contract.md), written with the PTX builder."""
