//! The block of a kernel's push constants, for people: what is where, and which values of a list miss it.

use super::push::Given;
use std::fmt;
use vkfuse_jit::kernel::{Module, PushMember, ScalarClass, Specialized};

/// Most members that a sentence lists.
const LISTED: usize = 8;

/// What a kernel has in its push constants.
pub(super) struct Block {
    /// Its scalars by offset, with their names where they are known.
    members: Vec<(PushMember, Option<String>)>,
    size: usize,
}

impl Block {
    pub(super) fn of(kernel: &Specialized, module: &Module) -> Block {
        let names = module.push_names();
        let push = kernel.interface.push.as_ref();
        let members = push.iter().flat_map(|push| &push.members).map(|&member| {
            let mut own = names.iter().filter(|(offset, _)| *offset == member.offset);
            let name = own.next().map(|(_, name)| name.clone());
            // Of members that overlap, none is meant more than the others.
            (member, name.filter(|_| own.next().is_none()))
        });
        Block { members: members.collect(), size: push.map_or(0, |push| push.size as usize) }
    }

    /// The first value of a list that is not for a member of this kernel's, or for one of another type. Zeros may fill what lies between
    /// members.
    pub(super) fn misplaced(&self, kernel: &str, given: &Given) -> Option<String> {
        given.typed.iter().enumerate().find_map(|(number, &(offset, ty))| {
            if offset >= self.size {
                return None;
            }
            let end = offset + ty.size();
            let own = self.members.iter().find(|(member, _)| member.offset as usize == offset);
            if let Some((member, name)) = own {
                let is_float = member.class == ScalarClass::Float;
                let fits = member.size as usize == ty.size() && ty.is_float() == is_float;
                let name = name.as_ref().map_or_else(String::new, |name| format!(" for {name}"));
                return (!fits).then(|| {
                    let wanted = of(member);
                    format!(
                        "kernel {kernel} has {wanted} at byte {offset} of its push constants, and {} is given{name}",
                        ty.name()
                    )
                });
            }
            let is_zero = given.bytes.get(offset..end).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
            let meets = |(member, _): &&(PushMember, Option<String>)| {
                let from = member.offset as usize;
                from < end && offset < from + member.size as usize
            };
            let inside = self.members.iter().find(meets);
            let value = ty.name();
            let place = format!("value {number} of the list, {value}, lies at byte {offset} of the push constants");
            if let Some((member, name)) = inside {
                let name = name.clone().unwrap_or_else(|| of(member));
                return Some(format!("{place}, inside of {name}, which begins at byte {} ({self})", member.offset));
            }
            if is_zero {
                return None;
            }
            let next = self.members.iter().find(|(member, _)| member.offset as usize > offset);
            let fill = next.map(|(member, name)| {
                let (words, name) = ((member.offset as usize - offset) / 4, name.clone().unwrap_or_else(|| of(member)));
                let fill = vec!["{ u32 = 0 }"; words].join(", ");
                format!("; with {fill} before it, it is for {name}")
            });
            Some(format!("{place}, where kernel {kernel} has nothing ({self}){}", fill.unwrap_or_default()))
        })
    }
}

/// The type of a member, as a pipeline file has it.
fn of(member: &PushMember) -> String {
    let class = match member.class {
        ScalarClass::Float => 'f',
        ScalarClass::Int => 'i',
        _ => 'u',
    };
    format!("{class}{}", 8 * member.size)
}

/// `n u32 at byte 0, origin 3 f32 at 16`: what has one name and type in one piece is named once.
impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = |name: &Option<String>| {
            let name = name.as_deref()?;
            name.split(['.', '[']).next().map(str::to_owned)
        };
        // Its name, type, first byte, the byte behind its last, and how many there are.
        let mut parts: Vec<(Option<String>, String, u32, u32, u32)> = Vec::new();
        for (member, name) in &self.members {
            let (name, ty, end) = (root(name), of(member), member.offset + member.size);
            match parts.last_mut() {
                Some(last) if name.is_some() && (&last.0, &last.1, last.3) == (&name, &ty, member.offset) => {
                    (last.3, last.4) = (end, last.4 + 1);
                }
                _ => parts.push((name, ty, member.offset, end, 1)),
            }
        }
        for (number, (name, ty, at, _, count)) in parts.iter().take(LISTED).enumerate() {
            let name = name.as_ref().map_or_else(String::new, |name| format!("{name} "));
            let count = if *count > 1 { format!("{count} ") } else { String::new() };
            let (comma, byte) = if number == 0 { ("", "byte ") } else { (", ", "") };
            write!(f, "{comma}{name}{count}{ty} at {byte}{at}")?;
        }
        match parts.len().checked_sub(LISTED) {
            Some(more) if more > 0 => write!(f, ", {more} more"),
            _ => Ok(()),
        }
    }
}
