//! Fused lists of kernels of `shaders/`, for the kinds of devices that the engine tells apart.

use vkfuse_fuzz::devices::{cpu, desktop, gpu, nvidia};
use vkfuse_jit::plan::{FuseOptions, Promote, plan};

use crate::list::{List, kernel};
use crate::round_trip::Outcome;

fn bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// `tmp1 = in1 * in2; tmp2 = in1 - in3; tmp3 = tmp2 * in4; out = tmp1 - tmp3`.
pub(crate) fn chain(n: u32) -> List {
    let (mul, sub) = (kernel("chain/mul.spv"), kernel("chain/sub.spv"));
    let (groups, n_bytes) = ([n.div_ceil(256), 1, 1], bytes(&[n]));
    let mut list = List::new(n);
    [4, 5, 6].into_iter().for_each(|tmp| list.promote(tmp, Promote::Private));
    list.submit(&mul, groups, &[0, 1, 4], &n_bytes);
    list.submit(&sub, groups, &[0, 2, 5], &n_bytes);
    list.submit(&mul, groups, &[5, 3, 6], &n_bytes);
    list.submit(&sub, groups, &[4, 6, 7], &n_bytes);
    list
}

/// One work-group a row.
pub(crate) fn softmax(rows: u32, columns: u32) -> List {
    let mut list = List::new(rows * columns);
    [1, 3].into_iter().for_each(|one| list.promote(one, Promote::Local));
    let kernels =
        [("row_max", &[0, 1][..]), ("exp_sub", &[0, 1, 2]), ("row_sum", &[2, 3]), ("divide", &[2, 3, 4])];
    for (name, buffers) in kernels {
        list.submit(&kernel(&format!("softmax/{name}.spv")), [rows, 1, 1], buffers, &bytes(&[columns]));
    }
    list
}

/// A product of tiles with a bias, and GELU.
fn product() -> List {
    let mut list = List::new(1 << 20);
    [3, 4].into_iter().for_each(|one| list.promote(one, Promote::Auto));
    list.submit(&kernel("seams/matmul.spv"), [64, 64, 1], &[0, 1, 3], &bytes(&[1024, 1024, 1024]));
    list.submit(&kernel("workloads/add_bias.spv"), [4096, 1, 1], &[3, 2, 4], &bytes(&[1 << 20, 1024]));
    list.submit(&kernel("seams/gelu.spv"), [4096, 1, 1], &[4, 5], &bytes(&[1 << 20]));
    list
}

/// A blur of what was scaled, and a scaling of that.
fn stencils() -> List {
    let mut list = List::new(1 << 20);
    [1, 2].into_iter().for_each(|one| list.promote(one, Promote::Auto));
    let numbers = bytes(&[1 << 20, 2.0f32.to_bits(), 1.0f32.to_bits()]);
    let affine = kernel("workloads/affine.spv");
    list.submit(&affine, [4096, 1, 1], &[0, 1], &numbers);
    list.submit(&kernel("workloads/blur3.spv"), [64, 64, 1], &[1, 2], &bytes(&[1024, 1024]));
    list.submit(&affine, [4096, 1, 1], &[2, 3], &numbers);
    list
}

/// Rows of two elements an invocation, behind a row-wise norm.
fn two_elements() -> List {
    let mut list = List::new(1 << 20);
    list.promote(1, Promote::Auto);
    list.submit(&kernel("seams/rms_norm.spv"), [2048, 1, 1], &[0, 1], &bytes(&[512]));
    list.submit(&kernel("strided/continues.spv"), [1, 2048, 1], &[1, 2, 3], &bytes(&[1 << 20, 512, 0, 0]));
    list
}

/// A reversal over the whole buffer between two kernels.
fn reversal() -> List {
    let mut list = List::new(4096);
    let (n, mul) = (bytes(&[4096]), kernel("chain/mul.spv"));
    list.submit(&mul, [16, 1, 1], &[0, 1, 2], &n);
    list.submit(&mul, [16, 1, 1], &[2, 1, 3], &n);
    list.submit(&kernel("access/reverse.spv"), [16, 1, 1], &[3, 4], &n);
    list.submit(&mul, [16, 1, 1], &[4, 1, 5], &n);
    list
}

/// Two kernels over buffer 2: the first writes it, the second reads it.
fn pair(first: &str, second: &str, groups: [u32; 3], push: &[u32], promote: Promote) -> List {
    let mut list = List::new(1 << 20);
    list.promote(2, promote);
    list.submit(&kernel(first), groups, &[0, 1, 2], &bytes(push));
    list.submit(&kernel(second), groups, &[2, 3, 4], &bytes(push));
    list
}

#[test]
fn lists() {
    let mirrored = |promote| pair("pair/add_mirrored.spv", "pair/mul_grouped.spv", [4, 1, 1], &[], promote);
    let lists = [
        ("chain", chain(1_000_003)),
        ("even chain", chain(1 << 20)),
        ("softmax", softmax(1024, 1024)),
        ("softmax of short rows", softmax(16_384, 256)),
        ("mirrored", mirrored(Promote::Local)),
        ("mirrored, through memory", mirrored(Promote::None)),
        (
            "two dimensions",
            pair("pair/add_2d.spv", "pair/mul_2d.spv", [10, 9, 1], &[79, 67, 1], Promote::Private),
        ),
        ("strided", pair("pair/add_four.spv", "pair/mul_four.spv", [16, 1, 1], &[128], Promote::Private)),
        ("reversal", reversal()),
        ("product", product()),
        ("stencils", stencils()),
        ("two elements", two_elements()),
    ];
    let mut outcome = Outcome::default();
    for (device, limits) in [("desktop", desktop()), ("cpu", cpu()), ("gpu", gpu()), ("nvidia", nvidia())] {
        for (name, list) in &lists {
            let plan = plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan");
            for (number, step) in plan.steps.iter().enumerate() {
                let words = step.build().expect("the module stands");
                outcome.check(&format!("{name} for {device}, step {number}"), &words);
            }
        }
    }
    outcome.finish("fused lists", 0);
}
