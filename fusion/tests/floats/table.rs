//! Pairs of operations, each in one kernel, unfused and fused.

use std::collections::HashMap;
use std::io::Write as _;

use vkfuse::{
    Buffer, CacheOptions, Context, ContextOptions, FusionProperties, FusionWrapper, Internalization, Kernel,
    Outcome, Promote, Queue, QueueOptions, Tuning,
};

use super::data;
use super::ops::Op;
use super::text::{self, Carrier, LOCAL, RESULTS};

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) width: u32,
    pub(crate) carrier: Carrier,
    /// Where the values between the two kernels are asked to stay.
    pub(crate) promote: Promote,
}

impl Setting {
    pub(crate) fn name(&self) -> String {
        format!("f{} {:?} {:?}", self.width, self.carrier, self.promote).to_lowercase()
    }
}

/// A pair that comes out different fused.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) pair: (&'static str, &'static str),
    /// Results that differ, by kind of result.
    pub(crate) results: [usize; RESULTS],
    /// How many of them are not one NaN for another.
    pub(crate) numbers: usize,
    pub(crate) example: String,
}

/// A device with everything on it that the table needs.
pub(crate) struct Bench {
    pub(crate) context: Context,
    queue: Queue,
    kernels: HashMap<String, Kernel>,
    memory: HashMap<(&'static str, usize), Buffer<u32>>,
    /// Lists that ran fused, and pairs in them.
    pub(crate) lists: usize,
    pub(crate) pairs: usize,
}

impl Bench {
    /// Opens the device that the environment names; without one the test is skipped, or fails where
    /// `VKFUSE_REQUIRE_DEVICE` is set.
    pub(crate) fn open(tuning: Tuning, validation: bool) -> Option<Bench> {
        let cache = CacheOptions::default().no_disk();
        let options = ContextOptions::from_env().validation_layer(validation).cache(cache);
        let context = match Context::with(options.tuning(tuning)) {
            Ok(context) => context,
            Err(error) => {
                assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {error}");
                let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
                return None;
            }
        };
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
        let (kernels, memory) = Default::default();
        Some(Bench { context, queue, kernels, memory, lists: 0, pairs: 0 })
    }

    /// Whether the device computes with floats of this width.
    pub(crate) fn has(&mut self, width: u32) -> bool {
        let op = super::ops::all(width)[0];
        let words = text::producer(width, Carrier::Float, &[op]);
        self.context.kernel_from_words("probe", &words).is_ok()
    }

    fn kernel(&mut self, name: String, make: impl FnOnce() -> Vec<u32>) -> Kernel {
        let context = &self.context;
        let made = || context.kernel_from_words(&name, &make()).unwrap_or_else(|e| panic!("{name}: {e}"));
        self.kernels.entry(name.clone()).or_insert_with(made).clone()
    }

    fn buffer(&mut self, name: &'static str, bytes: usize) -> Buffer<u32> {
        let words = bytes.div_ceil(4);
        let context = &self.context;
        let made = || context.buffer_from(&vec![0xdead_beefu32; words]).expect("a buffer").named(name);
        self.memory.entry((name, words)).or_insert_with(made).clone()
    }

