//! Lists of the forms that real programs submit: rows that one invocation or one work-group goes through, beside elements over grids of one to three
//! dimensions; several elements an invocation; indices taken apart by numbers; push constants by value; numbers in small buffers; vectors of four.
//!
//! There is one tensor of three dimensions in each list, `p.x` by `p.z` by `p.w`, with `p.y` elements. Each kernel of a *legal* list keeps to the
//! row that its invocation is on. In the others one kernel may read another row, or elements that lie otherwise.

use std::fmt::Write as _;
use std::sync::Arc;

use super::case::{Case, Family, Legality};
use super::pool::PoolKernel;
use super::random::Random;
use super::written::{Written, stream, submission, wishes};
use vkfuse_jit::plan::{Numbers, Promote, Submission};

/// Buffers of elements: two that are only read, and those that are written.
const INPUTS: [u64; 2] = [0, 1];
const WORK: [u64; 3] = [2, 3, 4];
/// Buffers of one value for each row, and that of the sizes.
const SLOTS: [u64; 2] = [5, 6];
const SIZES: u64 = 7;
const WORDS: usize = 1024;

/// The first index of a row.
const OTHER_ROWS: [&str; 3] = ["(p.z * p.w - 1u - r)", "((r + 1u) % (p.z * p.w))", "(r / 2u)"];

/// Makes such lists.
pub struct Forms {
    seed: u64,
    sizes: usize,
    kernels: Written,
}

/// The list being made.
struct Draft {
    random: Random,
    /// Length of a row, and how many there are in the other two dimensions.
    dims: [u32; 3],
    /// The last buffers of elements and of rows that were written.
    elements: Option<u64>,
    slots: Option<u64>,
    is_legal: bool,
    wishes: Vec<Promote>,
    submissions: Vec<Submission>,
    kernels: Vec<Arc<PoolKernel>>,
    forms: Vec<Vec<&'static str>>,
}

/// A kernel before its buffers: the names of these, size of the work-group, what it does, and its work-groups.
struct Text {
    local: [u32; 3],
    body: String,
    groups: [u32; 3],
}

