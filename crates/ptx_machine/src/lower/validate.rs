//! An instruction against the opcode table, with the version and architecture that its form needs.

use super::{Checked, FunctionNames, Lower};
use crate::ast::Instruction;
use crate::error::{PtxError, excerpt};
use crate::table::{Bound, fit_operands, nearest_form};

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
            let message = if table.forms_of(opcode).next().is_some() {
                format!("{} is no supported form of {opcode}", i.mnemonic)
            } else {
                format!("opcode {opcode} is not supported")
            };
            return Err(self.refusal(i, message, nearest_form(table, i.mnemonic)));
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
        Err(self.refusal(i, format!("operand {} does not fit; allowed: {allowed}", position + 1), None))
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
