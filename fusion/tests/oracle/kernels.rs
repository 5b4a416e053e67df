//! Modules of files, with made-up arguments under which what they do is defined.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vkfuse::module::{BindingKind, Module, ScalarClass, SpecValue, Specialized};
use vkfuse_fuzz::wgsl::{Case, Family, Legality, run_unfused_within};
use vkfuse_jit::plan::{Arg, BufferId, Promote, Submission};

use super::engine::Engine;
use super::list::{Call, List};
use super::words::{self, Scalar, SpecConstant};

/// Bytes of a buffer, if its block is not larger.
const BYTES: u64 = 1 << 13;

/// Invocations of a dispatch, if one work-group has not more.
const INVOCATIONS: u32 = 128;

/// The files below a folder with one of these extensions, by name.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if path.extension().is_some_and(|ext| extensions.iter().any(|one| ext == *one)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The words of a file. Those of a WGSL file are the compiler's, which is the engine's as well: what it makes of the text is not compared.
pub(crate) fn read(path: &Path) -> Option<Arc<[u32]>> {
    let bytes = std::fs::read(path).ok()?;
    if path.extension().is_some_and(|ext| ext == "wgsl") {
        let module = Module::from_wgsl("kernel", std::str::from_utf8(&bytes).ok()?).ok()?;
        return Some(module.words().into());
    }
    let (words, rest) = bytes.as_chunks::<4>();
    let words: Arc<[u32]> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    (rest.is_empty() && words.first() == Some(&0x0723_0203)).then_some(words)
}

/// How arguments are made up.
#[derive(Clone, Copy, Debug)]
struct Taste {
    /// What integers among push constants are; the number of invocations where it is zero.
    number: u32,
    /// Whether buffers hold floats; small integers otherwise.
    floats: bool,
}

/// What is least likely to lead out of a buffer.
const SMALL: Taste = Taste { number: 1, floats: false };

const TASTES: [Taste; 4] = [
    Taste { number: 0, floats: true },
    Taste { number: 0, floats: false },
    Taste { number: 4, floats: true },
    SMALL,
];

/// The calls of a module, by name: each entry point with its defaults, and with other constants. An `Err` is why there is none.
pub(crate) fn calls(
    engine: &mut Engine,
    name: &str,
    words: &Arc<[u32]>,
) -> Vec<Result<(String, Call), String>> {
    let entries = words::compute_entries(words);
    if entries.is_empty() {
        return vec![Err("no compute entry point".to_owned())];
    }
    let mut found = Vec::new();
    for entry in entries {
        let call = Call::new(words, &entry, [1; 3]);
        let needs_all = match engine.kernel(&call) {
            Ok(kernel) => kernel.spec_constants().iter().any(|constant| constant.required),
            Err(why) => {
                found.push(Err(why));
                continue;
            }
        };
        // Those of the module, whether or not the engine knows of them.
        let constants = words::spec_constants(words);
        let others: Vec<(u32, SpecValue)> =
            constants.iter().map(|constant| (constant.id, other(default_of(constant)))).collect();
        let name = format!("{name}:{entry}");
        if !needs_all {
            found.push(Ok((name.clone(), call.clone())));
        }
        if !others.is_empty() {
            found.push(Ok((format!("{name} with {others:?}"), call.spec(&others))));
        }
    }
    found
}

/// The default of a constant.
fn default_of(constant: &SpecConstant) -> SpecValue {
    let bits = constant.bits;
    match constant.ty {
        Scalar::Bool => SpecValue::Bool(bits != 0),
        Scalar::Int { width: 8, signed: true } => SpecValue::I8(bits as i8),
        Scalar::Int { width: 8, .. } => SpecValue::U8(bits as u8),
        Scalar::Int { width: 16, signed: true } => SpecValue::I16(bits as i16),
        Scalar::Int { width: 16, .. } => SpecValue::U16(bits as u16),
        Scalar::Int { width: 64, signed: true } => SpecValue::I64(bits as i64),
        Scalar::Int { width: 64, .. } => SpecValue::U64(bits),
        Scalar::Int { signed: true, .. } => SpecValue::I32(bits as i32),
        Scalar::Int { .. } => SpecValue::U32(bits as u32),
        Scalar::Float { width: 16 } => SpecValue::F16(bits as u16),
        Scalar::Float { width: 64 } => SpecValue::F64(f64::from_bits(bits)),
        Scalar::Float { .. } => SpecValue::F32(f32::from_bits(bits as u32)),
    }
}

/// A value that is not the default and as harmless.
fn other(default: SpecValue) -> SpecValue {
    let next = |value: u64| if value > 1 { value.div_ceil(2) } else { value + 1 };
    match default {
        SpecValue::Bool(value) => SpecValue::Bool(!value),
        SpecValue::F32(value) => SpecValue::F32(value + 0.5),
        SpecValue::F64(value) => SpecValue::F64(value + 0.5),
        SpecValue::I8(value) => SpecValue::I8(next(value.unsigned_abs().into()) as i8),
        SpecValue::U8(value) => SpecValue::U8(next(value.into()) as u8),
        SpecValue::I16(value) => SpecValue::I16(next(value.unsigned_abs().into()) as i16),
        SpecValue::U16(value) => SpecValue::U16(next(value.into()) as u16),
        SpecValue::I32(value) => SpecValue::I32(next(value.unsigned_abs().into()) as i32),
        SpecValue::U32(value) => SpecValue::U32(next(value.into()) as u32),
        SpecValue::I64(value) => SpecValue::I64(next(value.unsigned_abs()) as i64),
        SpecValue::U64(value) => SpecValue::U64(next(value)),
        value => value,
    }
}

