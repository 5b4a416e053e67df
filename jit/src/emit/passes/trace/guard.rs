//! Writes what has to hold for the way that is written.
//!
//! # Guarantees
//! - if what [`write`] writes holds, all that was noted does, each under the branches it was noted behind

use ahash::AHashMap;
use rspirv::spirv::Op;

use super::Tracer;
use super::conditions::{Behind, Condition, Conditions, Order};
use super::words::Polynomial;
use crate::ir::entity::Value;
use crate::ir::{Builder, TypeKind};

/// Orders with the same other side, of words that differ by numbers: their common part, and each word with its number.
struct Family {
    order: Order,
    /// The words are the lesser side.
    lesser: bool,
    rest: Option<Polynomial>,
    words: Vec<(Value, i64)>,
}

/// Writes whether all of it holds.
pub(in crate::emit::passes) fn write(all: &Conditions, tracer: &mut Tracer<'_>) -> Value {
    let mut sets: Vec<(&Behind, Vec<Condition>)> = Vec::new();
    for (behind, condition) in &all.all {
        match sets.iter_mut().find(|(other, _)| *other == behind) {
            Some((_, all)) => all.push(*condition),
            None => sets.push((behind, vec![*condition])),
        }
    }
    let mut whole: Option<Value> = None;
    for (behind, conditions) in sets {
        let mut all: Option<Value> = None;
        for order in orders(tracer, &conditions) {
            let one = tracer.code.test(order.op(), order.a, order.b);
            all = Some(both(&mut tracer.code, all, one));
        }
        for condition in &conditions {
            let Condition::Is(word, truth) = *condition else { continue };
            let one = if truth { word } else { not(&mut tracer.code, word) };
            all = Some(both(&mut tracer.code, all, one));
        }
        let Some(holds) = all else { continue };
        let holds = unless_away(&mut tracer.code, behind, holds);
        whole = Some(both(&mut tracer.code, whole, holds));
    }
    for (behind, sides) in &all.either {
        let [before, after] = sides.each_ref().map(|side| {
            let side: Vec<Condition> = side.iter().map(|&order| Condition::Order(order)).collect();
            let mut all: Option<Value> = None;
            for order in orders(tracer, &side) {
                let one = tracer.code.test(order.op(), order.a, order.b);
                all = Some(both(&mut tracer.code, all, one));
            }
            all.unwrap_or_else(|| tracer.code.truth(true))
        });
        let holds = tracer.code.test(Op::LogicalOr, before, after);
        let holds = unless_away(&mut tracer.code, behind, holds);
        whole = Some(both(&mut tracer.code, whole, holds));
    }
    whole.unwrap_or_else(|| tracer.code.truth(true))
}

/// Whether this holds where control comes behind these branches: where it does not, nothing has to hold.
fn unless_away(code: &mut Builder<'_>, behind: &Behind, mut holds: Value) -> Value {
    for &(word, truth) in behind {
        let away = if truth { not(code, word) } else { word };
        holds = code.test(Op::LogicalOr, away, holds);
    }
    holds
}

fn not(code: &mut Builder<'_>, value: Value) -> Value {
    let boolean = code.module.ty(TypeKind::Bool);
    code.pure(Op::LogicalNot, boolean, &[value], &[])
}

fn both(code: &mut Builder<'_>, all: Option<Value>, one: Value) -> Value {
    all.map_or(one, |all| code.test(Op::LogicalAnd, all, one))
}

/// Fewer orders that imply these.
///
/// Let words `v + c` be compared with one limit, `c` from `least` to `most`. If `v + least <= v + most`, nothing between the two wraps, for
/// they are less than half of all words apart: so whatever is below the limit at `most` is at all, and whatever is above it at `least`.
fn orders(tracer: &mut Tracer<'_>, conditions: &[Condition]) -> Vec<Order> {
    let mut families: Vec<Family> = Vec::new();
    let mut found: AHashMap<(bool, bool, bool, Value, Option<Polynomial>), usize> = AHashMap::new();
    for condition in conditions {
        let Condition::Order(order) = *condition else { continue };
        let split = |tracer: &mut Tracer<'_>, word: Value| tracer.words(word).map(|words| words.split());
        // The side that has more than a number in it varies.
        let (a, b) = (split(tracer, order.a), split(tracer, order.b));
        let is_number = |of: &Option<(Polynomial, u32)>| {
            of.as_ref().is_some_and(|(rest, _)| rest.as_constant().is_some())
        };
        let lesser = !is_number(&a) && tracer.varies(order.a) || is_number(&b) || !tracer.varies(order.b);
        let (word, own, limit) = if lesser { (order.a, a, order.b) } else { (order.b, b, order.a) };
        let (rest, number) = own.map_or((None, 0), |(rest, number)| (Some(rest), number));
        let key = (order.signed, order.strict, lesser, limit, rest.clone());
        let at = match rest {
            Some(_) => *found.entry(key).or_insert(families.len()),
            None => families.len(),
        };
        if at == families.len() {
            families.push(Family { order, lesser, rest, words: Vec::new() });
        }
        families[at].words.push((word, i64::from(number as i32)));
    }
    let mut all: Vec<Order> = Vec::new();
    for Family { order, lesser, rest, mut words } in families {
        let signed = order.signed;
        words.sort_by_key(|&(_, number)| number);
        let (least, most) = (words[0], words[words.len() - 1]);
        let mut add = |order: Order| {
            if !all.contains(&order) {
                all.push(order);
            }
        };
        let limit = |word: Value| match lesser {
            true => Order { a: word, ..order },
            false => Order { b: word, ..order },
        };
        if rest.is_none() || most.1 - least.1 >= i64::from(i32::MAX) {
            words.iter().for_each(|&(word, _)| add(limit(word)));
            continue;
        }
        if least.0 != most.0 && !mutant!(NothingWrapsBetween) {
            add(Order { signed, strict: false, a: least.0, b: most.0 });
        }
        add(limit(if lesser { most.0 } else { least.0 }));
    }
    all
}
