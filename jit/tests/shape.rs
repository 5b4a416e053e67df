//! Free shapes and loops unrolled, in the interpreter: the same bytes as unfused, and no race.

mod list;

use std::sync::Arc;

use list::{List, kernel};
use vkfuse_fuzz::devices::desktop;
use vkfuse_interp::{Bind, Dispatch, Memory, ObjectId, Options, Order, Program, execute};
use vkfuse_jit::kernel::{Kernel, Module, Specialized};
use vkfuse_jit::plan::{
    FloatMode, FuseOptions, Internalization, Limits, Plan, Promote, ShapeLimits, Step, plan, plan_unfused,
};

fn limits(shape: ShapeLimits) -> Limits {
    Limits { shape, ..desktop() }
}

fn wgsl(name: &str, body: &str) -> Arc<Specialized> {
    let text = format!(
        "struct P {{ n: u32, k: u32 }}\nvar<immediate> p: P;\n\
         @group(0) @binding(0) var<storage, read> a: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> z: array<u32>;\n{body}"
    );
    let module = Module::from_wgsl(name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Kernel::new(&module, None).expect("entry").specialize(&[]).expect("defaults")
}

/// An element-wise kernel: `body` sets `v` from `a[i]`.
fn element_wise(name: &str, local: u32, body: &str) -> Arc<Specialized> {
    wgsl(
        name,
        &format!(
            "@compute @workgroup_size({local}) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
             let i = id.x; if (i >= p.n) {{ return; }}\n var v = a[i];\n{body}\n z[i] = v; }}"
        ),
    )
}

/// Bytes of `buffers` buffers after the steps.
fn run(steps: &[Step], buffers: usize, words: usize, order: Order) -> Vec<Vec<u8>> {
    let mut memory = Memory::new();
    let contents = |b: usize| {
        (0..words).flat_map(|n| (((n * 7 + b * 31) % 97) as u32).to_le_bytes()).collect::<Vec<u8>>()
    };
    let objects: Vec<ObjectId> = (0..buffers).map(|b| memory.add(contents(b))).collect();
    for step in steps {
        let program = Program::decode(&step.build().expect("the module stands")).expect("decodes");
        let bindings = step.bindings.iter().map(|b| Bind {
            set: b.at.set,
            binding: b.at.binding,
            object: objects[b.buffer.0 as usize],
            offset: b.offset,
            len: b.len,
        });
        let mut dispatch = Dispatch {
            program: &program,
            groups: step.groups,
            bindings: bindings.collect(),
            push: step.push.to_vec(),
        };
        if let Some(at) = step.push_buffer() {
            dispatch.move_push(&mut memory, step.push_bytes() as usize, (at.set, at.binding));
        }
        let options = Options { order, ..Options::default() };
        let findings = execute(&[dispatch], &mut memory, &options).expect("runs");
        assert!(findings.is_clean(), "{findings:#?}");
    }
    objects.iter().map(|&id| memory.bytes(id).to_vec()).collect()
}

/// Plans under `shape` and checks every buffer that was not kept inside.
fn check(list: &List, buffers: usize, words: usize, shape: ShapeLimits) -> Plan {
    let limits = limits(shape);
    let plan = plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan");
    let alone = |s| plan_unfused(s, FloatMode::Strict, &limits).expect("plan");
    let unfused: Vec<Step> = list.submissions.iter().map(alone).collect();
    let expected = run(&unfused, buffers, words, Order::Forward);
    for order in Order::ALL {
        let got = run(&plan.steps, buffers, words, order);
        for (number, (want, got)) in expected.iter().zip(&got).enumerate() {
            let inside = plan
                .report
                .buffers
                .iter()
                .any(|b| b.buffer.0 == number as u64 && b.got != Internalization::None);
            assert!(inside || want == got, "buffer {number}, {shape:?}, {order:?}\n{:#?}", plan.report);
        }
    }
    plan
}