/// What is known of made-up arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// What the list does is defined, and it changes its buffers.
    Changes,
    /// It is defined, and the list changes nothing.
    NoEffect,
    /// The interpreter does not know an instruction: small numbers, and perhaps undefined.
    Unknown(String),
}

/// How an error of the interpreter begins.
const NOT_RUN: &str = "the interpreter cannot run it";

/// The list of a call, which runs twice on the same buffers; an `Err` is why there is none. The interpreter may take `steps`
/// instructions for each set of arguments that is tried.
pub(crate) fn list(
    engine: &mut Engine,
    name: &str,
    call: &Call,
    steps: u64,
) -> Result<(List, Found), String> {
    let kernel = engine.kernel(call)?;
    let kernel = kernel.specialized(&call.spec).map_err(|error| error.to_string())?;
    let (mut why, mut without_effect) = (String::new(), None);
    for taste in TASTES {
        let made = with_arguments(name, call, &kernel, taste)?;
        match is_defined(&made, &kernel, steps) {
            Ok(true) => return Ok((made, Found::Changes)),
            Ok(false) => without_effect = without_effect.or(Some(made)),
            Err(what) if what.contains("is not interpreted") => {
                let made = with_arguments(name, call, &kernel, SMALL)?;
                return Ok((made, Found::Unknown(what)));
            }
            Err(what) => why = what,
        }
    }
    without_effect.map(|list| (list, Found::NoEffect)).ok_or(why)
}

/// Arguments for a kernel.
fn with_arguments(name: &str, call: &Call, kernel: &Specialized, taste: Taste) -> Result<List, String> {
    let interface = &kernel.interface;
    let local: u32 = interface.local_size.iter().product();
    let groups = (INVOCATIONS / local.max(1)).clamp(1, 4);
    let groups = if interface.local_size[1] > 1 && groups >= 4 { [2, 2, 1] } else { [groups, 1, 1] };
    let mut call = call.clone();
    call.vulkan.groups = groups;
    let mut buffers = Vec::new();
    for binding in &interface.bindings {
        match binding.kind {
            BindingKind::StorageBuffer | BindingKind::UniformBuffer => {}
            _ => return Err("an image, a sampler or texels".to_owned()),
        }
        let number = buffers.len();
        let len = match binding.kind {
            BindingKind::UniformBuffer => binding.min_size.max(16).next_multiple_of(16),
            _ => BYTES.max(binding.min_size.next_multiple_of(16)),
        };
        if len > 1 << 20 {
            return Err("a block of more than a megabyte".to_owned());
        }
        buffers.push(contents(len, number as u32, taste));
        call = call.arg((binding.at.set, binding.at.binding), number, 0, len);
        if let Some(last) = call.vulkan.args.last_mut() {
            last.element = binding.at.element;
        }
    }
    if let Some(push) = &interface.push {
        let items = groups.iter().product::<u32>() * local;
        let number = if taste.number == 0 { items } else { taste.number };
        let mut bytes = vec![0; (push.size as usize).next_multiple_of(4)];
        for member in &push.members {
            let value = match (member.class, member.size) {
                (ScalarClass::Address, _) => return Err("follows device addresses".to_owned()),
                (ScalarClass::Float, 2) => 0x3800,
                (ScalarClass::Float, 4) => u64::from(0.5f32.to_bits()),
                (ScalarClass::Float, _) => 0.5f64.to_bits(),
                _ => u64::from(number),
            };
            let at = member.offset as usize..(member.offset + member.size) as usize;
            bytes[at].copy_from_slice(&value.to_le_bytes()[..member.size as usize]);
        }
        call = call.push(&bytes);
    }
    Ok(List { name: name.to_owned(), calls: vec![call.clone(), call], buffers })
}

/// Words that are the same for the same number.
fn contents(len: u64, number: u32, taste: Taste) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9) ^ 0x1234_5678;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let words = (0..len / 4).map(|_| match taste.floats {
        true => ((next() % 4000) as f32 / 1000.0 - 2.0).to_bits(),
        false => next() % 8,
    });
    words.flat_map(u32::to_le_bytes).collect()
}

/// Whether a list of one kernel changes its buffers, if the interpreter finds nothing that Vulkan leaves undefined in it. It only chooses
/// arguments: it says nothing of what is right.
fn is_defined(list: &List, kernel: &Arc<Specialized>, steps: u64) -> Result<bool, String> {
    let submission = |call: &Call| Submission {
        kernel: kernel.clone(),
        base: [0; 3],
        groups: call.vulkan.groups,
        args: call
            .vulkan
            .args
            .iter()
            .zip(&kernel.interface.bindings)
            .map(|(arg, binding)| Arg {
                at: binding.at,
                buffer: BufferId(arg.buffer as u64),
                offset: arg.offset,
                len: arg.len,
                promote: Promote::None,
                numbers: None,
                image: None,
            })
            .collect(),
        push: call.vulkan.push.clone().into(),
    };
    let case = Case {
        family: Family::Mixed,
        legality: Legality::Unlabelled,
        violation: "",
        submissions: list.calls.iter().map(submission).collect(),
        kernels: Vec::new(),
        buffers: list.buffers.clone(),
    };
    let ran = run_unfused_within(&case, steps);
    let (after, findings) = ran.map_err(|why| format!("{NOT_RUN}: {why}"))?;
    let mut reasons = [
        (findings.races.is_empty(), "invocations race"),
        (findings.out_of_bounds.is_empty(), "accesses out of bounds"),
        (findings.uninitialised.is_empty(), "reads uninitialised memory"),
        (findings.is_clean(), "other findings"),
    ]
    .into_iter();
    reasons.find(|(is_clean, _)| !is_clean).map_or(Ok(after != list.buffers), |(_, why)| Err(why.to_owned()))
}
