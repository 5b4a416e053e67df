//! Compares a pipeline with what its kernels declare, before any device is asked.
//!
//! # Guarantees
//! - every module loads, every entry point and specialization constant exists and has the type given
//! - arguments and push constants are what the kernels take (`bind`)

use super::bind;
use super::contents;
use super::element::{ElementType, Scalar};
use super::local_size;
use super::model::{Argument, Extent, KernelDecl, Pipeline, SpecValue as Given, Submit};
use super::notes;
use super::problem::Problem;
use super::push;
use super::push_members::Block;
use smallvec::SmallVec;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use vkfuse_jit::kernel::{ArtifactStore, Kernel, Module, SpecValue, Specialized};
use vkfuse_jit::plan::has_work;

/// A module file larger than this is refused before it fills the memory.
const MODULE_LIMIT: u64 = 256 << 20;

/// The kernels of a pipeline, checked against its submissions.
pub(crate) struct Checked {
    /// One module for each of `Pipeline::kernels`.
    pub(crate) modules: Vec<Module>,
    /// One submission for each of `Pipeline::submits`.
    pub(crate) submits: Vec<CheckedSubmit>,
    /// What the file gives and no kernel uses: a sentence for each, once.
    pub(crate) notes: Vec<String>,
}

impl Checked {
    /// Whether the first submission that uses a buffer may read what was in it before.
    pub(crate) fn is_read_first(&self, pipeline: &Pipeline, buffer: usize) -> bool {
        let submits = pipeline.submits.iter().zip(&self.submits);
        let mut reads =
            submits.filter(|(_, checked)| has_work(checked.groups)).filter_map(|(submit, checked)| {
                let mut bound = checked
                    .args
                    .iter()
                    .map(|&arg| &submit.args[arg])
                    .filter(|arg| arg.buffer == buffer)
                    .peekable();
                bound.peek()?;
                let bindings = &checked.kernel.interface.bindings;
                Some(bound.any(|arg| bindings.iter().any(|binding| binding.at == arg.at && binding.reads)))
            });
        reads.next().unwrap_or(false)
    }
}

/// A submission with its kernel specialised.
pub(crate) struct CheckedSubmit {
    pub(crate) spec: Vec<(u32, SpecValue)>,
    pub(crate) kernel: Arc<Specialized>,
    pub(crate) groups: [u32; 3],
    /// Indices in `Submit::args`, leaving out what the kernel does not use.
    pub(crate) args: Vec<usize>,
    /// As many bytes as the kernel takes.
    pub(crate) push: SmallVec<[u8; 32]>,
}

/// What a submission is given, and its kernel does not use. Vulkan accepts it, and it may be mistyped.
fn unused(pipeline: &Pipeline, submit: &Submit, kernel: &Kernel, checked: &CheckedSubmit) -> Vec<Problem> {
    let name = &pipeline.kernels[submit.kernel].name;
    let constants =
        kernel.unknown_constants(submit.spec.iter().map(|given| given.id)).into_iter().map(|id| {
            let place =
                submit.spec.iter().find(|given| given.id == id).map_or(&submit.place, |given| &given.place);
            let message = format!(
                "kernel {name} is given a value for specialization constant {id}, which it does not declare"
            );
            pipeline.problem(place, message)
        });
    // Who gives more than the kernel takes may have meant two by one number.
    let views = match checked.args.len() < submit.args.len() {
        true => kernel.module().views(),
        false => Vec::new(),
    };
    let arguments = submit.args.iter().enumerate().filter(|(index, _)| !checked.args.contains(index));
    let arguments = arguments.map(|(_, arg)| {
        let views = views.iter().map(|(at, names)| {
            format!("; its variables {} have one number, {at}, and are one buffer", names.join(" and "))
        });
        let views = views.collect::<String>();
        let message =
            format!("kernel {name} is given an argument for {}, which it does not use{views}", arg.at);
        pipeline.problem(&arg.place, message)
    });
    constants.chain(arguments).chain(odd_push(pipeline, submit, (checked, kernel.module()))).collect()
}

