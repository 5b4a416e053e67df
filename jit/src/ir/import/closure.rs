//! Values that are used outside of the region that defines them: they leave as results of the enclosing constructs, and go from a loop's body to its
//! `continuing` region as parameters.

use super::body::{Body, Carrier};
use super::declarations::{Result, Slot, Unsupported};
use crate::ir::entity::{Construct, Place, Region, Value};
use crate::ir::function::{Def, Root};
use crate::ir::region::{ConstructKind, End};

impl Body<'_, '_> {
    /// A value as it is seen in a region.
    pub(super) fn seen(&mut self, value: Value, region: Region) -> Result<Value> {
        let def = self.f.values[value].def;
        if let Def::Address(place) = def {
            let place = self.seen_place(place, region)?;
            return Ok(self.f.address(place));
        }
        let Some(home) = self.home[value] else { return Ok(value) };
        if self.is_seen(home, def, region) {
            return Ok(value);
        }
        // Out of one construct after another, until the region is around, or next to it.
        let mut inner = home;
        loop {
            let lost = Unsupported::Control { block: None, what: "a value does not dominate its use" };
            let Some((outer, construct)) = self.tree.parent(inner) else { return Err(lost) };
            if let ConstructKind::Loop { body, continuing, .. } = self.f.constructs[construct].kind
                && inner == body
                && self.tree.is_around(continuing, region)
            {
                return self.carry(value, construct, Carrier::Continuing(construct), continuing);
            }
            if self.tree.is_around(outer, region) {
                return match self.closed[construct] {
                    true => self.carry(value, construct, Carrier::Result(construct), outer),
                    false => Err(lost),
                };
            }
            inner = outer;
        }
    }

    fn is_seen(&self, home: Region, def: Def, region: Region) -> bool {
        if self.tree.is_around(home, region) {
            return true;
        }
        // Parameters of a loop's body are seen in what continues it.
        let (Def::Region(body, _), Some((_, construct))) = (def, self.tree.parent(home)) else {
            return false;
        };
        match self.f.constructs[construct].kind {
            ConstructKind::Loop { continuing, .. } => {
                body == home && continuing != home && self.tree.is_around(continuing, region)
            }
            _ => false,
        }
    }

    /// Carries a value along all edges to one place.
    fn carry(&mut self, value: Value, construct: Construct, carrier: Carrier, home: Region) -> Result<Value> {
        if let Some(&known) = self.carried.get(&(carrier, value)) {
            return Ok(known);
        }
        let ty = self.f.values[value].ty;
        let (made, edges) = match carrier {
            Carrier::Result(_) => (self.f.result(construct, ty, None), self.exits[construct].clone()),
            Carrier::Continuing(_) => (self.f.param(home, ty, None), self.continues[construct].clone()),
        };
        self.home[made] = Some(home);
        self.carried.insert((carrier, value), made);
        for edge in edges {
            let arg = self.seen(value, edge)?;
            match &mut self.f.regions[edge].end {
                End::Exit { args, .. } | End::Continue { args, .. } => args.push(arg),
                End::Repeat { until: Some(until), .. } => until.args.push(arg),
                _ => return Err(Unsupported::Control { block: None, what: "an edge leads elsewhere" }),
            }
        }
        Ok(made)
    }

    /// A place as it is named in a region.
    pub(super) fn seen_place(&mut self, place: Place, region: Region) -> Result<Place> {
        let Some(home) = self.place_home[place] else { return Ok(place) };
        if self.tree.is_around(home, region) {
            return Ok(place);
        }
        if let Some(&known) = self.moved.get(&(place, region)) {
            return Ok(known);
        }
        let mut data = self.f.places[place].clone();
        for value in &mut data.path {
            *value = self.seen(*value, region)?;
        }
        if let Root::Pointer(pointer) = data.root {
            data.root = Root::Pointer(self.seen(pointer, region)?);
        }
        let made = self.f.places.push(data);
        self.place_home[made] = Some(region);
        self.moved.insert((place, region), made);
        Ok(made)
    }

    /// Has an id name what another one does: a phi of one way, or a copy of a pointer.
    pub(super) fn alias(&mut self, id: u32, of: u32) -> Result<()> {
        match self.importer.slot(of) {
            slot @ (Slot::Value(_) | Slot::Const(_) | Slot::Global(_) | Slot::Local(_) | Slot::Place(_)) => {
                self.importer.set(id, slot);
                Ok(())
            }
            _ => Err(Unsupported::Id { id: of, what: "value" }),
        }
    }
}
