//! Descriptors: what writes, copies and templates put where.
//!
//! # Safety
//! What these functions follow are pointers that a program passes to Vulkan, valid as the specification says.
#![allow(unsafe_op_in_unsafe_fn)]

use crate::chain::chained;
use crate::sink;
use ash::vk;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

/// A set's layout.
#[derive(Default)]
pub(crate) struct Layout {
    /// Kind, and how many elements.
    bindings: BTreeMap<u32, (vk::DescriptorType, u32)>,
    /// Whether it is known, and what is in its sets stays as it is while they are in use.
    pub(crate) is_plain: bool,
}

/// What is in one place of a set.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Descriptor {
    Buffer { kind: vk::DescriptorType, buffer: vk::Buffer, offset: u64, range: u64 },
    Other(vk::DescriptorType),
}

/// What is in a set, by binding and element.
pub(crate) type Contents = BTreeMap<(u32, u32), Descriptor>;

/// A descriptor set.
#[derive(Default)]
pub(crate) struct Set {
    pub(crate) layout: Arc<Layout>,
    pub(crate) contents: Contents,
}

/// A template, as its entries were given.
#[derive(Clone)]
pub(crate) struct Template(pub(crate) Arc<[vk::DescriptorUpdateTemplateEntry]>);

impl Layout {
    pub(crate) unsafe fn of(info: &vk::DescriptorSetLayoutCreateInfo<'_>) -> Layout {
        let bindings = slice(info.p_bindings, info.binding_count);
        let bindings = bindings.iter().filter(|one| one.descriptor_count > 0);
        let flags = chained::<vk::DescriptorSetLayoutBindingFlagsCreateInfo<'_>>(
            info.p_next,
            vk::StructureType::DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
        );
        let is_late = flags.is_some_and(|flags| {
            slice((*flags).p_binding_flags, (*flags).binding_count).iter().any(|flags| !flags.is_empty())
        });
        let plain = vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR;
        Layout {
            bindings: bindings
                .map(|one| (one.binding, (one.descriptor_type, one.descriptor_count)))
                .collect(),
            is_plain: !is_late && plain.contains(info.flags),
        }
    }

    /// The place that follows another one where an update goes over the end of an array.
    fn after(&self, (binding, element): (u32, u32)) -> (u32, u32) {
        match self.bindings.get(&binding) {
            Some((_, count)) if element + 1 >= *count => {
                let next = self.bindings.range(binding + 1..).next();
                next.map_or((binding, element + 1), |(binding, _)| (*binding, 0))
            }
            _ => (binding, element + 1),
        }
    }

    /// The places that dynamic offsets are for, in their order.
    pub(crate) fn dynamic(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let bindings = self.bindings.iter().filter(|(_, (kind, _))| is_dynamic(*kind));
        bindings.flat_map(|(binding, (_, count))| (0..*count).map(|element| (*binding, element)))
    }
}

/// Whether an offset is given when it is bound.
pub(crate) fn is_dynamic(kind: vk::DescriptorType) -> bool {
    matches!(kind, vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC | vk::DescriptorType::STORAGE_BUFFER_DYNAMIC)
}

/// An array that a program passes.
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if first.is_null() || count == 0 { &[] } else { std::slice::from_raw_parts(first, count as usize) }
}

/// Bytes that a program passes.
pub(crate) unsafe fn bytes<'a, T>(first: *const T, len: usize) -> &'a [u8] {
    if first.is_null() || len == 0 { &[] } else { std::slice::from_raw_parts(first.cast(), len) }
}

/// A descriptor of this kind, whose data is at `data`, if it is of a buffer.
unsafe fn descriptor(kind: vk::DescriptorType, data: *const c_void) -> Descriptor {
    let is_buffer = matches!(
        kind,
        vk::DescriptorType::UNIFORM_BUFFER
            | vk::DescriptorType::STORAGE_BUFFER
            | vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC
            | vk::DescriptorType::STORAGE_BUFFER_DYNAMIC
    );
    if !is_buffer || data.is_null() {
        return Descriptor::Other(kind);
    }
    let info = data.cast::<vk::DescriptorBufferInfo>().read_unaligned();
    Descriptor::Buffer { kind, buffer: info.buffer, offset: info.offset, range: info.range }
}

/// Whether the number of descriptors is one of bytes.
fn is_inline(call: &str, kind: vk::DescriptorType) -> bool {
    let is_inline = kind == vk::DescriptorType::INLINE_UNIFORM_BLOCK;
    if is_inline {
        sink::missing(call, "inline uniform block");
    }
    is_inline
}

/// `VkWriteDescriptorSet`.
pub(crate) unsafe fn write(
    call: &str,
    set: &mut Contents,
    layout: &Layout,
    write: &vk::WriteDescriptorSet<'_>,
) {
    let kind = write.descriptor_type;
    if is_inline(call, kind) {
        set.insert((write.dst_binding, 0), Descriptor::Other(kind));
        return;
    }
    let mut place = (write.dst_binding, write.dst_array_element);
    for index in 0..write.descriptor_count as usize {
        let info = write.p_buffer_info;
        let data = if info.is_null() { info } else { info.add(index) };
        set.insert(place, descriptor(kind, data.cast()));
        place = layout.after(place);
    }
}

/// `VkCopyDescriptorSet`, of what is in the other set: each place of it, or none.
pub(crate) fn copy(
    set: &mut Contents,
    layout: &Layout,
    from: (&Contents, &Layout),
    copy: &vk::CopyDescriptorSet<'_>,
) {
    let mut source = (copy.src_binding, copy.src_array_element);
    let mut place = (copy.dst_binding, copy.dst_array_element);
    for _ in 0..copy.descriptor_count {
        match from.0.get(&source) {
            Some(descriptor) => set.insert(place, *descriptor),
            None => set.remove(&place),
        };
        source = from.1.after(source);
        place = layout.after(place);
    }
}

impl Template {
    /// Writes the descriptors that are at `data`.
    pub(crate) unsafe fn apply(&self, call: &str, set: &mut Contents, layout: &Layout, data: *const c_void) {
        for entry in &*self.0 {
            let kind = entry.descriptor_type;
            if is_inline(call, kind) {
                set.insert((entry.dst_binding, 0), Descriptor::Other(kind));
                continue;
            }
            let mut place = (entry.dst_binding, entry.dst_array_element);
            for index in 0..entry.descriptor_count as usize {
                set.insert(place, descriptor(kind, data.byte_add(entry.offset + index * entry.stride)));
                place = layout.after(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_goes_on_in_the_next_binding() {
        let kind = vk::DescriptorType::STORAGE_BUFFER;
        let dynamic = vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC;
        let bindings = [(0, (kind, 2)), (3, (dynamic, 2)), (4, (kind, 1))].into();
        let layout = Layout { bindings, is_plain: true };
        let places = std::iter::successors(Some((0, 1)), |place| Some(layout.after(*place)));
        assert_eq!(places.take(4).collect::<Vec<_>>(), [(0, 1), (3, 0), (3, 1), (4, 0)]);
        assert_eq!(layout.dynamic().collect::<Vec<_>>(), [(3, 0), (3, 1)]);
    }
}
