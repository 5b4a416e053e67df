//! `vkfuse inspect`: what a kernel module shows to the outside and what it does to its buffers.
//!
//! Needs no device. Specialization constants have their defaults.

mod model;
mod varies;

use crate::args::InspectArgs;
use crate::pipeline::check::load_module;
use crate::report::json::FORMAT;
use crate::report::{Table, print_json};
use crate::stop::{Status, Stop};
use model::{Entry, Inspection};
use std::io::{self, Write};
use std::sync::Arc;
use vkfuse_jit::kernel::{Kernel, KernelError, SpecConstant, SpecValue, Specialized};

/// Prints the module.
pub(crate) fn inspect(args: &InspectArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    if args.file.extension().is_some_and(|extension| extension == "toml") {
        let file = args.file.display();
        return Err(Stop::wrong(format!(
            "{file}: it is a pipeline file, and `inspect` shows modules; `vkfuse plan {file}` shows a list"
        )));
    }
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let known = vkfuse::cache::kernel_store(&vkfuse::CacheOptions::new());
    let module = load_module(&args.file, &name, &known).map_err(Stop::wrong)?;
    let names: Vec<&str> = match &args.entry {
        Some(entry) => vec![entry],
        None => module.entry_points().iter().map(String::as_str).collect(),
    };
    if names.is_empty() {
        let file = args.file.display();
        return Err(Stop::wrong(format!(
            "{file}: it has no compute entry point, and others are not looked at"
        )));
    }
    let wrong = |error: KernelError| Stop::wrong(format!("{}: {error}", args.file.display()));
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let kernel = Kernel::with_artifacts(&module, Some(name), known.clone()).map_err(wrong)?;
        let (specialized, assumed) = specialized(&kernel).map_err(wrong)?;
        entries.push(Entry::new(&kernel, &specialized, &assumed));
    }
    let inspection = Inspection {
        format: FORMAT,
        file: args.file.display().to_string(),
        module: blake3::Hash::from_bytes(module.hash()).to_hex().to_string(),
        entries,
    };
    if args.json {
        print_json(out, &inspection)?;
    } else {
        print(out, &inspection)?;
    }
    Ok(Status::Success)
}

/// The kernel with the defaults of its constants; what has none is looked at with a zero. Where that is not valid, as where a constant that
/// has to be given is the length of an array, those that are 0 are looked at with 1, and listed.
fn specialized(kernel: &Kernel) -> Result<(Arc<Specialized>, Vec<u32>), KernelError> {
    let required = kernel.spec_constants().iter().filter(|constant| constant.required);
    let values: Vec<_> = required.map(|constant| (constant.id, constant.default)).collect();
    kernel.specialize(&values).map(|specialized| (specialized, Vec::new())).or_else(|error| {
        let ones = kernel.spec_constants().iter().filter_map(|constant| Some((constant.id, one(constant)?)));
        let ones: Vec<(u32, SpecValue)> = ones.collect();
        let rest = values.iter().filter(|(id, _)| ones.iter().all(|(other, _)| other != id));
        let all: Vec<_> = rest.chain(&ones).copied().collect();
        let specialized = kernel.specialize(&all).map_err(|_| error)?;
        Ok((specialized, ones.iter().map(|(id, _)| *id).collect()))
    })
}

/// 1 in the type of an integer constant that is 0.
fn one(constant: &SpecConstant) -> Option<SpecValue> {
    Some(match constant.default {
        SpecValue::I8(0) => SpecValue::I8(1),
        SpecValue::U8(0) => SpecValue::U8(1),
        SpecValue::I16(0) => SpecValue::I16(1),
        SpecValue::U16(0) => SpecValue::U16(1),
        SpecValue::I32(0) => SpecValue::I32(1),
        SpecValue::U32(0) => SpecValue::U32(1),
        SpecValue::I64(0) => SpecValue::I64(1),
        SpecValue::U64(0) => SpecValue::U64(1),
        _ => return None,
    })
}

