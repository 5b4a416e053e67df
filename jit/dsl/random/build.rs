//! Writes the random functions: `VKFUSE_RANDOM_KERNELS=EXPRESSIONS,PROGRAMS[,SEED]`.

use std::{env, fs, path::Path};

#[path = "src/generate/mod.rs"]
mod generate;

/// How many there are where nothing is asked for: what is quick to compile.
const FEW: &str = "160,40";

fn main() {
    println!("cargo::rerun-if-env-changed=VKFUSE_RANDOM_KERNELS");
    println!("cargo::rerun-if-changed=src/generate");
    let wanted = env::var("VKFUSE_RANDOM_KERNELS").unwrap_or_else(|_| FEW.to_owned());
    let numbers: Vec<u64> = wanted.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let [expressions, programs, ..] = numbers[..] else {
        panic!("VKFUSE_RANDOM_KERNELS is EXPRESSIONS,PROGRAMS[,SEED], not {wanted:?}");
    };
    let seed = numbers.get(2).copied().unwrap_or(1);
    let text = generate::file(expressions as usize, programs as usize, seed);
    let folder = env::var("OUT_DIR").expect("cargo gives OUT_DIR");
    fs::write(Path::new(&folder).join("generated.rs"), text).expect("OUT_DIR can be written");
}