const SHAPES: [(u32, u32, bool, u32); 7] = [
    (0, 1, false, 1),
    (32, 4, true, 1),
    (32, 4, false, 1),
    (0, 2, false, 1),
    (8, 8, true, 1),
    (32, 4, true, 3),
    (4, 4, true, 8),
];

fn shapes() -> impl Iterator<Item = ShapeLimits> {
    SHAPES.into_iter().map(|(group_size, items, vectors, rounds)| ShapeLimits {
        group_size,
        items,
        vectors,
        rounds,
        least: 1,
        superword: 1,
        lanes: 1,
        conditions: None,
    })
}

/// `n` and 3 as push constants.
fn push(n: u32) -> Vec<u8> {
    [n, 3].iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn tails_and_whole_groups_of_four_are_exact() {
    let first = element_wise("first", 64, "v = v * 3u + i;");
    let second = element_wise("second", 16, "v = v ^ (p.n - i);");
    for n in [1u32, 3, 4, 5, 127, 128, 129, 1003] {
        for promote in [Promote::None, Promote::Private] {
            for shape in shapes() {
                let mut list = List::new(1024);
                list.promote(1, promote);
                list.submit(&first, [n.div_ceil(64), 1, 1], &[0, 1], &push(n));
                list.submit(&second, [n.div_ceil(16), 1, 1], &[1, 2], &push(n));
                let plan = check(&list, 3, 1024, shape);
                let items = plan.report.groups[0].items_per_invocation;
                assert_eq!(items % shape.items.min(4), 0, "{:#?}", plan.report);
                assert!(shape.rounds > 1 && n % 4 != 0 || items <= 4, "{:#?}", plan.report);
            }
        }
    }
}

#[test]
fn members_with_other_ends_keep_theirs() {
    let first = element_wise("first", 32, "v = v + 1u;");
    let second = element_wise("second", 32, "v = v * 5u;");
    for (n, m) in [(1000, 77), (77, 1000), (64, 65)] {
        for shape in shapes() {
            let mut list = List::new(1024);
            list.submit(&first, [32, 1, 1], &[0, 1], &push(n));
            list.submit(&second, [32, 1, 1], &[0, 2], &push(m));
            check(&list, 3, 1024, shape);
        }
    }
}

#[test]
fn choices_between_values_are_computed_side_by_side() {
    let choose = element_wise(
        "choose",
        64,
        "if (v < 40u) { if (v > p.k) { v = v * 3u; } else { v = v + i; } v = v ^ 1u; } else { v = 7u - v; }",
    );
    let other = element_wise("other", 64, "if ((v & 1u) == 0u) { v = v / 2u; }");
    for shape in shapes() {
        let mut list = List::new(1024);
        list.promote(1, Promote::Private);
        list.submit(&choose, [16, 1, 1], &[0, 1], &push(1003));
        list.submit(&choose, [16, 1, 1], &[1, 2], &push(1003));
        let plan = check(&list, 4, 1024, shape);
        assert_eq!(plan.report.groups[0].items_per_invocation % shape.items.min(4), 0);
        // What divides does not run where it was not meant to.
        list.submit(&other, [16, 1, 1], &[2, 3], &push(1003));
        let plan = check(&list, 4, 1024, shape);
        assert_eq!(plan.report.groups[0].items_per_invocation, 1);
    }
}

#[test]
fn values_in_memory_are_passed_on_and_seen() {
    // The same buffer as single elements at another place: what was read before must not be taken for what is there.
    let add = element_wise("add", 64, "v = v + 1u;");
    let spread = wgsl(
        "spread",
        "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n\
         let i = id.x; if (i >= p.n) { return; }\n z[2u * i] = a[i]; z[2u * i + 1u] = a[i] ^ 5u; }",
    );
    let twice = wgsl(
        "twice",
        "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n\
         let i = id.x; if (i >= p.n) { return; }\n z[i] = a[i]; z[i] = a[i] + z[i]; }",
    );
    for shape in shapes() {
        let mut list = List::new(2048);
        list.submit(&add, [16, 1, 1], &[0, 1], &push(1000));
        list.submit(&twice, [16, 1, 1], &[1, 2], &push(1000));
        list.submit(&spread, [16, 1, 1], &[2, 3], &push(1000));
        list.submit(&add, [16, 1, 1], &[2, 4], &push(1000));
        list.submit(&add, [16, 1, 1], &[0, 2], &push(1000));
        list.submit(&add, [16, 1, 1], &[2, 0], &push(1000));
        check(&list, 5, 2048, shape);
    }
}

#[test]
fn accessors_that_start_anywhere() {
    let add = element_wise("add", 64, "v = v + 1u;");
    for offset in [0, 4, 16, 32, 52] {
        for shape in shapes() {
            let mut list = List::new(1024);
            list.submit(&add, [8, 1, 1], &[0, 1], &push(500));
            list.submit(&add, [8, 1, 1], &[1, 2], &push(500));
            for submission in &mut list.submissions {
                for arg in &mut submission.args {
                    (arg.offset, arg.len) = (offset, 500 * 4);
                }
            }
            check(&list, 3, 1024, shape);
        }
    }
}

/// A kernel of one work-group per row whose items stride through it.
fn rows(name: &str, body: &str) -> Arc<Specialized> {
    wgsl(
        name,
        &format!(
            "@compute @workgroup_size(16) fn main(@builtin(workgroup_id) w: vec3<u32>,\n\
             @builtin(local_invocation_id) l: vec3<u32>) {{\n var sum = w.x;\n\
             for (var c = l.x; c < p.n; c += 16u) {{ let i = w.x * p.n + c;\n{body}\n }} }}"
        ),
    )
}

#[test]
fn rows_stay_in_registers_where_rounds_differ_by_one_at_most() {
    let first = rows("first", "sum = sum * 3u + a[i]; z[i] = sum;");
    let second = rows("second", "if (a[i] > 20u) { sum += c; } z[i] = a[i] ^ sum;");
    for (columns, fits) in [(64, true), (16, true), (50, true), (400, false)] {
        for promote in [Promote::Private, Promote::Auto] {
            let mut list = List::new(2048);
            list.promote(1, promote);
            list.submit(&first, [5, 1, 1], &[0, 1], &push(columns));
            list.submit(&second, [5, 1, 1], &[1, 2], &push(columns));
            let plan = check(&list, 3, 2048, ShapeLimits::default());
            let got = plan.report.buffers[0].got;
            if fits {
                assert_eq!(got, Internalization::Private, "{:#?}", plan.report);
            } else if promote == Promote::Auto {
                assert_ne!(got, Internalization::Private, "{:#?}", plan.report);
            }
        }
    }
}

#[test]
fn softmax_of_rows_keeps_its_powers_in_registers() {
    let columns = 1024u32;
    let mut list = List::new(2 * columns);
    for (buffer, promote) in [(1, Promote::Local), (2, Promote::Auto), (3, Promote::Local)] {
        list.promote(buffer, promote);
    }
    let push = columns.to_le_bytes();
    list.submit(&kernel("softmax/row_max.spv"), [2, 1, 1], &[0, 1], &push);
    list.submit(&kernel("softmax/exp_sub.spv"), [2, 1, 1], &[0, 1, 2], &push);
    list.submit(&kernel("softmax/row_sum.spv"), [2, 1, 1], &[2, 3], &push);
    list.submit(&kernel("softmax/divide.spv"), [2, 1, 1], &[2, 3, 4], &push);
    let plan = check(&list, 5, 2 * columns as usize, ShapeLimits::default());
    assert_eq!(plan.steps.len(), 1);
    let powers = plan.report.buffers.iter().find(|b| b.buffer.0 == 2);
    assert_eq!(powers.map(|b| b.got), Some(Internalization::Private), "{:#?}", plan.report);
}

/// A kernel whose body sets `v` from `a[i]` and from something that each item picks for itself.
fn picking(name: &str, declared: &str, body: &str) -> Arc<Specialized> {
    let text = format!(
        "struct P {{ n: u32, k: u32, q: array<u32, 4>, v: vec4<u32> }}\nvar<immediate> p: P;\n\
         @group(0) @binding(0) var<storage, read> a: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> z: array<u32>;\n{declared}\n\
         @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
         let i = id.x; if (i >= p.n) {{ return; }}\n var v = a[i];\n{body}\n z[i] = v; }}"
    );
    let module = Module::from_wgsl(name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Kernel::new(&module, None).expect("entry").specialize(&[]).expect("defaults")
}

