//! Values as a trace has them: of this round, of the round before, of a loop that is over.

use rspirv::spirv::Op;

use super::body::Shape;
use super::term::{Origin, Term, Word};
use super::trace::{FrameId, Kind, MAX_DEPTH, Path, Trace, World};

impl Trace<'_> {
    /// A scalar of the value of an id, as it is in a frame.
    pub(super) fn leaf(&mut self, w: &mut World, frame: FrameId, id: u32, path: Path) -> Term {
        let body = self.body();
        let width = body.type_of(id).and_then(|ty| body.width(body.inner(ty, &path)?)).unwrap_or(32);
        let Some((at, inst)) = body.local(id) else {
            return match body.global(id) {
                Some(_) => self
                    .constant(w, id, &path)
                    .unwrap_or_else(|| self.unknown(w, width, Origin::Unknown, "constant", id)),
                None => self.unknown(w, width, Origin::Unknown, "value", id),
            };
        };
        // To the frame it is defined in, or to the last round of a loop that is over.
        let mut frame = frame;
        let home = body.home[at.0];
        while !self.holds(frame, home) {
            frame = self.frames[frame].parent;
        }
        if let Some(&inner) = body.chain(self.frames[frame].of, at.0).first() {
            return self.after(w, frame, inner, id, path);
        }
        if let Some(&known) = self.values.get(&(frame, id, path.clone())) {
            return known;
        }
        if self.depth > MAX_DEPTH {
            return self.unknown(w, width, Origin::Unknown, "value", id);
        }
        self.depth += 1;
        let value = if inst.class.opcode == Op::Phi {
            self.phi(w, frame, at.0, id, &path, width)
        } else {
            self.compute(w, frame, inst, &path, width)
        };
        self.depth -= 1;
        let value = value.filter(|&v| w.terms.width(v) == width);
        let value = value.unwrap_or_else(|| {
            let origin = if inst.result_type.is_some_and(|ty| self.is_float(ty)) {
                Origin::Float
            } else {
                Origin::Unknown
            };
            self.unknown(w, width, origin, &format!("{:?}", inst.class.opcode), id)
        });
        self.values.insert((frame, id, path), value);
        value
    }

    /// Whether a block of the loop `home` lies in the loop of this frame.
    fn holds(&self, frame: FrameId, home: Option<usize>) -> bool {
        let Some(of) = self.frames[frame].of else { return true };
        let mut at = home;
        while let Some(inner) = at {
            if inner == of {
                return true;
            }
            at = self.body().loops[inner].parent;
        }
        false
    }

    /// A value of a loop that is over.
    fn after(&mut self, w: &mut World, frame: FrameId, inner: usize, id: u32, path: Path) -> Term {
        match self.rounds(w, frame, inner) {
            Some(rounds) => {
                let mut value = self.leaf(w, rounds[0], id, path.clone());
                for &round in &rounds[1..] {
                    let happened = self.entry(w, round);
                    if w.terms.value(happened) == Some(0) {
                        continue;
                    }
                    let there = self.leaf(w, round, id, path.clone());
                    value = w.terms.choose(happened, there, value);
                }
                value
            }
            None => {
                let last = self.last(w, frame, inner);
                self.leaf(w, last, id, path)
            }
        }
    }

    fn phi(
        &mut self,
        w: &mut World,
        frame: FrameId,
        block: usize,
        id: u32,
        path: &Path,
        width: u8,
    ) -> Option<Term> {
        let body = self.body();
        let (parent, of, kind) = (self.frames[frame].parent, self.frames[frame].of, self.frames[frame].kind);
        let header = of.filter(|&of| body.loops[of].header == block);
        let Some(of) = header else {
            return self.merge(w, frame, block, id, path, |_| true);
        };
        match kind {
            Kind::Round { before: None, .. } => {
                self.merge(w, parent, block, id, path, |b| !body.loops[of].inside[b])
            }
            Kind::Round { before: Some(before), .. } => {
                self.merge(w, before, block, id, path, |b| body.loops[of].inside[b])
            }
            Kind::Any { count, first, bare } => {
                if let Some((start, step)) = self.carried(w, parent, of, id).filter(|_| path.is_empty()) {
                    let count = w.terms.extend(count, width, false);
                    let way = w.terms.word(Word::Mul, count, step);
                    return Some(w.terms.word(Word::Add, start, way));
                }
                if bare {
                    return Some(self.unknown(w, width, Origin::Loop, "what the loop carries:", id));
                }
                let start = self.merge(w, parent, block, id, path, |b| !body.loops[of].inside[b])?;
                let one = w.terms.constant(1, w.terms.width(count));
                let less = w.terms.word(Word::Sub, count, one);
                let before = self.bare(w, parent, of, less);
                let next = self.merge(w, before, block, id, path, |b| body.loops[of].inside[b])?;
                Some(w.terms.choose(first, start, next))
            }
            Kind::Function => None,
        }
    }

    /// The value of a phi, coming from some of the blocks before it.
    fn merge(
        &mut self,
        w: &mut World,
        frame: FrameId,
        block: usize,
        id: u32,
        path: &Path,
        counts: impl Fn(usize) -> bool,
    ) -> Option<Term> {
        let body = self.body();
        let (_, inst) = body.local(id)?;
        let mut ways: Vec<(Term, Term)> = Vec::new();
        for pair in inst.operands.chunks(2) {
            let value = pair.first()?.id_ref_any()?;
            let from = body.label(pair.get(1)?.id_ref_any()?)?;
            if !body.reached[from] || !counts(from) {
                continue;
            }
            for (condition, at) in self.incoming(w, frame, from, block) {
                if w.terms.value(condition) != Some(0) {
                    let value = self.leaf(w, at, value, path.clone());
                    ways.push((condition, value));
                }
            }
        }
        let (_, mut value) = ways.pop()?;
        for (condition, other) in ways.into_iter().rev() {
            value = w.terms.choose(condition, other, value);
        }
        Some(value)
    }

    /// First value and step of what a loop counts, if its instructions add the same number in every round.
    pub(super) fn carried(
        &mut self,
        w: &mut World,
        parent: FrameId,
        of: usize,
        phi: u32,
    ) -> Option<(Term, Term)> {
        let body = self.body();
        let header = body.loops[of].header;
        let (at, inst) = body.local(phi)?;
        let width = body.width(inst.result_type?).filter(|&width| width > 1)?;
        if at.0 != header || self.is_float(inst.result_type?) {
            return None;
        }
        let mut next = None;
        for pair in inst.operands.chunks(2) {
            let from = body.label(pair.get(1)?.id_ref_any()?)?;
            if body.loops[of].inside[from] {
                let value = self.source(pair.first()?.id_ref_any()?);
                if next.is_some_and(|n| n != value) {
                    return None;
                }
                next = Some(value);
            }
        }
        let (added, sum) = body.local(next?)?;
        if body.home[added.0] != Some(of) {
            return None;
        }
        let operand = |n: usize| sum.operands.get(n).and_then(|o| o.id_ref_any());
        let (a, b) = (operand(0)?, operand(1)?);
        let (step, minus) = match sum.class.opcode {
            Op::IAdd if self.source(a) == phi => (b, false),
            Op::IAdd if self.source(b) == phi => (a, false),
            Op::ISub if self.source(a) == phi => (b, true),
            _ => return None,
        };
        let mut step = self.fixed(w, parent, of, step)?;
        if w.terms.width(step) != width {
            return None;
        }
        if minus {
            let zero = w.terms.constant(0, width);
            step = w.terms.word(Word::Sub, zero, step);
        }
        let start = self.merge(w, parent, header, phi, &Path::new(), |b| !body.loops[of].inside[b])?;
        Some((start, step))
    }

    /// A scalar that is the same in all rounds of a loop.
    pub(super) fn fixed(&mut self, w: &mut World, parent: FrameId, of: usize, id: u32) -> Option<Term> {
        match self.pushed(w, id) {
            Some(number) => Some(number),
            None if self.is_fixed(id, of) => Some(self.leaf(w, parent, id, Path::new())),
            None => None,
        }
    }

    /// The value behind phis of one and the same value and copies.
    pub(super) fn source(&self, mut id: u32) -> u32 {
        for _ in 0..64 {
            let Some((_, inst)) = self.body().local(id) else { break };
            let mut values = inst.operands.iter().step_by(2).map(|o| o.id_ref_any());
            match (inst.class.opcode, values.next().flatten()) {
                (Op::Phi, Some(first)) if values.all(|v| v == Some(first)) => id = first,
                (Op::CopyObject, Some(first)) => id = first,
                _ => break,
            }
        }
        id
    }

    /// Whether a value is the same in all rounds of a loop, and can be asked for outside of it.
    fn is_fixed(&self, id: u32, of: usize) -> bool {
        let body = self.body();
        let Some((at, _)) = body.local(id) else { return true };
        !body.loops[of].inside[at.0]
    }

    fn is_float(&self, ty: u32) -> bool {
        match self.body().shape(ty) {
            Shape::Float { .. } => true,
            Shape::Vector { part, .. } => self.is_float(*part),
            _ => false,
        }
    }
}
