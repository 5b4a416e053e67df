//! Lists in which one side goes by columns, in squares whose columns go through shared memory. `VKFUSE_COLUMN_LISTS` for a long run of random ones.

use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};
use vkfuse_jit::plan::Promote;

use super::lab::{Checked, Lab};
use super::placed_blocks_random::Random;
use super::placement::{flat, over};

/// A list of `n` elements for a device with superword code, and what every list of these begins with: `1 = 0 + 3`.
fn list(w: u32, n: u32, elements: u32) -> Lab {
    promoting(Promote::Auto, w, n, elements)
}

/// The same, with a promotion of `1`.
fn promoting(promote: Promote, w: u32, n: u32, elements: u32) -> Lab {
    let mut lab = Lab::rewriting(u64::from(elements)).promote(1, promote);
    lab.limits.max_shared_bytes = 48 << 10;
    (lab.limits.shape.superword, lab.limits.shape.lanes) = (4, 1);
    (lab.limits.max_work_group_size, lab.limits.max_work_group_invocations) = ([1024, 1024, 64], 1024);
    lab.submit(&flat("a z", "a[i] + 3u"), over(n), &[0, 1], &[w, n])
}

/// Lines of `w`, `h` of them: `3` of `1` and of what is made of `2`.
fn with(w: u32, h: u32, value: &str) -> Lab {
    let n = w * h;
    list(w, n, n).submit(&flat("a b z", value), over(n), &[1, 2, 3], &[w, n, h])
}

/// The element of `b` below which the next item's lies.
const COLUMN: &str = "a[i] + b[(i % p.x) * p.z + i / p.x]";

impl Checked {
    /// Words of shared memory.
    fn shared(&self) -> Vec<u32> {
        let module = self.module();
        let number = |id: u32| {
            let found = module.types_global_values.iter().find(|inst| inst.result_id == Some(id));
            found.expect("a declaration")
        };
        let id = |operand: &Operand| operand.id_ref_any().expect("an id");
        let variables = module.types_global_values.iter().filter(|inst| {
            inst.class.opcode == Op::Variable
                && inst.operands[0] == Operand::StorageClass(StorageClass::Workgroup)
        });
        let size = |variable: &rspirv::dr::Instruction| {
            let pointee = number(id(&number(variable.result_type.expect("a type")).operands[1]));
            match pointee.class.opcode {
                Op::TypeArray => match number(id(&pointee.operands[1])).operands[0] {
                    Operand::LiteralBit32(length) => length,
                    ref other => panic!("{other:?}"),
                },
                _ => 1,
            }
        };
        variables.map(size).collect()
    }

    /// Demands that this many loads go through shared memory.
    #[track_caller]
    fn staged(self, loads: u32) -> Self {
        assert!(
            self.plan.report.groups[0].schedule.contains("columns through shared memory"),
            "{:#?}",
            self.plan.report
        );
        assert_eq!(self.shared(), [loads * 64 * 65, 1]);
        self
    }

    /// Demands that none does.
    #[track_caller]
    fn unstaged(self) -> Self {
        assert!(!self.plan.report.groups[0].schedule.contains("columns"), "{:#?}", self.plan.report);
        assert_eq!(self.shared(), [0; 0], "{:#?}", self.plan.report);
        self
    }
}

/// One of some random lists.
fn random(seed: u64) -> Lab {
    let mut random = Random(seed);
    let (w, h) = (
        random.one_of(&[50, 62, 64, 90, 96, 100, 128]) + random.below(2) as u32,
        8 + random.below(90) as u32,
    );
    let n = w * h;
    let column = |name: &str, random: &mut Random| {
        let x = random.one_of(&["(i % p.x)", "(i % p.x)", "(i - i / p.x * p.x)", "(p.x - 1u - i % p.x)"]);
        let x = if random.one_in(8) { "(i % p.x ^ 1u)" } else { x };
        let y = if random.one_in(6) { "i / p.x / 2u" } else { "i / p.x" };
        let stride = random.one_of(&["p.z", "p.z", "(p.z + 1u)", "64u", "64u"]);
        let stride = if random.one_in(9) { "8u" } else { stride };
        format!("{name}[({x} * {stride} + {y}) % p.y]")
            .replace(" % p.y]", random.one_of(&["]", "]", "]", "]", "]", " % p.y]"]))
    };
    let mut value = String::from("a[i]");
    for name in ["b", "c"].iter().take(1 + random.below(2)) {
        for _ in 0..1 + random.below(2) {
            let one = column(name, &mut random);
            let one = match random.below(6) {
                0 => format!("select({one}, 7u, (i & 3u) == 0u)"),
                1 => format!("bitcast<u32>(f32({one} & 1023u) * 0.5)"),
                2 => format!("min({one}, {name}[i])"),
                _ => one,
            };
            value = format!("({value} {} {one})", random.one_of(&["+", "^", "*", "-"]));
        }
    }
    let more = u32::from(random.one_in(5));
    let [groups, ..] = over(n);
    let (limit, target) = (n - random.one_of(&[0, 0, 1, 7, 33]), 4);
    let body = random.one_of(&["", "", "", "if (i / p.x == 3u) { return; }"]);
    let body = format!("let i = gid.x; if (i >= p.y) {{ return; }} {body} z[i] = {value};");
    let kernel = super::lab::kernel("a b c z", "16", &body);
    let mut lab = list(w, n, (w + 1) * (h + 1).max(64) + h + 1).submit(
        &kernel,
        [groups + more, 1, 1],
        &[1, 2, 3, target],
        &[w, limit, h],
    );
    lab.limits.shape.conditions = random.one_of(&[None, None, None, Some(100), Some(20)]);
    lab
}

