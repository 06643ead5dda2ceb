//! Any bytes: the parser takes them or says why not.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptx_machine_fuzz::parse(data));