/// Push constants that are not for a member of the kernel's block, or of another type, or behind it.
fn odd_push(
    pipeline: &Pipeline,
    submit: &Submit,
    (checked, module): (&CheckedSubmit, &Module),
) -> Option<Problem> {
    let name = &pipeline.kernels[submit.kernel].name;
    let block = Block::of(&checked.kernel, module);
    let (needed, given) = (checked.push.len(), submit.push.bytes.len());
    let is_behind = submit.push.typed.iter().any(|&(offset, _)| offset >= needed);
    let message = match block.misplaced(name, &submit.push) {
        Some(misplaced) => misplaced,
        None if is_behind && needed == 0 => {
            format!("kernel {name} takes no push constants, and {given} bytes are given")
        }
        None if is_behind => {
            format!("kernel {name} takes {needed} bytes of push constants, and {given} are given ({block})")
        }
        None => return None,
    };
    Some(pipeline.problem(&submit.push_place, message))
}

/// More invocations in a dimension than its ids have numbers.
fn too_many(pipeline: &Pipeline, submit: &Submit, checked: &CheckedSubmit) -> Option<Problem> {
    let size = checked.kernel.interface.local_size;
    let count = |dim: usize| u64::from(checked.groups[dim]) * u64::from(size[dim]);
    let dim = (0..3).find(|&dim| count(dim) > 1 << 32)?;
    let (name, x, count) = (&pipeline.kernels[submit.kernel].name, ["x", "y", "z"][dim], count(dim));
    let message = format!(
        "kernel {name} has {count} invocations in {x}, and ids have 32 bits: several invocations have one id, and it may run for long"
    );
    Some(pipeline.problem(&submit.place, message))
}

/// Arguments that are said to be constant, and that the list writes: it is not fused.
fn not_constant(pipeline: &Pipeline, submits: &[CheckedSubmit]) -> Vec<Problem> {
    let mut notes = Vec::new();
    let constants = pipeline.submits.iter().flat_map(|submit| &submit.args).filter(|arg| arg.constant);
    for arg in constants {
        let writer = pipeline.submits.iter().zip(submits).position(|(submit, checked)| {
            let mut bound = checked.args.iter().zip(&checked.kernel.interface.bindings);
            let meets = |other: &Argument| {
                other.buffer == arg.buffer
                    && other.offset < arg.offset + arg.len
                    && arg.offset < other.offset + other.len
            };
            bound.any(|(&index, binding)| binding.writes && meets(&submit.args[index]))
        });
        notes.extend(writer.map(|writer| {
            let name = &pipeline.buffers[arg.buffer].name;
            let message = format!(
                "{name} is said to be constant, and submission {writer} writes it: the list is not fused"
            );
            pipeline.problem(&arg.place, message)
        }));
    }
    notes
}

/// Where it is kept what kernels become, if anywhere.
pub(crate) type Known = Option<Arc<dyn ArtifactStore>>;

/// Loads the kernels of `pipeline` and checks every submission against them.
pub(crate) fn check(pipeline: &Pipeline, known: &Known) -> Result<Checked, Problem> {
    let mut modules = Vec::with_capacity(pipeline.kernels.len());
    let mut kernels = Vec::with_capacity(pipeline.kernels.len());
    for declared in &pipeline.kernels {
        let module = match declared.step {
            Some(step) => Module::from_bytes_in(&declared.name, step.bytes(), known.as_deref())
                .map_err(|error| one_line(&error)),
            None => load_module(&declared.path, &declared.name, known),
        };
        let module = module.map_err(|message| pipeline.problem(&declared.path_place, message))?;
        let module = local_size::replaced(pipeline, declared, module)?;
        kernels.push(entry(pipeline, declared, &module, known)?);
        modules.push(module);
    }
    let mut submits = Vec::with_capacity(pipeline.submits.len());
    let mut problems: Vec<Problem> = Vec::new();
    for submit in &pipeline.submits {
        let kernel = &kernels[submit.kernel];
        let mut checked = check_submit(pipeline, submit, kernel)?;
        let is_idle = !matches!(submit.extent, Extent::Indirect { .. }) && !has_work(checked.groups);
        let idle = is_idle.then(|| {
            let name = kernel.name();
            let message = format!(
                "kernel {name} is dispatched with no work-groups in some dimension, and does not run"
            );
            pipeline.problem(&submit.place, message)
        });
        let odd = idle.or_else(|| too_many(pipeline, submit, &checked));
        for note in unused(pipeline, submit, kernel, &checked).into_iter().chain(odd) {
            // Where it is given first. A file may do the same in every submission.
            if problems.iter().all(|known| known.message != note.message) {
                problems.push(note);
            }
        }
        if let Extent::Indirect { buffer, offset } = submit.extent {
            checked.groups = counts(pipeline, submit, buffer, offset, &submits)?;
            if !has_work(checked.groups) {
                let ([x, y, z], from) = (checked.groups, &pipeline.buffers[buffer].name);
                let name = &pipeline.kernels[submit.kernel].name;
                let message = format!(
                    "kernel {name} is dispatched with the counts {x}, {y} and {z} that are in {from}, and does not run"
                );
                problems.push(pipeline.problem(&submit.place, message));
            }
        }
        submits.push(checked);
    }
    problems.extend(not_constant(pipeline, &submits));
    problems.extend(notes::on_list(pipeline, &submits));
    let notes: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for note in &notes {
        tracing::warn!("{note}");
    }
    Ok(Checked { modules, submits, notes })
}

