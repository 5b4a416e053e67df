//! What a buffer has is compared with what a kernel has there: floats are no integers, and eight bytes are not four.

use bytemuck::{Pod, Zeroable};
use vkfuse::{Accessor, Buffer, Error, Kernel, SubmitError, error::BindingName, module::ElementType};

use crate::support::Rig;

/// Words of every buffer here, enough for every kernel's block.
const N: usize = 256;

/// A vector that the host has without the gap that kernels have.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Packed([f32; 3]);

/// A structure: only its size is known.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Wide {
    x: f32,
    y: u32,
    z: [f32; 2],
}

fn buffer<T: Pod>(rig: &Rig) -> Buffer<T> {
    rig.context.buffer::<T>(4 * N / size_of::<T>()).expect("memory").named("data")
}

/// What comes of a kernel with one accessor in the first bindings.
fn submit(rig: &Rig, kernel: &Kernel, accessor: &Accessor<'_>) -> Result<(), Error> {
    let bindings = kernel.specialized(&[]).expect("it loads").interface.bindings.clone();
    let push = kernel.specialized(&[]).expect("it loads").interface.push.as_ref().map_or(0, |push| push.size);
    let event = rig.queue.submit(|h| {
        for binding in &bindings {
            h.arg(binding.at, accessor.clone());
        }
        h.push_bytes(&vec![0; push as usize]).dispatch(kernel, [1, 1, 1]);
    })?;
    event.wait()
}

fn takes<T: Pod>(rig: &Rig, kernel: &Kernel) -> bool {
    match submit(rig, kernel, &buffer::<T>(rig).read_write()) {
        Ok(()) => true,
        Err(Error::Submit { problem: SubmitError::ElementType { .. }, .. }) => false,
        Err(other) => panic!("{}: {other}", kernel.name()),
    }
}

#[test]
fn elements_of_another_type_are_an_error_that_names_both() {
    let rig = rig!();
    let mul = rig.kernel("chain/mul");
    let data = rig.context.buffer_from(&[1.0_f64; N]).unwrap().named("prices");
    let error = submit(&rig, &mul, &data.read_write()).unwrap_err();
    let Error::Submit { kernel, problem: SubmitError::ElementType { at, name, declared, buffer, given } } =
        &error
    else {
        panic!("{error}")
    };
    assert_eq!((&**kernel, *at, name), ("mul", 0.into(), &BindingName(Some("X".into()))));
    assert_eq!((&**declared, &**buffer, *given), ("f32", "prices", ElementType::float(8)));
    let text = error.to_string();
    for part in ["`mul`", "binding 0", "`X`", "f32", "`prices`", "f64", "cast"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Where the bytes are meant, a cast says so.
    submit(&rig, &mul, &data.cast::<f32>().read_write()).unwrap();
    submit(&rig, &mul, &data.read_write().cast::<f32>()).unwrap();
    // Half of a number is no place where another one begins, and beside the buffer there is none.
    for wrong in [
        data.cast::<u32>().read_write().range(1, 2).cast::<u64>(),
        data.read_write().range(0, N + 1).cast::<f32>(),
    ] {
        let error = submit(&rig, &mul, &wrong.elements(ElementType::Bytes)).unwrap_err();
        assert!(matches!(error, Error::Submit { problem: SubmitError::OutOfRange { .. }, .. }), "{error}");
    }
    // A whole number of one is one of the other.
    let part = data.read_write().range(64, 64).cast::<f32>();
    submit(&rig, &mul, &part.range(0, 128)).unwrap();
    submit(&rig, &mul, &data.cast::<u8>().read_write()).unwrap();
    assert_eq!((data.cast::<f32>().len(), data.cast::<[u32; 4]>().len()), (2 * N, N / 2));
    rig.assert_no_validation_messages();
}

#[test]
fn scalars_vectors_and_structures_that_fit() {
    let rig = rig!();
    let floats = rig.kernel("chain/mul");
    assert!(takes::<f32>(&rig, &floats) && takes::<[f32; 4]>(&rig, &floats) && takes::<u8>(&rig, &floats));
    assert!(takes::<Packed>(&rig, &floats) && takes::<Wide>(&rig, &floats));
    assert!(!takes::<f64>(&rig, &floats) && !takes::<u32>(&rig, &floats) && !takes::<i16>(&rig, &floats));
    assert!(!takes::<[i32; 4]>(&rig, &floats) && !takes::<i8>(&rig, &floats));
    let ints = rig.kernel("pair/add");
    assert!(takes::<i32>(&rig, &ints) && takes::<u32>(&rig, &ints));
    assert!(!takes::<f32>(&rig, &ints) && !takes::<u64>(&rig, &ints));
    let vectors = rig.kernel("mobile/layer.add");
    assert!(
        takes::<f32>(&rig, &vectors)
            && takes::<[f32; 4]>(&rig, &vectors)
            && takes::<[f32; 2]>(&rig, &vectors)
    );
    assert!(takes::<Wide>(&rig, &vectors));
    // Twelve bytes where the kernel has sixteen.
    assert!(!takes::<Packed>(&rig, &vectors) && !takes::<[f32; 3]>(&rig, &vectors));
    assert!(!takes::<f64>(&rig, &vectors) && !takes::<u32>(&rig, &vectors));
    rig.assert_no_validation_messages();
}

/// A list that is known is one with these types: others are looked at again.
#[test]
fn a_list_that_is_known_has_its_types() {
    let rig = rig!();
    let mul = rig.kernel("chain/mul");
    let (floats, longs) = (buffer::<f32>(&rig), buffer::<f64>(&rig));
    let list = |accessor: &dyn Fn() -> Accessor<'static>| {
        rig.queue.fuse(|queue| {
            for _ in 0..2 {
                queue.submit(|h| {
                    h.arg(0, accessor()).arg(1, accessor()).arg(2, accessor()).push(&(N as u32));
                    h.dispatch_items(&mul, [N as u32, 1, 1]);
                })?;
            }
            Ok(())
        })
    };
    for _ in 0..4 {
        list(&|| floats.read_write().into_owned()).unwrap().wait().unwrap();
    }
    let error = list(&|| longs.read_write().into_owned()).unwrap_err();
    let is_it = matches!(error, Error::Submit { problem: SubmitError::ElementType { .. }, .. });
    assert!(is_it, "{error}");
    list(&|| longs.cast::<f32>().read_write().into_owned()).unwrap().wait().unwrap();
    rig.assert_no_validation_messages();
}
