//! A [`KernelArtifact`] in bytes, and back.
//!
//! Numbers are little endian; a text and a list have their length in front (u32); an optional value has a byte, 0 or 1; an
//! enumeration its number in SPIR-V, or the number given here.
//!
//! ```text
//! artifact  = repaired: words?, interface, plain: words words, normal: 0 words | 1 reason
//! interface = local size: u32×3, bindings, push?, built-ins, shared bytes: u32, flags: u8, capabilities, extensions,
//!             modes: (number: u32, operands: u32*)*, version: u8 u8, memory model: u32
//! binding   = set: u32, binding: u32, element: u32, kind: u8 [text], name: text?, flags: u8, least size: u64, stride: u32?,
//!             array: [elements: u32, flags: u8]?
//! push      = size: u32, members: (offset: u32, size: u32, class: u8)*
//! ```
//!
//! # Guarantees
//! - decoding believes no length, flag or number, and accepts nothing that encoding would not have written
//! - modules pass the same checks as those of users before they are parsed, except for validation: the caches guarantee by a checksum
//!   that a module is the one that was validated

use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::spirv::{BuiltIn, Capability, MemoryModel};

use super::KernelArtifact;
use crate::frontend::layout::{PushMember, ScalarClass};
use crate::frontend::modes::Mode;
use crate::frontend::plain::Plain;
use crate::frontend::reason::KernelReason;
use crate::frontend::reflect::{Binding, BindingKind, DescriptorArray, Interface, PushLayout};
use crate::frontend::set_binding::SetBinding;
use crate::frontend::{guard, load, resource};

impl KernelArtifact {
    /// The artifact in bytes.
    pub(in crate::frontend) fn encode(&self) -> Vec<u8> {
        let KernelArtifact { repaired, interface, plain, normal } = self;
        let Plain { strict, contract } = plain;
        let mut out = Writer(Vec::with_capacity(8 * (strict.len() + contract.len())));
        out.option(repaired.as_ref(), |out, words| out.words(words));
        out.interface(interface);
        out.words(strict);
        out.words(contract);
        match normal {
            Ok(module) => {
                out.u8(0);
                out.words(&module.assemble());
            }
            Err(reason) => {
                out.u8(1);
                out.reason(reason);
            }
        }
        out.0
    }

    /// The artifact that was encoded as these bytes; `None` for any others.
    pub(in crate::frontend) fn decode(bytes: &[u8]) -> Option<KernelArtifact> {
        Reader(bytes).artifact().ok()
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn flags<const N: usize>(&mut self, flags: [bool; N]) {
        self.u8(flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
    }

    fn length(&mut self, length: usize) {
        // Modules are bounded by the gate, and everything here is bounded by them.
        self.u32(u32::try_from(length).expect("invariant: no list of a kernel has 2^32 members"));
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn words(&mut self, words: &[u32]) {
        self.length(words.len());
        words.iter().for_each(|word| self.u32(*word));
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Writer, &T)) {
        self.length(items.len());
        items.iter().for_each(|item| each(self, item));
    }

    fn option<T>(&mut self, value: Option<T>, some: impl FnOnce(&mut Writer, T)) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            some(self, value);
        }
    }

    fn interface(&mut self, interface: &Interface) {
        let Interface {
            local_size,
            bindings,
            push,
            builtins,
            workgroup_bytes,
            has_barrier,
            has_atomics,
            has_subgroup_ops,
            uses_device_addresses,
            item_only,
            capabilities,
            extensions,
            modes,
            version,
            memory_model,
        } = interface;
        local_size.iter().for_each(|size| self.u32(*size));
        self.list(bindings, Writer::binding);
        self.option(push.as_ref(), |out, PushLayout { size, members }| {
            out.u32(*size);
            out.list(members, |out, PushMember { offset, size, class }| {
                out.u32(*offset);
                out.u32(*size);
                out.u8(match class {
                    ScalarClass::Int => 0,
                    ScalarClass::Uint => 1,
                    ScalarClass::Float => 2,
                    ScalarClass::Address => 3,
                });
            });
        });
        self.list(builtins, |out, builtin| out.u32(*builtin as u32));
        self.u32(*workgroup_bytes);
        self.flags([*has_barrier, *has_atomics, *has_subgroup_ops, *uses_device_addresses, *item_only]);
        self.list(capabilities, |out, capability| out.u32(*capability as u32));
        self.list(extensions, |out, extension| out.text(extension));
        self.list(modes, |out, Mode { number, operands }| {
            out.u32(*number);
            out.list(operands, |out, operand| out.u32(*operand));
        });
        self.u8(version.0);
        self.u8(version.1);
        self.u32(*memory_model as u32);
    }

