//! What one invocation does in one kernel: which blocks it reaches, in which rounds of their loops, and with which
//! values.
//!
//! A [`Frame`] is the function itself or one round of a loop. Rounds are taken one after the other where their number
//! shows (`rounds`): then everything is exact. Otherwise a round is any round: what the loop carries is
//! `first + count * step` where its instructions say so and unknown elsewhere, and all that is known of the count is
//! that the rounds before did not end the loop. That allows more than the kernel does, never less.

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::{BuiltIn, Op, StorageClass};
use smallvec::SmallVec;

use super::body::Body;
use super::term::{Compare, Origin, Term, Terms, Word};
use crate::plan::{Arg, Submission};

/// Most rounds of a loop that is unrolled, and most frames of one trace.
const MAX_ROUNDS: usize = 260;
const MAX_FRAMES: usize = 4000;
/// Longest chain of definitions that is followed.
pub(super) const MAX_DEPTH: u32 = 3000;

pub(super) type Path = SmallVec<[u32; 3]>;
pub(super) type FrameId = usize;

/// An invocation of the fused kernel.
#[derive(Clone, Debug)]
pub(super) struct Actor {
    pub(super) name: String,
    pub(super) group: [Term; 3],
    pub(super) local: [Term; 3],
    /// Number of the item, where an invocation does several.
    pub(super) item: Option<Term>,
}

/// What all traces of one group share.
pub(super) struct World {
    pub(super) terms: Terms,
    /// Width of the words in which addresses are computed: wide enough for all buffers.
    pub(super) address: u8,
    /// Buffers that some member of the group writes.
    pub(super) written: AHashSet<u64>,
    cells: AHashMap<(u64, u64, u8), Term>,
    /// Invocations by name.
    pub(super) actors: AHashMap<String, Actor>,
    /// The byte that claims of what was written before a read speak of.
    pub(super) byte: Option<Term>,
}

impl World {
    /// A world in which members have these arguments, and write to these buffers.
    pub(super) fn new<'a>(args: impl Iterator<Item = &'a Arg>, written: AHashSet<u64>) -> Self {
        let end = args.map(|arg| arg.offset.saturating_add(arg.len)).max().unwrap_or(0);
        Self {
            terms: Terms::default(),
            address: if end < 1 << 28 { 32 } else { 64 },
            written,
            cells: AHashMap::new(),
            actors: AHashMap::new(),
            byte: None,
        }
    }

    /// An id below `count`.
    pub(super) fn id(&mut self, count: u32, name: String) -> Term {
        match count {
            0 | 1 => self.terms.constant(0, 32),
            _ => self.terms.symbol(32, u64::from(count) - 1, Origin::Id, name),
        }
    }

    /// Group and local id of any invocation.
    pub(super) fn any(&mut self, groups: [u32; 3], size: [u32; 3], name: &str) -> [[Term; 3]; 2] {
        [(groups, "group"), (size, "local")].map(|(counts, what)| {
            let axes = ["x", "y", "z"];
            std::array::from_fn(|d| self.id(counts[d], format!("{name}: {what} id {}", axes[d])))
        })
    }

    /// Whether a term is a number in a buffer that is never written ([`cell`](Self::cell)), which all invocations read alike.
    pub(super) fn is_cell(&self, term: Term) -> bool {
        self.cells.values().any(|&cell| cell == term)
    }

    /// The number at a fixed place of a buffer that is never written.
    pub(super) fn cell(&mut self, buffer: u64, offset: u64, width: u8) -> Term {
        if let Some(&known) = self.cells.get(&(buffer, offset, width)) {
            return known;
        }
        let name = format!("buffer {buffer}, byte {offset}");
        let term = self.terms.fresh(width, Origin::Input, name);
        self.cells.insert((buffer, offset, width), term);
        term
    }
}

/// One kernel of the group with its arguments.
pub(super) struct Member<'a> {
    pub(super) position: usize,
    pub(super) submission: &'a Submission,
    pub(super) body: Body<'a>,
}

impl Member<'_> {
    /// Number of the argument behind a variable.
    pub(super) fn argument(&self, variable: u32) -> Option<usize> {
        let variable = self.body.variables.get(&variable)?;
        if !matches!(variable.class, StorageClass::StorageBuffer | StorageClass::Uniform) {
            return None;
        }
        self.submission.args.iter().position(|arg| arg.at == variable.at)
    }
}

