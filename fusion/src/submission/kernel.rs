//! What the handles of a kernel share.

use std::{
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use ahash::{AHashSet, AHasher};
use parking_lot::Mutex;

use crate::{
    error::{BindingName, Error, SubmitError},
    jit::{self, DescriptorArray, Specialized, Submission},
    submission::{device::Device, ignored::Ignored},
    vk::{Caps, Lack},
};

/// A kernel, by a number that no other kernel of this process ever has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KernelId(u64);

/// What the handles of a kernel share.
#[derive(Debug)]
pub(crate) struct KernelInner {
    pub(crate) id: KernelId,
    pub(crate) device: Arc<Device>,
    pub(crate) jit: jit::Kernel,
    /// What was given for it, was not used, and was said in the log.
    pub(crate) summary: Mutex<AHashSet<Ignored>>,
    /// Hashes of the numbers and sizes of the latest submissions that were looked at for accesses beyond what is bound.
    pub(crate) within: [AtomicU64; 4],
}

impl KernelInner {
    /// Says in the log what a submission was given in vain, for the first time that it is.
    pub(crate) fn say(&self, ignored: &Ignored) {
        let mut summary = self.summary.lock();
        if summary.len() < MOST_SAID && summary.insert(ignored.clone()) {
            for note in ignored.of_request(self.jit.name()) {
                tracing::warn!(target: "vkfuse::request", "{note}");
            }
            for note in ignored.of_kernel(self.jit.name()) {
                tracing::warn!("{note}");
            }
        }
    }
}

impl KernelInner {
    /// A hash of what decides whether accesses of a submission stay within its ranges.
    pub(crate) fn sizes_of(&self, submission: &Submission) -> u64 {
        let mut hasher = AHasher::default();
        (submission.kernel.hash, submission.base, submission.groups, &submission.push).hash(&mut hasher);
        submission.args.iter().for_each(|arg| arg.len.hash(&mut hasher));
        // Zero is none.
        hasher.finish() | 1
    }

    /// Whether one like it was looked at lately.
    pub(crate) fn is_within(&self, sizes: u64) -> bool {
        self.within.iter().any(|known| known.load(Relaxed) == sizes)
    }

    /// Notes that nothing was found.
    pub(crate) fn note_within(&self, sizes: u64) {
        self.within[sizes as usize >> 1 & 3].store(sizes, Relaxed);
    }
}

/// Of how many different lists of unused values a kernel tells the log.
const MOST_SAID: usize = 16;

impl KernelId {
    pub(crate) fn next() -> KernelId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        KernelId(NEXT.fetch_add(1, Relaxed))
    }
}

/// What of the capabilities, extensions and execution modes that a kernel declares the device does not take, in words.
fn lacking(caps: &Caps, kernel: &Specialized) -> Option<(String, Lack)> {
    let (interface, requirements) = (&kernel.interface, &caps.requirements);
    let known = interface.capabilities.iter().map(|one| (*one as u32, format!("{one:?}")));
    let unknown = kernel.module.unknown_capabilities().map(|number| (number, number.to_string()));
    let capability = { known }.chain(unknown).find_map(|(number, name)| {
        let lack = requirements.lacks_capability(number)?;
        Some((format!("the SPIR-V capability {name}"), lack))
    });
    let extension = || {
        interface.extensions.iter().find_map(|name| {
            Some((format!("the SPIR-V extension {name}"), requirements.lacks_extension(name)?))
        })
    };
    capability.or_else(|| requirements.lacks_mode(&interface.modes)).or_else(extension)
}

/// Whether the device can run it: SPIR-V version, capabilities, extensions, execution modes, arrays that are indexed dynamically,
/// work-group size, shared memory, push constants.
pub(crate) fn check_device(device: &Device, kernel: &Specialized) -> Result<(), Error> {
    let caps = device.gpu.caps();
    let (interface, limits) = (&kernel.interface, caps.limits());
    let fail = |problem| Err(Error::submit(&kernel.name, problem));
    let name = || caps.info.name.clone();

    if interface.version > caps.spirv_version {
        return fail(SubmitError::Version {
            version: interface.version,
            limit: caps.spirv_version,
            device: name(),
        });
    }
    if let Some((what, lack)) = lacking(caps, kernel) {
        let (enable, needs) = match lack {
            Lack::Device(needs) => (None, needs),
            Lack::Enabled(what) => (Some(what), Some(what)),
        };
        return fail(SubmitError::Requirement { what: what.into(), enable, needs, device: name().into() });
    }
    let (size, limit, invocations) =
        (interface.local_size, limits.max_work_group_size, limits.max_work_group_invocations);
    let product = size.iter().try_fold(1u32, |product, part| product.checked_mul(*part));
    let fits = size.iter().zip(limit).all(|(part, limit)| (1..=limit).contains(part));
    if !fits || product.is_none_or(|product| product > invocations) {
        return fail(SubmitError::WorkGroupSize { size, limit, invocations });
    }
    for binding in interface.bindings.iter().filter(|one| one.at.element == 0) {
        let Some(DescriptorArray { dynamic: true, .. }) = binding.array else { continue };
        if let Err(feature) = caps.indexes_dynamically(binding.kind) {
            let (at, name) = (binding.at, BindingName(binding.name.clone()));
            let device = caps.info.name.clone();
            return fail(SubmitError::DynamicIndexing { at, name, feature, device });
        }
    }
    if interface.workgroup_bytes > limits.max_shared_bytes {
        return fail(SubmitError::SharedMemory {
            needed: interface.workgroup_bytes,
            limit: limits.max_shared_bytes,
        });
    }
    match &interface.push {
        Some(push) if push.size > limits.max_push_bytes => {
            fail(SubmitError::PushLimit { needed: push.size, limit: limits.max_push_bytes })
        }
        _ => Ok(()),
    }
}
