//! What a buffer is seen as: a constant, several types side by side, memory that somebody vouches for.

use std::path::Path;
use std::sync::Arc;

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, MemoryModel, Op};
use vkfuse_jit::Reason;
use vkfuse_jit::analysis::Access;
use vkfuse_jit::kernel::{Kernel, KernelReason, Module, Specialized};
use vkfuse_jit::plan::{BarrierReason, Internalization, Policy, Promote, ShapeLimits};

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab, View, kernel, load};

fn copy() -> String {
    kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;")
}

/// Copies element `i` of a uniform buffer of 32 words.
fn from_uniform() -> String {
    "@group(0) @binding(0) var<uniform> u: array<vec4<u32>, 8>;
    @group(0) @binding(1) var<storage, read_write> z: array<u32>;
    @compute @workgroup_size(8)
    fn main(@builtin(global_invocation_id) gid: vec3<u32>) { z[gid.x] = u[gid.x / 4u][gid.x % 4u]; }"
        .to_owned()
}

fn part(buffer: u64, first: u64, len: u64) -> View {
    (buffer, first, len).into()
}

/// Demands two dispatches, because buffer 1 is written and a uniform buffer.
#[track_caller]
fn changes_a_constant(checked: Checked) {
    let report = &checked.plan.report;
    assert_eq!(checked.plan.steps.len(), 2, "{report:#?}");
    assert!(matches!(report.splits[0].reason, Reason::UniformWritten(_)), "{report:#?}");
    assert_eq!(report.splits[0].buffer.map(|b| b.0), Some(1));
}

/// A kernel of `tests/kernels`.
fn file(name: &str) -> Arc<Specialized> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kernels/{name}.spv"));
    let module = Module::from_bytes(name, &std::fs::read(file).expect("is there")).expect("is valid");
    Kernel::new(&module, None).expect("one entry point").specialize(&[]).expect("no constants")
}

/// In place, each element through a view of words and one of floats.
fn words() -> String {
    kernel("z", "8", "z[gid.x] = z[gid.x] * 3u + 1u;")
}

fn floats() -> String {
    kernel("z:f32", "8", "z[gid.x] = bitcast<f32>(bitcast<u32>(z[gid.x]) ^ 5u);")
}

