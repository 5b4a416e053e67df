//! Long chains of minima, and of maxima, as several shorter ones.
//!
//! In an unrolled loop each extremum depends on the one before, which costs the latency of three instructions per element. Kernels with low
//! occupancy, as those of long rows, cannot hide it.
//!
//! `f(x, y) = x < y ∨ isNan(x) ? y : x` is what kernels compute ([`formulas`](crate::frontend)). Over a sequence it gives the first of the
//! greatest numbers, or the last element if all are NaN. So it is associative, bit by bit, whatever `<` makes of denormals, as long as it orders
//! numbers.
//!
//! # Requires
//! - formulas in one region, each used by the next alone
//!
//! # Guarantees
//! - the last of them has the same bits
//!
//! # Leaves alone
//! - chains of fewer than [`LEAST`]

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::Op;
use smallvec::SmallVec;

use crate::emit::JitError;
use crate::ir::entity::{Func, Inst, Region, Type, Value};
use crate::ir::{Args, Builder, Def, Function, Module, Node, Operation};
use crate::plan::recipe::Recipe;

/// Links of a chain that is worth it.
const LEAST: usize = 8;

/// Chains that it becomes. Measured on an H200, softmax of rows of 32,768 with 128 elements an invocation: 403 µs with one chain, 359 with four, 373 with eight.
const CHAINS: usize = 4;

/// Splits all chains.
pub(in crate::emit) fn run(module: &mut Module, _: &Recipe) -> Result<(), JitError> {
    for func in module.defined.clone() {
        let f = &module.functions[func];
        let uses = uses(f);
        for region in f.regions_in(f.body) {
            for chain in chains(&module.functions[func], region, &uses) {
                split(module, func, region, &chain);
            }
        }
    }
    Ok(())
}

/// One extremum of what came before and an element.
#[derive(Clone)]
struct Link {
    before: Value,
    element: Value,
    ty: Type,
    /// Of the comparisons: a Boolean, or a vector of Booleans.
    truth: Type,
    /// The greatest, or the least.
    greatest: bool,
    /// The element is the first operand.
    flipped: bool,
    /// Its instructions, and copies of what came before.
    insts: SmallVec<[Inst; 6]>,
    select: Inst,
}

/// How often each value is used.
fn uses(f: &Function) -> AHashMap<Value, usize> {
    let mut uses = AHashMap::new();
    let mut count = |value: Value| *uses.entry(value).or_default() += 1;
    for region in f.regions_in(f.body) {
        for &node in &f.regions[region].nodes {
            match node {
                Node::Inst(inst) => f.insts[inst].operation.values().for_each(&mut count),
                Node::Construct(construct) => {
                    f.constructs[construct].kind.values().into_iter().for_each(&mut count);
                }
            }
        }
        f.regions[region].end.values().for_each(&mut count);
    }
    uses
}

/// Operands of an operation that does nothing else than compute.
fn pure(f: &Function, value: Value) -> Option<(Inst, Op, &[Value])> {
    let Def::Inst(inst) = f.values[value].def else { return None };
    match &f.insts[inst].operation {
        Operation::Pure { op, args, literals } if literals.is_empty() => Some((inst, *op, args)),
        _ => None,
    }
}

/// The formula that a value is; both operands may stand for what came before.
fn formula(f: &Function, select: Inst) -> Option<[Link; 2]> {
    let result = f.insts[select].result?;
    let (_, Op::Select, &[condition, y, x]) = pure(f, result)? else { return None };
    let (or, Op::LogicalOr, &[less, is_nan]) = pure(f, condition)? else { return None };
    let (nan, Op::IsNan, &[of]) = pure(f, is_nan)? else { return None };
    let (test, Op::FOrdLessThan, &[a, b]) = pure(f, less)? else { return None };
    let greatest = [a, b] == [x, y];
    if of != x || x == y || !greatest && [a, b] != [y, x] {
        return None;
    }
    let link = |before: Value, element: Value, flipped: bool| {
        let insts = SmallVec::from_slice(&[test, nan, or, select]);
        let (ty, truth) = (f.values[result].ty, f.values[less].ty);
        Link { before, element, ty, truth, greatest, flipped, insts, select }
    };
    Some([link(x, y, false), link(y, x, true)])
}

