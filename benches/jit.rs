//! The JIT by number of kernels: what is done once per kernel (validation, normal form, analysis), planning (trace,
//! legality, key) and building (linking, internalization, emission, validation) apart, with the passes of emission for 64 kernels. No driver and no device take part.
//!
//! The list is a chain in which every kernel takes the result of the one before; all results but the last are
//! promoted to private memory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use spirv_tools::TargetEnv;
use spirv_tools::val::Validator;
use vkfuse_jit::kernel::{Kernel, Module, SetBinding, Specialized};
use vkfuse_jit::plan::{Arg, BufferId, FuseOptions, Limits, Promote, Submission, plan};

const ELEMENTS: u32 = 1 << 20;

fn jit(criterion: &mut Criterion) {
    let kernels = ["mul", "sub"].map(load);
    let options = FuseOptions::default();
    // A desktop device's limits; the least that Vulkan demands would not take this many kernels.
    let limits = Limits {
        max_work_group_size: [1024; 3],
        max_work_group_invocations: 1024,
        max_storage_buffers: 1024,
        ..Limits::default()
    };

    let mut group = criterion.benchmark_group("jit");
    group.bench_function("load", |bencher| bencher.iter(|| load("mul")));
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2)).sample_size(20);
    for count in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let list = chain(&kernels, count);
        group.bench_function(BenchmarkId::new("plan", count), |bencher| {
            bencher.iter(|| plan(&list, &options, &limits));
        });
        let planned = plan(&list, &options, &limits).expect("a plan");
        assert_eq!(planned.steps.len(), 1, "the chain fuses: {:?}", planned.report.splits);
        group.bench_function(BenchmarkId::new("build", count), |bencher| {
            bencher.iter(|| planned.steps[0].build().expect("a fused module"));
        });
        if count == 64 {
            let times = || planned.steps[0].pass_times().expect("a fused module");
            for (number, (pass, _)) in times().into_iter().enumerate() {
                group.bench_function(BenchmarkId::new(format!("build/{pass}"), count), |bencher| {
                    let once = || times()[number].1;
                    bencher.iter_custom(|times| (0..times).map(|_| once()).sum());
                });
            }
        }
        // A part of building: every module is validated before a driver sees it.
        let words = planned.steps[0].build().expect("a fused module");
        let validator = spirv_tools::val::create(Some(TargetEnv::Vulkan_1_3));
        group.bench_function(BenchmarkId::new("validate", count), |bencher| {
            bencher.iter(|| validator.validate(&*words, None).expect("a valid module"));
        });
    }
}

/// A kernel of the chain, specialised with its defaults.
fn load(name: &str) -> Arc<Specialized> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../shaders/chain/{name}.spv"));
    let bytes = std::fs::read(path).expect("a checked-in kernel");
    let module = Module::from_bytes(name, &bytes).expect("a valid module");
    let kernel = Kernel::new(&module, None).expect("one entry point");
    kernel.specialize(&[]).expect("defaults")
}

/// `count` submissions: buffer k + 1 is made of buffer k and one input.
fn chain(kernels: &[Arc<Specialized>; 2], count: usize) -> Vec<Submission> {
    const INPUT: u64 = 1_000;
    let argument = |binding, buffer, promote| Arg {
        at: SetBinding::from(binding),
        buffer: BufferId(buffer),
        offset: 0,
        len: 4 * u64::from(ELEMENTS),
        promote,
        numbers: None,
        image: None,
    };
    let temporary = |k: usize| {
        let inside = k > 0 && k < count;
        (k as u64, if inside { Promote::Private } else { Promote::None })
    };
    (0..count)
        .map(|k| {
            let ((from, from_promote), (to, to_promote)) = (temporary(k), temporary(k + 1));
            Submission {
                kernel: kernels[k % 2].clone(),
                base: [0; 3],
                groups: [ELEMENTS / 256, 1, 1],
                args: [
                    argument(0, from, from_promote),
                    argument(1, INPUT, Promote::None),
                    argument(2, to, to_promote),
                ]
                .into_iter()
                .collect(),
                push: ELEMENTS.to_ne_bytes().into_iter().collect(),
            }
        })
        .collect()
}

criterion_group!(benches, jit);
criterion_main!(benches);
