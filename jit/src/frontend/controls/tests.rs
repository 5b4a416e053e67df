//! What a module asks for, as text.

use rspirv::binary::{Assemble, Disassemble};
use rspirv::dr::Module;
use spirv_tools::TargetEnv;
use spirv_tools::assembler::{Assembler, AssemblerOptions, create};

use super::{FloatControls, FloatWidths, ask};
use crate::frontend::{load, tools};

const ALL: FloatWidths = FloatWidths { f16: true, f32: true, f64: true };
const SINGLE: FloatWidths = FloatWidths { f32: true, ..FloatWidths::NONE };

/// What a device can do that can do it all.
const EVERYTHING: FloatControls = FloatControls { special: ALL, denormals: ALL, rounding: ALL };

/// A module that has what `head` declares, and these execution modes and types.
fn module(env: TargetEnv, head: &str, modes: &str, types: &str) -> Module {
    let text = format!(
        "OpCapability Shader\n{head}OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %1 \"main\"\n\
         OpExecutionMode %1 LocalSize 1 1 1\n{modes}%2 = OpTypeVoid\n%3 = OpTypeFunction %2\n{types}\
         %1 = OpFunction %2 None %3\n%4 = OpLabel\nOpReturn\nOpFunctionEnd\n"
    );
    let words = create(Some(env)).assemble(&text, AssemblerOptions { preserve_numeric_ids: true });
    let words = words.unwrap_or_else(|error| panic!("{error}\n{text}"));
    load::module(words.as_words()).expect("an assembled module")
}

