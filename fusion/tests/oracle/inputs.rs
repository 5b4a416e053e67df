//! Small modules whose results are known: what Vulkan's own means say of a kernel besides its instructions.

use std::sync::Arc;

use spirv_tools::TargetEnv;
use spirv_tools::assembler::{Assembler, AssemblerOptions, create};
use vkfuse::module::SpecValue;

use super::list::{Call, List};

/// Elements of each buffer.
pub(crate) const N: u32 = 256;

/// A kernel in assembly that makes `b[g]` of `x = a[g]`, and how it is called.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    pub(crate) entry: &'static str,
    pub(crate) spec: Vec<(u32, SpecValue)>,
    pub(crate) push: Vec<u32>,
    pub(crate) base: [u32; 3],
    pub(crate) groups: u32,
    /// First element of `a`.
    pub(crate) from: u32,
    /// What `b[g]` is in the end.
    pub(crate) want: fn(u32) -> u32,
}

/// What `a[g]` holds.
pub(crate) fn given(g: u32) -> u32 {
    g.wrapping_mul(2_654_435_761) >> 7
}

/// What `b[g]` holds before.
pub(crate) fn untouched(g: u32) -> u32 {
    0xdead_0000 | g
}

/// The parts of a kernel that differ.
#[derive(Clone, Copy, Default)]
struct Parts<'a> {
    head: &'a str,
    /// More variables of the interface.
    interface: &'a str,
    /// Execution modes, if not a work-group of 64.
    modes: &'a str,
    decorations: &'a str,
    globals: &'a str,
    /// Makes `%y` of `%x` and `%g`.
    body: &'a str,
    behind: &'a str,
}

fn kernel(parts: Parts<'_>) -> String {
    let Parts { head, interface, modes, decorations, globals, body, behind } = parts;
    let modes = if modes.is_empty() { "OpExecutionMode %main LocalSize 64 1 1" } else { modes };
    format!(
        "OpCapability Shader
{head}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %gid %A %B {interface}
{modes}
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %A DescriptorSet 0
OpDecorate %A Binding 0
OpDecorate %B DescriptorSet 0
OpDecorate %B Binding 1
OpDecorate %S Block
OpMemberDecorate %S 0 Offset 0
OpDecorate %ra ArrayStride 4
{decorations}
%void = OpTypeVoid
%fn = OpTypeFunction %void
%u = OpTypeInt 32 0
%i = OpTypeInt 32 1
%bool = OpTypeBool
%v3 = OpTypeVector %u 3
%pv3 = OpTypePointer Input %v3
%pu = OpTypePointer Input %u
%ra = OpTypeRuntimeArray %u
%S = OpTypeStruct %ra
%pS = OpTypePointer StorageBuffer %S
%pi = OpTypePointer StorageBuffer %u
%gid = OpVariable %pv3 Input
%A = OpVariable %pS StorageBuffer
%B = OpVariable %pS StorageBuffer
%u0 = OpConstant %u 0
%u1 = OpConstant %u 1
%u3 = OpConstant %u 3
{globals}
%main = OpFunction %void None %fn
%l0 = OpLabel
%gp = OpAccessChain %pu %gid %u0
%g = OpLoad %u %gp
%ap = OpAccessChain %pi %A %u0 %g
%x = OpLoad %u %ap
{body}
%bp = OpAccessChain %pi %B %u0 %g
OpStore %bp %y
OpReturn
OpFunctionEnd
{behind}"
    )
}

/// Assembles a text.
pub(crate) fn assembled(text: &str) -> Arc<[u32]> {
    let words = create(Some(TargetEnv::Vulkan_1_3)).assemble(text, AssemblerOptions::default());
    words.unwrap_or_else(|error| panic!("{error}\n{text}")).as_words().into()
}

impl Input {
    fn new(name: &'static str, parts: Parts<'_>, want: fn(u32) -> u32) -> Input {
        Input {
            name,
            text: kernel(parts),
            entry: "main",
            spec: Vec::new(),
            push: Vec::new(),
            base: [0; 3],
            groups: N / 64,
            from: 0,
            want,
        }
    }

    /// Its call, twice: the second finds what the first has written.
    pub(crate) fn list(&self) -> List {
        let words = assembled(&self.text);
        let push: Vec<u8> = self.push.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (from, len) = (4 * u64::from(self.from), 4 * u64::from(N));
        let mut call = Call::new(&words, self.entry, [self.groups, 1, 1]).spec(&self.spec);
        call = call.arg((0, 0), 0, from, len - from).arg((0, 1), 1, 0, len).push(&push);
        call.vulkan.base = self.base;
        let bytes = |f: fn(u32) -> u32| (0..N).flat_map(|g| f(g).to_le_bytes()).collect();
        let buffers = vec![bytes(given), bytes(untouched)];
        List { name: self.name.to_owned(), calls: vec![call.clone(), call], buffers }
    }

