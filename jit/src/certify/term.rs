//! Terms over bit-vectors and booleans, each kept once.
//!
//! What is simplified here is part of what a certificate trusts, so there is little of it: constants, neutral
//! elements, conditions that exclude each other, and unsigned ranges that decide a comparison.

use ahash::{AHashMap, AHashSet};

/// A term of a [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Term(u32);

/// Operations on words of equal width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Add,
    Sub,
    Mul,
    UDiv,
    URem,
    SDiv,
    SRem,
    SMod,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
}

/// Comparisons of words of equal width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Compare {
    Equal,
    ULess,
    ULessEqual,
    SLess,
    SLessEqual,
}

/// Where a value comes from that is not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// A component of the ids of an invocation, or a byte that a claim speaks of.
    Id,
    /// Memory that the group does not write.
    Input,
    /// A result of floating-point arithmetic: it may be anything.
    Float,
    /// Memory that the group writes.
    Written,
    /// The number of a loop's round, or a value that a loop carries in a way that is not followed.
    Loop,
    /// A value that the translator does not follow.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    Constant(u64),
    Symbol { number: u32, origin: Origin },
    Word(Word, Term, Term),
    Compare(Compare, Term, Term),
    Not(Term),
    Both(Term, Term),
    Either(Term, Term),
    Choose(Term, Term, Term),
    Extend { signed: bool, of: Term },
    Low(Term),
}

impl Node {
    /// What the node is made of.
    pub(super) fn parts(&self) -> [Option<Term>; 3] {
        match *self {
            Self::Constant(_) | Self::Symbol { .. } => [None; 3],
            Self::Not(a) | Self::Low(a) | Self::Extend { of: a, .. } => [Some(a), None, None],
            Self::Word(_, a, b) | Self::Compare(_, a, b) | Self::Both(a, b) | Self::Either(a, b) => {
                [Some(a), Some(b), None]
            }
            Self::Choose(a, b, c) => [Some(a), Some(b), Some(c)],
        }
    }
}

/// All terms of one claim's surroundings. Width 1 is the sort of truth values.
#[derive(Default)]
pub(super) struct Terms {
    nodes: Vec<(Node, u8)>,
    /// Least and greatest value as an unsigned number.
    ranges: Vec<(u64, u64)>,
    known: AHashMap<(Node, u8), Term>,
    names: Vec<String>,
}

pub(super) fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// The number as a signed one.
pub(super) fn signed(value: u64, width: u8) -> i64 {
    let shift = 64 - u32::from(width);
    ((value << shift) as i64) >> shift
}

impl Terms {
    pub(super) fn node(&self, term: Term) -> &Node {
        &self.nodes[term.0 as usize].0
    }

    pub(super) fn width(&self, term: Term) -> u8 {
        self.nodes[term.0 as usize].1
    }

    pub(super) fn range(&self, term: Term) -> (u64, u64) {
        self.ranges[term.0 as usize]
    }

    pub(super) fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    /// The symbols that terms are made of, ids of invocations left out.
    pub(super) fn symbols(&self, roots: &[Term]) -> AHashSet<Term> {
        let mut found = AHashSet::new();
        let mut seen: AHashSet<Term> = roots.iter().copied().collect();
        let mut stack: Vec<Term> = roots.to_vec();
        while let Some(term) = stack.pop() {
            let node = self.node(term);
            if matches!(node, Node::Symbol { origin, .. } if *origin != Origin::Id) {
                found.insert(term);
            }
            stack.extend(node.parts().into_iter().flatten().filter(|&part| seen.insert(part)));
        }
        found
    }

    pub(super) fn value(&self, term: Term) -> Option<u64> {
        match self.node(term) {
            Node::Constant(value) => Some(*value),
            _ => None,
        }
    }

    fn add(&mut self, node: Node, width: u8, range: (u64, u64)) -> Term {
        if let Some(&known) = self.known.get(&(node.clone(), width)) {
            return known;
        }
        let term = Term(self.nodes.len() as u32);
        self.known.insert((node.clone(), width), term);
        self.nodes.push((node, width));
        self.ranges.push(range);
        term
    }

    pub(super) fn constant(&mut self, value: u64, width: u8) -> Term {
        let value = value & mask(width);
        self.add(Node::Constant(value), width, (value, value))
    }

    pub(super) fn truth(&mut self, value: bool) -> Term {
        self.constant(u64::from(value), 1)
    }

    /// A new value, known only to be at most `most`.
    pub(super) fn symbol(&mut self, width: u8, most: u64, origin: Origin, name: impl Into<String>) -> Term {
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.add(Node::Symbol { number, origin }, width, (0, most & mask(width)))
    }

    pub(super) fn fresh(&mut self, width: u8, origin: Origin, name: impl Into<String>) -> Term {
        self.symbol(width, u64::MAX, origin, name)
    }