fn print(out: &mut dyn Write, inspection: &Inspection) -> io::Result<()> {
    let count = inspection.entries.len();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(out, "{}, {count} compute entry point{plural}\n", inspection.file)?;
    for entry in &inspection.entries {
        print_entry(out, entry)?;
    }
    Ok(())
}

fn print_entry(out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
    writeln!(out, "entry point {}, SPIR-V {}", entry.entry, entry.spirv_version)?;
    writeln!(out, "  work-group   {}", entry.local_size.map(|size| size.to_string()).join(" x "))?;
    writeln!(out, "  built-ins    {}", or_none(&entry.builtins))?;
    writeln!(out, "  capabilities {}", or_none(&entry.capabilities))?;
    let mut traits = Vec::new();
    if entry.item_only {
        traits.push("item-only: may be regrouped".to_owned());
    }
    if entry.barriers {
        traits.push("barriers".to_owned());
    }
    if entry.atomics {
        traits.push("atomics".to_owned());
    }
    if entry.subgroup_operations {
        traits.push("sub-group operations".to_owned());
    }
    if entry.workgroup_bytes > 0 {
        traits.push(format!("{} bytes of shared memory", entry.workgroup_bytes));
    }
    writeln!(out, "  uses         {}", or_none(&traits))?;
    match &entry.not_fusible {
        None => writeln!(out, "  fusion       possible\n")?,
        Some(reason) => {
            let explained = entry.explained_at.as_deref().unwrap_or_default();
            writeln!(out, "  fusion       not possible: {reason}; see {explained}\n")?;
        }
    }

    let mut constants = Table::new(&["specialization constant", "name", "type", "default"]);
    for constant in &entry.spec_constants {
        let name = constant.name.clone().unwrap_or_default();
        let default = match constant.required {
            true => "none, a value is required".to_owned(),
            false => constant.default.to_string(),
        };
        constants.row([constant.id.to_string(), name, constant.ty.clone(), default]);
    }
    constants.print(out)?;
    if !entry.assumed.is_empty() {
        let ids: Vec<String> = entry.assumed.iter().map(u32::to_string).collect();
        writeln!(out, "not valid with the defaults; looked at with 1 for {}\n", ids.join(", "))?;
    }

    let mut bindings = Table::new(&["binding", "name", "kind", "access", "bytes at least", "array stride"]);
    for binding in &entry.bindings {
        let access = match (binding.reads, binding.writes) {
            (true, true) => "read, write",
            (true, false) => "read",
            (false, true) => "write",
            (false, false) => "length only",
        };
        bindings.row([
            binding.slot.clone(),
            binding.name.clone().unwrap_or_default(),
            match binding.elements {
                Some(elements) => format!("{}[{elements}]", binding.kind),
                None => binding.kind.to_owned(),
            },
            access.to_owned(),
            binding.min_size.to_string(),
            binding.runtime_stride.map(|stride| stride.to_string()).unwrap_or_default(),
        ]);
    }
    bindings.print(out)?;

    let mut push = Table::new(&["push constant at", "bytes", "kind"]);
    for member in entry.push.iter().flat_map(|push| &push.members) {
        push.row([member.offset.to_string(), member.size.to_string(), member.kind.to_owned()]);
    }
    push.print(out)?;

    let mut accesses =
        Table::new(&["access", "binding", "byte offset or texel", "bytes", "varies", "line", "if"]);
    for access in &entry.accesses {
        accesses.row([
            access.kind.to_owned(),
            access.binding.clone(),
            access.offset.clone(),
            access.size.to_string(),
            access.class.to_owned(),
            access.lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
            access.guards.join(" and "),
        ]);
    }
    accesses.print(out)?;
    let mut unknown: Vec<(&str, &str)> = Vec::new();
    for access in entry.accesses.iter().filter(|access| access.class == "unknown") {
        let why = access.not_followed.as_deref().map(|why| (&*access.binding, why));
        unknown.extend(why.filter(|why| !unknown.contains(why)));
    }
    for (binding, why) in unknown {
        writeln!(out, "  {binding}: {why}")?;
    }
    Ok(())
}

fn or_none(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
