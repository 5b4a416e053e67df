//! Stores that wait for loads behind them: which do, and what they do not pass.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, StorageClass};
use vkfuse_jit::plan::{Promote, UnrollLimits};

use super::lab::{Checked, Lab, View, kernel};
use super::rows::{Random, softmax, with_rows};

trait Late {
    fn late(self, most: u32) -> Self;
    fn at_once(self, rounds: u32) -> Self;
}

impl Late for Lab {
    fn late(mut self, most: u32) -> Self {
        self.limits.late_stores = most;
        self
    }

    /// Loops have this many rounds one after another.
    fn at_once(mut self, rounds: u32) -> Self {
        self.limits.unroll =
            UnrollLimits { rounds: 16, at_once: rounds, private_bytes: 0, ..UnrollLimits::default() };
        self
    }
}

impl Checked {
    /// Loads and stores of storage buffers in the first dispatch, in the order in which they stand, by function.
    fn order(&self) -> Vec<String> {
        let words = self.plan.steps[0].build().expect("the module stands");
        let module = rspirv::dr::load_words(words).expect("a module");
        let types = || module.types_global_values.iter();
        let is_buffer = |inst: &Instruction| {
            let ty = types().find(|ty| ty.result_id.is_some() && ty.result_id == inst.result_type);
            ty.is_some_and(|ty| {
                ty.operands.first() == Some(&Operand::StorageClass(StorageClass::StorageBuffer))
            })
        };
        let functions = module.functions.iter().map(|function| {
            let chains: Vec<_> = function
                .all_inst_iter()
                .filter(|inst| is_buffer(inst))
                .filter_map(|inst| inst.result_id)
                .collect();
            let access = |inst: &Instruction| {
                let pointer = inst.operands.first().and_then(Operand::id_ref_any);
                let of_buffer = pointer.is_some_and(|pointer| chains.contains(&pointer));
                match inst.class.opcode {
                    Op::Load if of_buffer => Some('L'),
                    Op::Store if of_buffer => Some('S'),
                    _ => None,
                }
            };
            function.all_inst_iter().filter_map(access).collect()
        });
        functions.collect()
    }

    /// Demands that loads and stores stand in this order somewhere.
    #[track_caller]
    fn has(self, order: &str) -> Self {
        let found = self.order();
        assert!(found.iter().any(|one| one.contains(order)), "{found:#?}");
        self
    }

    #[track_caller]
    fn has_not(self, order: &str) -> Self {
        let found = self.order();
        assert!(!found.iter().any(|one| one.contains(order)), "{found:#?}");
        self
    }
}

/// A kernel by rows, what it reads, and one that reads all of what it writes: `z` and `y` are in order.
fn between(body: &str) -> Lab {
    let one = kernel("a z y", "8", body);
    let next = kernel("a b z", "8", "z[gid.x] = a[gid.x] * 5u + b[gid.x];");
    with_rows(Lab::new(256), 5).submit(&one, [5, 1, 1], &[0, 2, 3], &[3]).submit(
        &next,
        [5, 1, 1],
        &[2, 3, 4],
        &[],
    )
}