probes! {
    /// Two structs with the same members are one type where a front end or an optimiser makes them one.
    fn push_constants_of_a_buffers_type_are_fused() {
        if !is_possible() {
            return;
        }
        for class in ["std140) uniform", "std430) buffer"] {
            let outside = format!("layout(set = 0, binding = 2, {class} U {{ uint ux, uy, uz, uw; }};---");
            let text = glsl("", "a z", "8", &(outside + "if (i < p.y) z[i] = a[i] * p.x + (uz | p.w);"));
            let checked = Lab::rewriting(32)
                .submit_views(&text, [4, 1, 1], &[0.into(), 1.into(), part(4, 0, 4)], &[3, 30, 0, 5])
                .submit_views(&text, [4, 1, 1], &[1.into(), 2.into(), part(4, 0, 4)], &[7, 32, 0, 6])
                .check();
            assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report);
        }
    }

    /// Reads of a uniform buffer may move across stores of the same invocation, in either direction.
    fn a_uniform_buffer_that_is_written_splits() {
        let list = |uniform: View, written: View| {
            let lab = || Lab::new(128);
            let before = lab()
                .submit_views(&copy(), [4, 1, 1], &[0.into(), written], &[])
                .submit_views(&from_uniform(), [4, 1, 1], &[uniform, 2.into()], &[]);
            let after = lab()
                .submit_views(&from_uniform(), [4, 1, 1], &[uniform, 2.into()], &[])
                .submit_views(&copy(), [4, 1, 1], &[0.into(), written], &[]);
            [before, after]
        };
        let [before, after] = list(part(1, 0, 32), part(1, 0, 32));
        changes_a_constant(before.check());
        changes_a_constant(after.check());
        // Some bytes are shared, of other invocations or of none that is known.
        for lab in list(part(1, 0, 32), part(1, 16, 32)) {
            changes_a_constant(lab.check());
        }
        for lab in list(part(1, 0, 32), part(1, 32, 32)) {
            lab.check().fused(0);
        }
    }

    /// Nor does trust help: a barrier orders no constant.
    fn a_uniform_buffer_that_is_written_splits_under_trust() {
        let mut lab = Lab::new(128)
            .submit_views(&copy(), [4, 1, 1], &[0.into(), part(1, 16, 32)], &[])
            .submit_views(&from_uniform(), [4, 1, 1], &[part(1, 0, 32), 2.into()], &[]);
        lab.options.policy = Policy::Trust;
        changes_a_constant(lab.check());
    }

    /// The same access through a storage buffer does not hide the one through a uniform buffer.
    fn a_uniform_read_beside_a_storage_read_of_the_same_bytes_splits() {
        let both = "@group(0) @binding(0) var<uniform> u: array<vec4<u32>, 8>;
            @group(0) @binding(1) var<storage, read> a: array<vec4<u32>, 8>;
            @group(0) @binding(2) var<storage, read_write> z: array<vec4<u32>>;
            @compute @workgroup_size(8)
            fn main(@builtin(global_invocation_id) gid: vec3<u32>) { z[gid.x] = a[gid.x] + u[gid.x]; }";
        let write = kernel("z:vec4<u32>", "8", "z[gid.x] = vec4(gid.x);");
        let checked = Lab::new(32)
            .submit(both, [1, 1, 1], &[1, 1, 2], &[])
            .submit(&write, [1, 1, 1], &[1], &[])
            .check();
        changes_a_constant(checked);
    }

    fn uniform_buffers_that_nobody_writes_fuse() {
        Lab::new(32)
            .submit(&from_uniform(), [4, 1, 1], &[0, 1], &[])
            .submit(&from_uniform(), [4, 1, 1], &[0, 2], &[])
            .submit(&copy(), [4, 1, 1], &[0, 3], &[])
            .check()
            .fused(0);
    }

    /// What is stated about the variables is checked with every list; here they see one place as two types.
    fn views_of_two_types_are_aliased_and_coherent() {
        Lab::new(32)
            .submit(&words(), [4, 1, 1], &[1], &[])
            .submit(&floats(), [4, 1, 1], &[1], &[])
            .submit(&words(), [4, 1, 1], &[1], &[])
            .check()
            .fused(0);
    }

    /// Four elements at a time: a store of floats between two uses of the same words.
    fn vectors_of_two_types_are_aliased_and_coherent() {
        for whole in [128, 112] {
            let guarded = |names: &str, body: &str| {
                kernel(names, "8", &format!("if (gid.x >= p.x) {{ return; }} {body}"))
            };
            let words = guarded("z", "z[gid.x] = z[gid.x] * 3u + 1u;");
            let floats = guarded("z:f32", "z[gid.x] = bitcast<f32>(bitcast<u32>(z[gid.x]) ^ 5u);");
            let set = guarded("a:f32 z:f32", "z[gid.x] = a[gid.x];");
            let mut lab = Lab::new(128)
                .submit(&words, [16, 1, 1], &[1], &[whole])
                .submit(&set, [16, 1, 1], &[0, 1], &[whole])
                .submit(&words, [16, 1, 1], &[1], &[whole])
                .submit(&floats, [16, 1, 1], &[1], &[whole]);
            lab.limits.shape = ShapeLimits { group_size: 8, items: 4, vectors: true, ..ShapeLimits::default() };
            let checked = lab.check().fused(0);
            assert_eq!(checked.plan.report.groups[0].items_per_invocation, 4);
        }
    }

    /// Ranges that overlap are two bindings, and what is said of each holds for both.
    fn overlapping_ranges_are_aliased_and_coherent() {
        Lab::new(64)
            .submit_views(&words(), [4, 1, 1], &[part(1, 0, 32)], &[])
            .submit_views(&words(), [4, 1, 1], &[part(1, 0, 64)], &[])
            .submit_views(&copy(), [4, 1, 1], &[part(1, 0, 32), 2.into()], &[])
            .check()
            .fused(0);
    }

    /// Ranges that one kernel has bound, where it writes one of them. Equal ones, ones apart and ones that are only read are followed.
    fn ranges_of_one_kernel_that_overlap_in_part_keep_it_alone() {
        let add = kernel("a b z", "8", "z[gid.x] = a[gid.x] + b[gid.x];");
        let lab = |a: View, b: View, z: View| {
            Lab::new(64)
                .submit_views(&words(), [2, 1, 1], &[part(1, 32, 16)], &[])
                .submit_views(&add, [2, 1, 1], &[a, b, z], &[])
                .submit_views(&copy(), [2, 1, 1], &[part(1, 0, 16), part(2, 0, 16)], &[])
                .check()
        };
        for (a, b, z) in [
            (part(1, 32, 32), part(3, 0, 16), part(1, 0, 48)),
            (part(3, 0, 16), part(1, 32, 16), part(1, 0, 64)),
            (part(1, 16, 32), part(1, 32, 16), part(1, 0, 24)),
            (part(1, 0, 64), part(1, 32, 32), part(1, 48, 16)),
            (part(1, 32, 16), part(1, 32, 16), part(1, 0, 33)),
        ] {
            let checked = lab(a, b, z);
            assert_eq!(checked.plan.steps.len(), 3, "{:#?}", checked.plan.report);
            for split in &checked.plan.report.splits {
                assert!(matches!(split.reason, Reason::Overlap { .. }), "{}", split.reason);
            }
        }
        for (a, b, z) in [
            (part(1, 32, 32), part(1, 32, 16), part(1, 0, 16)),
            (part(1, 0, 16), part(1, 0, 16), part(1, 0, 16)),
            (part(3, 0, 48), part(3, 8, 16), part(1, 0, 16)),
        ] {
            lab(a, b, z).fused(0);
        }
    }

    /// Submissions without work-groups are no members, at whatever place, and nothing that they would write is written.
    fn submissions_without_work_groups_are_no_members() {
        let zeros = [[0, 1, 1], [4, 0, 1], [4, 1, 0], [0, 0, 0], [0, u32::MAX, 1]];
        for (place, groups) in zeros.into_iter().enumerate() {
            let mut lab = Lab::new(32).promote(1, Promote::Private).promote(4, Promote::Auto);
            for at in 0..4 {
                if at == place % 4 {
                    lab = lab
                        .submit(&copy(), groups, &[2, 0], &[])
                        .submit(&copy(), groups, &[3, 1], &[])
                        .submit(&copy(), groups, &[0, 4], &[]);
                }
                if at < 3 {
                    lab = lab.submit(&copy(), [4, 1, 1], &[[0, 1], [1, 2], [2, 3]][at], &[]);
                }
            }
            let checked = lab.check().fused(0).inside(1, Internalization::Private);
            assert_eq!(checked.refused(4), &Reason::NoWorkGroups);
            let members: Vec<usize> = checked.plan.steps[0].members.iter().copied().collect();
            let wanted = (0..6).filter(|at| !(place % 4..place % 4 + 3).contains(at));
            assert_eq!(members, wanted.collect::<Vec<_>>());
        }
        // What only they write is not written.
        let checked = Lab::new(32)
            .promote(1, Promote::Private)
            .submit(&copy(), [0, 1, 1], &[0, 1], &[])
            .submit(&copy(), [4, 1, 1], &[1, 2], &[])
            .submit(&copy(), [4, 1, 1], &[2, 3], &[])
            .check()
            .fused(0);
        assert!(matches!(checked.refused(1), Reason::OldContents { submission: 1, .. }));
        let none = Lab::new(32).submit(&copy(), [0, 1, 1], &[0, 1], &[]).submit(&copy(), [4, 0, 1], &[1, 2], &[]);
        assert!(none.check().plan.steps.is_empty());
    }

    /// A hand-over without its barrier rests on the user's word alone, and is listed.
    fn a_barrier_that_is_switched_off_is_trusted() {
        let mirror = kernel("a z", "8", "z[gid.x] = a[wid.x * 8u + 7u - lid.x];");
        let lab = |no_barriers| {
            let mut lab = Lab::new(32)
                .submit(&copy(), [4, 1, 1], &[0, 1], &[])
                .submit(&copy(), [4, 1, 1], &[0, 2], &[])
                .submit(&mirror, [4, 1, 1], &[1, 3], &[])
                .submit(&copy(), [4, 1, 1], &[3, 4], &[]);
            lab.options.policy = Policy::Trust;
            lab.options.no_barriers = no_barriers;
            lab
        };
        let with = lab(false).check().fused(1);
        assert!(with.plan.report.trusted.is_empty());
        // Without its barrier the list races: it is planned and not run.
        let without = lab(true).planned().fused(0);
        let trusted = &without.plan.report.trusted;
        let listed: Vec<_> =
            trusted.iter().map(|t| (t.first, t.second, t.buffer.map(|b| b.0), &t.reason)).collect();
        assert_eq!(listed, [(0, 2, Some(1), &Reason::BarrierSwitchedOff)]);
        let reasons = without.plan.report.groups[0].barriers.iter().map(|b| b.reason);
        assert!(reasons.into_iter().any(|reason| reason == BarrierReason::SwitchedOff));
    }

    /// An exchange inside one member that is trusted is ordered by the member's barrier in shared memory as well.
    fn a_trusted_exchange_is_ordered_by_the_kernels_own_barrier() {
        let exchange = kernel(
            "a y z",
            "8",
            "y[gid.x] += 1u; storageBarrier(); z[gid.x] = y[wid.x * 8u + min(a[gid.x] / 8u, 15u)];",
        );
        let mut lab = Lab::new(64)
            .promote(1, Promote::Local)
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&exchange, [4, 1, 1], &[0, 1, 2], &[]);
        lab.options.policy = Policy::Trust;
        let checked = lab.check().fused(1).inside(1, Internalization::Local);
        assert!(!checked.plan.report.trusted.is_empty());
    }

    /// Whatever model a kernel declares, fused ones have one.
    fn kernels_of_the_vulkan_memory_model_share_buffers() {
        let kernel = file("vulkan_memory");
        let checked = Lab::new(32)
            .submit_kernel(kernel.clone(), [4, 1, 1], &[0.into(), 1.into()], &[])
            .submit(&words(), [4, 1, 1], &[1], &[])
            .submit_kernel(kernel, [4, 1, 1], &[1.into(), 3.into()], &[])
            .check()
            .fused(0);
        let words = checked.plan.steps[0].build().expect("the module stands");
        let module = rspirv::dr::load_words(words).expect("a module");
        let model = module.memory_model.as_ref().expect("there is one");
        assert_eq!(model.operands[1], Operand::MemoryModel(MemoryModel::GLSL450));
        let says = |o: &Operand| matches!(o, Operand::MemoryAccess(_));
        assert!(module.all_inst_iter().all(|inst| !inst.operands.iter().any(says)));
    }

    /// Of an access that states its availability, and of one that is not private where a barrier orders it, other invocations
    /// may see what it does.
    fn what_others_may_see_of_a_kernel_of_the_vulkan_memory_model_is_coherent() {
        if !is_possible() {
            return;
        }
        let semantics = "gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible";
        let buffers =
            format!("controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, {semantics});");
        let shared =
            format!("controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared, {semantics});");
        for (qualifier, barrier, coherent) in [
            ("coherent", "", true),
            ("workgroupcoherent", "", true),
            ("nonprivate", &*buffers, true),
            ("nonprivate", &*shared, false),
            ("nonprivate", "", false),
            ("", &*buffers, false),
        ] {
            let text = format!(
                "#version 450\n#pragma use_vulkan_memory_model\n#extension GL_KHR_memory_scope_semantics : enable\n\
                 layout(local_size_x = 8) in;\n\
                 layout(set = 0, binding = 0) readonly buffer A {{ uint a[]; }};\n\
                 layout(set = 0, binding = 1) {qualifier} buffer Z {{ uint z[]; }};\n\
                 void main() {{ uint i = gl_GlobalInvocationID.x; z[i] = a[i] + 1; {barrier} }}\n// "
            );
            let checked = Lab::new(32)
                .submit(&text, [4, 1, 1], &[0, 1], &[])
                .submit(&copy(), [4, 1, 1], &[2, 3], &[])
                .check()
                .fused(0);
            let words = checked.plan.steps[0].build().expect("the module stands");
            let module = rspirv::dr::load_words(words).expect("a module");
            let decorated = module.annotations.iter().any(|inst| {
                inst.operands.contains(&Operand::Decoration(Decoration::Coherent))
            });
            assert_eq!(decorated, coherent, "{text}");
        }
    }

    /// A driver may let a load from shared memory come before the store of the same invocation that it has to follow.
    fn what_an_invocation_reads_back_from_shared_memory_is_behind_a_memory_barrier() {
        let barriers = |promote: Promote, index: &str| {
            let checked = Lab::new(32)
                .promote(1, promote)
                .submit(&kernel("a z", "8", "z[gid.x] = a[gid.x] * 3u;"), [4, 1, 1], &[0, 1], &[])
                .submit(&kernel("a z", "8", &format!("z[gid.x] = a[{index}] + 1u;")), [4, 1, 1], &[1, 2], &[])
                .submit(&kernel("a b z", "8", "z[gid.x] = a[gid.x] ^ b[gid.x];"), [4, 1, 1], &[1, 2, 3], &[])
                .check()
                .fused(usize::from(index != "gid.x"));
            let words = checked.plan.steps[0].build().expect("the module stands");
            let module = rspirv::dr::load_words(words).expect("a module");
            let all: Vec<_> = module.all_inst_iter().collect();
            [Op::MemoryBarrier, Op::ControlBarrier].map(|op| all.iter().filter(|i| i.class.opcode == op).count())
        };
        assert_eq!(barriers(Promote::Local, "gid.x"), [2, 0]);
        // What comes behind the control barrier only loads.
        assert_eq!(barriers(Promote::Local, "gid.x ^ 1u"), [0, 1]);
        assert_eq!(barriers(Promote::Private, "gid.x"), [0, 0]);
        assert_eq!(barriers(Promote::None, "gid.x"), [0, 0]);
    }

    /// A driver may let a load of one invocation come before the store that it has to follow.
    fn what_a_kernel_reads_back_is_coherent() {
        let coherent = |body: &str| -> Vec<u32> {
            let checked = Lab::new(32)
                .submit(&kernel("a z", "8", body), [4, 1, 1], &[0, 1], &[])
                .submit(&kernel("b y", "8", "y[gid.x] = b[gid.x] + 1u;"), [4, 1, 1], &[2, 3], &[])
                .check()
                .fused(0);
            let words = checked.plan.steps[0].build().expect("the module stands");
            let module = rspirv::dr::load_words(words).expect("a module");
            let decorated = |what: Decoration| {
                let of = module.annotations.iter().filter(move |inst| inst.operands.get(1) == Some(&Operand::Decoration(what)));
                of.cloned().collect::<Vec<_>>()
            };
            let bindings = decorated(Decoration::Binding);
            let number = |id: &Operand| {
                let of = bindings.iter().find(|inst| inst.operands[0] == *id);
                of.and_then(|inst| match inst.operands[2] {
                    Operand::LiteralBit32(number) => Some(number),
                    _ => None,
                })
            };
            decorated(Decoration::Coherent).iter().filter_map(|inst| number(&inst.operands[0])).collect()
        };
        for body in [
            "z[gid.x] = a[gid.x]; if (z[gid.x] > 7u) { z[gid.x] = 3u; }",
            "for (var k = 0u; k < 4u; k++) { z[gid.x] += a[gid.x] + k; }",
            "if (a[gid.x] > 3u) { z[gid.x] = 1u; } z[gid.x] += 2u;",
        ] {
            assert_eq!(coherent(body), [1], "{body}");
        }
        for body in [
            "z[gid.x] += a[gid.x];",
            "if (a[gid.x] > 3u) { z[gid.x] += 1u; } else { z[gid.x] -= 1u; }",
            "var s = 0u; for (var k = 0u; k < 4u; k++) { s += z[gid.x] ^ k; } z[gid.x] = s;",
        ] {
            assert!(coherent(body).is_empty(), "{body}");
        }
    }

    /// The same holds where all accesses go through one pointer to a vector.
    fn what_members_hand_on_through_vectors_is_coherent() {
        let flat = |names: &str, value: &str| {
            kernel(names, "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} z[i] = {value};"))
        };
        let mut lab = Lab::rewriting(256);
        let shape = lab.limits.shape;
        lab.limits.shape =
            ShapeLimits { group_size: 64, items: 4, vectors: true, rounds: 1, least: 1, superword: 4, ..shape };
        let checked = lab
            .submit(&flat("a z", "a[i] * 3u"), [16, 1, 1], &[0, 1], &[256])
            .submit(&flat("a z", "a[i] + 1u"), [16, 1, 1], &[1, 2], &[256])
            .check()
            .fused(0);
        let words = checked.plan.steps[0].build().expect("the module stands");
        let module = rspirv::dr::load_words(words).expect("a module");
        let has = |id: &Operand, what: Decoration| {
            let mut all = module.annotations.iter();
            all.any(|inst| inst.operands[0] == *id && inst.operands[1] == Operand::Decoration(what))
        };
        let views = module.annotations.iter().filter(|inst| inst.operands[1] == Operand::Decoration(Decoration::Binding));
        let views: Vec<_> = views.map(|inst| (inst.operands[2].clone(), inst.operands[0].clone())).collect();
        let handed: Vec<_> = views.iter().filter(|(number, _)| *number == Operand::LiteralBit32(1)).collect();
        assert_eq!(handed.len(), 2, "elements and vectors: {views:?}");
        assert!(handed.iter().all(|(_, id)| has(id, Decoration::Coherent)), "{:?}", module.annotations);
        let others = views.iter().filter(|(number, _)| *number != Operand::LiteralBit32(1));
        assert!({ others }.all(|(_, id)| !has(id, Decoration::Coherent)), "{:?}", module.annotations);
    }

    fn kernels_of_the_vulkan_memory_model_have_a_barrier_between_them() {
        Lab::new(32)
            .submit_kernel(file("vulkan_memory"), [4, 1, 1], &[0.into(), 1.into()], &[])
            .submit_kernel(file("vulkan_memory_mirror"), [4, 1, 1], &[1.into(), 2.into()], &[])
            .check()
            .fused(1);
    }

    /// What the rewritten module cannot say keeps a kernel by itself.
    fn what_glsl_has_no_word_for_is_refused() {
        if !is_possible() {
            return;
        }
        let head = "#version 450\n#pragma use_vulkan_memory_model\n\
                    #extension GL_KHR_memory_scope_semantics : enable\n\
                    #extension GL_EXT_buffer_reference : enable\nlayout(local_size_x = 8) in;\n";
        let refused = |text: &str| match &load(&format!("{head}{text}\n// ")).normal {
            Err(Reason::Kernel(reason)) => reason.clone(),
            other => panic!("{text}: {:?}", other.as_ref().err()),
        };
        let volatile = "layout(set = 0, binding = 0) volatile buffer Z { uint z[]; };\n\
                        void main() { z[gl_GlobalInvocationID.x] = 1; }";
        assert!(matches!(refused(volatile), KernelReason::Volatile { .. }));
        let semantics = "layout(set = 0, binding = 0) buffer Z { uint z[]; };\n\
             void main() { atomicAdd(z[0], 1u, gl_ScopeQueueFamily, gl_StorageSemanticsBuffer, \
             gl_SemanticsAcquireRelease | gl_SemanticsVolatile); }";
        assert!(matches!(refused(semantics), KernelReason::Volatile { .. }));
        let address = "layout(buffer_reference, std430) coherent buffer R { uint v; };\n\
             layout(set = 0, binding = 0) buffer Z { R r; };\n\
             void main() { if (gl_GlobalInvocationID.x == 0) r.v = 1; }";
        assert!(matches!(refused(address), KernelReason::MemoryModel(_)));
    }

    /// Members of a structure that goes from hand to hand are loaded and stored one by one.
    fn structures_by_value_are_their_members() {
        if !is_possible() {
            return;
        }
        let text = |body: &str| {
            glsl(
                "",
                "a:E z:E",
                "8",
                &format!(
                    "struct I {{ uint k[2]; uint n; }}; struct E {{ I s; uvec2 v; }};\n===\n\
                     I up(I s) {{ s.k[1] += 3; return s; }}\n\
                     E turned(E e) {{ e.s = up(e.s); e.v = e.v.yx; return e; }}---{body}"
                ),
            )
        };
        for body in [
            "z[i] = turned(a[i]);",
            "E e = a[i]; if (e.s.n > 7) e = turned(e); z[i] = e;",
            "E e = a[i]; for (uint k = 0; k < 3; k++) e = turned(e); z[i] = e;",
            "E e = E(I(uint[2](0u, 1u), 2u), uvec2(0)); if (i > 3) e = a[i]; e.s.k[0] = i; z[i] = e;",
            "I s = a[i].s; z[i].s = up(s); z[i].v = uvec2(s.n, a[i].v.x);",
        ] {
            let text = text(body);
            let kernel = load(&text);
            let access = |access: &Access| access.size <= 8;
            let normal = kernel.normal.as_ref().expect("a normal form");
            assert!(normal.analysis.accesses.iter().all(access), "{body}: a whole structure is accessed");
            let (from, to) = ([0, 1], [1, 2]);
            Lab::new(48)
                .submit(&text, [1, 1, 1], &from, &[])
                .submit(&text, [1, 1, 1], &to, &[])
                .check()
                .fused(0);
        }
    }
}
