//! Placeholder for the oracle stage.
