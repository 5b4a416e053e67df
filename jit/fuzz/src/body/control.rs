//! Statements around statements: loops, branches, switches.

use super::Body;
use crate::tree::Stmt;

impl Body<'_> {
    /// A loop that is left for good somewhere inside.
    pub(super) fn left_loop(&mut self) -> Stmt {
        let mut stmt = self.looped(3);
        let cond = self.condition();
        let out = self.random.one(&["return", "return", "return", "break"]);
        let line = Stmt::line(format!("if ({cond}) {out};"));
        self.returned |= out == "return";
        self.uniform = false;
        let at = self.random.below(stmt.body.len() + 1);
        let line = match self.random.below(4) {
            0 => Stmt::block("switch (u0 & 1u) {", vec![Stmt::block("case 1u:", vec![line], "break;")], "}"),
            _ => line,
        };
        stmt.body.insert(at, line);
        stmt
    }

    pub(super) fn anything(&mut self) -> Vec<Stmt> {
        let mut stmts = self.prologue();
        self.budget = 4 + self.random.below(10);
        if self.random.percent(35) {
            stmts.push(self.range_guard());
        }
        while self.budget > 0 {
            stmts.extend(self.statement(0));
        }
        if self.random.percent(85) {
            stmts.extend(self.last_store());
        }
        stmts
    }

    pub(super) fn body(&mut self, depth: usize, most: u32) -> Vec<Stmt> {
        let uniform = std::mem::replace(&mut self.uniform, false);
        let count = self.random.between(1, most);
        let stmts = (0..count).flat_map(|_| self.statement(depth + 1)).collect();
        self.uniform = uniform && !self.returned;
        stmts
    }

    pub(super) fn statement(&mut self, depth: usize) -> Vec<Stmt> {
        self.budget = self.budget.saturating_sub(1);
        let deep = depth >= 3 || self.budget == 0;
        match self.random.below(if deep { 60 } else { 100 }) {
            0..=15 => self.load(),
            16..=26 => vec![self.assign()],
            27..=45 => self.store(),
            46..=51 => vec![self.leave()],
            52..=54 => self.private(),
            55..=57 => self.exchange(),
            58 => self.count(),
            59 => self.helper(),
            60..=71 => {
                let cond = self.condition();
                let then = self.body(depth, 3);
                let mut stmts = vec![Stmt::block(format!("if ({cond}) {{"), then, "}")];
                if self.random.percent(35) {
                    let other = self.body(depth, 2);
                    stmts[0].tail = "} else {".to_owned();
                    stmts = vec![Stmt::block("", vec![stmts.remove(0), Stmt::block("", other, "}")], "")];
                }
                stmts
            }
            72..=92 => vec![self.looped(depth)],
            _ => vec![self.switch(depth)],
        }
    }

    pub(super) fn looped(&mut self, depth: usize) -> Stmt {
        let name = format!("k{}", self.counters);
        self.counters += 1;
        let (limit, small) = match self.random.below(10) {
            0..=2 => ("4u".to_owned(), true),
            3 => ("3u".to_owned(), true),
            4 => ("5u".to_owned(), false),
            5..=7 => ("p.m".to_owned(), true),
            8 => ("(u0 & 3u)".to_owned(), true),
            _ => ("(c0 & 7u)".to_owned(), false),
        };
        let limit = if self.kernel.constant && self.random.percent(30) { "sc".to_owned() } else { limit };
        let uneven = self.uneven(&name);
        let small = small || uneven.is_some();
        let (before, limit) = uneven.unwrap_or((String::new(), limit));
        let (head, tail, small) = match self.random.below(8) {
            0..=2 => (
                format!("for (uint {name} = 0u{before}; {name} < {limit}; ++{name}) {{"),
                "}".to_owned(),
                small,
            ),
            3 => (format!("for (uint {name} = 3u; {name} > 0u; --{name}) {{"), "}".to_owned(), true),
            4 => (format!("for (uint {name} = 0u; {name} != 4u; ++{name}) {{"), "}".to_owned(), true),
            5 => (
                format!("{{ uint {name} = 0u{before}; while ({name}++ < {limit}) {{"),
                "} }".to_owned(),
                false,
            ),
            _ => (
                format!("{{ uint {name} = 0u{before}; do {{"),
                if self.random.percent(50) {
                    format!("}} while (++{name} < {limit}); }}")
                } else {
                    format!("}} while ({name}++ < {limit}); }}")
                },
                small,
            ),
        };
        self.loops.push((name, small));
        let breakable = std::mem::replace(&mut self.breakable, true);
        let body = self.body(depth, 4);
        self.breakable = breakable;
        self.loops.pop();
        Stmt::block(head, body, tail)
    }

    /// A limit of three or less that differs between invocations, or that only memory knows, with what declares it behind the
    /// counter: what a loop does may change what the limit was made of.
    pub(super) fn uneven(&mut self, counter: &str) -> Option<(String, String)> {
        if !self.random.percent(self.theme.uneven) {
            return None;
        }
        let limit = match self.random.below(8) {
            0 => "(g & 3u)".to_owned(),
            1 => "(u0 & 3u)".to_owned(),
            2 => "(1u + (g & 1u) * 2u)".to_owned(),
            3 => "min(c0, 3u)".to_owned(),
            4 => "(g < p.m * 4u ? 3u : 1u)".to_owned(),
            5 => "min(u1 & 7u, 3u)".to_owned(),
            _ => format!("({} & 3u)", self.read_word()),
        };
        let kept = || (format!(", {counter}_end = {limit}"), format!("{counter}_end"));
        Some(if self.random.percent(80) { kept() } else { (String::new(), limit) })
    }

    pub(super) fn switch(&mut self, depth: usize) -> Stmt {
        let selector = self.random.one(&["u0 & 3u", "g & 3u", "c0", "p.m", "u1 % 3u"]);
        let mut cases = Vec::new();
        let breakable = std::mem::replace(&mut self.breakable, true);
        let count = self.random.between(1, 3);
        for case in 0..count {
            let body = self.body(depth, 2);
            let tail = if self.random.percent(70) { "break;" } else { "f0 += 0.5;" };
            cases.push(Stmt::block(format!("case {case}u:"), body, tail));
        }
        if self.random.percent(60) {
            let body = self.body(depth, 2);
            cases.push(Stmt::block("default:", body, "f0 -= 0.25;"));
        }
        self.breakable = breakable;
        Stmt::block(format!("switch ({selector}) {{"), cases, "}")
    }

    pub(super) fn leave(&mut self) -> Stmt {
        let mut cond = self.condition();
        let in_loop = !self.loops.is_empty();
        // In rounds that are constants, open in some of them and decided in the others.
        let round = self.loops.last().map(|(name, _)| name.clone());
        if let Some(name) = round.filter(|_| self.random.percent(40)) {
            let which = self.random.one(&["== 0u", "< 2u", "!= 1u", "> 1u"]);
            cond = format!("{name} {which} && ({cond})");
        }
        let how = match self.random.below(6) {
            0 | 1 if self.breakable && in_loop => "break",
            2 if in_loop => "continue",
            _ => "return",
        };
        self.returned |= how == "return";
        self.uniform = false;
        Stmt::line(format!("if ({cond}) {how};"))
    }

    pub(super) fn condition(&mut self) -> String {
        let c = self.random.below(8);
        match self.random.below(16) {
            0..=3 => "g < p.n".to_owned(),
            4 => format!("g >= p.m * {c}u"),
            5 => format!("(g & 3u) == {}u", c & 3),
            6 | 7 => format!("(u0 & 3u) == {}u", c & 3),
            8 | 9 => format!("f{} > 0.{c}", c % 3),
            10 => format!("c0 < {}u", c + 1),
            11 => "isnan(f0) || isinf(f1)".to_owned(),
            12 if self.kernel.grouped => "l == 0u".to_owned(),
            13 => "c0 < 100u".to_owned(),
            14 if !self.loops.is_empty() => {
                let (name, _) = self.random.pick(&self.loops);
                format!("({name} + u0) % 3u == 1u")
            }
            _ => {
                let read = self.read_float();
                format!("{read} > 0.{c}")
            }
        }
    }
}