    pub(super) fn word(&mut self, op: Word, a: Term, b: Term) -> Term {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        let (x, y) = (self.value(a), self.value(b));
        if let (Some(x), Some(y)) = (x, y)
            && let Some(value) = compute(op, x, y, width)
        {
            return self.constant(value, width);
        }
        match (op, x, y) {
            (Word::Add | Word::Or | Word::Xor, Some(0), _) => return b,
            (
                Word::Add | Word::Sub | Word::Or | Word::Xor | Word::Shl | Word::LShr | Word::AShr,
                _,
                Some(0),
            )
            | (Word::Mul | Word::UDiv, _, Some(1)) => return a,
            (Word::Mul, Some(1), _) => return b,
            (Word::Mul | Word::And, _, Some(0)) => return b,
            (Word::Mul | Word::And, Some(0), _) => return a,
            (Word::Add | Word::Mul, Some(_), None) => return self.word(op, b, a),
            // Congruent modulo a power of two, whatever wraps.
            (Word::Sub, _, Some(y)) => {
                let minus = self.constant(y.wrapping_neg(), width);
                return self.word(Word::Add, a, minus);
            }
            (Word::Add, _, Some(y)) => {
                if let Node::Word(Word::Add, inner, first) = *self.node(a)
                    && let Some(first) = self.value(first)
                {
                    let sum = self.constant(first.wrapping_add(y), width);
                    return self.word(Word::Add, inner, sum);
                }
            }
            (Word::UDiv, _, Some(y)) if y > 0 && self.range(a).1 < y => return self.constant(0, width),
            (Word::URem, _, Some(y)) if self.range(a).1 < y => return a,
            (Word::And, _, Some(y)) if y == mask(width) => return a,
            _ => {}
        }
        let range = self.word_range(op, a, b, width);
        self.add(Node::Word(op, a, b), width, range)
    }

    fn word_range(&self, op: Word, a: Term, b: Term, width: u8) -> (u64, u64) {
        let ((a0, a1), (b0, b1)) = (self.range(a), self.range(b));
        let all = (0, mask(width));
        let fits = |low: Option<u64>, high: Option<u64>| match (low, high) {
            (Some(low), Some(high)) if high <= mask(width) => (low, high),
            _ => all,
        };
        match op {
            Word::Add => fits(a0.checked_add(b0), a1.checked_add(b1)),
            Word::Sub if a0 >= b1 => (a0 - b1, a1 - b0),
            Word::Mul => fits(a0.checked_mul(b0), a1.checked_mul(b1)),
            Word::UDiv if b0 > 0 => (a0 / b1, a1 / b0),
            Word::URem if b0 > 0 => (0, a1.min(b1 - 1)),
            Word::And => (0, a1.min(b1)),
            Word::LShr if b0 == b1 && b0 < u64::from(width) => (a0 >> b0, a1 >> b0),
            Word::Shl if b0 == b1 && b0 < u64::from(width) => {
                fits(a0.checked_mul(1 << b0), a1.checked_mul(1 << b0))
            }
            Word::Or | Word::Xor => {
                let bits = 64 - (a1 | b1).leading_zeros();
                (0, mask(bits.max(1) as u8) & mask(width))
            }
            _ => all,
        }
    }

    pub(super) fn compare(&mut self, op: Compare, a: Term, b: Term) -> Term {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        if a == b {
            return self.truth(!matches!(op, Compare::ULess | Compare::SLess));
        }
        let ((a0, a1), (b0, b1)) = (self.range(a), self.range(b));
        let sign = 1u64 << (width - 1);
        let narrow = a1 < sign && b1 < sign;
        let both = self.value(a).zip(self.value(b));
        let decided = match op {
            Compare::Equal if a1 < b0 || b1 < a0 => Some(false),
            Compare::Equal => both.map(|(a, b)| a == b),
            Compare::ULess if a1 < b0 => Some(true),
            Compare::ULess if a0 >= b1 => Some(false),
            Compare::ULessEqual if a1 <= b0 => Some(true),
            Compare::ULessEqual if a0 > b1 => Some(false),
            Compare::SLess if narrow => return self.compare(Compare::ULess, a, b),
            Compare::SLessEqual if narrow => return self.compare(Compare::ULessEqual, a, b),
            Compare::SLess => both.map(|(a, b)| signed(a, width) < signed(b, width)),
            Compare::SLessEqual => both.map(|(a, b)| signed(a, width) <= signed(b, width)),
            _ => None,
        };
        match decided {
            Some(value) => self.truth(value),
            None => self.add(Node::Compare(op, a, b), 1, (0, 1)),
        }
    }

    pub(super) fn equal(&mut self, a: Term, b: Term) -> Term {
        if self.width(a) == 1 {
            let (both, neither) = (self.both(a, b), self.either(a, b));
            let neither = self.not(neither);
            return self.either(both, neither);
        }
        self.compare(Compare::Equal, a, b)
    }

    pub(super) fn not(&mut self, a: Term) -> Term {
        match *self.node(a) {
            Node::Constant(value) => self.truth(value == 0),
            Node::Not(inner) => inner,
            _ => self.add(Node::Not(a), 1, (0, 1)),
        }
    }

