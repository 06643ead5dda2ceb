"""The Rust kernel's PTX: built by a cuda-oxide that the user has, checked in, and held to its sources by hashes."""
