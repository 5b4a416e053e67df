//! The `vkfuse` command, run as a process: exit statuses, messages, reports.

mod bad_files;
mod book;
mod cache;
mod check;
mod check_images;
mod exit_status;
mod images;
mod inspect;
mod interrupt;
mod manual;
mod messages;
#[cfg(feature = "wgsl")]
mod mistakes;
mod notes;
mod outputs;
mod pages;
mod patterns;
mod process;
#[cfg(feature = "wgsl")]
mod reasons;
mod runs;
mod shape;
mod steps;
