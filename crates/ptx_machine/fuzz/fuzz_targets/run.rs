//! Any bytes as a module: what is accepted runs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptx_machine_fuzz::run(data));
