//! Steps of a list that need no kernel of the file's: copies and fills, as submissions of kernels that the command brings.
//!
//! They run, fuse and are checked like any other submission.

use super::model::{Argument, BufferDecl, Extent, KernelDecl, Submit};
use super::node::Node;
use super::problem::Problem;
use super::push;
use super::read::{flag, lookup, part};
use smallvec::SmallVec;
use vkfuse_jit::kernel::SetBinding;

/// A kernel that the command brings; `shaders/steps` has the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Copy,
    Fill,
}

impl Step {
    pub(super) const ALL: [Step; 2] = [Step::Copy, Step::Fill];

    /// The key of a submission, and the kernel's name in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Step::Copy => "copy",
            Step::Fill => "fill",
        }
    }

    /// Its module.
    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Step::Copy => include_bytes!("steps/copy.spv"),
            Step::Fill => include_bytes!("steps/fill.spv"),
        }
    }

    /// The kernel, as if the file had it.
    pub(super) fn kernel(self, node: &Node<'_>) -> KernelDecl {
        KernelDecl {
            name: self.name().to_owned(),
            path: std::path::PathBuf::from(self.name()),
            path_place: node.place(),
            entry: None,
            entry_place: node.place(),
            local_size: None,
            subgroup_size: None,
            step: Some(self),
        }
    }
}

/// Where the parts of buffers begin that any device can bind: the most that `minStorageBufferOffsetAlignment` may be.
const ALIGNMENT: u64 = 256;

/// A part of a buffer that is whole words: its first byte, and bytes.
struct Words {
    buffer: usize,
    start: u64,
    bytes: u64,
    /// Whether its bytes are meant, whatever its elements are.
    cast: bool,
}

impl Words {
    fn read(node: &Node<'_>, buffers: &[BufferDecl], known: &[&str]) -> Result<Words, Problem> {
        let names = buffers.iter().map(|buffer| buffer.name.as_str());
        let (buffer, (offset, len), cast) = if node.is_table() {
            let table = node.table(known)?;
            let buffer = lookup(&table.require("buffer")?, "buffer", names)?;
            (buffer, part(&table, buffers[buffer].len)?, flag(table.get("cast"))?)
        } else {
            let buffer = lookup(node, "buffer", names)?;
            (buffer, (0, buffers[buffer].len), false)
        };
        if buffers[buffer].image.is_some() {
            let name = &buffers[buffer].name;
            return Err(node.problem(format!("{name} is an image, and copies and fills are of buffers")));
        }
        // `buffer` has made sure that the size fits.
        let size = buffers[buffer].ty.size() as u64;
        let (start, bytes) = (offset * size, len * size);
        if start % 4 != 0 || bytes % 4 != 0 || (start + bytes) / 4 > u64::from(u32::MAX) {
            let message = format!("{bytes} bytes from byte {start} on are not whole words of 32 bits");
            return Err(node.problem(message));
        }
        Ok(Words { buffer, start, bytes, cast })
    }

    /// The part of the buffer that is bound: from an offset on that every device takes, or all of it.
    fn bound(&self, whole: bool) -> u64 {
        if whole { 0 } else { self.start / ALIGNMENT * ALIGNMENT }
    }

    fn argument(&self, binding: u32, whole: bool, node: &Node<'_>, buffers: &[BufferDecl]) -> Argument {
        let declared = &buffers[self.buffer];
        let size = declared.ty.size() as u64;
        let offset = self.bound(whole) / size;
        let end = if whole { declared.len } else { (self.start + self.bytes) / size };
        Argument {
            at: SetBinding::from(binding),
            buffer: self.buffer,
            promote: None,
            offset,
            len: end - offset,
            constant: false,
            // They move words.
            cast: true,
            sampler: None,
            texels: None,
            place: node.place(),
        }
    }

    /// Its first word, from where it is bound.
    fn first(&self, whole: bool) -> [u8; 4] {
        (((self.start - self.bound(whole)) / 4) as u32).to_le_bytes()
    }

    fn count(&self) -> u32 {
        (self.bytes / 4) as u32
    }
}

/// Reads `copy = { from = …, to = … }` or `fill = { buffer = …, value = … }`; `kernel` is the number of the step's kernel.
pub(super) fn read(
    step: Step,
    node: &Node<'_>,
    kernel: usize,
    buffers: &[BufferDecl],
) -> Result<Submit, Problem> {
    let mut bytes: SmallVec<[u8; 32]> = SmallVec::new();
    let (words, args) = match step {
        Step::Copy => {
            if !node.is_table() {
                return Err(node.expected("two buffers, { from = \"NAME\", to = \"NAME\" }"));
            }
            let table = node.table(&["from", "to"])?;
            let known = ["buffer", "offset", "len", "cast"];
            let (from_node, to_node) = (table.require("from")?, table.require("to")?);
            let from = Words::read(&from_node, buffers, &known)?;
            let to = Words::read(&to_node, buffers, &known)?;
            if from.bytes != to.bytes {
                let message = format!(
                    "{} bytes cannot be copied to {}: both parts have to be as long, {{ buffer = \"NAME\", offset = 0, len = 1 }} in elements",
                    from.bytes, to.bytes
                );
                return Err(to_node.problem(message));
            }
            let [ty, to_ty] = [&from, &to].map(|words| buffers[words.buffer].ty);
            if !(from.cast || to.cast || ty.is_like(to_ty)) {
                let name = &buffers[from.buffer].name;
                let message = format!(
                    "{} would become {} without a conversion; where its bytes are meant, say from = {{ buffer = \"{name}\", cast = true }}",
                    ty.name(),
                    to_ty.name(),
                );
                return Err(to_node.problem(message));
            }
            let same = from.buffer == to.buffer;
            if same && from.start < to.start + to.bytes && to.start < from.start + from.bytes {
                return Err(to_node.problem("what is copied and where it goes overlap"));
            }
            bytes.extend_from_slice(&from.count().to_le_bytes());
            bytes.extend_from_slice(&from.first(same));
            bytes.extend_from_slice(&to.first(same));
            let args =
                vec![from.argument(0, same, &from_node, buffers), to.argument(1, same, &to_node, buffers)];
            (from.count(), args)
        }
        Step::Fill => {
            let known = ["buffer", "value", "offset", "len"];
            if !node.is_table() {
                return Err(node.expected("a buffer and a number, { buffer = \"NAME\", value = 0 }"));
            }
            let to = Words::read(node, buffers, &known)?;
            let value = buffers[to.buffer].ty.element(&node.table(&known)?.require("value")?)?;
            bytes.extend_from_slice(&to.count().to_le_bytes());
            bytes.extend_from_slice(&to.first(false));
            bytes.extend(value.iter().copied().cycle().take(8));
            (to.count(), vec![to.argument(0, false, node, buffers)])
        }
    };
    Ok(Submit {
        kernel,
        kernel_place: node.place(),
        extent: Extent::Global([words, 1, 1]),
        base: [0; 3],
        spec: Vec::new(),
        push: push::Given { bytes, typed: Vec::new() },
        push_place: node.place(),
        args,
        place: node.place(),
    })
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn the_kernels_are_those_of_the_shaders_folder() {
        for step in Step::ALL {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shaders/steps");
            let file = format!("{folder}/{}.spv", step.name());
            assert_eq!(std::fs::read(&file).ok().as_deref(), Some(step.bytes()), "{file}");
        }
    }
}
