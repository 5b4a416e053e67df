//! Lists of kernels of `shaders/` that the snapshots show, and that go through the IR and back.

use vkfuse_jit::plan::Promote;

use crate::list::{List, kernel};

pub(crate) fn bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
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

/// Two kernels over buffer 2: the first writes it, the second reads it.
pub(crate) fn pair(first: &str, second: &str, groups: [u32; 3], push: &[u32], promote: Promote) -> List {
    let mut list = List::new(1 << 20);
    list.promote(2, promote);
    list.submit(&kernel(first), groups, &[0, 1, 2], &bytes(push));
    list.submit(&kernel(second), groups, &[2, 3, 4], &bytes(push));
    list
}

/// One work-group a row; rows of one element an invocation keep all that is between the kernels.
pub(crate) fn softmax(rows: u32, columns: u32) -> List {
    let mut list = List::new(rows * columns);
    let (x, most, powers, sum, out) = (0, 1, 2, 3, 4);
    [most, sum].into_iter().for_each(|one| list.promote(one, Promote::Local));
    if columns <= 256 {
        list.promote(powers, Promote::Private);
    }
    for (name, buffers) in [
        ("row_max", &[x, most][..]),
        ("exp_sub", &[x, most, powers]),
        ("row_sum", &[powers, sum]),
        ("divide", &[powers, sum, out]),
    ] {
        list.submit(&kernel(&format!("softmax/{name}.spv")), [rows, 1, 1], buffers, &bytes(&[columns]));
    }
    list
}

/// A reversal over the whole buffer between two kernels.
pub(crate) fn split() -> List {
    let mut list = List::new(4096);
    let n = bytes(&[4096]);
    let mul = kernel("chain/mul.spv");
    list.submit(&mul, [16, 1, 1], &[0, 1, 2], &n);
    list.submit(&mul, [16, 1, 1], &[2, 1, 3], &n);
    list.submit(&kernel("access/reverse.spv"), [16, 1, 1], &[3, 4], &n);
    list.submit(&mul, [16, 1, 1], &[4, 1, 5], &n);
    list
}

/// A product of tiles with a bias, and GELU.
pub(crate) fn product() -> List {
    let mut list = List::new(1 << 20);
    [3, 4].into_iter().for_each(|one| list.promote(one, Promote::Auto));
    list.submit(&kernel("seams/matmul.spv"), [64, 64, 1], &[0, 1, 3], &bytes(&[1024, 1024, 1024]));
    list.submit(&kernel("workloads/add_bias.spv"), [4096, 1, 1], &[3, 2, 4], &bytes(&[1 << 20, 1024]));
    list.submit(&kernel("seams/gelu.spv"), [4096, 1, 1], &[4, 5], &bytes(&[1 << 20]));
    list
}

/// A blur of what was scaled, and a scaling of that.
pub(crate) fn stencils() -> List {
    let mut list = List::new(1 << 20);
    [1, 2].into_iter().for_each(|one| list.promote(one, Promote::Auto));
    let (affine, numbers) =
        (kernel("workloads/affine.spv"), bytes(&[1 << 20, 2.0f32.to_bits(), 1.0f32.to_bits()]));
    list.submit(&affine, [4096, 1, 1], &[0, 1], &numbers);
    list.submit(&kernel("workloads/blur3.spv"), [64, 64, 1], &[1, 2], &bytes(&[1024, 1024]));
    list.submit(&affine, [4096, 1, 1], &[2, 3], &numbers);
    list
}

/// Rows of two elements an invocation, behind a row-wise norm.
pub(crate) fn two_elements() -> List {
    let mut list = List::new(1 << 20);
    list.promote(1, Promote::Auto);
    list.submit(&kernel("seams/rms_norm.spv"), [2048, 1, 1], &[0, 1], &bytes(&[512]));
    list.submit(&kernel("strided/continues.spv"), [1, 2048, 1], &[1, 2, 3], &bytes(&[1 << 20, 512, 0, 0]));
    list
}

/// Two blurs of images that have nothing to do with each other, `width` pixels wide and high.
pub(crate) fn blurs(width: u32) -> List {
    let mut list = List::new(width * width);
    let (blur, numbers) = (kernel("workloads/blur3.spv"), bytes(&[width, width]));
    list.submit(&blur, [width / 16, width / 16, 1], &[0, 1], &numbers);
    list.submit(&blur, [width / 16, width / 16, 1], &[2, 3], &numbers);
    list
}
