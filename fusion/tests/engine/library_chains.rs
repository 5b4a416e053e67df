//! Chains of kernels as libraries for machine learning and inference on phones submit them. Each has the bits of the
//! unfused run, in as many dispatches as is said here.

use crate::support::{Buf, Rig, Size, Submit, Workload};

/// Elements of a row, and rows.
const ROW: u32 = 512;
const ROWS: u32 = 12;
const COUNT: u32 = ROW * ROWS;

/// A list under construction: each kernel takes what the one before it left.
struct Chain {
    list: Workload,
    last: Buf,
    made: usize,
}

fn wave(count: u32) -> impl Iterator<Item = f32> {
    (0..count).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as f32 / 16384.0 - 2.0)
}

impl Chain {
    fn new() -> Chain {
        let mut list = Workload::default();
        let last = list.floats("x", wave(COUNT));
        Chain { list, last, made: 0 }
    }

    fn floats(&mut self, name: &str, count: u32) -> Buf {
        self.list.floats(name, wave(count))
    }

    fn out(&mut self) -> Buf {
        self.made += 1;
        self.list.poisoned(&format!("made {}", self.made), COUNT as usize)
    }

    /// A function of one element.
    fn unary(mut self, kernel: &str, numbers: &[u32], args: &[f32]) -> Chain {
        let size = Size::Groups([1, COUNT.div_ceil(512), 1]);
        let size = if kernel == "ml/scale" { Size::Groups([COUNT.div_ceil(512), 1, 1]) } else { size };
        let to = self.out();
        let mut submit = Submit::new(kernel, size).read(0, self.last).write(1, to);
        submit = numbers.iter().fold(submit, |submit, &number| submit.push(number));
        submit = args.iter().fold(submit, |submit, &arg| submit.push_f32(arg));
        self.list.submit(submit);
        self.last = to;
        self
    }

    /// An operation of two tensors. The second has `rows` rows; a single one is broadcast.
    fn binary(mut self, kernel: &str, rows: u32) -> Chain {
        let other = self.floats(&format!("b {}", self.made), ROW * rows);
        let to = self.out();
        let size = Size::Groups([COUNT.div_ceil(512), 1, 1]);
        let mut submit = Submit::new(kernel, size).read(0, self.last).read(1, other).write(2, to);
        let shape = [ROW, ROWS, 1, 1];
        let stride = [1, ROW, COUNT, COUNT];
        let push: Vec<u32> =
            [[COUNT, 0, 0, 0], shape, stride, [ROW, rows, 1, 1], [1, ROW, ROW * rows, ROW * rows], stride]
                .concat();
        submit = push.iter().fold(submit, |submit, &word| submit.push(word));
        self.list.submit(submit);
        self.last = to;
        self
    }

    fn gated(mut self) -> Chain {
        let up = self.floats("up", COUNT);
        let to = self.out();
        let size = Size::Groups([1, COUNT.div_ceil(512), 1]);
        let mut submit = Submit::new("ml/gated", size).read(0, self.last).read(1, up).write(2, to);
        submit = [COUNT, ROW, ROW, 1].iter().fold(submit, |submit, &word| submit.push(word));
        self.list.submit(submit);
        self.last = to;
        self
    }

    fn rows(mut self, kernel: &str, numbers: &[u32], args: &[f32]) -> Chain {
        let to = self.out();
        let mut submit = Submit::new(kernel, Size::Groups([ROWS, 1, 1])).read(0, self.last).write(1, to);
        submit = numbers.iter().fold(submit, |submit, &number| submit.push(number));
        submit = args.iter().fold(submit, |submit, &arg| submit.push_f32(arg));
        self.list.submit(submit);
        self.last = to;
        self
    }

    fn rotary(mut self) -> Chain {
        let angles = self.floats("angles", ROW / 2);
        let to = self.out();
        let size = Size::Groups([ROWS, ROW.div_ceil(512), 1]);
        let submit = Submit::new("ml/rotary", size).read(0, self.last).read(1, angles).write(2, to);
        self.list.submit(submit.push(ROW).push(ROW));
        self.last = to;
        self
    }

    /// A layer of 12 by 8 by 16 vectors of four channels.
    fn layer(mut self, kernel: &str) -> Chain {
        let with = self.floats(&format!("b {}", self.made), COUNT);
        let to = self.out();
        let size = Size::Groups([3, 2, 4]);
        let mut submit = Submit::new(kernel, size).read(0, self.last).write(2, to);
        if !kernel.ends_with("relu") {
            submit = submit.read(1, with);
        }
        self.list.submit([12, 8, 16, 96].iter().fold(submit, |submit, &word| submit.push(word)));
        self.last = to;
        self
    }

