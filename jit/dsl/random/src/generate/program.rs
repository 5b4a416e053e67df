//! Small programs: loops, branches, early returns, arrays, structs, calls.

use super::{Function, Writer, expression::is_float};

/// A name that can be assigned to, and its type.
type Variable = (String, &'static str);

impl Writer {
    pub(super) fn program(&mut self, k: usize, out: &mut String) -> Function {
        self.parameters();
        let mut text = format!("#[device]\nfn p{k}(x: u32, y: i32, z: f32) -> u32 {{\n");
        let mut vars: Vec<Variable> = Vec::new();
        for (n, ty) in ["u32", "i32", "u8", "i64", "bool", "f32"].into_iter().enumerate() {
            let value = self.expr(ty, 1);
            text += &format!("let mut v{n}: {ty} = {value};\n");
            vars.push((format!("v{n}"), ty));
            self.names.push((format!("v{n}"), ty));
        }
        let len = 2 + self.random.below(6) as u32;
        text += &format!("let mut a = [x; {len}];\n");
        self.arrays.push(("a".to_owned(), len));
        if self.random.one_in(2) {
            let (first, second) = (self.expr("u32", 1), self.expr("i16", 1));
            text += &format!("let mut s = Part {{ word: {first}, small: {second}, many: [v0, x, 3] }};\n");
            text += "let mut t = [s; 2];\nt[1].word += 1;\n";
            for (name, ty) in
                [("s.word", "u32"), ("s.small", "i16"), ("t[1].word", "u32"), ("t[v0 % 3].small", "i16")]
            {
                vars.push((name.to_owned(), ty));
                self.names.push((name.to_owned(), ty));
            }
            self.parts.extend(["s", "t[1]", "t[v0 % 3]"].map(str::to_owned));
            self.arrays.extend([("s.many".to_owned(), 3), ("t[v0 % 3].many".to_owned(), 3)]);
        }
        self.statements(&mut text, &vars, 3, false);
        text +=
            "let mut sum = v0 ^ (v1 as u32) ^ (v2 as u32 * 3) ^ fold(v3 as u64) ^ (v4 as u32) ^ bits(v5);\n";
        for (name, len) in &self.arrays {
            text += &format!("for k in 0..{len} {{\nsum = sum * 31 + {name}[k];\n}}\n");
        }
        for (name, ty) in &vars[6..] {
            text += &format!("sum = sum * 7 + ({name} as {ty} as u32);\n");
        }
        *out += &(text + "sum\n}\n");
        Function { call: format!("[p{k}(x, y, z), 0, 0]"), last: "" }
    }

    /// Statements. `vars` are the names that can be assigned to.
    fn statements(&mut self, out: &mut String, vars: &[Variable], depth: usize, looped: bool) {
        for _ in 0..1 + self.random.below(4) {
            match self.random.below(if depth == 0 { 4 } else { 16 }) {
                0..=2 => self.assignment(out, vars),
                3 => {
                    let (place, value) = (self.element(1), self.expr("u32", 2));
                    let op = self.random.of(&["", "+", "^"]);
                    *out += &format!("{place} {op}= {value};\n");
                }
                4 | 5 => self.branch(out, vars, depth, looped),
                6 => {
                    let value = self.expr("u32", 1);
                    *out += &format!("match {value} % 7 {{\n0 => {{\n");
                    self.statements(out, vars, depth - 1, looped);
                    let guard = self.expr("bool", 1);
                    *out += &format!("}}\n1 | 5 if {guard} => {{\n");
                    self.statements(out, vars, depth - 1, looped);
                    *out += "}\n2..=3 => {}\nn => {\nv0 += n;\n";
                    self.statements(out, vars, depth - 1, looped);
                    *out += "}\n}\n";
                }
                7 => {
                    // Named in a branch, indexed in it and outside.
                    let condition = self.expr("bool", 2);
                    let k = self.random.below(self.arrays.len());
                    let name = self.arrays[k].0.clone();
                    *out += &format!(
                        "if {condition} {{\nlet kept = {name};\nv0 ^= kept[v0 % 4] + TABLE[v0 % 5];\n}}\n"
                    );
                }
                8 if !self.parts.is_empty() => {
                    let word = self.expr("u32", 1);
                    let new =
                        self.random.of(&["s.with_word(@)", "Part { word: @, ..t[v0 % 3] }", "Part { ..s }"]);
                    *out += &format!("s = {};\n", new.replace('@', &word));
                }
                9 | 10 => self.repeated(out, vars, depth),
                11 => self.optional(out, vars, depth, looped),
                12 => self.lent(out),
                13 => self.local_function(out),
                14 => self.apart(out, vars, depth),
                _ => self.repeated(out, vars, depth),
            }
        }
    }

    /// A number for names, which no other has.
    fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// Branches by an `Option`.
    fn optional(&mut self, out: &mut String, vars: &[Variable], depth: usize, looped: bool) {
        let (k, value) = (self.number(), self.expr("u32", 2));
        match self.random.below(if looped { 6 } else { 5 }) {
            0 => {
                let (before, after) = (self.expr("bool", 1), self.expr("u32", 1));
                *out += &format!(
                    "if {before} && let Some(h{k}) = halved({value}) && (h{k} > {after} || v4) {{\n"
                );
                self.names.push((format!("h{k}"), "u32"));
                self.statements(out, vars, depth - 1, looped);
                self.names.pop();
                *out += "} else {\n";
                self.statements(out, vars, depth - 1, looped);
                *out += "}\n";
            }
            3 => {
                let condition = self.expr("bool", 1);
                *out += &format!(
                    "let mut o{k} = {value};\nwhile let Some(half) = halved(o{k}) && half != 0 && {condition} {{\n\
                     o{k} = half;\nv0 += 3;\n}}\nv0 ^= o{k};\n"
                );
            }
            4 => {
                *out += &format!("if let Some(h{k}) = halved({value}) {{\n");
                self.names.push((format!("h{k}"), "u32"));
                self.statements(out, vars, depth - 1, looped);
                self.names.pop();
                *out += "} else {\n";
                self.statements(out, vars, depth - 1, looped);
                *out += "}\n";
            }
            1 => {
                let (key, guard) = (self.expr("u32", 1), self.expr("bool", 1));
                *out += &format!(
                    "match ({key} % 3, halved({value})) {{\n(0, None) => v0 += 3,\n(0, Some(n @ 1..=90)) => v0 ^= n,\n\
                     (_, Some(n)) if {guard} => {{\n"
                );
                self.names.push(("n".to_owned(), "u32"));
                self.statements(out, vars, depth - 1, looped);
                self.names.pop();
                *out += "}\n(n, _) => v0 += n * 7,\n}\n";
            }
            2 => {
                // Halves until one is odd.
                *out += &format!(
                    "let mut o{k} = {value};\nwhile let Some(half) = halved(o{k}) {{\nif half == 0 {{\nbreak;\n}}\n\
                     o{k} = half;\nv0 += 1;\n}}\nv0 ^= o{k};\n"
                );
            }
            _ => *out += &format!("let Some(h{k}) = halved({value}) else {{\ncontinue;\n}};\nv0 += h{k};\n"),
        }
    }

    /// Places that functions change, also where an index is out of range.
    fn lent(&mut self, out: &mut String) {
        let (k, by, index) = (self.number(), self.expr("u32", 2), self.expr("u32", 1));
        let (name, len) = self.arrays[0].clone();
        *out += &format!("let b{k} = {by};\nlet i{k} = {index} % {};\n", len + 1);
        *out += &match self.random.below(4) {
            0 => format!("v0 ^= raise(&mut {name}[i{k}], b{k});\n"),
            1 => format!("v0 += raise(&mut v0, b{k});\n"),
            2 if !self.parts.is_empty() => {
                format!(
                    "v0 ^= s.step(b{k}) + Part::step(&mut t[b{k} % 3], i{k});\nexchange(&mut s.word, &mut v0);\n"
                )
            }
            _ => format!("{{\nlet r = &mut {name}[i{k}];\n*r += b{k};\n*r ^= *r >> 3;\n}}\n"),
        };
    }

    /// A closure, which is called twice, or a function inside of the function.
    fn local_function(&mut self, out: &mut String) {
        let k = self.number();
        let (first, second) = (self.expr("u32", 1), self.expr("u32", 1));
        let kept = (self.names.len(), self.random.one_in(2));
        self.names.extend([(format!("p{k}"), "u32"), (format!("q{k}"), "i32")]);
        if kept.1 {
            let body = self.expr("u32", 2);
            *out += &format!(
                "{{\nlet f = |p{k}: u32, q{k}: i32| -> u32 {{ {body} }};\nlet r = f({first}, 5) ^ f({second}, -1);\n\
                 v0 += r;\n}}\n"
            );
        } else {
            let names = self.names.split_off(kept.0);
            let outside = std::mem::replace(&mut self.names, names);
            let (arrays, parts) = (std::mem::take(&mut self.arrays), std::mem::take(&mut self.parts));
            let body = self.expr("u32", 2);
            (self.names, self.arrays, self.parts) = (outside, arrays, parts);
            *out += &format!(
                "{{\nfn f(p{k}: u32, q{k}: i32) -> u32 {{ {body} }}\nv0 += f({first}, 5) ^ f({second}, v1);\n}}\n"
            );
        }
        self.names.truncate(kept.0);
    }

    /// Tuples and arrays taken apart, values given later, enums, and arrays gone through.
    fn apart(&mut self, out: &mut String, vars: &[Variable], depth: usize) {
        let k = self.number();
        let (a, b, c) = (self.expr("u32", 1), self.expr("u32", 1), self.expr("bool", 1));
        match self.random.below(5) {
            3 => {
                *out += &format!(
                    "let (i{k}, j{k});\nif {c} {{\n(i{k}, j{k}) = ({a}, v1);\n}} else {{\nj{k} = 5;\ni{k} = {b};\n}}\n\
                     v0 ^= i{k} + j{k} as u32;\n"
                );
            }
            0 => {
                *out += &format!("let (p{k}, mut q{k}) = both({a}, {b});\nq{k} += p{k};\nv0 ^= q{k};\n");
                *out += &format!(
                    "let [e{k}, .., ] = [p{k}, q{k}];\nlet ((f{k}, _), g{k}) = ((e{k}, {c}), v1);\n"
                );
                *out += &format!("v0 += f{k} * 3 + g{k} as u32;\n");
            }
            1 => {
                *out +=
                    &format!("let w{k};\nif {c} {{\nw{k} = {a};\n}} else {{\nw{k} = {b};\n}}\nv0 ^= w{k};\n");
            }
            2 => {
                *out += &format!(
                    "let m{k} = if {c} {{ Kind::Round }} else if {a} > 9 {{ Kind::Flat }} else {{ Kind::Deep }};\n\
                     v0 += match m{k} {{\nKind::Round => {b},\nKind::Flat | Kind::Deep if m{k} != Kind::Flat => 4,\n\
                     _ => m{k} as u32,\n}};\n"
                );
            }
            _ => {
                let array = self.arrays[0].0.clone();
                *out += &format!("'l{}: for x{k} in {array} {{\n", self.loops);
                self.names.push((format!("x{k}"), "u32"));
                self.loops += 1;
                self.statements(out, vars, depth - 1, true);
                self.loops -= 1;
                self.names.pop();
                *out += "}\n";
            }
        }
    }

    fn assignment(&mut self, out: &mut String, vars: &[Variable]) {
        let k = self.random.below(vars.len());
        let (var, ty) = vars[k].clone();
        let value = self.expr(ty, 2);
        if is_float(ty) {
            // What a loop makes of it stays bounded, and whole.
            *out += &format!("{var} = ({value}).clamp(-1000.0, 1000.0).round();\n");
            return;
        }
        let op = match ty {
            "bool" => self.random.of(&["", "&", "|", "^"]),
            _ => self.random.of(&["", "", "+", "-", "*", "/", "%", "&", "|", "^"]),
        };
        *out += &format!("{var} {op}= {value};\n");
    }

    fn branch(&mut self, out: &mut String, vars: &[Variable], depth: usize, looped: bool) {
        let condition = self.expr("bool", 2);
        *out += &format!("if {condition} {{\n");
        self.statements(out, vars, depth - 1, looped);
        if looped && self.random.one_in(3) {
            let jump = self.random.of(&["break", "continue"]);
            // Also out of several loops at once.
            let label = if self.random.one_in(2) {
                format!(" 'l{}", self.random.below(self.loops))
            } else {
                String::new()
            };
            *out += &format!("{jump}{label};\n");
        } else if self.random.one_in(12) {
            let value = self.result(1);
            *out += &format!("return {value};\n");
        }
        if self.random.one_in(2) {
            *out += "} else {\n";
            self.statements(out, vars, depth - 1, looped);
        }
        *out += "}\n";
    }

    /// A loop of a few rounds.
    fn repeated(&mut self, out: &mut String, vars: &[Variable], depth: usize) {
        let kind = self.random.below(5);
        let name = format!("{}{}", ["k", "n", "l", "m", "v"][kind], self.names.len());
        let (mut ty, label) = ("u32", format!("'l{}", self.loops));
        match kind {
            0 | 3 => {
                ty = self.random.of(&["u32", "i32", "u8", "i64"]);
                let (first, count) = (self.random.below(3), self.random.below(5));
                let range = self.random.of(&["..", "..="]);
                let mut over = format!("{first}{range}{}_{ty}", first + count);
                if kind == 3 {
                    // Steps from the inputs, of any size.
                    let step = if self.random.one_in(2) { self.expr("u32", 1) } else { "2".to_owned() };
                    let parts = ["({}).rev()", "({}).step_by(@)", "({}).rev().step_by(@)"];
                    over = self.random.of(&parts).replace("{}", &over).replace('@', &step);
                }
                *out += &format!("{label}: for {name} in {over} {{\n");
            }
            1 => {
                let condition = self.expr("bool", 1);
                *out += &format!(
                    "let mut {name} = 0_u32;\n{label}: while {name} < 4 && {condition} {{\n{name} += 1;\n"
                );
            }
            2 => {
                *out += &format!(
                    "let mut {name} = 0_u32;\n{label}: loop {{\n{name} += 1;\nif {name} > 3 {{\nbreak;\n}}\n"
                );
            }
            _ => {
                // With a value: all that leave it give one.
                let (condition, early, late) =
                    (self.expr("bool", 1), self.expr("u32", 1), self.expr("u32", 1));
                *out += &format!(
                    "let mut {name} = 0_u32;\nv0 ^= loop {{\n{name} += 1;\nif {condition} {{\nbreak {early};\n}}\n\
                     if {name} > 3 {{\nbreak {late} + {name};\n}}\n}};\n"
                );
                return;
            }
        }
        self.names.push((name, ty));
        self.loops += 1;
        self.statements(out, vars, depth - 1, true);
        self.loops -= 1;
        self.names.pop();
        *out += "}\n";
    }
}
