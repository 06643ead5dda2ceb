//! A parsed module and what it tells about its entries.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::ast::{Function, Variable};
use crate::error::{PtxError, excerpt, one_line};
use crate::exec::TracedText;
use crate::lower::{Context, MAX_INSTRUCTIONS, check_functions, constant_variables, lower_function, shown_operands};
use crate::memory::{AllocOptions, Memory, MemoryError, ModuleVariables, Segment};
use crate::parser::{check_source, parse};
use crate::program::{Placed, Program, packed_bytes};
use crate::table::table;
use crate::types::{Scalar, Space};

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A PTX module, checked and ready to be launched.
#[derive(Debug)]
pub struct Module {
    /// Tells the variables of modules apart.
    id: u64,
    name: String,
    source: String,
    version: (u32, u32),
    target: String,
    strict: bool,
    entries: Vec<Entry>,
    /// One for each entry.
    programs: Vec<Program>,
    /// `.const` variables with their initial bytes.
    constants: Vec<(Placed, Vec<u8>)>,
    /// `.global` variables.
    globals: Vec<Variable>,
}

/// Registers that an entry uses, by file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegisterCounts {
    /// Registers of up to 32 bits.
    pub b32: u32,
    /// Registers of 64 bits.
    pub b64: u32,
    /// Predicates.
    pub pred: u32,
}

/// One parameter of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// Its type, e.g. `u64` or `b8[16]`.
    pub ty: String,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// One kernel of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Line of its `.entry`.
    pub line: u32,
    /// Its parameters in order.
    pub params: Vec<ParamInfo>,
    /// Bytes of shared memory that the module declares with a size, as used by this entry.
    pub static_shared_bytes: u32,
    /// Whether it uses `.extern .shared` memory, whose size the launch says.
    pub uses_dynamic_shared: bool,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
    /// Registers used.
    pub registers: RegisterCounts,
    /// Instructions in the text.
    pub instructions: u32,
    /// `.reqntid`: the only block shape it may be launched with.
    pub required_threads: Option<[u32; 3]>,
    /// `.maxntid`: most threads of a block.
    pub max_threads: Option<u32>,
    /// Element type and array length of each parameter.
    pub(crate) param_types: Vec<(Scalar, Option<u32>)>,
}

impl Module {
    /// Name of the source, as given to [`Module::parse`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// PTX ISA version, e.g. `(8, 5)`.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Target architecture, e.g. `sm_90a`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether forms without an exact definition are refused.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// The kernels in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The kernel named `name`.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }

    /// Parses a module, holds every instruction against the opcode table and decodes it.
    ///
    /// `name` is what errors and faults call the source, on one line. A `strict` module refuses forms without an exact definition.
    ///
    /// # Errors
    /// The first thing wrong with the text: its line, the text there, and what is allowed.
    pub fn parse(source: &[u8], name: &str, strict: bool) -> Result<Self, PtxError> {
        Self::read(source, &one_line(name), strict).map_err(PtxError::shortened)
    }

