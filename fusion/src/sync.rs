//! Synchronization that the standard library has not: values under a token that is behind a lock elsewhere, and locks that are asked for again
//! before a thread sleeps.
#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod spin;
mod token;

pub(crate) use spin::spin_then_lock;
pub(crate) use token::{Token, TokenCell, TokenId};
