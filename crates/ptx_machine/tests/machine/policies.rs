//! Cache policies: only what `createpolicy` gives is one.

use ptx_machine::{Fault, FaultKind};

use crate::harness::{Kernel, body};

/// A kernel of one block over 32 words at `p`, with a tile in shared memory; `%s` is a lane's place there.
fn kernel(text: &str) -> (Kernel, u64) {
    let tile = "{ .shared .align 16 .b8 tile[512];\n.reg .b32 %s;\n.reg .b64 %policy, %other;\n.reg .f64 %double;\n\
        mov.u32 %s, tile; mad.lo.u32 %s, %t, 16, %s;";
    let mut kernel = Kernel::new(&body(&format!("{tile}\n{text} }}")), 1, 32);
    let words: Vec<u32> = (0..128).collect();
    let data = kernel.words("data", &words);
    (kernel, data)
}

fn fault(text: &str) -> Fault {
    let (mut kernel, data) = kernel(text);
    kernel.fault(&[data])
}

const MADE: &str = "createpolicy.fractional.L2::evict_first.b64 %policy, 0f3F800000;";

/// Every instruction that takes a policy, in its last operand.
const USES: [&str; 9] = [
    "ld.global.L2::cache_hint.u32 %r1, [%at], %policy;",
    "ld.L2::cache_hint.v4.u32 {%r1, %r2, %r3, %r4}, [%base], %policy;",
    "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.u64 %rd1, [%base], %policy;",
    "st.global.L2::cache_hint.u32 [%at], %t, %policy;",
    "st.global.L2::cache_hint.v2.u64 [%rd2], {%rd2, %rd2}, %policy;",
    "st.global.L2::cache_hint.v4.u32 [%rd2], {%t, %t, %t, %t}, %policy;",
    "cp.async.ca.shared.global.L2::cache_hint [%s], [%at], 4, %policy;",
    "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%s], [%rd2], 16, %policy;",
    "cp.async.cg.shared.global.L2::cache_hint [%s], [%rd2], 16, 0, %policy;",
];
const PLACE: &str = "mad.wide.u32 %rd2, %t, 16, %base;";

#[test]
fn what_createpolicy_gives_may_be_used() {
    let makers = [
        "createpolicy.fractional.L2::evict_last.b64 %policy;",
        "createpolicy.fractional.L2::evict_normal.L2::evict_first.b64 %policy, 0f3F000000;",
        "mov.f32 %f1, 0f00000001; createpolicy.fractional.L2::evict_unchanged.L2::evict_unchanged.b64 %policy, %f1;",
    ];
    for use_ in USES {
        for made in makers.into_iter().chain([MADE]) {
            let (mut kernel, data) = kernel(&format!("{PLACE} {made}\n{use_}"));
            kernel.run(&[data]);
        }
    }
}

#[test]
fn a_policy_may_go_any_way_to_its_use() {
    // Through a selection with another one, halves, another lane, memory, and a call.
    let text = format!(
        "{MADE} createpolicy.fractional.L2::evict_last.b64 %other, 0f3F000000;
         setp.lt.u32 %p1, %t, 7; selp.b64 %policy, %other, %policy, %p1;
         mov.b64 {{%r1, %r2}}, %policy;
         shfl.sync.bfly.b32 %r1, %r1, 31, 31, -1; shfl.sync.bfly.b32 %r2, %r2, 31, 31, -1;
         mov.b64 %policy, {{%r1, %r2}}; mov.b64 %double, %policy;
         .local .b64 kept; st.local.f64 [kept], %double; ld.local.b64 %policy, [kept];
         @%p1 mov.b64 %policy, %other;
         ld.global.L2::cache_hint.u32 %r3, [%at], %policy; add.u32 %r3, %r3, 1;
         st.global.L2::cache_hint.u32 [%at], %r3, %policy;"
    );
    let (mut kernel, data) = kernel(&text);
    kernel.run(&[data]);
    assert_eq!(kernel.read(data, 32), (1..33).collect::<Vec<_>>());
}

#[test]
fn any_other_value_is_refused_by_each_instruction() {
    for use_ in USES {
        let f = fault(&format!("{PLACE} mov.b64 %policy, 0x12F0000000000000;\n{use_}"));
        assert_eq!((f.kind, f.lane), (FaultKind::BadOperand, Some(0)), "{f}");
        assert_eq!(f.instruction, use_.trim_end_matches(';'));
        assert_eq!(f.message, "the cache policy is 0x12f0000000000000; allowed: what createpolicy gives");
        assert!(!f.to_string().contains('\n'));
        let f = fault(&format!("{PLACE}\n{use_}"));
        assert_eq!((f.kind, f.lane), (FaultKind::UninitialisedOperand, Some(0)), "{f}");
        assert!(f.message.starts_with("the cache policy depends on a value that was never written"), "{f}");
    }
}

#[test]
fn one_lane_without_a_policy_is_named() {
    let copy = "cp.async.cg.shared.global.L2::cache_hint [%s], [%rd2], 16, %policy;";
    for (change, kind) in [
        ("@%p1 add.u64 %policy, %policy, 1;", FaultKind::BadOperand),
        ("@%p1 mov.b64 %policy, %at;", FaultKind::BadOperand),
        ("@%p1 and.b64 %policy, %policy, 0x7fffffffffffffff;", FaultKind::BadOperand),
        ("@%p1 mov.b64 %policy, %other;", FaultKind::UninitialisedOperand),
        ("@%p1 mov.b64 {%r1, %r2}, %policy; @%p1 mov.b64 %policy, {%r1, %r3};", FaultKind::UninitialisedOperand),
    ] {
        let made = format!("{PLACE} {MADE} setp.eq.u32 %p1, %t, 9; {change}\n");
        let f = fault(&format!("{made}{copy}"));
        assert_eq!((f.kind, f.lane), (kind, Some(9)), "{change} {f}");
        // A lane that does not copy needs none.
        let (mut kernel, data) = kernel(&format!("{made}@!%p1 {copy}"));
        kernel.run(&[data]);
    }
}

#[test]
fn fractions_lie_in_their_range() {
    for (fraction, shown) in
        [("0f00000000", "0"), ("0fBF000000", "-0.5"), ("0f3F800001", "1.0000001"), ("0f7FC00000", "NaN")]
    {
        let f = fault(&format!("createpolicy.fractional.L2::evict_first.b64 %policy, {fraction};"));
        assert_eq!((f.kind, f.lane), (FaultKind::BadOperand, Some(0)), "{f}");
        assert_eq!(f.message, format!("the fraction of a cache policy is {shown}; allowed: above 0, at most 1"));
    }
    let f = fault("createpolicy.fractional.L2::evict_first.b64 %policy, %f1;");
    assert_eq!(f.kind, FaultKind::UninitialisedOperand);
}
