//! Writes random lists with all their modules to one file, for machines without a front end.
//!
//! `cargo run --release -p vkfuse-fuzz --example corpus -- FILE FIRST-SEED POOLS LISTS-PER-POOL`
//!
//! Lists of seeds from 4294967296 on are over rows of a few elements alone. `VKFUSE_SECOND_THREADS` and `VKFUSE_SECOND_SECONDS` say how many threads work, and when to begin no further pool.

use std::path::Path;

/// Kernels of a pool.
const KERNELS: usize = 14;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed, pools, lists] = &args[..] else {
        return Err(std::io::Error::other("FILE FIRST-SEED POOLS LISTS-PER-POOL"));
    };
    let number = |text: &str| text.parse::<u64>().map_err(std::io::Error::other);
    let count = |text: &str| usize::try_from(number(text)?).map_err(std::io::Error::other);
    let (pools, lists) = (count(pools)?, count(lists)?);
    let bounds = vkfuse_fuzz::Bounds::from_env("VKFUSE_SECOND");
    let written = vkfuse_fuzz::corpus::write(Path::new(file), number(seed)?, pools, KERNELS, lists, &bounds)?;
    println!("{written} lists in {} bytes", std::fs::metadata(file)?.len());
    Ok(())
}
