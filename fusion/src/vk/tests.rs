//! Tests of the Vulkan module, on a real device with the validation layer listening.
//!
//! On a machine without a device each says that it is skipped, and fails where `VKFUSE_REQUIRE_DEVICE` is set. Each test checks at its end, after the device is gone, that the layer had nothing to say.
//!
//! On NVIDIA's driver run them, and all other tests that make contexts, with `--test-threads=1`: see `docs/drivers.md`.

mod again;
mod import;
mod latency;
mod loss;
mod passed;
mod pipeline;
mod profile;
mod refuse;
mod submit;
mod transfer;

use std::{ops::Deref, sync::Arc};

use smallvec::{SmallVec, smallvec};

use super::{
    BindingKind, BoundMemory, Command, DeviceError, Dispatch, Gpu, GpuOptions, Memory, MemoryKind, Pipeline,
    PipelineSource, Resource, instance::Messages,
};
use crate::jit::SetBinding;

/// A device under test; dropping it checks the validation layer's silence.
struct Fixture {
    gpu: Option<Gpu>,
    messages: Messages,
}

impl Deref for Fixture {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        self.gpu.as_ref().expect("invariant: taken only in drop")
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // The last look is after the device went: it is then that the layer reports what was not destroyed.
        self.gpu = None;
        if !std::thread::panicking() {
            assert_eq!(self.messages.count(), 0, "validation messages");
        }
    }
}

/// Opens a device, or says that the test is skipped where that is allowed.
fn open(plain: bool) -> Option<Fixture> {
    let options = GpuOptions { validation: true, plain, ..GpuOptions::default() };
    match Gpu::open(&options) {
        Ok(gpu) => {
            let allowed = std::env::var_os("VKFUSE_ALLOW_NO_VALIDATION").is_some();
            assert!(gpu.caps().validation || allowed, "the validation layer is not installed");
            Some(Fixture { messages: gpu.0.messages().clone(), gpu: Some(gpu) })
        }
        Err(error @ (DeviceError::NoDevice | DeviceError::NoLoader { .. }))
            if std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none() =>
        {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn words(spv: &[u8]) -> Vec<u32> {
    spv.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

fn add_words() -> Vec<u32> {
    words(include_bytes!("testdata/add.spv"))
}

const ADD_BINDINGS: [(SetBinding, BindingKind); 2] =
    [(at(0, 0), BindingKind::Storage), (at(0, 1), BindingKind::Storage)];

const fn at(set: u32, binding: u32) -> SetBinding {
    SetBinding { set, binding, element: 0 }
}

/// `dst[i] = src[i] + k`.
fn add_pipeline(gpu: &Gpu) -> Arc<Pipeline> {
    let words = add_words();
    let source = PipelineSource {
        words: &words,
        entry: c"main",
        bindings: &ADD_BINDINGS,
        push_bytes: 8,
        push_buffer: 0,
        subgroups: false,
        lanes: None,
        statistics: false,
        blob: None,
    };
    gpu.pipeline(&source).unwrap().0
}

/// `data[i] += 4 * rounds`, slowly.
fn busy_pipeline(gpu: &Gpu) -> Arc<Pipeline> {
    let words = words(include_bytes!("testdata/busy.spv"));
    let source = PipelineSource {
        words: &words,
        entry: c"main",
        bindings: &[(at(0, 0), BindingKind::Storage)],
        push_bytes: 4,
        push_buffer: 0,
        subgroups: false,
        lanes: None,
        statistics: false,
        blob: None,
    };
    gpu.pipeline(&source).unwrap().0
}

fn whole(set: u32, binding: u32, memory: &Arc<Memory>) -> BoundMemory {
    BoundMemory {
        at: at(set, binding),
        resource: Resource::Buffer(memory.clone()),
        offset: 0,
        len: memory.size(),
    }
}

fn push(words: &[u32]) -> SmallVec<[u8; 64]> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// `dst[i] = src[i] + k` over all of `dst`.
fn add(pipeline: &Arc<Pipeline>, src: &Arc<Memory>, dst: &Arc<Memory>, k: u32) -> Dispatch {
    let n = (dst.size() / 4) as u32;
    Dispatch {
        pipeline: pipeline.clone(),
        bindings: smallvec![whole(0, 0, src), whole(0, 1, dst)],
        push: push(&[n, k]),
        groups: [n.div_ceil(64), 1, 1],
        keeps: SmallVec::new(),
    }
}

/// Many rounds (at most 65,535) over 64 words.
fn busy(pipeline: &Arc<Pipeline>, data: &Arc<Memory>, rounds: u32) -> Command {
    Command::Dispatch(Dispatch {
        pipeline: pipeline.clone(),
        bindings: smallvec![whole(0, 0, data)],
        push: push(&[rounds]),
        groups: [1, 1, 1],
        keeps: SmallVec::new(),
    })
}

fn zeroed(gpu: &Gpu, count: usize) -> Arc<Memory> {
    memory_of(gpu, &vec![0; count])
}

fn memory_of(gpu: &Gpu, values: &[u32]) -> Arc<Memory> {
    let memory = gpu.allocate(4 * values.len() as u64, MemoryKind::Device).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let point = gpu.queue(0).unwrap().upload(&memory, 0, &bytes, &[]).unwrap();
    gpu.wait(point, None).unwrap();
    memory
}

fn read(gpu: &Gpu, memory: &Arc<Memory>, after: super::Point) -> Vec<u32> {
    let mut bytes = vec![0; memory.size() as usize];
    gpu.queue(0).unwrap().download(memory, 0, &mut bytes, &[after]).unwrap();
    words(&bytes)
}

#[test]
fn handles_go_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Gpu>();
    shared::<super::GpuQueue>();
    shared::<Arc<Memory>>();
    shared::<Arc<Pipeline>>();
    shared::<Command>();
    shared::<super::Submitted>();
    shared::<super::UserBuffer>();
}
