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

use rspirv::dr::Operand;
use rspirv::spirv::{ImageOperands, Op};

use crate::ir::{Arg, Function, GlobalArg, Module, Operation, TypeKind};

pub(super) fn run(module: &Module, f: &mut Function) {
    for inst in f.insts.keys() {
        let Operation::Other { op: Op::ImageRead | Op::ImageWrite, operands } = &f.insts[inst].operation
        else {
            continue;
        };
        let image = match operands.first() {
            Some(Arg::Value(image)) => module.types.kind(f.values[*image].ty),
            _ => continue,
        };
        let TypeKind::Other { op: Op::TypeImage, operands: image } = image else { continue };
        let Some(GlobalArg::Type(texel)) = image.first() else { continue };
        let TypeKind::Int { signed, .. } = *module.types.kind(*texel) else { continue };
        let extends = if signed { ImageOperands::SIGN_EXTEND } else { ImageOperands::ZERO_EXTEND };
        if operands.last() == Some(&Arg::Literal(Operand::ImageOperands(extends)))
            && let Operation::Other { operands, .. } = &mut f.insts[inst].operation
        {
            operands.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use rspirv::spirv::Op;
    use spirv_tools::TargetEnv;
    use spirv_tools::assembler::{Assembler, AssemblerOptions, create};

    use crate::frontend::load;
    use crate::ir;

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
        let mut module = ir::import(&load::module(words.as_words()).expect("a module")).expect("the IR");
        let mut f = module.functions[module.defined[0]].clone();
        super::run(&module, &mut f);
        let entry = module.defined[0];
        module.functions[entry] = f;
        let module = ir::export(&module);
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
