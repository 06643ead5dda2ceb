//! Accesses to memory and what they order.

use crate::types::{Scalar, Space};

/// What a memory operation or a fence orders besides itself. All but [`Order::Weak`] are strong: two of them that meet
/// on the same bytes do not race where their scopes include each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Nothing; the plain `ld` and `st`.
    Weak,
    /// Nothing, but strong: `.relaxed`, `.volatile`, and `atom` or `red` that say nothing else.
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    /// `fence.sc` and `membar`.
    Sc,
}

impl Order {
    pub fn is_strong(self) -> bool {
        self != Order::Weak
    }

    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::Sc)
    }

    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::Sc)
    }
}

/// The threads among which a strong operation or a fence orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Cta,
    /// Launches have no clusters here, so that each block is one of its own.
    Cluster,
    Gpu,
    Sys,
}

/// Where a generic address may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Everywhere,
    /// Atomic operations.
    GlobalOrShared,
    /// Atomic operations on vectors, `.mmio`, and what has a cache policy.
    Global,
}

impl Reach {
    pub fn holds(self, space: Space) -> bool {
        match self {
            Reach::Everywhere => true,
            Reach::GlobalOrShared => matches!(space, Space::Global | Space::Shared),
            Reach::Global => space == Space::Global,
        }
    }

    /// The spaces, as a message names them.
    pub fn words(self) -> &'static str {
        match self {
            Reach::Everywhere => "any memory",
            Reach::GlobalOrShared => "global or shared memory",
            Reach::Global => "global memory",
        }
    }
}

/// A load, a store, or the memory operand of an atomic operation.
///
/// An atomic operation is lowered to an op that carries an `Access` with `order` and `scope` from
/// `Lower::order` (`atom` and `red` without a word are relaxed at gpu scope), and is executed in
/// `exec::memory::for_groups`, as loads and stores are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub space: Space,
    pub reach: Reach,
    pub ty: Scalar,
    pub order: Order,
    pub scope: Scope,
    /// `ld.global.nc`: what it reads may not be written by the same launch.
    pub non_coherent: bool,
    /// Parts of a vector, 1 for a scalar.
    pub count: u8,
    /// Bit `i`: the register of part `i` has 64 bits.
    pub wide: u8,
    /// Bit `i`: the register of part `i` has 16 bits.
    pub narrow: u8,
    /// The address register has 64 bits.
    pub wide_address: bool,
}

impl Access {
    /// A weak access of one value by a 64-bit address.
    pub fn plain(space: Space, ty: Scalar) -> Self {
        let wide = u8::from(ty.bytes() == 8);
        let (order, scope) = (Order::Weak, Scope::Cta);
        let reach = Reach::Everywhere;
        Self { space, reach, ty, order, scope, non_coherent: false, count: 1, wide, narrow: 0, wide_address: true }
    }
}

/// A `cp.async`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AsyncCopy {
    /// 4, 8 or 16.
    pub bytes: u8,
    /// The address registers of destination and source have 64 bits.
    pub wide_to: bool,
    pub wide_from: bool,
}
