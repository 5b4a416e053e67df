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
//! What is written in which order stands in one place for both ways: `structure!` and `enumeration!`, below.
//!
//! # Guarantees
//! - decoding believes no length, flag or number, and accepts nothing that encoding would not have written
//! - modules pass the same checks as those of users before they are parsed, except for validation: the caches guarantee by a checksum
//!   that a module is the one that was validated

use rspirv::binary::Assemble;
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
        let mut out = Vec::with_capacity(8 * (strict.len() + contract.len()));
        repaired.write(&mut out);
        interface.write(&mut out);
        strict.write(&mut out);
        contract.write(&mut out);
        match normal {
            Ok(module) => {
                out.push(0);
                module.assemble().write(&mut out);
            }
            Err(reason) => {
                out.push(1);
                reason.write(&mut out);
            }
        }
        out
    }

    /// The artifact that was encoded as these bytes; `None` for any others.
    pub(in crate::frontend) fn decode(bytes: &[u8]) -> Option<KernelArtifact> {
        let mut from = Reader(bytes);
        let artifact = Self::read(&mut from).ok()?;
        from.0.is_empty().then_some(artifact)
    }

    fn read(from: &mut Reader<'_>) -> Read<Self> {
        Ok(KernelArtifact {
            repaired: if from.flag()? { Some(from.module()?) } else { None },
            interface: Coded::read(from)?,
            plain: Plain { strict: from.module()?, contract: from.module()? },
            normal: match from.flag()? {
                false => Ok(load::module(&from.module()?).map_err(|_| Malformed)?),
                true => Err(Coded::read(from)?),
            },
        })
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

    fn flag(&mut self) -> Read<bool> {
        let [flag] = self.flags()?;
        Ok(flag)
    }

    fn flags<const N: usize>(&mut self) -> Read<[bool; N]> {
        let bits = u8::read(self)?;
        (bits >> N == 0).then(|| std::array::from_fn(|at| bits >> at & 1 == 1)).ok_or(Malformed)
    }

    fn length(&mut self) -> Read<usize> {
        Ok(u32::read(self)? as usize)
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
}

/// What is written and read back.
trait Coded: Sized {
    /// Appends its bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// Takes it from the front of what is left.
    fn read(from: &mut Reader<'_>) -> Read<Self>;
}

macro_rules! integers {
    ($($name:ident)*) => {$(
        impl Coded for $name {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut Reader<'_>) -> Read<Self> {
                let bytes = from.take(size_of::<$name>())?;
                bytes.try_into().map($name::from_le_bytes).map_err(|_| Malformed)
            }
        }
    )*};
}

integers! { u8 u32 u64 }

/// Enumerations of SPIR-V, by their numbers there.
macro_rules! numbers {
    ($($name:ident)*) => {$(
        impl Coded for $name {
            fn write(&self, out: &mut Vec<u8>) {
                (*self as u32).write(out);
            }

            fn read(from: &mut Reader<'_>) -> Read<Self> {
                $name::from_u32(u32::read(from)?).ok_or(Malformed)
            }
        }
    )*};
}

numbers! { BuiltIn Capability MemoryModel }

/// A structure: its fields in order, flags that follow each other as the bits of one byte.
macro_rules! structure {
    ($name:ident { $($($field:ident)? $([$($flag:ident)+])?,)* }) => {
        impl Coded for $name {
            fn write(&self, out: &mut Vec<u8>) {
                let $name { $($($field)? $($($flag),+)?),* } = self;
                $(
                    $($field.write(out);)?
                    $(write_flags([$(*$flag),+], out);)?
                )*
            }

            fn read(from: &mut Reader<'_>) -> Read<Self> {
                $(
                    $(let $field = Coded::read(from)?;)?
                    $(let [$($flag),+] = from.flags()?;)?
                )*
                Ok($name { $($($field)? $($($flag),+)?),* })
            }
        }
    };
}

structure! {
    Interface {
        local_size,
        bindings,
        push,
        builtins,
        workgroup_bytes,
        [has_barrier has_atomics has_subgroup_ops uses_device_addresses item_only],
        capabilities,
        extensions,
        modes,
        version,
        memory_model,
    }
}
structure! { Binding { at, kind, name, [reads writes], min_size, runtime_stride, array, } }
structure! { SetBinding { set, binding, element, } }
structure! { DescriptorArray { len, [dynamic], } }
structure! { PushLayout { size, members, } }
structure! { PushMember { offset, size, class, } }
structure! { Mode { number, operands, } }

fn write_flags<const N: usize>(flags: [bool; N], out: &mut Vec<u8>) {
    out.push(flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
}

/// An enumeration: a byte that says which variant it is, then what that holds.
macro_rules! enumeration {
    ($name:ident { $($number:literal $variant:ident $(($value:ident))? $({ $($field:ident),* })?,)* }) => {
        impl Coded for $name {
            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant $(($value))? $({ $($field),* })? => {
                        out.push($number);
                        $($value.write(out);)?
                        $($($field.write(out);)*)?
                    })*
                }
            }

            fn read(from: &mut Reader<'_>) -> Read<Self> {
                Ok(match u8::read(from)? {
                    $($number => {
                        $(let $value = Coded::read(from)?;)?
                        $($(let $field = Coded::read(from)?;)*)?
                        $name::$variant $(($value))? $({ $($field),* })?
                    })*
                    _ => return Err(Malformed),
                })
            }
        }
    };
}

