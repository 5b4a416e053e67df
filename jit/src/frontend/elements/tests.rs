use super::*;

/// A view of a block that is one array.
fn array(scalars: &[MemoryScalar], stride: u32) -> View {
    View { scalars: scalars.iter().copied().collect(), stride: Some(stride), text: String::new() }
}

const F32: MemoryScalar = MemoryScalar::Float(4);
const U32: MemoryScalar = MemoryScalar::Int(4);

#[test]
fn scalars_have_the_kind_and_the_size_of_the_kernel_s() {
    let floats = array(&[F32], 4);
    assert!(floats.takes(ElementType::float(4)));
    for other in [
        ElementType::float(8),
        ElementType::float(2),
        ElementType::int(4, true),
        ElementType::int(4, false),
        ElementType::int(1, true),
        ElementType::Bool,
        ElementType::Complex(4),
        ElementType::Complex(8),
        ElementType::Other(4),
    ] {
        assert!(!floats.takes(other), "{other}");
    }
    assert!(floats.takes(ElementType::Bytes));
    let ints = array(&[U32], 4);
    assert!(ints.takes(ElementType::int(4, true)) && ints.takes(ElementType::int(4, false)));
    assert!(!ints.takes(ElementType::float(4)) && !ints.takes(ElementType::int(8, false)));
    assert!(array(&[MemoryScalar::Int(1)], 1).takes(ElementType::Bool));
}

#[test]
fn vectors_and_structures_are_made_of_scalars() {
    let vec4 = array(&[F32], 16);
    for fits in [
        ElementType::float(4),
        ElementType::float(4).array(2),
        ElementType::float(4).array(4),
        ElementType::float(4).array(8),
        ElementType::Complex(4),
        ElementType::Struct(16),
        ElementType::Struct(32),
    ] {
        assert!(vec4.takes(fits), "{fits}");
    }
    // Twelve bytes under sixteen: the gap was forgotten.
    assert!(!vec4.takes(ElementType::float(4).array(3)) && !vec4.takes(ElementType::Struct(12)));
    assert!(!vec4.takes(ElementType::float(8).array(2)));
    let mixed = View { stride: None, ..array(&[F32, U32], 4) };
    assert!(mixed.takes(ElementType::float(4)) && mixed.takes(ElementType::int(4, true)));
    assert!(mixed.takes(ElementType::Struct(12)) && !mixed.takes(ElementType::float(8)));
}

#[test]
fn blocks_of_several_types_are_so_in_every_view() {
    let declared = |views: Vec<View>| Declared { at: SetBinding::default(), views };
    let (floats, ints, both) = (array(&[F32], 4), array(&[U32], 4), array(&[F32, U32], 8));
    assert!(declared(vec![both.clone()]).has_others(ElementType::float(4)));
    assert!(!declared(vec![both]).has_others(ElementType::Bytes));
    assert!(!declared(vec![floats.clone()]).has_others(ElementType::float(4)));
    // The same bytes, seen in two ways.
    assert!(!declared(vec![floats, ints]).has_others(ElementType::float(4)));
    assert!(!declared(Vec::new()).has_others(ElementType::float(4)));
}
