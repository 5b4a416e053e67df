//! Captures that a submission cannot take are errors that name them.

use vkfuse::rust::{Captures, HostBuffer, Item, Ranged, Read, Write, device, kernel};

#[derive(Captures)]
struct Copy {
    x: Ranged<Read<u32>>,
    y: Write<u32>,
}

#[kernel]
impl Copy {
    fn run(&self, item: Item<1>) {
        self.y.set(item.index(), self.x.get(item.index()));
    }
}

#[device]
fn endless(n: u32) -> u32 {
    endless(n)
}

#[derive(Captures)]
struct Recursive {
    y: Write<u32>,
}

#[kernel]
impl Recursive {
    fn run(&self) {
        self.y.set(0, endless(1));
    }
}

#[test]
fn captures_are_checked() {
    let rig = rig!();
    let words = rig.context.buffer_from(&[1_u32, 2, 3]).expect("a buffer");
    let bytes = rig.context.buffer_from(&[1_u8, 2, 3]).expect("a buffer");
    let host = HostBuffer::new(vec![0_u32; 3]);
    let submit = |kernel: Copy| {
        let error = rig
            .queue
            .submit(|h| {
                h.parallel_for(3, &kernel);
            })
            .err();
        error.map(|error| error.to_string())
    };
    let part = |range| Ranged::new(&words, range);
    assert_eq!(submit(Copy { x: part(0..3), y: (&words).into() }), None);
    assert_eq!(
        submit(Copy { x: part(1..5), y: (&words).into() }).as_deref(),
        Some("kernel `Copy`: `x`: elements 1..5 are outside of the accessor's 3")
    );
    assert_eq!(
        submit(Copy { x: part(0..3), y: (&host).into() }).as_deref(),
        Some("kernel `Copy`: `y` is host memory; capture a buffer's accessor, or run the kernel on the host")
    );
    assert_eq!(
        submit(Copy { x: part(0..3), y: bytes.write().into() }).as_deref(),
        Some("kernel `Copy`: `y` has elements of 4 bytes, and the accessor's have 1")
    );
    let error = submit(Copy { x: part(0..3), y: words.read().into() }).expect("an error");
    assert!(error.contains("is written by the kernel"), "{error}");
    let error = rig
        .queue
        .submit(|h| {
            h.single_task(&Recursive { y: (&words).into() });
        })
        .err();
    assert_eq!(
        error.map(|error| error.to_string()).as_deref(),
        Some("kernel `Recursive`: function endless calls itself; devices have no stack: write a loop")
    );
    rig.assert_no_validation_messages();
}
