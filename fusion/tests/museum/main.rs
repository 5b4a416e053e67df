//! The museum: what others' fusion got wrong, and what this one did before, as lists. Each exhibit is run unfused and fused
//! from the same contents and compared bit for bit, and says what has to become of it. `docs/museum.md` is the catalogue.

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

#[macro_use]
mod frame;

mod burn;
mod catalogue;
mod contents;
mod flow;
mod inductor;
mod llama;
mod places;
mod seams;
mod xla;
