//! The `vkfuse` command: run, bench and inspect fusion lists from files.
#![allow(dead_code, unused_imports)]
mod args;
mod compare;
mod pipeline;
mod report;
mod inspect;
mod cache;
#[path = "/tmp/stop_stub.rs"]
mod stop;
use clap::Parser;
fn main() {
    let line = args::CommandLine::parse();
    let r = match &line.command { args::Command::Run(a) => pipeline::load(&a.file).and_then(|p| { pipeline::contents::check_files(&p)?; pipeline::check::check(&p)?; Ok(p)}).map(|_| ()).map_err(stop::Stop::from),
    args::Command::Inspect(a) => inspect::inspect(a, &mut std::io::stdout()).map(|_| ()), args::Command::Cache(a) => cache::cache(a, &mut std::io::stdout()).map(|_| ()), _ => Ok(()) };
    if let Err(p) = r { eprintln!("error: {}", p.message); std::process::exit(2) }
}
