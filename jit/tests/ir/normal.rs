//! Both normal forms of kernels, that of the optimizer and that of the passes on the IR: the same bits in the interpreter, and nothing more in the way
//! of fusing the second.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rspirv::binary::{Assemble as _, Disassemble as _};
use vkfuse_fuzz::wgsl::Generator;
use vkfuse_fuzz::{Pool, has_front_end};
use vkfuse_jit::kernel::{Kernel, Module, on_the_ir};
use vkfuse_jit::validate::obstacles;

use crate::kernels::{modules, wgsl};
use crate::round_trip::compare;

/// What became of a set of kernels.
#[derive(Default)]
struct Table {
    kernels: usize,
    ran: usize,
    /// Kernels that have a normal form now and had none, and which.
    gained: Vec<String>,
    lost: Vec<String>,
    wrong: Vec<String>,
    /// By figure: sums before and after, kernels where it is less, and those where it is more.
    rows: BTreeMap<&'static str, ([usize; 2], Vec<String>, Vec<String>)>,
    order: Vec<&'static str>,
    times: [Duration; 2],
}

impl Table {
    fn check(&mut self, name: &str, module: &Module) {
        for entry in module.entry_points() {
            let name = format!("{name} {entry}");
            let make = || {
                let start = Instant::now();
                let kernel = Kernel::new(module, Some(entry)).and_then(|kernel| kernel.specialize(&[]));
                (kernel, start.elapsed())
            };
            let (Ok(old), before) = make() else { continue };
            let (Ok(new), after) = on_the_ir(make) else {
                self.lost.push(format!("{name}: it is not accepted"));
                continue;
            };
            self.kernels += 1;
            match (&old.normal, &new.normal) {
                (Err(_), Ok(_)) => self.gained.push(name.clone()),
                (Ok(_), Err(reason)) => self.lost.push(format!("{name}: {reason}")),
                _ => {}
            }
            self.times[0] += before;
            self.times[1] += after;
            let Ok(form) = &new.normal else { continue };
            let words = form.module.assemble();
            let mut wrong =
                |what: String| self.wrong.push(format!("{name}: {what}\n{}", form.module.disassemble()));
            if !vkfuse_jit::emit::is_valid(&words) {
                wrong("it is not valid".to_owned());
                continue;
            }
            match compare(&new.plain.contract, &words) {
                Ok(ran) => self.ran += usize::from(ran),
                Err(what) => wrong(what),
            }
            let (Some(was), Some(is)) = (obstacles(&old), obstacles(&new)) else { continue };
            self.order = is.iter().map(|(figure, _)| *figure).collect();
            for ((figure, was), (_, is)) in was.into_iter().zip(is) {
                let (sums, less, more) = self.rows.entry(figure).or_default();
                sums[0] += was;
                sums[1] += is;
                let said = format!("{name}: {was} → {is}");
                match was.cmp(&is) {
                    std::cmp::Ordering::Less => more.push(said),
                    std::cmp::Ordering::Greater => less.push(said),
                    std::cmp::Ordering::Equal => {}
                }
            }
        }
    }

    fn finish(self, of: &str) {
        let Self { kernels, ran, gained, lost, wrong, rows, order, times } = self;
        println!("{of}: {kernels} kernels, {ran} compared in the interpreter, {times:?}");
        println!("  gained {}: {gained:?}\n  lost {}: {lost:#?}", gained.len(), lost.len());
        println!("  | {:24} | before | after | fewer in | more in |", "figure");
        let most = std::env::var("VKFUSE_SHOW").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
        for figure in order {
            let ([was, is], less, more) = &rows[figure];
            println!("  | {figure:24} | {was:6} | {is:5} | {:8} | {:7} |", less.len(), more.len());
            more.iter().take(most).for_each(|one| println!("      {one}"));
        }
        assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[0]);
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
fn both_forms_of_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for one in ["../shaders", "tests", "interp/tests"] {
        folder(&root.join(one), one);
    }
}

#[test]
fn both_forms_of_a_folder() {
    if let Some(path) = std::env::var_os("VKFUSE_KERNELS") {
        folder(Path::new(&path), "given");
    }
}

/// How many seeds: `VKFUSE_IR_SEEDS`, or a few.
fn seeds() -> u64 {
    std::env::var("VKFUSE_IR_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

#[test]
fn both_forms_of_the_first_generator() {
    let mut table = Table::default();
    for seed in 0..seeds() {
        for (number, kernel) in Generator::new(seed, 4).kernels().iter().enumerate() {
            table.check(&format!("seed {seed}, kernel {number}"), &kernel.kernel.module);
        }
    }
    table.finish("first generator");
}

#[test]
fn both_forms_of_the_second_generator() {
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
