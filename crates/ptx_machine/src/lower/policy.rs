//! Cache policies: how they are made, and where they are used.

use super::{Checked, Lower, Lowered};
use crate::program::{Inst, Op, Slot, policy};
use crate::types::Scalar;

impl Lower<'_, '_> {
    pub(super) fn create_policy(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let primary = c.bound.word("primary").ok_or("it names no priority")?;
        let mut inst = Inst::new(Op::CreatePolicy);
        inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::B64)?;
        if let Some(fraction) = c.operands.get(1).copied().flatten() {
            inst.s[0] = self.src(fraction, Scalar::F32)?;
        }
        inst.imm = policy(primary, c.bound.word("secondary")).ok_or("it names no such priority")? as i64;
        Ok(inst)
    }

    /// The policy of an access, which stands behind its other operands.
    pub(super) fn policy(&mut self, c: &Checked<'_>) -> Lowered<Slot> {
        if !c.has("L2::cache_hint") {
            return Ok(Slot::NONE);
        }
        self.src(Self::operand(c, c.operands.len() - 1)?, Scalar::B64)
    }
}