impl Forms {
    /// Lists of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, sizes: 1, kernels: Written::default() }
    }

    /// The same with this many lists in a row that are made of the same kernels, as far as their sizes allow.
    #[must_use]
    pub fn sizes(mut self, sizes: usize) -> Self {
        self.sizes = sizes.max(1);
        self
    }

    /// The list of that number.
    pub fn case(&mut self, number: usize) -> Case {
        self.formed(number).0
    }

    /// The list of that number, and the forms of each of its kernels.
    pub fn formed(&mut self, number: usize) -> (Case, Vec<Vec<&'static str>>) {
        let mut detail = stream(self.seed, number ^ 0x0f0f_0000_0000);
        let mut random = stream(self.seed, number / self.sizes);
        let packed = random.one_in(4);
        let width =
            *detail.pick(if packed { &[4, 8, 12, 16, 32] } else { &[1, 3, 7, 8, 16, 17, 24, 32, 33] });
        let dims = [width, 1 + detail.below(6) as u32, 1 + detail.below(4) as u32];
        let is_legal = !random.one_in(3);
        let wishes = wishes(&mut random, 8);
        let mut draft = Draft {
            random,
            dims,
            elements: None,
            slots: None,
            is_legal,
            wishes,
            submissions: Vec::new(),
            kernels: Vec::new(),
            forms: Vec::new(),
        };
        draft.wishes[SIZES as usize] = Promote::None;
        for _ in 0..2 + draft.random.below(4) {
            match draft.random.below(10) {
                0..=2 => self.row(&mut draft),
                3 => self.group_row(&mut draft),
                4 if packed => self.packed(&mut draft),
                _ => self.elements(&mut draft),
            }
        }
        let mut contents = Random::new(number as u64 ^ 0xf0f0);
        let mut buffers: Vec<Vec<u8>> = (0..8)
            .map(|_| (0..WORDS).flat_map(|_| (contents.below(1000) as u32).to_le_bytes()).collect())
            .collect();
        buffers[SIZES as usize][..16].copy_from_slice(&draft.sizes().map(u32::to_le_bytes).concat());
        let Draft { submissions, kernels, forms, .. } = draft;
        let legality = if is_legal { Legality::Legal } else { Legality::Unlabelled };
        let case = Case { family: Family::Forms, legality, violation: "", submissions, kernels, buffers };
        (case, forms)
    }

    /// One invocation goes through a row: to one value, or to new elements.
    fn row(&mut self, draft: &mut Draft) {
        let from = draft.read();
        let random = &mut draft.random;
        let [width, height, depth] = draft.dims;
        let rows = height * depth;
        let mut forms = vec!["row by an invocation"];
        let (item, local, ids) = match random.below(3) {
            0 => (
                "if (gid.x >= p.z || gid.y >= p.w || gid.z >= 1u) { return; } let r = gid.y * p.z + gid.x;",
                *random.pick(&[[4, 4, 1], [8, 2, 1], [4, 4, 4]]),
                [height, depth, 1],
            ),
            _ => (
                "if (gid.x >= p.z * p.w) { return; } let r = gid.x;",
                *random.pick(&[[16, 1, 1], [8, 1, 1], [32, 1, 1], [4, 1, 1]]),
                [rows, 1, 1],
            ),
        };
        let kind = random.below(6);
        let mut each = |work: &str| {
            let (text, form) = over_row(random.below(7), work);
            forms.extend(form);
            text
        };
        let at = "r * p.x + c";
        let sum = each(&format!("own = own * 31u + a[{at}];"));
        let most = each(&format!("top = max(top, a[{at}]);"));
        let scale = each(&format!("z[{at}] = (a[{at}] ^ own) + top;"));
        let (work, is_slot) = match kind {
            0 | 1 => (format!("var own = 7u; {sum} z[r] = own;"), true),
            2 => (format!("var top = 0u; {most} z[r] = top;"), true),
            3 => (format!("let own = 5u; let top = b[r]; {scale}"), false),
            4 => (format!("let own = 3u; var top = 0u; {most} {scale}"), false),
            _ => (format!("var own = 1u; var top = 0u; {most} {sum} {scale}"), false),
        };
        let groups = draft.cover(local, ids);
        let to = if is_slot { *draft.random.pick(&SLOTS) } else { draft.target(from) };
        let text = Text { local, body: format!("{item} {work}"), groups };
        let second = draft.slots.unwrap_or(SLOTS[0]);
        let names: &[(&str, u64)] =
            if kind == 3 { &[("a", from), ("b", second), ("z", to)] } else { &[("a", from), ("z", to)] };
        let _ = width;
        self.submit(draft, text, names, forms);
        if is_slot { draft.slots = Some(to) } else { draft.elements = Some(to) }
    }

    /// A work-group goes through a row, with shared memory.
    fn group_row(&mut self, draft: &mut Draft) {
        let from = draft.read();
        let size = *draft.random.pick(&[8, 16, 32]);
        let rows = draft.dims[1] * draft.dims[2];
        let sum = format!(
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
        );
        let is_slot = draft.random.one_in(2);
        let work = match is_slot {
            true => "if (lid.x == 0u) { z[wid.x] = part[0]; }".to_owned(),
            false => format!(
                "let all = part[0]; for (var c = lid.x; c < p.x; c += {size}u) {{
                     let at = wid.x * p.x + c; z[at] = (a[at] * 31u) ^ all;
                 }}"
            ),
        };
        let to = if is_slot { *draft.random.pick(&SLOTS) } else { draft.target(from) };
        let text = Text { local: [size, 1, 1], body: format!("{sum} {work}"), groups: [rows, 1, 1] };
        self.submit(draft, text, &[("a", from), ("z", to)], vec!["row by a group"]);
        if is_slot { draft.slots = Some(to) } else { draft.elements = Some(to) }
    }

    /// Each invocation does an element, or several.
    fn elements(&mut self, draft: &mut Draft) {
        let from = draft.read();
        let dims = draft.dims;
        let [width, height, depth] = dims;
        let total = width * height * depth;
        let is_odd = !draft.is_legal && draft.random.one_in(3);
        let slot = draft.slots;
        let random = &mut draft.random;
        let mut forms = Vec::new();
        let (second, other) = match random.below(5) {
            0 => ("b[c]", INPUTS[1]),
            1 => ("b[i]", INPUTS[1]),
            2 => ("b[r / p.z]", INPUTS[0]),
            _ => ("b[r]", slot.unwrap_or(SLOTS[0])),
        };
        forms.push(match second {
            "b[i]" => "two inputs",
            _ => "broadcast",
        });
        let in_place = WORK.contains(&from) && random.one_in(3);
        let first = match (is_odd, in_place) {
            (_, true) => "z[i]".to_owned(),
            (true, _) => format!("a[{} * p.x + c]", random.pick(&OTHER_ROWS)),
            _ => "a[i]".to_owned(),
        };
        let store = format!("z[i] = {first} * 5u + {second};");
        let line = "let r = i / p.x; let c = i % p.x;";
        let size = *random.pick(&[4, 8, 16, 32]);
        let (body, local, ids) = match random.below(9) {
            0 | 1 => {
                forms.push("line");
                let body = format!("let i = gid.x; if (i >= p.y) {{ return; }} {line} {store}");
                (body, [size, 1, 1], [total, 1, 1])
            }
            2 => {
                forms.push("two dimensions");
                let body = format!(
                    "if (gid.x >= p.x || gid.y >= p.z * p.w) {{ return; }}
                     let c = gid.x; let r = gid.y; let i = r * p.x + c; {store}"
                );
                (
                    body,
                    *random.pick(&[[4, 4, 1], [8, 2, 1], [16, 1, 1], [8, 8, 1]]),
                    [width, height * depth, 1],
                )
            }
            3 => {
                forms.push("three dimensions");
                let body = format!(
                    "if (gid.x >= p.x || gid.y >= p.z || gid.z >= p.w) {{ return; }}
                     let c = gid.x; let r = gid.z * p.z + gid.y; let i = r * p.x + c; {store}"
                );
                (body, *random.pick(&[[4, 4, 1], [8, 2, 1], [2, 2, 4], [8, 1, 1]]), dims)
            }
            4 | 5 => {
                forms.push("taken apart");
                let body = taken_apart(random, &store);
                (body, [size, 1, 1], [total, 1, 1])
            }
            6 => {
                forms.push("a few of a row");
                let each = *random.pick(&[2, 3, 4]);
                let body = format!(
                    "if (gid.y >= p.z * p.w) {{ return; }} let r = gid.y;
                     for (var k = 0u; k < {each}u; k++) {{
                         let c = gid.x * {each}u + k;
                         if (c < p.x) {{ let i = r * p.x + c; {store} }}
                     }}"
                );
                (body, *random.pick(&[[4, 2, 1], [8, 1, 1]]), [width.div_ceil(each), height * depth, 1])
            }
            _ => {
                let each = *random.pick(&[2, 2, 2, 3, 4, 8]);
                let (body, form) = several(random.below(7), each, size, &format!("{line} {store}"));
                forms.extend(["several", form]);
                (body, [size, 1, 1], [total.div_ceil(each * size) * size, 1, 1])
            }
        };
        let groups = draft.cover(local, ids);
        let to = if in_place { from } else { draft.target(from) };
        let names: &[(&str, u64)] =
            if in_place { &[("b", other), ("z", to)] } else { &[("a", from), ("b", other), ("z", to)] };
        self.submit(draft, Text { local, body, groups }, names, forms);
        draft.elements = Some(to);
    }

    /// Vectors of four: along a row, or four rows in one.
    fn packed(&mut self, draft: &mut Draft) {
        let from = draft.read();
        let to = draft.target(from);
        let total = draft.dims.iter().product::<u32>();
        let four = |of: &str| {
            let lanes: Vec<String> =
                (0..4).map(|n| format!("a[{}]", of.replace('N', &n.to_string()))).collect();
            format!("vec4<u32>({})", lanes.join(", "))
        };
        let (names, body, form): (&[(&str, u64)], String, _) = match draft.random.below(4) {
            0 => (&[("va", from), ("vz", to)], "vz[q] = va[q] * 3u + 1u;".to_owned(), "vectors"),
            1 => (&[("a", from), ("vz", to)], format!("vz[q] = {} ^ vec4<u32>(9u);", four("4u * q + Nu")), "pack"),
            2 => (
                &[("va", from), ("z", to)],
                "let v = va[q]; z[4u * q] = v.x; z[4u * q + 1u] = v.y + 1u; z[4u * q + 2u] = v.z; z[4u * q + 3u] = v.w ^ 3u;"
                    .to_owned(),
                "unpack",
            ),
            _ => (
                &[("va", from), ("vz", to)],
                "let v = va[q]; vz[q] = vec4<u32>(v.x + v.y, v.yzw) * (4u * q / p.x + 1u);".to_owned(),
                "vectors",
            ),
        };
        let size = *draft.random.pick(&[8, 16]);
        let body = format!("let q = gid.x; if (q >= p.y / 4u) {{ return; }} {body}");
        let groups = draft.cover([size, 1, 1], [total / 4, 1, 1]);
        self.submit(draft, Text { local: [size, 1, 1], body, groups }, names, vec!["packed", form]);
        draft.elements = Some(to);
    }

    fn submit(&mut self, draft: &mut Draft, text: Text, names: &[(&str, u64)], mut forms: Vec<&'static str>) {
        let sizes = draft.sizes();
        let from = match draft.random.below(8) {
            0 | 1 => "by value",
            2 => "uniform",
            3 => "storage",
            _ => "push",
        };
        forms.push(match from {
            "by value" => "push by value",
            "uniform" => "numbers in a uniform buffer",
            "storage" => "numbers in a storage buffer",
            _ => "push constants",
        });
        let written = written(&text, names, from);
        let kernel = self.kernels.of(&written);
        let mut buffers: Vec<u64> = names.iter().map(|&(_, buffer)| buffer).collect();
        buffers.push(SIZES);
        let mut one = submission(&kernel, text.groups, &buffers, (WORDS, &draft.wishes), sizes);
        let bytes = sizes.map(u32::to_le_bytes).concat();
        for (position, arg) in one.args.iter_mut().enumerate() {
            if arg.buffer.0 == SIZES {
                arg.len = 16;
                arg.numbers = Numbers::of(kernel.kernel.number_places(position), &bytes);
            }
        }
        draft.submissions.push(one);
        draft.kernels.push(kernel);
        draft.forms.push(forms);
    }
}

