//! Runs one line of PTX on many operands, one a thread.

use ptx_machine::{
    AllocOptions, Arg, Fault, LaunchConfig, LaunchError, LaunchStats, Memory, Module, Path, Watch, launch,
    launch_watched,
};

/// A type of an operand: what a register of it is declared as, its size, and how it is loaded.
#[derive(Clone, Copy)]
pub struct Ty {
    pub register: &'static str,
    pub memory: &'static str,
    pub bytes: u32,
}

pub const PRED: Ty = Ty { register: "pred", memory: "u32", bytes: 4 };
pub const B8: Ty = Ty { register: "b32", memory: "u8", bytes: 1 };
pub const B16: Ty = Ty { register: "b16", memory: "b16", bytes: 2 };
pub const B32: Ty = Ty { register: "b32", memory: "b32", bytes: 4 };
pub const B64: Ty = Ty { register: "b64", memory: "b64", bytes: 8 };
pub const F32: Ty = Ty { register: "f32", memory: "f32", bytes: 4 };
pub const F64: Ty = Ty { register: "f64", memory: "f64", bytes: 8 };

pub const HEADER: &str = ".version 8.8\n.target sm_120\n.address_size 64\n";

/// The module that loads operands `%a`, `%b`, …, runs `line`, and stores `%out`.
fn source(line: &str, out: Ty, operands: &[Ty]) -> String {
    let params: Vec<_> = (0..=operands.len()).map(|i| format!(".param .u64 p{i}")).collect();
    let mut text = vec![
        format!("{HEADER}.entry k({}) {{\n", params.join(", ")),
        ".reg .b32 %t, %word;\n.reg .b64 %base, %at;\n.reg .pred %p, %q;\nmov.u32 %t, %tid.x;\n".to_owned(),
        format!(".reg .{} %out;\n", out.register),
    ];
    let place = |i: usize, ty: Ty| format!("ld.param.u64 %base, [p{i}];\nmad.wide.u32 %at, %t, {}, %base;\n", ty.bytes);
    for (i, &ty) in operands.iter().enumerate() {
        let name = char::from(b'a' + i as u8);
        text.push(format!(".reg .{} %{name};\n{}", ty.register, place(i + 1, ty)));
        text.push(match ty.register {
            "pred" => format!("ld.global.u32 %word, [%at];\nsetp.ne.u32 %{name}, %word, 0;\n"),
            _ => format!("ld.global.{} %{name}, [%at];\n", ty.memory),
        });
    }
    text.push(format!("{line}\n{}", place(0, out)));
    text.push(match out.register {
        "pred" => "selp.u32 %word, 1, 0, %out;\nst.global.u32 [%at], %word;\nret;\n}\n".to_owned(),
        _ => format!("st.global.{} [%at], %out;\nret;\n}}\n", out.memory),
    });
    text.concat()
}

/// What `line` gives for each row of operands, on one path. Rows run in blocks of 96 threads, the last one ragged.
fn run_on(path: Path, line: &str, out: Ty, operands: &[Ty], rows: &[Vec<u64>]) -> Vec<u64> {
    let text = source(line, out, operands);
    let module = Module::parse(text.as_bytes(), "line", true).unwrap_or_else(|e| panic!("{e}"));
    let mut results = Vec::with_capacity(rows.len());
    for rows in rows.chunks(96) {
        let mut memory = Memory::new();
        let address = memory.alloc_uninit("out", rows.len() * out.bytes as usize).unwrap();
        let mut args = vec![Arg::int(address.into())];
        for (i, ty) in operands.iter().enumerate() {
            let column = rows.iter().flat_map(|row| row[i].to_le_bytes()[..ty.bytes as usize].to_vec());
            let bytes: Vec<u8> = column.collect();
            args.push(Arg::int(memory.alloc("in", &bytes, AllocOptions::default()).unwrap().into()));
        }
        let config = LaunchConfig { path, ..LaunchConfig::new([1; 3], [rows.len() as u32, 1, 1]) };
        launch(&module, "k", &mut memory, &config, &args).unwrap_or_else(|e| panic!("{line}: {e}"));
        let mut bytes = vec![0; rows.len() * out.bytes as usize];
        memory.read(address, &mut bytes).unwrap();
        results.extend(bytes.chunks(out.bytes as usize).map(|word| {
            let mut all = [0; 8];
            all[..word.len()].copy_from_slice(word);
            u64::from_le_bytes(all)
        }));
    }
    results
}

