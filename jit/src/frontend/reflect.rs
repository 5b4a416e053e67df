//! What a kernel shows to the outside: bindings, push constants, work-group size, what it needs.
//!
//! Read from instructions, not from decorations: a compiler that forgets `NonWritable` costs nothing
//! here, and one that sets it wrongly cannot hide a write.

use std::collections::BTreeMap;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{AddressingModel, BuiltIn, Capability, MemoryModel, Op};

use super::defs::Defs;
use super::error::KernelError;
use super::layout::{self, PushMember};
use super::modes::{self, Mode};
use super::opcodes::{ATOMIC, has};
use super::pointers::{Roots, Touch, touch, touch_handle};
use super::resource::{self, Kind, Length, Role, Variable, variables};
use super::set_binding::SetBinding;
use super::types::Types;

/// Vulkan devices offer 128 to 4096 bytes; anything over this is a broken module, and its members are
/// not worth listing.
const MAX_PUSH_BYTES: u64 = 64 << 10;

/// The outside of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Work-group size.
    pub local_size: [u32; 3],
    /// Resources statically used by the entry point, sorted by set, binding and element: each element of an array of descriptors is
    /// one.
    pub bindings: Vec<Binding>,
    /// The push-constant block, if it is used.
    pub push: Option<PushLayout>,
    /// Input built-ins used, sorted.
    pub builtins: Vec<BuiltIn>,
    /// Bytes of the kernel's own shared memory, counted as Vulkan counts them.
    pub workgroup_bytes: u32,
    /// Whether there is a control barrier.
    pub has_barrier: bool,
    /// Whether there is an atomic operation.
    pub has_atomics: bool,
    /// Whether there is a sub-group operation or built-in.
    pub has_subgroup_ops: bool,
    /// Whether the module addresses memory by device addresses.
    pub uses_device_addresses: bool,
    /// Whether the invocations can be regrouped: the only id read is `GlobalInvocationId`, and there is
    /// no barrier, shared memory, sub-group operation or group query.
    pub item_only: bool,
    /// Declared capabilities, in order.
    pub capabilities: Vec<Capability>,
    /// Declared extensions, in order.
    pub extensions: Vec<String>,
    /// Execution modes of the entry point, in order.
    pub modes: Vec<Mode>,
    /// SPIR-V version, major and minor.
    pub version: (u8, u8),
    /// Declared memory model.
    pub memory_model: MemoryModel,
}

impl Interface {
    /// Whether something other than a buffer is bound.
    pub fn has_images(&self) -> bool {
        self.bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Other(_)))
    }

    /// Marks every binding as read and, where possible, as written: what unknown instructions may do.
    pub(super) fn accessed_anyhow(&mut self) {
        for binding in &mut self.bindings {
            binding.reads = true;
            binding.writes |= match binding.kind {
                BindingKind::UniformBuffer => false,
                kind => !kind.is_sampled() && kind.texture() != Some(TextureKind::Sampler),
            };
        }
    }
}

/// One resource of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Where.
    pub at: SetBinding,
    /// What is bound there.
    pub kind: BindingKind,
    /// Name of the variable or, if it has none, of its block; if the module has debug names.
    pub name: Option<String>,
    /// Whether an instruction may read through it. Atomics count as both, `.length()` as neither.
    pub reads: bool,
    /// Whether an instruction may write through it.
    pub writes: bool,
    /// Bytes up to the end of the last member that is not a runtime array.
    pub min_size: u64,
    /// `ArrayStride` of a trailing runtime array.
    pub runtime_stride: Option<u32>,
    /// The array of descriptors that it is an element of. Where all elements are chosen by constants, each is accessed as its own
    /// number is; where not, all are as any of them is.
    pub array: Option<DescriptorArray>,
}

/// An array of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorArray {
    /// How many elements it has.
    pub len: u32,
    /// Whether an element is chosen by a number that is no constant, for which a device needs a feature.
    pub dynamic: bool,
}

/// What is bound at a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingKind {
    /// A storage buffer, in either of SPIR-V's two spellings.
    StorageBuffer,
    /// A uniform buffer.
    UniformBuffer,
    /// What is no buffer, named for messages: `storage image`, `sampler`, `acceleration structure`, …
    Other(&'static str),
}

/// What is bound that is no buffer, and can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextureKind {
    /// An image that is read and written by its coordinates.
    StorageImage,
    /// An image that is fetched from, or sampled by a sampler of another binding.
    SampledImage,
    /// An image and a sampler in one.
    CombinedSampler,
    /// A sampler.
    Sampler,
    /// A buffer that is read through a format.
    UniformTexels,
    /// A buffer that is read and written through a format.
    StorageTexels,
}

