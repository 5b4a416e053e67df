//! Types: how many lanes a value has, and where its scalars lie in byte memory.

use rspirv::spirv::StorageClass;

use super::image::ImageType;
use super::scan::Raw;
use super::{Decoded, LANE_LIMIT};
use crate::arith::Num;
use crate::error::OracleError;
use crate::memory::GARBAGE;
use crate::program::NULL;

#[derive(Clone, Debug, Default)]
pub(super) enum Type {
    /// Not a type.
    #[default]
    None,
    Void,
    Scalar(Num),
    Vector {
        of: u32,
        len: u32,
    },
    Matrix {
        of: u32,
        len: u32,
    },
    Array {
        of: u32,
        len: u32,
        stride: Option<u32>,
    },
    RuntimeArray {
        of: u32,
        stride: Option<u32>,
    },
    Struct(Vec<Member>),
    Pointer {
        class: StorageClass,
        to: u32,
        stride: Option<u32>,
    },
    /// An image, alone or with its sampler. The handle is the number of its binding, and one more than that of a sampler or 0 where the
    /// sampler is in the same binding.
    Image(ImageType),
    /// A sampler in a binding of its own. The handle is one more than its number, and 0.
    Sampler,
    /// Other images, functions, …
    Opaque,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) ty: u32,
    /// First lane in the structure.
    pub(super) lane: u32,
    /// Byte offset, if the structure has an explicit layout.
    pub(super) offset: Option<u32>,
    pub(super) matrix: Option<MatrixLayout>,
}

/// How the matrices in a member lie in byte memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MatrixLayout {
    pub(super) stride: u32,
    pub(super) row_major: bool,
}

/// All types of a module, by id.
pub(super) struct Shapes {
    types: Vec<Type>,
    lanes: Vec<u32>,
}

impl Shapes {
    pub(super) fn new(bound: usize) -> Self {
        Self { types: vec![Type::None; bound], lanes: vec![0; bound] }
    }

    pub(super) fn get(&self, id: u32) -> &Type {
        self.types.get(id as usize).unwrap_or(&Type::None)
    }

    pub(super) fn is_known(&self, id: u32) -> bool {
        !matches!(self.get(id), Type::None)
    }

    /// Lanes of a value of that type; 0 for what is no value or has no fixed size.
    pub(super) fn lanes(&self, id: u32) -> u32 {
        self.lanes.get(id as usize).copied().unwrap_or(0)
    }

    pub(super) fn define(&mut self, raw: &Raw<'_>, ty: Type) -> Decoded<()> {
        let times = |of: u32, len: u32| u64::from(self.lanes(of)) * u64::from(len);
        let lanes = match &ty {
            Type::None | Type::Void | Type::RuntimeArray { .. } | Type::Opaque => 0,
            Type::Scalar(_) => 1,
            Type::Vector { of, len } | Type::Matrix { of, len } | Type::Array { of, len, .. } => {
                times(*of, *len)
            }
            Type::Struct(members) => {
                members.last().map_or(0, |last| u64::from(last.lane) + u64::from(self.lanes(last.ty)))
            }
            Type::Pointer { .. } | Type::Image(_) | Type::Sampler => 2,
        };
        if lanes > LANE_LIMIT {
            return Err(OracleError::Limit {
                what: "the scalars in a type",
                asked: lanes,
                limit: LANE_LIMIT,
            });
        }
        let slot = self.types.get_mut(raw.id as usize).ok_or_else(|| raw.malformed("id over the bound"))?;
        if !matches!(slot, Type::None) {
            return Err(raw.malformed("a type is defined twice"));
        }
        *slot = ty;
        self.lanes[raw.id as usize] = lanes as u32;
        Ok(())
    }

    /// Type of the scalars of a scalar, vector or matrix (or array of such).
    pub(super) fn num(&self, id: u32, raw: &Raw<'_>) -> Decoded<Num> {
        match *self.get(id) {
            Type::Scalar(num) => Ok(num),
            Type::Vector { of, .. } | Type::Matrix { of, .. } | Type::Array { of, .. } => self.num(of, raw),
            _ => Err(raw.unsupported("an operand is not numeric")),
        }
    }

    /// Width in bits of a scalar.
    pub(super) fn bits(&self, id: u32, raw: &Raw<'_>) -> Decoded<u32> {
        Ok(self.num(id, raw)?.bits())
    }

    /// Type and first lane of one part of a composite.
    pub(super) fn part(&self, id: u32, index: u32, raw: &Raw<'_>) -> Decoded<(u32, u32)> {
        let inside =
            |len: u32| if index < len { Ok(()) } else { Err(raw.malformed("index outside a composite")) };
        match self.get(id) {
            Type::Vector { of, len } | Type::Matrix { of, len } | Type::Array { of, len, .. } => {
                inside(*len)?;
                Ok((*of, index * self.lanes(*of)))
            }
            Type::Struct(members) => {
                inside(members.len() as u32)?;
                let member = members[index as usize];
                Ok((member.ty, member.lane))
            }
            _ => Err(raw.malformed("not a composite")),
        }
    }

    /// Type and first lane of what a path of literal indices leads to.
    pub(super) fn path(&self, id: u32, path: &[u32], raw: &Raw<'_>) -> Decoded<(u32, u32)> {
        let (mut ty, mut lane) = (id, 0);
        for &index in path {
            let (part, first) = self.part(ty, index, raw)?;
            (ty, lane) = (part, lane + first);
        }
        Ok((ty, lane))
    }

    /// Lanes of an undefined value. Each is a value of its type, so that what it reaches stays defined.
    pub(super) fn garbage(&self, id: u32, out: &mut Vec<u64>) {
        // Nothing may repeat without bound, not even nothing.
        if self.lanes(id) == 0 {
            return;
        }
        match self.get(id) {
            Type::Scalar(num) => out.push(GARBAGE & num.mask()),
            Type::Vector { of, len } | Type::Matrix { of, len } | Type::Array { of, len, .. } => {
                for _ in 0..*len {
                    self.garbage(*of, out);
                }
            }
            Type::Struct(members) => members.iter().for_each(|member| self.garbage(member.ty, out)),
            Type::Pointer { .. } | Type::Image(_) | Type::Sampler => out.extend([NULL, 0]),
            Type::None | Type::Void | Type::RuntimeArray { .. } | Type::Opaque => {}
        }
    }

    /// Lanes of `OpConstantNull`.
    pub(super) fn null(&self, id: u32, out: &mut Vec<u64>) {
        let first = out.len();
        self.garbage(id, out);
        for lane in &mut out[first..] {
            *lane = if *lane == NULL { NULL } else { 0 };
        }
    }
}
