//! Lists of a kernel that stores elements in an order of its own, as products and convolutions do, and kernels that make something of each element.
//!
//! Whether the latter may be done where the elements are stored is not known: half of the kernels store an element less, or under a condition of
//! the data, or read an element more.
//!
//! In lists [of parts](Epilogues::of_parts) several kernels store columns of each row, as a concatenation does, half of them with a hole, an overlap
//! or another fault.
//!
//! Lists [of halves](Epilogues::of_halves) are either of these, on elements of 16 bits; in half of them, what else is read is made by elements.

pub(super) mod halves;
mod parts;

use std::fmt::Write as _;
use std::sync::Arc;

use super::case::{Case, Family, Legality};
use super::pool::PoolKernel;
use super::random::Random;
use super::written::{Written, stream, submission, text, wishes};
use halves::Halves;
use vkfuse_jit::plan::{Promote, Submission};

/// Buffers that are only read, and those that are written.
const INPUTS: [u64; 2] = [0, 1];
const WORK: [u64; 4] = [2, 3, 4, 5];
/// Words of every buffer: more than any kernel reaches.
const WORDS: usize = 2048;

/// Makes such lists.
pub struct Epilogues {
    seed: u64,
    is_of_parts: bool,
    is_of_halves: bool,
    kernels: Written,
}

/// The list being made.
struct Draft {
    random: Random,
    width: u32,
    height: u32,
    halves: Option<Halves>,
    wishes: Vec<Promote>,
    submissions: Vec<Submission>,
    kernels: Vec<Arc<PoolKernel>>,
}

