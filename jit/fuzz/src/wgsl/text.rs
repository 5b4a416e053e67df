//! Kernels as WGSL text.

use std::fmt::Write as _;

use super::bench::{Cover, Element};
use super::pattern::Pattern;
use super::recipe::{Guard, Pick, Recipe, Store, Work};

/// A literal that stands for specialization constant `id` until [`super::open`] makes it one.
pub(crate) const fn stand_in(id: u32) -> u32 {
    7001 + id
}

/// Number of specialization constants of an open kernel: local size, factor, bound.
pub(crate) const CONSTANTS: u32 = 3;

/// Orders of the push constants `n`, `w`, `h`, `d`, `k`.
pub(crate) const ORDERS: [[char; 5]; 3] =
    [['n', 'w', 'h', 'd', 'k'], ['k', 'w', 'n', 'd', 'h'], ['w', 'h', 'k', 'n', 'd']];

impl Recipe {
    /// Name of the buffer for binding `number` in the text.
    fn tables(&self) -> usize {
        self.patterns().filter(|p| **p == Pattern::Table).count()
    }

    fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.reads.iter().chain([&self.write])
    }

    /// The whole kernel.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.declare(&mut out);
        self.prologue(&mut out);
        match self.work {
            Work::Reduce | Work::Normalise if self.bench.cover == Cover::Rows => self.row_reduction(&mut out),
            Work::Plain | Work::Loop => self.item_work(&mut out),
            _ => self.group_work(&mut out),
        }
        out.push_str("}\n");
        self.dressed(out)
    }

    /// The same kernel as some compilers write it: with the push constants loaded as one value, or with its ids copied to
    /// variables of the module. Which one follows from the text.
    fn dressed(&self, mut text: String) -> String {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let kind = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix) >> 32 & 15;
        let body = ") {\n";
        let indexed = matches!(self.pick, Some(Pick::Push | Pick::PushVector));
        if kind < 2 && !indexed && text.matches("fn ").count() == 1 {
            text = text.replacen("var<immediate> p: P;", "var<immediate> pushed: P;", 1);
            text = text.replacen(body, ") {\n  let p = pushed;\n", 1);
        }
        if kind == 1 || kind == 2 {
            text = text.replacen(" gid: vec3<u32>", " given: vec3<u32>", 1);
            text = text.replacen("@compute", "var<private> gid: vec3<u32>;\n@compute", 1);
            text = text.replacen(body, ") {\n  gid = given;\n", 1);
        }
        text
    }

    fn declare(&self, out: &mut String) {
        let mut fields: Vec<String> = ORDERS[self.order].iter().map(|f| format!("{f}: u32")).collect();
        match self.pick {
            Some(Pick::Push) => fields.push("q: array<u32, 4>".into()),
            Some(Pick::PushVector) => fields.push("q: vec4<u32>".into()),
            _ => {}
        }
        let _ = writeln!(out, "struct P {{ {} }}\nvar<immediate> p: P;", fields.join(", "));
        let plain = self.bench.element.name();
        let element = if self.wide { format!("vec4<{plain}>") } else { plain.to_owned() };
        let mut binding = 0;
        let mut declare = |name: String, mode: &str, element: &str, set: u32| {
            let space = if mode.is_empty() { "uniform".to_owned() } else { format!("storage, {mode}") };
            let _ = writeln!(out, "@group({set}) @binding({binding}) var<{space}> {name}: array<{element}>;");
            binding += 1;
        };
        for number in 0..self.reads.len() {
            declare(format!("a{number}"), "read", &element, 0);
        }
        if self.tables() > 0 {
            declare("table".into(), "read", "u32", 0);
        }
        if self.pick == Some(Pick::Uniform) {
            declare("few".into(), "", "vec4<u32>, 4", 0);
        }
        if self.second {
            declare("more".into(), "read_write", &element, 0);
        }
        let atomic = matches!(self.store, Store::Atomic(_));
        let element = if atomic { format!("atomic<{element}>") } else { element };
        declare("z".into(), "read_write", &element, u32::from(self.far));
        match self.pick {
            Some(Pick::Constant) => out.push_str("const FEW = array<u32, 5>(3u, 1u, 4u, 1u, 5u);\n"),
            Some(Pick::Private) => out.push_str("var<private> few = array<u32, 3>(2u, 7u, 1u);\n"),
            _ => {}
        }
        if !matches!(self.work, Work::Plain | Work::Loop) {
            let items = self.bench.items();
            let _ = writeln!(out, "var<workgroup> part: array<{plain}, {items}>;");
        }
    }

    /// Items in a group, as text.
    fn size_text(&self) -> String {
        if self.open { format!("{}u", stand_in(0)) } else { format!("{}u", self.bench.items()) }
    }

    fn prologue(&self, out: &mut String) {
        let [lx, ly, lz] = self.bench.local;
        let x = if self.open { stand_in(0) } else { lx };
        let _ = writeln!(
            out,
            "@compute @workgroup_size({x}, {ly}, {lz})\nfn main(@builtin(global_invocation_id) gid: vec3<u32>,\n\
             @builtin(local_invocation_id) lid: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>,\n\
             @builtin(num_workgroups) nw: vec3<u32>) {{"
        );
        if !self.item_only {
            let _ = writeln!(out, "  let L = {};", self.size_text());
            let _ = writeln!(out, "  let LX = {x}u; let LY = {ly}u;");
            let place = if self.variant == 1 {
                format!("lid.x + LX * (lid.y + {ly}u * lid.z)")
            } else {
                format!("(lid.z * {ly}u + lid.y) * LX + lid.x")
            };
            let _ = writeln!(out, "  let t = {place};\n  let g = (wid.z * nw.y + wid.y) * nw.x + wid.x;");
        }
        match self.bench.dims {
            1 if self.item_only || self.variant != 2 => out.push_str("  let i = gid.x;\n"),
            1 => out.push_str("  let i = wid.x * L + lid.x;\n"),
            2 => out.push_str("  let x = gid.x; let y = gid.y;\n  let i = y * p.w + x;\n"),
            _ => out.push_str("  let x = gid.x; let y = gid.y;\n  let i = (gid.z * p.h + y) * p.w + x;\n"),
        }
    }

    /// The condition under which an item has an element, for one element to an item.
    fn condition(&self) -> String {
        let depth = if self.bench.dims == 3 { " && gid.z < p.d" } else { "" };
        match (self.bench.dims, self.guard) {
            (1, Guard::Nested) => "e <= p.n - 1u".into(),
            (1, Guard::Signed) => "i32(e) < i32(p.n)".into(),
            (1, Guard::Length) => "e < arrayLength(&z)".into(),
            (1, Guard::Constant) => format!("e < min(p.n, {}u)", stand_in(2)),
            (1, _) => "e < p.n".into(),
            (_, Guard::Signed) => format!("i32(x) < i32(p.w) && !(i32(y) >= i32(p.h)){depth}"),
            (2, Guard::Nested) => "all(gid.xy < vec2<u32>(p.w, p.h))".into(),
            (3, Guard::Nested) => "all(gid < vec3<u32>(p.w, p.h, p.d))".into(),
            _ => format!("x < p.w && y < p.h{depth}"),
        }
    }

    fn item_work(&self, out: &mut String) {
        match self.bench.cover {
            Cover::One => {
                out.push_str("  let e = i;\n");
                match self.guard {
                    Guard::Exact => self.element_work(out),
                    Guard::Return if self.bench.dims > 1 && self.variant == 1 => {
                        out.push_str("  if (x >= p.w) { return; }\n  if (y >= p.h) { return; }\n");
                        if self.bench.dims == 3 {
                            out.push_str("  if (gid.z >= p.d) { return; }\n");
                        }
                        self.element_work(out);
                    }
                    Guard::Return => {
                        let _ = writeln!(out, "  if (!({})) {{ return; }}", self.condition());
                        self.element_work(out);
                    }
                    _ => {
                        let _ = writeln!(out, "  if ({}) {{", self.condition());
                        self.element_work(out);
                        out.push_str("  }\n");
                    }
                }
            }
            Cover::Blocked(k) if self.wide => {
                debug_assert_eq!(k, 4);
                out.push_str("  let e = i;\n  if (e < p.n / 4u) {\n");
                self.element_work(out);
                out.push_str("  }\n");
            }
            Cover::Blocked(k) => self.each_of(out, k, &format!("i * {k}u"), "1u"),
            Cover::Tiled(k) => self.each_of(out, k, &format!("g * (L * {k}u) + t"), "L"),
            Cover::GridStride => {
                out.push_str("  for (var e = i; e < p.n; e += nw.x * L) {\n");
                self.element_work(out);
                out.push_str("  }\n");
            }
            Cover::Rows => {
                out.push_str("  for (var c = t; c < p.w; c += L) {\n  let e = g * p.w + c;\n");
                self.element_work(out);
                out.push_str("  }\n");
            }
        }
    }

    /// Elements `first`, `first + step` and so on, `k` of them, in one of the ways in which loops say so.
    fn each_of(&self, out: &mut String, k: u32, first: &str, step: &str) {
        let way = (self.variant + 3 * self.order) % 10;
        let head = match way {
            0 => format!(
                "for (var j = 0u; j < {k}u; j++) {{\n  let e = {first} + j * {step};\n  if (e < p.n) {{"
            ),
            1 => format!("var e = {first};\n  for (var j = 0u; j < {k}u; j++) {{\n  if (e < p.n) {{"),
            2 => format!(
                "var e = {first};\n  for (var j = {k}u; j > 0u; j--) {{\n  if (e >= p.n) {{ continue; }} {{"
            ),
            3 => format!(
                "var e = {first};\n  for (var j = 0u; j != {k}u; j++) {{\n  if (e >= p.n) {{ break; }} {{"
            ),
            4 => format!("var e = {first};\n  for (var j = 0u; j < {k}u && e < p.n; j++) {{ {{"),
            5 => format!("var e = {first};\n  for (var j = 0u; j < {k}u; j++) {{\n  if (e < p.n) {{"),
            // Tested behind what they do.
            7 => format!("var e = {first};\n  var j = 0u;\n  loop {{\n  if (e < p.n) {{"),
            8 => format!("var e = {first};\n  var j = {k}u;\n  loop {{\n  if (e < p.n) {{"),
            9 => format!("var e = {first};\n  var j = 1u;\n  loop {{\n  if (e >= p.n) {{ break; }} {{"),
            _ => format!(
                "let last = {first} + {k}u * {step};\n  for (var e = {first}; e < min(last, p.n); e += {step}) {{ {{"
            ),
        };
        let _ = writeln!(out, "  {head}");
        self.element_work(out);
        let _ = match way {
            0 | 6 => writeln!(out, "  }} }}"),
            5 => writeln!(out, "  e += {step}; }} }}"),
            7 => writeln!(out, "  }}\n  e += {step};\n  continuing {{ j += 1u; break if j >= {k}u; }} }}"),
            8 => writeln!(out, "  }}\n  e += {step};\n  j -= 1u; if (j == 0u) {{ break; }} }}"),
            9 => writeln!(out, "  }}\n  if (j == {k}u) {{ break; }}\n  j++; e += {step}; }}"),
            _ => writeln!(out, "  }}\n  e += {step}; }}"),
        };
    }

    /// Reads, computes and writes element `e`.
    fn element_work(&self, out: &mut String) {
        let mut value = self.value(out);
        if self.work == Work::Loop {
            let bound = if self.variant.is_multiple_of(2) { "3u" } else { "p.k" };
            let (name, zero) = (self.bench.element.name(), self.bench.element.zero());
            let first = if self.wide { format!("vec4<{name}>({zero})") } else { zero.to_owned() };
            let _ = writeln!(out, "  var sum = {first};");
            let _ =
                writeln!(out, "  for (var r = 0u; r < {bound}; r++) {{ sum = sum + {value} * {name}(r); }}");
            value = "sum".into();
        }
        self.store(out, &value);
    }

    /// The value computed of what is read; needs lines before it now and then.
    fn value(&self, out: &mut String) -> String {
        let mut value = String::new();
        for (number, pattern) in self.reads.iter().enumerate() {
            let index = pattern.text(&self.bench, self.variant + number, "table");
            let mut read = format!("a{number}[{index}]");
            if *pattern == Pattern::AllSlots {
                let (name, zero) = (self.bench.element.name(), self.bench.element.zero());
                let _ = writeln!(
                    out,
                    "  var all: {name} = {zero};\n  for (var s = 0u; s < nw.x * nw.y * nw.z; s++) {{ all += {read}; }}"
                );
                read = "all".into();
            }
            if number == 0 {
                value = read;
                continue;
            }
            let op = match self.bench.element {
                Element::U32 => ["+", "*", "^", "-"][(self.variant + number) % 4],
                Element::F32 => ["*", "*", "+", "-"][(self.variant + number) % 4],
            };
            value = format!("({value} {op} {read})");
        }
        if let Some(pick) = self.pick {
            self.picked(out, pick);
            value = match self.bench.element {
                Element::U32 => format!("({value} + picked)"),
                Element::F32 => format!("({value} + f32(picked % 16u) * 0.0625)"),
            };
        }
        let kind = |scalar: String| match (self.wide, self.bench.element) {
            (true, Element::U32) => format!("vec4<u32>({scalar})"),
            (true, Element::F32) => format!("vec4<f32>({scalar})"),
            _ => scalar,
        };
        match self.bench.element {
            Element::U32 if self.open => format!("({value} * {}u + {})", stand_in(1), kind("p.k".into())),
            Element::U32 => format!("({value} * 3u + {})", kind("p.k".into())),
            Element::F32 if self.variant == 3 => format!("({value} - {})", kind("f32(p.k) * 0.125".into())),
            Element::F32 => format!("({value} * 0.75 - {})", kind("0.3".into())),
        }
    }

    /// The number that element `e` picks, into `picked`: of all elements, or of those alone that it has numbers for.
    fn picked(&self, out: &mut String, pick: Pick) {
        let of = |index: &str| match pick {
            Pick::Push | Pick::PushVector => format!("p.q[{index}]"),
            Pick::Uniform => format!("few[{index}][e % 3u]"),
            Pick::Constant => format!("FEW[{index}]"),
            Pick::Private => format!("few[{index}]"),
        };
        let len = pick.len();
        let _ = if self.variant == 1 {
            writeln!(out, "  var picked = 9u;\n  if (e < {len}u) {{ picked = {}; }}", of("e"))
        } else {
            writeln!(out, "  let picked = {};", of(&format!("(e / 2u) % {len}u")))
        };
        if pick == Pick::Private {
            let _ = writeln!(out, "  few[e % {len}u] = picked + e;");
        }
    }

    fn store(&self, out: &mut String, value: &str) {
        let place = self.write.text(&self.bench, self.variant, "table");
        let two = match self.bench.element {
            Element::U32 => "e * 2u + 1u",
            Element::F32 => "f32(e) * 0.01",
        };
        let condition = match (self.variant, self.bench.element) {
            (0, _) => "e % 2u == 0u",
            (1, _) => "(e / 3u) % 2u == 1u",
            (2, _) => "p.k > 2u",
            (_, Element::U32) => "v % 5u > 1u",
            (_, Element::F32) => "v > 0.0",
        };
        if self.reads_on_one_side() {
            let _ = writeln!(
                out,
                "  if ({condition}) {{ z[{place}] = {value}; }} else {{ z[{place}] = {two}; }}"
            );
            return;
        }
        let _ = writeln!(out, "  let v = {value};");
        let _ = match self.store {
            // No call has this number.
            Store::Plain if self.variant == 3 => {
                writeln!(out, "  if (p.k == 9u) {{ z[p.n - 1u - {place}] = v; }} else {{ z[{place}] = v; }}")
            }
            Store::Plain if self.variant == 2 && self.order == 1 => writeln!(
                out,
                "  switch (p.k) {{ case 8u, 9u: {{ z[p.n - 1u - {place}] = v; }} default: {{ z[{place}] = v; }} }}"
            ),
            Store::Plain => writeln!(out, "  z[{place}] = v;"),
            Store::Conditional => writeln!(out, "  if ({condition}) {{ z[{place}] = v; }}"),
            Store::Branches => {
                writeln!(out, "  if ({condition}) {{ z[{place}] = v; }} else {{ z[{place}] = {two}; }}")
            }
            Store::Switch => writeln!(
                out,
                "  switch (e % 3u) {{ case 0u: {{ z[{place}] = v; }} case 1u: {{ z[{place}] = {two}; }} \
                 default: {{ z[{place}] = v + v; }} }}"
            ),
            Store::Select => writeln!(out, "  z[{place}] = select({two}, v, {condition});"),
            Store::InPlace => writeln!(out, "  z[{place}] = z[{place}] + v;"),
            Store::Atomic(op) => {
                let name = ["Add", "Max", "Min", "Xor"][usize::from(op)];
                writeln!(out, "  atomic{name}(&z[{place}], v);")
            }
        };
        if self.second {
            out.push_str("  more[e] = v + v;\n");
        }
    }

    /// Work through shared memory, one element to an item. No item may leave before the barriers.
    fn group_work(&self, out: &mut String) {
        let (name, zero) = (self.bench.element.name(), self.bench.element.zero());
        let condition = if self.guard == Guard::Exact { "true".into() } else { self.condition() };
        let _ = writeln!(
            out,
            "  let e = i;\n  let live = {condition};\n  var mine: {name} = {zero};\n  if (live) {{"
        );
        let value = self.value(out);
        let _ = writeln!(out, "  mine = {value};\n  }}\n  part[t] = mine;\n  workgroupBarrier();");
        match self.work {
            Work::Exchange => {
                let other = ["L - 1u - t", "(t + 1u) % L", "min(t ^ 1u, L - 1u)", "t / 2u"][self.variant];
                let _ = writeln!(out, "  let got = part[{other}] + mine;");
            }
            Work::Scan => {
                let _ = writeln!(out, "  var got: {name} = {zero};");
                out.push_str("  for (var s = 0u; s <= t; s++) { got += part[s]; }\n");
            }
            _ => self.tree(out),
        }
        if self.work == Work::Reduce {
            let who = if self.variant == 1 { "t == L - 1u" } else { "t == 0u" };
            let _ = writeln!(out, "  if ({who}) {{");
        } else {
            out.push_str("  if (live) {\n");
        }
        self.store(out, if self.work == Work::Normalise { "mine - got" } else { "got" });
        out.push_str("  }\n");
    }

    /// One group's row added up.
    fn row_reduction(&self, out: &mut String) {
        let (name, zero) = (self.bench.element.name(), self.bench.element.zero());
        let _ = writeln!(out, "  var mine: {name} = {zero};\n  for (var c = t; c < p.w; c += L) {{");
        out.push_str("  let e = g * p.w + c;\n");
        let value = self.value(out);
        let _ =
            writeln!(out, "  mine += {value};\n  }}\n  part[t] = mine;\n  workgroupBarrier();\n  let e = g;");
        self.tree(out);
        out.push_str("  if (t == 0u) {\n");
        self.store(out, "got");
        out.push_str("  }\n");
    }

    /// The sum of `part` into `got`: by halves, or by one loop.
    fn tree(&self, out: &mut String) {
        let (name, zero) = (self.bench.element.name(), self.bench.element.zero());
        if self.variant.is_multiple_of(2) && self.bench.items().is_power_of_two() {
            out.push_str(
                "  for (var s = L / 2u; s > 0u; s = s / 2u) {\n  if (t < s) { part[t] = part[t] + part[t + s]; }\n  \
                 workgroupBarrier();\n  }\n  let got = part[0];\n",
            );
        } else {
            let _ = writeln!(out, "  var got: {name} = {zero};");
            out.push_str("  for (var s = 0u; s < L; s++) { got += part[s]; }\n");
        }
    }
}
