//! Arguments and push constants of a submission against the kernel's interface.
//!
//! # Guarantees
//! - every binding that the kernel uses has a buffer large enough for its fixed part
//! - accessor and buffer do not ask for different promotions
//! - the elements of the buffer are the kernel's, or bytes, or said to be cast
//! - there are as many bytes of push constants as the kernel takes
//! - no kernel writes to an argument that is declared constant
//!
//! # Refuses
//! - samplers in bindings of their own and the like: a pipeline file has nothing to put there

use super::element::ElementType;
use super::model::{Argument, Pipeline, Promotion, Submit};
use super::problem::Problem;
use super::push_members::Block;
use smallvec::SmallVec;
use vkfuse_jit::kernel::{Binding, BindingKind, Module, SetBinding, Specialized, TextureKind};

/// The arguments to pass, as indices in `submit.args`. An argument for a binding that the entry point never uses is left out:
/// what a compiler leaves unused is not the user's business.
pub(super) fn arguments(
    pipeline: &Pipeline,
    submit: &Submit,
    kernel: &Specialized,
) -> Result<Vec<usize>, Problem> {
    let name = &pipeline.kernels[submit.kernel].name;
    let mut used: Vec<usize> = Vec::with_capacity(submit.args.len());
    for binding in &kernel.interface.bindings {
        let found = submit.args.iter().position(|arg| arg.at == binding.at);
        let place = found.map_or(&submit.place, |index| &submit.args[index].place);
        let slot = slot(binding);
        if let (BindingKind::Other(what), None | Some(TextureKind::Sampler)) =
            (binding.kind, binding.kind.texture())
        {
            let message = format!("kernel {name} uses a {what} at {slot}, and a pipeline file has none");
            return Err(pipeline.problem(place, message));
        }
        if binding.at.element == 0 {
            let given = submit.args.iter().filter(|arg| arg.at.whole() == binding.at).count();
            let len = binding.array.map_or(1, |array| array.len);
            if given > 0 && given != len as usize {
                let message =
                    format!("binding {slot} of kernel {name} has {len} elements, and {given} are given");
                return Err(pipeline.problem(place, message));
            }
        }
        let Some(index) = found else {
            let others = submit.args.iter().filter(|arg| {
                let sets = kernel.interface.bindings.iter().map(|own| own.at.set);
                !{ sets }.any(|set| set == arg.at.set)
            });
            let others: Vec<String> = others.map(|arg| dotted(arg.at)).collect();
            let order = match &*others {
                [] => String::new(),
                others => {
                    format!("; {} given, and none of its bindings: a key is set.binding", is_or_are(others))
                }
            };
            let message = format!("kernel {name} uses binding {slot}, which has no argument{order}");
            return Err(pipeline.problem(place, message));
        };
        if let Some(message) = misfit(pipeline, &submit.args[index], binding.kind) {
            return Err(pipeline.problem(place, format!("binding {slot} of kernel {name} {message}")));
        }
        let bytes = bytes(pipeline, &submit.args[index]);
        if bytes.1 < binding.min_size {
            let needed = binding.min_size;
            let declared = kernel.elements_at(binding.at);
            let ty = pipeline.buffers[submit.args[index].buffer].ty;
            let apart = declared.and_then(|declared| declared.padded(ty.in_memory()));
            let apart = apart.map_or_else(String::new, |stride| {
                format!("; its elements are {stride} bytes apart (std140)")
            });
            let message = format!(
                "binding {slot} of kernel {name} needs at least {needed} bytes, the argument has {}{apart}",
                bytes.1
            );
            return Err(pipeline.problem(place, message));
        }
        if let Some(message) = types(pipeline, &submit.args[index], binding, kernel) {
            return Err(pipeline.problem(place, format!("binding {slot} of kernel {name} {message}")));
        }
        if submit.args[index].constant && binding.writes {
            let message = format!(
                "binding {slot} of kernel {name} is written, and the argument is said to be constant"
            );
            return Err(pipeline.problem(place, message));
        }
        used.push(index);
    }
    promotions(pipeline, submit)?;
    Ok(used)
}

/// What is wrong with the elements of an argument, if they are others than the kernel's.
fn types(pipeline: &Pipeline, arg: &Argument, binding: &Binding, kernel: &Specialized) -> Option<String> {
    let buffer = &pipeline.buffers[arg.buffer];
    let image = || kernel.image_at(binding.at);
    if let Some((declared, given)) = buffer.image.and_then(|own| own.misfit(&image()?)) {
        return Some(format!("is declared as {declared}, and image {} has {given}", buffer.name));
    }
    if let Some(texel) = arg.texels {
        if let Some(declared) = image().and_then(|declared| texel.misfit(&declared)) {
            return Some(format!("is declared as {declared}, and texels here are {}", texel.name()));
        }
        let (scalar, name) = (texel.scalar.name(), &buffer.name);
        return (!arg.cast && !texel.scalar.is_like(buffer.ty) || texel.scalar == ElementType::U8 && buffer.ty != ElementType::U8 && !arg.cast).then(|| format!(
            "has texels of {scalar} here, and buffer {name} has {}; where its bytes are meant, say {{ buffer = \"{name}\", texels = \"{}\", cast = true }}",
            buffer.ty.name(), texel.name(),
        ));
    }
    if arg.cast || binding.kind.texture().is_some() {
        return None;
    }
    let declared =
        kernel.elements_at(binding.at).filter(|declared| !declared.takes(buffer.ty.in_memory()))?;
    let (given, buffer) = (buffer.ty.name(), &buffer.name);
    Some(format!(
        "has elements of {declared}, and buffer {buffer} has {given}; where its bytes are meant, say {{ buffer = \"{buffer}\", cast = true }}"
    ))
}

