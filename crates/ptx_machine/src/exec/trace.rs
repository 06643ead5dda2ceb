//! The instructions of one warp, as they are executed, with the values of their operands.

use super::observe::Step;
use super::regs::Regs;
use crate::lower::Shown;
use crate::program::LANES;
use crate::trace::{Trace, TraceStep, TraceValue};

/// Follows the traced warp. A step is told when the next one begins, or the launch ends, so that what it wrote can be
/// told with it.
pub(crate) struct Tracer<'t> {
    pub trace: Trace<'t>,
    /// One for each instruction of the program.
    texts: Vec<TracedText>,
    pending: Option<TraceStep>,
    told: u64,
}

/// What a trace shows of an instruction whatever the values are.
pub(crate) struct TracedText {
    pub line: u32,
    pub instruction: String,
    pub operands: Vec<Shown>,
}

impl<'t> Tracer<'t> {
    pub fn new(trace: Trace<'t>, texts: Vec<TracedText>) -> Self {
        Self { trace, texts, pending: None, told: 0 }
    }

    /// The warp of `block` to follow, if it is the traced one and anything is left to tell.
    pub fn warp_of(&self, block: [u32; 3]) -> Option<usize> {
        (block == self.trace.block && self.told < self.trace.limit).then_some(self.trace.warp as usize)
    }

    pub fn before(&mut self, step: &Step<'_>, regs: &Regs<'_>) {
        self.flush();
        let Some(text) = self.texts.get(step.at as usize).filter(|text| self.wants(text)) else { return };
        let reads = text.operands.iter().filter(|operand| !operand.is_written);
        self.pending = Some(TraceStep {
            number: self.told + 1,
            line: text.line,
            instruction: text.instruction.clone(),
            arrived: step.mask,
            executed: step.active,
            reads: reads.map(|operand| value(operand, regs)).collect(),
            writes: Vec::new(),
        });
    }

    /// Reads what the pending step has written.
    pub fn after(&mut self, step: &Step<'_>, regs: &Regs<'_>) {
        let (Some(pending), Some(text)) = (&mut self.pending, self.texts.get(step.at as usize)) else { return };
        let writes = text.operands.iter().filter(|operand| operand.is_written);
        pending.writes = writes.map(|operand| value(operand, regs)).collect();
    }

    fn wants(&self, text: &TracedText) -> bool {
        self.told < self.trace.limit && self.trace.lines.contains(&text.line)
    }

    /// Tells the step that is pending.
    pub fn flush(&mut self) {
        if let Some(step) = self.pending.take() {
            self.told += 1;
            (self.trace.tell)(&step);
        }
    }
}

/// The register in all lanes.
fn value(operand: &Shown, regs: &Regs<'_>) -> TraceValue {
    let (bits, known) = match operand.ty.bytes() {
        0 => {
            let mask = regs.pred(operand.slot);
            (std::array::from_fn(|lane| u64::from(mask >> lane & 1)), regs.known_pred(operand.slot))
        }
        8 => (*regs.get64(operand.slot), regs.known64(operand.slot)),
        _ => {
            let narrow = regs.get32(operand.slot);
            (std::array::from_fn::<_, LANES, _>(|lane| u64::from(narrow[lane])), regs.known32(operand.slot))
        }
    };
    TraceValue { name: operand.name.clone(), ty: operand.ty, bits, known }
}
