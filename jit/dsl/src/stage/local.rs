//! Local variables: structs of numbers, or arrays of numbers, but nothing that has both. A struct with an array in it is a
//! variable for each field, and an array of structs is an array for each field of these, inside out: one driver takes wrong
//! elements of arrays of structs. Values are as Rust has them; only memory that can be indexed is taken apart.

use std::rc::Rc;

use rspirv::{
    dr::{Instruction, Operand},
    spirv::{Op, StorageClass},
};

use super::builder::Builder;
use crate::shape::Shape;

/// What a place is a part of.
#[derive(Clone, Debug)]
pub(super) enum Root {
    /// A variable.
    One(u32),
    /// Variables for each field, of a struct or of the structs in an array: indices on the way to these are those of the fields.
    Fields(Rc<[Root]>),
}

impl Builder {
    /// A variable of the function of one type.
    pub(super) fn temporary(&mut self, ty: u32) -> u32 {
        let pointer = self.pointer(StorageClass::Function, ty);
        let id = self.fresh();
        let operands = vec![Operand::StorageClass(StorageClass::Function)];
        self.function().variables.push(Instruction::new(Op::Variable, Some(pointer), Some(id), operands));
        id
    }

    /// A local whose parts are read or assigned to.
    pub(super) fn local(&mut self, shape: &Shape) -> Root {
        self.local_inside(shape, &mut Vec::new())
    }

    fn local_inside(&mut self, shape: &Shape, extents: &mut Vec<u32>) -> Root {
        match shape {
            Shape::Struct(fields) if !extents.is_empty() || shape.has_array() => {
                let fields = fields.fields.iter().map(|field| self.local_inside(&field.shape, extents));
                Root::Fields(fields.collect())
            }
            Shape::Array(element, n) if element.has_struct() => {
                extents.push(*n);
                let root = self.local_inside(element, extents);
                extents.pop();
                root
            }
            _ => {
                let ty = self.value_type(shape);
                let ty = self.array_of_arrays(ty, extents);
                Root::One(self.temporary(ty))
            }
        }
    }

    /// Puts a value into memory of its own.
    pub(super) fn spill(&mut self, value: u32, shape: &Shape) -> Root {
        let root = self.local(shape);
        self.store_local(&root, &[], shape, value);
        root
    }

    /// Loads a part of a local.
    pub(super) fn load_local(&mut self, root: &Root, indices: &[u32], shape: &Shape) -> u32 {
        self.load_elements(root, indices, shape, &mut Vec::new())[0]
    }

    /// Loads all elements of arrays of arrays, in order.
    fn load_elements(
        &mut self,
        root: &Root,
        indices: &[u32],
        shape: &Shape,
        extents: &mut Vec<u32>,
    ) -> Vec<u32> {
        let (ty, count) = (self.value_type(shape), count(extents));
        match (root, shape) {
            (Root::Fields(roots), Shape::Struct(fields)) => {
                let columns: Vec<Vec<u32>> = (roots.iter().zip(&fields.fields))
                    .map(|(root, field)| self.load_elements(root, indices, &field.shape, extents))
                    .collect();
                let row = |k: usize| columns.iter().map(|column| column[k]).collect::<Vec<u32>>();
                (0..count).map(|k| self.op(Op::CompositeConstruct, ty, &row(k))).collect()
            }
            (Root::Fields(_), Shape::Array(element, n)) => {
                extents.push(*n);
                let all = self.load_elements(root, indices, element, extents);
                extents.pop();
                let n = *n as usize;
                (0..count).map(|k| self.op(Op::CompositeConstruct, ty, &all[k * n..][..n])).collect()
            }
            (root, _) => {
                let array = self.array_of_arrays(ty, extents);
                let pointer = self.chain(StorageClass::Function, root.variable(), indices, array);
                let all = self.load(pointer, array);
                if extents.is_empty() {
                    return vec![all];
                }
                let way = |k| [Operand::IdRef(all)].into_iter().chain(coordinates(k, extents)).collect();
                (0..count).map(|k| self.emit(Op::CompositeExtract, ty, way(k))).collect()
            }
        }
    }

    /// Stores a part of a local.
    pub(super) fn store_local(&mut self, root: &Root, indices: &[u32], shape: &Shape, value: u32) {
        self.store_elements(root, indices, shape, &mut Vec::new(), &[value]);
    }

    /// Stores all elements of arrays of arrays, in order.
    fn store_elements(
        &mut self,
        root: &Root,
        indices: &[u32],
        shape: &Shape,
        extents: &mut Vec<u32>,
        values: &[u32],
    ) {
        match (root, shape) {
            (Root::Fields(roots), Shape::Struct(fields)) => {
                for ((k, root), field) in (0..).zip(roots.iter()).zip(&fields.fields) {
                    let column: Vec<u32> = values.iter().map(|&v| self.part_of(&field.shape, v, k)).collect();
                    self.store_elements(root, indices, &field.shape, extents, &column);
                }
            }
            (Root::Fields(_), Shape::Array(element, n)) => {
                let each = values.iter().flat_map(|&value| (0..*n).map(move |k| (value, k)));
                let all: Vec<u32> = each.map(|(value, k)| self.part_of(element, value, k)).collect();
                extents.push(*n);
                self.store_elements(root, indices, element, extents, &all);
                extents.pop();
            }
            (root, _) => {
                let ty = self.value_type(shape);
                let (array, value) = (self.array_of_arrays(ty, extents), self.gathered(ty, extents, values));
                let pointer = self.chain(StorageClass::Function, root.variable(), indices, array);
                self.store(pointer, value);
            }
        }
    }

    /// A part of a composite; of a constant one, the constant.
    fn part_of(&mut self, shape: &Shape, composite: u32, k: u32) -> u32 {
        let known = self.constants.get(&composite).and_then(|parts| parts.get(k as usize));
        known.copied().unwrap_or_else(|| self.extract(shape, composite, k))
    }

    fn array_of_arrays(&mut self, ty: u32, extents: &[u32]) -> u32 {
        extents.iter().rev().fold(ty, |ty, &n| self.array_type(ty, n))
    }

    /// An array of arrays, from all its elements in order.
    fn gathered(&mut self, ty: u32, extents: &[u32], values: &[u32]) -> u32 {
        let Some((&n, inner)) = extents.split_first() else { return values[0] };
        let size = count(inner);
        let parts: Vec<u32> =
            (0..n as usize).map(|k| self.gathered(ty, inner, &values[k * size..][..size])).collect();
        let array = self.array_of_arrays(ty, extents);
        if parts.iter().all(|id| self.constants.contains_key(id)) {
            let parts = parts.into_iter().map(Operand::IdRef).collect();
            return self.global(Op::ConstantComposite, Some(array), parts);
        }
        self.op(Op::CompositeConstruct, array, &parts)
    }
}

impl Root {
    pub(super) fn variable(&self) -> u32 {
        match self {
            Root::One(id) => *id,
            Root::Fields(_) => unreachable!("invariant: a struct or an array of structs has fields"),
        }
    }
}

/// Number of elements of arrays of arrays.
fn count(extents: &[u32]) -> usize {
    extents.iter().map(|&n| n as usize).product()
}

/// Where an element is, in each of the arrays around.
fn coordinates(k: usize, extents: &[u32]) -> Vec<Operand> {
    let inside = |d: usize| count(&extents[d + 1..]);
    let at = |(d, &n): (usize, &u32)| Operand::LiteralBit32((k / inside(d)) as u32 % n);
    extents.iter().enumerate().map(at).collect()
}