impl Checked {
    /// Refuses what can be planned and not run.
    pub(crate) fn runs(&self, pipeline: &Pipeline) -> Result<(), Problem> {
        let mut submits = pipeline.submits.iter().zip(&self.submits);
        submits.try_for_each(|(submit, checked)| bind::addresses(pipeline, submit, &checked.kernel))
    }

    /// The notes on the file, and those of the engine that do not say the same without the place.
    pub(crate) fn notes_and<'a>(&self, engine: impl Iterator<Item = &'a String>) -> Vec<String> {
        let mut notes = self.notes.clone();
        for note in engine {
            if !notes.iter().any(|known| known.ends_with(note)) {
                notes.push(note.clone());
            }
        }
        notes
    }
}

/// Loads a module file, SPIR-V or, by its extension, WGSL.
pub(crate) fn load_module(path: &Path, name: &str, known: &Known) -> Result<Module, String> {
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MODULE_LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MODULE_LIMIT {
        return Err(format!("{} is larger than {MODULE_LIMIT} bytes", path.display()));
    }
    if bytes.is_empty() {
        return Err(format!("{} is empty", path.display()));
    }
    let wgsl = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wgsl"));
    if wgsl {
        return from_wgsl(path, name, bytes, known);
    }
    let module = Module::from_bytes_in(name, &bytes, known.as_deref());
    module.map_err(|error| format!("{}: {}", path.display(), of_opengl(one_line(&error))))
}

/// A complaint, and what it comes from where a compiler took a kernel for one of OpenGL.
fn of_opengl(mut message: String) -> String {
    if message.contains("Location decoration must not be applied to this storage class") {
        message.push_str("; a module for OpenGL has this: `glslangValidator -V` compiles for Vulkan");
    }
    message
}

/// The word that a SPIR-V module begins with.
#[cfg(feature = "wgsl")]
const SPIRV: u32 = 0x0723_0203;

#[cfg(feature = "wgsl")]
fn from_wgsl(path: &Path, name: &str, bytes: Vec<u8>, known: &Known) -> Result<Module, String> {
    let what = match bytes.first_chunk().map(|word| u32::from_le_bytes(*word)) {
        Some(SPIRV) => "a SPIR-V module, whose name should end in .spv",
        _ => "not UTF-8 text",
    };
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is {what}", path.display()))?;
    let module = Module::from_wgsl_in(name, &text, known.as_deref());
    module.map_err(|error| format!("{}: {}", path.display(), one_line(&error)))
}

#[cfg(not(feature = "wgsl"))]
fn from_wgsl(path: &Path, _: &str, _: Vec<u8>, _: &Known) -> Result<Module, String> {
    Err(format!("{} is WGSL, and this build has no front end for it (feature `wgsl`)", path.display()))
}

