//! Accessors of two and three dimensions: an index for each, and each is in range or the element is not.

use rspirv::spirv::Op;

use super::{
    Cap, Place, Slot, Val,
    access::Target,
    local::Root,
    place::{IndexBy, IndexPlace, Rd as _},
    with,
};
use crate::{
    access::{Accessor, Reads, Writes},
    grid::Grid,
};

/// The place of an element.
fn element<A: Accessor, const D: usize>(grid: Cap<Grid<A, D>>, index: [Val<u32>; D]) -> Place<A::Element> {
    let (first, target) = (grid.at.aligned(4).plain, Target::whole::<A>(grid.at));
    with(|b| {
        let word = b.u32_type();
        let bool = b.bool_type();
        let (mut at, mut all) = (b.plain_word(first), None);
        for (k, index) in index.iter().enumerate() {
            let k = k as u32;
            let extent = b.plain_word(first + 4 * (1 + k));
            let ok = b.compare(Op::ULessThan, index.id, extent);
            all = Some(all.map_or(ok, |all| b.op(Op::LogicalAnd, bool, &[all, ok])));
            let mut way = index.id;
            if k as usize + 1 < D {
                let pitch = b.plain_word(first + 4 * (1 + D as u32 + k));
                way = b.op(Op::IMul, word, &[way, pitch]);
            }
            at = b.op(Op::IAdd, word, &[at, way]);
        }
        if let Some(ok) = all {
            b.report_out_of_range(ok, target.param, at);
        }
        let spot = b.spot(&target, at);
        Place::new(b.place_in(spot.class, Root::One(spot.root), spot.indices, all))
    })
}

impl<A: Reads, const D: usize> IndexBy<[Val<u32>; D]> for Cap<Grid<A, D>> {
    type Out = Val<A::Element>;
    fn index(self, index: [Val<u32>; D]) -> Val<A::Element> {
        element(self, index).rd()
    }
}

impl<A: Writes, const D: usize> IndexPlace<[Val<u32>; D]> for Cap<Grid<A, D>> {
    type Out = Slot<A, A::Element>;
    fn index_place(self, index: [Val<u32>; D]) -> Self::Out {
        Slot::new(element(self, index))
    }
}
