//! One file of a long run, compared in a process of its own, which says on its standard output what each list comes to.
//!
//! A list of a pipeline file is compared as a whole, and each of its calls alone on the contents that plain Vulkan gives the call there.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::compare::{Class, Oracle, Verdict};
use super::kernels::{self, Found};
use super::list::{Call, List};
use super::pipelines::{self, Step};
use super::raw;

/// The variable that names the file.
pub(crate) const FILE: &str = "VKFUSE_ORACLE_FILE";

/// Why a file is not compared.
pub(crate) const NO_MODULE: &str =
    "a file that is no module of little-endian words, or no WGSL that compiles by itself";

/// Suffix of the names of lists that may have undefined results.
pub(crate) const UNKNOWN: &str = ", perhaps undefined";

const NO_EFFECT: &str = "it writes nothing under the arguments found";

/// What a process says, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// This list is next.
    Begins(String),
    /// It is of a class, and some of it was fused or not.
    Is(Class, bool),
    Skipped(String),
    Wrong(String),
    /// Nothing of the file is left.
    Done,
}

const MARK: &str = "oracle\t";

const CLASSES: [Class; 4] = [Class::Equal, Class::OtherNan, Class::StrictFloats, Class::ClosedForms];

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_line = |text: &str| text.replace(['\n', '\t'], " ");
        f.write_str(MARK)?;
        match self {
            Said::Begins(name) => write!(f, "begins\t{}", one_line(name)),
            Said::Is(class, fused) => write!(f, "is\t{class:?} {fused}"),
            Said::Skipped(why) => write!(f, "skipped\t{}", one_line(why)),
            Said::Wrong(what) => write!(f, "wrong\t{}", one_line(what)),
            Said::Done => f.write_str("done\t"),
        }
    }
}

impl Said {
    /// What a line says; nothing for those of the test harness and of drivers.
    pub(crate) fn read(line: &str) -> Option<Said> {
        let (kind, text) = line.strip_prefix(MARK)?.split_once('\t')?;
        Some(match kind {
            "begins" => Said::Begins(text.to_owned()),
            "is" => {
                let (class, fused) = text.split_once(' ')?;
                let class = CLASSES.into_iter().find(|one| format!("{one:?}") == class)?;
                Said::Is(class, fused == "true")
            }
            "skipped" => Said::Skipped(text.to_owned()),
            "wrong" => Said::Wrong(text.to_owned()),
            "done" => Said::Done,
            _ => return None,
        })
    }

    fn say(&self) {
        // The harness leaves its lines open.
        println!("\n{self}");
    }
}

/// The file that this process is to compare, if it is one of a long run.
pub(crate) fn file() -> Option<PathBuf> {
    std::env::var_os(FILE).map(PathBuf::from)
}

/// Compares a file.
pub(crate) fn compare(oracle: &mut Oracle, path: &Path, steps: u64) {
    if path.extension().is_some_and(|ext| ext == "toml") {
        pipeline(oracle, path);
    } else {
        module(oracle, path, steps);
    }
    Said::Done.say();
}

fn skipped(why: String) {
    Said::Skipped(why).say();
}

fn check(oracle: &mut Oracle, list: &List) {
    Said::Begins(list.name.clone()).say();
    let said = match oracle.check(list, list) {
        Ok((class, fused)) => Said::Is(class, fused),
        Err(Verdict::Skipped(why)) => Said::Skipped(why),
        Err(Verdict::Wrong(what)) => Said::Wrong(what.0),
    };
    said.say();
}

/// Compares a list that may do what is not defined: that it is equal says something, and that it is not says nothing.
fn unknown(oracle: &mut Oracle, mut list: List, why: &str) {
    list.name.push_str(UNKNOWN);
    Said::Begins(list.name.clone()).say();
    let calls: Vec<_> = list.calls.iter().map(|call| call.vulkan.clone()).collect();
    let said = match oracle.check(&list, &list) {
        Ok((class, fused)) => match oracle.raw.run(&calls, &list.buffers) {
            Ok(after) if after == list.buffers => Said::Skipped(NO_EFFECT.to_owned()),
            _ => Said::Is(class, fused),
        },
        Err(Verdict::Skipped(why)) => Said::Skipped(why),
        Err(Verdict::Wrong(what)) => Said::Skipped(format!("{why}; it differs: {}", what.0)),
    };
    said.say();
}

