//! Halves that are recomputed where they are read, of kernels that only store and convert them.

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op};
use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::Promote;

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab};

/// Elements of each kernel.
const COUNT: u32 = 200;
const OVER: [u32; 3] = [13, 1, 1];

/// A kernel by elements.
fn each(names: &str, body: &str) -> String {
    glsl("", names, "16", &format!("if (i >= p.x) return; {body}"))
}

/// A list on a device that computes with halves. Buffer 0 begins with halves: ordinary ones, denormal ones, the largest, infinities and zeros.
fn halves() -> Lab {
    let half = |k: u32| match k % 16 {
        11 => 0x0001 + k,
        12 => 0x7bff,
        13 => 0x7c00,
        14 => 0x8000,
        15 => 0x83ff,
        _ => 0x3000 + k * 29,
    };
    let words: Vec<u32> = (0..256).map(|k| half(2 * k) | half(2 * k + 1) << 16).collect();
    let mut lab = Lab::rewriting(512).words(0, &words);
    lab.limits.small_scalars.float16 = true;
    lab
}

/// The same on one that only stores them.
fn narrow(mut lab: Lab) -> Lab {
    lab.limits.small_scalars.float16 = false;
    lab
}

fn computes(checked: &Checked) -> bool {
    let halves = Operand::Capability(Capability::Float16);
    checked.module().capabilities.iter().any(|inst| inst.operands.contains(&halves))
}

/// How many conversions a compiler sees of what it sees being converted to a half.
fn open(checked: &Checked) -> usize {
    let module = checked.module();
    let find = |id: &u32| module.all_inst_iter().find(|inst| inst.result_id == Some(*id));
    let conversions = module.all_inst_iter().filter(|inst| inst.class.opcode == Op::FConvert);
    let is_open = |inst: &&rspirv::dr::Instruction| {
        let mut from = inst.operands.first().and_then(Operand::id_ref_any);
        while let Some(one) = from.as_ref().and_then(find) {
            match one.class.opcode {
                Op::FConvert => return true,
                Op::CopyObject => from = one.operands.first().and_then(Operand::id_ref_any),
                _ => return false,
            }
        }
        false
    };
    conversions.filter(is_open).count()
}

/// Asserts that nothing is recomputed on a device that only stores halves, and that the reason names halves.
#[track_caller]
fn is_refused(lab: Lab) {
    let checked = narrow(lab).check();
    let why = checked.stays_apart(2);
    assert!(matches!(why, Some(RewriteReason::NotInlined { what }) if what.contains("halves")), "{why:?}");
}

/// A product in tiles that stores two halves an invocation, from buffer 1 to 2.
fn tiles() -> String {
    let text = "shared float part[32];--- part[l] = a[i]; barrier(); uint x = g % 2u * 16u + l % 8u * 2u, y = g / 2u * 4u + l / 8u; \
         for (uint r = 0u; r < 2u; r++) { float s = sqrt(part[l ^ r]) * a[r]; z[y * 32u + x + r] = float16_t(s); }";
    glsl("", "a:float z:float16_t", "32", text)
}

const ROOT: &str = "z[i] = float16_t(sqrt(abs(float(a[i]))));";

