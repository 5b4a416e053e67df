//! Sizes of what is bound: bytes of buffers, extents of images. Numbers of the call, as group counts are.

use super::expr::ImageQuery;

/// What the size queries of SPIR-V answer for a bound image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageSize {
    /// Components of `OpImageQuerySize`, in texels: width, height and depth of the first level, as far as the image has them, then
    /// its layers (cubes of an image of cubes). 0 for those behind them, and where it is not known.
    pub extent: [u32; 3],
    /// Levels of detail that are bound.
    pub levels: u32,
    /// Samples of a texel.
    pub samples: u32,
    /// The number of the view among those of its memory object, if that is known: arguments with equal ones see the same texels, in the same
    /// format and with the same channels, whatever sampler comes with one of them.
    pub view: Option<u32>,
}

impl ImageSize {
    /// What a query answers; nothing for what the image does not have.
    pub(crate) fn answer(&self, query: ImageQuery) -> Option<u32> {
        let answer = match query {
            ImageQuery::Size(component) => *self.extent.get(usize::from(component))?,
            ImageQuery::Levels => self.levels,
            ImageQuery::Samples => self.samples,
        };
        (answer != 0).then_some(answer)
    }
}

/// How much is bound at a binding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundSize {
    /// Bytes, of a buffer.
    pub(crate) bytes: u64,
    /// That of an image, if it is known.
    pub(crate) image: Option<ImageSize>,
}
