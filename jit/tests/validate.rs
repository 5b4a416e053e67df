//! Translation validation: it agrees with what is right, and tells what is not.

mod list;

use list::{List, kernel};
use vkfuse_jit::plan::{FuseOptions, ImageSize, Limits, Policy, Promote, ShapeLimits, plan};
use vkfuse_jit::validate::{NotApplicable, Verdict, validate};

fn limits() -> Limits {
    Limits {
        max_storage_buffers: 16,
        max_work_group_size: [1024, 1024, 64],
        max_work_group_invocations: 1024,
        max_shared_bytes: 32 << 10,
        ..Limits::default()
    }
}

/// The verdict on the only fused step of a list.
fn verdict(list: &List, options: &FuseOptions, limits: &Limits) -> Verdict {
    let plan = plan(&list.submissions, options, limits).expect("it can run");
    let mut verdicts = validate(&list.submissions, options, limits, &plan);
    assert_eq!(verdicts.len(), 1, "{:#?}", plan.report);
    assert_eq!(Some(&verdicts[0].key), plan.steps.iter().find(|step| step.is_fused()).map(|step| &step.key));
    verdicts.remove(0).verdict
}

fn assert_agreed(list: &List, limits: &Limits) -> usize {
    match verdict(list, &FuseOptions::default(), limits) {
        Verdict::Agreed { instances } => instances,
        other => panic!("{other}"),
    }
}

/// `tmp = x * y; out = tmp * y` on this many elements.
fn chain(n: u32, promote: Promote) -> List {
    let mut list = List::new(n);
    list.promote(2, promote);
    let mul = kernel("chain/mul.spv");
    let groups = [n.div_ceil(256), 1, 1];
    list.submit(&mul, groups, &[0, 1, 2], &n.to_le_bytes());
    list.submit(&mul, groups, &[2, 1, 3], &n.to_le_bytes());
    list
}

/// A list of a million elements is validated on a few hundred, on both sides of every guard's edge.
#[test]
fn a_large_list_agrees_on_small_instances() {
    for promote in [Promote::None, Promote::Private, Promote::Auto] {
        assert!(assert_agreed(&chain(1_000_003, promote), &limits()) >= 3);
    }
    let shaped = Limits {
        shape: ShapeLimits { group_size: 64, items: 4, vectors: true, ..ShapeLimits::default() },
        ..limits()
    };
    assert!(assert_agreed(&chain(1_000_004, Promote::Auto), &shaped) >= 3);
}

#[test]
fn rows_agree() {
    let (rows, columns) = (4096_u32, 96_u32);
    let mut list = List::new(rows * columns);
    let names = ["softmax/row_max.spv", "softmax/exp_sub.spv", "softmax/row_sum.spv", "softmax/divide.spv"];
    let buffers: [&[u64]; 4] = [&[0, 1], &[0, 1, 2], &[2, 3], &[2, 3, 4]];
    for (name, buffers) in names.iter().zip(buffers) {
        list.submit(&kernel(name), [rows, 1, 1], buffers, &columns.to_le_bytes());
    }
    assert!(assert_agreed(&list, &limits()) >= 1);
}

/// The parts of a softmax that go by elements are placed on its rows, in the small as in the large.
#[test]
fn placed_kernels_agree() {
    let (rows, columns) = (4096_u32, 96_u32);
    let n = rows * columns;
    let (by_rows, by_elements) = ([rows, 1, 1], [n.div_ceil(256), 1, 1]);
    let both: Vec<u8> = [n, columns].into_iter().flat_map(u32::to_le_bytes).collect();
    let mut list = List::new(n);
    list.submit(&kernel("softmax/row_max.spv"), by_rows, &[0, 1], &columns.to_le_bytes());
    list.submit(&kernel("seams/exp_sub.spv"), by_elements, &[0, 1, 2], &both);
    list.submit(&kernel("softmax/row_sum.spv"), by_rows, &[2, 3], &columns.to_le_bytes());
    list.submit(&kernel("seams/divide.spv"), by_elements, &[2, 3, 4], &both);
    let made = plan(&list.submissions, &FuseOptions::default(), &limits()).expect("it can run");
    assert_eq!((made.steps.len(), made.report.rewrites.len()), (1, 2), "{:#?}", made.report);
    assert!(assert_agreed(&list, &limits()) >= 1);
}

/// What `prove` would have split is fused on the user's word, and comes out as what it is.
#[test]
fn an_illegal_fusion_differs() {
    let n = 100_000_u32;
    let mut list = List::new(n);
    let groups = [n.div_ceil(256), 1, 1];
    list.submit(&kernel("access/reverse.spv"), groups, &[0, 1], &n.to_le_bytes());
    list.submit(&kernel("chain/mul.spv"), groups, &[1, 0, 2], &n.to_le_bytes());
    let trust = FuseOptions { policy: Policy::Trust, ..FuseOptions::default() };
    let found = verdict(&list, &trust, &limits());
    assert!(matches!(found, Verdict::Differs { .. }), "{found}");
}