    fn read(source: &[u8], name: &str, strict: bool) -> Result<Self, PtxError> {
        let text = check_source(source, name)?;
        let ast = parse(text, name)?;
        let table = table().map_err(|why| PtxError {
            file: "opcodes.toml".to_owned(),
            line: 0,
            text: String::new(),
            message: why.to_owned(),
            nearest: None,
        })?;
        let context = Context { ast: &ast, table, file: name, source: text, strict };
        let mut programs = Vec::with_capacity(ast.functions.len());
        let mut entries = Vec::with_capacity(ast.functions.len());
        check_functions(&context)?;
        let mut total = 0;
        for function in &ast.functions {
            let program = lower_function(&context, function)?;
            total += program.insts.len();
            if total > MAX_INSTRUCTIONS {
                let what = "instructions in all kernels with what they call";
                return Err(too_many(name, function, format!("more than {MAX_INSTRUCTIONS} {what}")));
            }
            entries.push(describe(function, &program));
            programs.push(program);
        }
        Ok(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name: name.to_owned(),
            source: text.to_owned(),
            version: ast.version,
            target: ast.target.name.clone(),
            strict,
            entries,
            programs,
            constants: constant_variables(&ast)
                .into_iter()
                .map(|(i, p)| (p, ast.variables[i].initial.clone()))
                .collect(),
            globals: ast.variables.into_iter().filter(|v| v.space == Space::Global).collect(),
        })
    }

    /// The decoded kernel that belongs to `entries()[index]`.
    pub(crate) fn program(&self, index: usize) -> &Program {
        &self.programs[index]
    }

    /// Line and text of an instruction.
    pub(crate) fn place(&self, index: usize, at: u32) -> (u32, String) {
        let place = self.programs[index].places[at as usize];
        let text = self.source.get(place.start..place.end).unwrap_or("");
        (place.line, excerpt(text))
    }

    /// What a trace shows of each instruction of the kernel. The text is parsed again for it, as nothing else needs to
    /// know the names of registers; the text was accepted before, so that nothing is left out.
    pub(crate) fn traced_texts(&self, index: usize) -> Vec<TracedText> {
        let operands = || {
            let ast = parse(&self.source, &self.name).ok()?;
            let table = table().ok()?;
            let context = Context { ast: &ast, table, file: &self.name, source: &self.source, strict: self.strict };
            shown_operands(&context, ast.functions.get(index)?, &self.programs[index]).ok()
        };
        let mut operands = operands().unwrap_or_default();
        let places = &self.programs[index].places;
        let text = |at: usize| {
            let (line, instruction) = self.place(index, at as u32);
            TracedText { line, instruction, operands: operands.remove(&places[at].start).unwrap_or_default() }
        };
        (0..places.len()).map(text).collect()
    }

    /// Puts the module's variables into `memory`, once.
    pub(crate) fn place_variables(&self, memory: &mut Memory) -> Result<(), MemoryError> {
        if memory.module(self.id).is_some() {
            return Ok(());
        }
        let mut variables = ModuleVariables::default();
        for variable in &self.globals {
            let bytes = padded(&variable.initial, variable.bytes);
            variables.global.push(memory.alloc(&variable.name, &bytes, AllocOptions::default())?);
        }
        for (placed, initial) in &self.constants {
            let options = AllocOptions { writable: false, ..AllocOptions::default() };
            let bytes = padded(initial, placed.bytes);
            variables.constant.push(Segment::from_bytes(&placed.name, placed.address, &bytes, options));
        }
        memory.set_module(self.id, variables);
        Ok(())
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

/// Refuses a kernel for its size.
fn too_many(file: &str, function: &Function<'_>, message: String) -> PtxError {
    PtxError { file: file.to_owned(), line: function.line, text: excerpt(&function.name), message, nearest: None }
}

/// Initial bytes, with zeros behind them.
fn padded(initial: &[u8], bytes: u64) -> Vec<u8> {
    let mut all = initial.to_vec();
    all.resize(bytes as usize, 0);
    all
}

fn describe(function: &Function<'_>, program: &Program) -> Entry {
    let params = function.params.iter().map(|p| ParamInfo {
        name: p.name.to_owned(),
        ty: p.count.map_or(p.ty.word().to_owned(), |n| format!("{}[{n}]", p.ty.word())),
        align: p.align,
        bytes: p.ty.bytes() * p.count.unwrap_or(1),
    });
    Entry {
        name: function.name.clone(),
        line: function.line,
        params: params.collect(),
        static_shared_bytes: packed_bytes(&program.shared) as u32,
        uses_dynamic_shared: program.dynamic_shared.is_some(),
        local_bytes: packed_bytes(&program.local) as u32,
        registers: RegisterCounts {
            b32: program.count32 as u32,
            b64: program.count64 as u32,
            pred: program.count_pred as u32,
        },
        instructions: function.instructions.len() as u32,
        required_threads: function.required_threads,
        max_threads: function.max_threads,
        param_types: function.params.iter().map(|p| (p.ty, p.count)).collect(),
    }
}