/// Every combination of the values of each operand.
pub fn product(values: &[&[u64]]) -> Vec<Vec<u64>> {
    values.iter().fold(vec![Vec::new()], |rows, column| {
        rows.iter().flat_map(|row| column.iter().map(|&v| [row.as_slice(), &[v]].concat())).collect()
    })
}

/// Holds `line` against `expected` for every row, on both paths.
pub fn check(line: &str, out: Ty, operands: &[Ty], rows: &[Vec<u64>], expected: impl Fn(&[u64]) -> u64) {
    for path in [Path::Auto, Path::Portable] {
        let results = run_on(path, line, out, operands, rows);
        assert_eq!(results.len(), rows.len());
        for (row, &result) in rows.iter().zip(&results) {
            let want = expected(row);
            assert_eq!(result, want, "{line} of {row:#x?} on {path:?}: {result:#x}, not {want:#x}");
        }
    }
}

/// A kernel in PTX with what it is launched with.
pub struct Kernel {
    module: Module,
    pub config: LaunchConfig,
    pub memory: Memory,
}

impl Kernel {
    /// Parses a module of one entry, `k`.
    pub fn new(text: &str, grid: u32, block: u32) -> Self {
        let module = Module::parse(text.as_bytes(), "test.ptx", true).unwrap_or_else(|e| panic!("{e}"));
        Self { module, config: LaunchConfig::new([grid, 1, 1], [block, 1, 1]), memory: Memory::new() }
    }

    pub fn module(&self) -> &Module {
        &self.module
    }

    pub fn try_run(&mut self, args: &[u64]) -> Result<LaunchStats, LaunchError> {
        let args: Vec<_> = args.iter().map(|&a| Arg::int(a.into())).collect();
        launch(&self.module, "k", &mut self.memory, &self.config, &args)
    }

    /// As [`Kernel::try_run`], and tells `watch` what is executed.
    pub fn watched(&mut self, args: &[u64], watch: &mut Watch<'_>) -> Result<LaunchStats, LaunchError> {
        let args: Vec<_> = args.iter().map(|&a| Arg::int(a.into())).collect();
        launch_watched(&self.module, "k", &mut self.memory, &self.config, &args, watch)
    }

    /// Runs a kernel that must end well.
    pub fn run(&mut self, args: &[u64]) -> LaunchStats {
        self.try_run(args).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Runs a kernel that must fault.
    pub fn fault(&mut self, args: &[u64]) -> Fault {
        match self.try_run(args) {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!("no fault, but {other:?}"),
        }
    }

    /// The fault of a kernel that ends well or faults.
    pub fn verdict(&mut self, args: &[u64]) -> Option<Fault> {
        match self.try_run(args) {
            Ok(_) => None,
            Err(LaunchError::Fault(fault)) => Some(*fault),
            Err(other) => panic!("{other}"),
        }
    }

    /// Allocates words and returns their address.
    pub fn words(&mut self, name: &str, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.memory.alloc(name, &bytes, AllocOptions::default()).unwrap()
    }

    pub fn unwritten(&mut self, name: &str, words: usize) -> u64 {
        self.memory.alloc_uninit(name, 4 * words).unwrap()
    }

    pub fn read(&self, address: u64, words: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * words];
        self.memory.read(address, &mut bytes).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
    }
}

/// An entry `k` with one parameter, `p`, and the usual registers; thread index in `%t`, `p + 4 t` in `%at`.
pub fn body(text: &str) -> String {
    format!(
        "{HEADER}.entry k(.param .u64 p) {{\n.reg .b32 %t, %r<30>;\n.reg .b64 %base, %at, %rd<10>;\n\
         .reg .pred %p<10>;\n.reg .f32 %f<10>;\nmov.u32 %t, %tid.x;\nld.param.u64 %base, [p];\n\
         mad.wide.u32 %at, %t, 4, %base;\n{text}\nret;\n}}\n"
    )
}
