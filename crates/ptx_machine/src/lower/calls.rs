//! Calls: arguments are copied to where the function finds its parameters, results back to where the caller wants them.
//!
//! A function's registers, variables and parameters have one place for each lane. That is enough, since no lane is in
//! a function twice.

use super::bodies::called;
use super::layout::Address;
use super::{Checked, Lower, Lowered};
use crate::ast::{Instruction, Operand, Param, Symbol};
use crate::program::{Access, Inst, Op, Own};
use crate::types::{Scalar, Space};

impl Lower<'_, '_> {
    /// The copies before the call, the call, and the copies after it.
    pub(super) fn call(&mut self, i: &Instruction<'_>, c: &Checked<'_>) -> Lowered<Vec<Inst>> {
        let callee = called(i).ok_or("it names no function")?;
        let body = self.bodies.place(callee);
        let function = self.bodies.all[body];
        let (inputs, results) = function.params.split_at(function.inputs);
        let (Operand::List(given), Operand::List(wanted)) = (Self::operand(c, 2)?, Self::operand(c, 0)?) else {
            return Err("arguments and results stand in ( )".to_owned());
        };
        for (what, have, want) in [("arguments", given, inputs), ("results", wanted, results)] {
            if have.len() != want.len() {
                return Err(format!("{} has {} {what}, not {}", function.name, want.len(), have.len()));
            }
        }
        let mut insts = Vec::new();
        for (k, (operand, param)) in given.iter().zip(inputs).enumerate() {
            self.pass(operand, param, (body, k), true, &mut insts)?;
        }
        let mut call = Inst::new(Op::Call(Self::promise(c)));
        call.imm = body as i64;
        insts.push(call);
        for (k, (operand, param)) in wanted.iter().zip(results).enumerate() {
            self.pass(operand, param, (body, function.inputs + k), false, &mut insts)?;
        }
        Ok(insts)
    }

    /// Copies an operand to parameter `place` of a body, or the other way round.
    fn pass(
        &mut self,
        operand: &Operand,
        param: &Param<'_>,
        place: (usize, usize),
        inwards: bool,
        insts: &mut Vec<Inst>,
    ) -> Lowered<()> {
        let Address::Known(formal) = self.layout.address(place.0, Symbol::Param(place.1 as u32)) else {
            return Err("a parameter has no address".to_owned());
        };
        let bytes = u64::from(param.ty.bytes() * param.count.unwrap_or(1));
        match operand {
            Operand::Symbol(symbol, 0) => {
                let actual = self.stack_bytes(*symbol).filter(|(_, size)| *size == bytes);
                let Some((actual, _)) = actual else {
                    return Err(format!("an argument does not fit {}; allowed: a .param of {bytes} bytes", param.name));
                };
                let (from, to) = if inwards { (actual, formal) } else { (formal, actual) };
                self.copy_bytes(from, to, bytes, param.align, insts);
                Ok(())
            }
            Operand::Register(_) | Operand::Immediate(_) if param.count.is_none() => {
                if self.operand_bytes(operand, param.ty) != param.ty.bytes().max(2) {
                    return Err(format!("an argument does not fit {}, which is {}", param.name, param.ty));
                }
                let register = if inwards { self.src(operand, param.ty)? } else { self.dst(operand, param.ty)? };
                let mut inst = self.local_access(formal, param.ty, inwards);
                if inwards {
                    inst.s[0] = register;
                } else {
                    inst.d[0] = register;
                }
                insts.push(inst);
                Ok(())
            }
            _ => Err("an argument is a .param variable, a register or a number".to_owned()),
        }
    }

    /// What a body has of its own, once it is decoded.
    pub(super) fn own(&self, body: usize) -> Own {
        let function = self.bodies.all[body];
        let mut own = Own::default();
        for (slot, register) in self.slots.registers_of(body).iter().zip(&function.registers) {
            let file = match register.ty.bytes() {
                0 => 2,
                8 => 1,
                _ => 0,
            };
            own.registers[file].extend(*slot);
        }
        let variables = (0..function.variables.len()).filter(|&i| function.variables[i].space != Space::Shared);
        let variables = variables.map(|i| Symbol::Local(i as u32));
        // An entry's parameters are the launch's; a function's results lie behind what it is given.
        let results = if function.is_entry { 0..0 } else { function.inputs..function.params.len() };
        for symbol in variables.chain(results.map(|i| Symbol::Param(i as u32))) {
            if let Address::Known(address) = self.layout.address(body, symbol) {
                own.stack.push(address);
            }
        }
        own
    }

    /// Address and size of a variable or parameter that lies in the thread's own memory.
    fn stack_bytes(&self, symbol: Symbol) -> Option<(u64, u64)> {
        let bytes = match symbol {
            Symbol::Local(i) => Some(&self.function.variables[i as usize]).filter(|v| v.space == Space::Param)?.bytes,
            Symbol::Param(i) if !self.function.is_entry => {
                let param = &self.function.params[i as usize];
                u64::from(param.ty.bytes() * param.count.unwrap_or(1))
            }
            _ => return None,
        };
        match self.layout.address(self.body, symbol) {
            Address::Known(address) => Some((address, bytes)),
            Address::Global(_) => None,
        }
    }

    /// Copies local memory in pieces as large as the alignment allows.
    fn copy_bytes(&mut self, from: u64, to: u64, bytes: u64, align: u32, insts: &mut Vec<Inst>) {
        let mut at = 0;
        while at < bytes {
            let fits = |ty: &Scalar| ty.bytes() <= align && at + u64::from(ty.bytes()) <= bytes;
            let ty = [Scalar::B64, Scalar::B32, Scalar::B16].into_iter().find(fits).unwrap_or(Scalar::B8);
            let through = self.slots.sink(ty);
            let mut load = self.local_access(from + at, ty, false);
            load.d[0] = through;
            let mut store = self.local_access(to + at, ty, true);
            store.s[0] = through;
            insts.extend([load, store]);
            at += u64::from(ty.bytes());
        }
    }

    fn local_access(&mut self, address: u64, ty: Scalar, is_store: bool) -> Inst {
        let access = Access::plain(Space::Local, ty);
        let mut inst = Inst::new(if is_store { Op::Store(access) } else { Op::Load(access) });
        inst.s[4] = self.slots.constant(address, Scalar::U64);
        inst
    }
}
