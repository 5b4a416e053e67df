//! Buffers that hold one value after another: steps to and fro between two of them, sums in place, and pools.

use vkfuse::{FusionProperties, Promote};

use crate::host;
use crate::support::{Buf, Size, Submit, Workload};
use crate::table::Table;
use crate::tensor::{Real, numbers};

/// No multiple of a work-group.
const COUNT: usize = 1000;
const ROWS: usize = 21;
const COLUMNS: usize = 45;
const INNER: usize = 70;
/// Words of a product.
const MADE: usize = ROWS * COLUMNS;

/// Words of a buffer, and what a list has left there so far.
#[derive(Clone)]
struct Part {
    buffer: Buf,
    at: usize,
    host: Vec<f32>,
}

/// A list whose results are where it says.
#[derive(Default)]
struct List {
    work: Workload,
}

impl List {
    fn given(&mut self, count: usize) -> Part {
        let host = numbers(count, self.work.count() as u32);
        Part { buffer: self.work.floats("given", host.iter().copied()), at: 0, host }
    }

    fn memory(&mut self, count: usize) -> Buf {
        self.work.poisoned("memory", count)
    }

    /// Submits a kernel that reads these, and writes or changes words of a buffer from `at` on, which then are `host`.
    fn run(
        &mut self,
        (kernel, groups, push): (&str, [u32; 3], &[u32]),
        from: &[&Part],
        (buffer, at, is_read): (Buf, usize, bool),
        host: Vec<f32>,
    ) -> Part {
        let submit = Submit::new(&format!("pairs/{kernel}"), Size::Groups(groups));
        let submit = from.iter().zip(0..).fold(submit, |submit, (part, binding)| {
            submit.read(binding, part.buffer).range(part.at, part.host.len())
        });
        let submit = if is_read { submit.read_write(2, buffer) } else { submit.write(2, buffer) };
        let submit = submit.range(at, host.len());
        self.work.submit(push.iter().fold(submit, |submit, &word| submit.push(word)));
        Part { buffer, at, host }
    }

    /// A step from one buffer to another.
    fn step(&mut self, a: &Part, b: &Part, to: Buf, with_neighbours: bool) -> Part {
        let count = a.host.len();
        let own = |i: usize| a.host[i];
        let of = |i: usize| match with_neighbours {
            false => own(i) + 0.25 * (b.host[i] - 1.5 * own(i)),
            true => {
                let left = if i > 0 { own(i - 1) } else { 0.0 };
                let right = if i + 1 < count { own(i + 1) } else { 0.0 };
                0.5 * b.host[i] + 0.25 * (left + right)
            }
        };
        let kernel = if with_neighbours { "version.stencil" } else { "version.step" };
        let groups = [(count as u32).div_ceil(64), 1, 1];
        self.run((kernel, groups, &[count as u32]), &[a, b], (to, 0, false), (0..count).map(of).collect())
    }

    /// In place.
    fn own(&mut self, what: &str, d: &Part, a: &Part) -> Part {
        let count = d.host.len();
        let host = match what {
            "add" => host::both(&d.host, &a.host, |d, a| d + a),
            "scale" => host::both(&d.host, &a.host, |d, a| d * a),
            _ => d.host.iter().map(|d| d.max(a.host[0])).collect(),
        };
        let groups = [(count as u32).div_ceil(64), 1, 1];
        let kernel = format!("version.{what}");
        self.run((&kernel, groups, &[count as u32]), &[a], (d.buffer, d.at, true), host)
    }

    fn product(&mut self, how: &str, x: &Part, w: &Part, to: (Buf, usize)) -> Part {
        let (rows, columns) = (x.host.len() / INNER, w.host.len() / INNER);
        let (m, n) = (rows as u32, columns as u32);
        let groups = match how {
            "blocked" => [n.div_ceil(32), m.div_ceil(32), 1],
            "tiled" | "naive" => [n.div_ceil(16), m.div_ceil(16), 1],
            _ => [n.div_ceil(2), m, 1],
        };
        let host = host::product(&x.host, &w.host, INNER);
        let kernel = format!("product.{how}");
        self.run((&kernel, groups, &[m, n, INNER as u32]), &[x, w], (to.0, to.1, false), host)
    }

    fn element(&mut self, what: &str, a: &Part, b: Option<&Part>, to: (Buf, usize)) -> Part {
        let count = a.host.len() as u32;
        let host = match b {
            Some(b) => host::both(&a.host, &b.host, |a, b| a + b),
            None => a.host.iter().map(|&x| host::gelu(x)).collect(),
        };
        let from: Vec<&Part> = [Some(a), b].into_iter().flatten().collect();
        let kernel = format!("element.{what}");
        let groups = [count.div_ceil(256), 1, 1];
        self.run((&kernel, groups, &[count, COLUMNS as u32]), &from, (to.0, to.1, false), host)
    }

