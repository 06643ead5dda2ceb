//! Modules strung together from the opcode table, most of which are accepted and run.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptx_machine_fuzz::forms(data));
