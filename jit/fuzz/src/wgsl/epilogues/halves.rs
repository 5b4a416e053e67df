//! The kernels of [`Epilogues`](super::Epilogues) on halves: what they load is made a number of, and what they store is made of one.

use crate::wgsl::random::Random;

/// How numbers and halves are made of each other in a list.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    /// One of a number is this of a half, and the number is this many of a half.
    scale: [&'static str; 2],
    /// Elements are pairs.
    pairs: bool,
    /// They are computed with, and not only stored.
    computes: bool,
}

impl Halves {
    pub(super) fn random(random: &mut Random) -> Self {
        // Ordinary ones, denormal ones, and some that are too large.
        let scale = *random.pick(&[["0.37", "2.7"], ["0.37", "2.7"], ["1.5e-7", "7e6"], ["40.0", "1.3"]]);
        Self { scale, pairs: random.one_in(3), computes: random.one_in(4) }
    }

    /// What a buffer holds where it has random words: positive numbers.
    pub(super) fn word(random: &mut Random) -> u32 {
        random.bits() as u32 & 0x7bff_7bff & !0x0400_0400
    }

    /// A kernel on words as one on halves. What only stores them does not ask for more.
    pub(super) fn of(self, text: &str) -> String {
        let element = if self.pairs { "vec2<f16>" } else { "f16" };
        let (head, body) = text.split_once("@compute").expect("an entry point");
        let head = head.replace(": array<u32>;", &format!(": array<{element}>;"));
        let note = if self.computes { "" } else { STORED };
        format!("{note}enable f16;\n{head}@compute{}", self.translated(body))
    }

    /// Accesses to elements as they are to halves.
    fn translated(self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((at, name)) = next(rest) {
            let (before, access) = rest.split_at(at);
            let (index, behind) = inside(&access[name.len() + 1..], ']');
            let place = format!("{name}[{}]", self.translated(index));
            out += before;
            rest = match behind.strip_prefix(" = ") {
                Some(value) => {
                    let (value, behind) = inside(value, ';');
                    out += &format!("{place} = {};", self.stored(&self.translated(value)));
                    behind
                }
                None => {
                    out += &self.loaded(&place);
                    behind
                }
            };
        }
        out + rest
    }

    fn stored(self, value: &str) -> String {
        let one = |value: &str| format!("f32(({value}) % 8191u) * {}", self.scale[0]);
        let times = if self.computes { " * f16(0.75)" } else { "" };
        match self.pairs {
            true => {
                format!("vec2<f16>(vec2<f32>({}, {})){times}", one(value), one(&format!("({value}) ^ 21u")))
            }
            false => format!("f16({}){times}", one(value)),
        }
    }

    fn loaded(self, place: &str) -> String {
        let times = if self.computes { " * f16(1.25)" } else { "" };
        let scale = self.scale[1];
        match self.pairs {
            true => format!("u32(dot(vec2<f32>({place}{times}), vec2<f32>({scale}, 0.5)))"),
            false => format!("u32(f32({place}{times}) * {scale})"),
        }
    }
}

/// Begins a text whose halves are only stored.
pub(in crate::wgsl) const STORED: &str = "// Halves are only stored.\n";

/// The words of a module without the capability to compute with halves.
pub(in crate::wgsl) fn only_stored(words: &[u32]) -> Vec<u32> {
    const CAPABILITY: [u32; 2] = [2 << 16 | 17, 9];
    let (head, rest) = words.split_at(5);
    let mut all = head.to_vec();
    let mut at = 0;
    while let Some(&first) = rest.get(at) {
        let inst = &rest[at..at + (first >> 16).max(1) as usize];
        if inst != CAPABILITY {
            all.extend_from_slice(inst);
        }
        at += inst.len();
    }
    all
}

/// The first element of a buffer in a text, and the buffer's name.
fn next(text: &str) -> Option<(usize, &'static str)> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let found = ["a", "b", "z", "zz"].into_iter().filter_map(|name| {
        let places = text.match_indices(name).map(|(at, _)| at);
        let mut places = places.filter(|&at| {
            text[at + name.len()..].starts_with('[')
                && !at.checked_sub(1).is_some_and(|before| is_name(text.as_bytes()[before]))
        });
        Some((places.next()?, name))
    });
    found.min_by_key(|one| one.0)
}

/// A text up to what closes it, and what is behind that.
fn inside(text: &str, close: char) -> (&str, &str) {
    let mut depth = 0;
    for (at, one) in text.char_indices() {
        if depth == 0 && one == close {
            return (&text[..at], &text[at + 1..]);
        }
        match one {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ => {}
        }
    }
    panic!("nothing closes {text}");
}
