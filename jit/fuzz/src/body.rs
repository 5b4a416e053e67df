//! Random kernels: declarations first, then statements that use them.

use crate::kernel::{Binding, Dress, Kernel, Language, Role};
use crate::layout::{Array, Block, Packing, Scalar, Type};
use crate::place::{Family, ROOM};
use crate::random::Random;
use crate::theme::Theme;
use crate::tree::Stmt;

/// The home of counters, and of cells.
pub(crate) const COUNTERS: usize = usize::MAX;
pub(crate) const CELLS: usize = usize::MAX - 1;

mod control;
mod memory;
pub(crate) mod rows;
mod values;

/// What disturbs a kernel that nothing disturbs.
const NOTHING: usize = usize::MAX;

struct Body<'a> {
    random: &'a mut Random,
    theme: &'a Theme,
    kernel: Kernel,
    /// Counters of the loops around, and whether they stay below four.
    loops: Vec<(String, bool)>,
    /// Inside of a loop or a switch, `break` is allowed; inside of a loop, `continue` is.
    breakable: bool,
    counters: u32,
    /// Whether all invocations of a work-group are certainly here.
    uniform: bool,
    returned: bool,
    budget: usize,
    /// All that is loaded goes into what is stored last.
    calm: bool,
}

/// A random kernel of a theme.
pub(crate) fn kernel(random: &mut Random, theme: &Theme) -> Kernel {
    let grouped = random.percent(theme.grouped);
    let plain = theme.blocks.iter().any(Block::is_plain);
    let language =
        if plain && !theme.two_dimensions && random.percent(12) { Language::Hlsl } else { Language::Glsl };
    let local = if random.percent(if theme.calm > 50 { 95 } else { 88 }) {
        theme.local
    } else if theme.two_dimensions {
        [8, 4, 1]
    } else {
        random.one(&[[8, 1, 1], [16, 1, 1], [4, 1, 1], [12, 1, 1], [4, 2, 1]])
    };
    let kernel = Kernel {
        language,
        local,
        grouped,
        two_dimensions: theme.two_dimensions,
        constant: false,
        vulkan_memory_model: language == Language::Glsl && random.percent(6),
        dress: if language == Language::Glsl { Dress::random(random) } else { Dress::default() },
        subgroups: false,
        bindings: Vec::new(),
        share: (1, 1),
        stores: 1,
        form: None,
        globals: Vec::new(),
        body: Vec::new(),
    };
    let mut body = Body {
        random,
        theme,
        kernel,
        loops: Vec::new(),
        breakable: false,
        counters: 0,
        uniform: true,
        returned: false,
        budget: 0,
        calm: false,
    };
    if let Some(length) = theme.rows {
        body.kernel.body = body.rows(length);
        return body.kernel;
    }
    body.calm = body.random.percent(theme.calm);
    body.declare();
    let straight = body.random.percent(theme.straight);
    let stmts = if body.calm {
        let what = if body.random.percent(theme.odd) { body.random.below(15) } else { NOTHING };
        body.disturbed(what)
    } else if straight {
        body.straight()
    } else if theme.tidy && body.random.percent(75) {
        let what = body.random.below(15);
        body.disturbed(what)
    } else {
        body.anything()
    };
    body.kernel.body = stmts;
    body.kernel
}

