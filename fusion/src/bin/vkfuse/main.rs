//! The `vkfuse` command: run, bench and inspect fusion lists from files.
#![allow(dead_code, unused_imports)]
mod args;
mod compare;
mod pipeline;
fn main() {
    let file = std::env::args_os().nth(2).unwrap();
        match pipeline::load(file.as_ref()).and_then(|p| { pipeline::contents::check_files(&p)?; pipeline::check::check(&p)?; Ok(p)}) {
            Ok(_) => println!("ok"),
            Err(p) => { eprintln!("error: {p}"); std::process::exit(2) }
        }
}
