//! Drops `SignExtend` and `ZeroExtend` of reads and writes of texels where they say what holds without them.
//!
//! Without such an operand, an image of integers extends its texels as the signedness of its sampled type says. glslang writes the operand
//! from SPIR-V 1.4 on, always the one of the type.
//!
//! # Requires
//! - valid SPIR-V
//!
//! # Guarantees
//! - a read or write of a storage image that has no other operands than the extension of its type has none
//!
//! # Leaves alone
//! - an extension that is not the type's

use rspirv::dr::{Module, Operand};
use rspirv::spirv::{ImageOperands, Op};

use crate::frontend::defs::Defs;

pub(in crate::frontend) fn run(module: &mut Module) {
    let redundant = redundant(module);
    let mut insts = module.functions.iter_mut().flat_map(|function| function.all_inst_iter_mut());
    insts
        .by_ref()
        .filter(|inst| matches!(inst.class.opcode, Op::ImageRead | Op::ImageWrite))
        .zip(redundant)
        .filter(|(_, is_redundant)| *is_redundant)
        .for_each(|(inst, _)| drop(inst.operands.pop()));
}

/// Whether the last operand of each read and write is redundant, in the order of the module.
fn redundant(module: &Module) -> Vec<bool> {
    let defs = Defs::new(module);
    let insts = module.functions.iter().flat_map(|function| function.all_inst_iter());
    let extends = |signed| if signed { ImageOperands::SIGN_EXTEND } else { ImageOperands::ZERO_EXTEND };
    insts
        .filter(|inst| matches!(inst.class.opcode, Op::ImageRead | Op::ImageWrite))
        .map(|inst| {
            let signed = inst.operands.first().and_then(Operand::id_ref_any).and_then(|image| {
                let image = defs.get(defs.type_of(image)?)?;
                let texel = defs.get(image.operands.first()?.id_ref_any()?)?;
                match (texel.class.opcode, texel.operands.as_slice()) {
                    (Op::TypeInt, [_, Operand::LiteralBit32(signed)]) => Some(*signed == 1),
                    _ => None,
                }
            });
            let last = inst.operands.last();
            signed.is_some_and(|signed| last == Some(&Operand::ImageOperands(extends(signed))))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rspirv::spirv::Op;
    use spirv_tools::TargetEnv;
    use spirv_tools::assembler::{Assembler, AssemblerOptions, create};

    use crate::frontend::load;

    /// A module that reads a texel of signed integers with these operands and writes it with those.
    fn operands(read: &str, write: &str) -> Vec<usize> {
        let text = format!(
            "OpCapability Shader
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %main \"main\" %image
            OpExecutionMode %main LocalSize 1 1 1
            OpDecorate %image DescriptorSet 0
            OpDecorate %image Binding 0
            %void = OpTypeVoid
            %function = OpTypeFunction %void
            %int = OpTypeInt 32 1
            %texel = OpTypeVector %int 4
            %at = OpTypeVector %int 2
            %kind = OpTypeImage %int 2D 0 0 0 2 Rgba8i
            %pointer = OpTypePointer UniformConstant %kind
            %image = OpVariable %pointer UniformConstant
            %zero = OpConstantNull %at
            %main = OpFunction %void None %function
            %label = OpLabel
            %handle = OpLoad %kind %image
            %value = OpImageRead %texel %handle %zero {read}
            OpImageWrite %handle %zero %value {write}
            OpReturn
            OpFunctionEnd"
        );
        let options = AssemblerOptions { preserve_numeric_ids: true };
        let words = create(Some(TargetEnv::Vulkan_1_2)).assemble(&text, options).expect("a module");
        let mut module = load::module(words.as_words()).expect("a module");
        super::run(&mut module);
        let insts = module.functions[0].all_inst_iter();
        let accesses = insts.filter(|inst| matches!(inst.class.opcode, Op::ImageRead | Op::ImageWrite));
        accesses.map(|inst| inst.operands.len()).collect()
    }

    #[test]
    fn the_extension_of_the_type_goes_and_others_stay() {
        assert_eq!(operands("SignExtend", "SignExtend"), [2, 3]);
        assert_eq!(operands("", "SignExtend"), [2, 3]);
        assert_eq!(operands("ZeroExtend", ""), [3, 3]);
        assert_eq!(operands("SignExtend", "ZeroExtend"), [2, 4]);
    }
}