/// The ids a member reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    pub(super) group: [Term; 3],
    pub(super) local: [Term; 3],
    pub(super) global: [Term; 3],
    pub(super) counts: [Term; 3],
    pub(super) index: Term,
    /// Whether the member does anything in this invocation.
    pub(super) runs: Term,
}

impl Ids {
    pub(super) fn builtin(&self, which: BuiltIn) -> Option<[Term; 3]> {
        match which {
            BuiltIn::WorkgroupId => Some(self.group),
            BuiltIn::LocalInvocationId => Some(self.local),
            BuiltIn::GlobalInvocationId => Some(self.global),
            BuiltIn::NumWorkgroups => Some(self.counts),
            BuiltIn::LocalInvocationIndex => Some([self.index; 3]),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Function,
    /// The round of that number, and the one before it.
    Round {
        number: u32,
        before: Option<FrameId>,
    },
    /// Any round. `first` says whether it is the first one. Of a bare one only the count is known.
    Any {
        count: Term,
        first: Term,
        bare: bool,
    },
}

pub(super) struct Frame {
    pub(super) parent: FrameId,
    pub(super) of: Option<usize>,
    pub(super) kind: Kind,
}

/// One invocation's way through one member.
pub(super) struct Trace<'a> {
    pub(super) member: &'a Member<'a>,
    pub(super) ids: Ids,
    /// Name of the invocation.
    pub(super) who: String,
    /// Whether loops are unrolled where that is possible.
    exact: bool,
    pub(super) frames: Vec<Frame>,
    pub(super) values: AHashMap<(FrameId, u32, Path), Term>,
    reached: AHashMap<(FrameId, usize), Term>,
    rounds: AHashMap<(FrameId, usize), Option<Rc<[FrameId]>>>,
    endless: AHashSet<usize>,
    last: AHashMap<(FrameId, usize), FrameId>,
    some: AHashMap<(FrameId, usize), FrameId>,
    bare: AHashMap<(FrameId, usize, Term), FrameId>,
    /// What holds of this invocation whatever it does.
    facts: Vec<Term>,
    /// What it knows of its sub-group.
    of_subgroup: AHashMap<BuiltIn, Term>,
    pub(super) depth: u32,
}

/// The function itself.
pub(super) const ROOT: FrameId = 0;

impl<'a> Trace<'a> {
    pub(super) fn new(member: &'a Member<'a>, ids: Ids, who: impl Into<String>, exact: bool) -> Self {
        Self {
            member,
            ids,
            who: who.into(),
            exact,
            frames: vec![Frame { parent: ROOT, of: None, kind: Kind::Function }],
            values: AHashMap::new(),
            reached: AHashMap::new(),
            rounds: AHashMap::new(),
            endless: AHashSet::new(),
            last: AHashMap::new(),
            some: AHashMap::new(),
            bare: AHashMap::new(),
            facts: Vec::new(),
            of_subgroup: AHashMap::new(),
            depth: 0,
        }
    }

    pub(super) fn body(&self) -> &'a Body<'a> {
        &self.member.body
    }

    pub(super) fn facts(&self) -> &[Term] {
        &self.facts
    }

    pub(super) fn parent(&self, frame: FrameId) -> Option<FrameId> {
        (frame != ROOT).then(|| self.frames[frame].parent)
    }

    pub(super) fn loop_of(&self, frame: FrameId) -> Option<usize> {
        self.frames[frame].of
    }

    /// Number of a round of an unrolled loop.
    pub(super) fn round(&self, frame: FrameId) -> Option<u32> {
        match self.frames[frame].kind {
            Kind::Round { number, .. } => Some(number),
            _ => None,
        }
    }

    fn push(&mut self, parent: FrameId, of: usize, kind: Kind) -> FrameId {
        self.frames.push(Frame { parent, of: Some(of), kind });
        self.frames.len() - 1
    }

    /// An unknown value of this invocation.
    pub(super) fn unknown(&self, w: &mut World, width: u8, origin: Origin, what: &str, id: u32) -> Term {
        let name = format!("{}, submission {}: {what} %{id}", self.who, self.member.position);
        w.terms.fresh(width, origin, name)
    }