    fn excludes(&self, a: Term, b: Term) -> bool {
        *self.node(a) == Node::Not(b) || *self.node(b) == Node::Not(a)
    }

    pub(super) fn both(&mut self, a: Term, b: Term) -> Term {
        match (self.value(a), self.value(b)) {
            (Some(0), _) | (_, Some(1)) => a,
            (Some(_), _) | (_, Some(0)) => b,
            _ if a == b => a,
            _ if self.excludes(a, b) => self.truth(false),
            _ => match *self.node(a) {
                // What holds already need not be said again.
                Node::Both(x, y) if x == b || y == b => a,
                _ => self.add(Node::Both(a, b), 1, (0, 1)),
            },
        }
    }

    pub(super) fn either(&mut self, a: Term, b: Term) -> Term {
        match (self.value(a), self.value(b)) {
            (Some(1), _) | (_, Some(0)) => return a,
            (Some(_), _) | (_, Some(1)) => return b,
            _ if a == b => return a,
            _ if self.excludes(a, b) => return self.truth(true),
            _ => {}
        }
        // Both ends of a branch together are what led to it.
        if let (Node::Both(x, c), Node::Both(y, d)) = (self.node(a).clone(), self.node(b).clone())
            && x == y
        {
            let rest = self.either(c, d);
            return self.both(x, rest);
        }
        self.add(Node::Either(a, b), 1, (0, 1))
    }

    pub(super) fn all(&mut self, terms: impl IntoIterator<Item = Term>) -> Term {
        let mut all = self.truth(true);
        for term in terms {
            all = self.both(all, term);
        }
        all
    }

    /// Any of the terms; neighbours that complete each other are put together first.
    pub(super) fn any(&mut self, mut terms: Vec<Term>) -> Term {
        loop {
            let before = terms.len();
            let mut n = 0;
            while n + 1 < terms.len() {
                if let (&Node::Both(x, c), &Node::Both(y, d)) = (self.node(terms[n]), self.node(terms[n + 1]))
                    && x == y
                    && self.excludes(c, d)
                {
                    terms[n] = x;
                    terms.remove(n + 1);
                } else {
                    n += 1;
                }
            }
            if terms.len() == before {
                break;
            }
        }
        let mut any = self.truth(false);
        for term in terms.into_iter().rev() {
            any = self.either(term, any);
        }
        any
    }

    pub(super) fn implies(&mut self, a: Term, b: Term) -> Term {
        let not = self.not(a);
        self.either(not, b)
    }

    pub(super) fn choose(&mut self, condition: Term, a: Term, b: Term) -> Term {
        match self.value(condition) {
            Some(0) => return b,
            Some(_) => return a,
            None if a == b => return a,
            None => {}
        }
        let width = self.width(a);
        if width == 1 {
            let not = self.not(condition);
            let (yes, no) = (self.both(condition, a), self.both(not, b));
            return self.either(yes, no);
        }
        let ((a0, a1), (b0, b1)) = (self.range(a), self.range(b));
        self.add(Node::Choose(condition, a, b), width, (a0.min(b0), a1.max(b1)))
    }

    pub(super) fn extend(&mut self, of: Term, width: u8, by_sign: bool) -> Term {
        let from = self.width(of);
        if from == width {
            return of;
        }
        if from > width {
            return self.low(of, width);
        }
        if let Some(value) = self.value(of) {
            let value = if by_sign { signed(value, from) as u64 } else { value };
            return self.constant(value, width);
        }
        let (low, high) = self.range(of);
        let is_signed = by_sign && high >= 1 << (from - 1);
        let range = if is_signed { (0, mask(width)) } else { (low, high) };
        self.add(Node::Extend { signed: is_signed, of }, width, range)
    }

    pub(super) fn low(&mut self, of: Term, width: u8) -> Term {
        if self.width(of) == width {
            return of;
        }
        if let Some(value) = self.value(of) {
            return self.constant(value, width);
        }
        let (low, high) = self.range(of);
        let range = if high <= mask(width) { (low, high) } else { (0, mask(width)) };
        self.add(Node::Low(of), width, range)
    }
}

fn compute(op: Word, a: u64, b: u64, width: u8) -> Option<u64> {
    let (x, y) = (signed(a, width), signed(b, width));
    let small = b < u64::from(width);
    let value = match op {
        Word::Add => a.wrapping_add(b),
        Word::Sub => a.wrapping_sub(b),
        Word::Mul => a.wrapping_mul(b),
        Word::UDiv => a.checked_div(b)?,
        Word::URem => a.checked_rem(b)?,
        Word::SDiv => x.checked_div(y)? as u64,
        Word::SRem => x.checked_rem(y)? as u64,
        Word::SMod => {
            let rest = x.checked_rem(y)?;
            (if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }) as u64
        }
        Word::Shl if small => a << b,
        Word::LShr if small => a >> b,
        Word::AShr if small => (x >> b) as u64,
        Word::Shl | Word::LShr | Word::AShr => return None,
        Word::And => a & b,
        Word::Or => a | b,
        Word::Xor => a ^ b,
    };
    Some(value & mask(width))
}
