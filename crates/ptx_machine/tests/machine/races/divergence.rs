//! Lanes of a warp that have parted: meeting again orders nothing.

use super::{is_clean, races};

#[test]
fn reconvergence_orders_nothing() {
    let text = |meet: &str| {
        format!(
            "setp.lt.u32 %p1, %l, 16;
             @!%p1 bra REST;
             st.shared.u32 [%slot], %t;
             REST: {meet}
             xor.b32 %r1, %t, 16;
             mad.lo.u32 %r2, %r1, 4, %bx;
             @!%p1 ld.shared.u32 %r3, [%r2];"
        )
    };
    let f = races(&text(""), 1, 32);
    assert!(f.message.contains("by lane 0 of the same warp"), "{f}");
    is_clean(&text("bar.warp.sync -1;"), 1, 32);
    is_clean(&text("bar.sync 0;"), 1, 32);
}

#[test]
fn the_two_sides_of_a_branch_are_not_ordered() {
    races(
        "setp.lt.u32 %p1, %l, 16;
         @%p1 bra LOW;
         st.shared.u32 [%slot], %t;
         bra END;
         LOW: ld.shared.u32 %r1, [%slot+64];
         END: bar.warp.sync -1;",
        1,
        32,
    );
}

/// Each half of a warp syncs by itself, in its own side of a branch.
fn halves(distance: u32, meet: &str) -> String {
    format!(
        "st.shared.u32 [%slot], %t;
         setp.lt.u32 %p1, %l, 16;
         @%p1 bra LOW;
         bar.warp.sync 0xffff0000;
         bra END;
         LOW: bar.warp.sync 0x0000ffff;
         END: {meet}
         xor.b32 %r1, %t, {distance};
         mad.lo.u32 %r2, %r1, 4, %bx;
         ld.shared.u32 %r3, [%r2];"
    )
}

#[test]
fn a_partial_mask_orders_its_members() {
    is_clean(&halves(1, ""), 1, 32);
    is_clean(&halves(8, ""), 1, 64);
    races(&halves(16, ""), 1, 32);
    is_clean(&halves(16, "bar.warp.sync -1;"), 1, 32);
    is_clean(&halves(16, "bar.sync 0;"), 1, 64);
    races(&halves(32, ""), 1, 64);
    is_clean(&halves(32, "bar.sync 0;"), 1, 64);
}

#[test]
fn masks_of_one_instruction_may_differ() {
    let text = |distance: u32| {
        format!(
            "st.shared.u32 [%slot], %t;
             and.b32 %r4, %l, 28;
             mov.u32 %r5, 15;
             shl.b32 %r5, %r5, %r4;
             bar.warp.sync %r5;
             xor.b32 %r1, %t, {distance};
             mad.lo.u32 %r2, %r1, 4, %bx;
             ld.shared.u32 %r3, [%r2];"
        )
    };
    is_clean(&text(3), 1, 32);
    races(&text(4), 1, 32);
}

#[test]
fn order_is_passed_on_from_mask_to_mask() {
    let text = |second: &str| {
        format!(
            "setp.eq.u32 %p1, %l, 2;
             setp.lt.u32 %p2, %l, 2;
             add.u32 %r4, %l, -1;
             setp.lt.u32 %p3, %r4, 2;
             @%first st.shared.u32 [%bx], %t;
             @%p2 bar.warp.sync 3;
             {second}
             @%p1 ld.shared.u32 %r1, [%bx];"
        )
    };
    is_clean(&text("@%p3 bar.warp.sync 6;"), 1, 32);
    races(&text(""), 1, 32);
}

#[test]
fn loops_that_lanes_leave_one_by_one() {
    // Lane l goes round l times; in each round those that are left exchange words.
    let text = |mask: &str| {
        format!(
            "mov.u32 %r5, 0;
             LOOP: activemask.b32 %r6;
             st.shared.u32 [%slot], %r5;
             {mask}
             ld.shared.u32 %r3, [%bx+124];
             {mask}
             add.u32 %r5, %r5, 1;
             setp.le.u32 %p1, %r5, %l;
             @%p1 bra LOOP;"
        )
    };
    is_clean(&text("bar.warp.sync %r6;"), 1, 32);
    races(&text(""), 1, 32);
}
