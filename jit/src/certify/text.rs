//! A claim as SMT-LIB 2 text, for any solver of quantifier-free bit-vectors.

use std::fmt::Write as _;

use ahash::{AHashMap, AHashSet};

use super::term::{Compare, Node, Origin, Term, Terms, Word, mask};

/// A question to a solver, and what its symbols are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Declarations, definitions and assertions, without a command that asks.
    pub text: String,
    /// For each symbol `s0`, `s1`, ...: what it is in the kernels.
    pub symbols: Vec<String>,
    /// What makes more of the claim than the kernels can do, if anything does.
    pub(super) loose: Option<&'static str>,
}

/// What there is to ask about a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inquiry {
    /// A question for the solver; `None` if it cannot be expressed.
    Asked(Option<Question>),
    /// Its place or condition comes from memory, so nothing is claimed of it.
    FromMemory,
}

/// Writes that all of `assertions` hold at once.
pub(super) fn question(terms: &Terms, assertions: &[Term]) -> Question {
    let mut writer = Writer {
        terms,
        out: String::from("(set-logic QF_BV)\n"),
        names: AHashMap::new(),
        symbols: Vec::new(),
        loose: None,
    };
    for &assertion in assertions {
        writer.define(assertion);
    }
    for &assertion in assertions {
        let name = &writer.names[&assertion];
        let _ = writeln!(writer.out, "(assert {name})");
    }
    Question { text: writer.out, symbols: writer.symbols, loose: writer.loose }
}

struct Writer<'a> {
    terms: &'a Terms,
    out: String,
    names: AHashMap<Term, String>,
    symbols: Vec<String>,
    loose: Option<&'static str>,
}

fn sort(width: u8) -> String {
    if width == 1 { "Bool".to_owned() } else { format!("(_ BitVec {width})") }
}

impl Writer<'_> {
    /// Defines a term after what it is made of.
    fn define(&mut self, root: Term) {
        let mut stack = vec![(root, false)];
        let mut open: AHashSet<Term> = AHashSet::new();
        while let Some((term, ready)) = stack.pop() {
            if self.names.contains_key(&term) {
                continue;
            }
            if ready {
                self.write(term);
            } else if open.insert(term) {
                stack.push((term, true));
                stack.extend(
                    self.terms.node(term).parts().into_iter().rev().flatten().map(|part| (part, false)),
                );
            }
        }
    }

    fn write(&mut self, term: Term) {
        let width = self.terms.width(term);
        let node = self.terms.node(term);
        let at = |part: Term| self.names[&part].as_str();
        let text = match *node {
            Node::Constant(value) => {
                let name = match (width, value) {
                    (1, 0) => "false".to_owned(),
                    (1, _) => "true".to_owned(),
                    _ => format!("(_ bv{value} {width})"),
                };
                self.names.insert(term, name);
                return;
            }
            Node::Symbol { number, origin } => {
                let name = format!("s{}", self.symbols.len());
                let _ = writeln!(self.out, "(declare-const {name} {})", sort(width));
                let (_, most) = self.terms.range(term);
                if width > 1 && most < mask(width) {
                    let _ = writeln!(self.out, "(assert (bvule {name} (_ bv{most} {width})))");
                }
                self.symbols.push(self.terms.name(number).to_owned());
                let loose = match origin {
                    Origin::Id | Origin::Input | Origin::Float => None,
                    Origin::Written => Some("a value read from memory that the group writes"),
                    Origin::Loop => Some("a loop that is not unrolled"),
                    Origin::Unknown => Some("a value that is not followed"),
                };
                self.loose = self.loose.or(loose);
                self.names.insert(term, name);
                return;
            }
            Node::Word(op, a, b) => {
                let op = match op {
                    Word::Add => "bvadd",
                    Word::Sub => "bvsub",
                    Word::Mul => "bvmul",
                    Word::UDiv => "bvudiv",
                    Word::URem => "bvurem",
                    Word::SDiv => "bvsdiv",
                    Word::SRem => "bvsrem",
                    Word::SMod => "bvsmod",
                    Word::Shl => "bvshl",
                    Word::LShr => "bvlshr",
                    Word::AShr => "bvashr",
                    Word::And => "bvand",
                    Word::Or => "bvor",
                    Word::Xor => "bvxor",
                };
                format!("({op} {} {})", at(a), at(b))
            }
            Node::Compare(op, a, b) => {
                let op = match op {
                    Compare::Equal => "=",
                    Compare::ULess => "bvult",
                    Compare::ULessEqual => "bvule",
                    Compare::SLess => "bvslt",
                    Compare::SLessEqual => "bvsle",
                };
                format!("({op} {} {})", at(a), at(b))
            }
            Node::Not(a) => format!("(not {})", at(a)),
            Node::Both(a, b) => format!("(and {} {})", at(a), at(b)),
            Node::Either(a, b) => format!("(or {} {})", at(a), at(b)),
            Node::Choose(c, a, b) => format!("(ite {} {} {})", at(c), at(a), at(b)),
            Node::Extend { signed, of } => {
                let op = if signed { "sign_extend" } else { "zero_extend" };
                format!("((_ {op} {}) {})", width - self.terms.width(of), at(of))
            }
            Node::Low(of) => format!("((_ extract {} 0) {})", width - 1, at(of)),
        };
        let name = format!("t{}", self.names.len());
        let _ = writeln!(self.out, "(define-fun {name} () {} {text})", sort(width));
        self.names.insert(term, name);
    }
}