/// The kernel twice in a row, and once more alone.
fn check_picking(kernel: &Arc<Specialized>, straight: bool) {
    let uniform = kernel.interface.bindings.len() == 3;
    let words = [300u32, 3, 11, 22, 33, 44, 0, 0, 55, 66, 77, 88];
    let push: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for promote in [Promote::None, Promote::Private] {
        for shape in shapes() {
            let mut list = List::new(512);
            list.promote(1, promote);
            for (from, to) in [(0, 1), (1, 2)] {
                let buffers: &[u64] = if uniform { &[from, to, 3] } else { &[from, to] };
                list.submit(kernel, [10, 1, 1], buffers, &push);
            }
            let plan = check(&list, 4, 512, shape);
            assert_eq!(plan.steps.len(), 1, "{}: {:#?}", kernel.name, plan.report);
            let items = if straight { shape.items.min(4) } else { 1 };
            assert_eq!(plan.report.groups[0].items_per_invocation, items, "{}", kernel.name);
        }
    }
}

/// What an item picks by its number is its own, however many items stand side by side.
#[test]
fn what_an_item_picks_is_its_own() {
    let uniform = "@group(0) @binding(2) var<uniform> few: array<vec4<u32>, 4>;";
    let constant = "const FEW = array<u32, 5>(3u, 1u, 4u, 1u, 5u);";
    let straight = [
        ("array", "", "v += p.q[i % 4u];"),
        ("vector", "", "v += p.v[i % 4u];"),
        ("by data", "", "v += p.q[v & 3u] * p.v[(v >> 2u) & 3u];"),
        ("uniform", uniform, "v += few[i & 3u][(i >> 2u) & 3u];"),
    ];
    for (name, declared, body) in straight {
        check_picking(&picking(name, declared, body), true);
    }
    let others = [
        ("constant", constant, "v += FEW[i % 5u];"),
        // Private arrays begin anew for each submission, and go on changing within one.
        (
            "private",
            "var<private> few = array<u32, 3>(2u, 7u, 1u);",
            "v += few[i % 3u]; few[i % 3u] = v; v ^= few[v % 3u];",
        ),
        ("own", "", "var few = array<u32, 4>(v, i, 5u, 6u); few[v & 3u] = 9u; v += few[i & 3u];"),
    ];
    for (name, declared, body) in others {
        check_picking(&picking(name, declared, body), false);
    }
}

/// What is picked under a condition alone is out of bounds without it, and a limit that is picked is no item's limit but one's.
#[test]
fn what_is_picked_under_a_condition_is_picked_under_it() {
    for (name, body) in [
        ("few", "if (i < 4u) { v += p.q[i]; }"),
        ("else", "if (v > 3u) { v += 1u; } else { v += p.v[v]; }"),
        ("limit", "if (v >= p.q[i & 3u]) { return; }"),
        ("picked limit", "if (i >= p.q[i & 3u]) { return; }"),
        ("quotient", "if (p.k == 0u) { return; } if (i >= p.n / p.k) { return; }"),
    ] {
        check_picking(&picking(name, "", body), false);
    }
}
