//! What an engine that fuses on the user's word gets wrong, one probe for each weakness that a plan can show;
//! `docs/weaknesses.md` lists them all. The others, which take a device, are in `fusion/tests/engine/weaknesses.rs`.

use std::collections::HashSet;
use std::sync::Arc;

use rspirv::binary::Assemble as _;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Capability, ExecutionMode, Op};
use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::kernel::{Kernel, Module, Specialized};
use vkfuse_jit::plan::{Internalization, Limits, Promote};

use super::lab::{Checked, Lab, kernel, load};

fn copy() -> String {
    kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;")
}

/// The kernel with one more execution mode, its parameters, and what that mode takes.
fn with_mode(
    text: &str,
    mode: &[Operand],
    capability: Option<Capability>,
    extension: &str,
) -> Arc<Specialized> {
    let module = Module::from_wgsl("probe", text).expect("compiles");
    let mut module = rspirv::dr::load_words(module.words()).expect("parses");
    if let Some(capability) = capability {
        let operands = vec![Operand::Capability(capability)];
        module.capabilities.push(Instruction::new(Op::Capability, None, None, operands));
    }
    let operands = vec![Operand::LiteralString(extension.to_owned())];
    module.extensions.push(Instruction::new(Op::Extension, None, None, operands));
    let entry = module.entry_points[0].operands[1].clone();
    let operands = [entry].into_iter().chain(mode.iter().cloned()).collect();
    module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, operands));
    let module = Module::from_words("probe", &module.assemble()).expect("valid");
    Kernel::new(&module, None).expect("one entry point").specialize(&[]).expect("no constants")
}

