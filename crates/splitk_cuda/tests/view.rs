//! Layouts that the contract allows, and those that it does not.

use splitk_cuda::view::{check_kv, check_out, check_q};
use splitk_cuda::{ArrayView, Error};
use splitk_plan::{Geometry, Storage};

const ADDRESS: u64 = 0x7F00_0000_0000;

fn geometry() -> Geometry {
    Geometry::new(16, 4, 256, Storage::F16).expect("a supported shape")
}

fn q() -> ArrayView {
    ArrayView::dense(ADDRESS, &[16, 256], Storage::F32)
}

fn k() -> ArrayView {
    ArrayView::dense(ADDRESS, &[100, 4, 256], Storage::F16)
}

#[track_caller]
fn line(result: Result<(), Error>) -> String {
    result.expect_err("not allowed").to_string()
}

#[test]
fn dense_arrays_have_dense_strides() {
    assert_eq!(k().strides, [1024, 256, 1]);
    assert_eq!(q().strides, [256, 1]);
}

#[test]
fn allowed_layouts_of_q() {
    for stride in [256, 5120, 0, 260] {
        check_q(&geometry(), &ArrayView { strides: vec![stride, 1], ..q() }).expect("allowed");
    }
}

#[test]
fn refused_layouts_of_q() {
    let cases: [(ArrayView, &str); 7] = [
        (ArrayView { element: Storage::F16, ..q() }, "q.dtype is f16; allowed: f32"),
        (ArrayView { shape: vec![8, 256], ..q() }, "q.shape is (8, 256); allowed: (16, 256)"),
        (ArrayView { shape: vec![16], strides: vec![1], ..q() }, "q.shape is (16,); allowed: (16, 256)"),
        (ArrayView { strides: vec![1, 16], ..q() }, "q.strides is (1, 16); allowed: 1 in the last axis"),
        (
            ArrayView { strides: vec![258, 1], ..q() },
            "q.strides is (258, 1); allowed: 0 or positive multiples of 4 elements (16 bytes) in every axis but the last",
        ),
        (
            ArrayView { strides: vec![-256, 1], ..q() },
            "q.strides is (-256, 1); allowed: 0 or positive multiples of 4 elements (16 bytes) in every axis but the last",
        ),
        (ArrayView { address: ADDRESS + 8, ..q() }, "q.address is 0x7f0000000008; allowed: a multiple of 16 bytes"),
    ];
    for (array, wanted) in cases {
        assert_eq!(line(check_q(&geometry(), &array)), wanted);
    }
}

#[test]
fn k_may_have_more_rows_and_strides_of_any_16_bytes() {
    check_kv(&geometry(), "k", &k(), 100).expect("allowed");
    check_kv(&geometry(), "k", &k(), 1).expect("allowed");
    check_kv(&geometry(), "k", &ArrayView { strides: vec![0, 264, 1], ..k() }, 37).expect("allowed");
}

#[test]
fn refused_layouts_of_k() {
    let cases: [(ArrayView, u32, &str); 5] = [
        (k(), 101, "k.shape is (100, 4, 256); allowed: (>= 101, 4, 256)"),
        (ArrayView { shape: vec![100, 8, 256], ..k() }, 5, "k.shape is (100, 8, 256); allowed: (>= 5, 4, 256)"),
        (
            ArrayView { shape: vec![100, 1024], strides: vec![1024, 1], ..k() },
            5,
            "k.shape is (100, 1024); allowed: (>= 5, 4, 256)",
        ),
        (ArrayView { element: Storage::F32, ..k() }, 5, "k.dtype is f32; allowed: f16"),
        (ArrayView { address: ADDRESS + 2, ..k() }, 5, "k.address is 0x7f0000000002; allowed: a multiple of 16 bytes"),
    ];
    for (array, kv_len, wanted) in cases {
        assert_eq!(line(check_kv(&geometry(), "k", &array, kv_len)), wanted);
    }
}

#[test]
fn out_is_writable_and_its_rows_lie_apart() {
    check_out(&geometry(), &q()).expect("allowed");
    check_out(&geometry(), &ArrayView { strides: vec![264, 1], ..q() }).expect("allowed");
    let read_only = ArrayView { writable: false, ..q() };
    assert_eq!(line(check_out(&geometry(), &read_only)), "out is read-only; allowed: a writable array");
    for stride in [0, 128] {
        let close = ArrayView { strides: vec![stride, 1], ..q() };
        let wanted = format!("out.strides is ({stride}, 1); allowed: at least 256 elements between heads");
        assert_eq!(line(check_out(&geometry(), &close)), wanted);
    }
}

#[test]
fn the_stride_of_an_axis_with_one_element_does_not_matter() {
    let geometry = Geometry::new(1, 1, 256, Storage::F16).expect("a supported shape");
    let odd = ArrayView { shape: vec![1, 256], strides: vec![-7, 1], ..q() };
    check_q(&geometry, &odd).expect("allowed");
    check_out(&geometry, &odd).expect("allowed");
    assert_eq!(odd.stride(0), 0);
}