impl TextureKind {
    /// Whether it is a buffer seen through a format.
    #[must_use]
    pub fn is_texels(self) -> bool {
        matches!(self, Self::UniformTexels | Self::StorageTexels)
    }
}

impl BindingKind {
    /// Which image or sampler it is, if it is one.
    pub fn texture(self) -> Option<TextureKind> {
        match self {
            Self::Other(resource::STORAGE_IMAGE) => Some(TextureKind::StorageImage),
            Self::Other(resource::SAMPLED_IMAGE) => Some(TextureKind::SampledImage),
            Self::Other(resource::SAMPLED) => Some(TextureKind::CombinedSampler),
            Self::Other(resource::SAMPLER) => Some(TextureKind::Sampler),
            Self::Other(resource::UNIFORM_TEXELS) => Some(TextureKind::UniformTexels),
            Self::Other(resource::STORAGE_TEXELS) => Some(TextureKind::StorageTexels),
            _ => None,
        }
    }

    /// Whether it is an image, or a buffer of texels, that is read through caches that see no writes of the same dispatch.
    pub(crate) fn is_sampled(self) -> bool {
        matches!(
            self.texture(),
            Some(TextureKind::SampledImage | TextureKind::CombinedSampler | TextureKind::UniformTexels)
        )
    }
}

/// The push-constant block of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushLayout {
    /// Bytes from offset zero to the end of the last member.
    pub size: u32,
    /// The scalars in it, nested structures, arrays, vectors and matrices taken apart, by offset.
    pub members: Vec<PushMember>,
}

/// Reflects a pruned module. `names` are debug names by id. `normal` is the kernel's normal form, if
/// it has one: what was found unused there does not stand in the way of regrouping.
pub(super) fn reflect(
    kernel: &str,
    module: &Module,
    normal: Option<&Module>,
    local_size: [u32; 3],
    names: &AHashMap<u32, String>,
) -> Result<Interface, KernelError> {
    let (defs, types) = (Defs::new(module), Types::new(module));
    let variables = variables(module, &defs);
    let used = Used::of(normal.unwrap_or(module));
    let (addressing, memory_model) = models(module);
    let capabilities: Vec<Capability> = module
        .capabilities
        .iter()
        .filter_map(|inst| match inst.operands.first() {
            Some(Operand::Capability(capability)) => Some(*capability),
            _ => None,
        })
        .collect();
    Ok(Interface {
        local_size,
        bindings: bindings(module, &defs, &types, &variables, names),
        push: push(kernel, &types, &variables)?,
        item_only: used.item_only(),
        builtins: used.builtins,
        workgroup_bytes: u32::try_from(used.workgroup_bytes).unwrap_or(u32::MAX),
        has_barrier: used.barrier,
        has_atomics: used.atomics,
        has_subgroup_ops: used.subgroup,
        uses_device_addresses: addressing != AddressingModel::Logical
            || capabilities.contains(&Capability::PhysicalStorageBufferAddresses),
        capabilities,
        modes: modes::of(module),
        extensions: module
            .extensions
            .iter()
            .filter_map(|inst| match inst.operands.first() {
                Some(Operand::LiteralString(name)) => Some(name.clone()),
                _ => None,
            })
            .collect(),
        version: module.header.as_ref().map_or((1, 0), |header| header.version()),
        memory_model,
    })
}

/// Addressing and memory model.
pub(super) fn models(module: &Module) -> (AddressingModel, MemoryModel) {
    let operands = module.memory_model.as_ref().map(|inst| inst.operands.as_slice());
    match operands {
        Some([Operand::AddressingModel(addressing), Operand::MemoryModel(memory)]) => (*addressing, *memory),
        _ => (AddressingModel::Logical, MemoryModel::GLSL450),
    }
}

