//! Where the bytes of push constants are from.

use smallvec::SmallVec;

/// What a plan depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    /// On every byte.
    pub(crate) all: bool,
    /// Words that are numbers, of each submission: offset and bytes.
    pub(in crate::plan) words: Vec<Vec<(u32, u32)>>,
}

/// Where the value of a slot is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotOrigin {
    /// Parts of submissions' push constants, all of them equal.
    pub(in crate::plan) passed: SmallVec<[Part; 2]>,
    /// The planner, too.
    pub(in crate::plan) computed: bool,
}

/// Bytes that a submission passes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct Part {
    pub(in crate::plan) submission: usize,
    pub(in crate::plan) offset: u32,
    /// How many there are at the most. A whole block of a kernel that was rewritten ends in words of the planner's.
    pub(in crate::plan) bytes: u32,
}

impl Values {
    /// Puts what is known of each submission in another order.
    pub(in crate::plan) fn sort(
        &mut self,
        sorted: impl FnOnce(Vec<Vec<(u32, u32)>>) -> Vec<Vec<(u32, u32)>>,
    ) {
        self.words = sorted(std::mem::take(&mut self.words));
    }
}

impl SlotOrigin {
    pub(in crate::plan) fn passed(&mut self) -> impl Iterator<Item = &mut Part> {
        self.passed.iter_mut()
    }

    pub(crate) fn add(&mut self, origin: Option<(usize, u32)>) {
        match origin {
            Some((submission, offset)) => self.passed.push(Part { submission, offset, bytes: u32::MAX }),
            None => self.computed = true,
        }
    }
}