    fn binding(&mut self, binding: &Binding) {
        let Binding { at, kind, name, reads, writes, min_size, runtime_stride, array } = binding;
        self.at(at);
        match kind {
            BindingKind::StorageBuffer => self.u8(0),
            BindingKind::UniformBuffer => self.u8(1),
            BindingKind::Other(kind) => {
                self.u8(2);
                self.text(kind);
            }
        }
        self.option(name.as_ref(), |out, name| out.text(name));
        self.flags([*reads, *writes]);
        self.u64(*min_size);
        self.option(*runtime_stride, Writer::u32);
        self.option(*array, |out, DescriptorArray { len, dynamic }| {
            out.u32(len);
            out.flags([dynamic]);
        });
    }

    fn reason(&mut self, reason: &KernelReason) {
        match reason {
            KernelReason::Capability(text) => self.worded(0, text),
            KernelReason::Resource { at, kind } => {
                self.u8(1);
                self.at(at);
                self.text(kind);
            }
            KernelReason::DescriptorArray { at } => {
                self.u8(2);
                self.at(at);
            }
            KernelReason::DeviceAddresses => self.u8(3),
            KernelReason::MemoryModel(text) => self.worded(4, text),
            KernelReason::VariablePointer { at, op } => {
                self.u8(5);
                self.option(at.as_ref(), Writer::at);
                self.text(op);
            }
            KernelReason::Volatile { at } => {
                self.u8(6);
                self.option(at.as_ref(), Writer::at);
            }
            KernelReason::Call => self.u8(7),
            KernelReason::TooLarge { instructions, limit } => {
                self.u8(8);
                self.u64(*instructions);
                self.u64(*limit);
            }
            KernelReason::ExecutionMode(text) => self.worded(9, text),
            KernelReason::InstructionSet(text) => self.worded(10, text),
            KernelReason::Instruction(text) => self.worded(11, text),
            KernelReason::Optimizer(text) => self.worded(12, text),
            KernelReason::AddressingModel(text) => self.worded(13, text),
            KernelReason::RecursivePointers => self.u8(14),
            KernelReason::Newer { capability, tool } => {
                self.worded(15, capability);
                self.text(tool);
            }
            KernelReason::NewerMode { mode, tool } => {
                self.worded(17, mode);
                self.text(tool);
            }
        }
    }

    fn worded(&mut self, number: u8, text: &str) {
        self.u8(number);
        self.text(text);
    }

    fn at(&mut self, at: &SetBinding) {
        self.u32(at.set);
        self.u32(at.binding);
        self.u32(at.element);
    }
}

/// The bytes are no artifact.
#[derive(Clone, Copy, Debug)]
struct Malformed;

