//! Stores, private arrays, shared memory, helper functions.

use super::Body;
use crate::kernel::Role;
use crate::layout::{Scalar, Type};
use crate::place::Family;
use crate::tree::Stmt;

impl Body<'_> {
    /// What a kernel of a tidy pool ends with: its elements, all or one.
    pub(super) fn last_store(&mut self) -> Vec<Stmt> {
        if !self.theme.tidy || !self.theme.looped || self.random.percent(15) {
            return self.store();
        }
        let name = format!("k{}", self.counters);
        self.counters += 1;
        let even = self.random.one(&["4u", "4u", "p.m", "p.m"]);
        let uneven = self.uneven(&name);
        let behind = if uneven.is_some() { 75 } else { 15 };
        let (before, limit) = uneven.unwrap_or_else(|| (String::new(), even.to_owned()));
        let (head, tail) = if self.random.percent(12) {
            // The counter is stepped by rounds that are in range alone.
            let round = format!("q{}", self.counters);
            let head = format!(
                "{{ uint {name} = 0u{before}; for (uint {round} = 0u; {round} < 4u; ++{round}) {{ if ({name} >= {limit}) continue;"
            );
            (head, format!("++{name}; }} }}"))
        } else if self.random.percent(self.theme.late) {
            let step = if self.random.percent(behind) { format!("{name}++") } else { format!("++{name}") };
            (format!("{{ uint {name} = 0u{before}; do {{"), format!("}} while ({step} < {limit}); }}"))
        } else {
            (format!("for (uint {name} = 0u{before}; {name} < {limit}; ++{name}) {{"), "}".to_owned())
        };
        self.loops.push((name, true));
        let leaves = self.random.percent(if self.calm { 8 } else { 20 });
        let mut body = if leaves { vec![self.leave()] } else { Vec::new() };
        if self.random.percent(30) {
            body.extend(self.load());
        }
        body.extend(self.store());
        self.loops.pop();
        vec![Stmt::block(head, body, tail)]
    }

    pub(super) fn store(&mut self) -> Vec<Stmt> {
        let writable: Vec<usize> = (0..self.kernel.bindings.len())
            .filter(|&n| matches!(self.kernel.bindings[n].role, Role::Owned(_) | Role::PerGroup))
            .collect();
        if writable.is_empty() {
            return Vec::new();
        }
        let number = *self.random.pick(&writable);
        let binding = self.kernel.bindings[number].clone();
        if binding.role == Role::PerGroup {
            let (place, scalar) = self.place(number);
            let value = self.scalar(scalar);
            return vec![Stmt::line(format!("if (l == 0u) {place} = {value};"))];
        }
        if binding.block.header > 0 && self.is_glsl() && self.random.percent(5) {
            let field = self.random.below(binding.block.header as usize);
            let value = self.word(1);
            return vec![Stmt::line(format!("if (g == 0u) b{number}.h{field} = {value} & 7u;"))];
        }
        let array = self.array(&binding);
        let element = binding.block.arrays[array].element.clone();
        let whole = match (self.calm, self.theme.tidy) {
            (true, _) => 95,
            (_, true) => 80,
            _ => 45,
        };
        let whole = !matches!(element, Type::Scalar(_)) && self.random.percent(whole);
        if whole && (self.is_glsl() || matches!(element, Type::Vector(..))) {
            let index = self.index(binding.role);
            let place = self.kernel.element(number, array, &index);
            if let Type::Matrix { columns, rows, .. } = element {
                let one = self.random.below(columns as usize) as u32;
                let which = match self.random.below(if self.calm { 20 } else { 10 }) {
                    0..=2 => one..one + 1,
                    3 if !self.calm => one..one + 1,
                    3..=7 => 0..columns,
                    _ => 0..0,
                };
                let mut column = |number: u32| {
                    let parts: Vec<String> = (0..rows).map(|_| self.scalar(Scalar::F32)).collect();
                    Stmt::line(format!("{place}[{number}] = vec{rows}({});", parts.join(", ")))
                };
                if !which.is_empty() {
                    return which.map(&mut column).collect();
                }
            }
            let value = element.construct(&mut |scalar| self.scalar(scalar));
            return vec![Stmt::line(format!("{place} = {value};"))];
        }
        let (place, scalar) = self.place(number);
        let value = self.scalar(scalar);
        let narrow = matches!(scalar, Scalar::U8 | Scalar::U16);
        let sums = if self.theme.tidy { 5 } else { 20 };
        let op = if !narrow && self.random.percent(sums) { "+=" } else { "=" };
        vec![Stmt::line(format!("{place} {op} {value};"))]
    }

    /// State that lives as long as the invocation.
    pub(super) fn private(&mut self) -> Vec<Stmt> {
        if !self.is_glsl() {
            return vec![self.assign()];
        }
        let declare = |text: &str, globals: &mut Vec<String>| {
            if !globals.iter().any(|line| line == text) {
                globals.push(text.to_owned());
            }
        };
        if self.random.percent(50) {
            declare("uint state = 11u;", &mut self.kernel.globals);
            let line = self
                .random
                .one(&["state = state * 5u + u0; u1 ^= state;", "state += 1u; f1 += float(state & 7u);"]);
            return vec![Stmt::line(line)];
        }
        declare("float own[4] = float[4](0.5, 1.5, -2.0, 4.0);", &mut self.kernel.globals);
        let j = self.own();
        vec![Stmt::line(format!("own[{j} & 3u] += f0; f2 = own[(u0 + 1u) & 3u];"))]
    }

    /// Data of other invocations of the group.
    pub(super) fn exchange(&mut self) -> Vec<Stmt> {
        if !self.kernel.grouped || !self.uniform {
            return vec![self.assign()];
        }
        let size = self.kernel.size();
        let c = self.random.between(1, 3);
        let other = if size.is_power_of_two() && self.random.percent(60) {
            format!("(l ^ {c}u)")
        } else {
            format!("((l + {c}u) % {size}u)")
        };
        let declare = format!("shared float sh[{size}];");
        match self.random.below(5) {
            0 if self.is_glsl() && size.is_power_of_two() => {
                self.kernel.subgroups = true;
                let line = self.random.one(&[
                    "u1 = subgroupAdd(u0 & 15u);",
                    "f1 += float(subgroupMax(u0 & 63u));",
                    "u2 ^= subgroupShuffleXor(u0, 1u);",
                    "if (subgroupAny(f0 > 0.5)) u1 += 1u;",
                    "u1 += subgroupBallotBitCount(subgroupBallot((u0 & 1u) == 0u));",
                ]);
                vec![Stmt::line(line)]
            }
            1 if self.is_glsl() => {
                let owned = self.kernel.bindings.iter().enumerate().find_map(|(number, b)| {
                    let float = b.block.arrays[0].element == Type::Scalar(Scalar::F32);
                    (b.role == Role::Owned(Family::Own) && float).then_some(number)
                });
                let Some(number) = owned else { return vec![self.assign()] };
                let (own, other) = (
                    self.kernel.element(number, 0, "g"),
                    self.kernel.element(number, 0, &format!("w * {size}u + {other}")),
                );
                let wait = Stmt::line("memoryBarrierBuffer(); barrier();");
                let mut lines = vec![wait.clone()];
                if self.random.percent(50) {
                    // Shared memory before, whose barriers order nothing else.
                    if !self.kernel.globals.contains(&declare) {
                        self.kernel.globals.push(declare);
                    }
                    let one = self.random.below(size as usize);
                    lines.extend([
                        Stmt::line("sh[l] = f0;"),
                        Stmt::line("barrier();"),
                        Stmt::line(format!("f1 += sh[{one}];")),
                    ]);
                }
                lines.extend([
                    Stmt::line(format!("{own} = f0;")),
                    wait.clone(),
                    Stmt::line(format!("f1 += {other};")),
                    wait,
                ]);
                vec![Stmt::block("{", lines, "}")]
            }
            2 if size.is_power_of_two() => {
                if !self.kernel.globals.contains(&declare) {
                    self.kernel.globals.push(declare);
                }
                let wait = Stmt::line("barrier();");
                let body = vec![Stmt::line("if (l < d) sh[l] += sh[l + d];"), wait.clone()];
                let head = format!("for (uint d = {}u; d > 0u; d >>= 1u) {{", size / 2);
                vec![Stmt::block(
                    "{",
                    vec![
                        wait.clone(),
                        Stmt::line("sh[l] = f0;"),
                        wait.clone(),
                        Stmt::block(head, body, "}"),
                        Stmt::line("f1 += sh[0];"),
                        wait,
                    ],
                    "}",
                )]
            }
            _ => {
                if !self.kernel.globals.contains(&declare) {
                    self.kernel.globals.push(declare);
                }
                let wait = Stmt::line("barrier();");
                vec![Stmt::block(
                    "{",
                    vec![
                        wait.clone(),
                        Stmt::line("sh[l] = f0;"),
                        wait.clone(),
                        Stmt::line(format!("f1 += sh[{other}];")),
                        wait,
                    ],
                    "}",
                )]
            }
        }
    }

    pub(super) fn count(&mut self) -> Vec<Stmt> {
        let counters: Vec<usize> = (0..self.kernel.bindings.len())
            .filter(|&n| self.kernel.bindings[n].role == Role::Counters)
            .collect();
        let Some(&number) = counters.first() else { return vec![self.assign()] };
        let index = self.index(Role::Counters);
        let op = self.random.one(&["atomicAdd", "atomicAdd", "atomicMax", "atomicXor", "atomicOr"]);
        vec![Stmt::line(format!("{op}(b{number}.a0[{index}], u0 & 15u);"))]
    }

    pub(super) fn helper(&mut self) -> Vec<Stmt> {
        if !self.is_glsl() {
            return vec![self.assign()];
        }
        let first = "uint first(uint a, uint b) { for (uint k = 0u; k < (b & 7u); ++k) { if (((a >> k) & 1u) != 0u) \
                     return k; } return 9u; }";
        let owned = self.kernel.bindings.iter().enumerate().find_map(|(number, b)| match b.role {
            Role::Owned(family) if b.block.arrays[0].element == Type::Scalar(Scalar::F32) => {
                Some((number, family))
            }
            _ => None,
        });
        match owned {
            Some((number, family)) if self.random.percent(60) => {
                let place = self.kernel.element(number, 0, "i");
                let put = format!("void put(uint i, float v) {{ if (v > 0.5) return; {place} = v; }}");
                if !self.kernel.globals.contains(&put) {
                    self.kernel.globals.push(put);
                }
                let (j, value) = (self.own(), self.float(1));
                let index = family.index(&j, "g", self.kernel.size());
                vec![Stmt::line(format!("put({index}, {value});"))]
            }
            _ => {
                if !self.kernel.globals.iter().any(|line| line == first) {
                    self.kernel.globals.push(first.to_owned());
                }
                vec![Stmt::line("u2 = first(u0, u1);")]
            }
        }
    }
}
