//! `ptx-machine check`: parses a module and lists its entries.

use clap::Args;
use ptx_machine::Entry;
use serde::Serialize;

use crate::Failure;
use crate::output::{json, print};
use crate::source::Source;

/// Options of the command.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing<'a> {
    version: String,
    target: &'a str,
    entries: Vec<Listed<'a>>,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    line: u32,
    params: Vec<Param<'a>>,
    instructions: u32,
    static_shared_bytes: u32,
    uses_dynamic_shared: bool,
    local_bytes: u32,
    required_threads: Option<[u32; 3]>,
    max_threads: Option<u32>,
}

#[derive(Serialize)]
struct Param<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: &'a str,
    bytes: u32,
}

impl<'a> Listed<'a> {
    fn new(entry: &'a Entry) -> Self {
        let param = |p: &'a ptx_machine::ParamInfo| Param { name: &p.name, ty: &p.ty, bytes: p.bytes };
        Self {
            name: &entry.name,
            line: entry.line,
            params: entry.params.iter().map(param).collect(),
            instructions: entry.instructions,
            static_shared_bytes: entry.static_shared_bytes,
            uses_dynamic_shared: entry.uses_dynamic_shared,
            local_bytes: entry.local_bytes,
            required_threads: entry.required_threads,
            max_threads: entry.max_threads,
        }
    }
}

/// Checks the module.
pub fn check(options: &Check) -> Result<(), Failure> {
    let module = options.source.module()?;
    let (major, minor) = module.version();
    let version = format!("{major}.{minor}");
    if options.json {
        let entries = module.entries().iter().map(Listed::new).collect();
        return print(&json(&Listing { version, target: module.target(), entries })?);
    }
    let head = format!("PTX {version}, {}, {} entries\n", module.target(), module.entries().len());
    let entries: String = module.entries().iter().map(describe).collect();
    print(&(head + &entries))
}

fn describe(entry: &Entry) -> String {
    let params: Vec<_> = entry.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
    let dynamic = if entry.uses_dynamic_shared { " and dynamic" } else { "" };
    format!(
        "{}({})\n    line {}, {} instructions, registers {} + {} wide + {} predicates, shared {} bytes{dynamic}, \
         local {} bytes\n",
        entry.name,
        params.join(", "),
        entry.line,
        entry.instructions,
        entry.registers.b32,
        entry.registers.b64,
        entry.registers.pred,
        entry.static_shared_bytes,
        entry.local_bytes
    )
}
