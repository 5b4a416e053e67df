//! The pair of integer kernels that most rows of the conformance table run:
//! `tmp = in1 + in2; out = tmp * in3` with `in1[i] = 2i`, `in2[i] = 3i`, `in3[i] = 4i`.

use vkfuse::Promote;

use super::{Buf, Ran, Size, Submit, Workload};

/// The pair as a workload, with its buffers.
pub struct Pair {
    pub workload: Workload,
    pub in1: Buf,
    pub in2: Buf,
    pub in3: Buf,
    pub tmp: Buf,
    pub out: Buf,
    n: usize,
}

impl Pair {
    /// Buffers for `n` elements, nothing submitted. Temporary and output are poisoned.
    pub fn buffers(n: usize) -> Pair {
        let mut workload = Workload::default();
        let in1 = workload.ints("in1", (0..n as i32).map(|i| 2 * i));
        let in2 = workload.ints("in2", (0..n as i32).map(|i| 3 * i));
        let in3 = workload.ints("in3", (0..n as i32).map(|i| 4 * i));
        let tmp = workload.poisoned("tmp", n);
        let out = workload.poisoned("out", n);
        Pair { workload, in1, in2, in3, tmp, out, n }
    }

    /// The pair on `n` elements with the plain kernels, in memory.
    pub fn new(n: usize) -> Pair {
        let mut pair = Pair::buffers(n);
        pair.submit("pair/add", "pair/mul", Size::Items([n as u32, 1, 1]), &[n as u32], &[]);
        pair
    }

    /// Submits one kernel that adds and one that multiplies, with these push constants and work-group size.
    pub fn submit(&mut self, add: &str, mul: &str, size: Size, push: &[u32], local: &[u32]) {
        self.submit_as(add, mul, size, push, local, Promote::None);
    }

    /// As [`Pair::submit`], with a promotion on the accessors of the temporary.
    pub fn submit_as(
        &mut self,
        add: &str,
        mul: &str,
        size: Size,
        push: &[u32],
        local: &[u32],
        promote: Promote,
    ) {
        let with = |kernel: &str| {
            // Kernels that go by work-group and local id have no guard, and so no element count.
            let by_group =
                ["_mirrored", "_grouped", "_own_shared"].iter().any(|suffix| kernel.ends_with(suffix));
            let push = if by_group { &[] } else { push };
            push.iter().fold(Submit::new(kernel, size).local(local), |submit, &word| submit.push(word))
        };
        self.workload
            .submit(with(add).read(0, self.in1).read(1, self.in2).write(2, self.tmp).promote(promote));
        self.workload
            .submit(with(mul).read(0, self.tmp).promote(promote).read(1, self.in3).write(2, self.out));
    }

    /// Demands `out[i] == 20 * i * i` for every element.
    pub fn assert_out(&self, ran: &Ran) {
        let out = ran.ints(self.out);
        assert_eq!(out.len(), self.n);
        for (i, &value) in out.iter().enumerate() {
            let i = i as i32;
            assert_eq!(value, i.wrapping_mul(i).wrapping_mul(20), "out[{i}]");
        }
    }

    /// Demands that the temporary was really written: `tmp[i] == 5 * i`.
    pub fn assert_tmp_written(&self, ran: &Ran) {
        for (i, &value) in ran.ints(self.tmp).iter().enumerate() {
            assert_eq!(value, 5 * i as i32, "tmp[{i}]");
        }
    }
}
