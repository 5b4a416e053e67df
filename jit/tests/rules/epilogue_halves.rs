//! Epilogues on halves and on integers of 8 and 16 bits: those that kernels only store and convert, and those that they compute with.

use rspirv::dr::{Module, Operand};
use rspirv::spirv::{MemoryAccess, Op, Word};
use vkfuse_jit::plan::{Internalization, Promote, UnrollLimits};

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// Rows of 32 elements by work-groups of 16 x 4 of these; an invocation stores two. Buffer 1 is what is stored.
fn tile(store: &str, ty: &str) -> String {
    let text = format!(
        "shared float part[32];--- part[l] = a[i]; barrier(); uint x = g % 2u * 16u + l % 8u * 2u, y = g / 2u * 4u + l / 8u; \
         for (uint r = 0u; r < 2u; r++) {{ float s = sqrt(part[l ^ r]) * a[r]; uint at = y * 32u + x + r; {store} }}"
    );
    glsl("", &format!("a:float z:{ty}"), "32", &text)
}

/// A kernel by elements.
fn each(names: &str, body: &str) -> String {
    glsl("", names, "16", body)
}

const EACH: [u32; 3] = [16, 1, 1];

/// A list that begins with such tiles of numbers. Some are no halves: too large, too small, not a number.
fn begun(store: &str, ty: &str, promote: Promote) -> Lab {
    let given = |k: u32| match k % 32 {
        30 => (1e9 * (k as f32)).to_bits(),
        29 => (1e-8 + k as f32 * 3e-9).to_bits(),
        28 => f32::INFINITY.to_bits(),
        27 => 0x7fc0_1234,
        _ => (1.5 + k as f32 / 640.0).to_bits(),
    };
    let mut lab = Lab::rewriting(1024).promote(1, promote).words(0, &(0..256).map(given).collect::<Vec<_>>());
    let half = |k: u32| (0x3c00 + k % 64) | (0x4000 + k % 32) << 16;
    lab = lab.words(2, &(0..256).map(half).collect::<Vec<_>>());
    lab.limits.small_scalars.float16 = true;
    lab.limits.small_scalars.int16 = true;
    lab.limits.small_scalars.int8 = true;
    lab.submit(&tile(store, ty), [4, 1, 1], &[0, 1], &[])
}

const STORE: &str = "z[at] = float16_t(s);";

/// Whether a type is a half or a vector of halves.
fn is_half(module: &Module, ty: Word) -> bool {
    let inst = module.types_global_values.iter().find(|inst| inst.result_id == Some(ty));
    inst.is_some_and(|inst| match (inst.class.opcode, inst.operands.first()) {
        (Op::TypeFloat, width) => width == Some(&Operand::LiteralBit32(16)),
        (Op::TypeVector, Some(Operand::IdRef(part))) => is_half(module, *part),
        _ => false,
    })
}

/// How many loads of halves are volatile.
fn read_back(checked: &Checked) -> usize {
    let module = checked.module();
    let is_volatile = |operand: &Operand| match operand {
        Operand::MemoryAccess(access) => access.contains(MemoryAccess::VOLATILE),
        _ => false,
    };
    let loads = module.all_inst_iter().filter(|inst| inst.class.opcode == Op::Load);
    let halves = loads.filter(|inst| inst.result_type.is_some_and(|ty| is_half(&module, ty)));
    halves.filter(|inst| inst.operands.iter().any(is_volatile)).count()
}

