//! Loads and stores of whole values, through the types they have in memory.

use rspirv::{
    dr::Operand,
    spirv::{Op, StorageClass},
};

use super::builder::Builder;
use crate::shape::Shape;

/// A pointer to a part of a variable.
#[derive(Clone)]
pub(super) struct Spot {
    pub(super) root: u32,
    pub(super) class: StorageClass,
    pub(super) indices: Vec<u32>,
}

impl Spot {
    fn inside(&self, index: u32) -> Spot {
        let mut spot = self.clone();
        spot.indices.push(index);
        spot
    }
}

impl Builder {
    pub(super) fn chain(&mut self, class: StorageClass, root: u32, indices: &[u32], ty: u32) -> u32 {
        if indices.is_empty() {
            return root;
        }
        let pointer = self.pointer(class, ty);
        let ids: Vec<u32> = [root].into_iter().chain(indices.iter().copied()).collect();
        self.op(Op::AccessChain, pointer, &ids)
    }

    pub(super) fn load(&mut self, pointer: u32, ty: u32) -> u32 {
        self.op(Op::Load, ty, &[pointer])
    }

    pub(super) fn store(&mut self, pointer: u32, value: u32) {
        self.effect(Op::Store, vec![Operand::IdRef(pointer), Operand::IdRef(value)]);
    }

    fn parts(&mut self, shape: &Shape) -> Option<Vec<Shape>> {
        match shape {
            Shape::Scalar(_) => None,
            Shape::Vector(scalar, 3) => Some(vec![Shape::Scalar(*scalar); 3]),
            Shape::Vector(..) => None,
            Shape::Array(element, n) => Some(vec![(**element).clone(); *n as usize]),
            Shape::Struct(shape) => Some(shape.fields.iter().map(|field| field.shape.clone()).collect()),
        }
    }

    /// Loads a value from where it has the layout of buffers.
    pub(super) fn load_laid_out(&mut self, spot: &Spot, shape: &Shape) -> u32 {
        let ty = self.value_type(shape);
        match self.parts(shape) {
            None => {
                let stored = self.memory_type(shape);
                let pointer = self.chain(spot.class, spot.root, &spot.indices, stored);
                let loaded = self.load(pointer, stored);
                self.widened(loaded, shape)
            }
            Some(parts) => {
                let mut values = Vec::new();
                for (k, part) in parts.iter().enumerate() {
                    let index = self.u32(k as u32);
                    values.push(self.load_laid_out(&spot.inside(index), part));
                }
                self.op(Op::CompositeConstruct, ty, &values)
            }
        }
    }

    /// Stores a value to where it has the layout of buffers.
    pub(super) fn store_laid_out(&mut self, spot: &Spot, shape: &Shape, value: u32) {
        let Some(parts) = self.parts(shape) else {
            let ty = self.memory_type(shape);
            let pointer = self.chain(spot.class, spot.root, &spot.indices, ty);
            let stored = self.narrowed(value, shape);
            return self.store(pointer, stored);
        };
        for (k, part) in parts.iter().enumerate() {
            let ty = self.value_type(part);
            let operands = vec![Operand::IdRef(value), Operand::LiteralBit32(k as u32)];
            let value = self.emit(Op::CompositeExtract, ty, operands);
            let index = self.u32(k as u32);
            self.store_laid_out(&spot.inside(index), part, value);
        }
    }
}
