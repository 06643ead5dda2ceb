//! From a checked instruction to a decoded one.

mod arith;
mod async_copy;
mod atomic;
mod bodies;
mod calls;
mod control;
mod convert;
#[cfg(test)]
mod coverage;
mod layout;
mod logic;
mod memory;
mod policy;
mod shown;
mod slots;
mod special;
mod validate;
mod word;

use crate::ast::{Ast, Base, Function, Instruction, Operand, RegisterId, Symbol};
use crate::error::{PtxError, excerpt};
use crate::parser::max_bytes;
use crate::program::{Inst, Op, Place, Program, Promise, Slot, packed_bytes};
use crate::table::{Bound, Names, Table};
use crate::types::{Scalar, Space};

use bodies::Bodies;
pub(crate) use layout::{Layout, constant_variables};
pub(crate) use shown::{Shown, shown_operands};
use slots::Slots;

/// What lowering needs to know of a module.
pub(crate) struct Context<'a, 's> {
    pub ast: &'a Ast<'s>,
    pub table: &'a Table,
    pub file: &'a str,
    pub source: &'s str,
    pub strict: bool,
}

/// An instruction that fits a form.
pub(crate) struct Checked<'a> {
    pub bound: Bound<'a>,
    /// One for each operand word of the form.
    pub operands: Vec<Option<&'a Operand>>,
    pub types: Vec<Scalar>,
}

impl Checked<'_> {
    fn has(&self, word: &str) -> bool {
        self.bound.has(word)
    }

    /// The type at `i` among the words.
    fn ty(&self, i: usize) -> Lowered<Scalar> {
        self.types.get(i).copied().ok_or_else(|| "the form names no type".to_owned())
    }
}

/// A result, or why the machine does not execute the form.
type Lowered<T> = Result<T, String>;

/// Lowering of one function.
pub(crate) struct Lower<'a, 's> {
    context: &'a Context<'a, 's>,
    /// What is being lowered, and its place among the bodies.
    function: &'a Function<'s>,
    body: usize,
    bodies: &'a Bodies<'a, 's>,
    layout: &'a Layout,
    slots: Slots,
    /// Target lists of the bodies before this one.
    targets: usize,
    approximate: bool,
}

/// A function's names together with those of its module.
pub(crate) struct FunctionNames<'a, 's> {
    pub ast: &'a Ast<'s>,
    pub function: &'a Function<'s>,
}

impl Names for FunctionNames<'_, '_> {
    fn register(&self, id: RegisterId) -> Scalar {
        self.function.registers[id as usize].ty
    }

    fn space(&self, symbol: Symbol) -> Space {
        match symbol {
            Symbol::Module(i) => self.ast.variables[i as usize].space,
            Symbol::Local(i) => self.function.variables[i as usize].space,
            Symbol::Param(_) => Space::Param,
        }
    }
}

/// Most bytes of shared variables with a size; more must be asked for at the launch.
const MAX_STATIC_SHARED: u64 = 48 << 10;
/// Most instructions of the kernels of a module, with all that each calls.
pub(crate) const MAX_INSTRUCTIONS: usize = 1 << 22;

/// Decodes one kernel.
pub(crate) fn lower_function(context: &Context<'_, '_>, function: &Function<'_>) -> Result<Program, PtxError> {
    let bodies = Bodies::new(context, function)?;
    let layout = Layout::new(context.ast, &bodies.all);
    let mut lower = Lower::new(context, &bodies, &layout);
    let mut program = Program::default();
    let refuse = |message| PtxError {
        file: context.file.to_owned(),
        line: function.line,
        text: excerpt(&function.name),
        message,
        nearest: None,
    };
    let mut entries = Vec::with_capacity(bodies.all.len());
    for body in 0..bodies.all.len() {
        entries.push(program.insts.len() as i64);
        lower.lower_body(body, &mut program)?;
    }
    for call in program.insts.iter_mut().filter(|inst| matches!(inst.op, Op::Call(_))) {
        call.imm = entries[call.imm as usize] | call.imm << 32;
    }
    program.own = (0..bodies.all.len()).map(|body| lower.own(body)).collect();
    crate::cfg::set_meeting_points(&mut program).map_err(refuse)?;
    program.approximate = lower.approximate;
    lower.slots.finish(&mut program).map_err(refuse)?;
    layout.finish(&mut program);
    check_room(&program).map_err(refuse)?;
    Ok(program)
}

