//! An instruction against the opcode table, with the version and architecture that its form needs.

use super::{Checked, FunctionNames, Lower};
use crate::ast::Instruction;
use crate::error::{PtxError, excerpt};
use crate::table::{Bound, fit_operands, nearest_form};

const TENSOR: &str = "the order and rounding of a tensor core's sums are not defined";
const FRAGMENT: &str = "it serves tensor cores only, which are not supported";
const TEXTURE: &str = "there are no textures and surfaces";
const CLUSTER: &str = "launches have no clusters";
const BULK: &str = "there are no copies of tensors and bulk data, nor the barriers in memory that they need";
const CONVERGED: &str = "it leaves open which lanes take part; allowed: the form with .sync";

/// Instructions that are refused for a reason, by how their mnemonic starts.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("mma", TENSOR),
    ("wmma", TENSOR),
    ("wgmma", TENSOR),
    ("tcgen05", TENSOR),
    ("ldmatrix", FRAGMENT),
    ("stmatrix", FRAGMENT),
    ("movmatrix", FRAGMENT),
    ("tex", TEXTURE),
    ("tld4", TEXTURE),
    ("txq", TEXTURE),
    ("suld", TEXTURE),
    ("sust", TEXTURE),
    ("sured", TEXTURE),
    ("suq", TEXTURE),
    ("mapa", CLUSTER),
    ("getctarank", CLUSTER),
    ("barrier.cluster", CLUSTER),
    ("multimem", "there is one device"),
    ("mbarrier", BULK),
    ("cp.async.bulk", BULK),
    ("cp.async.mbarrier", BULK),
    ("cp.reduce", BULK),
    ("red.async", BULK),
    ("st.async", BULK),
    ("tensormap", BULK),
    ("setmaxnreg", "registers are not handed from warp to warp"),
    ("alloca", "local memory has a fixed size"),
    ("stacksave", "local memory has a fixed size"),
    ("stackrestore", "local memory has a fixed size"),
    ("brkpt", "no debugger is attached"),
    ("shfl.up", CONVERGED),
    ("shfl.down", CONVERGED),
    ("shfl.bfly", CONVERGED),
    ("shfl.idx", CONVERGED),
    ("vote.all", CONVERGED),
    ("vote.any", CONVERGED),
    ("vote.uni", CONVERGED),
    ("vote.ballot", CONVERGED),
];

/// Whether the first dotted parts of a mnemonic are these.
fn starts_with(mnemonic: &str, start: &str) -> bool {
    mnemonic.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl<'a> Lower<'a, '_> {
    pub(super) fn refusal(&self, i: &Instruction<'_>, message: String, nearest: Option<String>) -> PtxError {
        PtxError { file: self.context.file.to_owned(), line: i.line, text: excerpt(i.text), message, nearest }
    }

    /// The first form of the table that the instruction fits.
    pub(super) fn check<'i>(&self, i: &'i Instruction<'_>) -> Result<Checked<'i>, PtxError>
    where
        'a: 'i,
    {
        let table = self.context.table;
        let candidates = table.bind(i.mnemonic);
        if candidates.is_empty() {
            let opcode = i.mnemonic.split('.').next().unwrap_or("");
            let why = UNSUPPORTED.iter().find(|(start, _)| starts_with(i.mnemonic, start)).map(|&(_, why)| why);
            let message = match why {
                Some(why) => format!("{opcode} is not supported: {why}"),
                None if table.forms_of(opcode).next().is_some() => {
                    format!("{} is no supported form of {opcode}", i.mnemonic)
                }
                None => format!("opcode {opcode} is not supported"),
            };
            // Nothing stands in for what is left out as a whole.
            let has_near = why.is_none_or(|why| why == CONVERGED);
            let nearest = if has_near { nearest_form(table, i.mnemonic) } else { None };
            return Err(self.refusal(i, message, nearest));
        }
        let names = FunctionNames { ast: self.context.ast, function: self.function };
        let mut worst = None;
        for bound in candidates {
            match fit_operands(&bound, &i.operands, &names) {
                Ok(operands) => {
                    self.check_form(i, &bound)?;
                    let types = bound.types();
                    return Ok(Checked { bound, operands, types });
                }
                Err(misfit) => match &worst {
                    Some((position, _)) if *position >= misfit.position => {}
                    _ => worst = Some((misfit.position, misfit.allowed)),
                },
            }
        }
        let (position, allowed) = worst.unwrap_or((0, "none".to_owned()));
        let wrong = if position < i.operands.len() { "does not fit" } else { "is missing" };
        Err(self.refusal(i, format!("operand {} {wrong}; allowed: {allowed}", position + 1), None))
    }

    fn check_form(&self, i: &Instruction<'_>, bound: &Bound<'_>) -> Result<(), PtxError> {
        if let Some(why) = bound.refused().filter(|_| self.context.strict) {
            let message = format!("{} is refused in strict mode: {why}", i.mnemonic);
            return Err(self.refusal(i, message, nearest_form(self.context.table, i.mnemonic)));
        }
        let (ptx, sm) = bound.requirements();
        let ast = self.context.ast;
        if ast.version < ptx {
            let (have, need) = (ast.version, ptx);
            let message =
                format!("{} needs .version {}.{} or later, not {}.{}", i.mnemonic, need.0, need.1, have.0, have.1);
            return Err(self.refusal(i, message, None));
        }
        if ast.target.sm < sm {
            let message = format!("{} needs .target sm_{sm} or later, not {}", i.mnemonic, ast.target.name);
            return Err(self.refusal(i, message, None));
        }
        Ok(())
    }
}
