//! The two kernels of the table: one applies operations to the inputs, the other applies one to what they left.

use std::fmt::Write as _;

use spirv_tools::TargetEnv;
use spirv_tools::assembler::{Assembler, AssemblerOptions, create};

use super::ops::Op;

/// What the value is while it is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// The float itself.
    Float,
    /// Its bits.
    Bits,
    /// The integer it is rounded to.
    Number,
}

/// Results of each pair: `g(t, c, b)`, `g(t, t, c)` (`g(t) * t` if `g` has one operand) and `g(a, t, t)`.
pub(crate) const RESULTS: usize = 3;

/// Invocations of a work-group.
pub(crate) const LOCAL: u32 = 64;

/// `t[i * n + k] = f_k(a[i], b[i], c[i])` for each of the `n` operations.
pub(crate) fn producer(width: u32, carrier: Carrier, ops: &[Op]) -> Vec<u32> {
    let mut body = inputs(ops.len());
    for (k, op) in ops.iter().enumerate() {
        let f = format!("f{k}");
        body += &op.write(&f, ["%a", "%b", "%c"]);
        let stored = match carrier {
            Carrier::Float => format!("%{f}_r"),
            Carrier::Bits => {
                let _ = writeln!(body, "%carried{k} = OpBitcast %bits %{f}_r");
                format!("%carried{k}")
            }
            Carrier::Number => {
                let _ = writeln!(body, "%carried{k} = OpConvertFToS %i %{f}_r");
                format!("%carried{k}")
            }
        };
        let _ = write!(
            body,
            "{}\n\
             %to{k} = OpAccessChain %p_carried %vt %u0 %at{k}\nOpStore %to{k} {stored}\n",
            place(ops.len(), k)
        );
    }
    assemble(&module(width, carrier, ops.len(), &body))
}

/// The results of `op` for each of the `n` values in `t`.
pub(crate) fn consumer(width: u32, carrier: Carrier, n: usize, op: Op) -> Vec<u32> {
    let mut body = inputs(n);
    for k in 0..n {
        let loaded = if carrier == Carrier::Float { format!("%t{k}") } else { format!("%carried{k}") };
        let ty = carried(carrier);
        let _ = write!(
            body,
            "{}\n\
             %from{k} = OpAccessChain %p_carried %vt %u0 %at{k}\n{loaded} = OpLoad {ty} %from{k}\n",
            place(n, k)
        );
        match carrier {
            Carrier::Float => {}
            Carrier::Bits => body += &format!("%t{k} = OpBitcast %f %carried{k}\n"),
            Carrier::Number => body += &format!("%t{k} = OpConvertSToF %f %carried{k}\n"),
        }
        let t = format!("%t{k}");
        body += &op.write(&format!("plain{k}"), [&t, "%c", "%b"]);
        body += &op.write(&format!("twice{k}"), [&t, &t, "%c"]);
        body += &op.write(&format!("input{k}"), ["%a", &t, &t]);
        let mut twice = format!("%twice{k}_r");
        if op.is_unary() {
            let _ = writeln!(body, "%both{k} = OpFMul %f {twice} {t}");
            twice = format!("%both{k}");
        }
        let results = [format!("%plain{k}_r"), twice, format!("%input{k}_r")];
        let _ = writeln!(body, "%out{k} = OpIMul %u %at{k} %results");
        for (m, result) in results.iter().enumerate() {
            let _ = write!(
                body,
                "%out{k}_{m} = OpIAdd %u %out{k} %n{m}\n\
                 %put{k}_{m} = OpAccessChain %p_f %vo %u0 %out{k}_{m}\nOpStore %put{k}_{m} {result}\n"
            );
        }
    }
    assemble(&module(width, carrier, n, &body))
}

/// The place of value `k` of `n`; with one value an item, it is the item's number as it is.
fn place(n: usize, k: usize) -> String {
    match n {
        1 => format!("%at{k} = OpCopyObject %u %item"),
        _ => format!("%at{k} = OpIAdd %u %first %n{k}"),
    }
}

fn carried(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Float => "%f",
        Carrier::Bits => "%bits",
        Carrier::Number => "%i",
    }
}

fn inputs(n: usize) -> String {
    let mut text = format!(
        "%id = OpLoad %u3 %gid\n%item = OpCompositeExtract %u %id 0\n%first = OpIMul %u %item %n{n}\n\
         %from_s = OpAccessChain %p_single %push %u0\n%single_s = OpLoad %single %from_s\n"
    );
    for name in ["a", "b", "c"] {
        let _ = write!(
            text,
            "%from_{name} = OpAccessChain %p_f %v{name} %u0 %item\n%{name} = OpLoad %f %from_{name}\n"
        );
    }
    text
}

