//! Float controls: execution modes that make a driver compute with floats in the same way whatever surrounds an instruction.
//!
//! Without these execution modes an implementation may take for granted that no operand is a NaN, an infinity or the
//! negative zero, and may keep or flush a denormal as each instruction likes (Vulkan, "Precision and Operation of SPIR-V
//! Instructions"). What it makes of that depends on the instructions around: a comparison with its selection is a minimum
//! in one kernel and not in another. NVIDIA's compiler (580.159.04) does so, and two members of a fused kernel then give
//! other bits than by themselves.
//!
//! # Requires
//! - a module with one entry point
//!
//! # Guarantees
//! - of each kind of control that the kernel does not speak of itself, a module with floats asks for what the device can do, for
//!   every width, whether the module has floats of that width or not
//!
//! A mode for one width can change what a driver makes of another: with `DenormPreserve 16`, an H200 (580.159.04) divides and takes
//! roots of 32-bit floats by other instructions, with other last bits. A fused kernel has the widths of all its members, so the modes
//! of a module must not depend on the widths that it happens to have.
//!
//! # Leaves alone
//! - modules with float controls 2, which say per instruction what is meant

#[cfg(test)]
mod tests;

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Capability, ExecutionMode, Op};

use super::load;

/// Widths of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FloatWidths {
    /// 16 bits.
    pub f16: bool,
    /// 32 bits.
    pub f32: bool,
    /// 64 bits.
    pub f64: bool,
}

impl FloatWidths {
    /// None of them.
    pub const NONE: Self = Self { f16: false, f32: false, f64: false };

    fn bits(self) -> u8 {
        u8::from(self.f16) | u8::from(self.f32) << 1 | u8::from(self.f64) << 2
    }

    fn each(self) -> impl Iterator<Item = u32> {
        [(self.f16, 16), (self.f32, 32), (self.f64, 64)]
            .into_iter()
            .filter_map(|(is, width)| is.then_some(width))
    }
}

/// The float controls that a module may ask a device for, by width, each combination of widths included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FloatControls {
    /// Zeros keep their sign, and infinities and NaNs are what they are (`SignedZeroInfNanPreserve`).
    pub special: FloatWidths,
    /// Denormals are neither flushed nor taken for zero (`DenormPreserve`).
    pub denormals: FloatWidths,
    /// Results are rounded to the nearest, ties to even (`RoundingModeRTE`).
    pub rounding: FloatWidths,
}

impl FloatControls {
    /// Canonical bytes, for keys.
    pub(crate) fn bytes(self) -> [u8; 3] {
        let Self { special, denormals, rounding } = self;
        [special.bits(), denormals.bits(), rounding.bits()]
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// The modes of one kind of control. The first is what is asked for.
const KINDS: [(&[ExecutionMode], Capability); 3] = [
    (&[ExecutionMode::SignedZeroInfNanPreserve], Capability::SignedZeroInfNanPreserve),
    (&[ExecutionMode::DenormPreserve, ExecutionMode::DenormFlushToZero], Capability::DenormPreserve),
    (&[ExecutionMode::RoundingModeRTE, ExecutionMode::RoundingModeRTZ], Capability::RoundingModeRTE),
];

/// The extension that has these modes before SPIR-V 1.4.
const EXTENSION: &str = "SPV_KHR_float_controls";

/// Whether asking for the controls changes a module.
pub(crate) fn would_change(words: &[u32], controls: FloatControls) -> bool {
    let Ok(mut module) = load::module(words) else { return false };
    let modes = module.execution_modes.len();
    ask(&mut module, controls);
    module.execution_modes.len() != modes
}

/// Asks for the controls. Idempotent.
pub(crate) fn ask(module: &mut Module, controls: FloatControls) {
    let declares = |module: &Module, which| {
        let operand = Operand::Capability(which);
        module.capabilities.iter().any(|inst| inst.operands.contains(&operand))
    };
    if controls.is_empty() || declares(module, Capability::FloatControls2) {
        return;
    }
    let Some(entry) = module.entry_points.first().and_then(|inst| inst.operands.get(1)?.id_ref_any()) else {
        return;
    };
    let mut types = module.types_global_values.iter();
    if types.all(|inst| inst.class.opcode != Op::TypeFloat) {
        return;
    }
    let FloatControls { special, denormals, rounding } = controls;
    let mut asked = false;
    for ((modes, capability), widths) in KINDS.into_iter().zip([special, denormals, rounding]) {
        let spoken_of = |inst: &Instruction| matches!(inst.operands.get(1), Some(Operand::ExecutionMode(mode)) if modes.contains(mode));
        if widths == FloatWidths::NONE || module.execution_modes.iter().any(spoken_of) {
            continue;
        }
        for width in widths.each() {
            let mode =
                vec![Operand::IdRef(entry), Operand::ExecutionMode(modes[0]), Operand::LiteralBit32(width)];
            module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
        }
        if !declares(module, capability) {
            let operand = vec![Operand::Capability(capability)];
            module.capabilities.push(Instruction::new(Op::Capability, None, None, operand));
        }
        asked = true;
    }
    let old = module.header.as_ref().is_none_or(|header| header.version() < (1, 4));
    let name = Operand::LiteralString(EXTENSION.to_owned());
    if asked && old && !module.extensions.iter().any(|inst| inst.operands.contains(&name)) {
        module.extensions.push(Instruction::new(Op::Extension, None, None, vec![name]));
    }
}
