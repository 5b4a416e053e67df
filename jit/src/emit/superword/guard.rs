//! Writes what has to hold for the way that is written.
//!
//! # Guarantees
//! - if what [`write`] writes holds, all that was noted does, each under the branches it was noted behind

use ahash::AHashMap;
use rspirv::dr::Operand;
use rspirv::spirv::{Op, Word};

use super::conditions::{Behind, Condition, Conditions, Order};
use super::trace::{Tracer, ids};
use super::words::Polynomial;
use crate::emit::builder::Code;

/// Orders with the same other side, of words that differ by numbers: their common part, and each word with its number.
struct Family {
    order: Order,
    /// The words are the lesser side.
    lesser: bool,
    rest: Option<Polynomial>,
    words: Vec<(Word, i64)>,
}

/// Writes whether all of it holds.
pub(super) fn write(all: &Conditions, tracer: &mut Tracer<'_>, code: &mut Code) -> Word {
    let boolean = tracer.shared.builder.bool();
    let mut sets: Vec<(&Behind, Vec<Condition>)> = Vec::new();
    for (behind, condition) in &all.all {
        match sets.iter_mut().find(|(other, _)| *other == behind) {
            Some((_, all)) => all.push(*condition),
            None => sets.push((behind, vec![*condition])),
        }
    }
    let mut whole: Option<Word> = None;
    for (behind, conditions) in sets {
        let mut all: Option<Word> = None;
        for order in orders(tracer, &conditions) {
            let one = value(tracer, code, order.op(), boolean, &[order.a, order.b]);
            all = Some(both(tracer, code, boolean, all, one));
        }
        for condition in &conditions {
            let Condition::Is(word, truth) = *condition else { continue };
            let one = if truth { word } else { value(tracer, code, Op::LogicalNot, boolean, &[word]) };
            all = Some(both(tracer, code, boolean, all, one));
        }
        let Some(mut holds) = all else { continue };
        // Where control does not come there, nothing has to hold.
        for &(word, truth) in behind {
            let away = if truth { value(tracer, code, Op::LogicalNot, boolean, &[word]) } else { word };
            holds = value(tracer, code, Op::LogicalOr, boolean, &[away, holds]);
        }
        whole = Some(both(tracer, code, boolean, whole, holds));
    }
    whole.unwrap_or_else(|| tracer.shared.builder.truth(true))
}

fn value(tracer: &mut Tracer<'_>, code: &mut Code, op: Op, ty: Word, operands: &[Word]) -> Word {
    code.value(&mut tracer.shared.builder, op, ty, ids(operands))
}

fn both(tracer: &mut Tracer<'_>, code: &mut Code, boolean: Word, all: Option<Word>, one: Word) -> Word {
    match all {
        Some(all) => code.value(
            &mut tracer.shared.builder,
            Op::LogicalAnd,
            boolean,
            vec![Operand::IdRef(all), Operand::IdRef(one)],
        ),
        None => one,
    }
}

/// Fewer orders of which these follow.
///
/// Let words `v + c` be compared with one limit, `c` from `least` to `most`. If `v + least <= v + most`, nothing between the two wraps, for
/// they are less than half of all words apart: so whatever is below the limit at `most` is at all, and whatever is above it at `least`.
fn orders(tracer: &mut Tracer<'_>, conditions: &[Condition]) -> Vec<Order> {
    let mut families: Vec<Family> = Vec::new();
    let mut found: AHashMap<(bool, bool, bool, Word, Option<Polynomial>), usize> = AHashMap::new();
    for condition in conditions {
        let Condition::Order(order) = *condition else { continue };
        let split = |tracer: &mut Tracer<'_>, word: Word| tracer.fact(word).words.map(|words| words.split());
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
        let Order { signed, strict, .. } = order;
        words.sort_by_key(|&(_, number)| number);
        let (least, most) = (words[0], words[words.len() - 1]);
        let mut add = |order: Order| {
            if !all.contains(&order) {
                all.push(order);
            }
        };
        let limit = |word: Word| match lesser {
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
        let _ = strict;
        add(limit(if lesser { most.0 } else { least.0 }));
    }
    all
}