    /// What the second buffer is in the end.
    pub(crate) fn wanted(&self) -> Vec<u32> {
        (0..N).map(self.want).collect()
    }
}

const CONSTANT: Parts<'_> = Parts {
    head: "",
    interface: "",
    modes: "",
    decorations: "OpDecorate %K SpecId 3",
    globals: "%K = OpSpecConstant %u 5",
    body: "%y = OpIAdd %u %x %K",
    behind: "",
};

/// Every input but those of [`of_spec_ids`].
pub(crate) fn all() -> Vec<Input> {
    let spec = |values: &[(u32, SpecValue)]| values.to_vec();
    let many = Parts {
        decorations: "OpDecorate %K SpecId 3\nOpDecorate %J SpecId 4\nOpDecorate %T SpecId 5\nOpDecorate %F SpecId 6",
        globals: "%f = OpTypeFloat 32
%K = OpSpecConstant %u 5
%J = OpSpecConstant %i -9
%T = OpSpecConstantTrue %bool
%F = OpSpecConstant %f 1.5
%i4 = OpConstant %i 4
%Q = OpSpecConstantOp %u IMul %K %u3
%D = OpSpecConstantOp %i SDiv %J %i4
%R = OpSpecConstantOp %i ShiftRightArithmetic %J %u1
%M = OpSpecConstantOp %i SRem %J %i4
%W = OpSpecConstantOp %u Select %T %Q %u1
%C = OpSpecConstantComposite %v3 %K %Q %W
%E = OpSpecConstantOp %u CompositeExtract %C 1
%V = OpSpecConstantOp %v3 VectorShuffle %C %C 5 0 1
%Z = OpSpecConstantOp %u CompositeExtract %V 0
%L = OpSpecConstantOp %bool UGreaterThan %K %u3
%P = OpSpecConstantOp %bool LogicalAnd %L %T",
        body: "%d = OpBitcast %u %D
%r = OpBitcast %u %R
%m = OpBitcast %u %M
%b = OpBitcast %u %F
%n = OpNot %u %x
%s0 = OpSelect %u %P %x %n
%s1 = OpIAdd %u %s0 %d
%s2 = OpBitwiseXor %u %s1 %r
%s3 = OpIAdd %u %s2 %m
%s4 = OpIAdd %u %s3 %E
%s5 = OpIMul %u %s4 %Z
%y = OpIAdd %u %s5 %b",
        ..Parts::default()
    };
    fn many_of(g: u32, k: u32, j: i32, t: bool, f: f32) -> u32 {
        let (q, x) = (k.wrapping_mul(3), given(g));
        let w = if t { q } else { 1 };
        let x = if k > 3 && t { x } else { !x };
        let x = x.wrapping_add((j / 4) as u32) ^ (j >> 1) as u32;
        let x = x.wrapping_add((j % 4) as u32).wrapping_add(q).wrapping_mul(w);
        x.wrapping_add(f.to_bits())
    }
    let array = Parts {
        decorations: "OpDecorate %K SpecId 3\nOpDecorate %own ArrayStride 4\nOpMemberDecorate %T 0 Offset 0\nOpDecorate %T Block\n\
                      OpDecorate %X DescriptorSet 0\nOpDecorate %X Binding 0",
        interface: "%X",
        globals: "%K = OpSpecConstant %u 5
%own = OpTypeArray %u %K
%T = OpTypeStruct %own
%pT = OpTypePointer StorageBuffer %T
%X = OpVariable %pT StorageBuffer
%kept = OpTypeArray %u %K
%pk = OpTypePointer Function %kept
%pf = OpTypePointer Function %u",
        body: "%tmp = OpVariable %pk Function
%at = OpUMod %u %g %K
%xp = OpAccessChain %pi %X %u0 %at
%v = OpLoad %u %xp
%tp = OpAccessChain %pf %tmp %at
OpStore %tp %v
%w = OpLoad %u %tp
%y = OpIAdd %u %w %x",
        ..Parts::default()
    };
    // The variable comes first in its block.
    let array = kernel(array);
    let variable = "%tmp = OpVariable %pk Function\n";
    let array = array.replace(variable, "").replace("%l0 = OpLabel\n", &format!("%l0 = OpLabel\n{variable}"));
    let sized = |modes: &'static str, decorations: &'static str, globals: &'static str| Parts {
        interface: "%wid %lid",
        modes,
        decorations,
        globals,
        body: "%wp = OpAccessChain %pu %wid %u0
%wx = OpLoad %u %wp
%lp = OpAccessChain %pu %lid %u0
%lx = OpLoad %u %lp
%w1 = OpIMul %u %wx %u1000
%y = OpIAdd %u %w1 %lx",
        ..Parts::default()
    };
    let by_id = sized(
        "OpExecutionModeId %main LocalSizeId %K %u1 %u1",
        "OpDecorate %wid BuiltIn WorkgroupId\nOpDecorate %lid BuiltIn LocalInvocationId\nOpDecorate %K SpecId 3",
        "%wid = OpVariable %pv3 Input\n%lid = OpVariable %pv3 Input\n%u1000 = OpConstant %u 1000\n%K = OpSpecConstant %u 64",
    );
    let by_builtin = sized(
        "OpExecutionMode %main LocalSize 4 1 1",
        "OpDecorate %wid BuiltIn WorkgroupId\nOpDecorate %lid BuiltIn LocalInvocationId\nOpDecorate %K SpecId 3\n\
         OpDecorate %size BuiltIn WorkgroupSize",
        "%wid = OpVariable %pv3 Input\n%lid = OpVariable %pv3 Input\n%u1000 = OpConstant %u 1000\n\
         %K = OpSpecConstant %u 64\n%size = OpSpecConstantComposite %v3 %K %u1 %u1",
    );
    let pushed = Parts {
        interface: "%P",
        decorations: "OpDecorate %PC Block\nOpMemberDecorate %PC 0 Offset 4\nOpMemberDecorate %PC 1 Offset 12",
        globals: "%PC = OpTypeStruct %u %u
%pPC = OpTypePointer PushConstant %PC
%ppu = OpTypePointer PushConstant %u
%P = OpVariable %pPC PushConstant",
        body: "%p0 = OpAccessChain %ppu %P %u0
%p1 = OpAccessChain %ppu %P %u1
%a0 = OpLoad %u %p0
%a1 = OpLoad %u %p1
%t = OpIMul %u %x %a0
%y = OpIAdd %u %t %a1",
        ..Parts::default()
    };
    let two = Parts {
        body: "%y = OpIAdd %u %x %u1",
        behind: "%second = OpFunction %void None %fn
%m0 = OpLabel
%hp = OpAccessChain %pu %gid %u0
%h = OpLoad %u %hp
%cp = OpAccessChain %pi %A %u0 %h
%c = OpLoad %u %cp
%e = OpIMul %u %c %u3
%dp = OpAccessChain %pi %B %u0 %h
OpStore %dp %e
OpReturn
OpFunctionEnd",
        ..Parts::default()
    };
    let entry = "OpEntryPoint GLCompute %second \"another one\" %gid %A %B\nOpExecutionMode %second LocalSize 32 1 1\n";
    let two = kernel(two).replace(
        "OpExecutionMode %main LocalSize 64 1 1\n",
        &format!("{entry}OpExecutionMode %main LocalSize 64 1 1\n"),
    );
    // Entry points come before execution modes.
    let mode = "OpExecutionMode %second LocalSize 32 1 1\n";
    let two = two.replace(mode, "").replace("OpDecorate %gid", &format!("{mode}OpDecorate %gid"));
    let plain = Parts { body: "%y = OpIMul %u %x %u3", ..Parts::default() };
    vec![
        Input::new("a default", CONSTANT, |g| given(g).wrapping_add(5)),
        Input {
            spec: spec(&[(3, SpecValue::U32(100)), (77, SpecValue::U32(1))]),
            ..Input::new("a value", CONSTANT, |g| given(g).wrapping_add(100))
        },
        Input::new("constants by operations", many, |g| many_of(g, 5, -9, true, 1.5)),
        Input {
            spec: spec(&[
                (6, SpecValue::F32(-0.0)),
                (4, SpecValue::I32(-7)),
                (3, SpecValue::U32(0x7000_0001)),
                (5, SpecValue::Bool(false)),
            ]),
            ..Input::new("constants by operations, given", many, |g| many_of(g, 0x7000_0001, -7, false, -0.0))
        },
        Input {
            text: array.clone(),
            ..Input::new("arrays of a default length", plain, |g| given(g % 5).wrapping_add(given(g)))
        },
        Input {
            text: array,
            spec: spec(&[(3, SpecValue::U32(7))]),
            ..Input::new("arrays of a given length", plain, |g| given(g % 7).wrapping_add(given(g)))
        },
        Input::new("LocalSizeId", by_id, |g| g / 64 * 1000 + g % 64),
        Input {
            spec: spec(&[(3, SpecValue::U32(16))]),
            groups: N / 16,
            ..Input::new("LocalSizeId, given", by_id, |g| g / 16 * 1000 + g % 16)
        },
        Input::new("WorkgroupSize", by_builtin, |g| g / 64 * 1000 + g % 64),
        Input {
            spec: spec(&[(3, SpecValue::U32(32))]),
            groups: N / 32,
            ..Input::new("WorkgroupSize, given", by_builtin, |g| g / 32 * 1000 + g % 32)
        },
        Input {
            push: vec![11, 13, 17, 19],
            ..Input::new("push constants with offsets", pushed, |g| {
                given(g).wrapping_mul(13).wrapping_add(19)
            })
        },
        Input {
            text: two.clone(),
            ..Input::new("the first entry point", plain, |g| given(g).wrapping_add(1))
        },
        Input {
            text: two,
            entry: "another one",
            groups: N / 32,
            ..Input::new("the second entry point", plain, |g| given(g).wrapping_mul(3))
        },
        Input {
            groups: 2,
            from: 64,
            ..Input::new("a range that begins later", plain, |g| match g {
                0..128 => given(g + 64).wrapping_mul(3),
                _ => untouched(g),
            })
        },
        Input {
            base: [1, 0, 0],
            groups: 2,
            ..Input::new("work-groups that begin later", plain, |g| match g {
                64..192 => given(g).wrapping_mul(3),
                _ => untouched(g),
            })
        },
    ]
}

