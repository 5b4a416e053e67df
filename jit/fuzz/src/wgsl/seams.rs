//! Lists in which kernels that go by their element meet kernels that go by rows.
//!
//! Every list has one number of rows and one length of a row, and buffers of elements or of one value for each row. Each
//! kernel of a *legal* list keeps to the row that its element lies in, whatever its work-groups are: a plan whose
//! work-groups are the rows is right. In an *illegal* one, one kernel reads another row's element of what an earlier one has
//! written. The rest is near to either: an element less, a stride that is not the length, items without a guard.

use std::sync::Arc;

use super::case::{Case, Family, Legality};
use super::pool::PoolKernel;
use super::random::Random;
use super::written::{Written, stream, submission, text, wishes};
use vkfuse_jit::plan::{Promote, Submission};

/// Buffers of elements: two that are only read, one value for each column, and those that are written.
const INPUTS: [u64; 2] = [0, 1];
const COLUMNS: u64 = 2;
const WORK: [u64; 4] = [3, 4, 5, 6];
/// Buffers of one value for each row.
const SLOTS: [u64; 2] = [7, 8];
/// Words of every buffer: more than any list has elements, for kernels that read over the end of a row.
const WORDS: usize = 512;

/// Makes such lists.
pub struct Seams {
    seed: u64,
    sizes: usize,
    kernels: Written,
}

/// The list being made.
struct Draft {
    random: Random,
    /// What does several elements an invocation does them in rounds that are alike.
    is_legal: bool,
    length: u32,
    rows: u32,
    /// Size of the work-groups of row kernels.
    local: u32,
    /// What has been written.
    elements: Vec<u64>,
    slots: Vec<u64>,
    wishes: Vec<Promote>,
    submissions: Vec<Submission>,
    kernels: Vec<Arc<PoolKernel>>,
}

/// A kernel that goes by elements reads `a` at this place: rotated, reversed, in a window, halved, transposed, gathered.
const OTHERS: [&str; 8] = [
    "(i + 1u) % p.y",
    "p.y - 1u - i",
    "(i + p.x) % p.y",
    "(max(i, 1u) - 1u)",
    "min(i + 1u, p.y - 1u)",
    "(i / 2u)",
    "((i % p.x) * (p.y / p.x) + i / p.x)",
    "((a[i] * 7u + i) % p.y)",
];

