//! Placeholder for the kernel stage.
