//! Kernels that are written as text when a list asks for them, each loaded once, for lists that have a shape of their own.

use std::collections::HashMap;
use std::fmt::{Display, Write as _};
use std::sync::Arc;

use super::epilogues::halves::{STORED, only_stored};
use super::pool::{Kind, PoolKernel, load};
use super::random::Random;
use vkfuse_jit::kernel::Module;
use vkfuse_jit::plan::{Arg, BufferId, Promote, Submission};

/// The kernels so far, by their text.
#[derive(Default)]
pub(super) struct Written(HashMap<String, Arc<PoolKernel>>);

impl Written {
    /// The kernel of a text.
    pub(super) fn of(&mut self, text: &str) -> Arc<PoolKernel> {
        let number = self.0.len();
        let made = || {
            let mut module = Module::from_wgsl("written", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            if text.starts_with(STORED) {
                let words = only_stored(module.words());
                module = Module::from_words("written", &words).unwrap_or_else(|e| panic!("{e}\n{text}"));
            }
            let kernel = load(&module, &[]);
            let kind = Kind::Soup { dims: 1 };
            Arc::new(PoolKernel { number, module, spec: Vec::new(), kernel, text: text.to_owned(), kind })
        };
        self.0.entry(text.to_owned()).or_insert_with(made).clone()
    }
}

/// Random numbers for one thing of a seed.
pub(super) fn stream(seed: u64, number: usize) -> Random {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number as u64));
    random.bits();
    random
}

/// What buffers ask for: in a third of the lists nothing.
pub(super) fn wishes(random: &mut Random, buffers: usize) -> Vec<Promote> {
    let quiet = random.one_in(3);
    (0..buffers)
        .map(|_| match quiet {
            true => Promote::None,
            false => *random.pick(&[Promote::None, Promote::Private, Promote::Local, Promote::Auto]),
        })
        .collect()
}

/// A dispatch of such a kernel on whole buffers of this many words, which ask for these promotions.
pub(super) fn submission(
    kernel: &PoolKernel,
    groups: [u32; 3],
    buffers: &[u64],
    (words, wishes): (usize, &[Promote]),
    push: [u32; 4],
) -> Submission {
    let args = kernel.kernel.interface.bindings.iter().map(|binding| {
        let buffer = buffers[binding.at.binding as usize];
        Arg {
            at: binding.at,
            buffer: BufferId(buffer),
            offset: 0,
            len: 4 * words as u64,
            promote: wishes[buffer as usize],
            numbers: None,
            image: None,
        }
    });
    let args = args.collect();
    let push: Vec<u8> = push.iter().flat_map(|word| word.to_le_bytes()).collect();
    let kernel = kernel.kernel.clone();
    let push = if kernel.interface.push.is_some() { push } else { Vec::new() };
    Submission { kernel, base: [0; 3], groups, args, push: push.into() }
}

/// A kernel with this body, whose buffers of words have these names, by binding; those that begin with `z` are written. What stands before a
/// `---` stands outside the entry point.
pub(super) fn text(names: &str, size: impl Display, body: &str) -> String {
    let mut text = String::new();
    if body.contains("p.") {
        text.push_str("struct P { x: u32, y: u32, z: u32, w: u32 }\nvar<immediate> p: P;\n");
    }
    for (binding, name) in names.split_whitespace().enumerate() {
        let space = if name.starts_with('z') { "storage, read_write" } else { "storage, read" };
        let _ = writeln!(text, "@group(0) @binding({binding}) var<{space}> {name}: array<u32>;");
    }
    let (outside, body) = body.split_once("---").unwrap_or(("", body));
    text.push_str(outside);
    let ids = [("gid", "global_invocation_id"), ("lid", "local_invocation_id"), ("wid", "workgroup_id")];
    let used: Vec<String> = ids
        .iter()
        .filter(|(short, _)| body.contains(short))
        .map(|(short, name)| format!("@builtin({name}) {short}: vec3<u32>"))
        .collect();
    let _ = write!(text, "@compute @workgroup_size({size})\nfn main({}) {{\n  {body}\n}}\n", used.join(", "));
    text
}