/// What is wrong with an argument, if it is not of the binding's kind.
fn misfit(pipeline: &Pipeline, arg: &Argument, kind: BindingKind) -> Option<String> {
    let declared = &pipeline.buffers[arg.buffer];
    let name = &declared.name;
    if kind.texture().is_some_and(TextureKind::is_texels) {
        return match (declared.image, arg.texels) {
            (Some(_), _) => Some(format!("is a buffer of texels, and {name} is an image")),
            (None, None) => Some(format!("takes a format: {{ buffer = \"{name}\", texels = \"r32f\" }}")),
            (None, Some(_)) => None,
        };
    }
    if arg.texels.is_some() {
        return Some("has no texels".to_owned());
    }
    match (kind.texture(), declared.image, arg.sampler) {
        (None, None, _) | (Some(TextureKind::CombinedSampler), Some(_), Some(_)) => None,
        (None, Some(_), _) => Some(format!("is a buffer, and {name} is an image")),
        (Some(_), None, _) => Some(format!("is an image, and {name} is a buffer")),
        (Some(TextureKind::CombinedSampler), Some(_), None) => {
            Some(format!("takes a sampler: {{ image = \"{name}\", sampler = \"linear\" }}"))
        }
        (Some(_), Some(_), Some(_)) => Some("takes no sampler".to_owned()),
        (Some(_), Some(_), None) => None,
    }
}

/// Refuses a kernel that follows addresses: a pipeline file has none to give it, and what it reads at another number ends the process.
pub(super) fn addresses(pipeline: &Pipeline, submit: &Submit, kernel: &Specialized) -> Result<(), Problem> {
    if !kernel.interface.uses_device_addresses {
        return Ok(());
    }
    let name = &pipeline.kernels[submit.kernel].name;
    let message = format!(
        "kernel {name} follows addresses of buffers (`buffer_reference`), which a pipeline file cannot give: it can be planned, and not run"
    );
    Err(pipeline.problem(&submit.kernel_place, message))
}

/// The push constants to pass: as many bytes as the kernel takes.
pub(super) fn push_constants(
    pipeline: &Pipeline,
    submit: &Submit,
    (kernel, module): (&Specialized, &Module),
) -> Result<SmallVec<[u8; 32]>, Problem> {
    let needed = kernel.interface.push.as_ref().map_or(0, |push| push.size as usize);
    let given = submit.push.bytes.len();
    // More are a part of the block that the kernel does not use.
    if given < needed {
        let name = &pipeline.kernels[submit.kernel].name;
        let block = Block::of(kernel, module);
        let takes = format!("kernel {name} takes {needed} bytes of push constants, {given} are given");
        let message = match block.misplaced(name, &submit.push) {
            Some(misplaced) => format!("{takes}: {misplaced}"),
            None => format!("{takes} ({block})"),
        };
        return Err(pipeline.problem(&submit.push_place, message));
    }
    Ok(SmallVec::from_slice(&submit.push.bytes[..needed]))
}

fn promotions(pipeline: &Pipeline, submit: &Submit) -> Result<(), Problem> {
    use Promotion::{Local, Private};
    for arg in &submit.args {
        let buffer = &pipeline.buffers[arg.buffer];
        if let (Some(asked @ (Private | Local)), property @ (Private | Local)) = (arg.promote, buffer.promote)
            && asked != property
        {
            let (asked, property) = (asked.name(), property.name());
            let message = format!("promotion {asked} here contradicts {property} of buffer {}", buffer.name);
            return Err(pipeline.problem(&arg.place, message));
        }
    }
    Ok(())
}

/// `set.binding`, and the name in the module if it has one.
fn slot(binding: &Binding) -> String {
    match &binding.name {
        Some(name) if !name.is_empty() => format!("{} ({name})", dotted(binding.at)),
        _ => dotted(binding.at),
    }
}

/// `set.binding`, and the element of an array if it is not the first: `0.1[2]`
pub(crate) fn dotted(at: SetBinding) -> String {
    match at.element {
        0 => format!("{}.{}", at.set, at.binding),
        element => format!("{}.{}[{element}]", at.set, at.binding),
    }
}

/// First byte and number of bytes of an argument; both fit, because the buffer's size does.
pub(crate) fn bytes(pipeline: &Pipeline, arg: &Argument) -> (u64, u64) {
    let size = pipeline.buffers[arg.buffer].ty.size() as u64;
    (arg.offset * size, arg.len * size)
}

/// `1.0 is`, or `1.0 and 2.0 are`.
fn is_or_are(names: &[String]) -> String {
    match names {
        [one] => format!("{one} is"),
        all => format!("{} are", all.join(" and ")),
    }
}
