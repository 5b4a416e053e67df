//! Statements as text in a tree, so that any of them can be left out.

/// A statement: lines before what it contains, and lines after that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stmt {
    pub(crate) head: String,
    pub(crate) body: Vec<Stmt>,
    pub(crate) tail: String,
}

impl Stmt {
    pub(crate) fn line(text: impl Into<String>) -> Self {
        Self { head: text.into(), body: Vec::new(), tail: String::new() }
    }

    pub(crate) fn block(head: impl Into<String>, body: Vec<Stmt>, tail: impl Into<String>) -> Self {
        Self { head: head.into(), body, tail: tail.into() }
    }
}

/// Appends statements, indented.
pub(crate) fn write(stmts: &[Stmt], depth: usize, out: &mut String) {
    let line = |text: &str, out: &mut String| {
        if !text.is_empty() {
            out.push_str(&"    ".repeat(depth));
            out.push_str(text);
            out.push('\n');
        }
    };
    for stmt in stmts {
        line(&stmt.head, out);
        write(&stmt.body, depth + 1, out);
        line(&stmt.tail, out);
    }
}

/// How many statements there are, at all depths.
pub(crate) fn count(stmts: &[Stmt]) -> usize {
    stmts.iter().map(|stmt| 1 + count(&stmt.body)).sum()
}

/// Leaves out the statement of that number, in order of the text; or, with `unwrap`, only what is around its body.
pub(crate) fn without(stmts: &[Stmt], number: usize, unwrap: bool) -> Vec<Stmt> {
    cut(stmts, &mut Some(number), unwrap)
}

fn cut(stmts: &[Stmt], left: &mut Option<usize>, unwrap: bool) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        if *left == Some(0) {
            *left = None;
            if unwrap {
                out.extend(stmt.body.iter().cloned());
            }
            continue;
        }
        if let Some(left) = left {
            *left -= 1;
        }
        let body = cut(&stmt.body, left, unwrap);
        out.push(Stmt { head: stmt.head.clone(), body, tail: stmt.tail.clone() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_statement_can_be_left_out() {
        let line = Stmt::line;
        let tree = vec![line("a"), Stmt::block("if {", vec![line("b"), line("c")], "}"), line("d")];
        assert_eq!(count(&tree), 5);
        let text = |stmts: &[Stmt]| {
            let mut out = String::new();
            write(stmts, 0, &mut out);
            out.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(text(&without(&tree, 0, false)), "if { b c } d");
        assert_eq!(text(&without(&tree, 1, false)), "a d");
        assert_eq!(text(&without(&tree, 1, true)), "a b c d");
        assert_eq!(text(&without(&tree, 3, false)), "a if { b } d");
        assert_eq!(text(&without(&tree, 4, false)), "a if { b c }");
    }
}
