//! Which imported buffers are the same memory.

use super::*;

fn place(holder: u64, buffer: Range<u64>) -> Place {
    Place { holder: Holder::Memory(holder), range: buffer.clone(), buffer }
}

fn life(of: &Arc<u8>) -> Life {
    let life: Weak<u8> = Arc::downgrade(of);
    life
}

/// Imports a Vulkan buffer that lives as long as the test, with a handle that does.
fn import(imports: &Imports, holder: u64, buffer: Range<u64>) -> Option<Arc<SharedMemory>> {
    let lasting = Arc::new(0);
    let memory = imports.memory_of(&place(holder, buffer), life(&lasting), life(&lasting));
    std::mem::forget(lasting);
    memory
}

#[test]
fn buffers_that_share_bytes_are_one_memory() {
    let imports = Imports::default();
    let a = import(&imports, 1, 0..100).unwrap();
    let b = import(&imports, 1, 90..200).unwrap();
    // With `a` it shares nothing, but `b` is the same memory as `a`.
    let c = import(&imports, 1, 150..300).unwrap();
    assert_eq!([b.id, c.id], [a.id; 2]);
}

#[test]
fn buffers_side_by_side_are_two_memories() {
    let imports = Imports::default();
    let a = import(&imports, 1, 0..100).unwrap();
    assert_ne!(import(&imports, 1, 100..200).unwrap().id, a.id);
    assert_ne!(import(&imports, 2, 0..100).unwrap().id, a.id);
}

#[test]
fn what_joins_two_memories_is_refused() {
    let imports = Imports::default();
    let a = import(&imports, 1, 0..100).unwrap();
    let b = Arc::new(0);
    imports.memory_of(&place(1, 100..200), life(&b), life(&b)).unwrap();
    assert!(import(&imports, 1, 50..150).is_none());
    drop(b);
    assert_eq!(import(&imports, 1, 50..150).unwrap().id, a.id);
}

#[test]
fn a_memory_ends_with_its_buffers() {
    let imports = Imports::default();
    let (buffer, handle) = (Arc::new(0), Arc::new(0));
    let a = imports.memory_of(&place(1, 0..100), life(&buffer), life(&handle)).unwrap().id;
    drop(handle);
    // Work that was submitted with the handle may be pending.
    let handle = Arc::new(0);
    assert_eq!(imports.memory_of(&place(1, 0..100), life(&buffer), life(&handle)).unwrap().id, a);
    drop((buffer, handle));
    // The driver may give the same handle to other memory.
    assert_ne!(import(&imports, 1, 0..100).unwrap().id, a);
}

#[test]
fn handles_that_are_gone_leave_nothing() {
    let imports = Imports::default();
    let buffer = Arc::new(0);
    for _ in 0..100 {
        let handle = Arc::new(0);
        imports.memory_of(&place(3, 0..8), life(&buffer), life(&handle)).unwrap();
    }
    assert_eq!(imports.known.lock()[&Holder::Memory(3)].len(), 1);
}

/// Between two handles the program may write the buffer by itself.
#[test]
fn contents_are_taken_as_they_are_once_nothing_uses_them() {
    let imports = Imports::default();
    let (buffer, pending, all) = (Arc::new(0), Arc::new(0), Span::new(0, 100));
    let memory = imports.memory_of(&place(1, 0..100), life(&buffer), life(&pending)).unwrap();
    memory.contents.lost(all, crate::error::Unreadable::Internalized);
    let again = |handle: &Arc<u8>| imports.memory_of(&place(1, 0..100), life(&buffer), life(handle)).unwrap();
    drop(again(&Arc::new(0)));
    assert!(memory.contents.unreadable(all).is_some(), "forgotten while work is pending");
    drop(pending);
    drop(again(&Arc::new(0)));
    assert!(memory.contents.unreadable(all).is_none());
}

#[test]
fn an_address_is_known_of_the_bytes_that_it_was_told_for() {
    let memory = SharedMemory::new();
    assert!(!memory.is_escaped(Span::new(0, 100)));
    assert!(memory.escape(Span::new(0, 50)));
    assert!(!memory.escape(Span::new(10, 20)), "nothing new");
    assert!(memory.is_escaped(Span::new(49, 100)) && !memory.is_escaped(Span::new(50, 100)));
}
