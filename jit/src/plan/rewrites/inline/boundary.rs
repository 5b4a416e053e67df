//! A producer and a submission that loads what it stores: which elements are stored, and which are loaded.

use smallvec::SmallVec;

use crate::analysis::access::Access;
use crate::analysis::evaluate::AccessForm;
use crate::kernel::{SetBinding, Specialized};
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::{Arg, Submission};
use crate::plan::input::uses::Uses;
#[cfg(feature = "certify")]
use crate::plan::output::again::Weight;
use crate::rewrite::{Definition, Digit, Ids, Parts, Texels};

/// Assumed number of rounds of a loop without known bounds.
const UNKNOWN_ROUNDS: i128 = 64;

/// A producer and a submission that loads what it stores.
pub(super) struct Boundary<'a> {
    pub(super) list: &'a [Submission],
    pub(super) uses: &'a Uses,
    /// The producer in the form in which it is recomputed.
    pub(super) source: &'a Submission,
    pub(super) definition: Definition,
    pub(super) producer: usize,
    pub(super) next: usize,
    /// The binding that is loaded from.
    pub(super) from: usize,
    /// Submissions whose elements it does not load any more from there.
    pub(super) done: &'a Done,
    /// Each item of it stores over the texel that it loads, and only what it stores is asked for.
    pub(super) is_own: bool,
    /// Accesses outside of what is bound are defined.
    pub(super) robust: bool,
    /// The device computes with halves.
    pub(super) halves: bool,
}

/// Producers, and the bindings from which what they store is not loaded any more.
pub(super) type Done = SmallVec<[(usize, SetBinding); 4]>;

/// The elements that a producer certainly stores, each by exactly one item.
pub(super) struct Stored {
    pub(super) ids: Ids,
    /// Weights of all digits but the lightest, in elements, and the greatest values of mirrored digits.
    pub(super) weights: SmallVec<[u32; 4]>,
    #[cfg(feature = "certify")]
    pub(super) digits: SmallVec<[Weighed; 4]>,
    /// Index of the first one as the producer has it, and how many there are.
    pub(super) first: i128,
    pub(super) count: i128,
    /// Place of the element of index 0 in the memory object, and bytes from one to the next.
    pub(super) origin: i128,
    pub(super) stride: i128,
    /// If an item does several stores: bytes from the element of one to that of the next.
    pub(super) apart: i128,
    /// Of texels, there are their coordinates instead.
    pub(super) sides: Sides,
}

impl Stored {
    pub(super) fn texels(ids: Ids, sides: Sides) -> Self {
        Self {
            ids,
            weights: SmallVec::new(),
            #[cfg(feature = "certify")]
            digits: SmallVec::new(),
            first: 0,
            count: 0,
            origin: 0,
            stride: 1,
            apart: 0,
            sides,
        }
    }
}

/// An id as a digit of an offset.
pub(in crate::plan) struct Weighed {
    pub(in crate::plan) is: Digit,
    /// The weight, or what is taken off for each of the id if the digit is mirrored.
    pub(in crate::plan) weight: i128,
    pub(in crate::plan) count: i128,
    /// How much of the id one of it is.
    pub(in crate::plan) scale: i128,
}

#[cfg(feature = "certify")]
impl Weighed {
    /// The same, counted in elements of `stride` bytes.
    pub(in crate::plan) fn of_elements(&self, stride: i128) -> Weight {
        let &Self { is, weight, count, scale } = self;
        Weight { is, weight: weight / stride, most: count - 1, scale }
    }
}

/// The texels that a producer certainly writes, each by exactly one item: from the first to the last of each coordinate.
#[derive(Default)]
pub(super) struct Sides(pub(super) SmallVec<[(i128, i128); 3]>);

impl Sides {
    /// First coordinates that are not zero and have a dimension behind them.
    pub(super) fn bases<'a>(&'a self, ids: &'a Ids) -> impl Iterator<Item = u32> + 'a {
        let based = self.0.iter().zip(&ids.coordinates).filter(|(_, one)| one.based);
        based.map(|((first, _), _)| *first as u32)
    }
}

/// The loads of a consumer from one binding.
pub(super) struct Loads {
    /// How what is loaded is made of what is stored.
    pub(super) parts: Parts,
    /// The producer's index of an element, less the consumer's; in elements of the one of both that has the shorter ones.
    pub(super) shift: i128,
    /// The consumer's index of the first element that is stored, and the one after the last.
    pub(super) first: i128,
    pub(super) end: i128,
    /// How many, and how often an invocation does one, as far as that is known.
    pub(super) count: u32,
    pub(super) times: u64,
    /// Whether elements before the first or after the last that is stored may be loaded as well.
    pub(super) below: bool,
    pub(super) above: bool,
    /// Whether neighbours load neighbouring elements.
    pub(super) in_order: bool,
    /// Of loads, by their number among the accesses, and parts of what they load: the store of an item that stores that, by its digit.
    pub(super) known: SmallVec<[((u32, u32), u8); 2]>,
}

impl Default for Loads {
    fn default() -> Self {
        Self {
            parts: Parts::Whole,
            shift: 0,
            first: 0,
            end: 0,
            count: 0,
            times: 0,
            below: false,
            above: false,
            in_order: true,
            known: SmallVec::new(),
        }
    }
}

impl Loads {
    /// Counts how often an invocation does a load.
    pub(super) fn add_rounds(&mut self, access: &Access, form: &AccessForm, view: &View) {
        let rounds = access.loops.iter().enumerate().map(|(at, _)| match form.counters.get(at) {
            Some(&counter) => {
                let (low, high) = form.ranges.get(&view.atoms, counter);
                (high - low + 1).clamp(1, 1 << 20)
            }
            None => UNKNOWN_ROUNDS,
        });
        let rounds = rounds.fold(1i128, i128::saturating_mul);
        self.times = self.times.saturating_add(u64::try_from(rounds).unwrap_or(u64::MAX));
    }
}

/// Bytes of an element, or of a texel, at a binding.
pub(super) fn size_of(of: &Submission, binding: usize) -> u64 {
    let accesses = analysis_of(of).map_or(&[][..], |analysis| &analysis.accesses);
    let found = accesses.iter().find(|access| access.binding == binding);
    found.map_or(0, |access| match access.texel {
        None => access.size,
        // Of formats that are not followed, the most that there are.
        Some(_) => texels_of(&of.kernel, access).map_or(16, |texels| 4 * u64::from(texels.channels)),
    })
}

/// Whether a submission writes some byte of an argument.
pub(super) fn writes(one: &Submission, arg: &Arg) -> bool {
    let bindings = one.args.iter().zip(&one.kernel.interface.bindings);
    { bindings }.any(|(own, binding)| binding.writes && overlap(own, arg))
}

/// Whether two arguments share bytes.
pub(super) fn overlap(a: &Arg, b: &Arg) -> bool {
    a.buffer == b.buffer && a.offset < b.offset + b.len && b.offset < a.offset + a.len
}

/// The texels of the image that an access goes to.
pub(super) fn texels_of(kernel: &Specialized, access: &Access) -> Result<Texels, &'static str> {
    let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
    let function = normal.module.functions.first().ok_or("no body")?;
    let inst = function.blocks.get(access.at.0).and_then(|block| block.instructions.get(access.at.1));
    Texels::of(inst.ok_or("no instruction")?, &normal.module)
}