fn bindings(
    module: &Module,
    defs: &Defs<'_>,
    types: &Types,
    variables: &[Variable],
    names: &AHashMap<u32, String>,
) -> Vec<Binding> {
    let touched = Touched::of(module, defs, variables);
    let dynamic = dynamic(module, defs);
    let mut list: BTreeMap<SetBinding, Binding> = BTreeMap::new();
    for variable in variables {
        let Role::Resource { at, kind, array } = variable.role else {
            continue;
        };
        let buffer = matches!(kind, Kind::StorageBuffer | Kind::UniformBuffer);
        let block = buffer.then(|| layout::block(variable.ty, types));
        let name =
            [variable.id, variable.ty].iter().find_map(|id| names.get(id).filter(|name| !name.is_empty()));
        let binding = Binding {
            at,
            kind: match kind {
                _ if array == Some(Length::Unsized) => BindingKind::Other(resource::UNSIZED),
                _ if array == Some(Length::Long) => BindingKind::Other(resource::LONG),
                _ if array == Some(Length::Nested) => BindingKind::Other(resource::NESTED),
                Kind::StorageBuffer => BindingKind::StorageBuffer,
                Kind::UniformBuffer => BindingKind::UniformBuffer,
                Kind::Other(kind) => BindingKind::Other(kind),
            },
            name: name.cloned(),
            reads: false,
            writes: false,
            min_size: block.as_ref().map_or(0, |block| block.fixed),
            runtime_stride: block.and_then(|block| block.runtime_stride),
            array: match array {
                Some(Length::Of(len)) => {
                    Some(DescriptorArray { len, dynamic: dynamic.contains(&variable.id) })
                }
                _ => None,
            },
        };
        for element in 0..binding.array.map_or(1, |array| array.len.max(1)) {
            let at = at.element(element);
            let (reads, writes) = touched.by(variable.id, element);
            let binding = Binding { at, reads, writes, ..binding.clone() };
            match list.get_mut(&at) {
                None => {
                    list.insert(at, binding);
                }
                Some(other) => {
                    // No resource is both, so the kernel cannot run; reports on the module show it.
                    if other.kind != binding.kind {
                        other.kind = BindingKind::Other(resource::MIXED);
                    }
                    merge(other, binding);
                }
            }
        }
    }
    let mut bindings: Vec<Binding> = list.into_values().collect();
    for of_one in bindings.chunk_by_mut(|a, b| a.at.whole() == b.at.whole()) {
        whole(of_one);
    }
    bindings
}

/// Makes elements of one binding agree, which several variables may view as arrays of several lengths.
fn whole(elements: &mut [Binding]) {
    let Some(dynamic) = elements.iter().filter_map(|one| Some(one.array?.dynamic)).reduce(|a, b| a | b)
    else {
        return;
    };
    let array = Some(DescriptorArray { len: elements.len() as u32, dynamic });
    let mixed = elements.iter().any(|one| one.kind != elements[0].kind);
    for one in elements {
        one.array = array;
        if mixed {
            one.kind = BindingKind::Other(resource::MIXED);
        }
    }
}

/// The variables that are arrays of descriptors and are indexed by something other than a constant.
fn dynamic(module: &Module, defs: &Defs<'_>) -> AHashSet<u32> {
    let of_variable = |inst: &Instruction| {
        let Role::Resource { array: Some(_), .. } = resource::role_of(inst, defs)? else { return None };
        let (_, array) = defs.pointer(inst.result_type?)?;
        Some((inst.result_id?, array))
    };
    let arrays: Vec<(u32, u32)> = module.types_global_values.iter().filter_map(of_variable).collect();
    if arrays.is_empty() {
        return AHashSet::new();
    }
    let mut types = AHashSet::new();
    for inst in module.functions.iter().flat_map(|f| f.all_inst_iter()) {
        let number = match inst.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain => 1,
            Op::PtrAccessChain | Op::InBoundsPtrAccessChain => 2,
            _ => continue,
        };
        let id = |number: usize| inst.operands.get(number).and_then(Operand::id_ref_any);
        let pointee = id(0).and_then(|base| Some(defs.pointer(defs.type_of(base)?)?.1));
        let Some(array) = pointee.filter(|pointee| arrays.iter().any(|(_, array)| array == pointee)) else {
            continue;
        };
        if id(number).is_some_and(|index| defs.constant(index).is_none()) {
            types.insert(array);
        }
    }
    arrays.iter().filter(|(_, array)| types.contains(array)).map(|(id, _)| *id).collect()
}

/// Several variables may view one binding, for instance as floats and as vectors.
fn merge(into: &mut Binding, other: Binding) {
    into.reads |= other.reads;
    into.writes |= other.writes;
    into.min_size = into.min_size.max(other.min_size);
    into.runtime_stride = match (into.runtime_stride, other.runtime_stride) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    if into.name.is_none() {
        into.name = other.name;
    }
}

