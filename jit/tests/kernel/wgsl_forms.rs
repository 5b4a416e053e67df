//! What only WGSL has, or has in a way of its own: overrides, helpers that return on every way, `break if`, `f16`.

use vkfuse_jit::kernel::{Kernel, KernelError, Module, SpecType, SpecValue};

use super::given::results;

fn kernel(text: &str) -> Kernel {
    let module = Module::from_wgsl("form", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Kernel::new(&module, None).expect("one entry point")
}

/// A kernel that stores an expression of the item's number `i`, of the word `x` at that, and of what is declared.
fn storing(declared: &str, size: &str, value: &str) -> String {
    format!(
        "{declared}
         @group(0) @binding(0) var<storage, read> a: array<u32>;
         @group(0) @binding(1) var<storage, read_write> b: array<u32>;
         @compute @workgroup_size({size}) fn main(@builtin(global_invocation_id) g: vec3<u32>) {{
             let i = g.x; let x = a[i];
             b[i] = {value};
         }}"
    )
}

/// The first words that such a kernel stores.
#[track_caller]
fn stores(text: &str, values: &[(u32, SpecValue)], expected: impl Fn(u32) -> u32) {
    let specialized = kernel(text).specialize(values).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let words = specialized.interface.local_size[0] * 4;
    let found = results(&specialized, words);
    let expected: Vec<u32> = (0..words).map(|i| expected(1000 + i)).collect();
    assert_eq!(found, expected, "{values:?}\n{text}");
}

const U: fn(u32) -> SpecValue = SpecValue::U32;

/// A helper's body, and the function that it is.
type Form = (&'static str, fn(u32) -> u32);

#[test]
fn overrides_with_a_default_take_values() {
    let text = storing("@id(3) override K: u32 = 5u;", "64", "x + K");
    stores(&text, &[], |x| x + 5);
    stores(&text, &[(3, U(9))], |x| x + 9);
    stores(&text, &[(3, U(5))], |x| x + 5);
    // An id that no override has is none of them.
    stores(&text, &[(0, U(9))], |x| x + 5);
    let constants = kernel(&text);
    let [constant] = constants.spec_constants() else { panic!("{:?}", constants.spec_constants()) };
    assert_eq!((constant.id, constant.name.as_deref(), constant.ty), (3, Some("K"), SpecType::U32));
    assert_eq!((constant.default, constant.required, constant.derived), (U(5), false, false));
}

#[test]
fn overrides_are_made_of_others() {
    let declared =
        "@id(1) override n: u32 = 4u; @id(2) override m: u32 = n * 3u + 1u; override k = max(m, 20u);";
    let text = storing(declared, "4", "x * m + k");
    stores(&text, &[], |x| x * 13 + 20);
    stores(&text, &[(1, U(10))], |x| x * 31 + 31);
    stores(&text, &[(2, U(2))], |x| x * 2 + 20);
    // What is given stands, also where it is what would have been derived.
    stores(&text, &[(1, U(10)), (2, U(13))], |x| x * 13 + 20);
    stores(&text, &[(0, U(1)), (1, U(0))], |x| x + 1);
    let derived: Vec<_> =
        kernel(&text).spec_constants().iter().map(|c| (c.id, c.derived, c.default)).collect();
    assert_eq!(derived, [(0, true, U(20)), (1, false, U(4)), (2, true, U(13))]);
}

#[test]
fn overrides_size_work_groups_and_arrays() {
    let sized = "@id(4) override n: u32 = 8u; var<workgroup> w: array<u32, n * 2u>;";
    let text = storing(sized, "n, 1, 1", "x + n + 0u * w[1]");
    for size in [8, 4, 16] {
        let given = [(4, U(size))];
        let specialized = kernel(&text).specialize(&given).unwrap();
        assert_eq!(specialized.interface.local_size, [size, 1, 1]);
        assert_eq!(specialized.interface.workgroup_bytes, size * 8);
        stores(&text, &given, |x| x + size);
    }
    stores(&text, &[], |x| x + 8);
    // Without a default, too.
    let open = text.replace("n: u32 = 8u", "n: u32");
    stores(&open, &[(4, U(2))], |x| x + 2);
    let missing = kernel(&open).specialize(&[]).unwrap_err();
    assert!(matches!(missing, KernelError::MissingSpecialization { id: 4, .. }), "{missing}");
    let empty = kernel(&text).specialize(&[(4, U(0))]).unwrap_err();
    assert!(matches!(empty, KernelError::Wgsl { line: 1, column: 8, .. }), "{empty}");
    // The default may be none that a kernel can have.
    stores(&text.replace("= 8u", "= 0u"), &[(4, U(4))], |x| x + 4);
}

#[test]
fn overrides_have_every_type() {
    let all = "override t: bool = true; override s: i32 = -3; override f: f32 = 1.5; override u: u32 = 7u;";
    let text = storing(all, "4", "select(u32(f * 4.0), bitcast<u32>(s) * u, t) + x");
    let signed = |s: i32, u: u32| (s as u32).wrapping_mul(u);
    stores(&text, &[], |x| signed(-3, 7).wrapping_add(x));
    stores(&text, &[(0, SpecValue::Bool(false))], |x| x + 6);
    stores(&text, &[(0, U(0)), (2, SpecValue::F32(0.25))], |x| x + 1);
    stores(&text, &[(1, SpecValue::I32(i32::MIN)), (3, U(3))], |x| signed(i32::MIN, 3).wrapping_add(x));
    stores(&text, &[(1, SpecValue::I32(0)), (3, U(u32::MAX))], |x| x);
    let error = kernel(&text).specialize(&[(2, U(1))]).unwrap_err();
    assert!(matches!(error, KernelError::SpecializationType { id: 2, .. }), "{error}");
    // WGSL has no override that is not finite.
    let error = kernel(&text).specialize(&[(2, SpecValue::F32(f32::INFINITY))]).unwrap_err();
    assert!(matches!(error, KernelError::Wgsl { line: 1, column: 48, .. }), "{error}");
    // What is made of several of them has no place of its own.
    let made = storing("override n: u32 = 4u; override m: u32 = 8u / n;", "4", "x + m");
    let error = kernel(&made).specialize(&[(0, U(0))]).unwrap_err();
    assert!(matches!(error, KernelError::Wgsl { line: 0, .. }), "{error}");
    assert!(!error.to_string().contains("line"), "{error}");
}

#[test]
fn overrides_decide_branches_and_trips() {
    let declared = "@id(1) override n: u32 = 3u;
        fn f(y: u32) -> u32 { if (n == 0u) { return 0u; } var s = y; for (var k = 0u; k < n; k++) { s = s * 3u + k; } return s; }";
    let text = storing(declared, "4", "f(x)");
    let right = |n: u32| {
        move |x: u32| if n == 0 { 0 } else { (0..n).fold(x, |s, k| s.wrapping_mul(3).wrapping_add(k)) }
    };
    stores(&text, &[], right(3));
    for n in [0, 1, 7] {
        stores(&text, &[(1, U(n))], right(n));
    }
}

#[test]
fn equal_overrides_are_one_kernel() {
    let text = storing("@id(3) override K: u32 = 5u;", "4", "x + K");
    let one = kernel(&text);
    let default = one.specialize(&[]).unwrap();
    assert!(std::sync::Arc::ptr_eq(&default, &one.specialize(&[(3, U(5))]).unwrap()));
    let nine = one.specialize(&[(3, U(9))]).unwrap();
    assert_ne!(nine.hash, default.hash);
    // As if the text had said so.
    let said = kernel(&text.replace("5u", "9u")).specialize(&[]).unwrap();
    assert_eq!(nine.hash, said.hash);
}

/// A compute module has no `f16` in the inputs and outputs of a stage.
#[test]
fn halves_need_no_input_or_output() {
    let text = "enable f16;
        @group(0) @binding(0) var<storage, read> a: array<f16>;
        @group(0) @binding(1) var<storage, read_write> b: array<f16>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
            b[g.x] = a[g.x] * 2.0h + 1.0h;
        }";
    let specialized = kernel(text).specialize(&[]).unwrap();
    let names: Vec<String> =
        specialized.interface.capabilities.iter().map(|one| format!("{one:?}")).collect();
    assert!(!names.iter().any(|name| name == "StorageInputOutput16"), "{names:?}");
    assert!(names.iter().any(|name| name == "Float16"), "{names:?}");
    assert!(specialized.normal.is_ok(), "{:?}", specialized.normal);
}

#[test]
fn helpers_return_on_every_way() {
    let collatz = |x: u32| if x & 1 == 0 { x / 2 } else { x * 3 };
    let forms: &[Form] = &[
        ("if (x & 1u) == 0u { return x / 2u; } else { return x * 3u; }", |x| {
            if x & 1 == 0 { x / 2 } else { x * 3 }
        }),
        ("if x % 3u == 0u { return 1u; } else if x % 3u == 1u { return x + 2u; } else { return x; }", |x| {
            match x % 3 {
                0 => 1,
                1 => x + 2,
                _ => x,
            }
        }),
        (
            "switch x & 3u { case 0u: { return 5u; } case 1u, 2u: { return x * x; } default: { return x ^ 1u; } }",
            |x| match x & 3 {
                0 => 5,
                1 | 2 => x * x,
                _ => x ^ 1,
            },
        ),
        (
            "if x > 1002u { if x > 1004u { return 1u; } else { return 2u; } } else { switch x { case 1000u: { return 3u; } default: { return 4u; } } }",
            |x| match x {
                1005.. => 1,
                1003.. => 2,
                1000 => 3,
                _ => 4,
            },
        ),
        ("var y = x; loop { if y < 10u { return y; } y = y / 3u; }", |x| {
            let mut y = x;
            while y >= 10 {
                y /= 3;
            }
            y
        }),
        ("var y = x; while true { if y < 10u { return y; } y -= 7u; } return 0u;", |x| {
            let mut y = x;
            while y >= 10 {
                y -= 7;
            }
            y
        }),
        ("if x == 1001u { return 9u; } loop { return x + 1u; }", |x| if x == 1001 { 9 } else { x + 1 }),
        ("{ if x > 1u { return 1u; } else { return 0u; } }", |x| u32::from(x > 1)),
    ];
    for (body, right) in forms {
        let text = storing(&format!("fn f(x: u32) -> u32 {{ {body} }}"), "4", "f(x)");
        assert!(kernel(&text).specialize(&[]).unwrap().normal.is_ok(), "{body}");
        stores(&text, &[], right);
        // Called twice, in an expression and under a branch.
        let twice = storing(
            &format!(
                "fn f(x: u32) -> u32 {{ {body} }} fn h(x: u32) -> u32 {{ if x > 1003u {{ return f(x) + f(x + 1u); }} else {{ return f(x); }} }}"
            ),
            "4",
            "h(x)",
        );
        stores(&twice, &[], |x| if x > 1003 { right(x).wrapping_add(right(x + 1)) } else { right(x) });
    }
    // Without a value, and the entry point itself.
    let nothing = "var<private> kept: u32;
        fn f(x: u32) { if x % 2u == 0u { kept = x; return; } else { kept = x * 3u; return; } }
        fn h(x: u32) -> u32 { f(x); return kept; }";
    stores(&storing(nothing, "4", "h(x)"), &[], |x| if x % 2 == 0 { x } else { x * 3 });
    let entry = storing(
        "fn f(x: u32) -> u32 { if (x & 1u) == 0u { return x / 2u; } else { return x * 3u; } }",
        "4",
        "f(x)",
    );
    for (from, to) in [
        ("b[i] = f(x);", "if i > 2u { b[i] = f(x); return; } else { b[i] = 7u; return; }"),
        (
            "b[i] = f(x);",
            "switch i { case 0u, 1u, 2u: { b[i] = 7u; return; } default: { b[i] = f(x); return; } }",
        ),
        ("b[i] = f(x);", "if i > 2u { b[i] = f(x); return; } loop { b[i] = 7u; return; }"),
    ] {
        stores(&entry.replace(from, to), &[], |x| if x > 1002 { collatz(x) } else { 7 });
    }
}

#[test]
fn loops_end_by_break_if() {
    let forms: &[Form] = &[
        ("var k = 0u; loop { s = s * 5u + k; continuing { k += 1u; break if k >= 7u; } }", |x| {
            (0..7).fold(x, |s, k| s.wrapping_mul(5).wrapping_add(k))
        }),
        ("var k = 9u; loop { s = s * 5u + k; continuing { k += 1u; break if k >= 7u; } }", |x| x * 5 + 9),
        ("var k = 7u; loop { s += k; continuing { k -= 1u; break if k == 0u; } }", |x| x + 28),
        (
            "var k = 0u; loop { k += 1u; if (k & 1u) == 1u { continue; } s += k; continuing { break if k > 9u; } }",
            |x| x + 30,
        ),
        ("var k = 64u; loop { s += k; continuing { k /= 2u; break if k == 0u; } }", |x| x + 127),
        ("var k = 1u; loop { s ^= k; continuing { k *= 2u; break if !(k < 100u); } }", |x| x ^ 127),
    ];
    for (body, right) in forms {
        let text = storing(&format!("fn f(x: u32) -> u32 {{ var s = x; {body} return s; }}"), "4", "f(x)");
        assert!(kernel(&text).specialize(&[]).unwrap().normal.is_ok(), "{body}");
        stores(&text, &[], right);
    }
}
