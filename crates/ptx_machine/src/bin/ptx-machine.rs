//! Command line of the PTX machine.
fn main() {}