    /// Planes of 10 by 6 in a border: 12 by 8 by 16 vectors of four channels.
    fn padding(mut self, kernel: &str) -> Chain {
        let border = self.floats("border", 64);
        let to = self.out();
        let mut submit = Submit::new(kernel, Size::Groups([3, 2, 4])).read(0, self.last).write(2, to);
        if kernel.ends_with("channel") {
            submit = submit.read(1, border);
        }
        let push = [3, 10, 6, 60, 12, 8, 16, 96, 1, 1];
        self.list.submit(push.iter().fold(submit, |submit, &word| submit.push(word)));
        self.last = to;
        self
    }

    /// A depthwise convolution of planes of 12 by 8.
    fn depthwise(mut self) -> Chain {
        let weights = self.floats("weights", 640);
        let to = self.out();
        let submit = Submit::new("mobile/depthwise", Size::Groups([2, 1, 16]));
        let submit = submit.read(0, self.last).read(1, weights).write(2, to);
        let push = [12, 8, 96, 10, 6, 16, 60];
        self.list.submit(push.iter().fold(submit, |submit, &word| submit.push(word)));
        self.last = to;
        self
    }

    /// Runs it, in no more dispatches than this.
    #[track_caller]
    fn runs_in(self, rig: &Rig, what: &str, dispatches: u64) {
        let ran = self.list.check_equal(rig);
        let splits = &ran.report().plan.splits;
        let splits: Vec<&str> = splits.iter().map(|split| split.detail.as_str()).collect();
        assert!(ran.stats.dispatches <= dispatches, "{what} runs in {}: {splits:?}", ran.stats.dispatches);
    }
}

#[test]
fn chains_of_machine_learning() {
    let rig = rig!();
    let chain = Chain::new;
    let line = |c: Chain| c.unary("ml/unary.line", &[COUNT], &[0.125, 0.0]);
    let cap = |c: Chain| c.unary("ml/unary.cap", &[COUNT], &[1.0, 8.0]);
    let silu = |c: Chain| c.unary("ml/unary.silu", &[COUNT], &[0.0, 0.0]);
    let (narrow, widen) = ("ml/copy.narrow", "ml/copy.widen");
    let add = "ml/binary.add";
    chain().binary(add, ROWS).binary(add, ROWS).runs_in(&rig, "add + add", 1);
    chain().binary(add, 1).binary(add, ROWS).runs_in(&rig, "bias + residual", 1);
    cap(line(chain())).runs_in(&rig, "soft cap", 1);
    let norm = chain().rows("ml/rms_norm", &[ROW, ROWS], &[1e-5]);
    norm.binary("ml/binary.mul", 1).runs_in(&rig, "RMS norm + weight", 1);
    silu(chain()).unary(narrow, &[COUNT], &[]).runs_in(&rig, "SiLU to f16", 1);
    let relu = chain().unary(widen, &[COUNT], &[]).unary("ml/unary.relu", &[COUNT], &[0.0, 0.0]);
    relu.runs_in(&rig, "ReLU of f16", 1);
    chain().unary(narrow, &[COUNT], &[]).unary(widen, &[COUNT], &[]).runs_in(&rig, "to f16 and back", 1);
}

/// Kernels that do one element an invocation, folded into two dimensions, beside kernels that do several, or rows.
#[test]
fn chains_of_kernels_with_other_local_sizes() {
    let rig = rig!();
    let chain = Chain::new;
    let scale = |c: Chain| c.unary("ml/scale", &[COUNT], &[0.5, 0.25]);
    let silu = |c: Chain| c.unary("ml/unary.silu", &[COUNT], &[0.0, 0.0]);
    silu(chain()).binary("ml/binary.mul", ROWS).runs_in(&rig, "SiLU · up", 1);
    scale(chain().gated()).runs_in(&rig, "SwiGLU + scale", 1);
    scale(chain()).unary("ml/unary.cap", &[COUNT], &[0.125, 8.0]).runs_in(&rig, "scale + soft cap", 1);
    scale(chain()).rows("ml/softmax", &[ROW], &[1.0]).runs_in(&rig, "scale + softmax", 1);
    silu(chain()).rows("ml/softmax", &[ROW], &[1.0]).runs_in(&rig, "SiLU + softmax", 1);
    scale(chain().rotary()).runs_in(&rig, "rotary + scale", 1);
    silu(chain().rotary()).runs_in(&rig, "rotary + SiLU", 1);
    chain().binary("ml/binary.mul", ROWS).rotary().runs_in(&rig, "product + rotary", 1);
}

#[test]
fn chains_of_mobile_inference() {
    let rig = rig!();
    let chain = Chain::new;
    chain().layer("mobile/layer.add").layer("mobile/layer.relu").runs_in(&rig, "add + ReLU", 1);
    chain().layer("mobile/layer.norm").layer("mobile/layer.relu").layer("mobile/layer.add").runs_in(
        &rig,
        "batch norm + ReLU + add",
        1,
    );
    for border in ["constant", "channel", "replicate"] {
        let padded = chain().padding(&format!("mobile/padding.{border}"));
        padded.depthwise().runs_in(&rig, border, 1);
    }
}