    /// Compares every operation of `first` followed by `second`.
    pub(crate) fn compare(&mut self, setting: Setting, first: &[Op], second: Op) -> Vec<Difference> {
        let Setting { width, carrier, promote } = setting;
        let n = first.len();
        let names: Vec<&str> = first.iter().map(|op| op.name).collect();
        let f = self.kernel(format!("f{width} {carrier:?} {}", names.join(",")), || {
            text::producer(width, carrier, first)
        });
        let g = self.kernel(format!("g{width} {carrier:?} {n} {}", second.name), || {
            text::consumer(width, carrier, n, second)
        });
        let bytes = width as usize / 8;
        let carried = if carrier == Carrier::Number { 4 } else { bytes };
        let words = |bytes: Vec<u8>| {
            bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
        };
        let inputs: [Vec<u32>; 3] = data::inputs(width).map(words);
        let [a, b, c] = ["a", "b", "c"].map(|name| self.buffer(name, data::ITEMS * bytes));
        for (buffer, words) in [&a, &b, &c].into_iter().zip(&inputs) {
            buffer.upload(words).expect("an upload");
        }
        let mut out: Vec<Vec<u8>> = Vec::new();
        for (t, o, fused) in [("t unfused", "unfused", false), ("t fused", "fused", true)] {
            let t = self.buffer(t, data::ITEMS * n * carried);
            // What stayed inside before has no contents that anybody may read.
            t.upload(&vec![0xdead_beef; t.len()]).expect("an upload");
            let o = self.buffer(o, data::ITEMS * n * bytes * RESULTS);
            let groups = [data::ITEMS as u32 / LOCAL, 1, 1];
            let wrapper = FusionWrapper::new(&self.queue).expect("the queue enables fusion");
            if fused {
                wrapper.start_fusion().expect("start_fusion");
            }
            for (kernel, writes_t) in [(&f, true), (&g, false)] {
                self.queue
                    .submit(|h| {
                        h.arg(0, a.read().cast::<u8>())
                            .arg(1, b.read().cast::<u8>())
                            .arg(2, c.read().cast::<u8>());
                        let t = if writes_t { t.write() } else { t.read() }.cast::<u8>();
                        h.arg(
                            3,
                            match promote {
                                Promote::Private => t.promote_private(),
                                Promote::Local => t.promote_local(),
                                _ => t,
                            },
                        );
                        if !writes_t {
                            h.arg(4, o.write().cast::<u8>());
                        }
                        h.push_bytes(&1.7f32.to_ne_bytes());
                        h.dispatch(kernel, groups);
                    })
                    .expect("a submission");
            }
            if fused {
                let event = wrapper.complete_fusion(&FusionProperties::default()).expect("complete_fusion");
                event.wait().expect("the fused run");
                let report = event.report().expect("a report");
                assert_eq!(event.outcome(), Outcome::Fused, "{setting:?}: {:#?}", report.plan);
                let got = report.plan.buffers.first().map_or(Internalization::None, |b| b.got);
                let wanted = match promote {
                    Promote::Private => Internalization::Private,
                    Promote::Local => Internalization::Local,
                    _ => Internalization::None,
                };
                assert_eq!(got, wanted, "{setting:?}: {:#?}", report.plan.buffers);
            } else {
                self.queue.wait().expect("the unfused run");
            }
            out.push(bytemuck::cast_slice(&o.download_stale().expect("the results")).to_vec());
        }
        self.lists += 1;
        self.pairs += n;
        differences(width, first, second, &out[0], &out[1])
    }
}

fn differences(width: u32, first: &[Op], second: Op, unfused: &[u8], fused: &[u8]) -> Vec<Difference> {
    let bytes = width as usize / 8;
    let word = |all: &[u8], at: usize| {
        all[at * bytes..][..bytes].iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte))
    };
    let mut found: Vec<Option<Difference>> = vec![None; first.len()];
    for at in 0..data::ITEMS * first.len() * RESULTS {
        let (expected, got) = (word(unfused, at), word(fused, at));
        if expected == got {
            continue;
        }
        let (item, k, kind) = (at / RESULTS / first.len(), at / RESULTS % first.len(), at % RESULTS);
        let example = || format!("item {item}, result {kind}: {expected:#x} unfused, {got:#x} fused");
        let one = found[k].get_or_insert_with(|| Difference {
            pair: (first[k].name, second.name),
            results: [0; RESULTS],
            numbers: 0,
            example: example(),
        });
        one.results[kind] += 1;
        let number = !(data::is_nan(width, expected) && data::is_nan(width, got));
        if number && one.numbers == 0 {
            one.example = example();
        }
        one.numbers += usize::from(number);
    }
    found.into_iter().flatten().collect()
}
