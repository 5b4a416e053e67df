//! The three hazards and atomics, each met by the same invocation, in the same work-group, and across.
//!
//! All kernels have work-groups of 8 and run 4 of them. The second access of each list goes through one of three
//! indices: the invocation's own element, the mirrored one of its group, the mirrored one of the whole range.

use rspirv::dr::Operand;
use rspirv::spirv::{MemorySemantics, Op, Scope};
use vkfuse_jit::analysis::AccessKind::{self, Atomic, Read, Write};
use vkfuse_jit::plan::Promote;

use super::lab::{Checked, Lab, kernel};

const OWN: &str = "gid.x";
const IN_GROUP: &str = "wid.x * 8u + 7u - lid.x";
const ACROSS: &str = "31u - gid.x";

/// A kernel that touches buffer `t` (and an output of its own) at `index`.
fn touching(kind: AccessKind, index: &str, factor: u32) -> String {
    match kind {
        Read => kernel("a z", "8", &format!("z[gid.x] = a[{index}] * {factor}u;")),
        Write => kernel("a z", "8", &format!("z[{index}] = a[gid.x] + {factor}u;")),
        Atomic => kernel("a z:atomic<u32>", "8", &format!("atomicAdd(&z[{index}], a[gid.x] + {factor}u);")),
    }
}

/// The two kernels on buffer 1, the second one through `index`.
fn pair(first: AccessKind, second: AccessKind, index: &str) -> Lab {
    let lab = Lab::new(32);
    let buffers = |kind, other| if kind == Read { [1, other] } else { [other, 1] };
    lab.submit(&touching(first, OWN, 3), [4, 1, 1], &buffers(first, 0), &[]).submit(
        &touching(second, index, 5),
        [4, 1, 1],
        &buffers(second, 2),
        &[],
    )
}

fn same_invocation(first: AccessKind, second: AccessKind) {
    pair(first, second, OWN).check().fused(0);
}

fn same_group(first: AccessKind, second: AccessKind) {
    pair(first, second, IN_GROUP).check().fused(1);
}

fn across(first: AccessKind, second: AccessKind) {
    pair(first, second, ACROSS).check().split(2, first, second);
}

impl Checked {
    /// Demands control barriers with the memory scope of the work-group, in the order of the module; each says whether it orders buffers too.
    #[track_caller]
    pub(crate) fn ordering(&self, buffers: &[bool]) {
        let module = self.module();
        let number = |operand: &Operand| {
            let id = operand.id_ref_any().expect("an id");
            let constant = module.types_global_values.iter().find(|inst| inst.result_id == Some(id));
            match constant.expect("a constant").operands[0] {
                Operand::LiteralBit32(number) => number,
                ref other => panic!("{other:?}"),
            }
        };
        let barriers: Vec<(u32, MemorySemantics)> = { module.all_inst_iter() }
            .filter(|inst| inst.class.opcode == Op::ControlBarrier)
            .map(|inst| {
                let semantics = MemorySemantics::from_bits_truncate(number(&inst.operands[2]));
                (number(&inst.operands[1]), semantics)
            })
            .collect();
        let shared = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
        let both = shared | MemorySemantics::UNIFORM_MEMORY;
        let wanted =
            buffers.iter().map(|&buffers| (Scope::Workgroup as u32, if buffers { both } else { shared }));
        assert_eq!(barriers, wanted.collect::<Vec<_>>());
    }
}

