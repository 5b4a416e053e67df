//! Contents that a kernel takes for something else: values of one type in a block of several, values in the padding between elements.

use super::List;
use crate::pipeline::element::ElementType;
use crate::pipeline::model::{BufferDecl, Init};
use crate::pipeline::problem::Problem;
use vkfuse_jit::kernel::Declared;

impl List<'_> {
    /// Buffers whose contents are not what a kernel that reads them declares.
    pub(super) fn misread(&self) -> Vec<Problem> {
        let misread = |(index, buffer): (usize, &BufferDecl)| {
            let mut uses = self.uses_of(index).filter(|one| !one.arg.cast && one.binding.reads);
            uses.find_map(|one| {
                let declared = self.submits[one.submission].kernel.elements_at(one.binding.at)?;
                let kernel = &self.pipeline.kernels[self.pipeline.submits[one.submission].kernel].name;
                let name = &buffer.name;
                let message = match (is_of_one_type(buffer), stride_missed(buffer, declared)) {
                    (true, _) if declared.has_others(buffer.ty.in_memory()) => format!(
                        "kernel {kernel} has {declared} there, and all values of {name} are {}: `init = {{ scalars = [{{ f32 = 0.5 }}, {{ u32 = 8 }}] }}` gives each its own type",
                        buffer.ty.name()
                    ),
                    (_, Some(stride)) => format!(
                        "kernel {kernel} reads one {} of {name} in {} there, its elements being {stride} bytes apart (std140): the others have values that it does not read",
                        buffer.ty.name(),
                        stride as usize / buffer.ty.size(),
                    ),
                    _ => return None,
                };
                Some(self.pipeline.problem(&one.arg.place, message))
            })
        };
        self.pipeline.buffers.iter().enumerate().filter_map(misread).collect()
    }
}

/// Whether a buffer has values of its own type, in places that may be of others. Zeros are those of every type, and bytes anything.
fn is_of_one_type(buffer: &BufferDecl) -> bool {
    match &buffer.init {
        Init::Values(bytes) => bytes.iter().any(|byte| *byte != 0),
        Init::Iota => buffer.ty != ElementType::U8,
        _ => false,
    }
}

/// Bytes between the elements of a block with padding, if the buffer has values where the padding is.
fn stride_missed(buffer: &BufferDecl, declared: &Declared) -> Option<u32> {
    let stride = declared.padded(buffer.ty.in_memory())?;
    let every = (stride as usize / buffer.ty.size()).max(1);
    let is_missed = match &buffer.init {
        Init::Values(bytes) => {
            let mut elements = bytes.chunks(buffer.ty.size()).enumerate();
            elements.any(|(index, element)| index % every != 0 && element.iter().any(|byte| *byte != 0))
        }
        Init::Iota => buffer.len > 1,
        _ => false,
    };
    is_missed.then_some(stride)
}
