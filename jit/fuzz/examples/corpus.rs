//! Writes random lists with all their modules to one file, for machines without a front end.
//!
//! `cargo run --release -p vkfuse-fuzz --example corpus -- FILE FIRST-SEED POOLS LISTS-PER-POOL`

use std::path::Path;

/// Kernels of a pool.
const KERNELS: usize = 14;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed, pools, lists] = &args[..] else {
        return Err(std::io::Error::other("FILE FIRST-SEED POOLS LISTS-PER-POOL"));
    };
    let number = |text: &str| text.parse::<u64>().map_err(std::io::Error::other);
    let lists = usize::try_from(number(lists)?).map_err(std::io::Error::other)?;
    let written = vkfuse_fuzz::corpus::write(Path::new(file), number(seed)?, number(pools)?, KERNELS, lists)?;
    println!("{written} lists in {} bytes", std::fs::metadata(file)?.len());
    Ok(())
}