fn module(oracle: &mut Oracle, path: &Path, steps: u64) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(words) = kernels::read(path) else { return skipped(NO_MODULE.to_owned()) };
    for call in kernels::calls(&mut oracle.engine, &name, &words) {
        let (name, call) = match call {
            Ok(call) => call,
            Err(why) => {
                skipped(why);
                continue;
            }
        };
        Said::Begins(format!("{name}, arguments")).say();
        match kernels::list(&mut oracle.engine, &name, &call, steps) {
            Ok((list, Found::Changes)) => check(oracle, &list),
            Ok((_, Found::NoEffect)) => skipped(NO_EFFECT.to_owned()),
            Ok((list, Found::Unknown(why))) => unknown(oracle, list, &why),
            Err(why) => skipped(why),
        }
    }
}

/// Each call of a pipeline file once, and the stretches between two copies or fills.
fn pipeline(oracle: &mut Oracle, path: &Path) {
    let read = pipelines::read_file(&mut oracle.engine, path);
    let (steps, mut buffers) = match read {
        Ok(read) => read,
        Err(why) => return skipped(why),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut known = HashSet::new();
    let mut stretch =
        List { name: format!("{name}, calls from 0"), calls: Vec::new(), buffers: buffers.clone() };
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Call(call) => {
                if known.insert(what_runs(call)) {
                    check(oracle, &alone(format!("{name}, call {number}"), call, &buffers));
                }
                stretch.calls.push(call.clone());
                match oracle.raw.run(std::slice::from_ref(&call.vulkan), &buffers) {
                    Ok(after) => buffers = after,
                    Err(why) => return skipped(why),
                }
                continue;
            }
            Step::Copy { from, to, len } => {
                let bytes = buffers[from.0][from.1..from.1 + len].to_vec();
                buffers[to.0][to.1..to.1 + len].copy_from_slice(&bytes);
            }
            Step::Fill { to, len, word } => {
                let bytes = word.iter().copied().cycle().take(*len);
                buffers[to.0].splice(to.1..to.1 + len, bytes);
            }
        }
        let name = format!("{name}, calls from {}", number + 1);
        let next = List { name, calls: Vec::new(), buffers: buffers.clone() };
        check_stretch(oracle, std::mem::replace(&mut stretch, next));
    }
    check_stretch(oracle, stretch);
}

/// A single call was compared already.
fn check_stretch(oracle: &mut Oracle, list: List) {
    if list.calls.len() > 1 {
        check(oracle, &list);
    }
}

/// What tells calls apart that need not be compared twice.
fn what_runs(call: &Call) -> impl Eq + std::hash::Hash + use<> {
    let raw::Call { words, entry, constants, subgroup, push, base, groups, args } = &call.vulkan;
    let lengths: Vec<u64> = args.iter().map(|arg| arg.len).collect();
    let module = words.as_ptr() as usize;
    (module, entry.clone(), constants.clone(), *subgroup, push.clone(), *base, *groups, lengths)
}

/// A list of one call, with the buffers that it has.
fn alone(name: String, call: &Call, buffers: &[Vec<u8>]) -> List {
    let mut call = call.clone();
    let mut own: Vec<usize> = call.vulkan.args.iter().map(|arg| arg.buffer).collect();
    own.sort_unstable();
    own.dedup();
    for arg in &mut call.vulkan.args {
        arg.buffer = own.partition_point(|one| *one < arg.buffer);
    }
    List { name, calls: vec![call], buffers: own.iter().map(|one| buffers[*one].clone()).collect() }
}