impl Body<'_> {
    fn is_glsl(&self) -> bool {
        self.kernel.language == Language::Glsl
    }

    fn family(&mut self) -> Family {
        let grouped = self.kernel.grouped;
        let own = *self.random.pick(&self.theme.families);
        let most = match (self.calm, self.theme.tidy) {
            (true, _) => 100,
            (_, true) => 40,
            _ => 20,
        };
        let mut family = match self.random.below(most) {
            0..=14 | 20.. => own,
            15 | 16 => own.perturbed(self.random),
            _ => Family::random(self.random, grouped),
        };
        if family.needs_group() && !grouped {
            family = Family::Own;
        }
        family
    }

    fn declare(&mut self) {
        if self.theme.cells && self.is_glsl() {
            let words = Array { element: Type::Scalar(Scalar::U32), len: None };
            let block = Block { packing: Packing::Std430, header: 0, arrays: vec![words] };
            let qualifier = self.random.one(&["", "readonly "]);
            let cells = Binding {
                set: 0,
                binding: 0,
                block,
                home: CELLS,
                role: Role::Cells,
                uniform: false,
                qualifier,
            };
            self.kernel.bindings.push(cells);
        }
        let inputs =
            if self.calm { self.random.one(&[1, 1, 1, 2]) } else { self.random.one(&[1, 1, 1, 2, 0]) };
        let outputs = self.random.one(&[1, 1, 1, 1, 1, 2]);
        for _ in 0..inputs {
            self.bind(Role::Input);
        }
        for _ in 0..outputs {
            let mut family = self.family();
            while !family.is_owned() {
                family = Family::random(self.random, false);
            }
            self.bind(Role::Owned(family));
        }
        if self.kernel.grouped && self.random.percent(20) {
            self.bind(Role::PerGroup);
        }
        if self.is_glsl() && self.random.percent(8) {
            self.bind(Role::Counters);
        }
        let uniform = if self.theme.tidy { 6 } else { 20 };
        if self.is_glsl() && self.random.percent(uniform) {
            self.bind_uniform();
        }
        let again = if self.theme.families == [Family::Own] { 20 } else { 12 };
        if self.is_glsl() && self.random.percent(again) {
            self.bind_again();
        }
        self.kernel.constant = self.is_glsl() && self.random.percent(15);
    }

    fn next_binding(&self) -> u32 {
        self.kernel.bindings.iter().map(|b| b.binding + 1).max().unwrap_or(0)
    }

    fn bind(&mut self, role: Role) {
        let homes: Vec<usize> = (0..self.theme.blocks.len())
            .filter(|&home| self.is_glsl() || self.theme.blocks[home].is_plain())
            .collect();
        let home = *self.random.pick(&homes);
        let mut block = self.theme.blocks[home].clone();
        let mut own = home;
        if role == Role::Counters {
            let words = Array { element: Type::Scalar(Scalar::U32), len: None };
            block = Block { packing: Packing::Std430, header: 0, arrays: vec![words] };
            own = COUNTERS;
        } else if self.is_glsl() && block.turned() != block && self.random.percent(self.theme.turned) {
            block = block.turned();
        } else if self.is_glsl() && self.random.percent(if self.theme.tidy { 5 } else { 12 }) {
            // The same memory seen otherwise.
            match self.random.below(4) {
                0 => block.header = 0,
                1 => block.arrays.truncate(1),
                2 => {
                    block =
                        Block { packing: block.packing, header: block.header, arrays: vec![other(&block)] }
                }
                _ => block = Block::random(self.random, ROOM),
            }
        }
        let qualifier = match (role, self.random.below(12)) {
            (Role::Input, 0..=4) => "readonly ",
            (_, 5) => "coherent ",
            (_, 7) if self.kernel.vulkan_memory_model => "nonprivate ",
            (_, 6) => "restrict ",
            _ => "",
        };
        let set = u32::from(self.random.percent(8));
        let binding = self.next_binding();
        let qualifier = if self.is_glsl() { qualifier } else { "" };
        self.kernel.bindings.push(Binding {
            set,
            binding,
            block,
            home: own,
            role,
            uniform: false,
            qualifier,
        });
    }

    fn bind_uniform(&mut self) {
        let home = self.random.below(self.theme.blocks.len());
        let vectors = Type::Vector(self.random.one(&[Scalar::F32, Scalar::U32]), 4);
        let array = Array { element: vectors, len: Some(ROOM / 4) };
        let block = Block { packing: Packing::Std140, header: self.random.one(&[0, 4]), arrays: vec![array] };
        let binding = self.next_binding();
        let uniform =
            Binding { set: 0, binding, block, home, role: Role::Input, uniform: true, qualifier: "" };
        self.kernel.bindings.push(uniform);
    }

    /// A second variable on a binding that there is already.
    fn bind_again(&mut self) {
        let candidates: Vec<Binding> = self
            .kernel
            .bindings
            .iter()
            .filter(|b| !b.uniform && !matches!(b.role, Role::Counters | Role::Cells))
            .cloned()
            .collect();
        if candidates.is_empty() {
            return;
        }
        let mut again = self.random.pick(&candidates).clone();
        if self.random.percent(70) {
            again.block = again.block.turned();
            for array in &mut again.block.arrays {
                array.element = swapped(&array.element);
            }
        }
        again.qualifier = "";
        self.kernel.bindings.push(again);
    }

    fn prologue(&mut self) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        let seed = self.random.below(100);
        stmts.push(Stmt::line(format!("uint u0 = g * 7u + {seed}u, u1 = g ^ {}u, u2 = 5u;", seed / 3)));
        stmts.push(Stmt::line(format!(
            "float f0 = float(g & 15u) * 0.25 - 1.0, f1 = {}.5, f2 = p.f;",
            seed % 7
        )));
        let mut cells = Vec::new();
        for (number, binding) in self.kernel.bindings.iter().enumerate() {
            if binding.role != Role::Input || !self.is_glsl() {
                continue;
            }
            if binding.block.header > 0 {
                let field = self.random.below(binding.block.header as usize);
                cells.push(format!("b{number}.h{field}"));
                cells.push(format!("b{number}.h{field}"));
            }
            match &binding.block.arrays[0].element {
                Type::Scalar(Scalar::U32) => {
                    cells.push(format!("(b{number}.a0[{}] & 7u)", self.random.below(3)))
                }
                Type::Vector(Scalar::U32, _) => cells.push(format!("(b{number}.a0[0].y & 7u)")),
                _ => {}
            }
        }
        let dedicated = self.kernel.bindings.iter().position(|b| b.role == Role::Cells);
        let cell = if let Some(number) = dedicated {
            format!("b{number}.a0[{}]", self.random.one(&[0, 0, 0, 1]))
        } else if cells.is_empty() || self.random.percent(15) {
            "p.m & 7u".to_owned()
        } else {
            let cell = self.random.pick(&cells).clone();
            if self.random.percent(40) { format!("{cell} & 7u") } else { cell }
        };
        stmts.push(Stmt::line(format!("uint c0 = {cell};")));
        if self.random.percent(if dedicated.is_some() { 60 } else { 5 }) {
            let limit = self.random.one(&[100, 32, 8]);
            stmts.push(Stmt::line(format!("if (c0 >= {limit}u) return;")));
        }
        stmts
    }

    /// Guards, loads, arithmetic and stores without loops.
    fn straight(&mut self) -> Vec<Stmt> {
        let mut stmts = self.prologue();
        let guard = self.random.below(5);
        if guard == 0 {
            // Something happens before the guard.
            let count = self.random.between(1, 2);
            for _ in 0..count {
                stmts.extend(self.store());
            }
        }
        if guard < 4 {
            stmts.push(self.range_guard());
        }
        let steps = self.random.between(1, 5);
        for _ in 0..steps {
            match self.random.below(10) {
                0..=4 => stmts.extend(self.load()),
                5..=7 => stmts.push(self.assign()),
                _ => stmts.extend(self.store()),
            }
        }
        stmts.extend(self.store());
        if self.random.percent(15) {
            stmts.push(self.range_guard());
            stmts.extend(self.store());
        }
        stmts
    }

    /// A kernel that would fit the others of its pool except for one thing.
    fn disturbed(&mut self, what: usize) -> Vec<Stmt> {
        let mut stmts = self.prologue();
        if matches!(what, 0 | 12 | 13) {
            stmts.extend(self.store());
        }
        if self.theme.guarded {
            self.uniform = false;
            stmts.push(Stmt::line("if (g >= p.n) return;"));
        }
        for _ in 0..self.random.between(1, 2) {
            stmts.extend(self.load());
        }
        self.budget = 4;
        match what {
            1..=3 => stmts.push(self.left_loop()),
            4 => stmts.push(self.looped(2)),
            5 => stmts.push(self.switch(2)),
            6 => stmts.push(self.leave()),
            7 => stmts.push(self.range_guard()),
            8 => stmts.extend(self.exchange()),
            9 => stmts.extend(self.helper()),
            10 => stmts.extend(self.statement(1)),
            _ => {}
        }
        if self.calm {
            stmts.push(Stmt::line("f0 = float(u1 & 0xffffu); f1 += float(u2 & 0xffffu);"));
        } else {
            stmts.push(self.assign());
        }
        stmts.extend(self.last_store());
        stmts
    }

    fn range_guard(&mut self) -> Stmt {
        let cond = match self.random.below(12) {
            0..=5 => "g >= p.n".to_owned(),
            6 => "g >= p.m * 4u".to_owned(),
            7 => "int(g) >= int(p.n)".to_owned(),
            8 => "p.n <= g".to_owned(),
            9 => self.length_guard().unwrap_or_else(|| "g + 1u > p.n".to_owned()),
            10 => "c0 >= 100u".to_owned(),
            _ => "!(g < p.n && g < p.s)".to_owned(),
        };
        if !cond.starts_with("c0") {
            self.uniform = false;
        }
        Stmt::line(format!("if ({cond}) return;"))
    }

    fn length_guard(&mut self) -> Option<String> {
        self.length().map(|length| format!("g >= {length}"))
    }

    fn length(&mut self) -> Option<String> {
        if !self.is_glsl() {
            return None;
        }
        let open: Vec<(usize, usize)> = self
            .kernel
            .bindings
            .iter()
            .enumerate()
            .filter(|(_, b)| b.block.arrays.last().is_some_and(|a| a.len.is_none()))
            .map(|(number, b)| (number, b.block.arrays.len() - 1))
            .collect();
        if open.is_empty() {
            return None;
        }
        let &(binding, array) = self.random.pick(&open);
        Some(format!("uint(b{binding}.a{array}.length())"))
    }
}

/// Floats for words of as many bits, and the other way round.
fn swapped(element: &Type) -> Type {
    match element {
        Type::Scalar(Scalar::F32) => Type::Scalar(Scalar::U32),
        Type::Scalar(Scalar::U32) => Type::Scalar(Scalar::F32),
        Type::Vector(Scalar::F32, n) => Type::Vector(Scalar::U32, *n),
        Type::Vector(Scalar::U32, n) => Type::Vector(Scalar::F32, *n),
        other => other.clone(),
    }
}

/// An array over the same bytes with other elements.
fn other(block: &Block) -> Array {
    let element = match &block.arrays[0].element {
        Type::Scalar(Scalar::F32) => Type::Scalar(Scalar::U32),
        Type::Vector(scalar, _) => Type::Scalar(*scalar),
        Type::Scalar(_) => Type::Vector(Scalar::F32, 4),
        _ => Type::Scalar(Scalar::F32),
    };
    Array { element, len: None }
}
