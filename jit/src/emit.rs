//! Placeholder for the emit stage.
