//! The buffers of a list: memory objects, and the views of them that kernels get.

use super::bench::{Element, Size};
use super::list::element;
use super::random::Random;
use vkfuse_jit::plan::Promote;

/// What one binding may be: a range of a memory object, in bytes. Views do not overlap.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) physical: usize,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// The memory of a list.
pub(super) struct Buffers {
    pub(super) logical: Vec<View>,
    /// The view that holds a permutation of the elements.
    pub(super) table: usize,
    /// The promotion asked for, by memory object.
    pub(super) wishes: Vec<Promote>,
}

/// Views that nothing writes, the table not counted.
const INPUTS: usize = 2;
/// Views that kernels write.
const WORK: usize = 6;
/// Words that every device can begin a binding at a multiple of.
const ALIGN: u64 = 64;

impl Buffers {
    /// Memory for kernels of that size: an object for each view, or with `few` two objects cut into views.
    pub(super) fn new(random: &mut Random, few: bool, _element: Element, size: &Size) -> Self {
        // Twice as much for interleaved accesses, and room to step over the end.
        let words = (2 * u64::from(size.n) + 320).next_multiple_of(ALIGN);
        let len = 4 * words;
        let mut logical = Vec::new();
        for number in 0..INPUTS + 1 + WORK {
            let work = number.checked_sub(INPUTS + 1);
            let (physical, place) = match work {
                Some(work) if few => (INPUTS + 1 + work % 2, work as u64 / 2),
                _ => (number, 0),
            };
            // A gap before the first view: not every view begins where its memory does.
            let gap = if few && number != INPUTS { 4 * ALIGN * (1 + physical as u64 % 2) } else { 0 };
            logical.push(View { physical, offset: gap + place * len, len });
        }
        let physical = logical.iter().map(|v| v.physical + 1).max().unwrap_or(0);
        let quiet = random.one_in(3);
        let wishes = (0..physical).map(|number| {
            if quiet || number <= INPUTS {
                return Promote::None;
            }
            *random.pick(&[Promote::None, Promote::Private, Promote::Local, Promote::Auto])
        });
        let wishes = wishes.collect();
        Self { logical, table: INPUTS, wishes }
    }

    pub(super) fn is_input(&self, logical: usize) -> bool {
        logical < INPUTS
    }

    /// What the memory objects hold at first.
    pub(super) fn contents(&self, random: &mut Random, n: u32, kind: Element) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for physical in 0..self.wishes.len() {
            let views = self.logical.iter().filter(|v| v.physical == physical);
            let words = views.map(|v| (v.offset + v.len) / 4).max().unwrap_or(0) + 16;
            let bytes = if physical == self.table {
                permutation(random, n, words)
            } else {
                (0..words).flat_map(|_| element(random, kind).to_le_bytes()).collect()
            };
            all.push(bytes);
        }
        all
    }
}

/// A permutation of the numbers below `n` that begins with `n - 1`, and zeros.
fn permutation(random: &mut Random, n: u32, words: u64) -> Vec<u8> {
    let mut table: Vec<u32> = (0..n).collect();
    for last in (1..table.len()).rev() {
        table.swap(last, random.below(last + 1));
    }
    if let Some(at) = table.iter().position(|&e| e == n - 1) {
        table.swap(0, at);
    }
    table.resize(words as usize, 0);
    table.into_iter().flat_map(u32::to_le_bytes).collect()
}
