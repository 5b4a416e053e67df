//! Dispatches with allocated memory.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{submission::dependencies::Touches, vk::Dispatch};

/// A dispatch with its memory allocated.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) label: Arc<str>,
    pub(crate) dispatch: Dispatch,
    pub(crate) touches: Touches,
    pub(crate) apart: bool,
}

pub(crate) type Readies = SmallVec<[Ready; 1]>;
