//! Tuples and `Option` as values of local variables. In memory they are as in `repr(C)`, whatever Rust does with them, so
//! they are neither captured nor elements of buffers.

use crate::{
    capture::{Local, Stage},
    shape::{FieldShape, ScalarType, Shape, StructShape},
    stage::Plain,
};

/// The struct of these parts, one after the other.
fn sequence(name: &'static str, parts: Vec<(&'static str, Shape)>) -> Shape {
    let align = parts.iter().map(|(_, shape)| shape.align()).max().unwrap_or(1);
    let (mut end, mut fields) = (0_u32, Vec::new());
    for (name, shape) in parts {
        let offset = end.next_multiple_of(shape.align());
        end = offset + shape.size();
        fields.push(FieldShape { name, offset, shape });
    }
    Shape::Struct(StructShape { name, size: end.next_multiple_of(align), align, fields })
}

/// Where a part of what [`sequence`] made is.
fn part(shape: &Shape, k: usize) -> std::ops::Range<usize> {
    let Shape::Struct(shape) = shape else { return 0..0 };
    let field = &shape.fields[k];
    let from = field.offset as usize;
    from..from + field.shape.size() as usize
}

macro_rules! tuple {
    ($($name:ident $k:tt),+) => {
        impl<$($name: Local),+> Stage for ($($name,)+) {
            type Kind = Plain;
        }

        impl<$($name: Local),+> Local for ($($name,)+) {
            fn shape() -> Shape {
                sequence("tuple", vec![$((stringify!($k), $name::shape())),+])
            }
            fn write(&self, bytes: &mut [u8]) {
                let shape = Self::shape();
                $(self.$k.write(&mut bytes[part(&shape, $k)]);)+
            }
            fn zero() -> Self {
                ($($name::zero(),)+)
            }
        }
    };
}

tuple! { A 0 }
tuple! { A 0, B 1 }
tuple! { A 0, B 1, C 2 }
tuple! { A 0, B 1, C 2, D 3 }
tuple! { A 0, B 1, C 2, D 3, E 4 }
tuple! { A 0, B 1, C 2, D 3, E 4, F 5 }

impl<T: Local> Stage for Option<T> {
    type Kind = Plain;
}

impl<T: Local> Local for Option<T> {
    fn shape() -> Shape {
        sequence("option", vec![("is_some", Shape::Scalar(ScalarType::Bool)), ("value", T::shape())])
    }
    fn write(&self, bytes: &mut [u8]) {
        let shape = Self::shape();
        self.is_some().write(&mut bytes[part(&shape, 0)]);
        if let Some(value) = self {
            value.write(&mut bytes[part(&shape, 1)]);
        }
    }
    fn zero() -> Self {
        None
    }
}
