//! How the item that stores an element, or a texel, follows from the index or the coordinates: the part of that which is in the code.

use smallvec::SmallVec;

use super::rows::Rows;

/// A number that an item's ids are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digit {
    /// Dimension: 0 = x.
    pub(crate) dim: u8,
    pub(crate) part: Part,
    /// The digit is what the id lacks of its greatest value.
    pub(crate) mirrored: bool,
    /// One of the digit is several of the id; other digits make up the rest of it.
    pub(crate) scaled: bool,
}

/// Which id of a dimension a digit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// `GlobalInvocationId`.
    Global,
    /// `WorkgroupId`.
    Group,
    /// `LocalInvocationId`.
    Local,
    /// No id: which of its stores an item does.
    Site,
}

/// A coordinate of the texel that an item stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Coordinate {
    /// The dimension whose `GlobalInvocationId` it is, less the first coordinate; a number if there is none.
    pub(crate) dim: Option<u8>,
    /// The first coordinate is not zero.
    pub(crate) based: bool,
}

/// How the item follows from the index of its element: what of that is in the code. The numbers are push constants, in this
/// order: the shift, the first index, the consumer's first index and the one after its last, the weights of all digits but the
/// lightest, the greatest values of mirrored ones, how much of their id one of scaled ones is; of a texel, the first coordinates that are not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ids {
    /// The index that the consumer has is not the producer's.
    pub(crate) shifted: bool,
    /// The least index is not zero.
    pub(crate) based: bool,
    /// Elements below the first one are loaded as before, and those from the one after the last on.
    pub(crate) from_first: bool,
    pub(crate) to_last: bool,
    /// `index - first` is the sum of weights times digits, the lightest first, of weight one. Other ids are zero.
    pub(crate) digits: SmallVec<[Digit; 4]>,
    /// The heaviest digit is there where the element is, and what the others make up.
    pub(crate) by_row: bool,
    /// Of a texel, there are its coordinates instead.
    pub(crate) coordinates: SmallVec<[Coordinate; 3]>,
    /// The stores of an item by their numbers among the producer's accesses, in the order of their elements.
    pub(crate) sites: SmallVec<[u32; 2]>,
    /// Loads of the consumer, by their number among its accesses, and parts of what they load that are all stored by one of these, and by which.
    pub(crate) known: SmallVec<[((u32, u32), u8); 2]>,
    /// Loads of the consumer whose index is made of row and column, in the order of its accesses.
    pub(crate) rows: Rows,
}

impl Ids {
    /// All of it.
    pub(in crate::rewrite) fn bytes(&self) -> Vec<u8> {
        let Self { shifted, based, from_first, to_last, digits, by_row, coordinates, sites, known, rows } =
            self;
        let flag = u8::from;
        let digits = digits
            .iter()
            .flat_map(|digit| [digit.dim, digit.part as u8, flag(digit.mirrored), flag(digit.scaled)]);
        let flags = [shifted, based, from_first, to_last, by_row].map(|&flag| u8::from(flag));
        let coordinates =
            coordinates.iter().flat_map(|one| [0xff, one.dim.unwrap_or(0xff), u8::from(one.based)]);
        let sites = sites.iter().flat_map(|site| [0xfe].into_iter().chain(site.to_le_bytes()));
        let known = known.iter().flat_map(|((load, part), site)| {
            [0xfd].into_iter().chain(load.to_le_bytes()).chain(part.to_le_bytes()).chain([*site])
        });
        let rows = rows.numbers().flat_map(|number| (number as u32).to_le_bytes());
        flags.into_iter().chain(digits).chain(coordinates).chain(sites).chain(known).chain(rows).collect()
    }

    /// The store that stores a part of what a load of the consumer loads, if it is one for all elements.
    pub(super) fn known_site(&self, load: usize, part: u32) -> Option<u8> {
        self.known.iter().find(|(known, _)| *known == (load as u32, part)).map(|one| one.1)
    }

    /// How many numbers.
    pub(crate) fn words(&self) -> u32 {
        let flags = [self.shifted, self.based, self.from_first, self.to_last];
        let others = flags.into_iter().filter(|&flag| flag).count();
        (others + self.weights() + self.mirrored() + self.scaled() + self.bases()) as u32
    }

    /// How many greatest values.
    pub(super) fn mirrored(&self) -> usize {
        self.digits.iter().filter(|digit| digit.mirrored).count()
    }

    /// How many scaled digits.
    pub(super) fn scaled(&self) -> usize {
        self.digits.iter().filter(|digit| digit.scaled).count()
    }

    /// How many weights are among them.
    pub(super) fn weights(&self) -> usize {
        self.digits.len().saturating_sub(1)
    }

    /// How many first coordinates.
    pub(super) fn bases(&self) -> usize {
        self.coordinates.iter().filter(|one| one.based).count()
    }
}
