//! Indices, loads, and expressions of what was loaded.

use super::Body;
use crate::kernel::{Binding, Role};
use crate::layout::{Scalar, Type};
use crate::random::Random;
use crate::tree::Stmt;

impl Body<'_> {
    /// The number of one of an invocation's own elements.
    pub(super) fn own(&mut self) -> String {
        let by_loop = match (self.calm, self.theme.tidy && !self.theme.looped) {
            (_, true) => 5,
            (true, _) => 90,
            _ => 65,
        };
        if !self.loops.is_empty() && self.random.percent(by_loop) {
            let (name, small) = self.random.pick(&self.loops).clone();
            return if small && self.random.percent(80) { name } else { format!("({name} & 3u)") };
        }
        let most = if self.theme.tidy && !self.theme.looped { 80 } else { 10 };
        match self.random.below(most) {
            0..=5 | 10.. => "0u".to_owned(),
            6 => "1u".to_owned(),
            7 => "2u".to_owned(),
            8 => "3u".to_owned(),
            _ => "(u0 & 3u)".to_owned(),
        }
    }

    /// The array that an access goes to.
    pub(super) fn array(&mut self, binding: &Binding) -> usize {
        let all = binding.block.arrays.len();
        match self.theme.arrays.get(binding.home) {
            Some(&array) if self.theme.tidy && array < all && self.random.percent(92) => array,
            _ => self.random.below(all),
        }
    }

    pub(super) fn index(&mut self, role: Role) -> String {
        let size = self.kernel.size();
        match role {
            Role::Owned(family) => {
                let j = self.own();
                family.index(&j, "g", size)
            }
            Role::PerGroup => "w".to_owned(),
            Role::Cells => "0u".to_owned(),
            Role::Counters => self.random.one(&["g & 7u", "0u", "u0 & 15u"]).to_owned(),
            Role::Input => {
                if self.random.percent(if self.theme.tidy { 1 } else { 5 }) {
                    return "(u0 & 63u)".to_owned();
                }
                let family = self.family();
                let j = self.own();
                let index = family.index(&j, "g", size);
                match self.random.below(if self.theme.tidy { 80 } else { 20 }) {
                    0 => format!("{index} + 1u"),
                    1 => format!("min({index}, p.n)"),
                    2 => format!("({index}) % 128u"),
                    _ => index,
                }
            }
        }
    }

    /// A scalar somewhere in an element, and its type.
    pub(super) fn place(&mut self, number: usize) -> (String, Scalar) {
        self.place_in(number, false)
    }

    /// A place that is read only: it may be in a structure that is loaded whole.
    fn source(&mut self, number: usize) -> (String, Scalar) {
        self.place_in(number, self.kernel.dress.structs_by_value)
    }

    fn place_in(&mut self, number: usize, by_value: bool) -> (String, Scalar) {
        let binding = self.kernel.bindings[number].clone();
        let index = self.index(binding.role);
        if binding.uniform {
            let Type::Vector(scalar, _) = binding.block.arrays[0].element else {
                return ("p.f".to_owned(), Scalar::F32);
            };
            return (format!("b{number}.a0[({index}) >> 2u][({index}) & 3u]"), scalar);
        }
        let array = self.array(&binding);
        let element = self.kernel.element(number, array, &index);
        let is_struct = matches!(binding.block.arrays[array].element, Type::Struct(..));
        let element = if by_value && is_struct { format!("whole({element})") } else { element };
        let loops = self.loops.clone();
        let (path, scalar) =
            binding.block.arrays[array].element.leaf(self.random, &mut |random, n| match random.below(10) {
                0 | 1 => format!("(u0 % {n}u)"),
                2 | 3 if !loops.is_empty() => format!("({} % {n}u)", loops[0].0),
                _ => format!("{}", random.below(n as usize)),
            });
        (element + &path, scalar)
    }

    pub(super) fn readable(&mut self) -> Option<usize> {
        let readable: Vec<usize> = (0..self.kernel.bindings.len())
            .filter(|&n| matches!(self.kernel.bindings[n].role, Role::Input | Role::Owned(_)))
            .collect();
        let inputs: Vec<usize> =
            readable.iter().copied().filter(|&n| self.kernel.bindings[n].role == Role::Input).collect();
        let only = if self.calm { 97 } else { 85 };
        if self.theme.tidy && !inputs.is_empty() && self.random.percent(only) {
            return Some(*self.random.pick(&inputs));
        }
        (!readable.is_empty()).then(|| *self.random.pick(&readable))
    }

    pub(super) fn read_float(&mut self) -> String {
        let Some(number) = self.readable() else { return "p.f".to_owned() };
        let (place, scalar) = self.source(number);
        match scalar {
            Scalar::F32 => place,
            Scalar::U32 | Scalar::I32 if self.random.percent(30) => format!("uintBitsToFloat(uint({place}))"),
            _ => format!("float(uint({place}) & 255u)"),
        }
    }

    pub(super) fn read_word(&mut self) -> String {
        let Some(number) = self.readable() else { return "p.n".to_owned() };
        let (place, scalar) = self.source(number);
        match scalar {
            Scalar::F32 => format!("floatBitsToUint({place})"),
            Scalar::U64 if self.random.percent(50) => format!("uint({place} >> 32)"),
            _ => format!("uint({place})"),
        }
    }

    pub(super) fn load(&mut self) -> Vec<Stmt> {
        let over = self.theme.tidy && self.theme.looped && self.loops.is_empty();
        if over && self.random.percent(if self.calm { 60 } else { 30 }) {
            return vec![self.load_all()];
        }
        let to = self.random.below(3);
        if self.random.percent(12) && self.is_glsl() {
            // A whole element, then a part of it.
            if let Some(number) = self.readable() {
                let binding = self.kernel.bindings[number].clone();
                if !binding.uniform {
                    let index = self.index(binding.role);
                    let array = self.array(&binding);
                    let element = &binding.block.arrays[array].element;
                    let whole = self.kernel.element(number, array, &index);
                    let (path, scalar) =
                        element.leaf(self.random, &mut |random, n| random.below(n as usize).to_string());
                    let name = element.name();
                    let part = match scalar {
                        Scalar::F32 if self.calm => format!("u1 ^= floatBitsToUint(t{path});"),
                        _ if self.calm => format!("u1 ^= uint(t{path});"),
                        Scalar::F32 => format!("f{to} += t{path};"),
                        _ => format!("f{to} += float(t{path});"),
                    };
                    return vec![Stmt::line(format!("{{ {name} t = {whole}; {part} }}"))];
                }
            }
        }
        if self.calm {
            let (to, op) = (self.random.between(1, 2), self.random.one(&["+=", "^="]));
            let read = self.read_word();
            return vec![Stmt::line(format!("u{to} {op} {read};"))];
        }
        if self.random.percent(70) {
            let read = self.read_float();
            let op = self.random.one(&["=", "+=", "*=", "="]);
            vec![Stmt::line(format!("f{to} {op} {read};"))]
        } else {
            let read = self.read_word();
            let op = self.random.one(&["=", "+=", "^=", "="]);
            vec![Stmt::line(format!("u{to} {op} {read};"))]
        }
    }

    /// Loads of an invocation's elements, one after the other.
    pub(super) fn load_all(&mut self) -> Stmt {
        let name = format!("k{}", self.counters);
        self.counters += 1;
        let limit = self.random.one(&["4u", "4u", "3u", "2u", "p.m"]);
        self.loops.push((name.clone(), true));
        let body = self.load();
        self.loops.pop();
        Stmt::block(format!("for (uint {name} = 0u; {name} < {limit}; ++{name}) {{"), body, "}")
    }

    pub(super) fn assign(&mut self) -> Stmt {
        let to = self.random.below(3);
        if self.random.percent(65) {
            let value = self.float(0);
            Stmt::line(format!("f{to} = {value};"))
        } else {
            let value = self.word(0);
            Stmt::line(format!("u{to} = {value};"))
        }
    }

    pub(super) fn float(&mut self, depth: usize) -> String {
        let leaf = |r: &mut Random| match r.below(6) {
            0..=3 => format!("f{}", r.below(3)),
            4 => r.one(&["0.5", "2.0", "-1.5", "1.0e-3", "p.f", "0.0"]).to_owned(),
            _ => format!("float(u{} & 31u)", r.below(3)),
        };
        if depth >= 2 {
            return leaf(self.random);
        }
        match self.random.below(34) {
            0..=4 => leaf(self.random),
            5..=13 => {
                let (a, b) = (self.float(depth + 1), self.float(depth + 1));
                let op = self.random.one(&["+", "-", "*", "*", "/"]);
                format!("({a} {op} {b})")
            }
            14..=27 => {
                let a = self.float(depth + 1);
                let f = self.random.one(&[
                    "exp",
                    "log",
                    "exp2",
                    "log2",
                    "sqrt",
                    "inversesqrt",
                    "fract",
                    "floor",
                    "abs",
                    "sign",
                    "degrees",
                    "radians",
                    "sin",
                    "trunc",
                    "ceil",
                    "round",
                ]);
                format!("{f}({a})")
            }
            28 => format!("({} / {})", 1.0f32, leaf(self.random)).replace("(1 ", "(1.0 "),
            29 => {
                let (a, b, c) = (leaf(self.random), leaf(self.random), leaf(self.random));
                let f = self.random.one(&["fma", "mix", "clamp2", "minmax"]);
                match f {
                    "clamp2" => format!("clamp({a}, -1.0, 1.0)"),
                    "minmax" => format!("max(min({a}, 1.0), 0.0)"),
                    _ => format!("{f}({a}, {b}, {c})"),
                }
            }
            30 => {
                let (a, b) = (leaf(self.random), leaf(self.random));
                let f = self.random.one(&["min", "max", "pow", "step"]);
                format!("{f}({a}, {b})")
            }
            31 => format!("uintBitsToFloat(u{})", self.random.below(3)),
            32 if self.is_glsl() => format!("ldexp({}, int(u0 & 7u) - 3)", leaf(self.random)),
            _ => format!("length(vec2({}, {}))", leaf(self.random), leaf(self.random)),
        }
    }

    pub(super) fn word(&mut self, depth: usize) -> String {
        let leaf = |r: &mut Random| match r.below(8) {
            0..=3 => format!("u{}", r.below(3)),
            4 => "g".to_owned(),
            5 => r.one(&["p.n", "p.m", "c0", "3u", "17u", "0x80000000u"]).to_owned(),
            6 => format!("floatBitsToUint(f{})", r.below(3)),
            _ => format!("{}u", r.below(64)),
        };
        if depth >= 2 {
            return leaf(self.random);
        }
        match self.random.below(16) {
            0..=3 => leaf(self.random),
            4..=9 => {
                let (a, b) = (self.word(depth + 1), self.word(depth + 1));
                let op = self.random.one(&["+", "-", "*", "^", "&", "|"]);
                format!("({a} {op} {b})")
            }
            10 => format!("({} >> {}u)", leaf(self.random), self.random.below(9)),
            11 => format!("({} % {}u)", leaf(self.random), self.random.between(1, 9)),
            12 => format!("min({}, {})", leaf(self.random), leaf(self.random)),
            13 if self.is_glsl() => format!(
                "uint((uint64_t({}) * uint64_t({})) >> {})",
                leaf(self.random),
                leaf(self.random),
                self.random.below(40)
            ),
            14 if self.is_glsl() => {
                self.length().unwrap_or_else(|| format!("bitfieldReverse({})", leaf(self.random)))
            }
            _ => format!("({} > {} ? {} : {})", leaf(self.random), leaf(self.random), "u0", "u1"),
        }
    }

    pub(super) fn scalar(&mut self, scalar: Scalar) -> String {
        match scalar {
            // No two parts of an element alike, so that it shows where they go.
            Scalar::F32 if self.calm => {
                format!("(f{} + {}.0)", self.random.below(2), self.random.below(50))
            }
            Scalar::F32 if self.random.percent(75) => format!("f{}", self.random.below(3)),
            Scalar::F32 => self.float(1),
            Scalar::U32 => self.word(1),
            Scalar::I32 => format!("int({})", self.word(1)),
            Scalar::U64 => format!("(uint64_t({}) << 32 | uint64_t({}))", self.word(1), self.word(1)),
            Scalar::U8 | Scalar::U16 => format!("{}({})", scalar.name(), self.word(1)),
        }
    }
}