/// The chains of a region, each from its first link on.
fn chains(f: &Function, region: Region, uses: &AHashMap<Value, usize>) -> Vec<Vec<Link>> {
    let nodes = &f.regions[region].nodes;
    let insts = nodes.iter().filter_map(|node| if let Node::Inst(inst) = node { Some(*inst) } else { None });
    let here: AHashSet<Inst> = insts.clone().collect();
    let mut chains: Vec<Vec<Link>> = Vec::new();
    // The chain that ends with a value.
    let mut ends: AHashMap<Value, usize> = AHashMap::new();
    for select in insts {
        let Some(links) = formula(f, select) else { continue };
        let is_here = links[0].insts.iter().all(|inst| here.contains(inst));
        let used_once =
            [0, 1, 2].map(|n| f.insts[links[0].insts[n]].result.and_then(|value| uses.get(&value)));
        if !is_here || used_once != [Some(&1); 3] {
            continue;
        }
        let mut found = None;
        for mut link in links.clone() {
            let (source, mut copies) = behind_copies(f, link.before, uses);
            let Some(&chain) = ends.get(&source) else { continue };
            let last = chains[chain].last().expect("invariant: a chain has a link");
            let like = (last.ty, last.greatest) == (link.ty, link.greatest);
            let fits = chains[chain].len() == 1 || last.flipped == link.flipped;
            // The next link uses it in the test, in the test for NaN if it is the first operand, and in the selection.
            let wanted = if link.flipped { 2 } else { 3 };
            let inner = copies.iter().all(|copy| here.contains(copy));
            if like && fits && inner && uses.get(&link.before) == Some(&wanted) {
                link.insts.append(&mut copies);
                found = Some((chain, source, link));
                break;
            }
        }
        let result = f.insts[select].result.expect("invariant: a selection has a result");
        let chain = match found {
            Some((chain, source, link)) => {
                ends.remove(&source);
                if let [first] = chains[chain].as_mut_slice()
                    && first.flipped != link.flipped
                {
                    // A first link is whichever its next is.
                    std::mem::swap(&mut first.before, &mut first.element);
                    first.flipped = link.flipped;
                }
                chains[chain].push(link);
                chain
            }
            None => {
                let [link, _] = links;
                chains.push(vec![link]);
                chains.len() - 1
            }
        };
        ends.insert(result, chain);
    }
    chains.retain(|chain| chain.len() >= LEAST);
    chains
}

/// What a value is a copy of, with the copies; none where something else uses what is copied.
fn behind_copies(
    f: &Function,
    mut value: Value,
    uses: &AHashMap<Value, usize>,
) -> (Value, SmallVec<[Inst; 6]>) {
    let mut copies = SmallVec::new();
    while let Some((inst, Op::CopyObject, &[source])) = pure(f, value)
        && uses.get(&source) == Some(&1)
    {
        copies.push(inst);
        value = source;
    }
    (value, copies)
}

/// Writes a chain as several.
fn split(module: &mut Module, func: Func, region: Region, chain: &[Link]) {
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else { return };
    let mut code = Builder::new(module, func);
    let mut of_two = |a: Value, b: Value| {
        let mut operands = [a, b];
        if last.flipped {
            operands.reverse();
        }
        if mutant!(ExtremaChangePlaces) {
            operands.reverse();
        }
        let [x, y] = operands;
        let [less, more] = if last.greatest { [x, y] } else { [y, x] };
        let is_less = code.pure(Op::FOrdLessThan, last.truth, &[less, more], &[]);
        let is_nan = code.pure(Op::IsNan, last.truth, &[x], &[]);
        let condition = code.pure(Op::LogicalOr, last.truth, &[is_less, is_nan], &[]);
        code.pure(Op::Select, last.ty, &[condition, y, x], &[])
    };
    let mut parts = Vec::new();
    for part in chain.chunks(chain.len().div_ceil(CHAINS)) {
        let mut elements = part.iter().map(|link| link.element);
        let first = elements.next().expect("invariant: a chunk is not empty");
        parts.push(elements.fold(first, &mut of_two));
    }
    while parts.len() > 1 {
        parts = parts.chunks(2).map(|pair| if let &[a, b] = pair { of_two(a, b) } else { pair[0] }).collect();
    }
    let result = of_two(first.before, parts[0]);
    let nodes = std::mem::take(&mut code.nodes);
    let f = &mut module.functions[func];
    let copy =
        Operation::Pure { op: Op::CopyObject, args: Args::from_slice(&[result]), literals: SmallVec::new() };
    f.insts[last.select].operation = copy;
    let gone: AHashSet<Inst> = { chain.iter().flat_map(|link| link.insts.iter().copied()) }
        .filter(|&inst| inst != last.select)
        .collect();
    let data = &mut f.regions[region];
    data.nodes.retain(|node| !matches!(node, Node::Inst(inst) if gone.contains(inst)));
    let at = data.nodes.iter().position(|&node| node == Node::Inst(last.select));
    let at = at.expect("invariant: the last link stays");
    data.nodes.splice(at..at, nodes);
}
