//! Expressions of a wanted type.

use super::Writer;

pub(super) const INTS: [&str; 8] = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"];
const FLOATS: [&str; 2] = ["f32", "f64"];

pub(super) fn is_float(ty: &str) -> bool {
    ty.starts_with('f')
}

fn is_signed(ty: &str) -> bool {
    ty.starts_with('i')
}

fn bits(ty: &str) -> u32 {
    ty[1..].parse().unwrap_or(32)
}

impl Writer {
    fn literal(&mut self, ty: &str) -> String {
        if ty == "bool" {
            return self.random.of(&["true", "false"]).to_owned();
        }
        if is_float(ty) {
            let all = ["0.5", "1.0", "2.5", "3.0", "7.25", "100.0", "65536.0", "-1.5", "-4.0", "0.0"];
            let number = self.random.of(&all);
            let literal = format!("{}_{ty}", number.trim_start_matches('-'));
            return if number.starts_with('-') { format!("(-{literal})") } else { literal };
        }
        let all = u64::MAX >> (64 - bits(ty));
        let top = if is_signed(ty) { all >> 1 } else { all };
        let value = match self.random.below(6) {
            0 => 0,
            1 => 1,
            2 => top,
            3 => self.random.next() & top,
            _ => self.random.next() % 16,
        };
        if is_signed(ty) && self.random.one_in(4) {
            return if self.random.one_in(6) { format!("{ty}::MIN") } else { format!("(-{value}_{ty})") };
        }
        format!("{value}_{ty}")
    }

    fn leaf(&mut self, ty: &'static str) -> String {
        let of_type = self.names.iter().filter(|name| name.1 == ty).map(|name| name.0.clone());
        let known: Vec<String> = of_type.collect();
        if !known.is_empty() && !self.random.one_in(4) {
            let k = self.random.below(known.len());
            return known[k].clone();
        }
        // A value of another type that there is, cast.
        if ty != "bool" && !self.names.is_empty() && !self.random.one_in(3) {
            let k = self.random.below(self.names.len());
            let (name, from) = self.names[k].clone();
            if from != "bool" || !is_float(ty) {
                return format!("({name} as {ty})");
            }
        }
        self.literal(ty)
    }

