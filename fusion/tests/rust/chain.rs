//! The chain of four kernels, written in Rust.

use vkfuse::{
    Buffer, FusionProperties, FusionWrapper, Internalization, Outcome,
    rust::{Captures, HostBuffer, Item, Read, Write, host::on_host, kernel},
};

use crate::support::{Rig, poison};

#[derive(Captures)]
struct Mul {
    x: Read<f32>,
    y: Read<f32>,
    z: Write<f32>,
}

#[kernel]
impl Mul {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.z.set(i, self.x.get(i) * self.y.get(i));
    }
}

#[derive(Captures)]
struct Sub {
    x: Read<f32>,
    y: Read<f32>,
    z: Write<f32>,
}

#[kernel]
impl Sub {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.z.set(i, self.x.get(i) - self.y.get(i));
    }
}

struct Data {
    inputs: [Vec<f32>; 4],
}

impl Data {
    fn new(n: usize) -> Data {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        Data { inputs: std::array::from_fn(|_| (0..n).map(|_| random()).collect()) }
    }

    fn len(&self) -> usize {
        self.inputs[0].len()
    }

    fn on_the_host(&self) -> Vec<u32> {
        let n = self.len();
        let buffers: [HostBuffer<f32>; 4] = std::array::from_fn(|k| HostBuffer::new(self.inputs[k].clone()));
        let tmp: [HostBuffer<f32>; 4] = std::array::from_fn(|_| HostBuffer::new(vec![0.0; n]));
        let [in1, in2, in3, in4] = &buffers;
        let [tmp1, tmp2, tmp3, out] = &tmp;
        let range = [n as u32];
        on_host(range, &Mul { x: in1.into(), y: in2.into(), z: tmp1.into() });
        on_host(range, &Sub { x: in1.into(), y: in3.into(), z: tmp2.into() });
        on_host(range, &Mul { x: tmp2.into(), y: in4.into(), z: tmp3.into() });
        on_host(range, &Sub { x: tmp1.into(), y: tmp3.into(), z: out.into() });
        out.to_vec().iter().map(|x| x.to_bits()).collect()
    }
}

/// How the four kernels are written.
#[derive(Clone, Copy)]
enum Language {
    Rust,
    Glsl,
    /// One after the other.
    Mixed,
}

fn on_the_device(rig: &Rig, data: &Data, language: Language) -> Vec<u32> {
    let n = data.len();
    let inputs: Vec<Buffer<f32>> =
        data.inputs.iter().map(|input| rig.context.buffer_from(input).expect("a buffer")).collect();
    let poisoned = || {
        let words: Vec<f32> = poison(n).into_iter().map(f32::from_bits).collect();
        rig.context.buffer_from(&words).expect("a buffer")
    };
    let tmp: [Buffer<f32>; 3] = std::array::from_fn(|_| poisoned().promote_private());
    let out = poisoned();
    let [in1, in2, in3, in4] = [0, 1, 2, 3].map(|k| &inputs[k]);
    let [tmp1, tmp2, tmp3] = [0, 1, 2].map(|k| &tmp[k]);
    let fusion = FusionWrapper::new(&rig.queue).expect("a queue that can fuse");
    fusion.start_fusion().expect("starts");
    let steps =
        [(false, in1, in2, tmp1), (true, in1, in3, tmp2), (false, tmp2, in4, tmp3), (true, tmp1, tmp3, &out)];
    for (k, (sub, x, y, z)) in steps.into_iter().enumerate() {
        let rust = match language {
            Language::Rust => true,
            Language::Glsl => false,
            Language::Mixed => k % 2 == 0,
        };
        let kernel = rig.kernel(if sub { "chain/sub" } else { "chain/mul" });
        let submitted = rig.queue.submit(|h| {
            let range = n as u32;
            match (rust, sub) {
                (true, false) => h.parallel_for(range, &Mul { x: x.into(), y: y.into(), z: z.into() }),
                (true, true) => h.parallel_for(range, &Sub { x: x.into(), y: y.into(), z: z.into() }),
                (false, _) => {
                    h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write());
                    h.push(&range).dispatch_items(&kernel, [range, 1, 1])
                }
            };
        });
        submitted.expect("submits");
    }
    let before = rig.context.stats();
    let done = fusion.complete_fusion(&FusionProperties::default()).expect("completes");
    done.wait().expect("runs");
    assert_eq!(done.outcome(), Outcome::Fused, "{:?}", done.report());
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    let report = done.report().expect("a report");
    assert_eq!(report.plan.groups.len(), 1);
    for buffer in [tmp1, tmp2, tmp3] {
        let got = report.plan.buffers.iter().find(|b| b.buffer == buffer.id()).map(|b| b.got);
        assert_eq!(got, Some(Internalization::Private));
        assert_eq!(buffer.download_stale().expect("downloads")[0].to_bits(), poison(1)[0]);
    }
    rig.assert_no_validation_messages();
    out.download().expect("downloads").iter().map(|x| x.to_bits()).collect()
}

#[test]
fn same_bits_as_from_glsl_in_one_kernel() {
    let rig = rig!();
    let data = Data::new(100_003);
    let host = data.on_the_host();
    for language in [Language::Rust, Language::Glsl, Language::Mixed] {
        assert_eq!(on_the_device(&rig, &data, language), host);
    }
}
