//! Lists of kernels by elements: some go by the columns of a matrix, where others go by its rows: transpositions, and elements of the
//! transpose that are loaded, also several, reversed or with a pitch of their own.
//!
//! Half of the lists have faults: elements are left out, stored under a condition or in another order, a column is of what the list has written, has
//! elements next to those of its neighbours, or each of them twice.

use std::sync::Arc;

use super::case::{Case, Family, Legality};
use super::pool::PoolKernel;
use super::random::Random;
use super::written::{Written, stream, submission, text, wishes};
use vkfuse_jit::plan::{Promote, Submission};

/// Buffers that are only read, and those that are written.
const INPUTS: [u64; 2] = [0, 1];
const WORK: [u64; 4] = [2, 3, 4, 5];
/// Words of every buffer: more than any kernel reaches.
const WORDS: usize = 9600;

/// Makes such lists.
pub struct Columns {
    seed: u64,
    kernels: Written,
}

/// The list being made: lines of `width`, `height` of them.
struct Draft {
    random: Random,
    width: u32,
    height: u32,
    /// Whether kernels may have faults.
    is_faulty: bool,
    /// A column and the words from it to the next one, as most loads have them: devices stage few columns.
    usual: [&'static str; 2],
    wishes: Vec<Promote>,
    submissions: Vec<Submission>,
    kernels: Vec<Arc<PoolKernel>>,
}

impl Columns {
    /// Lists of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, kernels: Written::default() }
    }

    /// The list of that number.
    pub fn case(&mut self, number: usize) -> Case {
        let mut random = stream(self.seed, number ^ 0xc010_0000_0000);
        let is_faulty = random.one_in(2);
        let width = *random.pick(&[64, 64, 64, 128, 62, 126, 96, 50, 16]);
        let height = *random.pick(&[64, 64, 64, 33, 62, 70, 50, 8]);
        let mut wishes = wishes(&mut random, 6);
        if !is_faulty {
            // What is in shared memory anyway keeps columns out of it.
            wishes.iter_mut().filter(|wish| **wish == Promote::Local).for_each(|wish| *wish = Promote::Auto);
        }
        let column = *random.pick(&["i % p.x", "i % p.x", "p.x - 1u - i % p.x"]);
        let usual = [column, *random.pick(&["p.z", "p.z", "p.w", "64u"])];
        let (submissions, kernels) = (Vec::new(), Vec::new());
        let mut draft = Draft { random, width, height, is_faulty, usual, wishes, submissions, kernels };
        let mut from = INPUTS[0];
        for _ in 0..2 + draft.random.below(3) {
            let others: Vec<u64> = WORK.into_iter().filter(|&one| one != from).collect();
            let to = *draft.random.pick(&others);
            match draft.random.below(9) {
                0 => self.transposition(&mut draft, from, to),
                _ => self.elements(&mut draft, from, to),
            }
            from = if draft.random.one_in(6) { from } else { to };
        }
        let mut contents = Random::new(number as u64 ^ 0x5eed);
        let mut buffer = || (0..WORDS).flat_map(|_| (contents.below(1000) as u32).to_le_bytes()).collect();
        let buffers = (0..6).map(|_| buffer()).collect();
        let Draft { submissions, kernels, .. } = draft;
        let (family, legality) = (Family::Columns, Legality::Unlabelled);
        Case { family, legality, violation: "", submissions, kernels, buffers }
    }

    /// Each element of a row from the columns of some buffers.
    fn elements(&mut self, draft: &mut Draft, from: u64, to: u64) {
        let (n, height, is_faulty) = (draft.width * draft.height, draft.height, draft.is_faulty);
        let usual = draft.usual;
        let random = &mut draft.random;
        let fault = |random: &mut Random, n: usize| is_faulty && random.one_in(n);
        let column = |name: &str, random: &mut Random| {
            let [x, pitch] = usual;
            let x = if random.one_in(8) { "i % p.x" } else { x };
            let x = if fault(random, 6) { "i % p.x ^ 1u" } else { x };
            let y = if fault(random, 5) { "i / p.x / 2u" } else { "i / p.x" };
            let pitch = if random.one_in(8) { "p.z" } else { pitch };
            let pitch = if fault(random, 6) { "8u" } else { pitch };
            format!("{name}[({x}) * {pitch} + {y}]")
        };
        let mut value = String::from(*random.pick(&["a[i]", "a[i]", "i"]));
        for _ in 0..1 + random.below(2) {
            let name = if fault(random, 3) { "a" } else { *random.pick(&["b", "b", "b", "b", "c"]) };
            let one = match random.below(7) {
                0 => format!("select({}, 7u, (i & 3u) == 0u)", column(name, random)),
                1 => format!("bitcast<u32>(bitcast<f32>({} & 0xffffu) + 1.5f)", column(name, random)),
                2 => format!("{name}[i]"),
                _ => column(name, random),
            };
            value = format!("({value} {} {one})", *random.pick(&["+", "^", "*", "-"]));
        }
        let less = if random.one_in(6) { 1 + random.below(40) as u32 } else { 0 };
        let store = match random.below(if is_faulty { 5 } else { 1 }) {
            1 => format!("if (a[i] % 3u != 0u) {{ z[i] = {value}; }}"),
            2 => format!("if (i / p.x != 3u) {{ z[i] = {value}; }}"),
            3 => format!("z[i ^ 1u] = {value};"),
            _ => format!("z[i] = {value};"),
        };
        let size = *random.pick(&[16u32, 16, 48, 32]);
        let body = format!("let i = gid.x; if (i >= p.y) {{ return; }} {store}");
        let (more, pitch) = (u32::from(random.one_in(6)), height + random.below(3) as u32);
        let push = [draft.width, n - less.min(n), height, pitch];
        let text = text("a b c z", size, &body);
        self.submit(draft, &text, [n.div_ceil(size) + more, 1, 1], &[from, INPUTS[1], INPUTS[0], to], push);
    }

    /// The transpose.
    fn transposition(&mut self, draft: &mut Draft, from: u64, to: u64) {
        let (width, height) = (draft.width, draft.height);
        let random = &mut draft.random;
        let [x, y] = *random.pick(&[[16u32, 16], [16, 16], [8, 8], [32, 4], [16, 8]]);
        let less = u32::from(random.one_in(8));
        let (into, of) = match random.one_in(2) {
            true => ("x * p.y + y", "y * p.x + x"),
            false => ("y * p.x + x", "x * p.y + y"),
        };
        let body = format!(
            "let x = gid.x; let y = gid.y; if (x + {less}u >= p.x || y >= p.y) {{ return; }} z[{into}] = a[{of}] + {}u;",
            random.below(9)
        );
        let text = text("a z", format!("{x}, {y}"), &body);
        self.submit(
            draft,
            &text,
            [width.div_ceil(x), height.div_ceil(y), 1],
            &[from, to],
            [width, height, 0, 0],
        );
    }

    fn submit(&mut self, draft: &mut Draft, text: &str, groups: [u32; 3], buffers: &[u64], push: [u32; 4]) {
        let kernel = self.kernels.of(text);
        draft.submissions.push(submission(&kernel, groups, buffers, (WORDS, &draft.wishes), push));
        draft.kernels.push(kernel);
    }
}
