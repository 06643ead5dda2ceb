//! Addresses of variables and parameters in their spaces.

use crate::ast::{Ast, Base, Function, Operand, Symbol, Variable};
use crate::program::{Placed, Program};
use crate::types::Space;

/// Unmapped bytes before each variable, so that an access that leaves one is found.
const GAP: u64 = 1 << 16;

/// Where a variable is.
pub(super) enum Address {
    /// At this address of its space.
    Known(u64),
    /// Where the launch puts the `.global` variable with this index among them.
    Global(u32),
}

/// Addresses of everything that a kernel can name.
#[derive(Debug)]
pub(crate) struct Layout {
    module: Vec<Option<u64>>,
    /// Index among the `.global` variables.
    global_index: Vec<u32>,
    local: Vec<u64>,
    params: Vec<u64>,
    shared: Vec<Placed>,
    dynamic: Option<Placed>,
    stack: Vec<Placed>,
    placed_params: Vec<Placed>,
}

/// Gives out addresses, rising.
#[derive(Debug, Default)]
struct Cursor(u64);

impl Cursor {
    fn place(&mut self, name: &str, bytes: u64, align: u32) -> Placed {
        let address = (self.0 + GAP).next_multiple_of(u64::from(align).max(GAP));
        self.0 = address + bytes;
        Placed { name: name.to_owned(), address, bytes, align }
    }
}

/// The `.const` variables of a module with their addresses.
pub(crate) fn constant_variables(ast: &Ast<'_>) -> Vec<(usize, Placed)> {
    let mut cursor = Cursor::default();
    let constants = ast.variables.iter().enumerate().filter(|(_, v)| v.space == Space::Const);
    constants.map(|(i, v)| (i, cursor.place(&v.name, v.bytes, v.align))).collect()
}

impl Layout {
    pub fn new(ast: &Ast<'_>, function: &Function<'_>) -> Self {
        let mut layout = Self {
            module: vec![None; ast.variables.len()],
            global_index: Vec::new(),
            local: vec![0; function.variables.len()],
            params: Vec::new(),
            shared: Vec::new(),
            dynamic: None,
            stack: Vec::new(),
            placed_params: Vec::new(),
        };
        let mut globals = 0;
        for variable in &ast.variables {
            layout.global_index.push(globals);
            globals += u32::from(variable.space == Space::Global);
        }
        for (i, placed) in constant_variables(ast) {
            layout.module[i] = Some(placed.address);
        }
        layout.place_shared(ast, function);
        let mut cursor = Cursor::default();
        for param in &function.params {
            let bytes = u64::from(param.ty.bytes() * param.count.unwrap_or(1));
            layout.placed_params.push(cursor.place(&param.name, bytes, param.align));
        }
        layout.params = layout.placed_params.iter().map(|p| p.address).collect();
        layout
    }

    fn place_shared(&mut self, ast: &Ast<'_>, function: &Function<'_>) {
        let used = used_module_variables(ast, function);
        let module = ast.variables.iter().enumerate().filter(|(i, v)| used[*i] && v.space == Space::Shared);
        let local = function.variables.iter().enumerate();
        let all: Vec<(bool, usize, &Variable)> =
            module.map(|(i, v)| (true, i, v)).chain(local.map(|(i, v)| (false, i, v))).collect();
        let (mut shared, mut stack) = (Cursor::default(), Cursor::default());
        for &(is_module, i, v) in all.iter().filter(|(_, _, v)| !v.dynamic) {
            let is_stack = v.space == Space::Local;
            let placed = if is_stack { &mut stack } else { &mut shared }.place(&v.name, v.bytes, v.align);
            self.set_address(is_module, i, placed.address);
            if is_stack { &mut self.stack } else { &mut self.shared }.push(placed);
        }
        // All dynamic variables name the same bytes, behind the static ones.
        let align = all.iter().filter(|(_, _, v)| v.dynamic).map(|(_, _, v)| v.align).max().unwrap_or(1);
        for &(is_module, i, v) in all.iter().filter(|(_, _, v)| v.dynamic) {
            let placed = self.dynamic.get_or_insert_with(|| shared.place(&v.name, 0, align));
            let address = placed.address;
            self.set_address(is_module, i, address);
        }
    }

    fn set_address(&mut self, is_module: bool, i: usize, address: u64) {
        if is_module {
            self.module[i] = Some(address);
        } else {
            self.local[i] = address;
        }
    }

    pub(super) fn address(&self, symbol: Symbol) -> Address {
        match symbol {
            Symbol::Param(i) => Address::Known(self.params[i as usize]),
            Symbol::Local(i) => Address::Known(self.local[i as usize]),
            Symbol::Module(i) => match self.module[i as usize] {
                Some(address) => Address::Known(address),
                None => Address::Global(self.global_index[i as usize]),
            },
        }
    }

    pub fn finish(self, program: &mut Program) {
        program.shared = self.shared;
        program.dynamic_shared = self.dynamic;
        program.local = self.stack;
        program.params = self.placed_params;
    }
}

/// Which variables of the module the function's operands name.
fn used_module_variables(ast: &Ast<'_>, function: &Function<'_>) -> Vec<bool> {
    let mut used = vec![false; ast.variables.len()];
    for operand in function.instructions.iter().flat_map(|i| &i.operands) {
        if let Operand::Symbol(Symbol::Module(i), _) | Operand::Address { base: Base::Symbol(Symbol::Module(i)), .. } =
            operand
        {
            used[*i as usize] = true;
        }
    }
    used
}