probes! {
    /// Squares that are whole, and some that end at either side: these are done item by item.
    fn columns_go_through_shared_memory() {
        for (w, h) in [(64, 64), (128, 64), (96, 33), (62, 64), (126, 70), (64, 31)] {
            with(w, h, COLUMN).check().fused(0).staged(1);
        }
    }

    /// What is loaded twice is staged once.
    fn as_many_columns_as_there_is_room_for() {
        let in_bytes = |value: &str, bytes: u32| {
            let mut list = with(64, 64, value);
            list.limits.max_shared_bytes = bytes << 10;
            list.check().fused(0)
        };
        let twice = "a[i] + b[(i % p.x) * p.z + i / p.x] * b[(i % p.x) * p.z + i / p.x]";
        in_bytes(twice, 17).staged(1);
        in_bytes(twice, 16).unstaged();
        let two = "a[i] + b[(i % p.x) * p.z + i / p.x] * b[(p.x - 1u - i % p.x) * p.z + i / p.x]";
        in_bytes(two, 33).staged(2);
        in_bytes(two, 32).unstaged();
        let three = "a[i] + b[(i % p.x) * p.z + i / p.x] * b[(i % p.x) * 63u + i / p.x] + b[(i % p.x) * 62u + i / p.x]";
        in_bytes(three, 64).unstaged();
    }

    /// Words as numbers of another kind are the same words.
    fn columns_are_of_any_word() {
        let value = "bitcast<u32>(bitcast<f32>(a[i] & 0xffffu) + bitcast<f32>(b[(i % p.x) * p.z + i / p.x]))";
        with(64, 40, value).check().fused(0).staged(1);
    }

    /// What is written meanwhile, is loaded by some items only, or lies neither below nor beside the next one, is loaded by those that need it.
    fn columns_that_may_not_be_loaded_by_others() {
        for value in [
            "a[i] + b[(i % p.x) * p.z + i / p.x * 2u % p.z]",
            "a[i] + b[(i % p.x) * 4u + i / p.x]",
            "a[i] + b[a[i] % p.y]",
        ] {
            with(64, 64, value).check().unstaged();
        }
        let own = "let i = gid.x; if (i >= p.y) { return; } z[i + p.y] = a[i] + b[(i % p.x) * p.z + i / p.x];";
        let own = super::lab::kernel("a b z", "16", own);
        let list = list(64, 4096, 8192).submit(&own, over(4096), &[1, 2, 2], &[64, 4096, 64]);
        list.check().unstaged();
        let some = "let i = gid.x; if (i >= p.y) { return; } var v = a[i]; if ((i & 3u) > 1u) { v = b[(i % p.x) * p.z + i / p.x]; } z[i] = v;";
        let kernel = super::lab::kernel("a b z", "16", some);
        let n = 4096;
        self::list(64, n, n).submit(&kernel, over(n), &[1, 2, 3], &[64, n, 64]).check().unstaged();
    }

    /// Promotion to shared memory leaves no superword code, and squares of 16.
    fn squares_without_superword_code_are_small() {
        let (w, n) = (64, 4096);
        let list = promoting(Promote::Local, w, n, n);
        let list = list.submit(&flat("a b z", COLUMN), over(n), &[1, 2, 3], &[w, n, w]);
        let checked = list.check().fused(0);
        assert!(checked.plan.report.groups[0].work_group.iter().product::<u32>() <= 256);
        assert!(!checked.plan.report.groups[0].schedule.contains("columns"));
    }

    /// Too long for a path: a work-group of more items than there are invocations does them one after another.
    fn columns_without_a_path() {
        let body = "let i = gid.x; if (i >= p.y) { return; } var v = a[i] + b[(i % p.x) * p.z + i / p.x]; for (var k = 0u; k < 2000u; k++) { v = v * 3u + k; } z[i] = v;";
        let n = 64 * 64;
        let kernel = super::lab::kernel("a b z", "16", body);
        let checked = list(64, n, n).submit(&kernel, over(n), &[1, 2, 3], &[64, n, 64]).check().fused(0);
        assert_eq!((checked.plan.report.groups[0].work_group, checked.shared()), ([64, 16, 1], vec![]));
    }

    fn random_columns() {
        let lists = std::env::var("VKFUSE_COLUMN_LISTS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
        let mut staged = 0;
        for seed in 0..lists {
            let checked = random(seed).check();
            let one = checked.plan.steps.len() == 1;
            staged += usize::from(one && !checked.shared().is_empty());
        }
        assert!(staged * 8 > lists as usize, "{staged} of {lists}");
    }
}
