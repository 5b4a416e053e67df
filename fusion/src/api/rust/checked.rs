//! The checking mode: a run that reports accesses out of range.

use std::fmt::{self, Display, Formatter};

use vkfuse_kernel::{
    KernelObject, LowerOptions,
    stage::{CHECK_ASSERTED, CHECK_ENTRIES, CHECK_WORDS},
};

use super::{LaunchRange, arguments, launch::Launch};
use crate::{
    api::{context::Context, queue::Queue},
    error::Error,
    submission::{held::Held, request::Size},
};

/// An access out of range: a read that gave zero, or a write that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutOfRange {
    /// The accessor, as a path in the function object; none for an array of the body or work-group memory.
    pub capture: Option<String>,
    /// The index.
    pub index: u32,
    /// The item: its place in each dimension, over all groups.
    pub item: [u32; 3],
}

/// An `assert!` that did not hold, or an `unreachable!` that was reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailedAssertion {
    /// File, line and text.
    pub what: String,
    /// The item: its place in each dimension, over all groups.
    pub item: [u32; 3],
}

/// What a checked run found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Violations {
    /// Number of accesses out of range, and of assertions that did not hold.
    pub count: u64,
    /// The first accesses out of range that were reported, sorted. Which these are is the device's choice.
    pub first: Vec<OutOfRange>,
    /// The first assertions that were reported not to hold, likewise.
    pub failed: Vec<FailedAssertion>,
}

impl Display for OutOfRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let OutOfRange { capture, index, item } = self;
        match capture {
            Some(capture) => write!(f, "item {item:?}: index {index} is out of range of `{capture}`"),
            None => write!(f, "item {item:?}: index {index} is out of range of an array of the kernel"),
        }
    }
}

impl Display for FailedAssertion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let FailedAssertion { what, item } = self;
        write!(f, "item {item:?}: assertion failed: {what}")
    }
}

/// How many there are, and a line for each that was reported.
impl Display for Violations {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.count {
            0 => return f.write_str("no violations"),
            1 => f.write_str("1 violation")?,
            count => write!(f, "{count} violations")?,
        }
        self.first.iter().try_for_each(|one| write!(f, "\n{one}"))?;
        self.failed.iter().try_for_each(|one| write!(f, "\n{one}"))?;
        match self.count.saturating_sub((self.first.len() + self.failed.len()) as u64) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl Queue {
    /// Runs a kernel written in Rust in the checking mode, waits, and tells which accesses were out of range and which assertions
    /// did not hold. It does what it does otherwise: such reads give zero, such writes are skipped, and what is asserted is taken
    /// for true.
    ///
    /// # Errors
    ///
    /// As [`Queue::submit`].
    pub fn check_for<R: LaunchRange, K: KernelObject<Item = R::Item>>(
        &self,
        range: R,
        kernel: &K,
    ) -> Result<Violations, Error> {
        let context = Context { inner: self.inner.context.clone() };
        let words = 1 + CHECK_ENTRIES * CHECK_WORDS;
        let report = context.buffer::<u32>(words as usize)?.named("out of range");
        let launch = Launch::new(&range, kernel);
        let bindings = vkfuse_kernel::Signature::of::<K>().bindings;
        let event = self.submit(|h| {
            let accessor = report.read_write().into_owned();
            let (kernel, grouped) = arguments::bind(&launch, &context.inner, &mut h.request, Some(accessor))?;
            let size = if grouped { Size::Groups(launch.extent) } else { Size::Items(launch.extent) };
            h.request.dispatch = Some((Held::Own(kernel.inner), size));
            Ok(())
        })?;
        event.wait()?;
        let words = report.download()?;
        let count = words[0];
        let lowered =
            vkfuse_kernel::Lowered::of::<K>(LowerOptions { checking: true, ..LowerOptions::default() });
        let assertions = lowered.map(|lowered| lowered.assertions).unwrap_or_default();
        let (mut first, mut failed) = (Vec::new(), Vec::new());
        for entry in words[1..].chunks_exact(CHECK_WORDS as usize).take(count as usize) {
            let (index, item) = (entry[1], [entry[2], entry[3], entry[4]]);
            if entry[0] == CHECK_ASSERTED {
                let what = assertions.get(index as usize).copied().unwrap_or_default().to_owned();
                failed.push(FailedAssertion { what, item });
            } else {
                let capture = bindings.get(entry[0] as usize).map(|binding| binding.path.clone());
                first.push(OutOfRange { capture, index, item });
            }
        }
        first.sort_unstable();
        failed.sort_unstable();
        Ok(Violations { count: u64::from(count), first, failed })
    }
}
