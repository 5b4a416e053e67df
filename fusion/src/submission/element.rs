//! The element types of buffers, for comparing them with those of kernels.

use std::any::TypeId;

use crate::jit::ElementType;

/// What a kernel is to have where a buffer of `T` is bound. A structure of the program's is its size: what is in it Rust does not tell.
#[inline]
pub(crate) fn element_type<T: 'static>() -> ElementType {
    let id = TypeId::of::<T>();
    if id == TypeId::of::<u8>() {
        return ElementType::Bytes;
    }
    macro_rules! known {
        ($($scalar:ty: $element:expr,)+) => {$(
            // Known when this is compiled, so that nothing is left of it but one value.
            if id == TypeId::of::<$scalar>() {
                return $element;
            }
            if id == TypeId::of::<[$scalar; 2]>() {
                return $element.array(2);
            }
            if id == TypeId::of::<[$scalar; 3]>() {
                return $element.array(3);
            }
            if id == TypeId::of::<[$scalar; 4]>() {
                return $element.array(4);
            }
        )+};
    }
    known! {
        f32: ElementType::float(4),
        f64: ElementType::float(8),
        vkfuse_kernel::f16: ElementType::float(2),
        i8: ElementType::int(1, true),
        u16: ElementType::int(2, false),
        i16: ElementType::int(2, true),
        u32: ElementType::int(4, false),
        i32: ElementType::int(4, true),
        u64: ElementType::int(8, false),
        i64: ElementType::int(8, true),
        usize: ElementType::int(size_of::<usize>() as u8, false),
        isize: ElementType::int(size_of::<isize>() as u8, true),
    }
    ElementType::Struct(u32::try_from(size_of::<T>()).unwrap_or(u32::MAX))
}
