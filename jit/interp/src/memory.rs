//! The memory objects that a run reads and writes.

use super::constants::Constants;
use super::shadow::Shadow;

/// Names a memory object of a [`Memory`]: what a Vulkan buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// A set of memory objects. Between runs it keeps their contents, and which bytes of an uninitialised
/// object have been written.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(super) objects: Vec<Object>,
}

#[derive(Debug)]
pub(super) struct Object {
    pub(super) bytes: Vec<u8>,
    /// Of an image, its width, height and depth or layers; 0 where it has none.
    pub(super) extent: [u32; 3],
    /// One flag per byte, only for objects that were uninitialised at some time.
    pub(super) written: Option<Vec<bool>>,
    pub(super) shadow: Shadow,
    pub(super) constants: Constants,
}

impl Object {
    fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            extent: [0; 3],
            written: None,
            shadow: Shadow::default(),
            constants: Constants::default(),
        }
    }
}

impl Clone for Object {
    fn clone(&self) -> Self {
        // Shadow state means nothing between runs, and is larger than the contents.
        Self { extent: self.extent, written: self.written.clone(), ..Self::new(self.bytes.clone()) }
    }
}

/// What uninitialised bytes hold: nothing that looks like a result.
pub(super) const GARBAGE: u64 = 0xa5a5_a5a5_a5a5_a5a5;

impl Memory {
    /// No objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object with these contents.
    pub fn add(&mut self, bytes: impl Into<Vec<u8>>) -> ObjectId {
        let id = ObjectId(self.objects.len() as u32);
        self.objects.push(Object::new(bytes.into()));
        id
    }

    /// Adds an image of this width, height and depth (or layers; 0 where it has none), its texels line after line.
    pub fn add_image(&mut self, bytes: impl Into<Vec<u8>>, extent: [u32; 3]) -> ObjectId {
        let id = self.add(bytes);
        self.objects[id.0 as usize].extent = extent;
        id
    }

    /// Adds an object of `len` bytes that hold garbage; reading a byte that no kernel wrote is reported.
    pub fn add_uninitialised(&mut self, len: usize) -> ObjectId {
        let id = self.add(vec![GARBAGE as u8; len]);
        self.objects[id.0 as usize].written = Some(vec![false; len]);
        id
    }

    /// Adds an image of this extent whose texels hold garbage, of this many bytes; reading one that no kernel wrote is reported.
    pub fn add_uninitialised_image(&mut self, len: usize, extent: [u32; 3]) -> ObjectId {
        let id = self.add_uninitialised(len);
        self.objects[id.0 as usize].extent = extent;
        id
    }

    /// Contents of an object; empty if there is no such object.
    pub fn bytes(&self, id: ObjectId) -> &[u8] {
        self.objects.get(id.0 as usize).map_or(&[], |object| &object.bytes)
    }

    /// Contents of an object, to change between runs. Does not mark anything as initialised.
    pub fn bytes_mut(&mut self, id: ObjectId) -> &mut [u8] {
        self.objects.get_mut(id.0 as usize).map_or(&mut [], |object| &mut object.bytes)
    }

    /// Contents of an object as little-endian 32-bit words; trailing bytes are left out.
    pub fn words(&self, id: ObjectId) -> Vec<u32> {
        self.bytes(id).as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