impl Draft {
    /// What kernels are given.
    fn sizes(&self) -> [u32; 4] {
        let [x, z, w] = self.dims;
        [x, x * z * w, z, w]
    }

    fn read(&mut self) -> u64 {
        match self.elements.filter(|_| !self.random.one_in(6)) {
            Some(last) => last,
            None => INPUTS[0],
        }
    }

    /// A buffer to write that is not this one.
    fn target(&mut self, from: u64) -> u64 {
        let free: Vec<u64> = WORK.into_iter().filter(|&one| one != from).collect();
        *self.random.pick(&free)
    }

    /// Work-groups of a size that cover these ids, sometimes with one to spare.
    fn cover(&mut self, local: [u32; 3], ids: [u32; 3]) -> [u32; 3] {
        let spare = u32::from(self.random.one_in(12));
        let mut groups = [0, 1, 2].map(|d| ids[d].div_ceil(local[d]));
        groups[0] += spare;
        groups
    }
}

/// The text of a kernel whose sizes come from there.
fn written(text: &Text, names: &[(&str, u64)], from: &str) -> String {
    let mut out = String::from("struct P { x: u32, y: u32, z: u32, w: u32 }\n");
    let (outside, body) = text.body.split_once("---").unwrap_or(("", &text.body));
    for (binding, (name, _)) in names.iter().enumerate() {
        let space = if name.contains('z') { "storage, read_write" } else { "storage, read" };
        let element = if name.starts_with('v') { "vec4<u32>" } else { "u32" };
        let _ = writeln!(out, "@group(0) @binding({binding}) var<{space}> {name}: array<{element}>;");
    }
    let at = names.len();
    let _ = match from {
        "uniform" => writeln!(out, "@group(0) @binding({at}) var<uniform> p: P;"),
        "storage" => writeln!(out, "@group(0) @binding({at}) var<storage, read> p: P;"),
        "by value" => writeln!(out, "var<immediate> whole: P;"),
        _ => writeln!(out, "var<immediate> p: P;"),
    };
    let [x, y, z] = text.local;
    let ids = "@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>, \
               @builtin(workgroup_id) wid: vec3<u32>";
    let _ = writeln!(out, "{outside}");
    let _ = match from {
        "by value" => write!(
            out,
            "fn run(p: P, gid: vec3<u32>, lid: vec3<u32>, wid: vec3<u32>) {{\n  {body}\n}}\n\
             @compute @workgroup_size({x}, {y}, {z})\nfn main({ids}) {{ run(whole, gid, lid, wid); }}\n"
        ),
        _ => write!(out, "@compute @workgroup_size({x}, {y}, {z})\nfn main({ids}) {{\n  {body}\n}}\n"),
    };
    out
}