    /// What the invocation knows of its sub-group: any number that a device may say.
    pub(super) fn of_subgroup(&mut self, w: &mut World, which: BuiltIn) -> Option<Term> {
        /// As many bits as a ballot has.
        const LANES: u64 = 128;
        let size = self.member.submission.kernel.interface.local_size;
        let invocations: u64 = size.iter().map(|&n| u64::from(n)).product();
        let most = match which {
            BuiltIn::SubgroupId => invocations - 1,
            BuiltIn::NumSubgroups => invocations,
            BuiltIn::SubgroupSize => LANES,
            BuiltIn::SubgroupLocalInvocationId => LANES - 1,
            _ => return None,
        };
        let name = format!("{}, submission {}: {which:?}", self.who, self.member.position);
        let symbol = || w.terms.symbol(32, most, Origin::Input, name);
        Some(*self.of_subgroup.entry(which).or_insert_with(symbol))
    }

    /// All rounds of a loop, if their number shows.
    pub(super) fn rounds(&mut self, w: &mut World, parent: FrameId, of: usize) -> Option<Rc<[FrameId]>> {
        if let Some(known) = self.rounds.get(&(parent, of)) {
            return known.clone();
        }
        if !self.exact || self.endless.contains(&of) {
            return None;
        }
        let mut frames = Vec::new();
        let mut found = None;
        let mut before = None;
        while frames.len() < MAX_ROUNDS && self.frames.len() < MAX_FRAMES {
            let frame = self.push(parent, of, Kind::Round { number: frames.len() as u32, before });
            frames.push(frame);
            let again = self.again(w, frame);
            if w.terms.value(again) == Some(0) {
                found = Some(Rc::from(frames.as_slice()));
                break;
            }
            before = Some(frame);
        }
        if found.is_none() {
            self.endless.insert(of);
        }
        self.rounds.insert((parent, of), found.clone());
        found
    }

    /// The rounds that a block is in. Of a loop that is not unrolled, some round.
    pub(super) fn frames_of(&mut self, w: &mut World, block: usize) -> Vec<FrameId> {
        self.inner(w, ROOT, self.body().chain(None, block), Self::some)
    }

    /// The rounds of loops, one inside the other, in a frame. Of a loop that is not unrolled it is the one that `not_unrolled` gives.
    fn inner(
        &mut self,
        w: &mut World,
        frame: FrameId,
        loops: Vec<usize>,
        not_unrolled: fn(&mut Self, &mut World, FrameId, usize) -> FrameId,
    ) -> Vec<FrameId> {
        let mut frames = vec![frame];
        for inner in loops {
            let mut next = Vec::new();
            for outer in frames {
                match self.rounds(w, outer, inner) {
                    Some(rounds) => next.extend(rounds.iter().copied()),
                    None => next.push(not_unrolled(self, w, outer, inner)),
                }
            }
            frames = next;
        }
        frames
    }

    /// The last round of a loop that is not unrolled.
    pub(super) fn last(&mut self, w: &mut World, parent: FrameId, of: usize) -> FrameId {
        if let Some(&known) = self.last.get(&(parent, of)) {
            return known;
        }
        let frame = self.any_round(w, parent, of);
        self.last.insert((parent, of), frame);
        // A loop that is entered ends: the kernel would hang unfused. Of rounds that may not happen this says nothing.
        if self.is_supposed(parent) {
            return frame;
        }
        let enters = self.enters(w, parent, of);
        let reaches = self.entry(w, frame);
        let mut out = Vec::new();
        for (from, to) in self.exits(of) {
            out.extend(self.incoming(w, frame, from, to).into_iter().map(|(condition, _)| condition));
        }
        let out = w.terms.any(out);
        let ends = w.terms.both(reaches, out);
        let fact = w.terms.implies(enters, ends);
        self.facts.push(fact);
        frame
    }

    /// Some round of a loop that is not unrolled. The same loop and frame always give the same round.
    pub(super) fn some(&mut self, w: &mut World, parent: FrameId, of: usize) -> FrameId {
        if let Some(&known) = self.some.get(&(parent, of)) {
            return known;
        }
        let frame = self.any_round(w, parent, of);
        self.some.insert((parent, of), frame);
        frame
    }

    fn any_round(&mut self, w: &mut World, parent: FrameId, of: usize) -> FrameId {
        let width = self.count_width(of);
        let header = self.body().loops[of].header as u32;
        let count = self.unknown(w, width, Origin::Loop, "rounds before, in the loop at block", header);
        let first = self.unknown(w, 1, Origin::Loop, "first round of the loop at block", header);
        self.push(parent, of, Kind::Any { count, first, bare: false })
    }

