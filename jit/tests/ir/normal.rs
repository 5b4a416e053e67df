//! The normal form of kernels against the kernels as they are: the same bits in the interpreter. A table says what is in the way of fusing them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rspirv::binary::{Assemble as _, Disassemble as _};
use vkfuse_fuzz::wgsl::Generator;
use vkfuse_fuzz::{Pool, has_front_end};
use vkfuse_jit::kernel::{Kernel, Module};
use vkfuse_jit::validate::obstacles;

use crate::damage::modules;
use crate::kernels::wgsl;
use crate::round_trip::compare;

/// What became of a set of kernels.
#[derive(Default)]
struct Table {
    kernels: usize,
    ran: usize,
    /// Kernels without a normal form by reason.
    refused: BTreeMap<String, Vec<String>>,
    wrong: Vec<String>,
    /// Sums of figures, and kernels in which there is any.
    rows: BTreeMap<&'static str, [usize; 2]>,
}

impl Table {
    fn check(&mut self, name: &str, module: &Module) {
        for entry in module.entry_points() {
            let name = format!("{name} {entry}");
            let kernel = Kernel::new(module, Some(entry)).and_then(|kernel| kernel.specialize(&[]));
            let Ok(kernel) = kernel else { continue };
            self.kernels += 1;
            let form = match &kernel.normal {
                Ok(form) => form,
                Err(reason) => {
                    self.refused.entry(reason.to_string()).or_default().push(name);
                    continue;
                }
            };
            let words = form.module.assemble();
            let mut wrong =
                |what: String| self.wrong.push(format!("{name}: {what}\n{}", form.module.disassemble()));
            if !vkfuse_jit::emit::is_valid(&words) {
                wrong("it is not valid".to_owned());
                continue;
            }
            match compare(&kernel.plain.contract, &words) {
                Ok(ran) => self.ran += usize::from(ran),
                Err(what) => wrong(what),
            }
            for (figure, count) in obstacles(&kernel).unwrap_or_default() {
                let [sum, kernels] = self.rows.entry(figure).or_default();
                *sum += count;
                *kernels += usize::from(count > 0);
            }
        }
    }

    fn finish(self, of: &str) {
        let Self { kernels, ran, refused, wrong, rows } = self;
        println!("{of}: {kernels} kernels, {ran} compared in the interpreter");
        for (reason, names) in &refused {
            println!("  no normal form: {reason}: {} ({})", names.len(), names[0]);
        }
        for (figure, [sum, kernels]) in rows {
            println!("  | {figure:24} | {sum:6} | in {kernels:5} |");
        }
        assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[0]);
        assert!(2 * ran > kernels, "only {ran} of {kernels} were compared in the interpreter");
    }
}

fn folder(folder: &Path, of: &str) {
    let (mut paths, mut table) = (Vec::<PathBuf>::new(), Table::default());
    modules(folder, &mut paths);
    for path in paths {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let bytes = std::fs::read(&path).expect("a file");
        let module = match path.extension().is_some_and(|extension| extension == "wgsl") {
            true => std::str::from_utf8(&bytes).ok().and_then(|text| wgsl(&name, text)),
            false => Module::from_bytes(&name, &bytes).ok(),
        };
        if let Some(module) = module {
            table.check(&name, &module);
        }
    }
    table.finish(of);
}

#[test]
fn forms_of_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for one in ["../shaders", "tests", "interp/tests"] {
        folder(&root.join(one), one);
    }
}

/// Those of the folder `VKFUSE_KERNELS`.
#[test]
fn forms_of_a_given_folder() {
    if let Some(path) = std::env::var_os("VKFUSE_KERNELS") {
        folder(Path::new(&path), "given");
    }
}

/// How many seeds: `VKFUSE_IR_SEEDS`, or a few.
fn seeds() -> u64 {
    std::env::var("VKFUSE_IR_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

#[test]
fn forms_of_the_first_generator() {
    let mut table = Table::default();
    for seed in 0..seeds() {
        for (number, kernel) in Generator::new(seed, 4).kernels().iter().enumerate() {
            table.check(&format!("seed {seed}, kernel {number}"), &kernel.kernel.module);
        }
    }
    table.finish("first generator");
}

#[test]
fn forms_of_the_second_generator() {
    if !has_front_end() {
        return;
    }
    let mut table = Table::default();
    for seed in 0..seeds() {
        for (number, module) in Pool::new(seed, 10).modules().enumerate() {
            table.check(&format!("seed {seed}, kernel {number}"), module);
        }
    }
    table.finish("second generator");
}