probes! {
    /// Where a buffer that some member writes is reached on both sides.
    fn barriers_order_buffers_that_hand_something_on() {
        for (first, second) in [(Write, Read), (Read, Write), (Write, Write), (Atomic, Read)] {
            pair(first, second, IN_GROUP).check().fused(1).ordering(&[true]);
        }
        // What passes on is in shared memory, and the buffers that both sides read are written by none.
        let copy = kernel("a z", "8", "z[gid.x] = a[gid.x] + 3u;");
        let both = kernel("a b z", "8", &format!("z[gid.x] = a[{IN_GROUP}] * b[gid.x];"));
        let list = |out: u64| {
            Lab::new(32)
                .promote(1, Promote::Local)
                .submit(&copy, [4, 1, 1], &[0, 1], &[])
                .submit(&both, [4, 1, 1], &[1, 0, out], &[])
        };
        list(2).check().fused(1).ordering(&[false]);
        // The second overwrites what the first read.
        list(0).check().fused(1).ordering(&[true]);
    }

    fn read_after_write_by_the_same_invocation_needs_nothing() { same_invocation(Write, Read); }
    fn write_after_read_by_the_same_invocation_needs_nothing() { same_invocation(Read, Write); }
    fn write_after_write_by_the_same_invocation_needs_nothing() { same_invocation(Write, Write); }

    fn read_after_write_in_the_group_needs_a_barrier() { same_group(Write, Read); }
    fn write_after_read_in_the_group_needs_a_barrier() { same_group(Read, Write); }
    fn write_after_write_in_the_group_needs_a_barrier() { same_group(Write, Write); }

    fn read_after_write_across_groups_splits() { across(Write, Read); }
    fn write_after_read_across_groups_splits() { across(Read, Write); }
    fn write_after_write_across_groups_splits() { across(Write, Write); }

    /// Atomics are ordered with nothing but themselves, and unfused they are ordered with the other kernel's.
    fn atomics_count_as_writes() {
        for other in [Read, Write, Atomic] {
            same_invocation(Atomic, other);
            same_group(Atomic, other);
            across(Atomic, other);
            if other != Atomic {
                same_invocation(other, Atomic);
                same_group(other, Atomic);
                across(other, Atomic);
            }
        }
    }

    fn reads_after_reads_need_nothing() {
        for index in [OWN, IN_GROUP, ACROSS] {
            pair(Read, Read, index).check().fused(0);
        }
    }

    /// A sum over all groups is complete when the last one has added its part.
    fn a_reduction_across_groups_splits() {
        let sum = kernel("a z:atomic<u32>", "8", "atomicAdd(&z[0], a[gid.x]);");
        let spread = kernel("a z", "8", "z[gid.x] = a[0] + gid.x;");
        Lab::new(32)
            .submit(&sum, [4, 1, 1], &[0, 1], &[])
            .submit(&spread, [4, 1, 1], &[1, 2], &[])
            .check()
            .split(2, Atomic, Read);
        // With one group there is a barrier to wait at.
        Lab::new(32)
            .submit(&sum, [1, 1, 1], &[0, 1], &[])
            .submit(&spread, [1, 1, 1], &[1, 2], &[])
            .check()
            .fused(1);
    }

    /// The barrier is as late as possible, so that one serves several needs.
    fn one_barrier_serves_all_it_lies_between() {
        let copy = kernel("a z", "8", "z[gid.x] = a[gid.x];");
        let mirror = touching(Read, IN_GROUP, 3);
        Lab::new(32)
            .submit(&copy, [4, 1, 1], &[0, 1], &[])
            .submit(&copy, [4, 1, 1], &[0, 2], &[])
            .submit(&mirror, [4, 1, 1], &[1, 3], &[])
            .submit(&mirror, [4, 1, 1], &[2, 4], &[])
            .check()
            .fused(1);
        // What was written after it needs another.
        Lab::new(32)
            .submit(&copy, [4, 1, 1], &[0, 1], &[])
            .submit(&mirror, [4, 1, 1], &[1, 2], &[])
            .submit(&mirror, [4, 1, 1], &[2, 3], &[])
            .check()
            .fused(2);
    }

    /// The hazard that decides may lie several kernels back.
    fn hazards_reach_over_kernels_between() {
        let copy = kernel("a z", "8", "z[gid.x] = a[gid.x];");
        Lab::new(32)
            .submit(&copy, [4, 1, 1], &[0, 1], &[])
            .submit(&copy, [4, 1, 1], &[0, 2], &[])
            .submit(&copy, [4, 1, 1], &[2, 3], &[])
            .submit(&touching(Read, ACROSS, 3), [4, 1, 1], &[1, 4], &[])
            .check()
            .split(2, Write, Read);
    }

    /// Six times a number and four times another, and two: even numbers, not multiples of six.
    fn weights_that_do_not_divide_each_other() {
        let store = kernel("a z", "8", "if (lid.x == 0u) { z[6u * wid.x] = a[wid.x]; }");
        let load = kernel("a z", "8", "if (lid.x < 2u) { z[wid.x * 8u + lid.x] = a[4u * wid.x + lid.x + 2u]; }");
        Lab::new(64)
            .submit(&store, [5, 1, 1], &[0, 1], &[])
            .submit(&load, [5, 1, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
        // All places of the one are multiples of eight; those of the other are not, whatever they are made of.
        let store = kernel("a z", "8", "if (lid.x == 0u) { z[24u * wid.x] = a[wid.x]; }");
        let load = kernel("a z", "8", "if (lid.x < 5u) { z[wid.x * 8u + lid.x] = a[16u * wid.x + lid.x + 3u]; }");
        Lab::new(128)
            .submit(&store, [5, 1, 1], &[0, 1], &[])
            .submit(&load, [5, 1, 1], &[1, 2], &[])
            .check()
            .fused(0);
    }
}