    pub(super) fn bare(&mut self, w: &mut World, parent: FrameId, of: usize, count: Term) -> FrameId {
        if let Some(&known) = self.bare.get(&(parent, of, count)) {
            return known;
        }
        let first = w.terms.truth(false);
        let frame = self.push(parent, of, Kind::Any { count, first, bare: true });
        self.bare.insert((parent, of, count), frame);
        frame
    }

    /// Whether a frame is a round that is only looked at, happen or not.
    fn is_supposed(&self, frame: FrameId) -> bool {
        let bare = matches!(self.frames[frame].kind, Kind::Any { bare: true, .. });
        bare || frame != ROOT && self.is_supposed(self.frames[frame].parent)
    }

    pub(super) fn count_width(&self, of: usize) -> u8 {
        let body = self.body();
        let phis = body.block(body.loops[of].header).iter().take_while(|i| i.class.opcode == Op::Phi);
        let widths = phis.filter_map(|i| body.width(i.result_type?));
        widths.max().unwrap_or(32).max(32)
    }

    fn exits(&self, of: usize) -> Vec<(usize, usize)> {
        let body = self.body();
        let inside = &body.loops[of].inside;
        let blocks = (0..body.blocks()).filter(|&b| inside[b] && body.reached[b]);
        blocks.flat_map(|b| body.after[b].iter().filter(|&&to| !inside[to]).map(move |&to| (b, to))).collect()
    }

    /// Whether the loop is entered.
    pub(super) fn enters(&mut self, w: &mut World, parent: FrameId, of: usize) -> Term {
        let body = self.body();
        let header = body.loops[of].header;
        if let Some(before) = body.sure[header] {
            return self.reach(w, parent, before);
        }
        let from: Vec<usize> =
            body.before[header].iter().copied().filter(|&b| !body.loops[of].inside[b]).collect();
        self.arrives(w, parent, &from, header)
    }

    /// Whether a round is followed by another.
    pub(super) fn again(&mut self, w: &mut World, frame: FrameId) -> Term {
        let body = self.body();
        let Some(of) = self.frames[frame].of else { return w.terms.truth(false) };
        let header = body.loops[of].header;
        let from: Vec<usize> =
            body.before[header].iter().copied().filter(|&b| body.loops[of].inside[b]).collect();
        self.arrives(w, frame, &from, header)
    }

    fn arrives(&mut self, w: &mut World, frame: FrameId, from: &[usize], to: usize) -> Term {
        let mut ways = Vec::new();
        for &block in from {
            ways.extend(self.incoming(w, frame, block, to).into_iter().map(|(condition, _)| condition));
        }
        w.terms.any(ways)
    }

    /// Whether a frame begins.
    pub(super) fn entry(&mut self, w: &mut World, frame: FrameId) -> Term {
        let header = match self.frames[frame].of {
            None => 0,
            Some(of) => self.body().loops[of].header,
        };
        self.reach(w, frame, header)
    }

    /// Whether a block of this frame's loop is reached in it.
    pub(super) fn reach(&mut self, w: &mut World, frame: FrameId, block: usize) -> Term {
        if let Some(&known) = self.reached.get(&(frame, block)) {
            return known;
        }
        if self.depth > MAX_DEPTH {
            return self.unknown(w, 1, Origin::Unknown, "block", block as u32);
        }
        self.depth += 1;
        let (parent, of, kind) = (self.frames[frame].parent, self.frames[frame].of, self.frames[frame].kind);
        let header = of.map_or(0, |of| self.body().loops[of].header);
        let reached = if block != header {
            match self.body().sure[block] {
                Some(before) => self.reach(w, frame, before),
                None => {
                    let from = self.body().before[block].clone();
                    self.arrives(w, frame, &from, block)
                }
            }
        } else {
            match (kind, of) {
                (Kind::Round { before: Some(before), .. }, _) => self.again(w, before),
                (Kind::Round { .. }, Some(of)) => self.enters(w, parent, of),
                (Kind::Any { bare: true, .. }, _) => w.terms.truth(true),
                (Kind::Any { count, first, .. }, Some(of)) => self.enters_round(w, parent, of, count, first),
                _ => self.ids.runs,
            }
        };
        self.depth -= 1;
        self.reached.insert((frame, block), reached);
        reached
    }