impl Epilogues {
    /// Lists of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, is_of_parts: false, is_of_halves: false, kernels: Written::default() }
    }

    /// Lists of kernels that store parts of rows.
    pub fn of_parts(seed: u64) -> Self {
        Self { is_of_parts: true, ..Self::new(seed) }
    }

    /// Lists of both kinds, on halves.
    pub fn of_halves(seed: u64) -> Self {
        Self { is_of_halves: true, ..Self::new(seed) }
    }

    /// The list of that number.
    pub fn case(&mut self, number: usize) -> Case {
        let mut random = stream(self.seed, number ^ 0xe110_0000_0000);
        let width = *random.pick(&[8, 16, 16, 24, 32, 13, 27, 30]);
        let height = *random.pick(&[1, 2, 4, 8, 16, 5, 7]);
        let wishes = wishes(&mut random, 6);
        let (submissions, kernels) = (Vec::new(), Vec::new());
        let halves = self.is_of_halves.then(|| Halves::random(&mut random));
        let is_of_parts = self.is_of_parts || self.is_of_halves && random.one_in(4);
        let mut draft = Draft { random, width, height, halves, wishes, submissions, kernels };
        let mut from = match is_of_parts {
            true => self.parts(&mut draft),
            false => self.producer(&mut draft),
        };
        let beside =
            (self.is_of_halves && draft.random.one_in(2)).then(|| self.by_elements(&mut draft, from));
        for _ in 0..1 + draft.random.below(3) {
            let to = self.consumer(&mut draft, from, beside);
            from = if draft.random.one_in(4) { from } else { to };
        }
        let mut contents = Random::new(number as u64 ^ 0x5eed);
        let mut word = || match self.is_of_halves {
            true => Halves::word(&mut contents),
            false => contents.below(1000) as u32,
        };
        let buffers = (0..6).map(|_| (0..WORDS).flat_map(|_| word().to_le_bytes()).collect()).collect();
        let Draft { submissions, kernels, .. } = draft;
        let (family, legality) = (Family::Epilogues, Legality::Unlabelled);
        Case { family, legality, violation: "", submissions, kernels, buffers }
    }

    /// What stores elements; returns where.
    fn producer(&mut self, draft: &mut Draft) -> u64 {
        let (width, height) = (draft.width, draft.height);
        let random = &mut draft.random;
        let to = *random.pick(&WORK);
        let extra = if random.one_in(5) { " && a[i] % 3u != 0u" } else { "" };
        let less = u32::from(random.one_in(6));
        // An element of row `y` and column `x`, under a guard of its own.
        let one = |x: &str, y: &str, value: &str| {
            let inside = format!("let i = ({y}) * p.x + {x};");
            format!(
                "{{ if ({x} + {less}u < p.x && {y} < p.y) {{ {inside} if (true{extra}) {{ z[i] = {value}; }} }} }} "
            )
        };
        let sum = "var s = b[x % p.x]; for (var k = 0u; k < p.z; k++) { s += a[(y * p.x + x + k * 7u) % 1024u] * (k + 3u); } ";
        let (names, size, groups, body);
        match random.below(10) {
            // Neighbours in a row.
            0 => {
                let count = *random.pick(&[2u32, 4, 8]);
                let mut text = format!("let x = gid.x * {count}u; let y = gid.y; {sum}");
                for r in 0..count {
                    text += &one(&format!("(x + {r}u)"), "y", &format!("s ^ {r}u"));
                }
                (names, size, body) = ("a b z", "8, 2".to_owned(), text);
                groups = [width.div_ceil(8 * count), height.div_ceil(2), 1];
            }
            // A block, by loops.
            1 => {
                let [rows, columns] = *random.pick(&[[2u32, 2], [4, 4], [2, 4], [1, 3]]);
                let store = one("(x + c)", "(y + r)", "s + r * 5u + c");
                let text = format!(
                    "let x = gid.x * {columns}u; let y = gid.y * {rows}u; {sum} for (var r = 0u; r < {rows}u; r++) {{ for (var c = 0u; c < {columns}u; c++) {{ {store} }} }}"
                );
                (names, size, body) = ("a b z", "4, 4".to_owned(), text);
                groups = [width.div_ceil(4 * columns), height.div_ceil(4 * rows), 1];
            }
            // Tiles of a line of invocations, with shared memory between.
            2 | 3 => {
                let wide = *random.pick(&[4u32, 8, 16]);
                let high = 32 / wide;
                let mut text = "var<workgroup> part: array<u32, 32>; --- ".to_owned();
                let _ = write!(
                    text,
                    "let tiles = (p.x + {}u) / {wide}u; let x = wid.x % tiles * {wide}u + lid.x % {wide}u; let y = wid.x / tiles * {high}u + lid.x / {wide}u; {sum}",
                    wide - 1
                );
                text += "part[lid.x] = s; workgroupBarrier(); ";
                text += &one("x", "y", "s + part[lid.x ^ 1u]");
                (names, size, body) = ("a b z", "32".to_owned(), text);
                groups = [width.div_ceil(wide) * height.div_ceil(high), 1, 1];
            }
            // The first of a work-group stores rows, in a loop.
            4 => {
                let rows = *random.pick(&[1u32, 2, 4]);
                let shared = "var<workgroup> part: array<u32, 8>; --- ";
                let text = format!(
                    "{shared} part[lid.x] = a[(wid.x * 8u + lid.x) % 2000u] + b[lid.x]; workgroupBarrier(); if (lid.x == 0u) {{ for (var r = 0u; r < {rows}u; r++) {{ let i = wid.x * {rows}u + r; var s = r; for (var k = 0u; k < 8u; k++) {{ s = s * 3u + part[k]; }} if (i + {less}u < p.x * p.y{extra}) {{ z[i] = s; }} }} }}"
                );
                (names, size, body) = ("a b z", "8".to_owned(), text);
                groups = [(width * height).div_ceil(rows), 1, 1];
            }
            // Several elements an item, in rows that have as many items more or less.
            5 => {
                let count = *random.pick(&[2u32, 2, 4]);
                let each = (width / count).max(1);
                let pitch = count * each;
                let items = (height * each).saturating_sub(if random.one_in(4) { less * 2 } else { 0 });
                let mut text = format!(
                    "let i = gid.x; if (i + {less}u >= {items}u) {{ return; }} let k = i % {each}u; let at = i / {each}u * {pitch}u + k; let x = a[i];"
                );
                for r in 0..count {
                    let _ = write!(text, " z[at + {}u] = x * {}u + b[k];", r * each, r + 3);
                }
                (names, size, body) = ("a b z", "16".to_owned(), text);
                groups = [(height * each).div_ceil(16), 1, 1];
            }
            // Two elements an item or four, each made in its own way; half of the items leave gaps, store one twice, or do not do all of their stores.
            6..=8 => {
                let half = (width / 2).max(1);
                let items = height * half - if random.one_in(4) { 2 * less } else { 0 };
                let rows = format!("i / {half}u * {}u + i % {half}u", 2 * half);
                let [first, second] = match random.below(4) {
                    0 => ["2u * i".to_owned(), "2u * i + 1u".to_owned()],
                    1 => ["i".to_owned(), format!("i + {items}u")],
                    _ => [rows.clone(), format!("{rows} + {half}u")],
                };
                let [first, second] = if random.one_in(3) { [second, first] } else { [first, second] };
                let (second, guard) = match random.below(8) {
                    0 => (format!("{second} + {}u", 2 * items), "true"),
                    1 => (first.clone(), "true"),
                    2 => (second, "i % 3u != 1u"),
                    3 => (second, "i + 2u < p.x * p.y / 2u"),
                    _ => (second, "true"),
                };
                let third = match random.one_in(4) {
                    true => format!("z[{first} + {0}u] = x - 9u; z[{second} + {0}u] = y / 3u;", 2 * items),
                    false => String::new(),
                };
                let text = format!(
                    "let i = gid.x; if (i >= {items}u) {{ return; }} let k = i % {half}u; let x = a[{first}]; let y = a[{second}]; z[{first}] = x * b[k] - y * 3u; {third} if ({guard}) {{ z[{second}] = x * 5u + (y ^ b[k]); }}"
                );
                (names, size, body) = ("a b z", "16".to_owned(), text);
                groups = [(height * half).div_ceil(16), 1, 1];
            }
            // Elements a work-group apart.
            _ => {
                let rounds = *random.pick(&[2u32, 3, 4]);
                let text = format!(
                    "for (var r = 0u; r < {rounds}u; r++) {{ let i = wid.x * {}u + r * 16u + lid.x; if (i >= p.x * p.y - {less}u) {{ continue; }} z[i] = a[i] * 5u + b[i % p.x] + r; }}",
                    16 * rounds
                );
                (names, size, body) = ("a b z", "16".to_owned(), text);
                groups = [(width * height).div_ceil(16 * rounds), 1, 1];
            }
        }
        let inner = *draft.random.pick(&[0, 1, 3]);
        let all = [INPUTS[0], INPUTS[1], to];
        self.submit(draft, &text(names, size, &body), groups, &all, [width, height, inner, 0]);
        to
    }

    /// What is made by elements, before or behind what is stored so far, and read together with it; returns where.
    fn by_elements(&mut self, draft: &mut Draft, from: u64) -> u64 {
        let (width, height) = (draft.width, draft.height);
        let total = width * height;
        let random = &mut draft.random;
        let others: Vec<u64> = WORK.into_iter().filter(|&one| one != from).collect();
        let to = *random.pick(&others);
        let count = *random.pick(&[total, total, total, total + 2, total.saturating_sub(3).max(1)]);
        let value = match random.below(5) {
            0 => "a[i] * 3u + b[i % p.x]",
            1 => "a[p.z - 1u - i] ^ 7u",
            2 => "select(a[i], b[i], a[i] % 3u == 0u)",
            3 => "a[i]",
            _ => "a[i] / 3u + 11u",
        };
        let place = if random.one_in(5) { "p.z - 1u - i" } else { "i" };
        let body = match random.one_in(5) {
            // Two elements an item.
            true => format!(
                "var i = gid.x * 2u; if (i + 1u >= p.z) {{ return; }} z[i] = {value}; i += 1u; z[i] = {value};"
            ),
            false => format!("let i = gid.x; if (i >= p.z) {{ return; }} z[{place}] = {value};"),
        };
        let text = text("a b z", "16", &body);
        self.submit(
            draft,
            &text,
            [count.div_ceil(16), 1, 1],
            &[INPUTS[1], INPUTS[0], to],
            [width, height, count, 0],
        );
        if draft.random.one_in(2) {
            draft.submissions.rotate_right(1);
            draft.kernels.rotate_right(1);
        }
        to
    }

    /// What makes something of each element, of one thing or of two; returns where that is.
    fn consumer(&mut self, draft: &mut Draft, from: u64, beside: Option<u64>) -> u64 {
        let (width, height) = (draft.width, draft.height);
        let total = width * height;
        let random = &mut draft.random;
        let other = if random.one_in(6) { from } else { *random.pick(&INPUTS) };
        let other = beside.filter(|_| !random.one_in(4)).unwrap_or(other);
        let is_free = |one: &u64| *one != from && Some(*one) != beside;
        let others: Vec<u64> = WORK.into_iter().filter(is_free).collect();
        let to = if random.one_in(5) { from } else { *random.pick(&others) };
        let is_own = to == from;
        let also = *random.pick(&others.iter().copied().filter(|&one| one != to).collect::<Vec<_>>());
        // How many of the elements.
        let count = *random.pick(&[total, total, total, total.saturating_sub(3).max(1), total + 2]);
        let read = match random.below(12) {
            0 => "a[i] + a[min(i + 1u, p.z - 1u)]",
            1 | 9 => "a[p.z - 1u - i]",
            10 => "a[i / 2u * 2u] + 3u * a[i ^ 1u]",
            11 => "a[(i * 5u) % p.z]",
            2 => "a[i] * 3u + b[i % p.x]",
            3 => "a[i] ^ (b[i / p.x] + 7u)",
            4 => "select(a[i], 9u, a[i] % 2u == 0u)",
            _ => "a[i] + b[i]",
        };
        let read = if is_own { "z[i] * 5u + b[i % 7u]" } else { read };
        let place = match random.below(6) {
            0 if !is_own => "x * p.y + y",
            1 if !is_own => "p.z - 1u - i",
            _ => "i",
        };
        let second = random.one_in(4);
        let store = format!("z[{place}] = {read};{}", if second { " zz[i] = b[i] + 4u;" } else { "" });
        let store = if random.one_in(6) { format!("if (b[i] % 2u == 1u) {{ {store} }}") } else { store };
        let names = match (is_own, second) {
            (true, true) => "z b zz",
            (true, false) => "z b",
            (false, true) => "a b z zz",
            (false, false) => "a b z",
        };
        let bounds = "if (x >= p.x || y >= p.y) { return; }";
        let (size, groups, body) = match random.below(4) {
            0 => {
                let body = format!("let x = gid.x; let y = gid.y; {bounds} let i = y * p.x + x; {store}");
                ("4, 4", [width.div_ceil(4), height.div_ceil(4), 1], body)
            }
            1 => {
                let body = format!(
                    "for (var r = 0u; r < 2u; r++) {{ let i = wid.x * 32u + r * 16u + lid.x; let x = i % p.x; let y = i / p.x; if (i < p.z) {{ {store} }} }}"
                );
                ("16", [count.div_ceil(32), 1, 1], body)
            }
            _ => {
                let body = format!(
                    "let i = gid.x; let x = i % p.x; let y = i / p.x; if (i >= p.z) {{ return; }} {store}"
                );
                ("16", [count.div_ceil(16), 1, 1], body)
            }
        };
        let mut all = if is_own { vec![to, other] } else { vec![from, other, to] };
        if is_own && other == from {
            all[1] = INPUTS[0];
        }
        if second {
            all.push(also);
        }
        self.submit(draft, &text(names, size, &body), groups, &all, [width, height, count, 0]);
        to
    }

    fn submit(&mut self, draft: &mut Draft, text: &str, groups: [u32; 3], buffers: &[u64], push: [u32; 4]) {
        let kernel = match draft.halves {
            Some(halves) => self.kernels.of(&halves.of(text)),
            None => self.kernels.of(text),
        };
        draft.submissions.push(submission(&kernel, groups, buffers, (WORDS, &draft.wishes), push));
        draft.kernels.push(kernel);
    }
}
