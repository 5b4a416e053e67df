//! Kernels in which inlining and promotion can go wrong: the same bits as before, in the interpreter, and no variable left that need not be.
#![cfg(feature = "wgsl")]

use rspirv::binary::{Assemble as _, Disassemble as _};
use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};
use vkfuse_jit::kernel::{Kernel, Module};

use crate::round_trip::compare;

/// A kernel of these declarations that stores an expression of the item's number `i` and the words `x` and `y`.
fn kernel(declared: &str, body: &str) -> String {
    format!(
        "{declared}
         @group(0) @binding(0) var<storage, read> a: array<u32>;
         @group(0) @binding(1) var<storage, read_write> b: array<u32>;
         @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) g: vec3<u32>) {{
             let i = g.x; let x = a[i] % 7u; let y = a[i + 1u] % 5u;
             {body}
         }}"
    )
}

/// Checks the normal form of a kernel, and the number of its variables.
#[track_caller]
fn check(declared: &str, body: &str, variables: usize) {
    let text = kernel(declared, body);
    let module = Module::from_wgsl("form", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = Kernel::new(&module, None).and_then(|kernel| kernel.specialize(&[])).expect("a kernel");
    let form = kernel.normal.as_ref().unwrap_or_else(|reason| panic!("{reason}\n{text}"));
    let shown = form.module.disassemble();
    let words = form.module.assemble();
    assert!(vkfuse_jit::emit::is_valid(&words), "{shown}");
    assert_eq!(form.module.functions.len(), 1, "{shown}");
    assert_eq!(compare(&kernel.plain.contract, &words), Ok(true), "{text}\n{shown}");
    let class = Operand::StorageClass(StorageClass::Function);
    let is_variable =
        |inst: &&rspirv::dr::Instruction| inst.class.opcode == Op::Variable && inst.operands[0] == class;
    assert_eq!(form.module.functions[0].all_inst_iter().filter(is_variable).count(), variables, "{shown}");
}

#[test]
fn two_pointers_to_one_variable() {
    let swap = "fn mix(p: ptr<function, u32>, q: ptr<function, u32>) -> u32 { *p = *q + 3u; *q = *p * 2u; return *p + *q; }";
    check(swap, "var v = x; let s = mix(&v, &v); b[i] = v * 100u + s;", 0);
    check(swap, "var v = x; var w = y; let s = mix(&v, &w); b[i] = v * 1000u + w * 100u + s;", 0);
    let parts =
        "fn add(p: ptr<function, array<u32, 3>>, k: u32) { (*p)[1] = (*p)[0] + k; (*p)[2] += (*p)[1]; }";
    check(
        parts,
        "var v = array<u32, 3>(x, y, 5u); add(&v, 1u); add(&v, 2u); b[i] = v[0] + v[1] * 10u + v[2] * 100u;",
        0,
    );
    // An element that is chosen at run time keeps its array.
    check(
        parts,
        "var v = array<u32, 3>(x, y, 5u); add(&v, 1u); v[y % 3u] = 9u; b[i] = v[0] + v[1] + v[2] * 100u;",
        1,
    );
}

#[test]
fn a_variable_begins_anew_at_each_call() {
    let count = "fn count(n: u32) -> u32 { var s: u32; var t = 4u; for (var k = 0u; k < n; k++) { s += 2u; t += s; } return s * 16u + t; }";
    check(count, "var r = 0u; for (var k = 0u; k < y; k++) { r = r * 3u + count(x); } b[i] = r;", 0);
    check(
        count,
        "var r = 0u; var k = 0u; loop { if k >= y { break; } r += k; continuing { r += count(k); k++; } } b[i] = r;",
        0,
    );
}

#[test]
fn variables_of_the_module_are_shared_by_functions() {
    let shared = "struct S { u: u32, v: vec2<u32> }
        var<private> s: S = S(3u, vec2<u32>(1u, 2u)); var<private> n: u32;
        fn step(k: u32) { s.u += k; s.v.y = s.u + n; n++; } fn all() -> u32 { return s.u + s.v.x * 10u + s.v.y * 100u + n * 1000u; }";
    check(shared, "step(x); step(y); b[i] = all();", 0);
    check(
        shared,
        "for (var k = 0u; k < y; k++) { step(k); if n > x { s.v.x = 7u; break; } } b[i] = all();",
        0,
    );
}

#[test]
fn functions_return_from_everywhere() {
    let guard = "fn f(x: u32, y: u32) -> u32 { if x == 0u { return 1u; } if y == 0u { if x > 3u { return 2u; } else { return 3u; } } return x * y; }";
    check(guard, "b[i] = f(x, y) + 10u * f(y, x);", 0);
    let some = "fn f(x: u32, y: u32) -> u32 { var r = x; if x > 2u { if y > 2u { return 7u; } r += 1u; } r *= 2u; return r + y; }";
    check(some, "b[i] = f(x, y) + 100u * f(y, x);", 0);
    let loops = "fn f(x: u32, y: u32) -> u32 { var r = 0u;
        for (var k = 0u; k < 4u; k++) { for (var j = 0u; j < y; j++) { if k * j == x { return r * 10u + 9u; } r += j; } if r > 11u { break; } r++; }
        return r; }";
    check(loops, "b[i] = f(x, y) + 100u * f(y, x);", 0);
    let cases = "fn f(x: u32, y: u32) -> u32 { var r = y;
        switch x { case 0u: { return 5u; } case 1u, 2u: { if y > 2u { return 6u; } r = 8u; } case 3u: { for (var k = 0u; k < y; k++) { if k == 2u { return 4u; } } } default: { r++; } }
        return r * 10u; }";
    check(cases, "b[i] = f(x, y) + 100u * f(y, x);", 0);
    let ways = "fn f(x: u32) -> u32 { switch x & 3u { case 0u: { return 5u; } case 1u: { return x; } default: { return x * 3u; } } }";
    check(ways, "b[i] = f(x) + 100u * f(y);", 0);
    let endless = "fn f(x: u32) -> u32 { var k = x; loop { if k > 20u { return k; } k = k * 2u + 1u; } }";
    check(endless, "b[i] = f(x) + 100u * f(y);", 0);
    let once = "fn f(x: u32) -> u32 { var k = x; loop { if k == 3u { return k; } k += 5u; if k < 40u { break; } continuing { k++; break if false; } } return k * 2u; }";
    check(once, "b[i] = f(x) + 100u * f(y);", 0);
}