/// Holds every function against the table, whether a kernel reaches it or not.
pub(crate) fn check_functions(context: &Context<'_, '_>) -> Result<(), PtxError> {
    for body in context.ast.callees.iter().filter_map(|callee| callee.body.as_ref()) {
        let bodies = Bodies::alone(body);
        let layout = Layout::new(context.ast, &bodies.all);
        let lower = Lower::new(context, &bodies, &layout);
        body.instructions.iter().try_for_each(|instruction| lower.check(instruction).map(|_| ()))?;
    }
    Ok(())
}

/// Refuses a kernel whose variables no device has room for.
fn check_room(program: &Program) -> Lowered<()> {
    for (space, placed, most) in
        [(Space::Shared, &program.shared, MAX_STATIC_SHARED), (Space::Local, &program.local, max_bytes(Space::Local))]
    {
        let bytes = packed_bytes(placed);
        if bytes > most {
            let what = space.word();
            return Err(format!("{bytes} bytes of {what} variables are too many; allowed: {most} bytes"));
        }
    }
    Ok(())
}

impl<'a, 's> Lower<'a, 's> {
    fn new(context: &'a Context<'a, 's>, bodies: &'a Bodies<'a, 's>, layout: &'a Layout) -> Self {
        let (function, slots) = (bodies.all[0], Slots::new());
        Self { context, function, body: 0, bodies, layout, slots, targets: 0, approximate: false }
    }

    /// Decodes one body, behind what the program has already.
    fn lower_body(&mut self, body: usize, program: &mut Program) -> Result<(), PtxError> {
        (self.body, self.function) = (body, self.bodies.all[body]);
        self.slots.begin(self.function.registers.len());
        self.targets = program.targets.len();
        let first = program.insts.len();
        // Where each instruction of the text starts in the program.
        let mut starts = Vec::with_capacity(self.function.instructions.len() + 1);
        for instruction in &self.function.instructions {
            starts.push(program.insts.len() as u32);
            let insts = self.instruction(instruction)?;
            let start = instruction.text.as_ptr() as usize - self.context.source.as_ptr() as usize;
            let place = Place { line: instruction.line, start, end: start + instruction.text.len() };
            program.places.extend(insts.iter().map(|_| place));
            program.insts.extend(insts);
        }
        starts.push(program.insts.len() as u32);
        // A body that runs past its end returns.
        let end = if self.function.is_entry { Op::Exit } else { Op::Return };
        program.insts.push(Inst::new(end(Promise::None)));
        program.places.push(Place { line: self.function.line, start: 0, end: 0 });
        for branch in program.insts[first..].iter_mut().filter(|inst| matches!(inst.op, Op::Branch(_))) {
            branch.imm = starts[branch.imm as usize].into();
        }
        let at = |label: &u32| starts[self.function.labels[*label as usize] as usize];
        program.targets.extend(self.function.targets.iter().map(|labels| labels.iter().map(at).collect()));
        Ok(())
    }

    /// What one instruction of the text becomes: one of the program, but for a call, which copies its arguments.
    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Inst>, PtxError> {
        let checked = self.check(instruction)?;
        // A form that the table lets through only where the module is not strict may differ on a device.
        self.approximate |= checked.bound.refused().is_some();
        let lowered = if checked.bound.form.opcode == "call" {
            self.call(instruction, &checked)
        } else {
            self.lower(&checked).map(|inst| vec![inst])
        };
        let mut insts = lowered.map_err(|why| {
            let message = format!("the machine does not execute {}: {why}", instruction.mnemonic);
            self.refusal(instruction, message, None)
        })?;
        if let Some((id, negated)) = instruction.guard {
            let guard = self.predicate(id, negated);
            for inst in &mut insts {
                inst.guard = guard;
            }
        }
        Ok(insts)
    }
}

impl Lower<'_, '_> {
    /// Whether `.param` means the thread's own memory: what a call passes on, and what a function was given.
    fn is_passed(&self, operand: &Operand) -> bool {
        let own = matches!(operand, Operand::Address { base: Base::Symbol(Symbol::Local(_)), .. });
        own || !self.function.is_entry
    }

    fn lower(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        if let Some(op) = Self::word_op(c) {
            return self.word(c, op);
        }
        match c.bound.form.opcode.as_str() {
            "addc" | "subc" | "madc" => self.carry(c),
            "add" | "sub" | "mad" if c.has("cc") => self.carry(c),
            "add" | "sub" | "mul" | "mad" | "div" | "rem" | "abs" | "neg" | "min" | "max" | "sad" | "fma" | "sqrt"
            | "rcp" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => self.arith(c),
            "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "bfind" | "brev"
            | "clz" | "popc" | "lop3" | "prmt" => self.bits(c),
            "setp" | "set" | "selp" | "slct" | "testp" | "copysign" => self.compare(c),
            "mov" => self.mov(c),
            "cvt" => self.cvt(c),
            "cvta" | "isspacep" => self.address_conversion(c),
            "ld" | "ldu" | "st" => self.access(c),
            "atom" | "red" => self.atomic(c),
            "match" | "redux" | "elect" => self.agree(c),
            "cp" => self.async_copy(c),
            "shfl" | "vote" | "activemask" | "bar" | "barrier" | "bra" | "brx" | "ret" | "exit" | "trap" | "membar"
            | "fence" | "griddepcontrol" | "prefetch" | "prefetchu" | "applypriority" | "discard" | "nanosleep"
            | "pmevent" => self.control(c),
            "createpolicy" => self.create_policy(c),
            _ => Err("it has no semantics here".to_owned()),
        }
    }

