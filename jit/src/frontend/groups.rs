//! Decoration groups, expanded: each target gets decorations of its own.
//!
//! `OpDecorationGroup` is deprecated and rare, and everything that reads decorations would have to follow it: a `SpecId`, a
//! `Binding` or an `Offset` may come through a group. So groups are expanded once, on words, before anything else reads them.
//!
//! # Requires
//! - delimited instructions
//!
//! # Guarantees
//! - no `OpDecorationGroup`, `OpGroupDecorate` or `OpGroupMemberDecorate`, and no name of a group
//! - the decorations of a group stand where the group was applied, in the order in which the group has them
//!
//! # Refuses
//! - what the validator would refuse: a group that is applied before it is declared or decorated after it, one that is applied to
//!   a group, and an id that is no group
//! - decorations by id of a structure member, which only a group can express

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::Op;

use super::words::{self, HEADER, Inst};

/// Most words of a module with its groups expanded.
const MAX_WORDS: usize = 8 << 20;

/// An instruction that cannot be expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misplaced {
    /// Its number, from 0.
    pub(super) instruction: usize,
    /// Index of its first word.
    pub(super) word: usize,
    pub(super) what: &'static str,
}

/// The words with all groups expanded, or `None` if there are no groups.
pub(super) fn expand(words: &[u32]) -> Result<Option<Vec<u32>>, Misplaced> {
    let is_group_op = |inst: &Inst<'_>| {
        matches!(inst.op(), Some(Op::DecorationGroup | Op::GroupDecorate | Op::GroupMemberDecorate))
    };
    // Annotations come before the first function.
    let head = || words::instructions(words).take_while(|inst| inst.op() != Some(Op::Function));
    if !head().any(|inst| is_group_op(&inst)) {
        return Ok(None);
    }
    let groups: AHashSet<u32> =
        head().filter(|inst| inst.op() == Some(Op::DecorationGroup)).map(|inst| inst.at(0)).collect();
    let mut expansion =
        Expansion { groups, open: AHashMap::new(), declared: AHashMap::new(), out: Vec::new() };
    expansion.out.extend_from_slice(&words[..HEADER]);
    let mut word = HEADER;
    for (instruction, inst) in words::instructions(words).enumerate() {
        expansion.instruction(&inst).map_err(|what| Misplaced { instruction, word, what })?;
        word += inst.words.len();
    }
    Ok(Some(expansion.out))
}

/// A decoration of a group: the instruction, and its words behind the target.
type Decoration<'a> = (Op, &'a [u32]);

struct Expansion<'a> {
    groups: AHashSet<u32>,
    /// Decorations of groups that are not declared yet.
    open: AHashMap<u32, Vec<Decoration<'a>>>,
    declared: AHashMap<u32, Vec<Decoration<'a>>>,
    out: Vec<u32>,
}

impl<'a> Expansion<'a> {
    fn instruction(&mut self, inst: &Inst<'a>) -> Result<(), &'static str> {
        let target = inst.at(0);
        match inst.op() {
            Some(Op::Name) if self.groups.contains(&target) => {}
            Some(op @ (Op::Decorate | Op::DecorateId | Op::DecorateString))
                if self.groups.contains(&target) =>
            {
                if self.declared.contains_key(&target) {
                    return Err("it decorates a group that is declared before it");
                }
                self.open.entry(target).or_default().push((op, inst.from(1)));
            }
            Some(Op::DecorationGroup) => {
                let decorations = self.open.remove(&target).unwrap_or_default();
                if self.declared.insert(target, decorations).is_some() {
                    return Err("it declares a decoration group for the second time");
                }
            }
            Some(Op::GroupDecorate) => {
                for &to in inst.from(1) {
                    self.apply(target, &[to])?;
                }
            }
            Some(Op::GroupMemberDecorate) => {
                let (members, rest) = inst.from(1).as_chunks::<2>();
                if !rest.is_empty() {
                    return Err("it names a structure without a member");
                }
                for member in members {
                    self.apply(target, member)?;
                }
            }
            _ => self.out.extend_from_slice(inst.words),
        }
        Ok(())
    }

    /// Decorates an id, or a member of a structure, as a group says.
    fn apply(&mut self, group: u32, to: &[u32]) -> Result<(), &'static str> {
        if self.groups.contains(&to[0]) {
            return Err("it applies a decoration group to a decoration group");
        }
        let decorations = self
            .declared
            .get(&group)
            .ok_or("it applies a decoration group that is not declared before it")?;
        for &(op, operands) in decorations {
            let op = match (op, to) {
                (op, [_]) => op,
                (Op::Decorate, _) => Op::MemberDecorate,
                (Op::DecorateString, _) => Op::MemberDecorateString,
                _ => return Err("it decorates a structure member by an id"),
            };
            if self.out.len() + to.len() + operands.len() >= MAX_WORDS {
                return Err("decoration groups have too many targets");
            }
            words::push(&mut self.out, op, &[to, operands].concat());
        }
        Ok(())
    }
}