fn module(width: u32, carrier: Carrier, n: usize, body: &str) -> String {
    let bytes = width / 8;
    let mut text = String::from("OpCapability Shader\n");
    text += match width {
        16 => "OpCapability Float16\nOpCapability StorageBuffer16BitAccess\n",
        64 => "OpCapability Float64\n",
        _ => "",
    };
    text += "%glsl = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel Logical GLSL450\n\
             OpEntryPoint GLCompute %main \"main\" %gid\n";
    let _ = writeln!(text, "OpExecutionMode %main LocalSize {LOCAL} 1 1");
    text += "OpDecorate %gid BuiltIn GlobalInvocationId\n";
    let carried_bytes = if carrier == Carrier::Number { 4 } else { bytes };
    let _ = write!(
        text,
        "OpDecorate %array ArrayStride {bytes}\nOpDecorate %block Block\n\
         OpMemberDecorate %block 0 Offset 0\nOpDecorate %pushed Block\nOpMemberDecorate %pushed 0 Offset 0\n"
    );
    if carrier != Carrier::Float {
        let _ = write!(
            text,
            "OpDecorate %t_array ArrayStride {carried_bytes}\nOpDecorate %t_block Block\n\
             OpMemberDecorate %t_block 0 Offset 0\n"
        );
    }
    for (binding, name) in ["a", "b", "c", "t", "o"].iter().enumerate() {
        let _ = writeln!(text, "OpDecorate %v{name} DescriptorSet 0\nOpDecorate %v{name} Binding {binding}");
        if binding < 3 {
            let _ = writeln!(text, "OpDecorate %v{name} NonWritable");
        }
    }
    text += "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n%u = OpTypeInt 32 0\n\
             %i = OpTypeInt 32 1\n%u3 = OpTypeVector %u 3\n%u2 = OpTypeVector %u 2\n";
    // Two ids for one type are not allowed.
    let (f, single) = if width == 32 { ("single", "single") } else { ("f", "single") };
    let _ = writeln!(text, "%{single} = OpTypeFloat 32");
    if width != 32 {
        let _ = writeln!(text, "%{f} = OpTypeFloat {width}");
    }
    text += "%v2 = OpTypeVector %f 2\n%v3 = OpTypeVector %f 3\n%v4 = OpTypeVector %f 4\n\
             %m2 = OpTypeMatrix %v2 2\n%ff = OpTypeStruct %f %f\n%fi = OpTypeStruct %f %i\n\
             %array = OpTypeRuntimeArray %f\n%block = OpTypeStruct %array\n\
             %p_block = OpTypePointer StorageBuffer %block\n%p_f = OpTypePointer StorageBuffer %f\n\
             %p_gid = OpTypePointer Input %u3\n%gid = OpVariable %p_gid Input\n\
             %pushed = OpTypeStruct %single\n%p_pushed = OpTypePointer PushConstant %pushed\n\
             %p_single = OpTypePointer PushConstant %single\n%push = OpVariable %p_pushed PushConstant\n\
             %va = OpVariable %p_block StorageBuffer\n%vb = OpVariable %p_block StorageBuffer\n\
             %vc = OpVariable %p_block StorageBuffer\n%vo = OpVariable %p_block StorageBuffer\n";
    if carrier == Carrier::Float {
        text += "%vt = OpVariable %p_block StorageBuffer\n";
    } else {
        let ty = carried(carrier);
        let _ = write!(
            text,
            "%t_array = OpTypeRuntimeArray {ty}\n%t_block = OpTypeStruct %t_array\n\
             %p_t_block = OpTypePointer StorageBuffer %t_block\n\
             %p_carried = OpTypePointer StorageBuffer {ty}\n%vt = OpVariable %p_t_block StorageBuffer\n"
        );
    }
    let largest = n.max(RESULTS);
    for k in 0..=largest {
        let _ = writeln!(text, "%n{k} = OpConstant %u {k}");
    }
    text += "%i3 = OpConstant %i 3\n%i3n = OpConstant %i -3\n%zero = OpConstant %f 0\n%one = OpConstant %f 1\n\
             %two = OpConstant %f 2\n%minus = OpConstant %f -1\n%refraction = OpConstant %f 0.75\n";
    let argument = if width == 32 { "" } else { "%s = OpFConvert %f %single_s\n" };
    let _ = write!(text, "%main = OpFunction %void None %fn\n%entry = OpLabel\n");
    // The argument is converted where its load stands.
    let (loads, rest) = body.split_at(body.find("%from_a").unwrap_or(0));
    text += loads;
    text += argument;
    text += rest;
    text += "OpReturn\nOpFunctionEnd\n";
    // Names that stand for others.
    let mut text = text.replace("%results", "%n3").replace("%u0 ", "%n0 ").replace("%u0\n", "%n0\n");
    text = text.replace("%u1", "%n1").replace("%bits", if width == 64 { "%u2" } else { "%u" });
    if carrier == Carrier::Float {
        text = text.replace("%p_carried", "%p_f");
    }
    if width == 32 {
        text = rename(&text, "%f", "%single");
        text = text.replace("%single_s", "%s");
    }
    text
}

/// Replaces a whole name.
fn rename(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (n, part) in text.split(from).enumerate() {
        if n > 0 {
            let longer = part.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            out.push_str(if longer { from } else { to });
        }
        out.push_str(part);
    }
    out
}

fn assemble(text: &str) -> Vec<u32> {
    let assembler = create(Some(TargetEnv::Vulkan_1_1));
    let binary = assembler.assemble(text, AssemblerOptions::default());
    binary.unwrap_or_else(|error| panic!("{error}\n{text}")).as_words().to_vec()
}
