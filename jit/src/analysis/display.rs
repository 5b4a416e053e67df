//! Expressions as text, for people.

use super::expr::{BinaryOp, CompareOp, Exprs, IdKind, ImageQuery, Node, NodeId, SubgroupValue, sign_extend};

impl Exprs {
    /// The expression as text, for people.
    pub fn display(&self, id: NodeId) -> String {
        let mut text = String::new();
        self.write(id, 0, &mut text);
        text
    }

    fn write(&self, id: NodeId, depth: usize, out: &mut String) {
        use std::fmt::Write as _;
        if depth > 12 {
            out.push('…');
            return;
        }
        let binary = |out: &mut String, a: NodeId, op: &str, b: NodeId| {
            out.push('(');
            self.write(a, depth + 1, out);
            let _ = write!(out, " {op} ");
            self.write(b, depth + 1, out);
            out.push(')');
        };
        let call = |out: &mut String, name: &str, args: &[NodeId]| {
            let _ = write!(out, "{name}(");
            for (n, &arg) in args.iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                self.write(arg, depth + 1, out);
            }
            out.push(')');
        };
        match self.get(id) {
            Node::Const { value, width: 1 } => {
                let _ = write!(out, "{}", *value != 0);
            }
            Node::Const { value, width } => {
                let signed = sign_extend(*value, *width);
                // Small negative numbers read better with their sign.
                if (-4096..0).contains(&signed) {
                    let _ = write!(out, "{signed}");
                } else {
                    let _ = write!(out, "{value}");
                }
            }
            Node::Id { kind, dim } => {
                let name = match kind {
                    IdKind::Global => "global",
                    IdKind::Local => "local",
                    IdKind::Group => "group",
                    IdKind::GroupCount => "groups",
                };
                let _ = write!(out, "{name}.{}", ["x", "y", "z"][usize::from(*dim).min(2)]);
            }
            Node::LocalIndex => out.push_str("local.index"),
            Node::Subgroup(value) => out.push_str(match value {
                SubgroupValue::Id => "subgroup.id",
                SubgroupValue::Count => "subgroups",
                SubgroupValue::Size => "subgroup.size",
                SubgroupValue::Lane => "subgroup.lane",
            }),
            Node::Push { offset, .. } => {
                let _ = write!(out, "push[{offset}]");
            }
            Node::Length { binding, .. } => {
                let _ = write!(out, "length({binding})");
            }
            Node::Image { binding, query } => {
                let _ = match query {
                    ImageQuery::Size(component) => {
                        write!(out, "size({binding}).{}", ["x", "y", "z"][usize::from(*component).min(2)])
                    }
                    ImageQuery::Levels => write!(out, "levels({binding})"),
                    ImageQuery::Samples => write!(out, "samples({binding})"),
                };
            }
            Node::Cell { binding, offset, .. } => {
                let _ = write!(out, "cell({binding})[{offset}]");
            }
            Node::Binary { op, a, b, .. } => match op {
                BinaryOp::Add => binary(out, *a, "+", *b),
                BinaryOp::Sub => binary(out, *a, "-", *b),
                BinaryOp::Mul => binary(out, *a, "*", *b),
                BinaryOp::UMulHigh => call(out, "high-product", &[*a, *b]),
                BinaryOp::UDiv | BinaryOp::SDiv => binary(out, *a, "/", *b),
                BinaryOp::UMod | BinaryOp::SRem | BinaryOp::SMod => binary(out, *a, "%", *b),
                BinaryOp::Shl => binary(out, *a, "<<", *b),
                BinaryOp::ShrLogical | BinaryOp::ShrArithmetic => binary(out, *a, ">>", *b),
                BinaryOp::And => binary(out, *a, "&", *b),
                BinaryOp::Or => binary(out, *a, "|", *b),
                BinaryOp::Xor => binary(out, *a, "^", *b),
                BinaryOp::UMin | BinaryOp::SMin => call(out, "min", &[*a, *b]),
                BinaryOp::UMax | BinaryOp::SMax => call(out, "max", &[*a, *b]),
            },
            Node::Convert { a, .. } => self.write(*a, depth + 1, out),
            Node::Join { inputs, .. } => call(out, "one-of", inputs),
            Node::Select { condition, a, b, .. } => call(out, "select", &[*condition, *a, *b]),
            Node::Counter { id, .. } => {
                let _ = write!(out, "round of loop {id}");
            }
            Node::Final { counter, .. } => call(out, "last", &[*counter]),
            Node::Compare { op, a, b, .. } => {
                let symbol = match op {
                    CompareOp::Equal => "==",
                    CompareOp::NotEqual => "!=",
                    CompareOp::ULess | CompareOp::SLess => "<",
                    CompareOp::ULessEqual | CompareOp::SLessEqual => "<=",
                };
                binary(out, *a, symbol, *b);
            }
            Node::BoolAnd(a, b) => binary(out, *a, "&&", *b),
            Node::BoolOr(a, b) => binary(out, *a, "||", *b),
            Node::BoolNot(a) => {
                out.push('!');
                self.write(*a, depth + 1, out);
            }
            Node::Opaque { id, .. } => {
                let _ = write!(out, "unknown value {id}");
            }
        }
    }
}
