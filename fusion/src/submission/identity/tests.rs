//! Which imported buffers are the same memory.

use super::*;

fn place(holder: u64, buffer: Range<u64>) -> Place {
    Place { holder: Holder::Memory(holder), range: buffer.clone(), buffer }
}

#[test]
fn buffers_that_share_bytes_are_one_memory() {
    let imports = Imports::default();
    let a = imports.memory_of(&place(1, 0..100)).unwrap();
    let b = imports.memory_of(&place(1, 90..200)).unwrap();
    // With `a` it shares nothing, but `b` is the same memory as `a`.
    let c = imports.memory_of(&place(1, 150..300)).unwrap();
    assert_eq!([b.id, c.id], [a.id; 2]);
}

#[test]
fn buffers_side_by_side_are_two_memories() {
    let imports = Imports::default();
    let a = imports.memory_of(&place(1, 0..100)).unwrap();
    assert_ne!(imports.memory_of(&place(1, 100..200)).unwrap().id, a.id);
    assert_ne!(imports.memory_of(&place(2, 0..100)).unwrap().id, a.id);
}

#[test]
fn what_joins_two_memories_is_refused() {
    let imports = Imports::default();
    let a = imports.memory_of(&place(1, 0..100)).unwrap();
    let b = imports.memory_of(&place(1, 100..200)).unwrap();
    assert!(imports.memory_of(&place(1, 50..150)).is_none());
    drop(b);
    assert_eq!(imports.memory_of(&place(1, 50..150)).unwrap().id, a.id);
}

#[test]
fn a_memory_ends_with_its_last_handle() {
    let imports = Imports::default();
    let a = imports.memory_of(&place(1, 0..100)).unwrap().id;
    // The driver may give the same handle to other memory.
    assert_ne!(imports.memory_of(&place(1, 0..100)).unwrap().id, a);
    let _kept: Vec<_> = (0..100).map(|_| imports.memory_of(&place(3, 0..8)).unwrap()).collect();
    assert_eq!(imports.known.lock().unwrap()[&Holder::Memory(3)].len(), 1);
}

#[test]
fn an_address_is_known_of_the_bytes_that_it_was_told_for() {
    let memory = SharedMemory::new();
    assert!(!memory.is_told(Span::new(0, 100)));
    assert!(memory.tell(Span::new(0, 50)));
    assert!(!memory.tell(Span::new(10, 20)), "nothing new");
    assert!(memory.is_told(Span::new(49, 100)) && !memory.is_told(Span::new(50, 100)));
}
