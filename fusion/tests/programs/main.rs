//! Programs as people write them: on the host, on a device, and there fused into one dispatch with a kernel of GLSL, with the same
//! bits. Each file is a program.

#![allow(unreachable_pub, missing_docs)]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod bitonic_sort;
mod histogram;
mod image;
mod mandelbrot;
mod map_reduce;
mod matmul;
mod n_body;
mod prefix_sum;
mod saxpy;
mod softmax;

use bytemuck::Pod;
use vkfuse::{
    Buffer, FusionProperties, FusionWrapper, Outcome,
    rust::{
        GroupItem, GroupRange, HostBuffer, Item, ItemKind, KernelObject, LaunchRange, Read, ReadWrite, Value,
        Write,
        host::{on_host, on_host_groups},
    },
};

use crate::support::Rig;

/// What kernels are run over, on the host, too.
pub trait Range: LaunchRange + Copy {
    fn on_host<K: KernelObject<Item = Self::Item> + Sync>(self, kernel: &K);
}

impl Range for u32 {
    fn on_host<K: KernelObject<Item = Item<1>> + Sync>(self, kernel: &K) {
        on_host([self], kernel);
    }
}

impl<const D: usize> Range for [u32; D]
where
    Item<D>: ItemKind,
{
    fn on_host<K: KernelObject<Item = Item<D>> + Sync>(self, kernel: &K) {
        on_host(self, kernel);
    }
}

impl<const D: usize> Range for GroupRange<D>
where
    GroupItem<D>: ItemKind,
{
    fn on_host<K: KernelObject<Item = GroupItem<D>> + Sync>(self, kernel: &K) {
        on_host_groups(self.groups, self.local, kernel);
    }
}

/// Where a program runs.
pub struct Bench<'a> {
    rig: Option<&'a Rig>,
    /// What gives the bytes of each buffer at the end.
    results: Vec<Box<dyn Fn() -> Vec<u8> + 'a>>,
}

/// Memory of the host, or of the device.
pub enum Memory<T> {
    Host(HostBuffer<T>),
    Device(Buffer<T>),
}

macro_rules! accessors {
    ($($method:ident $name:ident)+) => {$(
        pub fn $method(&self) -> $name<T> {
            match self {
                Memory::Host(buffer) => buffer.into(),
                Memory::Device(buffer) => buffer.into(),
            }
        }
    )+};
}

impl<T: Value + Pod> Memory<T> {
    accessors! { read Read write Write read_write ReadWrite }
}

impl Bench<'_> {
    pub fn buffer<T: Value + Pod>(&mut self, data: Vec<T>) -> Memory<T> {
        let Some(rig) = self.rig else {
            let buffer = HostBuffer::new(data);
            let result = buffer.clone();
            self.results.push(Box::new(move || bytemuck::cast_slice(&result.to_vec()).to_vec()));
            return Memory::Host(buffer);
        };
        let buffer = rig.context.buffer_from(&data).expect("a buffer");
        let result = buffer.clone();
        self.results
            .push(Box::new(move || bytemuck::cast_slice(&result.download().expect("downloads")).to_vec()));
        Memory::Device(buffer)
    }

    pub fn run<R: Range, K: KernelObject<Item = R::Item> + Sync>(&mut self, range: R, kernel: &K) {
        let Some(rig) = self.rig else { return range.on_host(kernel) };
        let submitted = rig.queue.submit(|h| {
            h.parallel_for(range, kernel);
        });
        submitted.expect("submits");
    }

    /// A kernel of GLSL: all elements plus a half.
    pub fn increment(&mut self, x: &Memory<f32>) {
        self.glsl("access/increment", x, 0.5_f32, |x| x + 0.5);
    }

    /// A kernel of GLSL: all elements, as integers, by three.
    pub fn triple<T: Value + Pod>(&mut self, x: &Memory<T>) {
        let triple = |x: T| -> T {
            let word: i32 = bytemuck::cast(x);
            bytemuck::cast(word.wrapping_mul(3))
        };
        self.glsl("access/scale_in_place", x, 3_i32, triple);
    }

    fn glsl<T: Value + Pod, P: Pod>(&mut self, name: &str, x: &Memory<T>, by: P, on_host: impl Fn(T) -> T) {
        let buffer = match x {
            Memory::Device(buffer) => buffer,
            Memory::Host(buffer) => {
                let host: ReadWrite<T> = buffer.into();
                return (0..host.len()).for_each(|k| host.set(k, on_host(host.get(k))));
            }
        };
        let Some(rig) = self.rig else { return };
        let (kernel, n) = (rig.kernel(name), buffer.len() as u32);
        let submitted = rig.queue.submit(|h| {
            h.arg(0, buffer.read_write()).push(&n).push(&by).dispatch_items(&kernel, [n, 1, 1]);
        });
        submitted.expect("submits");
    }

    fn results(&self) -> Vec<Vec<u8>> {
        self.results.iter().map(|result| result()).collect()
    }
}

/// Runs a program on the host, on the device, and there fused: the memory is the same afterwards.
pub fn agree(rig: &Rig, program: impl Fn(&mut Bench<'_>)) {
    let mut host = Bench { rig: None, results: Vec::new() };
    program(&mut host);
    let expected = host.results();
    let mut device = Bench { rig: Some(rig), results: Vec::new() };
    program(&mut device);
    assert!(device.results() == expected, "host and device differ");

    let fusion = FusionWrapper::new(&rig.queue).expect("a queue that can fuse");
    fusion.start_fusion().expect("starts");
    let mut fused = Bench { rig: Some(rig), results: Vec::new() };
    program(&mut fused);
    let before = rig.context.stats();
    let done = fusion.complete_fusion(&FusionProperties::default()).expect("completes");
    done.wait().expect("runs");
    assert_eq!(done.outcome(), Outcome::Fused, "{:?}", done.report());
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    assert!(fused.results() == expected, "host and fused kernel differ");
    rig.assert_no_validation_messages();
}

/// Words that look random.
pub fn words(count: usize, seed: u32) -> Vec<u32> {
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..count).map(|_| next()).collect()
}

/// Numbers between -1 and 1 that look random.
pub fn floats(count: usize, seed: u32) -> Vec<f32> {
    words(count, seed).into_iter().map(|word| (word >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}