fn push(kernel: &str, types: &Types, variables: &[Variable]) -> Result<Option<PushLayout>, KernelError> {
    let Some(variable) = variables.iter().find(|variable| variable.role == Role::Push) else {
        return Ok(None);
    };
    let bytes = layout::block(variable.ty, types).fixed;
    if bytes > MAX_PUSH_BYTES {
        return Err(KernelError::PushConstants { kernel: kernel.to_owned(), bytes, limit: MAX_PUSH_BYTES });
    }
    Ok(Some(PushLayout { size: bytes as u32, members: layout::scalars(variable.ty, types) }))
}

/// Which variables are read and written, and which elements of arrays of descriptors.
struct Touched {
    /// Pointers to elements of the arrays whose elements are all chosen by constants, by variable, with the number of the element.
    elements: AHashMap<u32, Vec<(u32, u32)>>,
    /// Variables, and of these arrays the pointers to elements.
    reads: AHashSet<u32>,
    writes: AHashSet<u32>,
}

impl Touched {
    fn of(module: &Module, defs: &Defs<'_>, variables: &[Variable]) -> Touched {
        let elements = elements(module, defs, variables);
        let roots_of = |variable: &&Variable| match elements.get(&variable.id) {
            Some(chosen) => chosen.iter().map(|&(pointer, _)| pointer).collect(),
            None => vec![variable.id],
        };
        let (handles, buffers): (Vec<&Variable>, Vec<&Variable>) = variables
            .iter()
            .filter(|variable| matches!(variable.role, Role::Resource { .. }))
            .partition(|variable| {
                let Role::Resource { kind, .. } = variable.role else {
                    return false;
                };
                matches!(kind, Kind::Other(_))
            });
        let (handles, buffers): (Vec<u32>, Vec<u32>) =
            (handles.iter().flat_map(roots_of).collect(), buffers.iter().flat_map(roots_of).collect());
        let mut touched = Touched { elements, reads: AHashSet::new(), writes: AHashSet::new() };
        let roots = Roots::trace(module, buffers.into_iter());
        touched.collect(module, &roots, touch_memory);
        if !handles.is_empty() {
            let roots = Roots::trace_handles(module, handles.into_iter());
            touched.collect(module, &roots, touch_handle);
        }
        touched
    }

    fn collect(&mut self, module: &Module, roots: &Roots, touch: impl Fn(&Instruction, usize) -> Touch) {
        for inst in module.functions.iter().flat_map(|f| f.all_inst_iter()) {
            for (index, operand) in inst.operands.iter().enumerate() {
                let pointed = operand.id_ref_any().map_or(&[][..], |id| roots.of(id));
                if pointed.is_empty() {
                    continue;
                }
                let touch = touch(inst, index);
                if matches!(touch, Touch::Read | Touch::Both | Touch::Escapes) {
                    self.reads.extend(pointed);
                }
                if matches!(touch, Touch::Write | Touch::Both | Touch::Escapes) {
                    self.writes.extend(pointed);
                }
            }
        }
    }

    /// Whether an element is read and written; of what is no array, whether the variable is.
    fn by(&self, variable: u32, element: u32) -> (bool, bool) {
        let Some(chosen) = self.elements.get(&variable) else {
            return (self.reads.contains(&variable), self.writes.contains(&variable));
        };
        let is_in =
            |touched: &AHashSet<u32>| chosen.iter().any(|(id, of)| *of == element && touched.contains(id));
        (is_in(&self.reads), is_in(&self.writes))
    }
}

/// The arrays of descriptors that nothing but access chains by constants uses: the pointers these make, and to which element.
fn elements(module: &Module, defs: &Defs<'_>, variables: &[Variable]) -> AHashMap<u32, Vec<(u32, u32)>> {
    let len_of = |variable: &Variable| match variable.role {
        Role::Resource { array: Some(Length::Of(len)), .. } => Some((variable.id, len)),
        _ => None,
    };
    let lens: AHashMap<u32, u32> = variables.iter().filter_map(len_of).collect();
    let mut elements: AHashMap<u32, Vec<(u32, u32)>> = lens.keys().map(|id| (*id, Vec::new())).collect();
    if lens.is_empty() {
        return elements;
    }
    for inst in module.functions.iter().flat_map(|f| f.all_inst_iter()) {
        let named =
            inst.operands.iter().enumerate().filter_map(|(n, operand)| Some((n, operand.id_ref_any()?)));
        for (number, array) in named.filter(|(_, id)| lens.contains_key(id)) {
            let is_chain = matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain);
            let index = inst.operands.get(1).and_then(Operand::id_ref_any);
            let element = index.and_then(|index| defs.constant(index)).filter(|_| is_chain && number == 0);
            match (element, inst.result_id) {
                (Some(element), Some(pointer)) if element < u64::from(lens[&array]) => {
                    elements.entry(array).and_modify(|all| all.push((pointer, element as u32)));
                }
                _ => {
                    elements.remove(&array);
                }
            }
        }
    }
    elements
}