enumeration! { ScalarClass { 0 Int, 1 Uint, 2 Float, 3 Address, } }
enumeration! { BindingKind { 0 StorageBuffer, 1 UniformBuffer, 2 Other(kind), } }
enumeration! {
    KernelReason {
        0 Capability(text),
        1 Resource { at, kind },
        2 DescriptorArray { at },
        3 DeviceAddresses,
        4 MemoryModel(text),
        5 VariablePointer { at, op },
        6 Volatile { at },
        7 Call,
        8 TooLarge { instructions, limit },
        9 ExecutionMode(text),
        10 InstructionSet(text),
        11 Instruction(text),
        12 Optimizer(text),
        13 AddressingModel(text),
        14 RecursivePointers,
        15 Newer { capability, tool },
        17 NewerMode { mode, tool },
    }
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    // Modules are bounded by the gate, and everything here is bounded by them.
    u32::try_from(length).expect("invariant: no list of a kernel has 2^32 members").write(out);
}

impl Coded for String {
    fn write(&self, out: &mut Vec<u8>) {
        write_length(self.len(), out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Read<Self> {
        let length = from.length()?;
        let text = std::str::from_utf8(from.take(length)?).map_err(|_| Malformed)?;
        Ok(text.to_owned())
    }
}

/// A kind of resource.
impl Coded for &'static str {
    fn write(&self, out: &mut Vec<u8>) {
        (*self).to_owned().write(out);
    }

    fn read(from: &mut Reader<'_>) -> Read<Self> {
        let text = String::read(from)?;
        resource::KINDS.iter().copied().find(|kind| *kind == text).ok_or(Malformed)
    }
}

impl<T: Coded> Coded for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        self.iter().for_each(|value| value.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Read<Self> {
        if from.flag()? { T::read(from).map(Some) } else { Ok(None) }
    }
}

/// A list of what takes at least a byte each.
impl<T: Coded> Coded for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        write_length(self.len(), out);
        self.iter().for_each(|item| item.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Read<Self> {
        let length = from.length()?;
        if length > from.0.len() {
            return Err(Malformed);
        }
        (0..length).map(|_| T::read(from)).collect()
    }
}

impl Coded for Box<[u32]> {
    fn write(&self, out: &mut Vec<u8>) {
        self.to_vec().write(out);
    }

    fn read(from: &mut Reader<'_>) -> Read<Self> {
        Vec::read(from).map(Vec::into)
    }
}

impl Coded for [u32; 3] {
    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|number| number.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Read<Self> {
        Ok([u32::read(from)?, u32::read(from)?, u32::read(from)?])
    }
}

impl Coded for (u8, u8) {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend([self.0, self.1]);
    }

    fn read(from: &mut Reader<'_>) -> Read<Self> {
        Ok((u8::read(from)?, u8::read(from)?))
    }
}
