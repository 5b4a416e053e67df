//! What drivers say of code, in common terms.

use crate::report::list::{CodeStatistic, StepReport};

/// What a driver says of the code of one dispatch, in terms that drivers share. A figure that it does not give is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct CodeFigures {
    /// Registers of an invocation.
    pub registers: Option<f64>,
    /// Registers that a sub-group shares.
    pub scalar_registers: Option<f64>,
    /// Registers that are spilled to memory.
    pub spills: Option<f64>,
    /// Bytes of private memory of an invocation: variables that are not in registers, and spilled registers.
    pub scratch: Option<f64>,
    /// Bytes of shared memory.
    pub shared: Option<f64>,
    /// Occupancy: sub-groups that a SIMD unit holds at once.
    pub subgroups: Option<f64>,
    /// Instructions.
    pub instructions: Option<f64>,
    /// What the compiler expects that a sub-group takes of a SIMD unit's time, in cycles.
    pub inverse_throughput: Option<f64>,
}

/// A figure, and the names that drivers have for it: those that are there are added up.
type Row = (fn(&mut CodeFigures) -> &mut Option<f64>, &'static [&'static str]);

/// The names of RADV, and of NVIDIA's driver.
const NAMES: [Row; 8] = [
    (|figures| &mut figures.registers, &["VGPRs", "Register Count"]),
    (|figures| &mut figures.scalar_registers, &["SGPRs"]),
    (|figures| &mut figures.spills, &["Spilled SGPRs", "Spilled VGPRs"]),
    (|figures| &mut figures.scratch, &["Scratch size", "Local Memory Size", "Stack Size"]),
    (|figures| &mut figures.shared, &["LDS size", "LDS Size", "Shared Memory Size"]),
    (|figures| &mut figures.subgroups, &["Subgroups per SIMD"]),
    (|figures| &mut figures.instructions, &["Instructions"]),
    (|figures| &mut figures.inverse_throughput, &["Inverse Throughput"]),
];

impl CodeFigures {
    /// Of what a driver says.
    #[must_use]
    pub fn of(statistics: &[CodeStatistic]) -> CodeFigures {
        let mut figures = CodeFigures::default();
        for (field, names) in NAMES {
            let given = statistics.iter().filter(|one| names.contains(&one.name.as_str()));
            *field(&mut figures) = given.map(|one| one.value).reduce(|a, b| a + b);
        }
        figures
    }
}

impl StepReport {
    /// What the driver says of its code, in terms that drivers share.
    #[must_use]
    pub fn figures(&self) -> CodeFigures {
        CodeFigures::of(&self.statistics)
    }
}