/// Inputs whose `SpecId` is not a decoration of one constant of its own.
pub(crate) fn of_spec_ids() -> Vec<Input> {
    let by_group = Parts {
        decorations: "OpDecorate %grp SpecId 3\n%grp = OpDecorationGroup\nOpGroupDecorate %grp %K",
        ..CONSTANT
    };
    let shared = Parts {
        decorations: "OpDecorate %K SpecId 3\nOpDecorate %J SpecId 3",
        globals: "%K = OpSpecConstant %u 5\n%J = OpSpecConstant %u 64",
        body: "%t = OpIMul %u %x %K\n%y = OpIAdd %u %t %J",
        ..Parts::default()
    };
    let given_value = vec![(3, SpecValue::U32(100))];
    vec![
        Input::new("a default by a group", by_group, |g| given(g).wrapping_add(5)),
        Input {
            spec: given_value.clone(),
            ..Input::new("a value by a group", by_group, |g| given(g).wrapping_add(100))
        },
        Input::new("two defaults of one SpecId", shared, |g| given(g).wrapping_mul(5).wrapping_add(64)),
        Input {
            spec: given_value,
            ..Input::new("a value for two constants", shared, |g| {
                given(g).wrapping_mul(100).wrapping_add(100)
            })
        },
    ]
}

