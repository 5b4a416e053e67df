//! The report of `inspect`.

use super::varies;
use crate::pipeline::bind::dotted;
use serde::Serialize;
use vkfuse_jit::analysis::{Access, AccessKind, KernelAnalysis, Texel};
use vkfuse_jit::kernel::{
    BindingKind, Kernel, KernelReason, ScalarClass, SpecConstant, SpecType, SpecValue, Specialized,
};
use vkfuse_jit::plan::not_followed;

#[derive(Serialize)]
pub(super) struct Inspection {
    pub(super) format: u32,
    pub(super) file: String,
    /// BLAKE3 of the module, in hexadecimal.
    pub(super) module: String,
    pub(super) entries: Vec<Entry>,
}

/// One compute entry point.
#[derive(Serialize)]
pub(super) struct Entry {
    pub(super) entry: String,
    /// The kernel's identity with the default specialization constants, in hexadecimal.
    pub(super) kernel: String,
    pub(super) spirv_version: String,
    pub(super) local_size: [u32; 3],
    pub(super) builtins: Vec<String>,
    pub(super) capabilities: Vec<String>,
    pub(super) extensions: Vec<String>,
    pub(super) item_only: bool,
    pub(super) barriers: bool,
    pub(super) atomics: bool,
    pub(super) subgroup_operations: bool,
    pub(super) workgroup_bytes: u32,
    /// Why the kernel only runs unfused; `null` if it can be fused.
    pub(super) not_fusible: Option<String>,
    /// Where that is explained: the page, with its heading.
    pub(super) explained_at: Option<String>,
    pub(super) spec_constants: Vec<Constant>,
    /// Constants that are looked at with 1, because the module is not valid with their defaults, by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) assumed: Vec<u32>,
    pub(super) bindings: Vec<Binding>,
    pub(super) push: Option<Push>,
    /// Empty where the kernel only runs unfused.
    pub(super) accesses: Vec<BufferAccess>,
}

#[derive(Serialize)]
pub(super) struct Constant {
    pub(super) id: u32,
    pub(super) name: Option<String>,
    #[serde(rename = "type")]
    pub(super) ty: String,
    /// A value has to be given: there is no default.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) required: bool,
    pub(super) default: serde_json::Value,
}

#[derive(Serialize)]
pub(super) struct Binding {
    /// `set.binding`.
    pub(super) slot: String,
    pub(super) name: Option<String>,
    pub(super) kind: &'static str,
    /// How many there are, of an array of descriptors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) elements: Option<u32>,
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) min_size: u64,
    pub(super) runtime_stride: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct Push {
    pub(super) size: u32,
    pub(super) members: Vec<PushMember>,
}

#[derive(Serialize)]
pub(super) struct PushMember {
    pub(super) offset: u32,
    pub(super) size: u32,
    pub(super) kind: &'static str,
}

/// One instruction that touches a buffer or an image.
#[derive(Serialize)]
pub(super) struct BufferAccess {
    pub(super) binding: String,
    pub(super) name: Option<String>,
    pub(super) kind: &'static str,
    /// First byte, as an expression over ids, push constants and loop counters; of a texel its coordinates.
    pub(super) offset: String,
    /// Bytes touched; 0 for a texel.
    pub(super) size: u64,
    /// Lines of the source text in which the kernel has accesses of this kind to the binding, if debug information says them.
    pub(super) lines: Vec<u32>,
    /// What the offset, or whether the access happens, depends on that is not followed; `null` if all is.
    pub(super) not_followed: Option<String>,
    /// What the offset varies with.
    pub(super) class: &'static str,
    /// Conditions that hold where the access happens.
    pub(super) guards: Vec<String>,
    pub(super) in_loop: bool,
}

