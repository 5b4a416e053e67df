//! Pipeline files: from TOML text to a checked model.
//!
//! `node` walks the parsed document and knows the place of everything in it,
//! `read` builds the model, `contents` makes the bytes that buffers start with,
//! `steps` brings the kernels of copies and fills,
//! `check` and `bind` compare the model with what the kernels declare, and `notes` says what may be mistaken. A file that comes
//! through all of them can be run; nothing is run before that.

pub(crate) mod bind;
pub(crate) mod check;
pub(crate) mod contents;
mod element;
mod image;
pub(crate) mod list;
mod local_size;
mod model;
mod node;
mod notes;
mod problem;
mod push;
mod push_members;
mod random;
mod read;
mod steps;
mod syntax;

pub(crate) use element::ElementType;
pub(crate) use image::{ImageDecl, Sampling};
pub(crate) use model::{BufferDecl, Pipeline, Promotion, Submit};
pub(crate) use problem::{Place, Problem};
pub(crate) use read::load;
#[cfg(test)]
pub(crate) use read::parse;
