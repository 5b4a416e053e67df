//! Fusion lists without a device: kernels from `shaders/`, buffers by number.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use vkfuse_jit::kernel::{Kernel, Module, Specialized};
use vkfuse_jit::plan::{Arg, BufferId, Promote, Submission};

/// Loads a kernel of `shaders/` with its default constants.
pub(crate) fn kernel(path: &str) -> Arc<Specialized> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders").join(path);
    let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let module = Module::from_bytes(path, &bytes).expect("valid module");
    Kernel::new(&module, None).expect("one entry point").specialize(&[]).expect("defaults")
}

/// A list under construction; every buffer has `n` elements of four bytes.
pub(crate) struct List {
    /// The submissions so far.
    pub(crate) submissions: Vec<Submission>,
    bytes: u64,
    promotions: HashMap<u64, Promote>,
}

impl List {
    /// An empty list over buffers of `n` elements.
    pub(crate) fn new(n: u32) -> Self {
        Self { submissions: Vec::new(), bytes: u64::from(n) * 4, promotions: HashMap::new() }
    }

    /// Asks for a promotion of a buffer; call before submitting.
    pub(crate) fn promote(&mut self, buffer: u64, promote: Promote) {
        self.promotions.insert(buffer, promote);
    }

    /// Submits a kernel with one whole buffer for each of its bindings, in order.
    pub(crate) fn submit(
        &mut self,
        kernel: &Arc<Specialized>,
        groups: [u32; 3],
        buffers: &[u64],
        push: &[u8],
    ) {
        let bindings = &kernel.interface.bindings;
        assert_eq!(bindings.len(), buffers.len(), "one buffer per binding of {}", kernel.name);
        let args = bindings
            .iter()
            .zip(buffers)
            .map(|(binding, &buffer)| Arg {
                at: binding.at,
                buffer: BufferId(buffer),
                offset: 0,
                len: self.bytes,
                promote: self.promotions.get(&buffer).copied().unwrap_or_default(),
                numbers: None,
                image: None,
            })
            .collect();
        self.submissions.push(Submission {
            kernel: kernel.clone(),
            base: [0; 3],
            groups,
            args,
            push: push.into(),
        });
    }
}
