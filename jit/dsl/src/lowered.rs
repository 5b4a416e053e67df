//! Lowering: from a type to a module and a signature.

use thiserror::Error;

use crate::{
    capture::{Position, Signature},
    item::ItemKind,
    kernel::KernelObject,
    shape::ScalarType,
    stage::{Builder, Cap, Fit, FitTo, with},
};

/// Where the block of plain values is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PlainIn {
    /// Push constants.
    #[default]
    Push,
    /// A uniform buffer, at the binding behind those of the accessors.
    Uniform,
}

/// Which module of a kernel is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LowerOptions {
    /// Where plain values are.
    pub plain: PlainIn,
    /// Whether the range lies within what is indexed by the item alone, see [`Lowered::fits`], so that those accesses need
    /// no check.
    pub fitting: bool,
    /// Whether accesses out of range are reported, to a buffer at the second binding behind those of the accessors.
    pub checking: bool,
}

/// Why a function object has no module.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LowerError {
    /// A function calls itself, directly or not.
    #[error("function {function} calls itself; devices have no stack: write a loop")]
    Recursion {
        /// Its name.
        function: &'static str,
    },
    /// A literal index is out of range of an array whose length is a type parameter.
    #[error("index {index} into an array of {len}; compare the length before it, or index by a `u32`")]
    Index {
        /// The index.
        index: usize,
        /// Number of elements.
        len: usize,
    },
}

/// A lowered function object.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Name of the type.
    pub name: &'static str,
    /// The module, with the entry point `main`.
    pub words: Vec<u32>,
    /// The parameters.
    pub signature: Signature,
    /// Words of the range that come before the captures in the block of plain values.
    pub range_words: u32,
    /// Bindings that the module really has.
    pub used: Vec<u32>,
    /// Whether the block of plain values is read.
    pub uses_plain: bool,
    /// Ids of the specialization constants that the module really has.
    pub used_specs: Vec<u32>,
    /// Types that are changed atomically, and whether in work-group memory (otherwise in a buffer).
    pub atomics: Vec<(ScalarType, bool)>,
    /// What is asserted, as file, line and text: the entries of the checking mode's report have their numbers.
    pub assertions: Vec<&'static str>,
    fits: Vec<Fit>,
}

/// Work-group sizes for 0 to 3 dimensions where the kernel may be grouped in any way.
const LOCAL_SIZES: [[u32; 3]; 4] = [[1; 3], [256, 1, 1], [16, 16, 1], [8, 8, 4]];

impl Lowered {
    /// Lowers a function object.
    ///
    /// # Errors
    ///
    /// What only shows when all functions and lengths are known: recursion, and literals that are out of range.
    pub fn of<K: KernelObject>(options: LowerOptions) -> Result<Lowered, LowerError> {
        let signature = Signature::of::<K>();
        let range_words = <K::Item as ItemKind>::RANGE_WORDS;
        let params = K::advance(Position::default()).params;
        let builder = Builder::new(options, signature.plain_bytes.div_ceil(4), range_words, params);
        let grouped = <K::Item as ItemKind>::GROUPED;
        let mut main = 0;
        let builder = builder.run(|| {
            main = with(|b| {
                if grouped {
                    b.work_group_size();
                }
                let main = b.begin_entry();
                b.guard_range(range_words);
                main
            });
            K::lower(Cap::new(Position::default()), Cap::new(Position::default()));
            with(Builder::end_entry);
        });
        if let Some(error) = builder.error {
            return Err(error);
        }
        let (used, uses_plain) = builder.used();
        let fits = builder.fits.iter().copied().collect();
        let used_specs = builder.used_specs();
        let atomics = builder.atomics.iter().copied().collect();
        let assertions = builder.assertions.clone();
        let local_size = LOCAL_SIZES[if grouped { 0 } else { <K::Item as ItemKind>::DIMENSIONS }];
        let words = builder.finish(main, K::NAME, Some(local_size));
        Ok(Lowered {
            name: K::NAME,
            words,
            signature,
            range_words,
            used,
            uses_plain,
            used_specs,
            atomics,
            assertions,
            fits,
        })
    }

    /// What a fitting module relies on: binding, and how many elements it must have for a range.
    pub fn fits(&self, range: [u32; 3]) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.fits.iter().map(move |fit| {
            let least = match fit.to {
                FitTo::Dimension(k) => u64::from(range[k as usize % 3]),
                FitTo::Count => {
                    let count = range.iter().try_fold(1_u64, |count, &n| count.checked_mul(u64::from(n)));
                    // The number of an item wraps at 32 bits; beyond that nothing is known to fit.
                    count.filter(|&count| count <= 1 << 32).unwrap_or(u64::MAX)
                }
            };
            (fit.param, least)
        })
    }
}
