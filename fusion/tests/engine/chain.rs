//! The chain of four kernels at full size: one dispatch, three private temporaries that never reach memory, and the bits
//! of the unfused run and of the host.

use crate::support::{Buf, Size, Submit, Workload};
use vkfuse::Promote::{self, Private};

/// `tmp1 = in1 * in2; tmp2 = in1 - in3; tmp3 = tmp2 * in4; out = tmp1 - tmp3`.
struct Chain {
    list: Workload,
    inputs: [Buf; 4],
    temporaries: [Buf; 3],
    out: Buf,
}

impl Chain {
    fn new(n: u32, promote: Promote) -> Chain {
        let mut list = Workload::default();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let inputs = ["in1", "in2", "in3", "in4"].map(|name| list.floats(name, (0..n).map(|_| random())));
        let temporaries = ["tmp1", "tmp2", "tmp3"].map(|name| list.poisoned(name, n as usize));
        let out = list.poisoned("out", n as usize);
        for temporary in temporaries {
            list.promote(temporary, promote);
        }
        let ([in1, in2, in3, in4], [tmp1, tmp2, tmp3]) = (inputs, temporaries);
        let steps = [
            ("mul", in1, in2, tmp1),
            ("sub", in1, in3, tmp2),
            ("mul", tmp2, in4, tmp3),
            ("sub", tmp1, tmp3, out),
        ];
        for (kernel, x, y, z) in steps {
            let submit = Submit::new(&format!("chain/{kernel}"), Size::Items([n, 1, 1]));
            list.submit(submit.read(0, x).read(1, y).write(2, z).push(n));
        }
        Chain { list, inputs, temporaries, out }
    }

    fn on_the_host(&self) -> Vec<u32> {
        let [in1, in2, in3, in4] =
            self.inputs.map(|input| self.list.preset(input).iter().map(|&bits| f32::from_bits(bits)));
        in1.zip(in2)
            .zip(in3.zip(in4))
            .map(|((a, b), (c, d))| {
                let (tmp1, tmp2) = (a * b, a - c);
                let tmp3 = tmp2 * d;
                (tmp1 - tmp3).to_bits()
            })
            .collect()
    }
}

#[test]
fn a_million_elements_promoted() {
    let rig = rig!();
    let chain = Chain::new(1_000_003, Private);
    let ran = chain.list.check_fused(&rig);
    assert_eq!(ran.words(chain.out), chain.on_the_host());
    for temporary in chain.temporaries {
        ran.assert_internalized(temporary, Private);
    }
    assert_eq!(ran.barriers_kept(), 0);
}

#[test]
fn a_million_elements_in_memory() {
    let rig = rig!();
    let chain = Chain::new(1_000_003, Promote::None);
    let ran = chain.list.check_fused(&rig);
    assert_eq!(ran.words(chain.out), chain.on_the_host());
    for temporary in chain.temporaries {
        ran.assert_in_memory(temporary);
    }
}

/// Two kernels for all sizes: one where all groups of four elements are full, one where they are not.
#[test]
fn another_size_needs_no_new_kernel() {
    let rig = rig!();
    let mut builds = Vec::new();
    for n in [1, 255, 257, 100_003, 256, 100_000, 4] {
        let chain = Chain::new(n, Private);
        chain.list.run_unfused(&rig);
        let before = rig.context.stats();
        let ran = chain.list.check_fused(&rig);
        assert_eq!(ran.words(chain.out), chain.on_the_host(), "{n} elements");
        builds.push((rig.context.stats() - before).jit_builds);
    }
    assert_eq!(builds, [1, 0, 0, 0, 1, 0, 0]);
}
