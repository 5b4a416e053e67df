//! What is written, as text; and that it computes what it should, on numbers with which arithmetic has a way of its own.

use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand};
use spirv_tools::TargetEnv;
use spirv_tools::assembler::{Assembler, AssemblerOptions, create};
use vkfuse_interp::{Bind, Dispatch, Memory, Options, Program, execute};

use super::run as write_out;
use crate::frontend::{load, tools};

/// A module of numbered ids up to 20; `%20` is the result of the instruction.
const HEAD: &str = "OpCapability Shader\n%1 = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel Logical GLSL450\n\
    OpEntryPoint GLCompute %2 \"main\"\nOpExecutionMode %2 LocalSize 1 1 1\n%3 = OpTypeVoid\n\
    %4 = OpTypeFunction %3\n%5 = OpTypeFloat 32\n%6 = OpTypeVector %5 2\n%7 = OpTypeVector %5 3\n\
    %8 = OpConstant %5 3\n%9 = OpConstant %5 5\n%10 = OpConstant %5 7\n\
    %11 = OpConstantComposite %6 %8 %9\n%12 = OpConstantComposite %6 %9 %10\n\
    %13 = OpConstantComposite %7 %8 %9 %10\n%14 = OpConstantComposite %7 %9 %10 %8\n\
    %2 = OpFunction %3 None %4\n%15 = OpLabel\n";

fn assemble(text: &str) -> Module {
    let options = AssemblerOptions { preserve_numeric_ids: true };
    let words = create(Some(TargetEnv::Vulkan_1_1)).assemble(text, options);
    let words = words.unwrap_or_else(|error| panic!("{error}\n{text}"));
    load::module(words.as_words()).expect("an assembled module")
}

/// An instruction as a line, its type in front of its operands.
fn line(inst: &Instruction) -> String {
    let operand = |operand: &Operand| match operand {
        Operand::IdRef(id) => format!(" %{id}"),
        Operand::LiteralBit32(number) | Operand::LiteralExtInstInteger(number) => format!(" {number}"),
        other => format!(" {other}"),
    };
    let result = inst.result_id.map_or_else(String::new, |id| format!("%{id} = "));
    let ty = inst.result_type.map_or_else(String::new, |ty| format!(" %{ty}"));
    format!("{result}{:?}{ty}{}", inst.class.opcode, inst.operands.iter().map(operand).collect::<String>())
}

