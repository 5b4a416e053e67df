//! A list as text, and as files that the command line tool reads.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use vkfuse_jit::plan::Promote;

use crate::kernel::Language;
use crate::list::List;
use crate::pool::{Pool, PoolKernel, Source};

impl PoolKernel {
    fn text(&self) -> (String, &'static str, String) {
        match &self.source {
            Source::Tree { kernel, treatment, .. } => {
                let suffix = if kernel.language == Language::Hlsl { "hlsl" } else { "comp" };
                (kernel.text(), suffix, treatment.name())
            }
            Source::Assembly { text, treatment } => (text.clone(), "spvasm", treatment.name()),
            Source::Words => (String::new(), "", String::new()),
        }
    }
}

/// The list as text.
pub fn describe(pool: &Pool, list: &List) -> String {
    let mut out = format!("shape {}\n", list.shape);
    for (number, object) in list.objects.iter().enumerate() {
        let _ = writeln!(
            out,
            "buffer {number}: {} bytes, seed {}, {:?}",
            object.len, object.seed, object.promote
        );
    }
    for (number, shot) in list.shots.iter().enumerate() {
        let kernel = &pool.kernels[shot.kernel];
        let [n, m, s, w, f] = shot.push;
        let f = f32::from_bits(f);
        let _ = writeln!(out, "--- submission {number}: kernel {}, groups {:?}", shot.kernel, shot.groups);
        let _ = writeln!(out, "n {n}, m {m}, s {s}, w {w}, f {f}, constant {:?}", shot.constant);
        for b in &shot.bound {
            let range = b.offset..b.offset + b.len;
            let _ = writeln!(out, "{}.{} is bytes {range:?} of buffer {}", b.set, b.binding, b.object);
        }
        let (text, _, treatment) = kernel.text();
        let _ = writeln!(out, "{treatment}\n{text}");
    }
    out
}

/// Writes the list's kernels, modules and buffers, and a pipeline file for `vkfuse run`.
///
/// # Errors
/// If a file cannot be written.
pub fn dump(pool: &Pool, list: &List, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("list.txt"), describe(pool, list))?;
    let mut toml = String::from("format = 1\n");
    let kernels: BTreeSet<usize> = list.shots.iter().map(|shot| shot.kernel).collect();
    for number in kernels {
        let kernel = &pool.kernels[number];
        let bytes: Vec<u8> = kernel.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(folder.join(format!("k{number}.spv")), bytes)?;
        let (text, suffix, _) = kernel.text();
        if !suffix.is_empty() {
            std::fs::write(folder.join(format!("k{number}.{suffix}")), text)?;
        }
        let _ = write!(toml, "\n[kernels.k{number}]\npath = \"k{number}.spv\"\n");
    }
    for (number, object) in list.objects.iter().enumerate() {
        std::fs::write(folder.join(format!("b{number}.bin")), object.contents())?;
        let promote = match object.promote {
            Promote::None => "none",
            Promote::Private => "private",
            Promote::Local => "local",
            Promote::Auto => "auto",
        };
        let (len, file) = (object.len / 4, format!("b{number}.bin"));
        let _ = write!(
            toml,
            "\n[buffers.b{number}]\ntype = \"u32\"\nlen = {len}\ninit = {{ file = \"{file}\" }}\npromote = \"{promote}\"\n"
        );
    }
    for shot in &list.shots {
        let _ = write!(toml, "\n[[submit]]\nkernel = \"k{}\"\ngroups = {:?}\n", shot.kernel, shot.groups);
        if let Some(value) = shot.constant.filter(|_| pool.kernels[shot.kernel].constant) {
            let _ = writeln!(toml, "spec = {{ 0 = {{ u32 = {value} }} }}");
        }
        let hex: String = shot.push_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = write!(toml, "push = [{{ hex = \"{hex}\" }}]\n[submit.args]\n");
        for b in &shot.bound {
            let (offset, len) = (b.offset / 4, b.len / 4);
            let _ = writeln!(
                toml,
                "\"{}.{}\" = {{ buffer = \"b{}\", offset = {offset}, len = {len}, cast = true }}",
                b.set, b.binding, b.object
            );
        }
    }
    std::fs::write(folder.join("pipeline.toml"), toml)
}
