//! Rows: a norm and what follows it in a transformer, and the softmax of the greatest of a row.

use crate::host;
use crate::list::List;
use crate::table::Table;
use crate::tensor::{Real, Tensor};

const ROWS: usize = 6;
/// No multiple of a work-group or a sub-group.
const LENGTH: usize = 100;

impl List {
    fn row(&mut self, kernel: &str, a: &Tensor, length: usize) -> Tensor {
        let rows = a.host.len() / length;
        let (m, n) = (rows as u32, length as u32);
        let mut buffers = vec![a.buffer];
        let (groups, made) = match kernel {
            "thread" => (m.div_ceil(64), host::rms_norm(&a.host, length)),
            "rope" | "turn" => {
                let angles = self.given(length / 2, Real::Single);
                buffers.push(angles.buffer);
                let by = if kernel == "rope" { host::rope } else { host::turn };
                ((m * n / 2).div_ceil(64), by(&a.host, &angles.host, length))
            }
            "cache" | "cache_half" => {
                // Each row has a place of its own.
                let at = |row: usize| (row * 5 + 2) % rows;
                buffers.push(self.words((0..rows).map(|row| at(row) as u32).collect()));
                let mut made = vec![0.0; a.host.len()];
                for (row, own) in a.host.chunks(length).enumerate() {
                    made[at(row) * length..][..length].copy_from_slice(own);
                }
                ((m * n).div_ceil(64), made)
            }
            "top" => (m, host::top(&a.host, length, 4)),
            "softmax" => (m.div_ceil(64), host::softmax(&a.host, length)),
            _ => (m, host::rms_norm(&a.host, length)),
        };
        let real = if kernel == "cache_half" { Real::Half } else { Real::Single };
        self.run(&format!("row.{kernel}"), [groups, 1, 1], &buffers, &[m, n], (made, real))
    }
}

pub(crate) fn all(table: &mut Table) {
    for (how, what) in [("thread", "an invocation"), ("group", "a work-group"), ("subgroup", "sub-groups")] {
        for followers in [
            &["weight"][..],
            &["weight", "rope"],
            &["weight", "cache"],
            &["weight", "rope", "cache"],
            &["rope", "cache"],
            &["weight", "rope", "cache_half"],
        ] {
            let mut list = List::default();
            let x = list.given(ROWS * LENGTH, Real::Single);
            let mut last = list.row(how, &x, LENGTH);
            for &follower in followers {
                last = match follower {
                    "weight" => list.element(follower, &last, LENGTH),
                    _ => list.row(follower, &last, LENGTH),
                };
            }
            list.check(table, &format!("norm by {what}: {}", followers.join(", ")));
        }
    }
    // Scores of rotated rows: an invocation or a work-group reads elements that several others store.
    for rotation in ["rope", "turn"] {
        for how in ["group", "subgroup", "tiled", "naive"] {
            let mut list = List::default();
            let x = list.given(ROWS * LENGTH, Real::Single);
            let keys = list.given(20 * LENGTH, Real::Single);
            let turned = list.row(rotation, &x, LENGTH);
            list.product(how, &turned, &keys, LENGTH);
            list.check(table, &format!("{rotation}: product.{how}"));
        }
    }
    // Columns of several matrices, next to each other in one.
    for (hows, what) in [
        (&["line"][..], "by elements"),
        (&["grid"], "on a grid"),
        (&["line", "grid"], "by elements and on a grid"),
    ] {
        for columns in [&[64, 64][..], &[60, 40], &[12, 60, 28]] {
            for followers in [&["gelu"][..], &["bias"], &["weight", "gelu"], &["weight", "rope"]] {
                let mut list = List::default();
                let length = columns.iter().sum();
                let mut last = list.parts(hows, 40, columns);
                for &follower in followers {
                    last = match follower {
                        "rope" => list.row(follower, &last, length),
                        _ => list.element(follower, &last, length),
                    };
                }
                list.check(table, &format!("{columns:?} columns {what}: {}", followers.join(", ")));
            }
        }
    }
    let top = |list: &mut List| {
        // No two of a row are equal.
        let of = |i: usize| ((i % 60 * 37) % 61) as f32 / 16.0 + (i / 60) as f32 / 4.0;
        let scores: Vec<f32> = (0..ROWS * 60).map(of).collect();
        let x = list.numbers(&scores, Real::Single);
        let best = list.row("top", &x, 60);
        list.row("softmax", &best, 4)
    };
    let mut list = List::default();
    top(&mut list);
    list.check(table, "the greatest of a row: softmax");
    let mut list = List::default();
    let last = top(&mut list);
    list.element("gate", &last, 4);
    list.check(table, "the greatest of a row: softmax, gate");
}
