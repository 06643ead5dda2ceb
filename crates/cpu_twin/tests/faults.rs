//! Every planted fault changes the bits of a call that is made to show it, and only of such a call where the contract
//! says so.

mod support;

use cpu_twin::{Fault, Options, Path};
use splitk_plan::Storage;
use support::{Call, SMALL, Shape, on, same};

fn differs(call: &Call, fault: Fault) -> bool {
    let clean = call.decode(&on(Path::Portable));
    let broken = call.decode(&Options { fault, ..on(Path::Portable) });
    clean.iter().zip(&broken).any(|(a, b)| !same(*a, *b))
}

#[test]
fn every_fault_shows() {
    for storage in [Storage::F32, Storage::F16] {
        // A tail of NaN that a masked row meets, more splits than classes, and two steps a warp.
        let mut call = Shape { storage, tail: 40, kv_len: 1_397, policy: "chunk:140", ..SMALL }.normal(21);
        call.poison_tail(f32::NAN);
        for &fault in Fault::ALL {
            assert!(differs(&call, fault), "{fault} changes nothing in {storage}");
        }
        assert!(!differs(&call, Fault::None));
    }
}

#[test]
fn faults_need_what_they_break() {
    let call = Shape { kv_len: 8, num_kv_heads: 1, policy: "one-wave", ..SMALL }.normal(22);
    for fault in [Fault::WrongSplitBase, Fault::ReorderedMerge, Fault::SwappedGroupIndex, Fault::ValuesNotMasked] {
        assert!(!differs(&call, fault), "{fault} shows with one split, one KV head and no masked row");
    }
    assert!(differs(&call, Fault::UnfusedFma));
}

#[test]
fn values_not_masked_stays_inside_the_array() {
    // No row lies behind the context, and the last step of a warp has masked rows.
    let call = Shape { kv_len: 203, ..SMALL }.normal(23);
    assert!(!differs(&call, Fault::ValuesNotMasked));
}

#[test]
fn a_single_key_can_be_dropped() {
    let call = Shape { kv_len: 1, policy: "one-wave", ..SMALL }.normal(24);
    let out = call.decode(&Options { fault: Fault::DropLastKey, ..on(Path::Portable) });
    assert!(out.iter().all(|x| x.is_nan()));
}

#[test]
fn names_read_back_and_differ() {
    for &fault in std::iter::once(&Fault::None).chain(Fault::ALL) {
        assert_eq!(fault.name().parse(), Ok(fault));
        assert!(!fault.summary().is_empty() && !fault.summary().contains('\n'));
    }
    let error = "broken".parse::<Fault>().expect_err("a refusal").to_string();
    assert!(error.starts_with("fault is \"broken\"; allowed: none, drop-last-key, wrong-merge-base"), "{error}");
}
