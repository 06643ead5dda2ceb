//! `ptx-machine forms`: the instruction forms of the opcode table.

use clap::Args;
use ptx_machine::FormInfo;

use crate::Failure;
use crate::output::{json, print};

/// Options of the command.
#[derive(Args)]
#[command(after_help = "Words in ( ) are alternatives, those in [ ] may be left out.\n\n\
    Examples:\n  ptx-machine forms shfl\n  ptx-machine forms .bf16x2")]
pub struct Forms {
    /// Only forms whose text contains this
    pattern: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the forms.
pub fn forms(options: &Forms) -> Result<(), Failure> {
    let all = ptx_machine::forms().map_err(|e| Failure::input(format!("opcodes.toml: {e}")))?;
    let wanted = |form: &FormInfo| options.pattern.as_ref().is_none_or(|p| form.syntax.contains(p.as_str()));
    let found: Vec<FormInfo> = all.into_iter().filter(wanted).collect();
    if found.is_empty() {
        let pattern = options.pattern.as_deref().unwrap_or("");
        return Err(Failure::input(format!("no supported form contains {pattern:?}; `ptx-machine forms` lists all")));
    }
    if options.json {
        return print(&json(&found)?);
    }
    let head = format!("{:>5} {:>6}  form", "PTX", "target");
    let lines: Vec<String> = std::iter::once(head).chain(found.iter().flat_map(rows)).collect();
    print(&(lines.join("\n") + "\n"))
}

/// A form in one line, and one more for each thing that is said of it.
fn rows(form: &FormInfo) -> Vec<String> {
    let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    let mut rows = vec![format!("{:>5} {:>6}  {}", version(form.ptx), format!("sm_{}", form.sm), form.syntax)];
    for need in &form.needs {
        rows.push(format!("{:14}.{} needs PTX {} and sm_{}", "", need.word, version(need.ptx), need.sm));
    }
    if let Some(why) = &form.refused {
        rows.push(format!("{:14}only with --lax: {why}", ""));
    }
    rows
}
