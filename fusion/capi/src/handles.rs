//! Handles: numbers for objects.
//!
//! No two objects of a process ever have the same number, whatever their kinds, so that a destroyed or mistaken handle is
//! found out.

use std::{
    collections::HashMap,
    sync::{
        Arc, LazyLock, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::result::{Failure, VkfuseResult};

/// The objects of one kind.
pub(crate) type Table<T> = LazyLock<RwLock<HashMap<u64, T>>>;

fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

fn add<T>(table: &Table<T>, object: T) -> u64 {
    let id = next();
    table.write().unwrap_or_else(PoisonError::into_inner).insert(id, object);
    id
}

fn get<T: Clone>(table: &Table<T>, what: &str, id: u64) -> Result<T, Failure> {
    let found = table.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
    found.ok_or_else(|| {
        let problem = if id == 0 { "is null" } else { "was destroyed, or never was one" };
        Failure::new(VkfuseResult::InvalidHandle, format!("the {what} {problem}"))
    })
}

fn take<T>(table: &Table<T>, id: u64) -> Option<T> {
    table.write().unwrap_or_else(PoisonError::into_inner).remove(&id)
}

/// The objects of a handle type.
macro_rules! objects {
    ($($name:ident, $object:ty, $what:literal;)+) => {
        $(
            impl $name {
                fn table() -> &'static Table<$object> {
                    static TABLE: Table<$object> = LazyLock::new(RwLock::default);
                    &TABLE
                }

                /// A handle for an object.
                pub(crate) fn of(object: $object) -> $name {
                    $name { id: add($name::table(), object) }
                }

                /// The object of a handle.
                pub(crate) fn get(self) -> Result<$object, Failure> {
                    get($name::table(), $what, self.id)
                }

                /// Lets go of the object, outside of the table's lock. Nothing happens to a handle that has none.
                pub(crate) fn destroy(self) {
                    drop(take($name::table(), self.id));
                }
            }
        )+
    };
}

objects! {
    VkfuseContext, vkfuse::Context, "context";
    VkfuseQueue, vkfuse::Queue, "queue";
    VkfuseKernel, vkfuse::Kernel, "kernel";
    VkfuseBuffer, vkfuse::Buffer<u8>, "buffer";
    VkfuseEvent, vkfuse::Event, "event";
    VkfuseList, vkfuse::FusedList, "list";
    VkfuseRecorded, Arc<vkfuse::Recorded>, "recorded list";
}

/// A device with everything that belongs to it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VkfuseContext {
    /// 0 is null.
    pub id: u64,
}

/// Where work is submitted.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VkfuseQueue {
    /// 0 is null.
    pub id: u64,
}

/// One entry point of a module.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VkfuseKernel {
    /// 0 is null.
    pub id: u64,
}

/// Bytes on the device.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VkfuseBuffer {
    /// 0 is null.
    pub id: u64,
}

/// Whether work is complete, and what became of it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VkfuseEvent {
    /// 0 is null.
    pub id: u64,
}

/// A list that was kept, to be run again or recorded.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VkfuseList {
    /// 0 is null.
    pub id: u64,
}

/// What a list left in a command buffer of the program's.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VkfuseRecorded {
    /// 0 is null.
    pub id: u64,
}