/// What an instruction does with a pointer. Passing it on is followed by the tracing; whatever is not
/// known may do anything.
fn touch_memory(inst: &Instruction, operand: usize) -> Touch {
    match inst.class.opcode {
        Op::Select | Op::Phi | Op::FunctionCall | Op::PtrAccessChain => Touch::None,
        Op::InBoundsPtrAccessChain | Op::PtrEqual | Op::PtrNotEqual | Op::PtrDiff => Touch::None,
        _ => touch(inst, operand),
    }
}

/// What decides how a kernel may be grouped.
struct Used {
    builtins: Vec<BuiltIn>,
    workgroup_bytes: u64,
    barrier: bool,
    atomics: bool,
    subgroup: bool,
}

impl Used {
    fn of(module: &Module) -> Used {
        let (defs, types) = (Defs::new(module), Types::new(module));
        let mut used = Used {
            builtins: Vec::new(),
            workgroup_bytes: 0,
            barrier: false,
            atomics: false,
            subgroup: false,
        };
        let explicit = Operand::Capability(Capability::WorkgroupMemoryExplicitLayoutKHR);
        let explicit = module.capabilities.iter().any(|inst| inst.operands.contains(&explicit));
        for variable in variables(module, &defs) {
            match variable.role {
                Role::BuiltIn(builtin) => used.builtins.push(builtin),
                Role::Workgroup => {
                    let (size, align) = layout::shared(variable.ty, &types);
                    // Blocks all begin at the first byte.
                    used.workgroup_bytes = match layout::block(variable.ty, &types).fixed {
                        fixed @ 1.. if explicit => used.workgroup_bytes.max(fixed),
                        _ => layout::round_up(used.workgroup_bytes, align).saturating_add(size),
                    };
                }
                _ => {}
            }
        }
        used.builtins.sort_by_key(|builtin| *builtin as u32);
        used.builtins.dedup();
        used.subgroup = used.builtins.iter().any(|builtin| is_subgroup_builtin(*builtin));
        for inst in module.functions.iter().flat_map(|f| f.all_inst_iter()) {
            let op = inst.class.opcode;
            used.barrier |= op == Op::ControlBarrier;
            used.atomics |= has(op, ATOMIC);
            used.subgroup |= is_subgroup(op);
        }
        used
    }

    fn item_only(&self) -> bool {
        let global_id_only = self.builtins.iter().all(|builtin| *builtin == BuiltIn::GlobalInvocationId);
        global_id_only && self.workgroup_bytes == 0 && !self.barrier && !self.subgroup
    }
}

/// Whether a built-in is of a sub-group.
pub(crate) fn is_subgroup_builtin(builtin: BuiltIn) -> bool {
    matches!(
        builtin,
        BuiltIn::SubgroupSize
            | BuiltIn::NumSubgroups
            | BuiltIn::SubgroupId
            | BuiltIn::SubgroupLocalInvocationId
            | BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask
    )
}

/// Whether an instruction communicates within a sub-group. Opcodes of one extension are consecutive.
fn is_subgroup(op: Op) -> bool {
    let code = op as u32;
    let families = [
        Op::GroupAll as u32..=Op::GroupSMax as u32,
        Op::GroupNonUniformElect as u32..=Op::GroupNonUniformQuadSwap as u32,
        Op::SubgroupBallotKHR as u32..=Op::SubgroupReadInvocationKHR as u32,
        Op::GroupIAddNonUniformAMD as u32..=Op::GroupSMaxNonUniformAMD as u32,
        Op::GroupNonUniformQuadAllKHR as u32..=Op::GroupNonUniformQuadAnyKHR as u32,
        Op::GroupNonUniformPartitionEXT as u32..=Op::GroupNonUniformPartitionEXT as u32,
        Op::SubgroupShuffleINTEL as u32..=Op::SubgroupImageMediaBlockWriteINTEL as u32,
        Op::GroupIMulKHR as u32..=Op::GroupLogicalXorKHR as u32,
    ];
    families.iter().any(|family| family.contains(&code))
}