impl Seams {
    /// Lists of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, sizes: 1, kernels: Written::default() }
    }

    /// The same with this many lists in a row that are made of the same kernels, as far as their sizes allow. Drivers compile less then.
    #[must_use]
    pub fn sizes(mut self, sizes: usize) -> Self {
        self.sizes = sizes.max(1);
        self
    }

    /// The list of that number.
    pub fn case(&mut self, number: usize) -> Case {
        let mut detail = stream(self.seed, number ^ 0x5eed_0000_0000);
        let length = *detail.pick(&[1, 3, 8, 12, 16, 17, 20, 31, 32, 40]);
        let rows = 1 + detail.below(7) as u32;
        let mut random = stream(self.seed, number / self.sizes);
        let local = *random.pick(&[8, 16]);
        let wishes = wishes(&mut random, 9);
        let mut draft = Draft {
            random,
            is_legal: true,
            length,
            rows,
            local,
            elements: Vec::new(),
            slots: Vec::new(),
            wishes,
            submissions: Vec::new(),
            kernels: Vec::new(),
        };
        let mut legality = *draft.random.pick(&[
            Legality::Legal,
            Legality::Legal,
            Legality::Illegal,
            Legality::Illegal,
            Legality::Unlabelled,
        ]);
        draft.is_legal = legality == Legality::Legal;
        let count = 2 + draft.random.below(5);
        let odd = 1 + draft.random.below(count - 1);
        let mut violation = "";
        for at in 0..count {
            let is_odd = at == odd;
            match legality {
                // All elements in one work-group of any kernel would be no harm.
                Legality::Illegal
                    if is_odd && rows > 1 && length * rows > 64 && !draft.elements.is_empty() =>
                {
                    violation = "another row's element";
                    self.breaking(&mut draft);
                }
                // Nothing to break: it is as good as any.
                Legality::Illegal if is_odd => {
                    legality = Legality::Unlabelled;
                    self.any(&mut draft);
                }
                Legality::Unlabelled if is_odd => self.near(&mut draft),
                _ => self.any(&mut draft),
            }
        }
        let mut contents = Random::new(number as u64 ^ 0x5eed);
        let buffers = (0..9)
            .map(|_| (0..WORDS).flat_map(|_| (contents.below(1000) as u32).to_le_bytes()).collect())
            .collect();
        let Draft { submissions, kernels, .. } = draft;
        Case { family: Family::Seams, legality, violation, submissions, kernels, buffers }
    }

    /// A kernel that keeps to its row.
    fn any(&mut self, draft: &mut Draft) {
        match draft.random.below(9) {
            0..=4 => self.flat(draft, "i", 0),
            5 => self.reduce(draft),
            6 | 7 => self.norm(draft),
            _ => self.reversed(draft),
        }
    }

    fn read(draft: &mut Draft) -> u64 {
        match draft.elements.last().copied().filter(|_| !draft.random.one_in(4)) {
            Some(last) => last,
            None if draft.random.one_in(2) || draft.elements.is_empty() => *draft.random.pick(&INPUTS),
            None => *draft.random.pick(&draft.elements.clone()),
        }
    }

    /// A buffer to write, which is none of those.
    fn target(draft: &mut Draft, others: &[u64]) -> u64 {
        let free: Vec<u64> = WORK.into_iter().filter(|one| !others.contains(one)).collect();
        *draft.random.pick(&free)
    }

    /// By elements; `fewer` of them.
    fn flat(&mut self, draft: &mut Draft, at: &str, fewer: u32) {
        let from = Self::read(draft);
        self.flat_of(draft, from, at, fewer);
    }

    fn flat_of(&mut self, draft: &mut Draft, from: u64, at: &str, fewer: u32) {
        let random = &mut draft.random;
        let size = *random.pick(&[4, 16, 32]);
        let total = draft.length * draft.rows - fewer;
        let (second, other) = match random.below(4) {
            0 => ("b[i % p.x]", COLUMNS),
            1 => ("b[i / p.x]", draft.slots.last().copied().unwrap_or(SLOTS[0])),
            2 => ("b[i]", *random.pick(&INPUTS)),
            _ => ("7u", from),
        };
        let value = format!("(a[{at}] ^ ({second} + 3u))");
        // Most are a single store, as what is recomputed has to be.
        let store = match random.below(10) {
            0 => format!("if (a[{at}] % 3u != 0u) {{ z[i] = {value}; }} else {{ z[i] = 5u; }}"),
            1 => {
                format!("var s = 0u; for (var k = 0u; k < 3u; k++) {{ s = s * 5u + {value} + k; }} z[i] = s;")
            }
            2 => format!(
                "var t = array<u32, 3>(1u, 2u, 3u); t[{value} % 3u] += a[{at}]; z[i] = t[i % 3u] + t[0];"
            ),
            // All is loaded before: in place, what is loaded after a store to another variable is not defined.
            3 => format!(
                "let v = {value}; let w = a[{at}]; z[i] = v; if (w % 2u == 0u) {{ return; }} z[i] = v * 2u;"
            ),
            _ => format!("z[i] = {value};"),
        };
        // As many draws whatever the sizes are.
        let [may_be_exact, may_spare, may_be_twice] = [3, 5, 8].map(|n| random.one_in(n));
        let exact = total.is_multiple_of(size) && may_be_exact;
        let spare = u32::from(!exact && may_spare);
        let count = total.div_ceil(size) + spare;
        // Items in a line, whichever dimensions it is folded into.
        let (shape, item, groups) = match random.below(14) {
            0 => (format!("{size}"), format!("gid.y * {size}u + gid.x"), [1, count, 1]),
            1 => (format!("{size}"), format!("gid.z * {size}u + lid.x"), [1, 1, count]),
            2 if !exact => {
                (format!("{size}"), format!("gid.y * {}u + gid.x", 2 * size), [2, count.div_ceil(2), 1])
            }
            3 => (format!("1, {size}"), format!("wid.x * {size}u + gid.y"), [count, 1, 1]),
            4..=6 => (format!("{size}"), format!("wid.x * {size}u + lid.x"), [count, 1, 1]),
            // A grid of columns and rows.
            7 | 8 if !exact => {
                let (x, y) = (size / 4, 4);
                let rows = total.div_ceil(draft.length);
                let groups = [draft.length.div_ceil(x), rows.div_ceil(y) + spare, 1];
                (format!("{x}, {y}"), "gid.y * p.x + gid.x".to_owned(), groups)
            }
            _ => (format!("{size}"), "gid.x".to_owned(), [count, 1, 1]),
        };
        let is_plain = store.starts_with("z[i]") && !store.contains("return");
        let twice = is_plain && !exact && may_be_twice;
        let each = *random.pick(&[2, 2, 3, 4, 5, 8]);
        let form = random.below(if draft.is_legal { ALIKE } else { SEVERAL });
        let is_grid = !twice && item.contains("p.x");
        let columns = if is_grid { "if (gid.x >= p.x) { return; } " } else { "" };
        let body = match random.below(2) {
            _ if twice => several(form, each, size, at, &store, &value),
            _ if exact => format!("let i = {item}; {store}"),
            0 => format!("{columns}let i = {item}; if (i >= p.y) {{ return; }} {store}"),
            _ => format!("{columns}let i = {item}; if (i < p.y) {{ {store} }}"),
        };
        // In place where every item keeps to its own element.
        let may_be_in_place = random.one_in(4);
        let in_place = at == "i" && WORK.contains(&from) && may_be_in_place;
        let (shape, groups) = match twice {
            true => (size.to_string(), [total.div_ceil(each * size) + spare, 1, 1]),
            false => (shape, groups),
        };
        let to = if in_place { from } else { Self::target(draft, &[from, other]) };
        let names = if second.contains('b') { "a b z" } else { "a z" };
        let buffers: &[u64] = if second.contains('b') { &[from, other, to] } else { &[from, to] };
        let push = [draft.length, total, each, 0];
        self.submit(draft, &text(names, shape, &body), groups, buffers, push);
        draft.elements.push(to);
    }

    /// The sum of each row.
    fn reduce(&mut self, draft: &mut Draft) {
        let from = Self::read(draft);
        let to = *draft.random.pick(&SLOTS);
        let size = draft.local;
        let body = format!("{} if (lid.x == 0u) {{ z[wid.x] = part[0]; }}", sum(size));
        let (groups, push) = ([draft.rows, 1, 1], [draft.length, 0, 0, 0]);
        self.submit(draft, &text("a z", size, &body), groups, &[from, to], push);
        draft.slots.push(to);
    }

    /// Each element and the sum of its row, or the value of its row.
    fn norm(&mut self, draft: &mut Draft) {
        let (from, size) = (Self::read(draft), draft.local);
        let slots = draft.slots.last().copied();
        let slot = slots.filter(|_| draft.random.one_in(2));
        let to = Self::target(draft, &[from]);
        let each = |value: &str| {
            format!(
                "for (var c = lid.x; c < p.x; c += {size}u) {{
                     let at = wid.x * p.x + c; z[at] = (a[at] * 31u) ^ {value};
                 }}"
            )
        };
        let (groups, push) = ([draft.rows, 1, 1], [draft.length, 0, 0, 0]);
        match slot {
            Some(slot) => {
                self.submit(draft, &text("a b z", size, &each("b[wid.x]")), groups, &[from, slot, to], push)
            }
            None => {
                let body = format!("{} {}", sum(size), each("part[0]"));
                self.submit(draft, &text("a z", size, &body), groups, &[from, to], push);
            }
        }
        draft.elements.push(to);
    }

    /// Each element takes that at the other end of its row.
    fn reversed(&mut self, draft: &mut Draft) {
        let (from, size) = (Self::read(draft), draft.local);
        let to = Self::target(draft, &[from]);
        let body = format!(
            "for (var c = lid.x; c < p.x; c += {size}u) {{ z[wid.x * p.x + c] = a[wid.x * p.x + p.x - 1u - c] + c; }}"
        );
        let (groups, push) = ([draft.rows, 1, 1], [draft.length, 0, 0, 0]);
        self.submit(draft, &text("a z", size, &body), groups, &[from, to], push);
        draft.elements.push(to);
    }

    /// A kernel that reads what an earlier one wrote in another row.
    fn breaking(&mut self, draft: &mut Draft) {
        let from = draft.elements[draft.elements.len() - 1];
        // Work-groups of twice the elements read, by halves, what work-groups of the same number wrote.
        let others: Vec<&str> = OTHERS.into_iter().filter(|at| *at != "(i / 2u)").collect();
        let at = *draft.random.pick(&others);
        self.flat_of(draft, from, at, 0);
    }

    /// A kernel that is nearly as any.
    fn near(&mut self, draft: &mut Draft) {
        let (length, rows) = (draft.length, draft.rows);
        match draft.random.below(5) {
            // The last element is left as it is.
            0 if length * rows > 1 => self.flat(draft, "i", 1),
            // Rows of another length, over the same elements or fewer.
            1 => {
                draft.length = *draft.random.pick(&[length + 1, (length - 1).max(1), 2 * length]);
                draft.rows = (length * rows / draft.length).max(1);
                match draft.random.one_in(2) {
                    true => self.norm(draft),
                    false => self.flat(draft, "i", 0),
                }
            }
            // A row less.
            2 if rows > 1 => {
                draft.rows -= 1;
                match draft.random.one_in(2) {
                    true => self.norm(draft),
                    false => self.flat(draft, "i", 0),
                }
            }
            3 => {
                let at = *draft.random.pick(&OTHERS);
                self.flat(draft, at, 0);
            }
            _ => self.any(draft),
        }
        (draft.length, draft.rows) = (length, rows);
    }

    fn submit(&mut self, draft: &mut Draft, text: &str, groups: [u32; 3], buffers: &[u64], push: [u32; 4]) {
        let kernel = self.kernels.of(text);
        draft.submissions.push(submission(&kernel, groups, buffers, (WORDS, &draft.wishes), push));
        draft.kernels.push(kernel);
    }
}