type Read<T> = Result<T, Malformed>;

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    fn u8(&mut self) -> Read<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Read<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Read<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    fn flags<const N: usize>(&mut self) -> Read<[bool; N]> {
        let bits = self.u8()?;
        (bits >> N == 0).then(|| std::array::from_fn(|at| bits >> at & 1 == 1)).ok_or(Malformed)
    }

    fn length(&mut self) -> Read<usize> {
        Ok(self.u32()? as usize)
    }

    fn text(&mut self) -> Read<String> {
        let length = self.length()?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| Malformed)?;
        Ok(text.to_owned())
    }

    /// The words of a module that passes the gate as it is.
    fn module(&mut self) -> Read<Vec<u32>> {
        let length = self.length()?.checked_mul(4).ok_or(Malformed)?;
        let bytes = self.take(length)?;
        let words = guard::from_bytes("kept", bytes).map_err(|_| Malformed)?;
        // The gate would turn one of the other byte order, which was never written.
        let first = words.first().map(|word| word.to_le_bytes());
        if first.is_some_and(|first| bytes.starts_with(&first)) { Ok(words) } else { Err(Malformed) }
    }

    /// A list of what takes at least a byte each.
    fn list<T>(&mut self, each: impl Fn(&mut Reader<'a>) -> Read<T>) -> Read<Vec<T>> {
        let length = self.length()?;
        if length > self.0.len() {
            return Err(Malformed);
        }
        (0..length).map(|_| each(self)).collect()
    }

    fn option<T>(&mut self, some: impl FnOnce(&mut Reader<'a>) -> Read<T>) -> Read<Option<T>> {
        match self.flag()? {
            true => some(self).map(Some),
            false => Ok(None),
        }
    }

    fn artifact(mut self) -> Read<KernelArtifact> {
        let repaired = self.option(Reader::module)?;
        let interface = self.interface()?;
        let plain = Plain { strict: self.module()?, contract: self.module()? };
        let normal: Result<dr::Module, KernelReason> = match self.u8()? {
            0 => Ok(load::module(&self.module()?).map_err(|_| Malformed)?),
            1 => Err(self.reason()?),
            _ => return Err(Malformed),
        };
        let artifact = KernelArtifact { repaired, interface, plain, normal };
        if self.0.is_empty() { Ok(artifact) } else { Err(Malformed) }
    }

    fn interface(&mut self) -> Read<Interface> {
        let local_size = [self.u32()?, self.u32()?, self.u32()?];
        let bindings = self.list(Reader::binding)?;
        let push = self.option(|from| {
            let size = from.u32()?;
            let members = from.list(Reader::push_member)?;
            Ok(PushLayout { size, members })
        })?;
        let builtins = self.list(|from| BuiltIn::from_u32(from.u32()?).ok_or(Malformed))?;
        let workgroup_bytes = self.u32()?;
        let [has_barrier, has_atomics, has_subgroup_ops, uses_device_addresses, item_only] = self.flags()?;
        Ok(Interface {
            local_size,
            bindings,
            push,
            builtins,
            workgroup_bytes,
            has_barrier,
            has_atomics,
            has_subgroup_ops,
            uses_device_addresses,
            item_only,
            capabilities: self.list(|from| Capability::from_u32(from.u32()?).ok_or(Malformed))?,
            extensions: self.list(Reader::text)?,
            modes: self.list(|from| {
                let (number, operands) = (from.u32()?, from.list(Reader::u32)?);
                Ok(Mode { number, operands: operands.into() })
            })?,
            version: (self.u8()?, self.u8()?),
            memory_model: MemoryModel::from_u32(self.u32()?).ok_or(Malformed)?,
        })
    }

    fn push_member(&mut self) -> Read<PushMember> {
        Ok(PushMember {
            offset: self.u32()?,
            size: self.u32()?,
            class: match self.u8()? {
                0 => ScalarClass::Int,
                1 => ScalarClass::Uint,
                2 => ScalarClass::Float,
                3 => ScalarClass::Address,
                _ => return Err(Malformed),
            },
        })
    }

    fn binding(&mut self) -> Read<Binding> {
        let at = self.at()?;
        let kind = match self.u8()? {
            0 => BindingKind::StorageBuffer,
            1 => BindingKind::UniformBuffer,
            2 => BindingKind::Other(self.resource_kind()?),
            _ => return Err(Malformed),
        };
        let name = self.option(Reader::text)?;
        let [reads, writes] = self.flags()?;
        let (min_size, runtime_stride) = (self.u64()?, self.option(Reader::u32)?);
        let array = self.option(|from| {
            let len = from.u32()?;
            let [dynamic] = from.flags()?;
            Ok(DescriptorArray { len, dynamic })
        })?;
        Ok(Binding { at, kind, name, reads, writes, min_size, runtime_stride, array })
    }

    fn resource_kind(&mut self) -> Read<&'static str> {
        let text = self.text()?;
        resource::KINDS.iter().copied().find(|kind| *kind == text).ok_or(Malformed)
    }

    fn reason(&mut self) -> Read<KernelReason> {
        Ok(match self.u8()? {
            0 => KernelReason::Capability(self.text()?),
            1 => KernelReason::Resource { at: self.at()?, kind: self.resource_kind()? },
            2 => KernelReason::DescriptorArray { at: self.at()? },
            3 => KernelReason::DeviceAddresses,
            4 => KernelReason::MemoryModel(self.text()?),
            5 => KernelReason::VariablePointer { at: self.option(Reader::at)?, op: self.text()? },
            6 => KernelReason::Volatile { at: self.option(Reader::at)? },
            7 => KernelReason::Call,
            8 => KernelReason::TooLarge { instructions: self.u64()?, limit: self.u64()? },
            9 => KernelReason::ExecutionMode(self.text()?),
            10 => KernelReason::InstructionSet(self.text()?),
            11 => KernelReason::Instruction(self.text()?),
            12 => KernelReason::Optimizer(self.text()?),
            13 => KernelReason::AddressingModel(self.text()?),
            14 => KernelReason::RecursivePointers,
            15 => KernelReason::Newer { capability: self.text()?, tool: self.text()? },
            17 => KernelReason::NewerMode { mode: self.text()?, tool: self.text()? },
            _ => return Err(Malformed),
        })
    }

    fn at(&mut self) -> Read<SetBinding> {
        Ok(SetBinding { set: self.u32()?, binding: self.u32()?, element: self.u32()? })
    }
}
