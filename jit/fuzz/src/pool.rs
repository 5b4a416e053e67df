//! A pool of kernels on one theme: lists are drawn from it, so that each kernel is compiled once.

use vkfuse_jit::kernel::{Kernel as Entry, Module};

use crate::body;
use crate::compile::{self, Treatment};
use crate::kernel::{Kernel, Language, Role};
use crate::layout::{Block, Packing, Scalar, Type};
use crate::random::Random;
use crate::spirv;
use crate::theme::Theme;

/// Where a kernel comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// GLSL or HLSL as a tree.
    Tree { kernel: Kernel, env: &'static str, treatment: Treatment },
    /// SPIR-V assembly.
    Assembly { text: String, treatment: Treatment },
    /// A module out of a corpus.
    Words,
}

/// What a list has to know of a binding to give it memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    /// The block of the pool that it is a view of; `usize::MAX` for counters.
    pub(crate) home: usize,
    pub(crate) uniform: bool,
    pub(crate) writes: bool,
    /// First byte behind its header.
    pub(crate) header: u32,
    /// Bytes of a block of fixed size, or of one element.
    pub(crate) least: u32,
    /// Bytes of the elements of an item, if the block is one open array.
    pub(crate) step: Option<u32>,
}

/// A kernel that can be submitted.
#[derive(Clone)]
pub(crate) struct PoolKernel {
    pub(crate) source: Source,
    pub(crate) words: Vec<u32>,
    pub(crate) module: Module,
    pub(crate) entry: Entry,
    pub(crate) ports: Vec<Port>,
    pub(crate) local: [u32; 3],
    pub(crate) two_dimensions: bool,
    /// It has this many times the work of others, and each invocation does this many times the work.
    pub(crate) share: (u32, u32),
    /// Whether the specialization constant 0 is there.
    pub(crate) constant: bool,
    pub(crate) features: Vec<&'static str>,
}

/// The first seed of pools whose kernels all go over rows of a few elements; before, a fifth of the pools have such kernels.
pub const ROWS: u64 = 1 << 32;

/// Kernels, and the blocks that buffers of their lists hold.
#[derive(Clone)]
pub struct Pool {
    pub(crate) kernels: Vec<PoolKernel>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) local: [u32; 3],
    /// Texts that the front end, the optimizer or the engine did not take, and what they said.
    pub rejected: Vec<String>,
}

impl Pool {
    /// This many kernels that follow from a seed. Those of seeds from [`ROWS`] on go over rows of a few elements.
    pub fn new(seed: u64, kernels: usize) -> Self {
        let mut random = Random::new(seed, 1);
        let theme = Theme::random(&mut random, seed >= ROWS);
        let mut pool = Self {
            kernels: Vec::new(),
            blocks: theme.blocks.clone(),
            local: theme.local,
            rejected: Vec::new(),
        };
        let mut tries = 0;
        while pool.kernels.len() < kernels && tries < 4 * kernels {
            tries += 1;
            let source = if random.percent(20) && !theme.two_dimensions && theme.rows.is_none() {
                spirv::source(&mut random, &theme)
            } else {
                let kernel = body::kernel(&mut random, &theme);
                let env = random.one(&["vulkan1.1", "vulkan1.2", "vulkan1.3", "vulkan1.3"]);
                let env = if kernel.vulkan_memory_model { "vulkan1.3" } else { env };
                let source = Source::Tree { kernel, env, treatment: Treatment::random(&mut random) };
                build(source)
            };
            match source {
                Ok(kernel) => pool.kernels.push(kernel),
                Err(what) => pool.rejected.push(what),
            }
        }
        pool
    }

    /// The modules of its kernels, by number.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.kernels.iter().map(|kernel| &kernel.module)
    }

    /// The same kernels, loaded anew.
    pub fn reloaded(&self) -> Self {
        let mut pool = self.clone();
        for kernel in &mut pool.kernels {
            if let Ok((module, entry)) = load(&kernel.words) {
                (kernel.module, kernel.entry) = (module, entry);
            }
        }
        pool
    }

    /// How many kernels it has.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether it has no kernels.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }
}

