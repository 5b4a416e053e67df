//! Buffers and images, and how bytes get there.

pub(super) mod allocate;
pub(super) mod buffer;
pub(super) mod import;
pub(super) mod passed;
pub(super) mod texels;
pub(super) mod texture;
pub(super) mod transfer;