probes! {
    fn loads_of_several_rounds_come_before_their_stores() {
        for (most, order) in [(4, "LLLLLLLLSSSS"), (2, "LLLLSSLLLLSS"), (3, "LLLLLLSSSLLS"), (16, "LLLLLLLLSSSS")] {
            softmax(5, 64, Promote::None).at_once(4).late(most).check().fused(2).has(order);
        }
        for most in [0, 1] {
            softmax(5, 64, Promote::None).at_once(4).late(most).check().fused(2).has_not("LLLLLLS").has("LLSLLSLLS");
        }
    }

    /// What no one reads again need not stay in order, and what stays in registers is not stored.
    fn stores_that_nobody_reads_stay() {
        let flat = kernel("a z", "8", "for (var k = 0u; k < 4u; k++) { z[gid.x + 64u * k] = a[gid.x + 64u * k] * 3u; }");
        let lab = |last: u64| {
            let lab = Lab::new(256).submit(&flat, [8, 1, 1], &[0, 1], &[]);
            lab.submit(&flat, [8, 1, 1], &[last, 2], &[]).at_once(4).late(8).check().fused(0)
        };
        lab(0).has_not("LLS").has("LSLSLSLS");
        lab(1).has("LLLLSSSS");
    }

    fn a_store_does_not_pass_loads_of_its_buffer() {
        for body in [
            "z[gid.x] = a[gid.x] * 3u; let v = z[gid.x]; y[gid.x] = v + a[gid.x];",
            "y[gid.x] = a[gid.x]; z[gid.x] = a[gid.x] * 3u; y[gid.x] = z[gid.x] + 1u; z[gid.x] += y[gid.x];",
            "z[gid.x] = a[gid.x]; for (var k = 0u; k < 3u; k++) { y[gid.x] = z[gid.x] + k; z[gid.x] = y[gid.x] * 3u; }",
            "z[gid.x] = a[gid.x]; z[gid.x] = a[gid.x] + z[gid.x] * 2u; y[gid.x] = z[gid.x];",
        ] {
            between(body).at_once(4).late(8).check().fused(0);
        }
    }

    fn stores_stay_in_their_order() {
        for body in [
            "z[gid.x] = a[gid.x] * 3u; z[gid.x] = a[gid.x] + 7u; y[gid.x] = 2u;",
            "for (var k = 0u; k < 4u; k++) { z[gid.x] = a[gid.x] * k; y[gid.x] = a[gid.x + k]; }",
        ] {
            between(body).at_once(4).late(8).check().fused(0);
        }
    }

    /// Behind a barrier others read, in front of one they may still read what was there.
    fn a_store_does_not_pass_a_barrier() {
        for body in [
            "z[gid.x] = a[gid.x] * 3u; storageBarrier(); y[gid.x] = z[wid.x * 8u + 7u - lid.x];",
            "z[gid.x] = a[gid.x]; y[gid.x] = a[gid.x]; storageBarrier(); let v = y[wid.x * 8u + 7u - lid.x] + z[gid.x ^ 1u]; storageBarrier(); z[gid.x] = v;",
            "for (var k = 0u; k < 4u; k++) { z[gid.x] = a[gid.x] + k; storageBarrier(); let v = z[gid.x ^ 3u]; storageBarrier(); y[gid.x] = v; }",
        ] {
            between(body).at_once(4).late(8).check().fused(0);
        }
    }

    /// Of two branches one stores, and of some rounds none does.
    fn a_store_stays_in_its_branch() {
        for body in [
            "if (a[gid.x] % 2u == 0u) { z[gid.x] = a[gid.x + 1u]; } y[gid.x] = a[gid.x];",
            "if (lid.x < 3u) { z[gid.x] = a[gid.x]; } else { y[gid.x] = a[gid.x]; } let v = a[gid.x + 2u]; y[gid.x] = v;",
            "z[gid.x] = a[gid.x]; if (a[gid.x] % 3u == 0u) { z[gid.x] = 5u; return; } y[gid.x] = a[gid.x];",
            "for (var k = 0u; k < 4u; k++) { if ((a[gid.x] & k) == 0u) { continue; } z[gid.x] = a[gid.x + k]; if (k == 2u) { break; } y[gid.x] = a[gid.x] + k; }",
            "switch (lid.x % 3u) { case 0u: { z[gid.x] = 1u; } case 1u: { y[gid.x] = a[gid.x]; } default: { z[gid.x] = a[gid.x]; } } y[gid.x] += 1u;",
            "for (var k = 0u; k < a[gid.x] % 5u; k++) { z[gid.x] = a[gid.x + k]; y[gid.x] = a[k]; }",
        ] {
            for rounds in [1, 4] {
                between(body).at_once(rounds).late(8).check().fused(0);
            }
        }
    }

    /// Two views of one buffer that overlap are not distinguished by their bindings.
    fn stores_to_what_overlaps_stay() {
        let one = kernel("a z y", "8", "z[gid.x] = a[gid.x] * 3u; let v = y[gid.x]; y[gid.x] = v + a[gid.x];");
        let next = kernel("a z", "8", "z[gid.x] = a[gid.x] * 5u;");
        for first in [0, 8] {
            let z: View = (2, 0, 40 + first).into();
            let y: View = (2, 0, 40).into();
            let lab = with_rows(Lab::new(256), 5)
                .submit_views(&one, [5, 1, 1], &[0.into(), z, y], &[])
                .submit_views(&next, [5, 1, 1], &[y, 4.into()], &[]);
            lab.at_once(4).late(8).check();
        }
    }

    /// Variables of the invocation and shared memory are no buffers.
    fn other_memory_is_passed() {
        between(
            "var<workgroup> part: array<u32, 8>; var<private> own: array<u32, 4>;---
             z[gid.x] = a[gid.x]; own[lid.x & 3u] = 5u; part[lid.x] = a[gid.x + 1u]; y[gid.x] = own[lid.x & 3u] + part[lid.x];
             workgroupBarrier(); z[gid.x] += part[7u - lid.x] + own[1];",
        )
        .late(8)
        .check()
        .fused(0)
        .has("LLSS");
    }

    /// Statements of all kinds on the invocation's own elements.
    fn any_order_of_own_statements_is_kept() {
        let count = std::env::var("VKFUSE_STATEMENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
        for seed in 0..count {
            let mut random = Random(seed * 7919 + 11);
            let mut body = String::from("var v = 1u;\n");
            for _ in 0..random.below(6) + 2 {
                let what = statement(&mut random);
                let what = match random.below(6) {
                    0 => format!("for (var k = 0u; k < {}u; k++) {{ {what} {} }}", random.below(5) + 1, statement(&mut random)),
                    // What is behind it is another value in each invocation.
                    1 => format!("{what} storageBarrier(); v += z[gid.x ^ 1u]; storageBarrier();"),
                    2 => format!("if ({}) {{ {what} }}", random.pick(&["v > 7u", "lid.x < 3u", "a[gid.x] % 2u == 0u"])),
                    _ => what,
                };
                body.push_str(&what);
                body.push('\n');
            }
            let (most, rounds) = ([2, 3, 8, 16][random.below(4) as usize], [1, 2, 4][random.below(3) as usize]);
            let mut lab = between(&body).at_once(rounds).late(most);
            lab.limits.thread_coarsening.invocations = [0, 2, 4][random.below(3) as usize];
            (lab.limits.thread_coarsening.any_loops, lab.limits.thread_coarsening.private_bytes) = (true, 1 << 12);
            lab.check();
        }
    }
}

fn statement(random: &mut Random) -> String {
    let all = [
        "z[gid.x] = v * 3u;",
        "y[gid.x] = v + 1u;",
        "v = z[gid.x];",
        "v += y[gid.x];",
        "v ^= a[gid.x];",
        "z[gid.x] = a[gid.x + 1u];",
        "y[gid.x] = z[gid.x] + a[gid.x];",
        "z[gid.x] += y[gid.x];",
        "if (v % 2u == 0u) { z[gid.x] = 9u; } else { y[gid.x] = v; }",
    ];
    random.pick(&all).to_owned()
}