    /// What is known of a round if it happens: those before it did not end the loop.
    fn enters_round(&mut self, w: &mut World, parent: FrameId, of: usize, count: Term, first: Term) -> Term {
        let enters = self.enters(w, parent, of);
        let width = w.terms.width(count);
        let zero = w.terms.constant(0, width);
        let is_zero = w.terms.compare(Compare::Equal, count, zero);
        let one = w.terms.constant(1, width);
        let less = w.terms.word(Word::Sub, count, one);
        let before = self.bare(w, parent, of, less);
        let goes_on = self.again(w, before);
        let later = w.terms.not(first);
        let at_first = w.terms.implies(first, is_zero);
        let afterwards = w.terms.implies(later, goes_on);
        let mut known = w.terms.all([enters, at_first, afterwards]);
        for number in self.likely_ends(w, parent, of, width) {
            let frame = self.bare(w, parent, of, number);
            let goes_on = self.again(w, frame);
            let after = w.terms.compare(Compare::ULess, number, count);
            let fact = w.terms.implies(after, goes_on);
            known = w.terms.both(known, fact);
        }
        known
    }

    /// Ways from a block of this frame or of a loop in it to another: conditions, and the frames of the block.
    pub(super) fn incoming(
        &mut self,
        w: &mut World,
        frame: FrameId,
        from: usize,
        to: usize,
    ) -> Vec<(Term, FrameId)> {
        let loops = self.body().chain(self.frames[frame].of, from);
        let frames = self.inner(w, frame, loops, Self::last);
        frames
            .into_iter()
            .map(|frame| {
                let reached = self.reach(w, frame, from);
                let taken = self.takes(w, frame, from, to);
                (w.terms.both(reached, taken), frame)
            })
            .collect()
    }

    /// Whether control comes to the branch that ends a block, and its condition is this.
    pub(super) fn leaves(&mut self, w: &mut World, frame: FrameId, from: usize, side: bool) -> Option<Term> {
        let last = self.body().block(from).last()?;
        let condition = last.operands.first().and_then(|o| o.id_ref_any())?;
        if last.class.opcode != Op::BranchConditional {
            return None;
        }
        let reached = self.reach(w, frame, from);
        let condition = self.leaf(w, frame, condition, Path::new());
        let taken = if side { condition } else { w.terms.not(condition) };
        Some(w.terms.both(reached, taken))
    }

    /// Whether the branch at the end of a block goes to another. One that cannot be read may go anywhere.
    fn takes(&mut self, w: &mut World, frame: FrameId, from: usize, to: usize) -> Term {
        let body = self.body();
        let Some(last) = body.block(from).last() else { return w.terms.truth(false) };
        let id = |n: usize| last.operands.get(n).and_then(|o| o.id_ref_any());
        let leads = |n: usize| id(n).and_then(|label| body.label(label)) == Some(to);
        match last.class.opcode {
            Op::Branch => w.terms.truth(leads(0)),
            Op::BranchConditional => match (leads(1), leads(2)) {
                (false, false) => w.terms.truth(false),
                (true, true) => w.terms.truth(true),
                (yes, _) => {
                    let Some(condition) = id(0) else { return w.terms.truth(true) };
                    let condition = self.leaf(w, frame, condition, Path::new());
                    if yes { condition } else { w.terms.not(condition) }
                }
            },
            Op::Switch => {
                let Some(selector) = id(0) else { return w.terms.truth(true) };
                let selector = self.leaf(w, frame, selector, Path::new());
                let width = w.terms.width(selector);
                let (mut here, mut anywhere) = (Vec::new(), Vec::new());
                for pair in last.operands[2..].chunks(2) {
                    let value = match pair.first() {
                        Some(rspirv::dr::Operand::LiteralBit32(value)) => u64::from(*value),
                        Some(rspirv::dr::Operand::LiteralBit64(value)) => *value,
                        _ => continue,
                    };
                    let value = w.terms.constant(value, width);
                    let equal = w.terms.compare(Compare::Equal, selector, value);
                    anywhere.push(equal);
                    let target = pair.get(1).and_then(|o| o.id_ref_any()).and_then(|l| body.label(l));
                    if target == Some(to) {
                        here.push(equal);
                    }
                }
                if leads(1) {
                    let listed = w.terms.any(anywhere);
                    here.push(w.terms.not(listed));
                }
                w.terms.any(here)
            }
            _ => w.terms.truth(false),
        }
    }
}