#[test]
fn a_barrier_that_is_left_out_differs() {
    let n = 1024_u32;
    let mut list = List::new(n);
    list.submit(&kernel("chain/mul.spv"), [n / 256, 1, 1], &[0, 1, 2], &n.to_le_bytes());
    list.submit(&kernel("access/reverse_group.spv"), [n / 256, 1, 1], &[2, 3], &[]);
    assert!(assert_agreed(&list, &limits()) >= 1);
    let without = FuseOptions { policy: Policy::Trust, no_barriers: true, ..FuseOptions::default() };
    let found = verdict(&list, &without, &limits());
    assert!(matches!(&found, Verdict::Differs { what, .. } if what.contains("race")), "{found}");
}

/// What is undefined as it was submitted says nothing about fusion.
#[test]
fn an_undefined_list_is_not_judged() {
    let mut list = chain(1000, Promote::None);
    for arg in list.submissions.iter_mut().flat_map(|one| &mut one.args) {
        arg.len = 4;
    }
    // One element, and at least a hundred of them read.
    for one in &mut list.submissions {
        one.push = u32::MAX.to_le_bytes().as_slice().into();
    }
    let found = verdict(&list, &FuseOptions::default(), &limits());
    let undefined = matches!(&found, Verdict::NotApplicable { reason: NotApplicable::Undefined(_) });
    assert!(undefined, "{found}");
}

/// A list over images; the planner knows their size if there is one.
fn over_images(size: Option<[u32; 2]>, kernels: &[(&str, &[u64])]) -> List {
    let mut list = List::new(1);
    let [width, height] = size.unwrap_or([40, 24]);
    for (name, images) in kernels {
        let groups = [width.div_ceil(8), height.div_ceil(8), 1];
        list.submit(&kernel(name), groups, images, &1.5_f32.to_le_bytes());
    }
    for submission in &mut list.submissions {
        let wants = submission.kernel.interface.push.as_ref().map_or(0, |push| push.size as usize);
        submission.push.truncate(wants);
        for arg in &mut submission.args {
            // As the engine has them: one way to see the image, which all others overlap.
            (arg.offset, arg.len) = (0, 1 << 40);
            arg.image = size.map(|[width, height]| ImageSize {
                extent: [width, height, 0],
                levels: 1,
                samples: 1,
                view: None,
            });
        }
    }
    list
}

#[test]
fn lists_over_images_agree() {
    let lists: [&[(&str, &[u64])]; 5] = [
        &[("images/gain.spv", &[0, 1]), ("images/tone.spv", &[1])],
        &[("images/tone.spv", &[0]), ("images/gain.spv", &[0, 1]), ("images/tone.spv", &[1])],
        // A stencil works out what it reads.
        &[("images/gain.spv", &[0, 1]), ("images/stencil.spv", &[1, 2]), ("images/tone.spv", &[2])],
        // Samples, of what no one writes.
        &[("images/blur.combined.spv", &[0, 1]), ("images/tone.spv", &[1])],
        &[("images/colour.gain.spv", &[0, 1]), ("images/colour.tone.spv", &[1])],
    ];
    for kernels in lists {
        for size in [[40, 24], [131, 77], [8, 8], [1, 1]] {
            // These kernels know no size.
            if kernels[0].0.contains("colour") && (size[0] % 8, size[1] % 8) != (0, 0) {
                continue;
            }
            let instances = assert_agreed(&over_images(Some(size), kernels), &limits());
            assert!(instances >= 1, "{kernels:?} {size:?}");
        }
    }
}

/// Fused without the order that is needed, a stencil reads texels that no one wrote.
#[test]
fn images_fused_on_trust_are_told_apart() {
    let trust = FuseOptions { policy: Policy::Trust, no_rewrites: true, ..FuseOptions::default() };
    for size in [[40, 24], [131, 77]] {
        let list = over_images(Some(size), &[("images/gain.spv", &[0, 1]), ("images/stencil.spv", &[1, 2])]);
        let verdict = verdict(&list, &trust, &limits());
        assert!(matches!(verdict, Verdict::Differs { .. }), "{verdict}");
    }
}

#[test]
fn images_of_unknown_size_are_not_judged() {
    let list = over_images(None, &[("images/gain.spv", &[0, 1]), ("images/tone.spv", &[1])]);
    let verdict = verdict(&list, &FuseOptions::default(), &limits());
    let Verdict::NotApplicable { reason: NotApplicable::Interpreter(what) } = &verdict else {
        panic!("{verdict}")
    };
    assert!(what.contains("size of an image"), "{what}");
}

/// With robust access, what leaves its range is no reason to say nothing.
#[test]
fn robust_access_is_judged() {
    let short = || {
        let mut list = chain(1000, Promote::Auto);
        for arg in list.submissions.iter_mut().flat_map(|one| &mut one.args).filter(|arg| arg.buffer.0 == 0) {
            arg.len -= 40;
        }
        list
    };
    let robust = Limits { robust: true, ..limits() };
    assert!(assert_agreed(&short(), &robust) >= 1);
}