/// Compiles and loads a kernel that is a tree.
pub(crate) fn build(source: Source) -> Result<PoolKernel, String> {
    let Source::Tree { kernel, env, treatment } = &source else {
        return Err("not a tree".to_owned());
    };
    let text = kernel.text();
    let words = compile::compile(&text, kernel.language, env, treatment)
        .map_err(|error| format!("{error}\n{}\n{text}", treatment.name()))?;
    let (module, entry) = load(&words).map_err(|error| format!("{error}\n{}\n{text}", treatment.name()))?;
    let ports = kernel
        .bindings
        .iter()
        .map(|b| Port {
            set: b.set,
            binding: b.binding,
            home: b.home,
            uniform: b.uniform,
            writes: !matches!(b.role, Role::Input | Role::Cells),
            header: b.block.header_bytes(),
            least: b.block.bytes(1),
            step: (b.block.arrays.len() == 1 && b.block.arrays[0].len.is_none())
                .then(|| (b.block.bytes(2) - b.block.bytes(1)) * kernel.stores),
        })
        .collect();
    let (local, two_dimensions, constant) = (kernel.local, kernel.two_dimensions, kernel.constant);
    let mut features = features(kernel, &text);
    features.push(match treatment {
        Treatment::Plain => "as compiled",
        Treatment::Debug | Treatment::Small => "-Od, -Os",
        _ => "spirv-opt",
    });
    let share = kernel.share;
    Ok(PoolKernel { source, words, module, entry, ports, local, two_dimensions, share, constant, features })
}

/// Loads a module.
pub(crate) fn load(words: &[u32]) -> Result<(Module, Entry), String> {
    let module = Module::from_words("fuzz", words).map_err(|error| error.to_string())?;
    let entry = Entry::new(&module, None).map_err(|error| error.to_string())?;
    Ok((module, entry))
}

/// What a kernel is made of, for the table.
fn features(kernel: &Kernel, text: &str) -> Vec<&'static str> {
    let body = text.split_once("void run(").or_else(|| text.split_once("void main("));
    let body = body.map_or("", |(_, body)| body);
    let mut features = Vec::new();
    let mut add = |has: bool, name: &'static str| {
        if has {
            features.push(name);
        }
    };
    if let Some(form) = kernel.form {
        add(true, form);
    }
    add(kernel.language == Language::Glsl, "GLSL");
    add(kernel.language == Language::Hlsl, "HLSL");
    add(kernel.grouped, "work-group ids");
    add(kernel.two_dimensions, "two dimensions");
    for (needle, name) in [
        ("return;", "early return"),
        ("break;", "break"),
        ("continue;", "continue"),
        ("for (", "for"),
        ("while (", "while"),
        ("do {", "test-after loop"),
        ("switch (", "switch"),
        ("barrier()", "own barrier"),
        ("atomic", "atomics"),
        ("subgroup", "sub-groups"),
        (".length()", "length()"),
        ("state", "private state"),
        ("put(", "helper functions"),
        ("c0", "cells"),
        ("64_t", "64-bit integers"),
        ("exp", "extended instructions"),
    ] {
        add(body.contains(needle), name);
    }
    let arrays = || kernel.bindings.iter().flat_map(|b| &b.block.arrays);
    add(kernel.bindings.iter().any(|b| b.block.header > 0), "headers");
    add(kernel.bindings.iter().any(|b| b.block.arrays.len() > 1), "several arrays in a block");
    add(kernel.bindings.iter().any(|b| b.uniform), "uniform views");
    add(kernel.bindings.iter().any(|b| b.block.packing == Packing::Std140), "std140");
    add(kernel.bindings.iter().any(|b| b.block.packing == Packing::Scalar), "scalar layout");
    add(arrays().any(|a| matches!(a.element, Type::Struct(..))), "structs");
    add(arrays().any(|a| a.element.has_matrix(true)), "row-major matrices");
    add(arrays().any(|a| a.element.has_matrix(false)), "column-major matrices");
    add(body.contains("_end = "), "rounds that differ");
    let mut scalars = Vec::new();
    arrays().for_each(|a| a.element.scalars(&mut scalars));
    add(scalars.iter().any(|s| matches!(s, Scalar::U8 | Scalar::U16)), "8 and 16 bits");
    add(kernel.constant, "specialization constants");
    add(kernel.vulkan_memory_model, "Vulkan memory model");
    add(kernel.dress.private_ids, "ids in private variables");
    add(kernel.dress.push_by_value, "push constants by value");
    add(kernel.dress.structs_by_value && body.contains("whole("), "structures by value");
    let shared = |b: &crate::kernel::Binding| {
        kernel.bindings.iter().filter(|o| (o.set, o.binding) == (b.set, b.binding)).count() > 1
    };
    add(kernel.bindings.iter().any(shared), "several variables on a binding");
    features
}
