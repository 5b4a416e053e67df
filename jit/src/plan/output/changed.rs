//! How the code of a kernel that runs alone differs from the user's module.

use std::fmt;

use crate::plan::output::step::{Source, Step};

/// One difference between the user's module and the code of a kernel that runs alone. Preparation that changes no instruction
/// that runs (constants replaced with their values, names and unused declarations removed) is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CodeChange {
    /// Float arithmetic is decorated `NoContraction`; with float controls 2, `FPFastMathMode` allows no transformation.
    NoContraction,
    /// `RelaxedPrecision` is removed.
    FullPrecision,
    /// Extended instructions that stand for a formula, and products of vectors and matrices, are expanded.
    Formulas,
    /// Execution modes for signed zeros, infinities, NaNs, denormals or rounding are added.
    FloatControls,
    /// Floats are hidden from the driver's compiler: the closed form of the kernel runs.
    Closed,
    /// The kernel was made of its normal form: one function in SSA form, without calls.
    Normalised,
    /// Work-groups are renumbered, because there are more in one dimension than the device allows, or the push constants do not fit beside a
    /// number of work-groups.
    Folded,
    /// The first work-group is part of the code.
    BaseInCode,
    /// Layout decorations are taken off variables outside of buffers, where Vulkan does not allow them.
    Layouts,
}

impl CodeChange {
    /// Every change.
    pub const ALL: &[CodeChange] = &[
        CodeChange::NoContraction,
        CodeChange::FullPrecision,
        CodeChange::Formulas,
        CodeChange::FloatControls,
        CodeChange::Closed,
        CodeChange::Normalised,
        CodeChange::Folded,
        CodeChange::BaseInCode,
        CodeChange::Layouts,
    ];

    /// The word used in JSON reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CodeChange::NoContraction => "no_contraction",
            CodeChange::FullPrecision => "full_precision",
            CodeChange::Formulas => "formulas",
            CodeChange::FloatControls => "float_controls",
            CodeChange::Closed => "closed",
            CodeChange::Normalised => "normalised",
            CodeChange::Folded => "folded",
            CodeChange::BaseInCode => "base_in_code",
            CodeChange::Layouts => "layouts",
        }
    }
}

impl fmt::Display for CodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CodeChange::NoContraction => "NoContraction added",
            CodeChange::FullPrecision => "RelaxedPrecision removed",
            CodeChange::Formulas => "formulas expanded",
            CodeChange::FloatControls => "float controls added",
            CodeChange::Closed => "floats hidden",
            CodeChange::Normalised => "normal form",
            CodeChange::Folded => "work-groups renumbered",
            CodeChange::BaseInCode => "first work-group in the code",
            CodeChange::Layouts => "layouts outside of buffers removed",
        })
    }
}

impl Step {
    /// How the code differs from the user's module, for a step that runs one kernel. Empty for a step that runs several, whose
    /// code is new.
    #[must_use]
    pub fn changes(&self) -> Vec<CodeChange> {
        let (kernel, folded, base) = match &self.source {
            Source::Plain { kernel, base, .. } => (kernel, false, *base != [0; 3]),
            Source::Fused { kernels, .. } => match &kernels[..] {
                [kernel] => (kernel, true, false),
                _ => return Vec::new(),
            },
        };
        let made = kernel.plain.strict_changes();
        let is_strict = self.is_strict();
        let has = |change: &CodeChange| match change {
            CodeChange::NoContraction => is_strict && made.no_contraction,
            CodeChange::FullPrecision => is_strict && made.full_precision,
            CodeChange::Formulas => is_strict && made.formulas,
            CodeChange::FloatControls => !self.floats.is_empty() && kernel.plain.takes(self.floats),
            CodeChange::Closed => !kernel.zeros.is_empty(),
            CodeChange::Normalised => folded || kernel.is_rewritten,
            CodeChange::Folded => folded,
            CodeChange::BaseInCode => base,
            CodeChange::Layouts => kernel.module.is_repaired(),
        };
        CodeChange::ALL.iter().copied().filter(has).collect()
    }
}