probes! {
    // A driver may round a conversion in another way where it sees the result converted back.
    fn halves_that_are_only_stored_are_read_back() {
        if !is_possible() {
            return;
        }
        for promote in [Promote::None, Promote::Auto] {
            for (names, own, buffers) in [
                ("d:float16_t o:float", "float(d[i])", &[1, 3][..]),
                ("d:float16_t e:float16_t o:float", "float(e[i]) + float(d[i])", &[1, 2, 3]),
                ("d:float16_t e:float16_t o:float16_t", "float(e[i % 32u]) + float(d[i])", &[1, 2, 3]),
            ] {
                let value = format!("1.0 / ({own})");
                let value = if names.ends_with("16_t") { format!("float16_t({value})") } else { value };
                let list = || begun(STORE, "float16_t", promote).submit(&each(names, &format!("o[i] = {value};")), EACH, buffers, &[]);
                let checked = list().check().fused(0).appends(&[(1, 0)]);
                assert_eq!(read_back(&checked), 1, "{own}");
                let report = checked.plan.report.epilogues[0];
                assert!(!report.gone && report.saved == 0, "{report:?}");
                // It is not needed that the device computes with halves.
                let mut narrow = list();
                narrow.limits.small_scalars.float16 = false;
                assert_eq!(read_back(&narrow.check().fused(0).appends(&[(1, 0)])), 1, "{own}");
            }
        }
    }

    fn a_chain_of_halves() {
        if !is_possible() {
            return;
        }
        for promote in [Promote::None, Promote::Auto] {
            let checked = begun(STORE, "float16_t", promote)
                .promote(3, promote)
                .submit(&each("d:float16_t e:float16_t o:float16_t", "o[i] = float16_t(float(d[i]) + float(e[i % 32u]));"), EACH, &[1, 2, 3], &[])
                .submit(&each("d:float16_t o:float16_t", "float x = float(d[i]); o[i] = float16_t(x / (1.0 + exp(-x)));"), EACH, &[3, 4], &[])
                .submit(&each("d:float16_t e:float16_t o:float16_t", "o[i] = float16_t(float(d[i]) + float(e[i]));"), EACH, &[4, 2, 5], &[])
                .check()
                .fused(0)
                .appends(&[(1, 0), (2, 0), (3, 0)]);
            // What two of them load from one buffer is hidden as well.
            assert_eq!(read_back(&checked), 5);
        }
        // Two that read the same: the second one's producer reads them, too.
        for promote in [Promote::None, Promote::Auto] {
            begun(STORE, "float16_t", promote)
                .submit(&each("d:float16_t o:float", "o[i] = 1.0 / float(d[i]);"), EACH, &[1, 3], &[])
                .submit(&each("d:float16_t o:float", "o[i] = exp(float(d[i]));"), EACH, &[1, 4], &[])
                .check()
                .fused(0)
                .appends(&[(1, 0), (2, 0)]);
        }
    }

    fn vectors_of_halves() {
        if !is_possible() {
            return;
        }
        for (ty, wide, made) in [
            ("f16vec2", "vec2", "f16vec2(vec2(s, s + 1.5))"),
            ("f16vec3", "vec3", "f16vec3(vec3(s, s + 1.5, 1.0 / s))"),
            ("f16vec4", "vec4", "f16vec4(vec4(s, s + 1.5, 1.0 / s, s * s))"),
        ] {
            for promote in [Promote::None, Promote::Auto] {
                let body = format!("o[i] = {ty}(sqrt({wide}(d[i])));");
                let checked = begun(&format!("z[at] = {made};"), ty, promote)
                    .submit(&each(&format!("d:{ty} o:{ty}"), &body), EACH, &[1, 3], &[])
                    .check()
                    .fused(0)
                    .appends(&[(1, 0)]);
                assert_eq!(read_back(&checked), 1, "{ty}");
            }
        }
    }

    // What is moved is not converted.
    fn halves_that_are_moved() {
        if !is_possible() {
            return;
        }
        for promote in [Promote::None, Promote::Auto] {
            begun(STORE, "float16_t", promote)
                .submit(&each("d:float16_t o:float16_t", "o[255u - i] = d[i];"), EACH, &[1, 3], &[])
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
        }
    }

    // Of kernels that compute with halves the words are hidden, and nothing is read back.
    fn halves_that_are_computed_with_are_handed_on() {
        if !is_possible() {
            return;
        }
        let product = "z[at] = float16_t(s) * float16_t(0.3);";
        let pair = "z[at] = f16vec2(vec2(s, s + 1.5)) * float16_t(0.3);";
        let three = "z[at] = f16vec3(vec3(s, s + 1.5, 2.0)) * float16_t(0.3);";
        for (store, ty, body) in [
            (product, "float16_t", "o[i] = d[i] / float16_t(3.0);"),
            (product, "float16_t", "o[i] = float16_t(1.0 / float(d[i]));"),
            (STORE, "float16_t", "o[i] = d[i] / float16_t(3.0);"),
            (pair, "f16vec2", "o[i] = d[i] / float16_t(3.0);"),
            (three, "f16vec3", "o[i] = d[i] / float16_t(3.0);"),
        ] {
            for promote in [Promote::None, Promote::Auto] {
                let list = || begun(store, ty, promote).submit(&each(&format!("d:{ty} o:{ty}"), body), EACH, &[1, 3], &[]);
                let checked = list().check().fused(0).appends(&[(1, 0)]);
                assert_eq!(read_back(&checked), 0, "{store} {body}");
                let is_inside = checked.plan.report.epilogues[0].gone;
                assert_eq!(is_inside, promote == Promote::Auto, "{store} {body}");
                let seen = list().seen_through(1 << 7).expect("hidden floats");
                assert!(seen[3] > 0, "{store} {body}: {seen:?}");
            }
        }
    }

    fn integers_of_few_bits() {
        if !is_possible() {
            return;
        }
        for (stored, made, loaded, wide) in [
            ("uint8_t", "uint", "uint8_t", "uint"),
            ("int8_t", "int", "int8_t", "int"),
            ("uint16_t", "uint", "uint16_t", "uint"),
            ("int16_t", "int", "int16_t", "int"),
            ("uint8_t", "uint", "int8_t", "int"),
            ("int16_t", "int", "uint16_t", "uint"),
            ("u16vec2", "uvec2", "u16vec2", "uvec2"),
            ("i8vec4", "ivec4", "i8vec4", "ivec4"),
        ] {
            for promote in [Promote::None, Promote::Auto] {
                let store = format!("z[at] = {stored}({made}(int(clamp(s * 20.0, -100.0, 100.0))));");
                let narrow = format!("o[i] = {loaded}({wide}(d[i]) * {wide}(3) + {wide}(1));");
                let widened = format!("o[i] = {wide}(d[i]) * {wide}(2);");
                begun(&store, stored, promote)
                    .submit(&each(&format!("d:{loaded} o:{loaded}"), &narrow), EACH, &[1, 3], &[])
                    .submit(&each(&format!("d:{loaded} o:{wide}"), &widened), EACH, &[3, 4], &[])
                    .check()
                    .fused(0)
                    .appends(&[(1, 0), (2, 0)]);
            }
        }
    }

    // The bits of a half as an integer, and two of them as a word, would have to be taken for what they are not.
    fn other_types_of_one_width() {
        if !is_possible() {
            return;
        }
        for (store, stored, names, body) in [
            (STORE, "float16_t", "d:uint16_t o:float", "o[i] = float(uint(d[i]));"),
            ("z[at] = uint16_t(uint(s));", "uint16_t", "d:float16_t o:float", "o[i] = 1.0 / float(d[i]);"),
            (STORE, "float16_t", "d:f16vec2 o:vec2", "if (i < 128u) o[i] = 1.0 / vec2(d[i]);"),
            ("z[at] = f16vec2(vec2(s));", "f16vec2", "d:float16_t o:float", "o[i] = 1.0 / float(d[i]);"),
        ] {
            let checked = begun(store, stored, Promote::None).submit(&each(names, body), EACH, &[1, 3], &[]).check();
            assert_eq!(checked.plan.steps.len(), 2, "{store} {body}");
        }
    }

    // Who reads elements finds them as before, unless they are stored back by then.
    fn producers_that_read_what_they_store() {
        let body = "var<workgroup> part: array<u32, 32>;--- let i = gid.x; part[lid.x] = a[i]; workgroupBarrier(); z[lid.x * 4u + wid.x] = part[lid.x ^ 3u] * 5u; storageBarrier(); y[i] = z[(lid.x ^ 1u) * 4u + wid.x] + part[lid.x];";
        let first = kernel("a y z", "32", body);
        let list = |names: &str, body: &str, buffers: &[u64]| {
            let lab = Lab::rewriting(128).submit(&first, [4, 1, 1], &[0, 1, 2], &[]);
            lab.submit(&kernel(names, "16", &format!("let i = gid.x; {body}")), [8, 1, 1], buffers, &[]).check()
        };
        for body in ["z[i] = a[i] * 3u + 1u;", "z[i / 2u * 2u + 1u - i % 2u] = a[i] ^ 7u;"] {
            list("a z", body, &[2, 3]).fused(0).appends(&[(1, 0)]);
        }
        list("z", "z[i] = z[i] * 3u + 1u;", &[2]).appends(&[]);
    }

    // What stays inside is hidden as the words that it is.
    fn halves_that_stay_inside() {
        if !is_possible() {
            return;
        }
        let body = "uint y = gl_GlobalInvocationID.y, x = i * 4u; if (y >= 5u) return; float s = 0.0; for (uint k = 0u; k < p.x; k++) s += a[(x + k * 7u) % 64u]; \
            for (uint r = 0u; r < 4u; r++) if (x + r < 27u) z[y * 27u + x + r] = float16_t(s + a[y + r]);";
        let first = glsl("", "a:float z:float16_t", "8, local_size_y = 2", body);
        let second = each("d:float16_t o:float16_t", "if (i < 135u) o[i] = float16_t(1.0 / (0.5 + float(d[i])));");
        let given = |k: u32| (1.5 + k as f32 / 640.0).to_bits();
        let list = |promote: Promote| {
            let mut lab = Lab::rewriting(256).promote(1, promote).words(0, &(0..256).map(given).collect::<Vec<_>>());
            lab.limits.small_scalars.float16 = true;
            lab.limits.kept_result_bytes = 64;
            lab.limits.unroll = UnrollLimits { rounds: 16, at_once: 1, private_bytes: 256, ..UnrollLimits::default() };
            lab.submit(&first, [1, 3, 1], &[0, 1], &[9]).submit(&second, [9, 1, 1], &[1, 2], &[])
        };
        let checked = list(Promote::Auto).check().fused(0).appends(&[(1, 0)]).inside(1, Internalization::Private);
        let report = checked.plan.report.epilogues[0];
        assert!(!report.gone && report.saved == 0, "{report:?}");
        // There is no memory that it could be read back from.
        assert_eq!(read_back(&checked), 0);
        assert!(list(Promote::Auto).seen_through(1 << 7).expect("hidden floats")[2] > 0);
        // What is kept of it in a register beside is not what is read back.
        let checked = list(Promote::None).check().fused(0).appends(&[(1, 0)]);
        assert!(read_back(&checked) > 0);
    }

    // What is read back has to be stored, also where all of it is stored back.
    fn halves_in_place() {
        if !is_possible() {
            return;
        }
        for promote in [Promote::None, Promote::Auto] {
            let checked = begun(STORE, "float16_t", promote)
                .submit(&each("z:float16_t", "z[i] = float16_t(1.0 / (float(z[i]) + 0.5));"), EACH, &[1], &[])
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
            assert_eq!(read_back(&checked), 1);
        }
    }
}