/// Kernels whose bits may differ under strict floats, on a driver that simplifies: `(x + 3) - x`, which is `3` unless it is rounded twice, and
/// what is multiplied by one of two constants, which is zero or what it was. Their results are the driver's own.
pub(crate) fn of_floats() -> [Input; 2] {
    let sum = Parts {
        globals: "%f = OpTypeFloat 32\n%f3 = OpConstant %f 3",
        body: "%v = OpConvertUToF %f %x
%s = OpFAdd %f %v %f3
%d = OpFSub %f %s %v
%y = OpBitcast %u %d",
        ..Parts::default()
    };
    let choice = Parts {
        globals: "%f = OpTypeFloat 32\n%f0 = OpConstant %f 0\n%f1 = OpConstant %f 1\n%top = OpConstant %u 0x7f800000
%k = OpConstant %u 0x2000000",
        body: "%w = OpBitwiseOr %u %x %top
%v = OpBitcast %f %w
%c = OpULessThan %bool %x %k
%z = OpSelect %f %c %f0 %f0
%p = OpFMul %f %v %z
%y = OpBitcast %u %p",
        ..Parts::default()
    };
    [
        Input::new("a sum and its difference", sum, |_| 0),
        Input::new("an infinity times a choice of zeros", choice, |_| 0),
    ]
}

/// The size of the sub-group.
pub(crate) fn of_subgroups() -> Input {
    let parts = Parts {
        head: "OpCapability GroupNonUniform",
        interface: "%size",
        decorations: "OpDecorate %size BuiltIn SubgroupSize",
        globals: "%size = OpVariable %pu Input",
        body: "%y = OpLoad %u %size",
        ..Parts::default()
    };
    Input::new("the size of sub-groups", parts, |_| 0)
}
