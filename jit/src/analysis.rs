//! Placeholder for the analysis stage.
