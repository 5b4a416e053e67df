//! Floats that numbers decide: of ids, arguments and elements a driver's compiler knows more in a fused kernel than in each kernel alone,
//! and what it chooses by them becomes a constant. The bits stay the same.

use vkfuse::{Accessor, Context, FusionProperties, FusionWrapper, Outcome, Queue};

const ITEMS: usize = 64;

/// The buffers: `x` to `z` of floats, `a` and `b` of numbers; `t` is read as either.
const NAMES: [&str; 7] = ["x", "w", "t", "y", "z", "a", "b"];

/// A kernel: what it calls its buffers, and which ones they are, and what it does.
type Kernel<'a> = (&'a str, &'a str);

/// Two kernels each; `i` is the item, `p` and `q` are equal arguments. `n:u32=t` is the buffer `t`, called `n` and read as numbers.
const LISTS: &[[Kernel<'static>; 2]] = &[
    // Numbers that are read as floats.
    [("n:u32=t", "n[i] = 0u;"), ("x t y", "y[i] = x[i] * t[i] + x[i];")],
    [("t", "t[i] = bitcast<f32>(i & 0u);"), ("x t y", "y[i] = x[i] * t[i];")],
    [("t", "t[i] = bitcast<f32>(p ^ q);"), ("x t y", "y[i] = x[i] * t[i];")],
    // Equal arguments.
    [("x y", "y[i] = x[i] * select(1.0, 0.0, p == q);"), ("y z", "z[i] = y[i] + y[i];")],
    [("x y", "y[i] = x[i] * f32(i32(p) - i32(q)) + x[i];"), ("y z", "z[i] = y[i] + y[i];")],
    [("x y", "let d = select(0.5, 0.0, p == q); y[i] = x[i] * d + x[i];"), ("y z", "z[i] = y[i] + y[i];")],
    [
        ("x y", "var g = 0.45; if (p == q) { g = 2.2; } y[i] = pow(abs(x[i]), g) * pow(0.3, g);"),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    [
        ("x y", "var v = exp(x[i]); if (p != q) { v = x[i] * 3.0; } y[i] = log(v);"),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    // What the compiler of the kernel alone knows as well.
    [
        ("x y", "var s = 0.0; for (var k = 0; k < 4; k++) { s += x[i]; } y[i] = s;"),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    [
        (
            "x y",
            "var m = array<f32, 4>(0.0, 1.0, 2.0, 0.5); var s = x[i]; for (var k = 0; k < 3; k++) { s += x[i] * m[k]; } y[i] = s;",
        ),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    [
        (
            "x y",
            "var s = x[i]; for (var k = 0; k < 3; k++) { s += x[i] * select(0.0, 2.0, k == 1); } y[i] = s;",
        ),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    [
        ("x y", "var s = x[i]; for (var k = 0; k < 3; k++) { s += x[i] * f32(k); } y[i] = s;"),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    [("x y", "y[i] = x[i] * vec2(0.0, 1.0)[min(p - q, 1u)];"), ("y z", "z[i] = y[i] + y[i];")],
    [("x y", "y[i] = ldexp(x[i] * 1e-30, i32(p - q)) * 1e30;"), ("y z", "z[i] = y[i] + y[i];")],
    [("x y", "var n = 1u; if (p == q) { n = 0u; } y[i] = x[i] * f32(n);"), ("y z", "z[i] = y[i] + y[i];")],
    // One memory in two bindings.
    [("x y a b:u32=a", "y[i] = x[i] * select(1.0, 0.0, a[i] == b[i]);"), ("y z", "z[i] = y[i] + y[i];")],
    [("x y a b:u32=a", "y[i] = x[i] * bitcast<f32>(a[i] - b[i]);"), ("y z", "z[i] = y[i] + y[i];")],
    [
        ("x y a b:u32=a", "y[i] = x[i] * select(1.0, 0.0, arrayLength(&a) == arrayLength(&b));"),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    // Stores and loads with others between them.
    [
        ("x y a b", "a[i] = 0u; b[i] = 7u; y[i] = x[i] * select(1.0, 0.0, a[i] == 0u);"),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    [
        ("x y a b", "let u = a[i]; b[i] = 7u; let v = a[i]; y[i] = x[i] * select(1.0, 0.0, u == v);"),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    [
        (
            "x y b",
            "let u = bitcast<u32>(x[i]); b[i] = 7u; y[i] = x[i] * select(1.0, 0.0, u == bitcast<u32>(x[i]));",
        ),
        ("y z", "z[i] = y[i] + y[i];"),
    ],
    // Ids that are constants, fused or alone.
    [("x z", "z[i] = x[i] + x[i];"), ("x y", "y[i] = x[i] * select(1.0, 0.0, id.y == 0u);")],
    [("x z", "z[i] = x[i] + x[i];"), ("x y", "y[i] = x[i] * select(1.0, 0.0, group.y == 0u);")],
    [("x z", "z[i] = x[i] + x[i];"), ("x y", "y[i] = x[i] * f32(local.y);")],
    [("x z", "z[i] = x[i] + x[i];"), ("x y", "y[i] = x[i] * select(1.0, 0.0, local.z == 0u);")],
    // An element that is computed where it is read.
    [("t", "t[i] = exp(f32(i));"), ("t w y", "y[i] = t[2] * w[i];")],
    [("t", "t[i] = log(f32(i) + 1.5);"), ("t w y", "y[i] = t[5] * w[i];")],
    [("x t", "t[i] = x[i] * select(1.0, 0.0, i == 0u);"), ("t y", "y[i] = t[0];")],
    [("x t", "t[i] = x[i] * f32(i & 3u);"), ("t y", "y[i] = t[0];")],
    [("x t", "t[i] = select(exp(f32(i)), x[i] * 0.5, i < 4u);"), ("t w y", "y[i] = t[9] * w[i];")],
    // What a compiler knows in the kernel alone.
    [("x y", "y[i] = x[i] * f32(p - p) + x[i];"), NEXT],
    [("x y", "y[i] = x[i] * select(1.0, 0.0, p == p);"), NEXT],
    [("x y", "y[i] = x[i] * select(1.0, 0.0, local.x < 16u);"), NEXT],
    [("x y", "y[i] = x[i] * f32(local.x / 16u) + x[i];"), NEXT],
    // Vectors and matrices of constants that are stored and loaded.
    [
        ("m:mat2x2<f32>=t", "if (i < 16u) { m[i] = mat2x2<f32>(0.0, 1.0, 0.0, 0.0); }"),
        ("x m:mat2x2<f32>=t y", "if (i < 16u) { y[i] = x[i] * m[i][1].y + x[i] * m[i][0].x; }"),
    ],
    [
        ("x v:vec2<f32>=t", "if (i < 32u) { v[i] = vec2(0.0, x[i]); }"),
        ("x v:vec2<f32>=t y", "if (i < 32u) { y[i] = x[i] * v[i].x + v[i].y; }"),
    ],
    [
        ("m:mat2x2<f32>=t", "if (i < 16u) { m[i] = mat2x2<f32>(0.0, 0.0, 0.0, 0.0); }"),
        (
            "x m:mat2x2<f32>=t y",
            "if (i < 16u) { y[i] = x[i] * (m[i] * vec2(1.0, x[i])).y + x[i] * transpose(m[i])[0].y; }",
        ),
    ],
    // Elements of local arrays, vectors and matrices.
    [("x y", "var a = array<f32, 2>(x[i], 1.0); a[p - q] = 0.0; y[i] = x[i] * a[0];"), NEXT],
    [("x y", "var a = array<f32, 2>(0.0, 1.0); a[(p - q) + 1u] = x[i]; y[i] = x[i] * a[p - q];"), NEXT],
    [
        (
            "x y",
            "var a: array<f32, 3>; for (var k = 0u; k < p - q + 2u; k++) { a[k] = exp(x[i]); } y[i] = log(a[1]) + x[i] * a[2];",
        ),
        NEXT,
    ],
    [("x y", "var v = vec2(x[i], 1.0); v[p - q] = 0.0; y[i] = x[i] * v.x;"), NEXT],
    [("x y", "var m = mat2x2<f32>(x[i], 0.0, 1.0, x[i]); y[i] = x[i] * m[p - q].y;"), NEXT],
    [("x y", "let m = array<f32, 4>(0.0, 1.0, 2.0, 0.5); var n = m; y[i] = x[i] * n[p - q] + x[i];"), NEXT],
    // What loops carry, begin with and leave behind.
    [("x y", "var v = x[i]; for (var k = 0u; k < p - q + 1u; k++) { v = 0.0; } y[i] = x[i] * v;"), NEXT],
    [("x y", "var v = 0.0; for (var k = 0u; k < p - q; k++) { v = x[i]; } y[i] = x[i] * v;"), NEXT],
    [("x y", "var v = x[i]; for (var k = 0u; k < p - q + 1u; k++) { v = exp(v); } y[i] = log(v);"), NEXT],
    [("x y", "var s = 0.0; for (var k = 0u; k < p - q + 2u; k++) { s += x[i]; } y[i] = s;"), NEXT],
    [
        (
            "x y",
            "var v = vec2(0.0, x[i]); for (var k = 0u; k < p - q + 2u; k++) { v = v.yx; } y[i] = x[i] * v.x + v.y;",
        ),
        NEXT,
    ],
    [
        (
            "x y",
            "var v = x[i]; for (var k = 0u; k < 4u; k++) { if (k == p - q) { v = 0.0; } v = v * x[i]; } y[i] = v;",
        ),
        NEXT,
    ],
    // Integers of several floats that are equal, and choices by each of them.
    [("x y t:f32=x", "y[i] = x[i] * f32(bitcast<u32>(x[i]) - bitcast<u32>(t[i]));"), NEXT],
    [("x y t:f32=x", "y[i] = x[i] * bitcast<f32>(bitcast<u32>(x[i]) ^ bitcast<u32>(t[i])) + x[i];"), NEXT],
    [("x y t:f32=x", "y[i] = x[i] * (select(0.0, 1.0, x[i] < 0.0) * select(1.0, 0.0, t[i] < 0.0));"), NEXT],
];

/// What follows a kernel that is compared.
const NEXT: Kernel<'static> = ("y z", "z[i] = y[i] + y[i];");

/// A word of a kernel's list of buffers: its name in the kernel, its type, and the buffer.
fn bound(word: &str) -> (&str, &str, &str) {
    let (declared, buffer) = word.split_once('=').unwrap_or((word, ""));
    let (name, ty) = declared.split_once(':').unwrap_or((declared, ""));
    let buffer = if buffer.is_empty() { name } else { buffer };
    let own = if matches!(name, "a" | "b") { "u32" } else { "f32" };
    (name, if ty.is_empty() { own } else { ty }, buffer)
}

fn text((buffers, body): Kernel<'_>) -> String {
    let buffers = buffers.split(' ').map(bound).enumerate().map(|(binding, (name, ty, _))| {
        format!("@group(0) @binding({binding}) var<storage, read_write> {name}: array<{ty}>;\n")
    });
    let enable = if body.contains("f16") { "enable f16;\n" } else { "" };
    format!(
        "{enable}struct P {{ p: u32, q: u32 }}\nvar<immediate> args: P;\n{}\n@compute @workgroup_size(16)\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>, \
         @builtin(workgroup_id) group: vec3<u32>) {{ let i = id.x; let p = args.p; let q = args.q; \
         if (i >= 64u) {{ return; }} {body} }}",
        buffers.collect::<String>()
    )
}

fn inputs() -> Vec<f32> {
    let mut x = vec![-0.0, 0.0, 1e-40, f32::INFINITY, -f32::INFINITY, f32::NAN, 1.0, -1.0, 3.0, -1e30];
    x.extend((x.len()..ITEMS).map(|i| (i as f32 - 40.0) * 0.37));
    x
}

/// Runs a list; the buffers, as words, and whether it was one dispatch.
pub(super) fn run(
    context: &Context,
    queue: &Queue,
    list: &[Kernel<'_>; 2],
    groups: [u32; 2],
    fused: bool,
) -> (Vec<Vec<u32>>, bool) {
    let buffers: Vec<_> = NAMES
        .iter()
        .map(|name| match *name {
            "x" | "w" => context.buffer_from(&inputs().iter().map(|x| x.to_bits()).collect::<Vec<_>>()),
            _ => context.buffer_from(&[7.5_f32.to_bits(); ITEMS]),
        })
        .map(|buffer| buffer.expect("a buffer"))
        .collect();
    let wrapper = FusionWrapper::new(queue).expect("the queue enables fusion");
    if fused {
        wrapper.start_fusion().expect("start_fusion");
    }
    for (kernel, groups) in list.iter().zip(groups) {
        let code = context.kernel_from_wgsl("decided", &text(*kernel)).expect(kernel.1);
        queue
            .submit(|h| {
                for (binding, word) in (0..).zip(kernel.0.split(' ')) {
                    let place = NAMES.iter().position(|name| *name == bound(word).2).expect("a buffer");
                    let accessor: Accessor = buffers[place].read_write().cast::<u8>();
                    h.arg(binding, accessor);
                }
                h.push_bytes(&[5_u32, 5].map(u32::to_ne_bytes).concat());
                h.dispatch(&code, [groups, 1, 1]);
            })
            .expect(kernel.1);
    }
    let mut one = false;
    if fused {
        let event = wrapper.complete_fusion(&FusionProperties::default()).expect("complete_fusion");
        event.wait().expect("a run");
        one = event.outcome() == Outcome::Fused;
    }
    queue.wait().expect("a run");
    (buffers.iter().map(|buffer| buffer.download().expect("results")).collect(), one)
}

/// What differs between the buffers of two runs; two numbers that are none count as one.
pub(super) fn differences(alone: &[Vec<u32>], fused: &[Vec<u32>]) -> impl Iterator<Item = String> {
    let of = |((name, alone), fused): ((&&str, &Vec<u32>), &Vec<u32>)| {
        let is_nan = |word: u32| f32::from_bits(word).is_nan();
        let differs = |(a, b): &(&u32, &u32)| a != b && !(is_nan(**a) && is_nan(**b));
        let count = alone.iter().zip(fused).filter(differs).count();
        let (a, b) = alone.iter().zip(fused).find(differs)?;
        let (a, b) = (f32::from_bits(*a), f32::from_bits(*b));
        Some(format!("{name}: {count} differ, first {a:e} alone, {b:e} fused"))
    };
    NAMES.iter().zip(alone).zip(fused).filter_map(of).collect::<Vec<_>>().into_iter()
}

#[test]
fn numbers_decide_no_other_floats_when_fused() {
    let Some((context, queue)) = super::device() else { return };
    let (mut wrong, mut apart) = (Vec::new(), Vec::new());
    for list in LISTS {
        // The second one with fewer work-groups is renumbered.
        for groups in [[4, 4], [5, 4]] {
            let (alone, _) = run(&context, &queue, list, groups, false);
            let (fused, one) = run(&context, &queue, list, groups, true);
            if !one {
                apart.push(format!("{} | {}", list[0].1, list[1].1));
            }
            let differ = differences(&alone, &fused);
            wrong.extend(differ.map(|what| format!("{} | {} {groups:?}: {what}", list[0].1, list[1].1)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(apart.is_empty(), "not one dispatch, so nothing was compared: {apart:#?}");
    assert_eq!(context.validation_messages(), 0, "the validation layers complained");
}

/// Quotients, roots and functions of singles beside a kernel of halves: what a module asks for one width of floats may change what
/// a driver makes of another.
#[test]
fn halves_beside_singles_change_no_bits() {
    let Some((context, queue)) = super::device() else { return };
    let halves: Kernel<'_> = ("h:vec2<f16>=t", "h[i] = h[i] * h[i] + vec2<f16>(f16(i));");
    if context.kernel_from_wgsl("halves", &text(halves)).is_err() {
        println!("not run: the device has no halves");
        return;
    }
    let mut wrong = Vec::new();
    for value in [
        "1.0 / x[i]",
        "1.0 / sqrt(abs(x[i]))",
        "x[i] / w[i ^ 1u]",
        "inverseSqrt(abs(x[i]))",
        "exp(x[i])",
        "tanh(x[i])",
    ] {
        let body = format!("y[i] = {value};");
        let singles: Kernel<'_> = ("x w y", &body);
        for list in [[singles, halves], [halves, singles]] {
            let (alone, _) = run(&context, &queue, &list, [4, 4], false);
            let (fused, one) = run(&context, &queue, &list, [4, 4], true);
            assert!(one, "{value}: not one dispatch, so nothing was compared");
            wrong.extend(differences(&alone, &fused).map(|what| format!("{value}: {what}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(context.validation_messages(), 0, "the validation layers complained");
}
