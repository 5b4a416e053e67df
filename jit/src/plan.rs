//! Placeholder for the plan stage.
