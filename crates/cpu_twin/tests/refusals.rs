//! Input that is refused, by one line that names field, value and what is allowed.

mod support;

use cpu_twin::{
    Fault, Inputs, KvElements, KvView, Options, PartialsView, Path, QueryView, TwinError, decode, partial, reduce,
};
use half::f16;
use splitk_plan::{Plan, Storage, Tile};
use support::{Aligned, SMALL, Shape};

const SHAPE: Shape = Shape { kv_len: 10, group_size: 2, num_kv_heads: 2, policy: "one-wave", ..SMALL };

/// An array that a change may put into the inputs of another function.
fn leaked<T: Copy>(values: Vec<T>) -> &'static [T] {
    Box::leak(Box::new(Aligned::new(values))).elements()
}

/// The dense arrays of `SHAPE`, changed before the call.
#[track_caller]
fn refused(change: impl FnOnce(&mut Inputs<'static>, &mut Plan, &mut Options), text: &str) {
    let q = leaked(vec![0.0_f32; 4 * 256]);
    let kv = leaked(vec![f16::ZERO; 10 * 2 * 256]);
    let view = KvView { elements: KvElements::F16(kv), rows: 10, stride_row: 512, stride_head: 256 };
    let mut inputs = Inputs { q: QueryView { elements: q, stride_head: 256 }, k: view, v: view };
    let (mut plan, mut options) = (SHAPE.plan(), Options::default());
    assert!(decode(&inputs, &plan, &options).is_ok());
    change(&mut inputs, &mut plan, &mut options);
    let expected = Err::<(), _>(text.to_owned());
    assert_eq!(decode(&inputs, &plan, &options).map(drop).map_err(|error| error.to_string()), expected);
    assert_eq!(partial(&inputs, &plan, &options).map(drop).map_err(|error| error.to_string()), expected);
}

#[test]
fn lengths() {
    refused(|i, _, _| i.k.rows = 9, "k rows is 9; allowed: at least kv_len (10)");
    refused(|i, _, _| i.v.rows = 9, "v rows is 9; allowed: at least kv_len (10)");
    refused(|i, _, _| i.v.rows = 11, "v is 5120 elements; allowed: at least 5632, by shape and strides");
    refused(|i, _, _| i.k.stride_row = 520, "k is 5120 elements; allowed: at least 5192, by shape and strides");
    refused(|i, _, _| i.q.stride_head = 260, "q is 1024 elements; allowed: at least 1036, by shape and strides");
    let huge = usize::MAX & !15;
    refused(
        |i, _, _| i.k.stride_row = huge,
        "k is 5120 elements; allowed: shapes and strides within the address space",
    );
}

#[test]
fn alignment() {
    refused(|i, _, _| i.k.stride_row = 516, "k_stride_row is 516 elements of 2 bytes; allowed: multiples of 16 bytes");
    refused(
        |i, _, _| i.v.stride_head = 252,
        "v_stride_head is 252 elements of 2 bytes; allowed: multiples of 16 bytes",
    );
    refused(
        |i, _, _| i.q.stride_head = 255,
        "q_stride_head is 255 elements of 4 bytes; allowed: multiples of 16 bytes",
    );
    let q = leaked(vec![0.0_f32; 5 * 256]);
    let shifted = QueryView { elements: &q[1..], stride_head: 256 };
    let address = format!("{:#x}", shifted.elements.as_ptr().addr());
    refused(|i, _, _| i.q = shifted, &format!("q address is {address}; allowed: multiples of 16 bytes"));
    let kv = leaked(vec![f16::ZERO; 11 * 512]);
    let shifted = &kv[4..];
    let address = format!("{:#x}", shifted.as_ptr().addr());
    refused(
        |i, _, _| i.v.elements = KvElements::F16(shifted),
        &format!("v address is {address}; allowed: multiples of 16 bytes"),
    );
}

#[test]
fn storage_of_another_plan() {
    let kv = leaked(vec![0.0_f32; 10 * 512]);
    refused(|i, _, _| i.v.elements = KvElements::F32(kv), "v is f32; allowed: f16, the storage of the plan");
    refused(
        |_, plan, _| *plan = Shape { storage: Storage::F32, ..SHAPE }.plan(),
        "k is f16; allowed: f32, the storage of the plan",
    );
}

#[test]
fn plans_that_were_changed() {
    refused(
        |_, plan, _| plan.n_splits = 2,
        "plan is kv_len 10, chunk 64, n_splits 2; allowed: n_splits = ceil(kv_len / chunk), both at least 1",
    );
    refused(
        |_, plan, _| plan.tile = Tile { warps: 8, rows: 16, vec: 8 },
        "tile is w8r16v8; allowed: 1 to 32 warps, 1, 2, 4 or 8 rows, vectors of 8",
    );
    refused(
        |_, plan, _| plan.tile = Tile { warps: 8, rows: 8, vec: 4 },
        "tile is w8r8v4; allowed: 1 to 32 warps, 1, 2, 4 or 8 rows, vectors of 8",
    );
}

#[test]
fn options() {
    refused(
        |_, _, options| *options = Options { path: Path::Simd, fault: Fault::UnfusedFma, ..Options::default() },
        "fault is unfused-fma; allowed: none on the simd path (faults live in path portable)",
    );
    refused(|_, _, options| options.threads = 100_000, "threads is 100000; allowed: 0 to 1024");
    assert_eq!(
        "fast".parse::<Path>().map_err(|error| error.to_string()),
        Err("path is \"fast\"; allowed: auto, simd, portable".to_owned())
    );
}

#[test]
fn scratch_that_does_not_fit() {
    let check = |m: usize, s: usize, acc: usize, n_splits: usize, head_dim: usize| -> Result<(), TwinError> {
        let (m, s, acc) = (vec![0.0; m], vec![0.0; s], vec![0.0; acc]);
        let view = PartialsView { m: &m, s: &s, acc: &acc, num_q_heads: 2, n_splits, head_dim };
        reduce(&view, &Options::default()).map(drop)
    };
    assert_eq!(check(6, 6, 6 * 64, 3, 64), Ok(()));
    let text = |result: Result<(), TwinError>| result.expect_err("a refusal").to_string();
    let shape = "allowed: as many as num_q_heads 2, n_splits 3, head_dim 64 make";
    assert_eq!(text(check(5, 6, 6 * 64, 3, 64)), format!("part_m is 5 elements; {shape}"));
    assert_eq!(text(check(6, 7, 6 * 64, 3, 64)), format!("part_s is 7 elements; {shape}"));
    assert_eq!(text(check(6, 6, 6 * 63, 3, 64)), format!("part_acc is 378 elements; {shape}"));
    assert_eq!(text(check(0, 0, 0, 0, 64)), "n_splits is 0; allowed: at least 1");
    assert_eq!(text(check(6, 6, 6 * 20, 3, 20)), "head_dim is 20; allowed: multiples of 32");
}
