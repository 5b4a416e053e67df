#!/usr/bin/env bash
# What a kernel written in Rust costs the compiler: CPU time of rustc on a file of 100 kernels and on an empty one, per
# kernel, and the time in which all of them are lowered at run time.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
cargo build -q -p vkfuse-kernel
library=$(ls -t "$target"/debug/deps/libvkfuse_kernel-*.rlib | head -1)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

file() {
  echo 'extern crate vkfuse_kernel as vkfuse;'
  echo 'use vkfuse::rust::{Captures, Item, LowerOptions, Lowered, Read, Write, kernel};'
  for ((k = 0; k < $1; k++)); do
    echo "#[derive(Captures)] struct K$k { x: Read<f32>, y: Read<f32>, z: Write<f32> }
      #[kernel] impl K$k { fn run(&self, item: Item<1>) {
        let i = item.index(); self.z.set(i, self.x.get(i) * self.y.get(i) + $k.0); } }"
  done
  echo 'fn main() { let start = std::time::Instant::now(); let mut words = 0;'
  for ((k = 0; k < $1; k++)); do
    echo "words += Lowered::of::<K$k>(LowerOptions::default()).expect(\"lowers\").words.len();"
  done
  echo 'println!("$1 kernels lowered to {words} words in {:?}", start.elapsed()); }' | sed "s/\$1/$1/"
}

TIMEFORMAT='%U %S'
for n in 0 100; do
  file $n >"$folder/k$n.rs"
  for level in 0 3; do
    printf '%s kernels, opt-level %s: user and system seconds ' $n $level
    time rustc --edition 2024 -A warnings -C opt-level=$level -L "dependency=$target/debug/deps" \
      --extern "vkfuse_kernel=$library" "$folder/k$n.rs" -o "$folder/k$n"
    "$folder/k$n"
  done
done
