//! Memory as the way finds it: variables are values, loads of one place are one.

use rspirv::spirv::{BuiltIn, Op, StorageClass};
use smallvec::SmallVec;

use super::copies::{Copies, Frame, of};
use super::stage::Stage;
use super::{Join, Memory, Other, Traced, Tracer, Variable, one_or_each};
use crate::emit::passes::bindings;
use crate::ir::entity::{Entity as _, Func, Global, Place, Type, Value};
use crate::ir::{Access, Operation, Root};

/// A place: the variable, and the way into it.
pub(super) struct Pointer {
    pub(super) root: Root,
    pub(super) path: Vec<Copies>,
    pub(super) func: Func,
    class: StorageClass,
}

impl Pointer {
    /// The variable of the module, of an access to one.
    pub(super) fn global(&self) -> Traced<Global> {
        match self.root {
            Root::Global(global) => Ok(global),
            _ => Err(Other),
        }
    }

    fn variable(&self) -> Traced<Variable> {
        match self.root {
            Root::Global(global) => Ok((None, global.index())),
            Root::Local(local) => Ok((Some(self.func), local.index())),
            Root::Pointer(_) => Err(Other),
        }
    }

    pub(super) fn is_storage(&self) -> bool {
        self.class == StorageClass::StorageBuffer
    }

    fn is_pushed(&self) -> bool {
        self.class == StorageClass::PushConstant
    }

    /// How many places it is.
    pub(super) fn count(&self) -> usize {
        self.path.iter().map(SmallVec::len).max().unwrap_or(1)
    }
}

