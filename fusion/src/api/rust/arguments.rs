//! From the arguments of a function object to those of a submission.

use std::sync::Arc;

use vkfuse_kernel::{LowerOptions, Lowered, PlainIn, ScalarType, Shape, capture::AccessorArg, f16};

use super::{launch::Launch, store::plain_in};
use crate::{
    api::{buffer::Buffer, context::Context, kernel::Kernel},
    code::lowered::Stored,
    error::{Error, SubmitError},
    jit::{ElementType, MemoryScalar, SpecValue},
    runtime::context::ContextInner,
    submission::{accessor::Accessor, request::Request},
};

/// Chooses the module of a kernel and binds its arguments. `report` is the accessor of the checking mode's report, if that
/// is on. Also says whether the kernel is given groups.
pub(crate) fn bind(
    launch: &Launch,
    context: &Arc<ContextInner>,
    request: &mut Request<'_>,
    report: Option<Accessor<'static>>,
) -> Result<(Kernel, bool), Error> {
    let name = launch.name();
    let fail = |problem| Error::submit(name, problem);
    // The module with checks tells what the parameters are; what is in range of all of them decides about the other.
    let words = launch.arguments.plain.len().next_multiple_of(4);
    let range_bytes = if launch.local.is_some() { 0 } else { 12 };
    let plain = plain_in(context, words + range_bytes);
    let options = LowerOptions { plain, fitting: report.is_none(), checking: report.is_some() };
    let mut stored = context.rust.get(&launch.source, options)?;
    stored.lowered.atomics.iter().try_for_each(|&atomic| has_atomics(context, atomic)).map_err(fail)?;
    let accessors = accessors(&stored.lowered, &launch.arguments.accessors).map_err(fail)?;
    if options.fitting && !fits(&stored.lowered, launch, &accessors) {
        stored = context.rust.get(&launch.source, LowerOptions { fitting: false, ..options })?;
    }
    let kernel = stored.kernel(context)?;
    specs(&stored, launch, request);
    // The bindings that are left with these constants.
    let interface = kernel.inner.jit.specialize(&request.spec)?;
    let params = accessors.len() as u32;
    for binding in &interface.interface.bindings {
        let accessor = match binding.at.binding {
            k if k < params => accessors[k as usize].0.clone(),
            k if k == params => {
                plain_buffer(&stored.lowered, launch, context)?.cast::<u8>().read().into_owned()
            }
            _ => match &report {
                Some(report) => report.clone(),
                None => continue,
            },
        };
        request.args.push((binding.at, accessor));
    }
    if interface.interface.push.is_some() && plain == PlainIn::Push {
        request.push.extend_from_slice(&block(&stored.lowered, launch));
    }
    Ok((kernel, launch.local.is_some()))
}

/// Whether the device changes a type atomically, in work-group memory or in buffers.
fn has_atomics(context: &ContextInner, (ty, shared): (ScalarType, bool)) -> Result<(), SubmitError> {
    let caps = context.gpu.caps();
    let has = match ty {
        ScalarType::I64 | ScalarType::U64 => caps.atomics.int64,
        ScalarType::F32 => caps.atomics.float_add[0],
        ScalarType::F64 => caps.atomics.float_add[1],
        _ => return Ok(()),
    };
    if has[usize::from(shared)] {
        return Ok(());
    }
    let memory = if shared { "work-group memory" } else { "a buffer" };
    Err(SubmitError::Atomics { ty: ty.to_string(), memory, device: caps.info.name.clone() })
}

