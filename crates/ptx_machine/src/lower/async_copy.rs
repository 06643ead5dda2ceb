//! Asynchronous copies from global to shared memory.

use super::{Checked, Lower, Lowered};
use crate::ast::Operand;
use crate::literal::Immediate;
use crate::program::{AsyncCopy, Inst, Op};
use crate::types::Scalar;

impl Lower<'_, '_> {
    pub(super) fn async_copy(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        match () {
            () if c.has("commit_group") => Ok(Inst::new(Op::AsyncCommit)),
            () if c.has("wait_all") => Ok(Inst::new(Op::AsyncWaitAll)),
            () if c.has("wait_group") => {
                let mut inst = Inst::new(Op::AsyncWait);
                inst.imm = whole(Self::operand(c, 0)?)?;
                Ok(inst)
            }
            () => self.copy(c),
        }
    }

    fn copy(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let bytes = match (whole(Self::operand(c, 2)?)?, c.has("cg")) {
            (16, _) => 16,
            (4, false) => 4,
            (8, false) => 8,
            (bytes, true) => return Err(format!("copies {bytes} bytes past L1; allowed: 16")),
            (bytes, false) => return Err(format!("copies {bytes} bytes; allowed: 4, 8 or 16")),
        };
        let (to, to_offset, wide_to) = self.address(Self::operand(c, 0)?)?;
        let (from, from_offset, wide_from) = self.address(Self::operand(c, 1)?)?;
        let mut inst = Inst::new(Op::AsyncCopy(AsyncCopy { bytes, wide_to, wide_from }));
        inst.s[..2].copy_from_slice(&[to, from]);
        inst.s[3] = self.policy(c)?;
        // A cache policy, which is wider, may stand there or behind it.
        let is_size = c.bound.form.operands.get(3).is_some_and(|word| word.starts_with("in:u32"));
        if let Some(read) = c.operands.get(3).copied().flatten().filter(|_| is_size) {
            inst.s[2] = self.src(read, Scalar::U32)?;
        }
        inst.imm = pair(to_offset, from_offset)?;
        Ok(inst)
    }
}

/// Two address offsets in one number: the first in the low half.
fn pair(low: i64, high: i64) -> Lowered<i64> {
    let half = |offset: i64| i32::try_from(offset).map_err(|_| format!("address offset {offset} exceeds 32 bits"));
    Ok(i64::from(half(low)? as u32) | i64::from(half(high)?) << 32)
}

fn whole(operand: &Operand) -> Lowered<i64> {
    match operand {
        Operand::Immediate(Immediate::Int(value)) => i64::try_from(*value).map_err(|_| format!("{value} is too large")),
        _ => Err("a number is expected".to_owned()),
    }
}