/// A loop over the columns `c` of a row.
fn over_row(form: usize, work: &str) -> (String, Option<&'static str>) {
    match form {
        0 => (
            format!("{{ var c = 0u; loop {{ {work} continuing {{ c += 1u; break if c >= p.x; }} }} }}"),
            Some("tested at its end"),
        ),
        1 => (
            format!("for (var k = 0i; k < i32(p.x); k = i32(u32(k) + 1u)) {{ let c = u32(k); {work} }}"),
            Some("counter cast"),
        ),
        2 => (format!("for (var k = p.x; k > 0u; k--) {{ let c = p.x - k; {work} }}"), Some("counted down")),
        _ => (format!("for (var c = 0u; c < p.x; c++) {{ {work} }}"), None),
    }
}

/// An index taken apart by numbers that are not 0, and put together again.
fn taken_apart(random: &mut Random, store: &str) -> String {
    let [one, plane] = *random.pick(&[
        ["p.x", "(p.x * p.z)"],
        ["max(1u, p.x)", "max(1u, p.x * p.z)"],
        ["p.x", "max(p.z * p.x, 1u)"],
    ]);
    let rest = *random.pick(&["i - far * plane", "i % plane"]);
    let (low, at) = *random.pick(&[
        ("rest - near * one", "far * plane + near * one + c"),
        ("rest % one", "(far * p.z + near) * p.x + c"),
        ("i % one", "far * plane + (near * one + c)"),
    ]);
    format!(
        "if (gid.x >= p.y) {{ return; }} let whole_index = gid.x; let one = {one}; let plane = {plane};
         let far = whole_index / plane; let rest = {}; let near = rest / one; let c = {};
         let r = far * p.z + near; let i = {at}; {store}",
        rest.replace('i', "whole_index"),
        low.replace("i %", "whole_index %")
    )
}