probes! {
    // The half between the two is the one that would be in memory, and no compiler sees what is made of it.
    fn halves_are_worked_out_where_they_are_read() {
        if !is_possible() {
            return;
        }
        let first = each("a:float16_t z:float16_t", ROOT);
        for (names, read) in [
            ("a:float16_t z:float", "z[i] = 1.0 / float(a[p.x - 1u - i]);"),
            ("a:float16_t z:float", "z[i] = float(a[p.x - 1u - i]) + float(a[i / 2u]);"),
            ("a:float16_t z:float16_t", "z[i] = float16_t(exp(float(a[p.x - 1u - i])));"),
        ] {
            for promote in [Promote::None, Promote::Auto] {
                let list = || {
                    let lab = halves().promote(2, promote).submit(&first, OVER, &[0, 2], &[COUNT]);
                    lab.submit(&each(names, read), OVER, &[2, 3], &[COUNT])
                };
                let checked = list().check().fused(0);
                assert!(checked.plan.report.inlined.iter().all(|one| (one.submission, one.producer) == (1, 0)));
                assert!(!checked.plan.report.inlined.is_empty(), "{read}");
                assert!(computes(&checked), "{read}");
                assert_eq!(open(&checked), 0, "{read}");
                assert!(list().seen_through(1 << 7).expect("hidden floats")[3] > 0, "{read}");
                is_refused(list());
            }
        }
    }

    fn vectors_of_halves() {
        if !is_possible() {
            return;
        }
        for (ty, wide) in [("f16vec2", "vec2"), ("f16vec3", "vec3"), ("f16vec4", "vec4")] {
            let first = each(&format!("a:{ty} z:{ty}"), &format!("z[i] = {ty}(sqrt(abs({wide}(a[i]))));"));
            let second = each(&format!("a:{ty} z:{ty}"), &format!("z[i] = {ty}(1.0 / {wide}(a[p.x - 1u - i]));"));
            let list = || halves().submit(&first, [4, 1, 1], &[0, 2], &[60]).submit(&second, [4, 1, 1], &[2, 3], &[60]);
            let checked = list().check().fused(0).works_out(&[(1, 0)]);
            assert_eq!(open(&checked), 0, "{ty}");
            is_refused(list());
        }
    }

    // Numbers that are made of halves: these are loaded once more.
    fn halves_that_are_made_numbers() {
        if !is_possible() {
            return;
        }
        let first = each("a:float16_t z:float", "z[i] = float(a[i]) * 1.5;");
        let second = each("a:float z:float", "z[i] = 1.0 / a[p.x - 1u - i];");
        let list = || halves().submit(&first, OVER, &[0, 2], &[COUNT]).submit(&second, OVER, &[2, 3], &[COUNT]);
        let checked = list().check().fused(0).works_out(&[(1, 0)]);
        assert!(computes(&checked));
        is_refused(list());
        // What is made halves of is not.
        let first = each("a:float16_t b z:float", "z[i] = float(b[i]) * 1.5;");
        let list = || halves().submit(&first, OVER, &[0, 1, 2], &[COUNT]).submit(&second, OVER, &[2, 3], &[COUNT]);
        assert!(!computes(&list().check().fused(0).works_out(&[(1, 0)])));
        narrow(list()).check().fused(0).works_out(&[(1, 0)]);
    }

    // One of two is stored in tiles, the other one is recomputed where these are stored.
    fn halves_of_two() {
        if !is_possible() {
            return;
        }
        let given = |k: u32| (1.5 + k as f32 / 640.0).to_bits();
        let given: Vec<u32> = (0..256).map(given).collect();
        let gate = |names: &str| each(names, "float x = float(a[i]); z[i] = float16_t(x / (1.0 + exp(-x)) * float(b[i]));");
        let root = each("a:float16_t z:float16_t", ROOT);
        let begun = || halves().words(1, &given).promote(2, Promote::Auto).promote(3, Promote::Auto);
        let all = |lab: Lab| lab.submit(&gate("a:float16_t b:float16_t z:float16_t"), [16, 1, 1], &[2, 3, 4], &[256]);
        let tiled_first = || all(begun().submit(&tiles(), [4, 1, 1], &[1, 2], &[]).submit(&root, [16, 1, 1], &[0, 3], &[256]));
        let tiled_last = || all(begun().submit(&root, [16, 1, 1], &[0, 2], &[256]).submit(&tiles(), [4, 1, 1], &[1, 3], &[]));
        for (list, made, other) in [(tiled_first(), 0, 1), (tiled_last(), 1, 0)] {
            let checked = list.check().fused(0).works_out(&[(2, other)]).appends(&[(2, made)]);
            assert_eq!(open(&checked), 0);
            assert!(computes(&checked));
            let report = &checked.plan.report;
            // No half is left in memory.
            assert!(report.inlined[0].gone && report.epilogues[0].gone, "{report:#?}");
        }
        let checked = narrow(tiled_first()).check();
        let report = &checked.plan.report;
        assert!(report.inlined.is_empty() && checked.plan.steps.len() == 2, "{report:#?}");
        let why = &report.splits[0].tried;
        assert!(matches!(why, Some(RewriteReason::NotInlined { what }) if what.contains("halves")), "{why:?}");
        assert!(narrow(tiled_last()).check().plan.report.inlined.is_empty());
    }

    // Some of them are not stored, and are loaded as before.
    fn halves_that_are_partly_stored() {
        if !is_possible() {
            return;
        }
        let first = each("a:float16_t z:float16_t", ROOT);
        let second = each("a:float16_t z:float", "z[i] = 1.0 / float(a[i + 5u]) + float(a[i]);");
        let list = || halves().submit(&first, OVER, &[0, 2], &[COUNT]).submit(&second, OVER, &[2, 3], &[COUNT]);
        let checked = list().check().fused(0).works_out(&[(1, 0)]);
        assert_eq!(open(&checked), 0);
        let checked = narrow(list()).check();
        let why = checked.stays_apart(2);
        assert!(matches!(why, Some(RewriteReason::NotInlined { what }) if what.contains("16 bits")), "{why:?}");
    }

    // Loaded under a condition.
    fn halves_that_some_items_load() {
        if !is_possible() {
            return;
        }
        let first = each(
            "a:float16_t z:float16_t",
            "float x = 0.5; if (i > 3u) x = float(a[i - 4u]); z[i] = float16_t(i % 3u == 0u ? exp(x) : x);",
        );
        let second = each("a:float16_t z:float16_t", "z[i] = float16_t(1.0 / float(a[p.x - 1u - i]));");
        let list = || halves().submit(&first, OVER, &[0, 2], &[COUNT]).submit(&second, OVER, &[2, 3], &[COUNT]);
        let checked = list().check();
        assert_eq!(open(&checked), 0);
        checked.fused(0).works_out(&[(1, 0)]);
        is_refused(list());
    }

    // The store that goes to an element is one of several.
    fn halves_of_several_stores() {
        if !is_possible() {
            return;
        }
        let first = each(
            "a:float16_t z:float16_t",
            "z[2u * i] = float16_t(sqrt(abs(float(a[i])))); z[2u * i + 1u] = float16_t(exp(float(a[i])));",
        );
        let second = each("a:float16_t z:float", "z[i] = 1.0 / float(a[p.x - 1u - i]);");
        let list = || halves().submit(&first, [7, 1, 1], &[0, 2], &[100]).submit(&second, OVER, &[2, 3], &[COUNT]);
        let checked = list().check();
        assert_eq!(open(&checked), 0);
        checked.fused(0).works_out(&[(1, 0)]);
        assert!(narrow(list()).check().plan.report.inlined.is_empty());
    }

    // What is only moved need not be hidden, and asks for no capability.
    fn halves_that_are_moved() {
        if !is_possible() {
            return;
        }
        let first = each("a:float16_t z:float16_t", "z[i] = a[i];");
        let second = each("a:float16_t z:float16_t", "z[i] = a[p.x - 1u - i];");
        let list = || halves().submit(&first, OVER, &[0, 2], &[COUNT]).submit(&second, OVER, &[2, 3], &[COUNT]);
        let checked = narrow(list()).check().fused(0).works_out(&[(1, 0)]);
        assert!(!computes(&checked));
        assert!(!computes(&list().check().fused(0).works_out(&[(1, 0)])));
    }

    // Of kernels that compute with halves the device need not be asked.
    fn halves_that_are_computed_with() {
        if !is_possible() {
            return;
        }
        let first = each("a:float16_t z:float16_t", "z[i] = a[i] * float16_t(0.3);");
        let second = each("a:float16_t z:float16_t", "z[i] = a[p.x - 1u - i] / float16_t(3.0);");
        let list = || halves().submit(&first, OVER, &[0, 2], &[COUNT]).submit(&second, OVER, &[2, 3], &[COUNT]);
        assert!(list().seen_through(1 << 7).expect("hidden floats")[3] > 0);
        list().check().fused(0).works_out(&[(1, 0)]);
    }
}