/// The block of plain values: the range, then the captures.
fn block(lowered: &Lowered, launch: &Launch) -> Vec<u8> {
    let range = &launch.extent[..lowered.range_words as usize];
    let mut bytes: Vec<u8> = range.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend_from_slice(&launch.arguments.plain);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The block as the contents of a uniform buffer.
fn plain_buffer(
    lowered: &Lowered,
    launch: &Launch,
    context: &Arc<ContextInner>,
) -> Result<Buffer<[u32; 4]>, Error> {
    let mut bytes = block(lowered, launch);
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    let vectors: Vec<[u32; 4]> = bytes.chunks_exact(16).map(bytemuck::pod_read_unaligned).collect();
    let buffer = Context { inner: context.clone() }.buffer_from(&vectors)?;
    Ok(buffer.named("captures"))
}

/// The accessors with the number of elements that the kernel sees, checked against the signature.
fn accessors(lowered: &Lowered, given: &[AccessorArg]) -> Result<Vec<(Accessor<'static>, u64)>, SubmitError> {
    let check = |(param, argument): (&vkfuse_kernel::capture::BindingParam, &AccessorArg)| {
        let path = || param.path.clone();
        let handle = argument.handle.as_ref().and_then(|handle| handle.downcast_ref::<Accessor<'static>>());
        let Some(accessor) = handle else {
            return Err(SubmitError::HostMemory { capture: path() });
        };
        let element = u64::from(param.element.size());
        if accessor.element != element {
            return Err(SubmitError::ElementSize {
                capture: path(),
                needed: element,
                given: accessor.element,
            });
        }
        if let Shape::Scalar(scalar) = &param.element
            && let ElementType::Scalars { scalar: given, count: 1, .. } = accessor.ty
            && given != memory_scalar(*scalar)
        {
            let (declared, given) = (scalar.to_string().into(), accessor.ty);
            return Err(SubmitError::CaptureType { capture: path(), declared, given });
        }
        // How the lowered module has its elements is its own affair.
        let accessor = accessor.clone().elements(ElementType::Bytes);
        let Some((offset, len)) = argument.range else {
            let count = accessor.count;
            return Ok((accessor, count));
        };
        let (offset, len) = (u64::from(offset), u64::from(len));
        if offset + len > accessor.count {
            let elements = accessor.count;
            return Err(SubmitError::CaptureRange { capture: path(), offset, len, elements });
        }
        Ok((accessor, len))
    };
    lowered.signature.bindings.iter().zip(given).map(check).collect()
}

/// A scalar of a kernel as it is in memory.
fn memory_scalar(scalar: ScalarType) -> MemoryScalar {
    let bytes = Shape::Scalar(scalar).size() as u8;
    match scalar {
        ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => MemoryScalar::Float(bytes),
        _ => MemoryScalar::Int(bytes),
    }
}

/// Whether every item of the range is an index into all accessors that are indexed by the item.
fn fits(lowered: &Lowered, launch: &Launch, accessors: &[(Accessor<'static>, u64)]) -> bool {
    lowered.fits(launch.extent).all(|(param, least)| accessors[param as usize].1 >= least)
}

/// Gives the specialization constants that the module has.
fn specs(stored: &Stored, launch: &Launch, request: &mut Request<'_>) {
    let lowered = &stored.lowered;
    if let Some(local) = launch.local {
        let sizes = local.iter().zip(0..).map(|(&size, id)| (id, SpecValue::U32(size)));
        request.spec.extend(sizes);
    }
    let used = launch.arguments.specs.iter().filter(|(id, _)| lowered.used_specs.contains(id));
    for (id, bytes) in used {
        let shape = lowered.signature.specs.iter().find(|spec| spec.id == *id).map(|spec| &spec.shape);
        if let Some(Shape::Scalar(scalar)) = shape {
            request.spec.push((*id, spec_value(*scalar, bytes)));
        }
    }
}

/// The constant as the module declares it: narrow numbers are 32 bits there.
fn spec_value(scalar: ScalarType, bytes: &[u8]) -> SpecValue {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_ne_bytes(wide);
    match scalar {
        ScalarType::Bool => SpecValue::Bool(bits != 0),
        ScalarType::I8 => SpecValue::I32((bits as i8).into()),
        ScalarType::U8 => SpecValue::U32((bits as u8).into()),
        ScalarType::I16 => SpecValue::I32((bits as i16).into()),
        ScalarType::U16 => SpecValue::U32((bits as u16).into()),
        ScalarType::I32 => SpecValue::I32(bits as i32),
        ScalarType::U32 => SpecValue::U32(bits as u32),
        ScalarType::I64 => SpecValue::I64(bits as i64),
        ScalarType::U64 => SpecValue::U64(bits),
        ScalarType::F16 => SpecValue::F32(f16::from_bits(bits as u16).to_f32()),
        ScalarType::F32 => SpecValue::F32(f32::from_bits(bits as u32)),
        ScalarType::F64 => SpecValue::F64(f64::from_bits(bits)),
    }
}