    pub(super) fn expr(&mut self, ty: &'static str, depth: usize) -> String {
        if depth == 0 || self.random.one_in(8) {
            return self.leaf(ty);
        }
        if self.random.one_in(10) {
            let (c, a, b) =
                (self.expr("bool", depth - 1), self.expr(ty, depth - 1), self.expr(ty, depth - 1));
            return format!("(if {c} {{ {a} }} else {{ {b} }})");
        }
        match ty {
            "bool" => self.condition(depth - 1),
            ty if is_float(ty) => self.float(ty, depth - 1),
            ty => self.int(ty, depth - 1),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.random.below(5) {
            0 => {
                let op = self.random.of(&["&&", "||", "&", "|", "^", "=="]);
                format!("({} {op} {})", self.expr("bool", depth), self.expr("bool", depth))
            }
            1 => format!("(!{})", self.expr("bool", depth)),
            2 if self.random.one_in(3) => {
                let op = self.random.of(&["<", ">=", "==", "!="]);
                format!("({} {op} {})", self.half(depth), self.half(depth))
            }
            2 if self.random.one_in(4) => format!("({}).is_finite()", self.expr("f32", depth)),
            _ => {
                let ty = if self.random.one_in(4) { self.random.of(&FLOATS) } else { self.random.of(&INTS) };
                let op = self.random.of(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(ty, depth), self.expr(ty, depth))
            }
        }
    }

    fn int(&mut self, ty: &'static str, depth: usize) -> String {
        match self.random.below(24) {
            22 => self.widened(ty, depth),
            23 if ty == "u32" && !self.constants.is_empty() => {
                let k = self.random.below(self.constants.len());
                let name = self.constants[k].clone();
                if self.random.one_in(3) {
                    return name.to_uppercase();
                }
                format!("{name}({}, {})", self.expr("u32", depth), self.expr("i64", depth))
            }
            0..=5 => {
                let op = self.random.of(&["+", "-", "*", "/", "%", "&", "|", "^"]);
                format!("({} {op} {})", self.expr(ty, depth), self.expr(ty, depth))
            }
            6 => {
                let (op, by) = (self.random.of(&["<<", ">>"]), self.random.of(&INTS));
                format!("({} {op} {})", self.expr(ty, depth), self.expr(by, depth))
            }
            7 if is_signed(ty) => format!("(-{})", self.expr(ty, depth)),
            8 if is_signed(ty) => {
                let name = self.random.of(&["abs", "signum"]);
                format!("({}).{name}()", self.expr(ty, depth))
            }
            7 | 8 => format!("(!{})", self.expr(ty, depth)),
            9 => {
                let name = self.random.of(&["min", "max", "wrapping_add", "wrapping_sub", "wrapping_mul"]);
                format!("({}).{name}({})", self.expr(ty, depth), self.expr(ty, depth))
            }
            10 if ty == "u32" && !self.arrays.is_empty() => self.element(depth),
            10 if ty == "u32" => {
                let from = self.random.of(&INTS);
                let name = self.random.of(&["count_ones", "leading_zeros", "trailing_zeros"]);
                format!("({}).{name}()", self.expr(from, depth))
            }
            11 => {
                let name = self.random.of(&["reverse_bits", "swap_bytes"]);
                format!("({}).{name}()", self.expr(ty, depth))
            }
            16 => {
                let names =
                    ["saturating_add", "saturating_sub", "saturating_mul", "rem_euclid", "div_euclid"];
                let name = self.random.of(&names);
                format!("({}).{name}({})", self.expr(ty, depth), self.expr(ty, depth))
            }
            17 => {
                let names = ["rotate_left", "rotate_right", "pow"];
                let (name, count) = (self.random.of(&names), self.expr("u32", depth));
                format!("({}).{name}({count})", self.expr(ty, depth))
            }
            18 => {
                let names = ["checked_add", "checked_sub", "checked_mul", "checked_div", "checked_rem"];
                let name = self.random.of(&names);
                let (a, b, other) = (self.expr(ty, depth), self.expr(ty, depth), self.expr(ty, 0));
                format!("({a}).{name}({b}).unwrap_or({other})")
            }
            12 | 13 if bits(ty) == 32 => {
                let name = if ty == "u32" { "UVec" } else { "IVec" };
                self.of_vectors(name, ty, depth.min(2))
            }
            14 if ty == "u32" && !self.parts.is_empty() => {
                let (k, by) = (self.random.below(self.parts.len()), self.expr("u32", depth));
                let part = self.parts[k].clone();
                if self.random.one_in(2) {
                    return format!("{part}.mixed({by})");
                }
                let word = self.expr("u32", depth);
                format!("{part}.with_word({word}).mixed({by} + Part::STEP)")
            }
            19 if ty == "u32" => {
                let (a, b) = (self.expr("u32", depth), self.expr("u32", depth));
                match self.random.below(4) {
                    0 => format!("both({a}, {b}).0"),
                    1 => format!("both({a}, {b}).1"),
                    2 => format!("halved({a}).unwrap_or({b})"),
                    _ => format!("(if let Some(half) = quartered({a}) {{ half.0 + half.1 }} else {{ {b} }})"),
                }
            }
            20 if ty == "u32" && !self.parts.is_empty() => {
                let k = self.random.below(self.parts.len());
                let (part, x) = (self.parts[k].clone(), self.expr("u32", depth));
                let (word, mix) =
                    (self.expr("u32", 0), self.random.of(&["Twist { by: @ }", "Salt { by: @, more: x }"]));
                let mix = mix.replace('@', &word);
                match self.random.below(3) {
                    0 => format!("({part} + {part}.with_word({x})).mixed({word})"),
                    1 => format!("(-{part} * ({x})).word"),
                    _ => format!("mixed_by({mix}, {x})"),
                }
            }
            15 if ty == "u32" && !self.functions.is_empty() && self.random.one_in(4) => {
                let k = self.random.below(self.functions.len());
                let arguments = [("u32", 1), ("i32", 1), ("f32", 0)].map(|(ty, depth)| self.expr(ty, depth));
                format!("{}({})", self.functions[k], arguments.join(", "))
            }
            _ => {
                let from = match self.random.below(6) {
                    0 => "bool",
                    1 => self.random.of(&FLOATS),
                    _ => self.random.of(&INTS),
                };
                format!("({} as {ty})", self.expr(from, depth))
            }
        }
    }

    /// A number of a type with less, by `from`.
    fn widened(&mut self, ty: &'static str, depth: usize) -> String {
        let signed = is_signed(ty);
        let has_room = |from: &&&str| bits(from) < bits(ty) && (signed || !is_signed(from));
        let narrower: Vec<&'static str> = INTS.iter().filter(has_room).copied().collect();
        if narrower.is_empty() || self.random.one_in(3) {
            return format!("{ty}::from({})", self.expr("bool", depth));
        }
        let from = self.random.of(&narrower);
        format!("{ty}::from({})", self.expr(from, depth))
    }

    /// A half, of moderate size. Denormal ones are among them: as 32 bits they are not.
    fn half(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.one_in(6) {
            return match self.random.below(5) {
                0 => self
                    .random
                    .of(&["f16::ONE", "HALVES[0]", "HALVES[1]", "HALVES[2]", "f16::EPSILON"])
                    .to_owned(),
                1 => format!("f16::from({})", self.expr("u8", 0)),
                2 => format!("f16::from_bits({} & 0xb7ff)", self.expr("u16", 0)),
                _ => format!("near({})", self.expr("f32", 0)),
            };
        }
        let (a, b) = (self.half(depth - 1), self.half(depth - 1));
        match self.random.below(7) {
            0 | 1 => {
                let op = self.random.of(&["+", "-", "*"]);
                format!("tamed({a} {op} {b})")
            }
            2 => format!("({a}).{}()", self.random.of(&["abs", "floor", "ceil", "trunc", "round"])),
            3 => format!("({a}).{}({b})", self.random.of(&["min", "max"])),
            4 => format!("(-{a})"),
            5 => format!("near({})", self.expr("f32", depth - 1)),
            _ => {
                let (condition, c) = (self.expr("bool", depth - 1), self.half(0));
                format!("(if {condition} {{ {a} }} else {{ tamed(({b}).mul_add({c}, {a})) }})")
            }
        }
    }

    /// An integer that a `const fn` can make of `x`, a `u32`, and `y`, an `i64`.
    pub(super) fn constant(&mut self, ty: &'static str, depth: usize) -> String {
        if depth == 0 || self.random.one_in(8) {
            return match self.random.below(3) {
                0 => self.literal(ty),
                1 => format!("(x as {ty})"),
                _ => format!("(y as {ty})"),
            };
        }
        let (a, b) = (self.constant(ty, depth - 1), self.constant(ty, depth - 1));
        match self.random.below(9) {
            0..=2 => {
                let op = self.random.of(&["+", "-", "*", "/", "%", "&", "|", "^"]);
                format!("({a} {op} {b})")
            }
            3 => {
                let (op, by) = (self.random.of(&["<<", ">>"]), self.random.of(&INTS));
                format!("({a} {op} {})", self.constant(by, depth - 1))
            }
            4 => {
                let names = ["min", "max", "saturating_sub", "rem_euclid", "wrapping_mul"];
                format!("({a}).{}({b})", self.random.of(&names))
            }
            5 => format!("({a}).rotate_left({})", self.constant("u32", depth - 1)),
            6 if is_signed(ty) => format!("(({a}).abs() - (-{b}))"),
            6 => format!("(!{a} - ({b}).count_ones() as {ty})"),
            7 => {
                let from = self.random.of(&INTS);
                format!("({} as {ty})", self.constant(from, depth - 1))
            }
            _ => {
                let (c, d) = (self.constant("i32", depth - 1), self.constant("i32", depth - 1));
                format!("(if {c} < {d} {{ {a} }} else {{ {b} }})")
            }
        }
    }

    /// A number made of vectors.
    fn of_vectors(&mut self, name: &str, ty: &'static str, depth: usize) -> String {
        let [a, b, c] = [0; 3].map(|_| self.component(ty, depth));
        let by = self.component(ty, 0);
        match self.random.below(5) {
            0 => format!("{name}2::new({a}, {b}).yx().dot({name}2::new({c}, {by}))"),
            1 => format!("{name}3::new({a}, {b}, {c}).cross({name}3::new({c}, {by}, {a})).zxy().xz().y"),
            2 => format!("({name}3::new({a}, {b}, {c}).scale({by}) - {name}3::splat({c})).yzx().xy().x"),
            3 => format!(
                "{name}4::new({a}, {b}, {c}, {by}).dot({name}2::new({c}, {a}).extend({b}).extend({by}))"
            ),
            _ => format!("{name}3::new({a}, {b}, {c}).dot({name}4::new({c}, {by}, {b}, {a}).xyz())"),
        }
    }

    /// A component of a vector; of a float, whole, and so small that products and their sums are exact.
    fn component(&mut self, ty: &'static str, depth: usize) -> String {
        let value = self.expr(ty, depth);
        if is_float(ty) { format!("({value}).clamp(-256.0, 256.0).round()") } else { value }
    }

    /// An element of an array, now and then out of range.
    pub(super) fn element(&mut self, depth: usize) -> String {
        let k = self.random.below(self.arrays.len());
        let (name, len) = self.arrays[k].clone();
        if self.random.one_in(3) {
            return format!("{name}[{}]", self.random.next() as u32 % len);
        }
        format!("{name}[({} % {})]", self.expr("u32", depth), len + 1)
    }

    /// Sums stay far from the ends of the type: one factor of a product is small.
    fn float(&mut self, ty: &'static str, depth: usize) -> String {
        match self.random.below(12) {
            11 if ty == "f32" => match self.random.below(2) {
                0 => format!("f32::from({})", self.half(depth)),
                _ => format!("({}).to_f32()", self.half(depth)),
            },
            11 => format!("f64::from({})", self.expr("f32", depth)),
            10 if ty == "f32" => self.of_vectors("Vec", ty, depth.min(2)),
            0..=2 => {
                let op = self.random.of(&["+", "-"]);
                format!("({} {op} {})", self.expr(ty, depth), self.expr(ty, depth))
            }
            3 => {
                let by = self.random.of(&["0.5", "3.0", "1.25", "7.0", "0.75"]);
                format!("({} * {by})", self.expr(ty, depth))
            }
            4 => {
                // Products of whatever there is, bounded on both sides.
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("(({a}).clamp(-1000.0, 1000.0).round() * ({b}).clamp(-64.0, 64.0).trunc())")
            }
            5 => format!("(-{})", self.expr(ty, depth)),
            6 => {
                let name = self.random.of(&["floor", "ceil", "trunc", "round", "abs"]);
                format!("({}).{name}()", self.expr(ty, depth))
            }
            7 => {
                let name = self.random.of(&["min", "max"]);
                format!("({}).{name}({})", self.expr(ty, depth), self.expr(ty, depth))
            }
            _ => {
                let from =
                    if self.random.one_in(3) { self.random.of(&FLOATS) } else { self.random.of(&INTS) };
                format!("({} as {ty})", self.expr(from, depth))
            }
        }
    }

    /// Any value as 32 bits.
    pub(super) fn result(&mut self, depth: usize) -> String {
        match self.random.below(13) {
            12 => format!("bits_half({})", self.half(depth)),
            0 => format!("({} as u32)", self.expr("bool", depth)),
            1 | 2 => format!("bits({})", self.expr("f32", depth)),
            3 => format!("bits_wide({})", self.expr("f64", depth)),
            4 | 5 => {
                let ty = self.random.of(&["u64", "i64"]);
                format!("fold({} as u64)", self.expr(ty, depth))
            }
            _ => {
                let ty = self.random.of(&INTS);
                format!("({} as u32)", self.expr(ty, depth))
            }
        }
    }
}