/// Some messages come from SPIRV-Tools or naga and have lines of their own.
fn one_line(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

fn entry(
    pipeline: &Pipeline,
    declared: &KernelDecl,
    module: &Module,
    known: &Known,
) -> Result<Kernel, Problem> {
    Kernel::with_artifacts(module, declared.entry.as_deref(), known.clone())
        .map_err(|error| pipeline.problem(&declared.entry_place, one_line(&error)))
}

fn check_submit(pipeline: &Pipeline, submit: &Submit, kernel: &Kernel) -> Result<CheckedSubmit, Problem> {
    let mut spec: Vec<_> = submit.spec.iter().map(|given| (given.id, spec_value(given))).collect();
    for (given, value) in submit.spec.iter().zip(&spec) {
        let mut constants = kernel.spec_constants().iter();
        let misfits = constants.any(|constant| constant.id == given.id && !constant.accepts(value.1.ty()));
        if misfits {
            // Specializing words the complaint, with all values, so that none counts as missing.
            kernel.specialize(&spec).map_err(|error| pipeline.problem(&given.place, one_line(&error)))?;
        }
    }
    // Constants that the module does not declare are reported here, and not passed on.
    let unknown = kernel.unknown_constants(spec.iter().map(|(id, _)| *id));
    spec.retain(|(id, _)| !unknown.contains(id));
    let specialized =
        kernel.specialize(&spec).map_err(|error| pipeline.problem(&submit.kernel_place, one_line(&error)))?;
    Ok(CheckedSubmit {
        groups: submit.extent.groups(specialized.interface.local_size, None),
        args: bind::arguments(pipeline, submit, &specialized)?,
        push: bind::push_constants(pipeline, submit, (&specialized, kernel.module()))?,
        spec,
        kernel: specialized,
    })
}

/// Counts of work-groups that stand in a buffer, which holds what it did before the list: where a submission before this one
/// writes them, only the device knows them.
fn counts(
    pipeline: &Pipeline,
    submit: &Submit,
    buffer: usize,
    offset: u64,
    before: &[CheckedSubmit],
) -> Result<[u32; 3], Problem> {
    for (number, (other, checked)) in pipeline.submits.iter().zip(before).enumerate() {
        // `bind` has listed the arguments in the order of the interface's bindings.
        let mut used = checked.args.iter().zip(&checked.kernel.interface.bindings);
        let writes = used.any(|(&index, binding)| {
            let arg = &other.args[index];
            let meets = arg.offset < offset + 3 && offset < arg.offset + arg.len;
            arg.buffer == buffer && binding.writes && meets && has_work(checked.groups)
        });
        if writes {
            let name = &pipeline.buffers[buffer].name;
            let message =
                format!("submission {number} writes the counts in {name}, which only the device knows then");
            return Err(pipeline.problem(&submit.place, message));
        }
    }
    let bytes = contents::initial(pipeline, &pipeline.buffers[buffer])?.unwrap_or_default();
    let count = |n: u64| {
        let at = (offset + n) as usize * 4;
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        // Zeros have no bytes.
        word.map_or(0, u32::from_le_bytes)
    };
    Ok([count(0), count(1), count(2)])
}

fn spec_value(given: &Given) -> SpecValue {
    let (ty, element) = match &given.value {
        Scalar::Bool(value) => return SpecValue::Bool(*value),
        Scalar::Number(ty, element) => (*ty, element),
    };
    let bits = push::bits(ty, element);
    match ty {
        ElementType::F16 => SpecValue::F16(bits as u16),
        ElementType::F32 => SpecValue::F32(f32::from_bits(bits as u32)),
        ElementType::F64 => SpecValue::F64(f64::from_bits(bits)),
        ElementType::I8 => SpecValue::I8(bits as i8),
        ElementType::U8 => SpecValue::U8(bits as u8),
        ElementType::I16 => SpecValue::I16(bits as i16),
        ElementType::U16 => SpecValue::U16(bits as u16),
        ElementType::I32 => SpecValue::I32(bits as i32),
        ElementType::U32 => SpecValue::U32(bits as u32),
        ElementType::I64 => SpecValue::I64(bits as i64),
        ElementType::U64 => SpecValue::U64(bits),
    }
}