impl Entry {
    pub(super) fn new(kernel: &Kernel, specialized: &Specialized, assumed: &[u32]) -> Entry {
        let interface = &specialized.interface;
        let (not_fusible, explained_at, accesses) = match &specialized.normal {
            Ok(normal) if interface.uses_device_addresses => {
                let why = KernelReason::DeviceAddresses;
                let reason = format!("{why}, so only under policy trust");
                (Some(reason), Some(why.explained_at()), accesses(specialized, &normal.analysis))
            }
            Ok(normal) => (None, None, accesses(specialized, &normal.analysis)),
            Err(reason) => (Some(reason.to_string()), Some(reason.explained_at()), Vec::new()),
        };
        let (major, minor) = interface.version;
        Entry {
            entry: specialized.entry.clone(),
            kernel: blake3::Hash::from_bytes(specialized.hash).to_hex().to_string(),
            spirv_version: format!("{major}.{minor}"),
            local_size: interface.local_size,
            builtins: interface.builtins.iter().map(|builtin| format!("{builtin:?}")).collect(),
            capabilities: interface.capabilities.iter().map(|capability| format!("{capability:?}")).collect(),
            extensions: interface.extensions.clone(),
            item_only: interface.item_only,
            barriers: interface.has_barrier,
            atomics: interface.has_atomics,
            subgroup_operations: interface.has_subgroup_ops,
            workgroup_bytes: interface.workgroup_bytes,
            not_fusible,
            explained_at,
            spec_constants: kernel.spec_constants().iter().flat_map(constants).collect(),
            assumed: assumed.to_vec(),
            bindings: interface.bindings.iter().filter(|one| one.at.element == 0).map(binding).collect(),
            push: interface.push.as_ref().map(|push| Push {
                size: push.size,
                members: push
                    .members
                    .iter()
                    .map(|member| PushMember {
                        offset: member.offset,
                        size: member.size,
                        kind: match member.class {
                            ScalarClass::Int => "int",
                            ScalarClass::Uint => "uint",
                            ScalarClass::Float => "float",
                            ScalarClass::Address => "address",
                        },
                    })
                    .collect(),
            }),
            accesses,
        }
    }
}

fn accesses(kernel: &Specialized, analysis: &KernelAnalysis) -> Vec<BufferAccess> {
    let list = analysis.accesses.iter();
    list.map(|access| self::access(kernel, analysis, access)).collect()
}

fn access(kernel: &Specialized, analysis: &KernelAnalysis, access: &Access) -> BufferAccess {
    let binding = kernel.interface.bindings.get(access.binding);
    let lines = binding.map(|binding| kernel.module.lines(binding.at, access.kind != AccessKind::Read));
    let guards = access.guards.iter().map(|guard| {
        let condition = analysis.exprs.display(guard.condition);
        if guard.holds { condition } else { format!("!{condition}") }
    });
    BufferAccess {
        binding: binding.map_or_else(|| "?".to_owned(), |binding| dotted(binding.at)),
        name: binding.and_then(|binding| binding.name.clone()),
        kind: match access.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic",
        },
        offset: analysis.describe(access),
        size: if access.texel.is_some() { 0 } else { access.size },
        lines: lines.unwrap_or_default().to_vec(),
        not_followed: not_followed(kernel, access),
        class: match access.texel {
            Some(Texel::Any) => "unknown",
            _ => varies::class(&analysis.exprs, access.terms.iter().map(|term| term.index)),
        },
        guards: guards.collect(),
        in_loop: access.loop_depth > 0,
    }
}

fn binding(binding: &vkfuse_jit::kernel::Binding) -> Binding {
    Binding {
        slot: dotted(binding.at),
        name: binding.name.clone(),
        kind: match binding.kind {
            BindingKind::StorageBuffer => "storage buffer",
            BindingKind::UniformBuffer => "uniform buffer",
            BindingKind::Other(what) => what,
        },
        elements: binding.array.map(|array| array.len),
        reads: binding.reads,
        writes: binding.writes,
        min_size: binding.min_size,
        runtime_stride: binding.runtime_stride,
    }
}

/// All constants with one id.
fn constants(one: &SpecConstant) -> impl Iterator<Item = Constant> {
    let default = (!one.required).then_some(one.default);
    let others =
        one.shared.iter().map(|other| constant(one.id, other.name.as_deref(), other.ty, Some(other.default)));
    std::iter::once(constant(one.id, one.name.as_deref(), one.ty, default)).chain(others)
}

fn constant(id: u32, name: Option<&str>, ty: SpecType, default: Option<SpecValue>) -> Constant {
    Constant {
        id,
        name: name.map(str::to_owned),
        ty: ty.to_string(),
        required: default.is_none(),
        default: default.map_or(serde_json::Value::Null, |value| match value {
            SpecValue::Bool(value) => value.into(),
            SpecValue::I8(value) => value.into(),
            SpecValue::U8(value) => value.into(),
            SpecValue::I16(value) => value.into(),
            SpecValue::U16(value) => value.into(),
            SpecValue::I32(value) => value.into(),
            SpecValue::U32(value) => value.into(),
            SpecValue::I64(value) => value.into(),
            SpecValue::U64(value) => value.into(),
            SpecValue::F16(bits) => half::f16::from_bits(bits).to_f32().into(),
            SpecValue::F32(value) => value.into(),
            SpecValue::F64(value) => value.into(),
        }),
    }
}
