//! Addresses of variables and parameters in their spaces.

use crate::ast::{Ast, Base, Function, Operand, Param, Symbol};
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
    /// Of each body: its variables, and its parameters and results.
    local: Vec<Vec<u64>>,
    params: Vec<Vec<u64>>,
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
    /// Of a kernel and the functions that it reaches, the kernel first.
    pub fn new(ast: &Ast<'_>, bodies: &[&Function<'_>]) -> Self {
        let mut layout = Self {
            module: vec![None; ast.variables.len()],
            global_index: Vec::new(),
            local: bodies.iter().map(|f| vec![0; f.variables.len()]).collect(),
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
        let mut stack = Cursor::default();
        layout.place_variables(ast, bodies, &mut stack);
        let mut launched = Cursor::default();
        for function in bodies {
            // What a function is given lies in the thread's own memory, as its variables do.
            let (cursor, placed) = if function.is_entry {
                (&mut launched, &mut layout.placed_params)
            } else {
                (&mut stack, &mut layout.stack)
            };
            let place = |p: &Param<'_>| cursor.place(p.name, u64::from(p.ty.bytes() * p.count.unwrap_or(1)), p.align);
            let params: Vec<Placed> = function.params.iter().map(place).collect();
            layout.params.push(params.iter().map(|p| p.address).collect());
            placed.extend(params);
        }
        layout
    }

    fn place_variables(&mut self, ast: &Ast<'_>, bodies: &[&Function<'_>], stack: &mut Cursor) {
        let used = used_module_variables(ast, bodies);
        let module = ast.variables.iter().enumerate().filter(|(i, v)| used[*i] && v.space == Space::Shared);
        let local = |(body, f): (usize, &&'_ Function<'_>)| (0..f.variables.len()).map(move |i| (Some(body), i));
        let all: Vec<(Option<usize>, usize)> =
            module.map(|(i, _)| (None, i)).chain(bodies.iter().enumerate().flat_map(local)).collect();
        let variable = |body: Option<usize>, i: usize| match body {
            Some(body) => &bodies[body].variables[i],
            None => &ast.variables[i],
        };
        let mut shared = Cursor::default();
        for &(body, i) in all.iter().filter(|&&(body, i)| !variable(body, i).dynamic) {
            let v = variable(body, i);
            let is_stack = v.space != Space::Shared;
            let placed = if is_stack { &mut *stack } else { &mut shared }.place(&v.name, v.bytes, v.align);
            self.set_address(body, i, placed.address);
            if is_stack { &mut self.stack } else { &mut self.shared }.push(placed);
        }
        // All dynamic variables name the same bytes, behind the static ones.
        let dynamic: Vec<_> = all.into_iter().filter(|&(body, i)| variable(body, i).dynamic).collect();
        let align = dynamic.iter().map(|&(body, i)| variable(body, i).align).max().unwrap_or(1);
        for (body, i) in dynamic {
            let name = &variable(body, i).name;
            let address = self.dynamic.get_or_insert_with(|| shared.place(name, 0, align)).address;
            self.set_address(body, i, address);
        }
    }

    fn set_address(&mut self, body: Option<usize>, i: usize, address: u64) {
        match body {
            Some(body) => self.local[body][i] = address,
            None => self.module[i] = Some(address),
        }
    }

    /// Where `body` finds what it calls by this symbol.
    pub(super) fn address(&self, body: usize, symbol: Symbol) -> Address {
        match symbol {
            Symbol::Param(i) => Address::Known(self.params[body][i as usize]),
            Symbol::Local(i) => Address::Known(self.local[body][i as usize]),
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

/// Which variables of the module the functions' operands name.
fn used_module_variables(ast: &Ast<'_>, bodies: &[&Function<'_>]) -> Vec<bool> {
    let mut used = vec![false; ast.variables.len()];
    for operand in bodies.iter().flat_map(|f| &f.instructions).flat_map(|i| &i.operands) {
        if let Operand::Symbol(Symbol::Module(i), _) | Operand::Address { base: Base::Symbol(Symbol::Module(i)), .. } =
            operand
        {
            used[*i as usize] = true;
        }
    }
    used
}