    /// Runs it unfused and fused, compares both with each other and the last result with the host, and adds a line to the table.
    #[track_caller]
    fn check(self, last: &Part, table: &mut Table, name: &str) {
        let unfused = self.work.run_unfused(table.rig);
        let run = |properties: FusionProperties| {
            let fused = self.work.try_fused(table.rig, &properties).ok()?;
            fused.assert_equals(&unfused);
            let words = &fused.words(last.buffer)[last.at..];
            Real::Single.assert_close(&Real::Single.load(words), &last.host, name);
            Some(fused.report())
        };
        let report = run(FusionProperties::default()).expect("a list that completes");
        let forced = (report.dispatches > 1).then(|| run(FusionProperties::default().force_fusion()));
        table.add(name, &report, forced.flatten().as_deref());
    }
}

/// Steps to and fro between two buffers; the first holds what they begin with.
fn to_and_fro(table: &mut Table) {
    for (with_neighbours, steps, what) in [
        (false, 4, "4 steps by elements"),
        (true, 3, "3 steps with neighbours"),
        (true, 4, "4 steps with neighbours"),
    ] {
        for (wish, asked) in [(Promote::None, ""), (Promote::Auto, ", the second a temporary")] {
            let mut list = List::default();
            let b = list.given(COUNT);
            let mut last = list.given(COUNT);
            let own = [last.buffer, list.memory(COUNT)];
            list.work.promote(own[1], wish);
            for round in 1..=steps {
                last = list.step(&last, &b, own[round % 2], with_neighbours);
            }
            list.check(&last, table, &format!("to and fro, {what}{asked}"));
        }
    }
}

/// What is done to a buffer in place.
fn in_place(table: &mut Table) {
    let mut list = List::default();
    let (others, mut last) = ([list.given(COUNT), list.given(COUNT), list.given(COUNT)], list.given(COUNT));
    for (what, a) in ["add", "scale", "relu", "add"].iter().zip(others.iter().cycle()) {
        last = list.own(what, &last, a);
    }
    list.check(&last, table, "in place: add, scale, relu, add");
    for how in ["naive", "tiled", "blocked", "subgroup"] {
        let mut list = List::default();
        let (x, w) = (list.given(ROWS * INNER), list.given(COLUMNS * INNER));
        let made = list.memory(MADE);
        let mut last = list.product(how, &x, &w, (made, 0));
        for what in ["add", "relu", "scale"] {
            let a = list.given(MADE);
            last = list.own(what, &last, &a);
        }
        list.check(&last, table, &format!("{how}, in place: add, relu, scale"));
        // A stream of sums, to which each product adds.
        let mut list = List::default();
        let (x, w, v) = (list.given(ROWS * INNER), list.given(COLUMNS * INNER), list.given(COLUMNS * INNER));
        let (mut sum, made) = (list.given(MADE), list.memory(MADE));
        for weights in [&w, &v] {
            let one = list.product(how, &x, weights, (made, 0));
            sum = list.own("add", &sum, &one);
        }
        list.check(&sum, table, &format!("{how}, added in place; again, by one temporary"));
    }
}

/// A pool that holds values at two places, and others there later.
fn pools(table: &mut Table) {
    for how in ["naive", "tiled", "blocked", "subgroup"] {
        for turns in [1, 2] {
            let mut list = List::default();
            let (x, w, b) = (list.given(ROWS * INNER), list.given(COLUMNS * INNER), list.given(MADE));
            // Words between them are no one's; offsets are what a device asks for.
            let (first, second) = (64, 64 + (MADE + 64) / 64 * 64);
            let pool = list.memory(second + MADE + 5);
            let mut last = list.given(MADE);
            for turn in 0..turns {
                let v = if turn == 0 { w.clone() } else { list.given(COLUMNS * INNER) };
                let made = list.product(how, &x, &v, (pool, first));
                let sum = list.element("add", &made, Some(&b), (pool, second));
                let own = list.element("gelu", &sum, None, (pool, first));
                let out = list.memory(MADE);
                last = list.element("add", &own, Some(&last), (out, 0));
            }
            list.check(&last, table, &format!("pool, {turns} turns: {how}, add, gelu, add"));
        }
    }
}

pub(crate) fn all(table: &mut Table) {
    to_and_fro(table);
    in_place(table);
    pools(table);
}
