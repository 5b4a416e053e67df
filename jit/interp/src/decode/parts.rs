//! Loads and stores of whole variables where only some parts matter.
//!
//! A front end may write the first part of a variable by loading all of it, inserting the part, and storing all of it. What was not written
//! before is loaded and stored back then, and nothing depends on it.
//!
//! # Guarantees
//! - a lane that nothing is said to depend on goes nowhere but to where it came from
//! - a lane that is said to be as before was loaded from there, with no other store in between

use ahash::AHashMap;
use rspirv::spirv::Op;

use super::scan::{Raw, ScannedFunction};
use super::{Decoded, Decoder, NONE};
use crate::program::Class;

/// Most instructions between a load and the store of what was loaded.
const MAX_DISTANCE: usize = 64;

impl<'w> Decoder<'w> {
    /// Finds the loads and stores of a function where only some lanes matter.
    pub(super) fn find_parts(&mut self, function: &ScannedFunction<'w>) -> Decoded<()> {
        let body = &function.body;
        let places: AHashMap<u32, usize> =
            body.iter().enumerate().filter(|(_, raw)| raw.id != 0).map(|(at, raw)| (raw.id, at)).collect();
        // By value: the lanes that something depends on.
        let mut asked: AHashMap<u32, Vec<bool>> = AHashMap::new();
        for raw in body.iter().filter(|raw| matches!(raw.op, Op::Load | Op::CompositeInsert | Op::CopyObject))
        {
            asked.insert(raw.id, vec![false; self.shapes.lanes(raw.ty) as usize]);
        }
        for (at, raw) in body.iter().enumerate() {
            match raw.op {
                // Looked at below.
                Op::CompositeInsert | Op::CompositeExtract | Op::CopyObject => {}
                Op::Store => {
                    let value = raw.arg(1)?;
                    let changed = self.changed(body, &places, at)?;
                    if let Some(lanes) = asked.get_mut(&value) {
                        match &changed {
                            Some(changed) => add(lanes, changed),
                            None => lanes.fill(true),
                        }
                    }
                    if let Some(changed) = changed {
                        self.say(raw, changed);
                    }
                }
                // Some of these are numbers.
                _ => raw.args.iter().for_each(|arg| {
                    asked.get_mut(arg).into_iter().for_each(|lanes| lanes.fill(true));
                }),
            }
        }
        // What is made of a value comes after it.
        for raw in body.iter().rev() {
            match raw.op {
                Op::CompositeExtract => {
                    let whole = raw.arg(0)?;
                    if asked.contains_key(&whole) {
                        let (part, lane) =
                            self.shapes.path(self.value_type(whole, raw)?, raw.rest(1), raw)?;
                        let part = lane as usize..(lane + self.shapes.lanes(part)) as usize;
                        let lanes = asked.get_mut(&whole).and_then(|lanes| lanes.get_mut(part));
                        lanes.into_iter().for_each(|lanes| lanes.fill(true));
                    }
                }
                Op::CompositeInsert => {
                    let (part, whole) = (raw.arg(0)?, raw.arg(1)?);
                    let (ty, lane) = self.shapes.path(raw.ty, raw.rest(2), raw)?;
                    let inserted = lane as usize..(lane + self.shapes.lanes(ty)) as usize;
                    let mut own = asked.get(&raw.id).cloned().unwrap_or_default();
                    own.get_mut(inserted).into_iter().for_each(|lanes| lanes.fill(false));
                    asked.get_mut(&part).into_iter().for_each(|lanes| lanes.fill(true));
                    asked.get_mut(&whole).into_iter().for_each(|lanes| add(lanes, &own));
                }
                Op::CopyObject => {
                    let own = asked.get(&raw.id).cloned().unwrap_or_default();
                    asked.get_mut(&raw.arg(0)?).into_iter().for_each(|lanes| add(lanes, &own));
                }
                Op::Load => {
                    let lanes = asked.remove(&raw.id).unwrap_or_default();
                    self.say(raw, lanes);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The lanes of a store that may have another value than before, if others were loaded from there shortly before.
    fn changed(
        &self,
        body: &[Raw<'w>],
        places: &AHashMap<u32, usize>,
        store: usize,
    ) -> Decoded<Option<Vec<bool>>> {
        let raw = &body[store];
        let (target, mut value) = (raw.arg(0)?, raw.arg(1)?);
        let mut changed = Vec::new();
        let mut before = store;
        loop {
            let place = places.get(&value).copied();
            let Some(place) = place.filter(|&place| place < before && store - place < MAX_DISTANCE) else {
                return Ok(None);
            };
            before = place;
            let raw = &body[place];
            changed.resize(self.shapes.lanes(raw.ty) as usize, false);
            value = match raw.op {
                Op::CopyObject => raw.arg(0)?,
                Op::CompositeInsert => {
                    let (ty, lane) = self.shapes.path(raw.ty, raw.rest(2), raw)?;
                    let inserted = lane as usize..(lane + self.shapes.lanes(ty)) as usize;
                    changed.get_mut(inserted).into_iter().for_each(|lanes| lanes.fill(true));
                    raw.arg(1)?
                }
                Op::Load if raw.arg(0)? == target => {
                    let is_quiet = |raw: &Raw<'_>| {
                        !matches!(
                            raw.op,
                            Op::Store | Op::CopyMemory | Op::CopyMemorySized | Op::FunctionCall | Op::Label
                        )
                    };
                    return Ok(body[place..store].iter().all(is_quiet).then_some(changed));
                }
                _ => return Ok(None),
            };
        }
    }

    /// Notes what an instruction says of its lanes, unless it is the same as if it said nothing.
    fn say(&mut self, raw: &Raw<'w>, lanes: Vec<bool>) {
        if lanes.contains(&false) {
            self.parts.insert(raw.word, self.program.flags.len() as u32);
            self.program.flags.extend(lanes);
        }
    }

    /// Where it says that. Of shared memory, others may see all of it.
    pub(super) fn part_of(&self, raw: &Raw<'_>, class: Class) -> u32 {
        let known = self.parts.get(&raw.word).filter(|_| class == Class::Private);
        known.copied().unwrap_or(NONE)
    }
}

/// Adds what is asked of a value to what was.
fn add(lanes: &mut [bool], more: &[bool]) {
    lanes.iter_mut().zip(more).for_each(|(lane, more)| *lane |= more);
}