/// Several elements an invocation, a work-group or an element apart.
fn several(form: usize, each: u32, size: u32, work: &str) -> (String, &'static str) {
    let first = format!("wid.x * {}u + lid.x", each * size);
    let rounds = format!("for (var e = 0u; e < {each}u; e++)");
    match form {
        0 | 1 => (
            format!("var i = {first}; {rounds} {{ if (i >= p.y) {{ continue; }} {work} i += {size}u; }}"),
            "with continue",
        ),
        2 => (
            format!(
                "var i = {first}; var e = 0u; loop {{
                     if (i < p.y) {{ {work} }} i += {size}u; continuing {{ e++; break if e >= {each}u; }}
                 }}"
            ),
            "tested at its end",
        ),
        3 => (
            format!(
                "var i = {first}; for (var e = 0i; e < {each}i; e = i32(u32(e) + 1u)) {{
                     if (i < p.y) {{ {work} }} i += {size}u;
                 }}"
            ),
            "counter cast",
        ),
        4 => {
            let one = |n: u32| format!("i = {first} + {}u; if (i < p.y) {{ {work} }}", n * size);
            (format!("var i = 0u; {}", (0..each).map(one).collect::<Vec<_>>().join(" ")), "unrolled")
        }
        5 => (
            format!("var i = {first}; {rounds} {{ if (i < p.y) {{ {work} i += {size}u; }} }}"),
            "steps under a guard",
        ),
        _ => (
            format!("{rounds} {{ let i = gid.x * {each}u + e; if (i < p.y) {{ {work} }} }}"),
            "next to each other",
        ),
    }
}