/// Capabilities, extensions and execution modes, a line each.
fn asked(module: &Module) -> String {
    let all = module.capabilities.iter().chain(&module.extensions).chain(&module.execution_modes);
    let lines = all.map(|inst| inst.disassemble().split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Asks for the controls, twice, and demands these lines, whatever stands in front of them.
#[track_caller]
fn assert_asked(mut module: Module, controls: FloatControls, expected: &str) {
    ask(&mut module, controls);
    tools::validate(&module.assemble()).expect("a valid module");
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(asked(&module), expected.join("\n"));
    let once = module.assemble();
    ask(&mut module, controls);
    assert_eq!(module.assemble(), once);
}

const FLOAT: &str = "%5 = OpTypeFloat 32\n";

#[test]
fn every_kind_is_asked_for_where_there_is_a_float() {
    assert_asked(
        module(TargetEnv::Vulkan_1_1, "", "", FLOAT),
        FloatControls { special: SINGLE, denormals: SINGLE, rounding: SINGLE },
        "OpCapability Shader
         OpCapability SignedZeroInfNanPreserve
         OpCapability DenormPreserve
         OpCapability RoundingModeRTE
         OpExtension \"SPV_KHR_float_controls\"
         OpExecutionMode %1 LocalSize 1 1 1
         OpExecutionMode %1 SignedZeroInfNanPreserve 32
         OpExecutionMode %1 DenormPreserve 32
         OpExecutionMode %1 RoundingModeRTE 32",
    );
}

#[test]
fn since_1_4_there_is_no_extension_to_name() {
    assert_asked(
        module(TargetEnv::Vulkan_1_2, "", "", FLOAT),
        FloatControls { denormals: SINGLE, ..FloatControls::default() },
        "OpCapability Shader
         OpCapability DenormPreserve
         OpExecutionMode %1 LocalSize 1 1 1
         OpExecutionMode %1 DenormPreserve 32",
    );
}

#[test]
fn each_width_is_asked_for_as_far_as_the_device_goes() {
    let head = "OpCapability Float16\nOpCapability Float64\n";
    let types = "%5 = OpTypeFloat 32\n%6 = OpTypeFloat 64\n%7 = OpTypeFloat 16\n";
    let controls = FloatControls {
        special: ALL,
        denormals: FloatWidths { f16: true, f64: true, ..FloatWidths::NONE },
        rounding: FloatWidths::NONE,
    };
    assert_asked(
        module(TargetEnv::Vulkan_1_2, head, "", types),
        controls,
        "OpCapability Shader
         OpCapability Float16
         OpCapability Float64
         OpCapability SignedZeroInfNanPreserve
         OpCapability DenormPreserve
         OpExecutionMode %1 LocalSize 1 1 1
         OpExecutionMode %1 SignedZeroInfNanPreserve 16
         OpExecutionMode %1 SignedZeroInfNanPreserve 32
         OpExecutionMode %1 SignedZeroInfNanPreserve 64
         OpExecutionMode %1 DenormPreserve 16
         OpExecutionMode %1 DenormPreserve 64",
    );
}

/// A kernel that flushes denormals goes on flushing them.
#[test]
fn what_the_kernel_says_itself_stands() {
    let head = "OpCapability DenormFlushToZero\n";
    let modes = "OpExecutionMode %1 DenormFlushToZero 32\n";
    assert_asked(
        module(TargetEnv::Vulkan_1_2, head, modes, FLOAT),
        EVERYTHING,
        "OpCapability Shader
         OpCapability DenormFlushToZero
         OpCapability SignedZeroInfNanPreserve
         OpCapability RoundingModeRTE
         OpExecutionMode %1 LocalSize 1 1 1
         OpExecutionMode %1 DenormFlushToZero 32
         OpExecutionMode %1 SignedZeroInfNanPreserve 16
         OpExecutionMode %1 SignedZeroInfNanPreserve 32
         OpExecutionMode %1 SignedZeroInfNanPreserve 64
         OpExecutionMode %1 RoundingModeRTE 16
         OpExecutionMode %1 RoundingModeRTE 32
         OpExecutionMode %1 RoundingModeRTE 64",
    );
}

#[test]
fn without_floats_or_without_a_device_that_can_nothing_is_asked_for() {
    let plain = "OpCapability Shader\nOpExecutionMode %1 LocalSize 1 1 1";
    assert_asked(module(TargetEnv::Vulkan_1_2, "", "", ""), EVERYTHING, plain);
    assert_asked(module(TargetEnv::Vulkan_1_2, "", "", FLOAT), FloatControls::default(), plain);
}

/// A member with singles alone and one with halves beside it ask for the same.
#[test]
fn modes_do_not_depend_on_the_widths_of_a_module() {
    let halves = FloatWidths { f16: true, ..FloatWidths::NONE };
    let controls = FloatControls { special: ALL, denormals: halves, rounding: halves };
    let head = "OpCapability Float16\n";
    let types = "%5 = OpTypeFloat 32\n%7 = OpTypeFloat 16\n";
    let modes = |mut module: Module| {
        ask(&mut module, controls);
        tools::validate(&module.assemble()).expect("a valid module");
        module.execution_modes.iter().map(Disassemble::disassemble).collect::<Vec<_>>()
    };
    let both = modes(module(TargetEnv::Vulkan_1_2, head, "", types));
    assert_eq!(modes(module(TargetEnv::Vulkan_1_2, "", "", FLOAT)), both);
    assert_eq!(both.len(), 6);
}

/// Float controls 2 say it for each instruction. Installed tools may not know them yet.
#[cfg(feature = "compiled-spirv-tools")]
#[test]
fn modules_with_float_controls_2_are_left_alone() {
    let head = "OpCapability FloatControls2\nOpExtension \"SPV_KHR_float_controls2\"\n";
    let mut module = module(TargetEnv::Vulkan_1_2, head, "", FLOAT);
    let before = module.assemble();
    ask(&mut module, EVERYTHING);
    assert_eq!(module.assemble(), before);
}

#[test]
fn keys_tell_every_kind_and_width_apart() {
    let widths = |bits: u8| FloatWidths { f16: bits & 1 != 0, f32: bits & 2 != 0, f64: bits & 4 != 0 };
    let mut seen = std::collections::HashSet::new();
    for bits in 0..512u16 {
        let [special, denormals, rounding] = [0, 3, 6].map(|shift| widths((bits >> shift) as u8 & 7));
        let controls = FloatControls { special, denormals, rounding };
        assert!(seen.insert(controls.bytes()));
        assert_eq!(controls.is_empty(), bits == 0);
    }
}
