//! Loads and stores.

use super::{Checked, Lower, Lowered};
use crate::ast::Operand;
use crate::program::{Access, Inst, Op, Order, Reach, Scope};
use crate::types::{Scalar, Space};

impl Lower<'_, '_> {
    pub(super) fn access(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let is_store = c.bound.form.opcode == "st";
        if let Some(word) = c.bound.words.iter().flatten().find(|w| !is_known(w)) {
            return Err(format!("modifier .{word} has no semantics here"));
        }
        let (data, address) = if is_store { (1, 0) } else { (0, 1) };
        let space = c.bound.words.iter().flatten().find_map(|w| Space::from_word(w)).unwrap_or(Space::Generic);
        let space = self.own_space(space, Self::operand(c, address)?, is_store)?;
        let ty = c.ty(0)?;
        let (base, offset, wide_address) = self.address(Self::operand(c, address)?)?;
        let data = Self::operand(c, data)?;
        let parts = match data {
            Operand::Vector(parts) => parts.as_slice(),
            scalar => std::slice::from_ref(scalar),
        };
        self.check_width(space, ty.bytes() * parts.len() as u32)?;
        let (wide, narrow) = (self.parts_of(parts, ty, 8), self.parts_of(parts, ty, 2));
        let (order, scope) = Self::order(c, Order::Weak);
        let non_coherent = c.has("nc") || c.bound.form.opcode == "ldu";
        let count = parts.len() as u8;
        let is_for_global = c.has("mmio") || c.has("L2::cache_hint");
        let reach = if is_for_global { Reach::Global } else { Reach::Everywhere };
        let access = Access { space, reach, ty, order, scope, non_coherent, count, wide, narrow, wide_address };
        let mut inst = Inst::new(if is_store { Op::Store(access) } else { Op::Load(access) });
        inst.s[4] = base;
        inst.imm = offset;
        let policy = self.policy(c)?;
        if is_store {
            inst.d[0] = policy;
        } else {
            inst.s[0] = policy;
        }
        for (i, part) in parts.iter().enumerate() {
            if is_store {
                inst.s[i] = self.src(part, ty)?;
            } else {
                inst.d[i] = self.dst(part, ty)?;
            }
        }
        Ok(inst)
    }

    /// What the words of a memory operation or a fence order, and among whom; `without` if they do not say.
    pub(super) fn order(c: &Checked<'_>, without: Order) -> (Order, Scope) {
        let scope = match () {
            () if c.has("cta") => Scope::Cta,
            () if c.has("cluster") => Scope::Cluster,
            () if c.has("sys") || c.has("volatile") => Scope::Sys,
            // `atom` and `red` that name no scope, and `membar.gl`.
            () => Scope::Gpu,
        };
        let order = match () {
            () if c.has("relaxed") || c.has("volatile") => Order::Relaxed,
            () if c.has("acquire") => Order::Acquire,
            () if c.has("release") => Order::Release,
            () if c.has("acq_rel") => Order::AcqRel,
            () if c.has("sc") => Order::Sc,
            () => without,
        };
        (order, scope)
    }

    /// The space that an access goes to: what calls pass is in the thread's own memory.
    fn own_space(&self, space: Space, address: &Operand, is_store: bool) -> Lowered<Space> {
        match space {
            Space::Param if self.is_passed(address) => Ok(Space::Local),
            Space::Param if is_store => Err("the parameters of a kernel are read-only".to_owned()),
            _ => Ok(space),
        }
    }

    /// Accesses of 32 bytes came with PTX 8.8 and `sm_100`, for global memory.
    fn check_width(&self, space: Space, bytes: u32) -> Lowered<()> {
        let ast = self.context.ast;
        let has_wide = ast.version >= (8, 8) && ast.target.sm >= 100 && matches!(space, Space::Global | Space::Generic);
        if bytes <= 16 || has_wide {
            return Ok(());
        }
        Err(format!("{bytes} bytes at once; allowed: 16, or 32 of global memory from PTX 8.8 and sm_100 on"))
    }

    /// Which parts are in registers of so many bytes.
    fn parts_of(&self, parts: &[Operand], ty: Scalar, bytes: u32) -> u8 {
        let fits = |part: &Operand| self.operand_bytes(part, ty) == bytes;
        parts.iter().enumerate().map(|(i, part)| u8::from(fits(part)) << i).sum()
    }
}

/// Words of a load or store that leave its value as it is, or that are read elsewhere.
fn is_known(word: &str) -> bool {
    let caching = ["ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"];
    let ordering = ["weak", "volatile", "relaxed", "acquire", "release", "cta", "cluster", "gpu", "sys"];
    let vectors = ["v2", "v4", "mmio"];
    caching.contains(&word)
        || ordering.contains(&word)
        || vectors.contains(&word)
        || word.starts_with("L1::")
        || word.starts_with("L2::")
        || Space::from_word(word).is_some()
        || Scalar::from_word(word).is_some()
}