probes! {
    fn w01_renumbering_keeps_linear_order() {
        let line = kernel("a z", "16", "z[gid.x] = gid.x + a[0];");
        let square = kernel("a z", "4, 4", "z[gid.y * 4u + gid.x] = a[gid.y * 4u + gid.x] * 2u;");
        Lab::new(16)
            .promote(1, Promote::Private)
            .submit(&line, [1, 1, 1], &[0, 1], &[])
            .submit(&square, [1, 1, 1], &[1, 2], &[])
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
    }

    /// Eight elements, four invocations, each with elements k and k + 4.
    fn w02_slots_follow_from_the_index() {
        let write = kernel("a z", "4", "z[gid.x] = a[gid.x]; z[gid.x + 4u] = a[gid.x + 4u] + 50u;");
        let read = kernel("a z", "4", "z[gid.x] = a[gid.x] * 3u + a[gid.x + 4u];");
        Lab::new(8)
            .promote(1, Promote::Private)
            .submit(&write, [1, 1, 1], &[0, 1], &[])
            .submit(&read, [1, 1, 1], &[1, 2], &[])
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
    }

    /// Another size is the same kernel, and gets its own numbers.
    fn w03_sizes_are_not_built_in() {
        let text = kernel("a z", "8", "if (gid.x < p.x) { z[gid.x] = a[gid.x] + nwg.x; }");
        let plan = |groups: u32, n: u32| {
            let lab = Lab::new(512)
                .submit(&text, [groups, 1, 1], &[0, 1], &[n])
                .submit(&text, [groups, 1, 1], &[1, 2], &[n]);
            lab.check().fused(0).plan
        };
        let (large, small) = (plan(64, 500), plan(32, 250));
        assert_eq!(large.steps[0].key, small.steps[0].key);
        assert_ne!(large.steps[0].groups, small.steps[0].groups);
    }

    /// Sixteen by sixteen elements in tiles of four by four, each turned inside, and a guard by the buffer's length.
    fn w04_tiles_keep_their_shape_and_buffers_their_length() {
        let write = kernel("a z", "4, 4", "let i = gid.y * 16u + gid.x; z[i] = a[i] + arrayLength(&z);");
        let read = kernel(
            "a z",
            "4, 4",
            "let at = (wid.y * 4u + lid.x) * 16u + wid.x * 4u + lid.y; \
             if (at < arrayLength(&a)) { z[gid.y * 16u + gid.x] = a[at] * arrayLength(&a); }",
        );
        for promote in [Promote::None, Promote::Local, Promote::Auto] {
            let checked = Lab::new(256)
                .promote(1, promote)
                .submit(&write, [4, 4, 1], &[0, 1], &[])
                .submit(&read, [4, 4, 1], &[1, 2], &[])
                .check()
                .fused(1);
            if promote == Promote::Local {
                // Its rows lie apart: shared memory is for what is in one piece.
                assert!(matches!(checked.refused(1), Reason::OldContents { .. }));
            }
        }
        // In one piece, a tile has as many slots as elements.
        let own = "(wid.y * nwg.x + wid.x) * 16u + lid.y * 4u + lid.x";
        let turned = "(wid.y * nwg.x + wid.x) * 16u + lid.x * 4u + lid.y";
        let write = kernel("a z", "4, 4", &format!("let i = {own}; z[i] = a[i] + arrayLength(&z);"));
        let read = kernel("a z", "4, 4", &format!("z[{own}] = a[{turned}] * arrayLength(&a);"));
        Lab::new(256)
            .promote(1, Promote::Local)
            .submit(&write, [4, 4, 1], &[0, 1], &[])
            .submit(&read, [4, 4, 1], &[1, 2], &[])
            .check()
            .fused(1)
            .inside(1, Internalization::Local);
    }

    /// Two small members that exchange in shared memory, and a larger one.
    fn w05_shared_memory_is_sized_by_its_own_members() {
        let mirror = kernel("a z", "8", "z[gid.x] = a[wid.x * 8u + 7u - lid.x];");
        let wide = kernel("a z", "8", "z[gid.x] = a[gid.x] + wid.x;");
        Lab::new(128)
            .promote(1, Promote::Local)
            .submit(&wide, [4, 1, 1], &[0, 1], &[])
            .submit(&mirror, [4, 1, 1], &[1, 2], &[])
            .submit(&wide, [8, 1, 1], &[0, 3], &[])
            .check()
            .fused(1)
            .inside(1, Internalization::Local);
    }

    /// Three elements of each invocation, addressed from the end.
    fn w08_backward_steps_stay_in_their_slot() {
        let write = kernel("a z", "8", "let e = 3u * gid.x + 3u; z[e - 1u] = a[gid.x]; z[e - 2u] = 7u; z[e - 3u] = gid.x;");
        let read = kernel("a z", "8", "let e = 3u * gid.x; z[gid.x] = a[e] + 10u * a[e + 1u] + 100u * a[e + 2u];");
        Lab::new(128)
            .promote(1, Promote::Private)
            .submit(&write, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0)
            .inside(1, Internalization::Private);
    }

    /// The first dimension stays the fastest: neighbours in a line are neighbours in a row, not in a column.
    fn w09_neighbours_stay_neighbours() {
        let line = kernel("a z", "16", "z[gid.x] = a[gid.x] + 1u;");
        let square = |index: &str| kernel("a z", "4, 4", &format!("let i = {index}; z[i] = a[i] * 2u;"));
        let lab = |index: &str| {
            Lab::new(64)
                .submit(&line, [4, 1, 1], &[0, 1], &[])
                .submit(&square(index), [2, 2, 1], &[1, 2], &[])
                .check()
        };
        lab("gid.y * 8u + gid.x").fused(0);
        lab("gid.x * 8u + gid.y").split(2, Write, Read);
    }

    fn w10_what_a_later_kernel_writes_is_not_read_only() {
        let checked = Lab::new(32)
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&copy(), [4, 1, 1], &[1, 0], &[])
            .check()
            .fused(0);
        let bound = checked.plan.steps[0].bindings.iter().find(|b| b.buffer.0 == 0).expect("bound");
        assert!(bound.reads && bound.writes);
    }

    fn w11_dataflow_between_groups_splits() {
        for read in ["p.x - 1u - gid.x", "min(gid.x + 1u, p.x - 1u)"] {
            let reader = kernel("a z", "8", &format!("z[gid.x] = a[gid.x] + a[{read}];"));
            Lab::new(256)
                .promote(1, Promote::Auto)
                .submit(&copy(), [32, 1, 1], &[0, 1], &[256])
                .submit(&reader, [32, 1, 1], &[1, 2], &[256])
                .check()
                .split(2, Write, Read);
        }
    }

    /// Only even elements are written, all are read.
    fn w12_what_was_never_written_is_not_promoted() {
        let even = kernel("a z", "8", "if (gid.x % 2u == 0u) { z[gid.x] = a[gid.x]; }");
        let checked = Lab::new(32)
            .promote(1, Promote::Private)
            .submit(&even, [4, 1, 1], &[0, 1], &[])
            .submit(&copy(), [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
        assert!(matches!(checked.refused(1), Reason::OldContents { .. }));
    }

    /// Two modules of one name with one entry point name and equally named functions.
    fn w13_kernels_are_told_apart_by_content() {
        let with = |body: &str| {
            kernel("a z", "8", &format!("fn f(x: u32) -> u32 {{ return {body}; }}---z[gid.x] = f(a[gid.x]);"))
        };
        Lab::new(32)
            .submit(&with("x + 1u"), [4, 1, 1], &[0, 1], &[])
            .submit(&with("x * 3u"), [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
    }

    /// Invocations that leave early still come to the barrier between the kernels.
    fn w15_an_early_return_does_not_skip_a_barrier() {
        let early = kernel("a z", "8", "if (gid.x >= p.x) { return; } z[gid.x] = a[gid.x] + 1u;");
        let mirror = kernel("a z", "8", "z[gid.x] = a[wid.x * 8u + 7u - lid.x];");
        Lab::new(32)
            .submit(&early, [4, 1, 1], &[0, 1], &[27])
            .submit(&mirror, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(1);
    }

    fn w16_a_counter_is_no_new_kernel() {
        let text = kernel("a z", "8", "z[gid.x] = a[gid.x] + p.x;");
        let keys: HashSet<_> = (2..12)
            .map(|counter| {
                let lab = Lab::new(32)
                    .submit(&text, [4, 1, 1], &[0, 1], &[counter])
                    .submit(&text, [4, 1, 1], &[1, 2], &[counter]);
                lab.check().fused(0).plan.steps[0].key
            })
            .collect();
        assert_eq!(keys.len(), 1);
    }

    /// Every promotion and every cut is answered for.
    fn w17_refusals_have_reasons() {
        let reader = kernel("a z", "8", "z[gid.x] = a[31u - gid.x];");
        let checked = Lab::new(32)
            .promote(1, Promote::Private)
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&reader, [4, 1, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
        assert_eq!(checked.refused(1), &Reason::NotFused);
        assert!(checked.plan.report.splits[0].detail.contains("submission 1"));
    }

    /// A demand on how the kernel runs is kept where all share it, and a reason not to fuse where they do not.
    fn w18_demands_on_the_pipeline_are_kept_or_refused() {
        let floats = kernel("a:f32 z:f32", "8", "z[gid.x] = a[gid.x] * 2.0;");
        let words = || load(&copy());
        let plain = || load(&floats);
        let flow = || {
            let mode = [Operand::ExecutionMode(ExecutionMode::SubgroupUniformControlFlowKHR)];
            with_mode(&floats, &mode, None, "SPV_KHR_subgroup_uniform_control_flow")
        };
        let float = || {
            let mode =
                [Operand::ExecutionMode(ExecutionMode::SignedZeroInfNanPreserve), Operand::LiteralBit32(32)];
            let capability = Some(Capability::SignedZeroInfNanPreserve);
            with_mode(&floats, &mode, capability, "SPV_KHR_float_controls")
        };
        let two = |first: Arc<Specialized>, second: Arc<Specialized>| {
            Lab::new(32)
                .submit_kernel(first, [4, 1, 1], &[0.into(), 1.into()], &[])
                .submit_kernel(second, [4, 1, 1], &[1.into(), 2.into()], &[])
                .check()
        };
        // How a kernel computes with floats is nothing to one that has none.
        let lists = [
            (two(flow(), flow()), "SubgroupUniformControlFlow"),
            (two(float(), float()), "SignedZeroInfNan"),
            (two(float(), words()), "SignedZeroInfNan"),
            (two(words(), float()), "SignedZeroInfNan"),
        ];
        for (checked, name) in lists {
            let checked = checked.fused(0);
            let words = checked.plan.steps[0].build().expect("stands");
            let module = rspirv::dr::load_words(words).expect("parses");
            let kept = |inst: &Instruction| inst.operands.iter().any(|o| o.to_string().contains(name));
            assert!(module.execution_modes.iter().any(kept), "{name} is lost");
        }
        let cut = |checked: Checked| {
            assert_eq!(checked.plan.steps.len(), 2);
            checked.plan.report.splits[0].reason.clone()
        };
        for (first, second) in [(flow(), plain()), (plain(), flow())] {
            assert!(matches!(cut(two(first, second)), Reason::ExecutionMode { .. }));
        }
        assert_eq!(cut(two(float(), plain())), Reason::FloatControls);
        // Nor does it bring two others together.
        let three = Lab::new(32)
            .submit_kernel(words(), [4, 1, 1], &[0.into(), 1.into()], &[])
            .submit_kernel(float(), [4, 1, 1], &[1.into(), 2.into()], &[])
            .submit_kernel(words(), [4, 1, 1], &[2.into(), 3.into()], &[])
            .submit_kernel(plain(), [4, 1, 1], &[3.into(), 0.into()], &[]);
        assert_eq!(cut(three.check()), Reason::FloatControls);
    }

    fn w19_shared_memory_over_the_limit_stays_in_memory() {
        let mirror = kernel("a z", "8", "z[gid.x] = a[wid.x * 8u + 7u - lid.x];");
        let mut lab = Lab::new(32).promote(1, Promote::Local);
        lab.limits = Limits { max_shared_bytes: 16, ..lab.limits };
        let checked = lab
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&mirror, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(1);
        assert_eq!(checked.refused(1), &Reason::SharedMemory { needed: 32, limit: 16 });
    }

    /// Reads of neighbours, then an update in place; two writes in opposite order.
    fn w21_anti_and_output_dependences_split() {
        let neighbours = kernel("a z", "8", "z[gid.x] = a[max(gid.x, 1u) - 1u] + a[min(gid.x + 1u, 31u)];");
        Lab::new(32)
            .submit(&neighbours, [4, 1, 1], &[0, 1], &[])
            .submit(&copy(), [4, 1, 1], &[1, 0], &[])
            .check()
            .split(2, Read, Write);
        let backwards = kernel("a z", "8", "z[31u - gid.x] = a[gid.x];");
        Lab::new(32)
            .submit(&copy(), [4, 1, 1], &[0, 1], &[])
            .submit(&backwards, [4, 1, 1], &[0, 1], &[])
            .check()
            .split(2, Write, Write);
    }
}
