//! Selections that turn items away: which of them the items of a way pass.

use rspirv::spirv::{BuiltIn, Op, StorageClass};
use smallvec::SmallVec;

use super::conditions::Order;
use super::copies::Copies;
use super::parts::{Limit, Part};
use super::{Other, Traced, Tracer};
use crate::ir::entity::Value;
use crate::ir::{Args, Def, Operation, Root};

impl Tracer<'_> {
    /// Whether items go on behind a selection that turns others away, which its condition says by being `truth`. What has to hold for that is noted.
    pub(super) fn goes_on(&mut self, condition: &Copies, truth: bool) -> Traced<bool> {
        let (mut orders, mut are_all): (Vec<Vec<Order>>, bool) = (Vec::new(), true);
        for &one in condition {
            let mut own = Vec::new();
            are_all &= self.fact(one).early && self.orders(one, truth, &mut own);
            orders.push(own);
        }
        let sides = [false, true].map(|is_end| self.bound(&orders[0], is_end));
        let [begin, end] = sides.clone();
        let is_in = match &self.start.part {
            Part::Whole => true,
            Part::Of(begins, number) => {
                let of = |side: &Option<(usize, Option<Limit>)>| {
                    let limit = side.as_ref()?.1.as_ref()?;
                    begins.iter().position(|one| one == limit)
                };
                match (of(&begin), of(&end)) {
                    (Some(at), _) => at + 1 == *number,
                    (None, Some(_)) => *number == 0,
                    _ => true,
                }
            }
        };
        are_all &= begin.as_ref().is_some_and(|side| side.1.is_some());
        self.parts.begins.extend(begin.and_then(|side| side.1));
        self.parts.ends.extend(end.and_then(|side| side.1));
        if is_in {
            // Who is turned away has nothing left to do here.
            for (&one, own) in condition.iter().zip(orders).filter(|_| !mutant!(NobodyIsTurnedAway)) {
                match are_all {
                    true => own.into_iter().for_each(|order| self.conditions.add_order(order)),
                    false => self.assume(one, truth)?,
                }
            }
            return Ok(true);
        }
        self.parts.left_out += 1;
        for &one in condition {
            if !self.fact(one).early {
                return Err(Other);
            }
        }
        // Before the first item or behind the last one, all of them.
        let outside = sides.map(|side| {
            let of_item = |own: &Vec<Order>| Some(own.get(side.as_ref()?.0)?.not());
            orders.iter().map(of_item).collect::<Option<Vec<Order>>>()
        });
        let outside: Vec<Vec<Order>> = outside.into_iter().flatten().collect();
        if outside.is_empty() {
            return Err(Other);
        }
        if !mutant!(NobodyIsInAPart) {
            self.conditions.add_either(outside);
        }
        Ok(false)
    }

    /// Adds comparisons that have to hold for a condition to be `truth`. Whether that is all there is to it.
    fn orders(&mut self, condition: Value, truth: bool, found: &mut Vec<Order>) -> bool {
        let (op, args) = self.fact(condition).made.clone().unwrap_or((Op::Nop, Args::new()));
        match (op, args.as_slice(), truth) {
            (Op::LogicalNot, &[inner], _) => self.orders(inner, !truth, found),
            (Op::LogicalOr, &[a, b], false) | (Op::LogicalAnd, &[a, b], true) => {
                self.orders(a, truth, found) & self.orders(b, truth, found)
            }
            (Op::Select, &[a, b, c], true) if self.truth(c) == Some(false) => {
                self.orders(a, true, found) & self.orders(b, true, found)
            }
            (Op::Select, &[a, b, c], false) if self.truth(b) == Some(true) => {
                self.orders(a, false, found) & self.orders(c, false, found)
            }
            (_, &[a, b], _) => match Order::of(op, truth, a, b) {
                Some(order) => {
                    found.push(order);
                    true
                }
                None => false,
            },
            _ => self.truth(condition) == Some(truth),
        }
    }

    /// The one of these, of the first item, by which its range ends or begins: where its number is compared with one of the call, if there is such a one.
    fn bound(&mut self, orders: &[Order], is_end: bool) -> Option<(usize, Option<Limit>)> {
        let item = self.values_of_ids.get(&BuiltIn::GlobalInvocationId).map(|ids| ids[0][0]);
        let item = item.and_then(|item| self.words(item));
        let mut found = None;
        for (at, order) in orders.iter().enumerate() {
            let (word, limit) = if is_end { (order.a, order.b) } else { (order.b, order.a) };
            if self.varies(word) && !self.varies(limit) {
                let limit = if self.words(word) == item { self.limit(limit) } else { None };
                match limit {
                    Some(limit) => return Some((at, Some(limit))),
                    None => found = found.or(Some((at, None))),
                }
            }
        }
        found
    }

    /// Where a number of the call is from, if the value is one.
    fn limit(&mut self, value: Value) -> Option<Limit> {
        if let Some((Op::Bitcast, args)) = self.fact(value).made.clone() {
            return self.limit(args[0]);
        }
        let f = self.code.f();
        let Def::Inst(inst) = f.values[value].def else { return None };
        let Operation::Load { place, .. } = f.insts[inst].operation else { return None };
        let place = &f.places[place];
        let Root::Global(root) = place.root else { return None };
        let class = self.code.module.globals[root].class;
        let path: Option<SmallVec<_>> =
            place.path.iter().map(|&index| f.number(self.code.module, index)).collect();
        let is_argument = matches!(class, StorageClass::PushConstant | StorageClass::Uniform);
        path.filter(|_| is_argument).map(|path| Limit(root, path))
    }
}