/// What becomes of one instruction, `%20` of a type: new declarations, a line of dashes, then its block.
fn written(ty: &str, instruction: &str) -> String {
    let mut module =
        assemble(&format!("{HEAD}%20 = OpExtInst {ty} %1 {instruction}\nOpReturn\nOpFunctionEnd\n"));
    let before = module.types_global_values.len();
    write_out(&mut module);
    tools::validate(&module.assemble()).expect("a valid module");
    let globals = module.types_global_values[before..].iter().map(line);
    let block = &module.functions[0].blocks[0].instructions;
    let lines = block[..block.len() - 1].iter().map(line);
    globals.chain(["---".to_owned()]).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Demands these lines, whatever stands in front of them.
#[track_caller]
fn assert_written(ty: &str, instruction: &str, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(written(ty, instruction), expected.join("\n"));
}

#[test]
fn extremes_are_a_comparison_and_a_choice() {
    assert_written(
        "%5",
        "FMin %8 %9",
        "%21 = TypeBool
         ---
         %22 = FOrdLessThan %21 %9 %8
         %23 = IsNan %21 %8
         %24 = LogicalOr %21 %22 %23
         %25 = Select %5 %24 %9 %8
         %20 = CopyObject %5 %25",
    );
    assert_written(
        "%5",
        "FMax %8 %9",
        "%21 = TypeBool
         ---
         %22 = FOrdLessThan %21 %8 %9
         %23 = IsNan %21 %8
         %24 = LogicalOr %21 %22 %23
         %25 = Select %5 %24 %9 %8
         %20 = CopyObject %5 %25",
    );
    assert_written(
        "%5",
        "NMin %8 %9",
        "%21 = TypeBool
         ---
         %22 = FOrdLessThan %21 %9 %8
         %23 = IsNan %21 %8
         %24 = LogicalOr %21 %22 %23
         %25 = Select %5 %24 %9 %8
         %20 = CopyObject %5 %25",
    );
    assert_written(
        "%6",
        "FClamp %11 %12 %11",
        "%21 = TypeBool
         %22 = TypeVector %21 2
         ---
         %23 = FOrdLessThan %22 %11 %12
         %24 = IsNan %22 %11
         %25 = LogicalOr %22 %23 %24
         %26 = Select %6 %25 %12 %11
         %27 = FOrdLessThan %22 %11 %26
         %28 = IsNan %22 %26
         %29 = LogicalOr %22 %27 %28
         %30 = Select %6 %29 %11 %26
         %20 = CopyObject %6 %30",
    );
}

#[test]
fn lengths_are_sums_from_the_first_component_on() {
    assert_written(
        "%5",
        "Length %8",
        "---
         %21 = ExtInst %5 %1 4 %8
         %20 = CopyObject %5 %21",
    );
    assert_written(
        "%5",
        "Length %13",
        "---
         %21 = CompositeExtract %5 %13 0
         %22 = CompositeExtract %5 %13 1
         %23 = CompositeExtract %5 %13 2
         %24 = FMul %5 %21 %21
         %25 = FMul %5 %22 %22
         %26 = FAdd %5 %24 %25
         %27 = FMul %5 %23 %23
         %28 = FAdd %5 %26 %27
         %29 = ExtInst %5 %1 31 %28
         %20 = CopyObject %5 %29",
    );
    assert_written(
        "%5",
        "Distance %11 %12",
        "---
         %21 = CompositeExtract %5 %11 0
         %22 = CompositeExtract %5 %11 1
         %23 = CompositeExtract %5 %12 0
         %24 = CompositeExtract %5 %12 1
         %25 = FSub %5 %21 %23
         %26 = FSub %5 %22 %24
         %27 = FMul %5 %25 %25
         %28 = FMul %5 %26 %26
         %29 = FAdd %5 %27 %28
         %30 = ExtInst %5 %1 31 %29
         %20 = CopyObject %5 %30",
    );
    assert_written(
        "%6",
        "Normalize %11",
        "---
         %21 = CompositeExtract %5 %11 0
         %22 = CompositeExtract %5 %11 1
         %23 = FMul %5 %21 %21
         %24 = FMul %5 %22 %22
         %25 = FAdd %5 %23 %24
         %26 = ExtInst %5 %1 32 %25
         %27 = FMul %5 %21 %26
         %28 = FMul %5 %22 %26
         %20 = CompositeConstruct %6 %27 %28",
    );
}

#[test]
fn what_faces_chooses_by_the_sign_of_a_product() {
    assert_written(
        "%5",
        "FaceForward %8 %9 %10",
        "%22 = Constant %5 0
         %23 = TypeBool
         ---
         %21 = FMul %5 %10 %9
         %24 = FOrdLessThan %23 %21 %22
         %25 = FNegate %5 %8
         %26 = Select %5 %24 %8 %25
         %20 = CopyObject %5 %26",
    );
}

#[test]
fn what_is_reflected_doubles_the_product() {
    assert_written(
        "%5",
        "Reflect %8 %9",
        "%22 = Constant %5 1073741824
         ---
         %21 = FMul %5 %9 %8
         %23 = FMul %5 %22 %21
         %24 = FMul %5 %23 %9
         %25 = FSub %5 %8 %24
         %20 = CopyObject %5 %25",
    );
}

/// What becomes of a product; `%17` is a matrix of the columns `%11` and `%12`.
fn product(instruction: &str) -> Vec<String> {
    let head = HEAD.replace(
        "%2 = OpFunction",
        "%16 = OpTypeMatrix %6 2\n%17 = OpConstantComposite %16 %11 %12\n%2 = OpFunction",
    );
    let mut module = assemble(&format!("{head}%20 = {instruction}\nOpReturn\nOpFunctionEnd\n"));
    write_out(&mut module);
    tools::validate(&module.assemble()).expect("a valid module");
    let block = &module.functions[0].blocks[0].instructions;
    block[..block.len() - 1].iter().map(line).collect()
}

#[test]
fn products_of_matrices_are_sums_from_the_first_column_or_row_on() {
    let components = [
        "%21 = CompositeExtract %5 %17 0 0",
        "%22 = CompositeExtract %5 %17 0 1",
        "%23 = CompositeExtract %5 %17 1 0",
        "%24 = CompositeExtract %5 %17 1 1",
        "%25 = CompositeExtract %5 %11 0",
        "%26 = CompositeExtract %5 %11 1",
        "%27 = FMul %5 %21 %25",
        "%28 = FMul %5 %23 %26",
        "%29 = FAdd %5 %27 %28",
        "%30 = FMul %5 %22 %25",
        "%31 = FMul %5 %24 %26",
        "%32 = FAdd %5 %30 %31",
        "%20 = CompositeConstruct %6 %29 %32",
    ];
    assert_eq!(product("OpMatrixTimesVector %6 %17 %11"), components);
    let rows = [
        "%21 = CompositeExtract %5 %11 0",
        "%22 = CompositeExtract %5 %11 1",
        "%23 = CompositeExtract %5 %17 0 0",
        "%24 = CompositeExtract %5 %17 0 1",
        "%25 = CompositeExtract %5 %17 1 0",
        "%26 = CompositeExtract %5 %17 1 1",
        "%27 = FMul %5 %21 %23",
        "%28 = FMul %5 %22 %24",
        "%29 = FAdd %5 %27 %28",
        "%30 = FMul %5 %21 %25",
        "%31 = FMul %5 %22 %26",
        "%32 = FAdd %5 %30 %31",
        "%20 = CompositeConstruct %6 %29 %32",
    ];
    assert_eq!(product("OpVectorTimesMatrix %6 %11 %17"), rows);
    let both = product("OpMatrixTimesMatrix %16 %17 %17");
    let count = |what: &str| both.iter().filter(|line| line.contains(what)).count();
    assert_eq!((count("FMul"), count("FAdd"), count("CompositeConstruct")), (8, 4, 3));
    let dot = product("OpDot %5 %11 %12");
    assert_eq!(
        dot[4..],
        [
            "%25 = FMul %5 %21 %23",
            "%26 = FMul %5 %22 %24",
            "%27 = FAdd %5 %25 %26",
            "%20 = CopyObject %5 %27"
        ]
    );
}

#[test]
fn operands_that_do_not_fit_leave_the_instruction() {
    let text = format!("{HEAD}%20 = OpExtInst %5 %1 FMin %8 %11\nOpReturn\nOpFunctionEnd\n");
    let mut module = assemble(&text);
    let before = module.assemble();
    write_out(&mut module);
    assert_eq!(module.assemble(), before);
}

#[test]
fn a_module_without_any_stays_as_it_is() {
    let text = format!("{HEAD}%20 = OpExtInst %5 %1 Sqrt %8\nOpReturn\nOpFunctionEnd\n");
    let mut module = assemble(&text);
    let before = module.assemble();
    write_out(&mut module);
    assert_eq!(module.assemble(), before);
}

/// The value that an instruction gives, by what it is of: `$x`, `$y`, `$z` and the vectors `$v` of the first two, `$w` of
/// the last two, `$p` of all three and `$q` of all three from the second on.
struct Op {
    text: &'static str,
    single: fn([f32; 3]) -> f32,
    double: fn([f64; 3]) -> f64,
}

/// The same formula for both widths.
macro_rules! op {
    ($text:literal, |$x:ident, $y:ident, $z:ident| $body:expr) => {
        Op { text: $text, single: |[$x, $y, $z]| $body, double: |[$x, $y, $z]| $body }
    };
}

const OPS: &[Op] = &[
    op!("$r = OpExtInst %f %glsl FMin $x $y", |x, y, _z| if y < x || x.is_nan() { y } else { x }),
    op!("$r = OpExtInst %f %glsl FMax $x $y", |x, y, _z| if x < y || x.is_nan() { y } else { x }),
    op!("$r = OpExtInst %f %glsl NMin $x $y", |x, y, _z| if y < x || x.is_nan() { y } else { x }),
    op!("$r = OpExtInst %f %glsl NMax $x $y", |x, y, _z| if x < y || x.is_nan() { y } else { x }),
    op!("$r = OpExtInst %f %glsl FClamp $x $y $z", |x, y, z| {
        let raised = if x < y || x.is_nan() { y } else { x };
        if z < raised || raised.is_nan() { z } else { raised }
    }),
    op!("$r = OpExtInst %f %glsl NClamp $x $y $z", |x, y, z| {
        let raised = if x < y || x.is_nan() { y } else { x };
        if z < raised || raised.is_nan() { z } else { raised }
    }),
    op!("$1 = OpExtInst %v2 %glsl FMin $v $w; $r = OpCompositeExtract %f $1 1", |_x, y, z| {
        if z < y || y.is_nan() { z } else { y }
    }),
    op!("$1 = OpExtInst %v2 %glsl NClamp $v $w $v; $r = OpCompositeExtract %f $1 0", |x, y, _z| {
        let raised = if x < y || x.is_nan() { y } else { x };
        if x < raised || raised.is_nan() { x } else { raised }
    }),
    op!("$r = OpExtInst %f %glsl Length $x", |x, _y, _z| x.abs()),
    op!("$r = OpExtInst %f %glsl Length $p", |x, y, z| (x * x + y * y + z * z).sqrt()),
    op!("$r = OpExtInst %f %glsl Distance $v $w", |x, y, z| {
        ((x - y) * (x - y) + (y - z) * (y - z)).sqrt()
    }),
    op!("$1 = OpExtInst %v2 %glsl Normalize $v; $r = OpCompositeExtract %f $1 0", |x, y, _z| {
        x * (1.0 / (x * x + y * y).sqrt())
    }),
    op!("$1 = OpExtInst %v3 %glsl Cross $p $q; $r = OpCompositeExtract %f $1 0", |x, y, z| y * x - z * z),
    op!("$1 = OpExtInst %v3 %glsl Cross $p $q; $r = OpCompositeExtract %f $1 1", |x, y, z| z * y - x * x),
    op!("$1 = OpExtInst %v3 %glsl Cross $p $q; $r = OpCompositeExtract %f $1 2", |x, y, z| x * z - y * y),
    op!("$r = OpExtInst %f %glsl FaceForward $x $y $z", |x, y, z| if z * y < 0.0 { x } else { -x }),
    op!("$1 = OpExtInst %v2 %glsl FaceForward $v $w $v; $r = OpCompositeExtract %f $1 1", |x, y, z| {
        if x * y + y * z < 0.0 { y } else { -y }
    }),
    op!("$1 = OpExtInst %v2 %glsl Reflect $v $w; $r = OpCompositeExtract %f $1 0", |x, y, z| {
        x - 2.0 * (y * x + z * y) * y
    }),
    op!("$1 = OpExtInst %v2 %glsl Refract $v $w $x; $r = OpCompositeExtract %f $1 1", |x, y, z| {
        let dot = y * x + z * y;
        let k = 1.0 - x * x * (1.0 - dot * dot);
        if k < 0.0 { 0.0 } else { x * y - (x * dot + k.sqrt()) * z }
    }),
];

/// A kernel: result `item` of operation `k` is at `item * count + k`.
fn kernel(width: u32, texts: &[&str]) -> Module {
    let bytes = width / 8;
    let capability = match width {
        16 => "OpCapability Float16\nOpCapability StorageBuffer16BitAccess\n",
        64 => "OpCapability Float64\n",
        _ => "",
    };
    let mut text = format!(
        "OpCapability Shader\n{capability}%glsl = OpExtInstImport \"GLSL.std.450\"\n\
         OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\" %gid\n\
         OpExecutionMode %main LocalSize 1 1 1\nOpDecorate %gid BuiltIn GlobalInvocationId\n\
         OpDecorate %array ArrayStride {bytes}\nOpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n\
         OpDecorate %in DescriptorSet 0\nOpDecorate %in Binding 0\n\
         OpDecorate %out DescriptorSet 0\nOpDecorate %out Binding 1\n\
         %void = OpTypeVoid\n%fn = OpTypeFunction %void\n%u = OpTypeInt 32 0\n%u3 = OpTypeVector %u 3\n\
         %f = OpTypeFloat {width}\n%v2 = OpTypeVector %f 2\n%v3 = OpTypeVector %f 3\n\
         %array = OpTypeRuntimeArray %f\n%block = OpTypeStruct %array\n\
         %p_block = OpTypePointer StorageBuffer %block\n%p_f = OpTypePointer StorageBuffer %f\n\
         %p_u3 = OpTypePointer Input %u3\n%gid = OpVariable %p_u3 Input\n\
         %in = OpVariable %p_block StorageBuffer\n%out = OpVariable %p_block StorageBuffer\n"
    );
    for number in 0..=texts.len().max(3) {
        text += &format!("%n{number} = OpConstant %u {number}\n");
    }
    text += &format!(
        "%main = OpFunction %void None %fn\n%entry = OpLabel\n%id = OpLoad %u3 %gid\n\
         %item = OpCompositeExtract %u %id 0\n%first = OpIMul %u %item %n3\n%to = OpIMul %u %item %n{}\n",
        texts.len()
    );
    for (at, name) in ["x", "y", "z"].iter().enumerate() {
        text += &format!(
            "%at_{name} = OpIAdd %u %first %n{at}\n%from_{name} = OpAccessChain %p_f %in %n0 %at_{name}\n\
             %{name} = OpLoad %f %from_{name}\n"
        );
    }
    text += "%v = OpCompositeConstruct %v2 %x %y\n%w = OpCompositeConstruct %v2 %y %z\n\
             %p = OpCompositeConstruct %v3 %x %y %z\n%q = OpCompositeConstruct %v3 %y %z %x\n";
    for (k, op) in texts.iter().enumerate() {
        let op = op.replace("$r", &format!("%r{k}")).replace("$1", &format!("%one{k}"));
        text += &op.replace('$', "%").replace(';', "\n");
        text += &format!(
            "\n%to{k} = OpIAdd %u %to %n{k}\n%put{k} = OpAccessChain %p_f %out %n0 %to{k}\n\
             OpStore %put{k} %r{k}\n"
        );
    }
    assemble(&(text + "OpReturn\nOpFunctionEnd\n"))
}

/// The bits of all results, in the interpreter.
fn run(module: &Module, width: u32, inputs: &[[u64; 3]], count: usize) -> Vec<u64> {
    let program = Program::decode(&module.assemble()).expect("a module of the subset");
    let bytes = width as usize / 8;
    let mut memory = Memory::new();
    let input: Vec<u8> =
        inputs.iter().flatten().flat_map(|bits| bits.to_le_bytes()[..bytes].to_vec()).collect();
    let len = (inputs.len() * count * bytes) as u64;
    let bind = |binding, object, len| Bind { set: 0, binding, object, offset: 0, len };
    let (input_len, output) = (input.len() as u64, vec![0u8; len as usize]);
    let (input, output) = (memory.add(input), memory.add(output));
    let dispatch = Dispatch {
        program: &program,
        groups: [inputs.len() as u32, 1, 1],
        bindings: vec![bind(0, input, input_len), bind(1, output, len)],
        push: Vec::new(),
    };
    let findings = execute(&[dispatch], &mut memory, &Options::default()).expect("a run");
    assert!(findings.is_clean(), "{findings:#?}");
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    memory.bytes(output).chunks(bytes).map(word).collect()
}

/// Zeros of both signs, denormals, the least normal number, one, the largest number, infinities, and NaNs of both kinds.
fn edges(width: u32) -> Vec<u64> {
    let (fraction, bias) = match width {
        16 => (10, 15),
        64 => (52, 1023),
        _ => (23, 127),
    };
    let infinity = (2 * bias + 1) << fraction;
    let positive = [
        0,
        1,
        (1 << fraction) - 1,
        1 << fraction,
        bias << fraction,
        (bias + 1) << fraction | 1 << (fraction - 2),
        infinity - 1,
        infinity,
        infinity | 1 << (fraction - 1) | 5,
        infinity | 9,
    ];
    positive.iter().flat_map(|&bits| [bits, bits | 1 << (width - 1)]).collect()
}

fn inputs(width: u32) -> Vec<[u64; 3]> {
    let edges = edges(width);
    let pairs = |&x: &u64| edges.iter().map(move |&y| [x, y]).collect::<Vec<_>>();
    let triple = |[x, y]: [u64; 2]| edges.iter().map(move |&z| [x, y, z]).collect::<Vec<_>>();
    edges.iter().flat_map(pairs).flat_map(triple).collect()
}

fn is_nan(width: u32, bits: u64) -> bool {
    match width {
        16 => bits & 0x7fff > 0x7c00,
        64 => f64::from_bits(bits).is_nan(),
        _ => f32::from_bits(bits as u32).is_nan(),
    }
}

/// Whether an operation moves one of its operands: then the bits of a NaN count, too.
fn moves(text: &str) -> bool {
    ["FMin", "FMax", "FClamp", "NMin", "NMax", "NClamp"].iter().any(|name| text.contains(name))
}

/// Runs all operations in their expanded form and compares with `expected`; those that move an operand are also compared with the
/// interpreter's result for the instruction itself.
fn check(width: u32, expected: impl Fn(&Op, [u64; 3]) -> Option<u64>) {
    let inputs = inputs(width);
    let same = |op: &Op, a: u64, b: u64| a == b || !moves(op.text) && is_nan(width, a) && is_nan(width, b);
    for moving in [true, false] {
        let ops: Vec<&Op> = OPS.iter().filter(|op| moves(op.text) == moving).collect();
        let texts: Vec<&str> = ops.iter().map(|op| op.text).collect();
        let mut module = kernel(width, &texts);
        let before = moving.then(|| run(&module, width, &inputs, ops.len()));
        write_out(&mut module);
        tools::validate(&module.assemble()).expect("a valid module");
        for (at, &got) in run(&module, width, &inputs, ops.len()).iter().enumerate() {
            let (op, input) = (ops[at % ops.len()], inputs[at / ops.len()]);
            let wanted = before.as_ref().map(|before| before[at]).into_iter().chain(expected(op, input));
            for want in wanted {
                assert!(same(op, want, got), "{} of {input:x?}: {got:#x} instead of {want:#x}", op.text);
            }
        }
    }
}

#[test]
fn results_are_those_of_the_formulas() {
    check(32, |op, bits| {
        Some(u64::from((op.single)(bits.map(|bits| f32::from_bits(bits as u32))).to_bits()))
    });
    check(64, |op, bits| Some((op.double)(bits.map(f64::from_bits)).to_bits()));
    check(16, |_, _| None);
}

/// What is open in GLSL.std.450 is one thing here: the first of two zeros, and the number of one and a NaN.
#[test]
fn of_two_zeros_the_first_is_the_result_and_of_a_nan_the_other() {
    let texts = [OPS[0].text, OPS[1].text, OPS[2].text, OPS[3].text];
    for (width, negative, nan) in
        [(16, 1 << 15, 0x7e01), (32, 1 << 31, 0x7fc0_0001), (64, 1 << 63, 0x7ff8_0000_0000_0001)]
    {
        let mut module = kernel(width, &texts);
        write_out(&mut module);
        let one = edges(width)[8];
        let inputs = [[0, negative, 0], [negative, 0, 0], [nan, one, 0], [one, nan, 0]];
        let expected = [[0; 4], [negative; 4], [one; 4], [one; 4]];
        assert_eq!(run(&module, width, &inputs, 4), expected.concat(), "f{width}");
    }
}
