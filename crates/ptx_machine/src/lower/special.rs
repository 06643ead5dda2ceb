//! Moves from special registers.

use super::{Checked, Lower, Lowered};
use crate::ast::{Operand, Special};
use crate::program::{Inst, Op};
use crate::types::Scalar;

impl Lower<'_, '_> {
    /// `mov.u32 %r, %tid.x`. A register that differs from run to run is for modules that are not strict.
    pub(super) fn mov_special(&mut self, c: &Checked<'_>, to: &Operand, special: Special, ty: Scalar) -> Lowered<Inst> {
        let (_, word) = Special::ALL[special as usize];
        if special.varies() {
            if self.context.strict {
                return Err(format!("{word} differs from run to run, which strict mode refuses"));
            }
            self.approximate = true;
        }
        if special.is_clock() {
            let mut inst = Inst::new(Op::Clock { wide: ty.bytes() == 8 });
            inst.d[0] = self.dst(to, ty)?;
            return Ok(inst);
        }
        self.plain(c, if ty.bytes() == 8 { Op::Mov64 } else { Op::Mov32 }, ty, 1)
    }
}
