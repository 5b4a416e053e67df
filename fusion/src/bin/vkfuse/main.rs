//! The `vkfuse` command: run, bench and inspect fusion lists from files.
#![allow(dead_code, unused_imports)]
mod args;
mod compare;
mod pipeline;
mod report;
fn main() {
    for file in std::env::args_os().skip(1) {
        match pipeline::load(file.as_ref()) {
            Ok(_) => println!("ok"),
            Err(p) => println!("{p}"),
        }
    }
}