impl Tracer<'_> {
    pub(super) fn place(&mut self, frame: &Frame, place: Place) -> Traced<Pointer> {
        let data = frame.f.flat(frame.f.places[place].clone());
        let class = match data.root {
            Root::Global(global) => self.code.module.globals[global].class,
            Root::Local(local) if frame.f.locals[local].initializer.is_none() => StorageClass::Function,
            _ => return Err(Other),
        };
        let path = data.path.iter().map(|&index| self.value(frame, index)).collect::<Traced<_>>()?;
        Ok(Pointer { root: data.root, path, func: frame.func, class })
    }

    /// The place of an item.
    pub(super) fn at(&mut self, pointer: &Pointer, item: usize) -> Traced<Place> {
        let path: SmallVec<[Value; 3]> = pointer.path.iter().map(|index| of(index, item)).collect();
        Ok(self.place_in(pointer.global()?, path))
    }

    /// A place in a variable of the module.
    pub(super) fn place_in(&mut self, global: Global, path: SmallVec<[Value; 3]>) -> Place {
        if let Some(&known) = self.places.get(&(global, path.clone())) {
            return known;
        }
        let place = self.code.place(Root::Global(global), &path);
        self.places.insert((global, path), place);
        place
    }

    pub(super) fn load(&mut self, pointer: &Pointer, access: Access, ty: Type) -> Traced<Copies> {
        match pointer.class {
            StorageClass::Input => self.load_id(pointer, ty),
            StorageClass::Private | StorageClass::Function => self.held(pointer),
            StorageClass::PushConstant | StorageClass::Uniform | StorageClass::StorageBuffer => {
                let stays = !pointer.is_storage()
                    || self.start.source.frozen.contains(&pointer.global()?)
                    || mutant!(StoredWordsAreShared);
                let shares = stays && access.is_plain();
                let count = if access.is_plain() { pointer.count() } else { self.start.items };
                let number = self.accesses;
                if let Some(staged) = self.take_staged(pointer, number, ty)? {
                    self.touch(pointer, access, ty, false)?;
                    return Ok(staged);
                }
                if shares {
                    self.note_load(pointer, number, ty)?;
                }
                let wide = self.touch(pointer, access, ty, false)?;
                if let Some(wide) = wide.as_ref().filter(|_| !shares) {
                    return self.load_vector(pointer, wide);
                }
                let mut all = Copies::new();
                for item in 0..count {
                    if let Some(wide) = wide.as_ref().filter(|wide| wide.items[item]) {
                        all.push(self.load_part(pointer, wide, item)?);
                        continue;
                    }
                    let load = Operation::Load { place: self.at(pointer, item)?, access };
                    all.push(if shares {
                        let before = self.written;
                        let loaded = self.write(load, ty, None)?;
                        if pointer.is_pushed() {
                            self.note_multiple(pointer, loaded)?;
                        }
                        self.spared += usize::from(self.written == before && pointer.is_storage());
                        loaded
                    } else {
                        self.emit(load, ty, None)?
                    });
                }
                self.store_staged(pointer, number, &all)?;
                Ok(one_or_each(all))
            }
            _ => Err(Other),
        }
    }

    /// What a variable of the invocation holds.
    fn held(&mut self, pointer: &Pointer) -> Traced<Copies> {
        let (variable, path) = (pointer.variable()?, self.numbers(&pointer.path)?);
        for known in (0..=path.len()).rev() {
            let Some(value) = self.memory.get(&(variable, path[..known].to_vec())).cloned() else { continue };
            return path[known..].iter().try_fold(value, |value, &member| {
                let ty = self.code.module.types.part(self.ty(value[0]), Some(member)).ok_or(Other)?;
                let part = |&whole| self.pure(Op::CompositeExtract, ty, &[whole], &[member]);
                Ok(one_or_each(value.iter().map(part).collect::<Traced<_>>()?))
            });
        }
        Err(Other)
    }

    fn load_id(&mut self, pointer: &Pointer, ty: Type) -> Traced<Copies> {
        let Some(builtin) = self.start.ids.variables.get(&pointer.global()?).copied() else {
            let load = Operation::Load { place: self.at(pointer, 0)?, access: Access::default() };
            return Ok(Copies::from_slice(&[self.write(load, ty, None)?]));
        };
        let values = self.values_of_ids.get(&builtin).cloned().ok_or(Other)?;
        let path = self.numbers(&pointer.path)?;
        let mut all = Copies::new();
        for parts in values {
            let value = match path.as_slice() {
                [] if builtin == BuiltIn::LocalInvocationIndex => parts[0],
                [] => {
                    let uvec3 = self.code.uvec3();
                    self.pure(Op::CompositeConstruct, uvec3, &parts, &[])?
                }
                [dimension] => *parts.get(*dimension as usize).ok_or(Other)?,
                _ => return Err(Other),
            };
            all.push(self.cast(value, ty)?);
        }
        Ok(one_or_each(all))
    }

    pub(super) fn numbers(&mut self, path: &[Copies]) -> Traced<Vec<u32>> {
        let number = |index: &Copies| match index.as_slice() {
            &[one] => self.number(one).ok_or(Other),
            _ => Err(Other),
        };
        path.iter().map(number).collect()
    }

    pub(super) fn store(&mut self, pointer: &Pointer, value: &Copies, access: Access) -> Traced<()> {
        match pointer.class {
            StorageClass::Private | StorageClass::Function => {
                let (variable, path) = (pointer.variable()?, self.numbers(&pointer.path)?);
                let is_around = |known: &[u32]| known.len() < path.len() && path.starts_with(known);
                if self.memory.keys().any(|(other, known)| *other == variable && is_around(known)) {
                    return Err(Other);
                }
                self.memory.retain(|(other, known), _| *other != variable || !known.starts_with(&path));
                self.memory.insert((variable, path), value.clone());
                Ok(())
            }
            StorageClass::StorageBuffer => {
                let ty = self.ty(value[0]);
                let binding = bindings::binding(self.code.module, pointer.global()?);
                self.vectors.retain(|_, known| known.0 != binding);
                let wide = self.touch(pointer, access, ty, true)?;
                if matches!(self.start.stage, Stage::Fill(_)) {
                    return Ok(());
                }
                if let Some(wide) = wide {
                    return self.store_vector(pointer, &wide, value);
                }
                for item in 0..pointer.count().max(value.len()) {
                    let place = self.at(pointer, item)?;
                    self.code.effect(Operation::Store { place, value: of(value, item), access });
                    self.written += 1;
                }
                Ok(())
            }
            _ => Err(Other),
        }
    }

    /// What variables hold where two sides have met.
    pub(super) fn merge_memory(
        &mut self,
        yes: &Memory,
        no: &Memory,
        condition: &Copies,
        join: Option<Join>,
    ) -> Traced<()> {
        let mut places: Vec<_> = yes.keys().filter(|place| no.contains_key(*place)).collect();
        places.sort_unstable();
        self.memory.clear();
        for place in places {
            let value = match (&yes[place], &no[place]) {
                (a, b) if a == b => a.clone(),
                (a, b) => self.choose(condition, [a, b], join)?,
            };
            self.memory.insert(place.clone(), value);
        }
        Ok(())
    }
}
