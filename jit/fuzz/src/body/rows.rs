//! Kernels over rows of a few elements: by an element each, by several, by an invocation for a whole row.

use super::Body;
use crate::kernel::{Binding, Role};
use crate::layout::{Array, Block, Packing, Scalar, Type};
use crate::place::Family;
use crate::tree::Stmt;

/// The homes of elements and of values of rows.
const ELEMENTS: usize = 0;
const SLOTS: usize = 1;

/// The block of both.
pub(crate) fn words() -> Block {
    let array = Array { element: Type::Scalar(Scalar::U32), len: None };
    Block { packing: Packing::Std430, header: 0, arrays: vec![array] }
}

impl Body<'_> {
    /// A kernel of `p.n` rows of `length` elements; each row also has a value of its own.
    pub(super) fn rows(&mut self, length: u32) -> Vec<Stmt> {
        (self.kernel.two_dimensions, self.kernel.grouped) = (false, self.random.percent(30));
        if self.kernel.local[1] > 1 {
            self.kernel.local = self.theme.local;
        }
        self.kernel.vulkan_memory_model = self.is_glsl() && self.random.percent(25);
        // What is read, a value of each row, and what is written.
        let kind = self.random.below(9);
        let to = if kind < 2 { SLOTS } else { ELEMENTS };
        for (home, role) in [(ELEMENTS, Role::Input), (SLOTS, Role::Input), (to, Role::Owned(Family::Own))] {
            let binding = self.kernel.bindings.len() as u32;
            let (set, uniform, qualifier) = (0, false, "");
            self.kernel.bindings.push(Binding {
                set,
                binding,
                block: words(),
                home,
                role,
                uniform,
                qualifier,
            });
        }
        let name = |number: usize, index: &str| self.kernel.element(number, 0, index);
        let (a, z, zg) = (name(0, "at"), name(2, "at"), name(2, "g"));
        let (b, bg) = (name(1, "r"), name(1, "g"));
        let seed = self.random.between(3, 40);
        let odd = self.random.percent(6);
        let at = if odd { format!("(g ^ 1u) * {length}u + k") } else { format!("g * {length}u + k") };
        let mut over = |work: &str| match self.random.below(5) {
            0 => format!("{{ uint k = 0u; do {{ uint at = {at}; {work} ++k; }} while (k < {length}u); }}"),
            1 => format!(
                "for (int i = 0; i < {length}; i = int(uint(i) + 1u)) {{ uint k = uint(i); uint at = {at}; {work} }}"
            ),
            _ => format!("for (uint k = 0u; k < {length}u; ++k) {{ uint at = {at}; {work} }}"),
        };
        let total = format!("p.n * {length}u");
        let own = format!("{z} = {a} * {seed}u + {b};");
        let step = self.kernel.size();
        let mut each = 1;
        let lines = match kind {
            0 => vec!["uint s = 7u;".to_owned(), over(&format!("s = s * 31u + {a};")), format!("{zg} = s;")],
            1 => vec!["uint s = 0u;".to_owned(), over(&format!("s = max(s, {a});")), format!("{zg} = s;")],
            2 => vec![format!("uint s = {bg};"), over(&format!("{z} = ({a} ^ s) + {seed}u;"))],
            3 => vec![
                "uint s = 1u;".to_owned(),
                over(&format!("s += {a};")),
                over(&format!("{z} = {a} * {seed}u ^ s;")),
            ],
            4 | 5 => vec![format!("uint at = g, r = g / {length}u; {own}")],
            6 => vec![format!(
                "uint d = max(p.w, 1u), y = g / d, x = g % d, at = y * d + x, r = at / {length}u; {own}"
            )],
            8 => {
                // Neighbours, each under its own guard; the last one sometimes under one that is too narrow.
                each = self.random.one(&[2, 3, 4]);
                let late = u32::from(self.random.percent(12));
                let mut lines = vec![
                    format!("uint f = g * {each}u, s = 5u;"),
                    format!("for (uint k = 0u; k < {seed}u % 4u; ++k) s = s * 7u + k;"),
                ];
                lines.extend((0..each).map(|k| {
                    let guard = if k + 1 < each { k } else { k + late };
                    format!("if (f + {guard}u < {total}) {{ uint at = f + {k}u, r = at / {length}u; {z} = {a} * {seed}u + {b} + s; }}")
                }));
                lines
            }
            _ => {
                each = self.random.one(&[2, 2, 4]);
                let first = format!("uint at = g / {step}u * {}u + g % {step}u;", each * step);
                let round = format!("uint r = at / {length}u; {own}");
                let loops = match self.random.below(3) {
                    0 => format!(
                        "for (uint k = 0u; k < {each}u; ++k) {{ if (at >= {total}) {{ continue; }} {round} at += {step}u; }}"
                    ),
                    1 => format!(
                        "for (uint k = 0u; k < {each}u; ++k) {{ if (at < {total}) {{ {round} at += {step}u; }} }}"
                    ),
                    _ => format!(
                        "{{ uint k = 0u; do {{ if (at < {total}) {{ {round} }} at += {step}u; ++k; }} while (k < {each}u); }}"
                    ),
                };
                vec![first, loops]
            }
        };
        let mut stmts = Vec::new();
        match kind {
            0..=3 => stmts.push(Stmt::line("if (g >= p.n) return;")),
            4..=6 => stmts.push(Stmt::line(format!("if (g >= {total}) return;"))),
            _ => {}
        }
        stmts.extend(lines.into_iter().map(Stmt::line));
        self.kernel.stores = if kind < 2 { 1 } else { length };
        self.kernel.share = if kind < 4 { (1, 1) } else { (length, each) };
        self.kernel.form = Some(
            [
                "row to a value",
                "row to a value",
                "row by its value",
                "row by itself",
                "elements beside rows",
                "elements beside rows",
                "elements taken apart",
                "several elements beside rows",
                "neighbours beside rows",
            ][kind],
        );
        stmts
    }
}
