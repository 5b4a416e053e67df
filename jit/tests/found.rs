//! What random lists found, by hand.

use std::sync::Arc;

use vkfuse_jit::kernel::{Kernel, Module, SetBinding, Specialized};
use vkfuse_jit::plan::{
    Arg, BufferId, FuseOptions, Internalization, Limits, Plan, Promote, Submission, plan,
};

/// A kernel on `a` (binding 0, read) and `z` (binding 1) with push constants `n`, `w`, `h`.
fn kernel(local: [u32; 2], body: &str) -> Arc<Specialized> {
    let text = format!(
        "struct P {{ n: u32, w: u32, h: u32 }}\nvar<immediate> p: P;\n\
         @group(0) @binding(0) var<storage, read> a: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> z: array<u32>;\n\
         @compute @workgroup_size({}, {})\nfn main(@builtin(global_invocation_id) gid: vec3<u32>,\n\
         @builtin(local_invocation_id) lid: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>) {{\n{body}\n}}",
        local[0], local[1]
    );
    let module = Module::from_wgsl("found", &text).expect("WGSL");
    Kernel::new(&module, None).expect("an entry point").specialize(&[]).expect("no constants")
}

/// One submission from one buffer to another.
fn submit(
    kernel: &Arc<Specialized>,
    groups: [u32; 3],
    push: [u32; 3],
    [from, to]: [(u64, Promote); 2],
) -> Submission {
    let arg = |(binding, (buffer, promote)): (u32, (u64, Promote))| Arg {
        at: SetBinding::from(binding),
        buffer: BufferId(buffer),
        offset: 0,
        len: 1 << 16,
        promote,
        numbers: None,
        image: None,
    };
    Submission {
        kernel: kernel.clone(),
        base: [0; 3],
        groups,
        args: [(0, from), (1, to)].into_iter().map(arg).collect(),
        push: push.into_iter().flat_map(u32::to_le_bytes).collect(),
    }
}

fn planned(list: &[Submission]) -> Plan {
    let as_they_are = FuseOptions { no_rewrites: true, ..FuseOptions::default() };
    plan(list, &as_they_are, &Limits::default()).expect("a plan")
}

const IN: (u64, Promote) = (0, Promote::None);
const OUT: (u64, Promote) = (2, Promote::None);

/// The inner loop leaves a phi of one value behind between the outer counter and its step.
#[test]
fn a_counter_is_known_around_an_inner_loop() {
    let strided = kernel(
        [32, 1],
        "for (var j = 0u; j < 3u; j++) {
           let e = wid.x * 96u + j * 32u + lid.x;
           if (e < p.n) {
             var sum = 0u;
             for (var r = 0u; r < 3u; r++) { sum += a[e] * r; }
             z[e] = sum;
           }
         }",
    );
    let tmp = (1, Promote::Private);
    let size = [700, 700, 1];
    let groups = [8, 1, 1];
    let list = [submit(&strided, groups, size, [IN, tmp]), submit(&strided, groups, size, [tmp, OUT])];
    let plan = planned(&list);
    assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
    assert!(plan.report.groups[0].barriers.iter().all(|b| !b.kept));
}

/// The later member has one row of work-groups: its ids have other weights in the linear order, and one value.
#[test]
fn members_with_fewer_rows_fuse() {
    let rows = kernel(
        [3, 5],
        "if (gid.x >= p.w) { return; }
         if (gid.y >= p.h) { return; }
         z[gid.y * p.w + gid.x] = a[gid.y * p.w + gid.x] + 1u;",
    );
    let tmp = (1, Promote::None);
    let tall = submit(&rows, [3, 2, 1], [64, 8, 8], [IN, tmp]);
    let flat = submit(&rows, [3, 1, 1], [16, 8, 2], [tmp, OUT]);
    let plan = planned(&[tall.clone(), flat.clone()]);
    assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
    assert!(plan.report.groups[0].barriers.iter().all(|b| !b.kept));
    // Another width sends its elements to other work-groups.
    let narrow = Submission { push: [14u32, 7, 2].into_iter().flat_map(u32::to_le_bytes).collect(), ..flat };
    let plan = planned(&[tall, narrow]);
    assert_eq!(plan.steps.len(), 2, "{:#?}", plan.report);
    assert!(plan.report.buffers.iter().all(|b| b.got == Internalization::None));
}

/// `all` of a comparison of vectors says as much as its parts.
#[test]
fn guards_on_vectors_are_understood() {
    for guard in [
        "!all(gid.xy < vec2<u32>(p.w, p.h))",
        "any(gid.xy >= vec2<u32>(p.w, p.h))",
        "!(all(gid.yx < vec2<u32>(p.h, p.w)))",
    ] {
        let body =
            format!("if ({guard}) {{ return; }}\n z[gid.y * p.w + gid.x] = a[gid.y * p.w + gid.x] + 1u;");
        let rows = kernel([3, 5], &body);
        let tmp = (1, Promote::Private);
        let size = [70, 10, 7];
        let list = [submit(&rows, [4, 2, 1], size, [IN, tmp]), submit(&rows, [4, 2, 1], size, [tmp, OUT])];
        let plan = planned(&list);
        assert_eq!(plan.steps.len(), 1, "{guard}: {:#?}", plan.report);
        assert_eq!(plan.report.buffers[0].got, Internalization::Private, "{guard}");
    }
    // `any` of the parts is not enough.
    let wrong = kernel(
        [3, 5],
        "if (any(gid.xy < vec2<u32>(p.w, p.h))) { z[gid.y * p.w + gid.x] = a[gid.y * p.w + gid.x]; }",
    );
    let list = [IN, (1, Promote::None), OUT];
    let submit = |n: usize| submit(&wrong, [4, 2, 1], [70, 10, 7], [list[n], list[n + 1]]);
    assert_eq!(planned(&[submit(0), submit(1)]).steps.len(), 2);
}