#[test]
fn nothing_returns_early() {
    let store = "fn put(i: u32, v: u32) { if v == 2u { return; } b[i] = v; if v == 3u { return; } b[i + 64u] = v + 1u; }";
    check(store, "put(i, x); put(i + 128u, y);", 0);
    check(store, "if x > 2u { put(i, y); return; } put(i, x);", 0);
    let endless =
        "fn put(i: u32, v: u32) { var k = v; loop { b[i + k] = k; if k > 20u { return; } k += 7u; } }";
    check(endless, "put(i * 32u, x);", 0);
    check(endless, "if y > 1u { put(i * 32u, x); }", 0);
}

#[test]
fn values_go_round_loops() {
    check(
        "",
        "var p = x; var q = y; for (var k = 0u; k < 5u; k++) { let t = p; p = q; q = t + k; } b[i] = p * 100u + q;",
        0,
    );
    check(
        "",
        "var v = vec4<u32>(x, y, 0u, 1u); for (var k = 0u; k < y; k++) { v.z += v.x; v = v.yxzw; v[3] *= 2u; } b[i] = v.x + v.z * 10u + v.w * 1000u;",
        0,
    );
    check(
        "",
        "var r = x; var d: u32; loop { d += r; r += 2u; continuing { d ^= 5u; break if r > 9u; } } b[i] = d * 16u + r;",
        0,
    );
    check(
        "",
        "var m = mat2x2<f32>(1.0, 2.0, 3.0, f32(x)); m[1][0] = f32(y); m[0] = m[1] + m[0]; b[i] = u32(m[0].x * 8.0 + m[1].y);",
        0,
    );
}
