//! Products of matrices and of a matrix with a vector, and what is done to each element of them.

use crate::host::{self, both, columns};
use crate::list::List;
use crate::table::Table;
use crate::tensor::{Real, Tensor};

/// Rows and columns of what is multiplied; no multiples of tiles, nor of what an invocation does.
const ROWS: usize = 21;
const COLUMNS: usize = 45;

const KINDS: [(&str, Real); 3] = [("f32", Real::Single), ("f16", Real::Half), ("q4_0", Real::Block)];

/// What follows a product.
const FOLLOWERS: [&[&str]; 6] = [&[], &["bias"], &["gelu"], &["add"], &["gate"], &["bias", "gelu", "add"]];

/// The suffix of a kernel for numbers of a kind.
fn suffix(real: Real) -> &'static str {
    match real {
        Real::Single => "",
        Real::Half => "_half",
        Real::Block => "_q4",
    }
}

impl List {
    /// A product by a kernel, with weights of its own. What is made of blocks is single floats.
    pub(crate) fn product(&mut self, how: &str, x: &Tensor, w: &Tensor, inner: usize) -> Tensor {
        let (rows, columns) = (x.host.len() / inner, w.host.len() / inner);
        let (m, n) = (rows as u32, columns as u32);
        let groups = match how {
            "naive" | "tiled" => [n.div_ceil(16), m.div_ceil(16), 1],
            "blocked" => [n.div_ceil(32), m.div_ceil(32), 1],
            "thread" => [n.div_ceil(64), 1, 1],
            _ => [n.div_ceil(2), m, 1],
        };
        let kernel = format!("product.{how}{}", suffix(w.real));
        let made = host::product(&x.host, &w.host, inner);
        self.run(&kernel, groups, &[x.buffer, w.buffer], &[m, n, inner as u32], (made, x.real))
    }

    /// What is done to each element of rows of this length.
    pub(crate) fn element(&mut self, what: &str, a: &Tensor, row: usize) -> Tensor {
        let count = a.host.len();
        let other = match what {
            "gelu" => None,
            "bias" | "weight" => Some(self.given(row, a.real)),
            _ => Some(self.given(count, a.real)),
        };
        self.with(what, a, other.as_ref(), row)
    }

    /// SwiGLU of rows that have the gate first and then what it is multiplied with.
    fn split(&mut self, a: &Tensor, half: usize) -> Tensor {
        let row = |row: &[f32]| both(&row[..half], &row[half..], |a, b| host::silu(a) * b);
        let made: Vec<f32> = a.host.chunks(2 * half).flat_map(row).collect();
        let count = made.len() as u32;
        self.run(
            "element.split",
            [count.div_ceil(256), 1, 1],
            &[a.buffer],
            &[count, half as u32],
            (made, a.real),
        )
    }

    fn with(&mut self, what: &str, a: &Tensor, other: Option<&Tensor>, row: usize) -> Tensor {
        let count = a.host.len();
        let b = other.map_or(&[][..], |other| &other.host);
        let made = match what {
            "gelu" => a.host.iter().map(|&x| host::gelu(x)).collect(),
            "bias" => columns(&a.host, b, |a, b| a + b),
            "weight" => columns(&a.host, b, |a, b| a * b),
            "add" => both(&a.host, b, |a, b| a + b),
            "gate" => both(&a.host, b, |a, b| a * b),
            _ => both(&a.host, b, |a, b| host::silu(a) * b),
        };
        let kernel = format!("element.{what}{}", suffix(a.real));
        let buffers: Vec<_> = [Some(a), other].into_iter().flatten().map(|one| one.buffer).collect();
        let groups = [(count as u32).div_ceil(256), 1, 1];
        self.run(&kernel, groups, &buffers, &[count as u32, row as u32], (made, a.real))
    }
}

/// The length of what is multiplied: no multiple of tiles and work-groups; of blocks it has to be one.
fn inner(weights: Real) -> usize {
    if weights == Real::Block { 96 } else { 70 }
}

/// Singles, where weights are in blocks.
fn of(weights: Real) -> Real {
    if weights == Real::Half { Real::Half } else { Real::Single }
}

fn follow(table: &mut Table, (how, rows): (&str, usize), what: &str, (kind, real): (&str, Real)) {
    for followers in FOLLOWERS.iter().skip(1) {
        let mut list = List::default();
        let inner = inner(real);
        let (x, w) = (list.given(rows * inner, of(real)), list.given(COLUMNS * inner, real));
        let mut last = list.product(how, &x, &w, inner);
        for follower in *followers {
            last = list.element(follower, &last, COLUMNS);
        }
        list.check(table, &format!("{what}, {kind}: {}", followers.join(", ")));
    }
}

pub(crate) fn matrices(table: &mut Table) {
    for (how, what) in [
        ("naive", "naive"),
        ("tiled", "tiles"),
        ("blocked", "tiles in registers"),
        ("subgroup", "sub-groups"),
    ] {
        for kind in KINDS {
            follow(table, (how, ROWS), what, kind);
        }
    }
}

pub(crate) fn vectors(table: &mut Table) {
    for (how, what) in [("thread", "invocation a row"), ("group", "work-group"), ("subgroup", "sub-groups")] {
        for kind in KINDS {
            follow(table, (how, 1), what, kind);
        }
    }
}

/// Kernels that make a gate and what it is multiplied with, and the rows of both.
const GATES: [(&str, &str, usize); 12] = [
    ("naive", "naive", ROWS),
    ("tiled", "tiled", ROWS),
    ("blocked", "blocked", ROWS),
    ("subgroup", "subgroup", ROWS),
    ("thread", "thread", 1),
    ("group", "group", 1),
    ("subgroup", "subgroup", 1),
    ("naive", "tiled", ROWS),
    ("blocked", "gelu", ROWS),
    ("gelu", "blocked", ROWS),
    ("subgroup", "bias", ROWS),
    ("subgroup", "gelu", 1),
];

/// SiLU of one thing times another.
pub(crate) fn gates(table: &mut Table) {
    for (gate, up, rows) in GATES {
        for (kind, real) in KINDS {
            let mut list = List::default();
            let inner = inner(real);
            let x = list.given(rows * inner, of(real));
            let given = list.given(rows * COLUMNS, of(real));
            let [a, b] = [gate, up].map(|how| match how {
                "gelu" | "bias" => list.element(how, &given, COLUMNS),
                _ => {
                    let w = list.given(COLUMNS * inner, real);
                    list.product(how, &x, &w, inner)
                }
            });
            list.with("swiglu", &a, Some(&b), COLUMNS);
            list.check(table, &format!("{kind}, {rows} rows: {gate}, {up}, SwiGLU of both"));
        }
    }
    // One product of twice as many columns has both.
    for (how, rows) in [("tiled", ROWS), ("blocked", ROWS), ("subgroup", 1)] {
        let mut list = List::default();
        let inner = inner(Real::Single);
        let (x, w) = (list.given(rows * inner, Real::Single), list.given(2 * COLUMNS * inner, Real::Single));
        let both = list.product(how, &x, &w, inner);
        list.split(&both, COLUMNS);
        list.check(table, &format!("f32, {rows} rows: {how}, SwiGLU of its halves"));
    }
}