    /// The operand that the form's word `i` stands for.
    fn operand<'c>(c: &Checked<'c>, i: usize) -> Lowered<&'c Operand> {
        c.operands.get(i).copied().flatten().ok_or_else(|| format!("operand {} is missing", i + 1))
    }

    fn is_wide(&self, id: RegisterId) -> bool {
        self.function.registers[id as usize].ty.bytes() == 8
    }

    /// Size of the register that an operand is in; a constant's, or a dropped result's, is that of its type.
    fn operand_bytes(&self, operand: &Operand, ty: Scalar) -> u32 {
        match operand {
            Operand::Register(id) => self.function.registers[*id as usize].ty.bytes(),
            _ if ty.bytes() == 8 => 8,
            _ => 4,
        }
    }

    fn predicate(&mut self, id: RegisterId, negated: bool) -> Slot {
        let Slot(slot) = self.slots.register(id, Scalar::Pred);
        Slot(if negated { slot | Slot::FLAG } else { slot })
    }

    /// Slot of the register `id` in the file of its own type.
    fn register(&mut self, id: RegisterId) -> Slot {
        let ty = self.function.registers[id as usize].ty;
        self.slots.register(id, ty)
    }

    /// An operand that is written; `ty` says in which file a value that no one wants goes.
    fn dst(&mut self, operand: &Operand, ty: Scalar) -> Lowered<Slot> {
        match operand {
            Operand::Register(id) => Ok(self.register(*id)),
            Operand::Sink => Ok(self.slots.sink(ty)),
            _ => Err("a result goes to a register".to_owned()),
        }
    }

    /// An operand that is read: a register, or a constant of type `ty`.
    fn src(&mut self, operand: &Operand, ty: Scalar) -> Lowered<Slot> {
        match operand {
            Operand::Register(id) => Ok(self.register(*id)),
            Operand::Not(id) => Ok(self.predicate(*id, true)),
            Operand::Immediate(value) => Ok(self.slots.constant(slots::constant_bits(*value, ty), ty)),
            Operand::Special(special) => Ok(self.slots.special(*special)),
            _ => Err("an operand is a register or a number".to_owned()),
        }
    }

    /// `d0` and the sources behind it, all of type `ty`, from operand words 0, 1, ….
    fn plain(&mut self, c: &Checked<'_>, op: Op, ty: Scalar, sources: usize) -> Lowered<Inst> {
        let mut inst = Inst::new(op);
        inst.d[0] = self.dst(Self::operand(c, 0)?, ty)?;
        for i in 0..sources {
            inst.s[i] = self.src(Self::operand(c, i + 1)?, ty)?;
        }
        Ok(inst)
    }

    /// The 64-bit slot, and the offset to add, of an address.
    fn address(&mut self, operand: &Operand) -> Lowered<(Slot, i64, bool)> {
        let Operand::Address { base, offset } = operand else { return Err("an address is written in [ ]".to_owned()) };
        match base {
            Base::Zero => Ok((self.slots.constant(0, Scalar::U64), *offset, true)),
            Base::Register(id) => Ok((self.register(*id), *offset, self.is_wide(*id))),
            Base::Symbol(symbol) => Ok((self.symbol(*symbol), *offset, true)),
        }
    }

    /// The space that a variable's address belongs to.
    fn address_space(&self, symbol: Symbol) -> Space {
        let own = FunctionNames { ast: self.context.ast, function: self.function }.space(symbol);
        let is_passed = matches!(symbol, Symbol::Local(_)) || !self.function.is_entry;
        if own == Space::Param && is_passed { Space::Local } else { own }
    }

    /// The 64-bit slot that holds a variable's address in its space.
    fn symbol(&mut self, symbol: Symbol) -> Slot {
        match self.layout.address(self.body, symbol) {
            layout::Address::Known(address) => self.slots.constant(address, Scalar::U64),
            layout::Address::Global(index) => self.slots.global(index),
        }
    }
}