/// The sum of the work-group's row of `a` in `part[0]`.
fn sum(size: u32) -> String {
    format!(
        "var<workgroup> part: array<u32, {size}>;---
         var own = 0u;
         for (var c = lid.x; c < p.x; c += {size}u) {{ own += a[wid.x * p.x + c]; }}
         part[lid.x] = own;
         workgroupBarrier();
         for (var step = {}u; step > 0u; step /= 2u) {{
             if (lid.x < step) {{ part[lid.x] += part[lid.x + step]; }}
             workgroupBarrier();
         }}",
        size / 2
    )
}

/// Forms of kernels that do several elements an invocation, and how many of them do so in rounds that are alike.
const SEVERAL: usize = 16;
const ALIKE: usize = 10;

/// Several elements an item, a work-group or an element apart: the last forms are nearly so, and do other elements, or not all of them.
fn several(form: usize, each: u32, size: u32, at: &str, store: &str, value: &str) -> String {
    let first = format!("wid.x * {}u + lid.x", each * size);
    let rounds = format!("for (var e = 0u; e < {each}u; e++)");
    let steps = |test: &str, store: &str| {
        format!("var i = {first}; {rounds} {{ if ({test}) {{ continue; }} {store} i += {size}u; }}")
    };
    match form {
        0 => format!("{rounds} {{ let i = {first} + e * {size}u; if (i < p.y) {{ {store} }} }}"),
        1 => format!("var i = {first}; {rounds} {{ if (i < p.y) {{ {store} }} i += {size}u; }}"),
        2 | 3 => steps("i >= p.y", store),
        4 => steps("i >= p.y", store).replace(&format!("e < {each}u"), "e < p.z"),
        5 | 6 => {
            let one = |n: u32| format!("i = {first} + {}u; if (i < p.y) {{ {store} }}", n * size);
            format!("var i = 0u; {}", (0..each).map(one).collect::<Vec<_>>().join(" "))
        }
        7 => {
            let one = format!("if (i >= p.y) {{ return; }} {store} i += {size}u;");
            format!("var i = {first}; {}", vec![one; each as usize].join(" "))
        }
        8 => format!(
            "let most = min(wid.x * {0}u + {0}u, p.y); for (var i = {first}; i < most; i += {size}u) {{ {store} }}",
            each * size
        ),
        9 => format!("{rounds} {{ let i = gid.x * {each}u + e; if (i < p.y) {{ {store} }} }}"),
        // What keeps a round from stepping changes from round to round, or comes and goes.
        10 => steps("i >= p.y || e == 1u", store),
        11 => steps(&format!("i >= p.y || a[{at}] % 5u == 0u"), store),
        12 => steps("i >= p.y || i % 7u == 5u", store),
        // A sum goes from round to round.
        13 => {
            let sum = format!("s = s * 3u + {value}; z[i] = s;");
            format!("var s = 1u; {rounds} {{ let i = {first} + e * {size}u; if (i < p.y) {{ {sum} }} }}")
        }
        // Unrolled, with a last element that is not where it might be, or is under another condition.
        14 => {
            let one = |n: u32| {
                let end = if n + 1 == each { "p.y / 2u" } else { "p.y" };
                format!("i = {first} + {}u; if (i < {end}) {{ {store} }}", n * size)
            };
            format!("var i = 0u; {}", (0..each).map(one).collect::<Vec<_>>().join(" "))
        }
        _ => {
            let place = |n: u32| if n + 1 == each { n * size + 1 } else { n * size };
            let one = |n: u32| {
                format!("i = {first} + {}u; if (i % {size}u != 0u && i < p.y) {{ {store} }}", place(n))
            };
            format!("var i = 0u; {}", (0..each).map(one).collect::<Vec<_>>().join(" "))
        }
    }
}
