//! Where the address of each place is computed: in the innermost region around all uses of the place, before the first.

use crate::ir::entity::{Place, Region, SecondaryMap, Value};
use crate::ir::function::{Def, Function};
use crate::ir::region::{Node, Position};

/// The positions of all places with a path.
pub fn positions(f: &Function) -> SecondaryMap<Place, Option<Position>> {
    let mut finder = Finder { f, stack: Vec::new(), found: SecondaryMap::of(&f.places) };
    finder.region(f.body);
    let mut positions = SecondaryMap::of(&f.places);
    for place in f.places.keys() {
        positions[place] = finder.found[place].last().copied();
    }
    positions
}

/// By region, the nodes before which addresses of places are computed, last first; those of one node in the order of their first uses, the other way round.
pub(super) fn by_region(f: &Function) -> SecondaryMap<Region, Vec<(usize, Place)>> {
    let positions = positions(f);
    let mut found: SecondaryMap<Region, Vec<(usize, Place)>> = SecondaryMap::of(&f.regions);
    for place in f.places.keys().rev() {
        if let Some((region, node)) = positions[place] {
            found[region].push((node, place));
        }
    }
    for region in f.regions.keys() {
        found[region].sort_by_key(|&(node, _)| std::cmp::Reverse(node));
    }
    found
}

struct Finder<'f> {
    f: &'f Function,
    /// The way to the present node.
    stack: Vec<Position>,
    /// What the ways to all uses begin with, and there the node of the first use.
    found: SecondaryMap<Place, Vec<Position>>,
}

impl Finder<'_> {
    fn region(&mut self, region: Region) {
        let f = self.f;
        let data = &f.regions[region];
        for (number, node) in data.nodes.iter().enumerate() {
            self.stack.push((region, number));
            match node {
                Node::Inst(inst) => {
                    let operation = &f.insts[*inst].operation;
                    operation.place().into_iter().for_each(|place| self.used(place));
                    operation.values().for_each(|value| self.value(value));
                }
                Node::Construct(construct) => {
                    let kind = &f.constructs[*construct].kind;
                    kind.values().into_iter().for_each(|value| self.value(value));
                    kind.regions().into_iter().for_each(|region| self.region(region));
                }
            }
            self.stack.pop();
        }
        self.stack.push((region, data.nodes.len()));
        data.end.values().for_each(|value| self.value(value));
        self.stack.pop();
    }

    fn value(&mut self, value: Value) {
        if let Def::Address(place) = self.f.values[value].def {
            self.used(place);
        }
    }

    fn used(&mut self, place: Place) {
        if self.f.places[place].path.is_empty() {
            return;
        }
        let found = &mut self.found[place];
        if found.is_empty() {
            found.clone_from(&self.stack);
            return;
        }
        let same = found.iter().zip(&self.stack).take_while(|(one, other)| one == other).count();
        // One node further on in the same region, or the same one.
        let next = found.get(same).zip(self.stack.get(same)).is_some_and(|(one, other)| one.0 == other.0);
        found.truncate(same + usize::from(next));
    }
}
