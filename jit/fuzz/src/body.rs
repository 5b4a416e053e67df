//! Random kernels: declarations first, then statements that use them.

use crate::kernel::{Binding, Kernel, Language, Role};
use crate::layout::{Array, Block, Packing, Scalar, Type};
use crate::place::{Family, ROOM};
use crate::random::Random;
use crate::tree::Stmt;

/// The home of counters, and of cells.
pub(crate) const COUNTERS: usize = usize::MAX;
pub(crate) const CELLS: usize = usize::MAX - 1;

/// What the kernels of a pool have in common, so that lists of them fit together now and then.
#[derive(Clone, Debug)]
pub(crate) struct Theme {
    pub(crate) blocks: Vec<Block>,
    pub(crate) families: Vec<Family>,
    pub(crate) local: [u32; 3],
    pub(crate) two_dimensions: bool,
    /// How many of a hundred kernels know their work-group.
    pub(crate) grouped: u32,
    /// How many of a hundred kernels are short and straight.
    pub(crate) straight: u32,
    /// Kernels keep to the pool's families and rarely to anything else, so that much can be promoted.
    pub(crate) tidy: bool,
    /// How many of a hundred tidy kernels have nothing but loads, arithmetic and a last store: lists of these are fused and
    /// promoted unless loops or views differ.
    pub(crate) calm: u32,
    /// How many of a hundred calm kernels have one thing that disturbs them.
    pub(crate) odd: u32,
    /// Tidy kernels begin with the same range guard.
    pub(crate) guarded: bool,
    /// The array of each block that tidy kernels keep to, and whether they go over an invocation's elements in loops.
    pub(crate) arrays: Vec<usize>,
    pub(crate) looped: bool,
    /// How many of a hundred loops go round as often as the invocation or memory says.
    pub(crate) uneven: u32,
    /// How many of a hundred loops over an invocation's elements are tested behind the store.
    pub(crate) late: u32,
    /// How many of a hundred views of a block with matrices see them in the other major.
    pub(crate) turned: u32,
    /// Kernels take a number from one small buffer that nobody writes.
    pub(crate) cells: bool,
}

impl Theme {
    pub(crate) fn random(random: &mut Random) -> Self {
        let mut theme = Self::any(random);
        if random.percent(40) {
            theme.become_chain(random);
        }
        theme
    }

    /// Makes it one of calm kernels, which would all be fused and promoted, but for how often loops go round, or how the parts
    /// of an element lie.
    fn become_chain(&mut self, random: &mut Random) {
        (self.tidy, self.calm, self.straight) = (true, 90, 20);
        (self.guarded, self.looped, self.cells) = (random.percent(30), false, random.percent(10));
        self.odd = 5;
        match random.below(4) {
            0 => {
                // Elements of an invocation that no other one comes near.
                let apart =
                    [Family::Blocked(4), Family::Blocked(4), Family::Blocked(5), Family::Strided(None)];
                self.families = vec![random.one(&apart)];
                self.blocks.truncate(1);
                (self.looped, self.uneven, self.late) = (true, 50, random.one(&[40, 80]));
            }
            1 => {
                self.families =
                    vec![random.one(&[Family::Own, Family::Own, Family::Blocked(2), Family::Reversed])];
                self.blocks = vec![Block::of_matrices(random, ROOM)];
                (self.uneven, self.turned) = (0, 40);
            }
            _ => {
                self.families =
                    vec![random.one(&[Family::Own, Family::Own, Family::Own, Family::Blocked(2)])];
                (self.uneven, self.odd) = (0, 50);
            }
        }
        self.arrays = self.blocks.iter().map(|block| random.below(block.arrays.len())).collect();
    }

    fn any(random: &mut Random) -> Self {
        let two_dimensions = random.percent(15);
        let local = if two_dimensions {
            random.one(&[[4, 2, 1], [2, 4, 1], [8, 2, 1], [4, 4, 1]])
        } else {
            random.one(&[[4, 1, 1], [8, 1, 1], [8, 1, 1], [16, 1, 1], [16, 1, 1], [32, 1, 1], [6, 1, 1]])
        };
        let tidy = random.percent(65);
        let grouped = if tidy { random.one(&[0, 0, 0, 40, 100]) } else { random.one(&[0, 0, 30, 60, 100]) };
        let count = if tidy { 1 } else { random.between(1, 3) };
        let mut families: Vec<Family> = (0..count).map(|_| Family::random(random, grouped > 50)).collect();
        if tidy && random.percent(25) {
            families = vec![Family::Own];
        }
        let count = if tidy { random.between(1, 2) } else { random.between(2, 3) };
        let blocks: Vec<Block> = (0..count).map(|_| Block::random(random, ROOM)).collect();
        let arrays = blocks.iter().map(|block| random.below(block.arrays.len())).collect();
        let guarded = random.percent(50);
        let many = matches!(families[0], Family::Blocked(_) | Family::Strided(_));
        let looped = random.percent(if many { 70 } else { 20 });
        let calm = if tidy { random.one(&[0, 0, 0, 50]) } else { 0 };
        if looped {
            // Who goes over four elements in a loop has four.
            for family in &mut families {
                if let Family::Blocked(2 | 3) = family {
                    *family = Family::Blocked(4);
                }
            }
        }
        let uneven = random.one(&[0, 20, 60]);
        let late = random.one(&[10, 40, 80]);
        let turned = random.one(&[0, 10, 40]);
        let cells = families.iter().any(|family| matches!(family, Family::Cell(..))) || random.percent(15);
        let straight = random.one(&[20, 40, 80]);
        Self {
            blocks,
            families,
            local,
            two_dimensions,
            grouped,
            straight,
            tidy,
            calm,
            odd: 20,
            guarded,
            arrays,
            looped,
            uneven,
            late,
            turned,
            cells,
        }
    }
}

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
        vulkan_memory_model: language == Language::Glsl && random.percent(2),
        subgroups: false,
        bindings: Vec::new(),
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
            (_, 5) if !self.kernel.vulkan_memory_model => "coherent ",
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

    /// A kernel that would fit the others of its pool but for one thing.
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

    /// A loop that is left for good somewhere inside.
    fn left_loop(&mut self) -> Stmt {
        let mut stmt = self.looped(3);
        let cond = self.condition();
        let out = self.random.one(&["return", "return", "return", "break"]);
        let line = Stmt::line(format!("if ({cond}) {out};"));
        self.returned |= out == "return";
        self.uniform = false;
        let at = self.random.below(stmt.body.len() + 1);
        let line = match self.random.below(4) {
            0 => Stmt::block("switch (u0 & 1u) {", vec![Stmt::block("case 1u:", vec![line], "break;")], "}"),
            _ => line,
        };
        stmt.body.insert(at, line);
        stmt
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

    fn anything(&mut self) -> Vec<Stmt> {
        let mut stmts = self.prologue();
        self.budget = 4 + self.random.below(10);
        if self.random.percent(35) {
            stmts.push(self.range_guard());
        }
        while self.budget > 0 {
            stmts.extend(self.statement(0));
        }
        if self.random.percent(85) {
            stmts.extend(self.last_store());
        }
        stmts
    }

    fn body(&mut self, depth: usize, most: u32) -> Vec<Stmt> {
        let uniform = std::mem::replace(&mut self.uniform, false);
        let count = self.random.between(1, most);
        let stmts = (0..count).flat_map(|_| self.statement(depth + 1)).collect();
        self.uniform = uniform && !self.returned;
        stmts
    }

    fn statement(&mut self, depth: usize) -> Vec<Stmt> {
        self.budget = self.budget.saturating_sub(1);
        let deep = depth >= 3 || self.budget == 0;
        match self.random.below(if deep { 60 } else { 100 }) {
            0..=15 => self.load(),
            16..=26 => vec![self.assign()],
            27..=45 => self.store(),
            46..=51 => vec![self.leave()],
            52..=54 => self.private(),
            55..=57 => self.exchange(),
            58 => self.count(),
            59 => self.helper(),
            60..=71 => {
                let cond = self.condition();
                let then = self.body(depth, 3);
                let mut stmts = vec![Stmt::block(format!("if ({cond}) {{"), then, "}")];
                if self.random.percent(35) {
                    let other = self.body(depth, 2);
                    stmts[0].tail = "} else {".to_owned();
                    stmts = vec![Stmt::block("", vec![stmts.remove(0), Stmt::block("", other, "}")], "")];
                }
                stmts
            }
            72..=92 => vec![self.looped(depth)],
            _ => vec![self.switch(depth)],
        }
    }

    fn looped(&mut self, depth: usize) -> Stmt {
        let name = format!("k{}", self.counters);
        self.counters += 1;
        let (limit, small) = match self.random.below(10) {
            0..=2 => ("4u".to_owned(), true),
            3 => ("3u".to_owned(), true),
            4 => ("5u".to_owned(), false),
            5..=7 => ("p.m".to_owned(), true),
            8 => ("(u0 & 3u)".to_owned(), true),
            _ => ("(c0 & 7u)".to_owned(), false),
        };
        let limit = if self.kernel.constant && self.random.percent(30) { "sc".to_owned() } else { limit };
        let uneven = self.uneven(&name);
        let small = small || uneven.is_some();
        let (before, limit) = uneven.unwrap_or((String::new(), limit));
        let (head, tail, small) = match self.random.below(8) {
            0..=2 => (
                format!("for (uint {name} = 0u{before}; {name} < {limit}; ++{name}) {{"),
                "}".to_owned(),
                small,
            ),
            3 => (format!("for (uint {name} = 3u; {name} > 0u; --{name}) {{"), "}".to_owned(), true),
            4 => (format!("for (uint {name} = 0u; {name} != 4u; ++{name}) {{"), "}".to_owned(), true),
            5 => (
                format!("{{ uint {name} = 0u{before}; while ({name}++ < {limit}) {{"),
                "} }".to_owned(),
                false,
            ),
            _ => (
                format!("{{ uint {name} = 0u{before}; do {{"),
                if self.random.percent(50) {
                    format!("}} while (++{name} < {limit}); }}")
                } else {
                    format!("}} while ({name}++ < {limit}); }}")
                },
                small,
            ),
        };
        self.loops.push((name, small));
        let breakable = std::mem::replace(&mut self.breakable, true);
        let body = self.body(depth, 4);
        self.breakable = breakable;
        self.loops.pop();
        Stmt::block(head, body, tail)
    }

    /// A limit of three or less that differs between invocations, or that only memory knows, with what declares it behind the
    /// counter: what a loop does may change what the limit was made of.
    fn uneven(&mut self, counter: &str) -> Option<(String, String)> {
        if !self.random.percent(self.theme.uneven) {
            return None;
        }
        let limit = match self.random.below(8) {
            0 => "(g & 3u)".to_owned(),
            1 => "(u0 & 3u)".to_owned(),
            2 => "(1u + (g & 1u) * 2u)".to_owned(),
            3 => "min(c0, 3u)".to_owned(),
            4 => "(g < p.m * 4u ? 3u : 1u)".to_owned(),
            5 => "min(u1 & 7u, 3u)".to_owned(),
            _ => format!("({} & 3u)", self.read_word()),
        };
        let kept = || (format!(", {counter}_end = {limit}"), format!("{counter}_end"));
        Some(if self.random.percent(80) { kept() } else { (String::new(), limit) })
    }

    fn switch(&mut self, depth: usize) -> Stmt {
        let selector = self.random.one(&["u0 & 3u", "g & 3u", "c0", "p.m", "u1 % 3u"]);
        let mut cases = Vec::new();
        let breakable = std::mem::replace(&mut self.breakable, true);
        let count = self.random.between(1, 3);
        for case in 0..count {
            let body = self.body(depth, 2);
            let tail = if self.random.percent(70) { "break;" } else { "f0 += 0.5;" };
            cases.push(Stmt::block(format!("case {case}u:"), body, tail));
        }
        if self.random.percent(60) {
            let body = self.body(depth, 2);
            cases.push(Stmt::block("default:", body, "f0 -= 0.25;"));
        }
        self.breakable = breakable;
        Stmt::block(format!("switch ({selector}) {{"), cases, "}")
    }

    fn leave(&mut self) -> Stmt {
        let cond = self.condition();
        let in_loop = !self.loops.is_empty();
        let how = match self.random.below(6) {
            0 | 1 if self.breakable && in_loop => "break",
            2 if in_loop => "continue",
            _ => "return",
        };
        self.returned |= how == "return";
        self.uniform = false;
        Stmt::line(format!("if ({cond}) {how};"))
    }

    fn condition(&mut self) -> String {
        let c = self.random.below(8);
        match self.random.below(16) {
            0..=3 => "g < p.n".to_owned(),
            4 => format!("g >= p.m * {c}u"),
            5 => format!("(g & 3u) == {}u", c & 3),
            6 | 7 => format!("(u0 & 3u) == {}u", c & 3),
            8 | 9 => format!("f{} > 0.{c}", c % 3),
            10 => format!("c0 < {}u", c + 1),
            11 => "isnan(f0) || isinf(f1)".to_owned(),
            12 if self.kernel.grouped => "l == 0u".to_owned(),
            13 => "c0 < 100u".to_owned(),
            14 if !self.loops.is_empty() => {
                let (name, _) = self.random.pick(&self.loops);
                format!("({name} + u0) % 3u == 1u")
            }
            _ => {
                let read = self.read_float();
                format!("{read} > 0.{c}")
            }
        }
    }

    /// The number of one of an invocation's own elements.
    fn own(&mut self) -> String {
        let by_loop = match (self.calm, self.theme.tidy && !self.theme.looped) {
            (_, true) => 5,
            (true, _) => 90,
            _ => 65,
        };
        if !self.loops.is_empty() && self.random.percent(by_loop) {
            let (name, small) = self.random.pick(&self.loops).clone();
            return if small && self.random.percent(80) { name } else { format!("({name} & 3u)") };
        }
        let most = if self.theme.tidy && !self.theme.looped { 80 } else { 10 };
        match self.random.below(most) {
            0..=5 | 10.. => "0u".to_owned(),
            6 => "1u".to_owned(),
            7 => "2u".to_owned(),
            8 => "3u".to_owned(),
            _ => "(u0 & 3u)".to_owned(),
        }
    }

    /// The array that an access goes to.
    fn array(&mut self, binding: &Binding) -> usize {
        let all = binding.block.arrays.len();
        match self.theme.arrays.get(binding.home) {
            Some(&array) if self.theme.tidy && array < all && self.random.percent(92) => array,
            _ => self.random.below(all),
        }
    }

    /// What a kernel of a tidy pool ends with: its elements, all or one.
    fn last_store(&mut self) -> Vec<Stmt> {
        if !self.theme.tidy || !self.theme.looped || self.random.percent(15) {
            return self.store();
        }
        let name = format!("k{}", self.counters);
        self.counters += 1;
        let even = self.random.one(&["4u", "4u", "p.m", "p.m"]);
        let uneven = self.uneven(&name);
        let behind = if uneven.is_some() { 75 } else { 15 };
        let (before, limit) = uneven.unwrap_or_else(|| (String::new(), even.to_owned()));
        let (head, tail) = if self.random.percent(self.theme.late) {
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

    fn index(&mut self, role: Role) -> String {
        let size = self.kernel.size();
        match role {
            Role::Owned(family) => {
                let j = self.own();
                family.index(&j, "g", size)
            }
            Role::PerGroup => "w".to_owned(),
            Role::Cells => "0u".to_owned(),
            Role::Counters => self.random.one(&["g & 7u", "0u", "u0 & 15u"]).to_owned(),
            Role::Input => {
                if self.random.percent(if self.theme.tidy { 1 } else { 5 }) {
                    return "(u0 & 63u)".to_owned();
                }
                let family = self.family();
                let j = self.own();
                let index = family.index(&j, "g", size);
                match self.random.below(if self.theme.tidy { 80 } else { 20 }) {
                    0 => format!("{index} + 1u"),
                    1 => format!("min({index}, p.n)"),
                    2 => format!("({index}) % 128u"),
                    _ => index,
                }
            }
        }
    }

    /// A scalar somewhere in an element, and its type.
    fn place(&mut self, number: usize) -> (String, Scalar) {
        let binding = self.kernel.bindings[number].clone();
        let index = self.index(binding.role);
        if binding.uniform {
            let Type::Vector(scalar, _) = binding.block.arrays[0].element else {
                return ("p.f".to_owned(), Scalar::F32);
            };
            return (format!("b{number}.a0[({index}) >> 2u][({index}) & 3u]"), scalar);
        }
        let array = self.array(&binding);
        let element = self.kernel.element(number, array, &index);
        let loops = self.loops.clone();
        let (path, scalar) =
            binding.block.arrays[array].element.leaf(self.random, &mut |random, n| match random.below(10) {
                0 | 1 => format!("(u0 % {n}u)"),
                2 | 3 if !loops.is_empty() => format!("({} % {n}u)", loops[0].0),
                _ => format!("{}", random.below(n as usize)),
            });
        (element + &path, scalar)
    }

    fn readable(&mut self) -> Option<usize> {
        let readable: Vec<usize> = (0..self.kernel.bindings.len())
            .filter(|&n| matches!(self.kernel.bindings[n].role, Role::Input | Role::Owned(_)))
            .collect();
        let inputs: Vec<usize> =
            readable.iter().copied().filter(|&n| self.kernel.bindings[n].role == Role::Input).collect();
        let only = if self.calm { 97 } else { 85 };
        if self.theme.tidy && !inputs.is_empty() && self.random.percent(only) {
            return Some(*self.random.pick(&inputs));
        }
        (!readable.is_empty()).then(|| *self.random.pick(&readable))
    }

    fn read_float(&mut self) -> String {
        let Some(number) = self.readable() else { return "p.f".to_owned() };
        let (place, scalar) = self.place(number);
        match scalar {
            Scalar::F32 => place,
            Scalar::U32 | Scalar::I32 if self.random.percent(30) => format!("uintBitsToFloat(uint({place}))"),
            _ => format!("float(uint({place}) & 255u)"),
        }
    }

    fn read_word(&mut self) -> String {
        let Some(number) = self.readable() else { return "p.n".to_owned() };
        let (place, scalar) = self.place(number);
        match scalar {
            Scalar::F32 => format!("floatBitsToUint({place})"),
            Scalar::U64 if self.random.percent(50) => format!("uint({place} >> 32)"),
            _ => format!("uint({place})"),
        }
    }

    fn load(&mut self) -> Vec<Stmt> {
        let over = self.theme.tidy && self.theme.looped && self.loops.is_empty();
        if over && self.random.percent(if self.calm { 60 } else { 30 }) {
            return vec![self.load_all()];
        }
        let to = self.random.below(3);
        if self.random.percent(12) && self.is_glsl() {
            // A whole element, then a part of it.
            if let Some(number) = self.readable() {
                let binding = self.kernel.bindings[number].clone();
                if !binding.uniform {
                    let index = self.index(binding.role);
                    let array = self.array(&binding);
                    let element = &binding.block.arrays[array].element;
                    let whole = self.kernel.element(number, array, &index);
                    let (path, scalar) =
                        element.leaf(self.random, &mut |random, n| random.below(n as usize).to_string());
                    let name = element.name();
                    let part = match scalar {
                        Scalar::F32 if self.calm => format!("u1 ^= floatBitsToUint(t{path});"),
                        _ if self.calm => format!("u1 ^= uint(t{path});"),
                        Scalar::F32 => format!("f{to} += t{path};"),
                        _ => format!("f{to} += float(t{path});"),
                    };
                    return vec![Stmt::line(format!("{{ {name} t = {whole}; {part} }}"))];
                }
            }
        }
        if self.calm {
            let (to, op) = (self.random.between(1, 2), self.random.one(&["+=", "^="]));
            let read = self.read_word();
            return vec![Stmt::line(format!("u{to} {op} {read};"))];
        }
        if self.random.percent(70) {
            let read = self.read_float();
            let op = self.random.one(&["=", "+=", "*=", "="]);
            vec![Stmt::line(format!("f{to} {op} {read};"))]
        } else {
            let read = self.read_word();
            let op = self.random.one(&["=", "+=", "^=", "="]);
            vec![Stmt::line(format!("u{to} {op} {read};"))]
        }
    }

    /// Loads of an invocation's elements, one after the other.
    fn load_all(&mut self) -> Stmt {
        let name = format!("k{}", self.counters);
        self.counters += 1;
        let limit = self.random.one(&["4u", "4u", "3u", "2u", "p.m"]);
        self.loops.push((name.clone(), true));
        let body = self.load();
        self.loops.pop();
        Stmt::block(format!("for (uint {name} = 0u; {name} < {limit}; ++{name}) {{"), body, "}")
    }

    fn assign(&mut self) -> Stmt {
        let to = self.random.below(3);
        if self.random.percent(65) {
            let value = self.float(0);
            Stmt::line(format!("f{to} = {value};"))
        } else {
            let value = self.word(0);
            Stmt::line(format!("u{to} = {value};"))
        }
    }

    fn float(&mut self, depth: usize) -> String {
        let leaf = |r: &mut Random| match r.below(6) {
            0..=3 => format!("f{}", r.below(3)),
            4 => r.one(&["0.5", "2.0", "-1.5", "1.0e-3", "p.f", "0.0"]).to_owned(),
            _ => format!("float(u{} & 31u)", r.below(3)),
        };
        if depth >= 2 {
            return leaf(self.random);
        }
        match self.random.below(34) {
            0..=4 => leaf(self.random),
            5..=13 => {
                let (a, b) = (self.float(depth + 1), self.float(depth + 1));
                let op = self.random.one(&["+", "-", "*", "*", "/"]);
                format!("({a} {op} {b})")
            }
            14..=27 => {
                let a = self.float(depth + 1);
                let f = self.random.one(&[
                    "exp",
                    "log",
                    "exp2",
                    "log2",
                    "sqrt",
                    "inversesqrt",
                    "fract",
                    "floor",
                    "abs",
                    "sign",
                    "degrees",
                    "radians",
                    "sin",
                    "trunc",
                    "ceil",
                    "round",
                ]);
                format!("{f}({a})")
            }
            28 => format!("({} / {})", 1.0f32, leaf(self.random)).replace("(1 ", "(1.0 "),
            29 => {
                let (a, b, c) = (leaf(self.random), leaf(self.random), leaf(self.random));
                let f = self.random.one(&["fma", "mix", "clamp2", "minmax"]);
                match f {
                    "clamp2" => format!("clamp({a}, -1.0, 1.0)"),
                    "minmax" => format!("max(min({a}, 1.0), 0.0)"),
                    _ => format!("{f}({a}, {b}, {c})"),
                }
            }
            30 => {
                let (a, b) = (leaf(self.random), leaf(self.random));
                let f = self.random.one(&["min", "max", "pow", "step"]);
                format!("{f}({a}, {b})")
            }
            31 => format!("uintBitsToFloat(u{})", self.random.below(3)),
            32 if self.is_glsl() => format!("ldexp({}, int(u0 & 7u) - 3)", leaf(self.random)),
            _ => format!("length(vec2({}, {}))", leaf(self.random), leaf(self.random)),
        }
    }

    fn word(&mut self, depth: usize) -> String {
        let leaf = |r: &mut Random| match r.below(8) {
            0..=3 => format!("u{}", r.below(3)),
            4 => "g".to_owned(),
            5 => r.one(&["p.n", "p.m", "c0", "3u", "17u", "0x80000000u"]).to_owned(),
            6 => format!("floatBitsToUint(f{})", r.below(3)),
            _ => format!("{}u", r.below(64)),
        };
        if depth >= 2 {
            return leaf(self.random);
        }
        match self.random.below(16) {
            0..=3 => leaf(self.random),
            4..=9 => {
                let (a, b) = (self.word(depth + 1), self.word(depth + 1));
                let op = self.random.one(&["+", "-", "*", "^", "&", "|"]);
                format!("({a} {op} {b})")
            }
            10 => format!("({} >> {}u)", leaf(self.random), self.random.below(9)),
            11 => format!("({} % {}u)", leaf(self.random), self.random.between(1, 9)),
            12 => format!("min({}, {})", leaf(self.random), leaf(self.random)),
            13 if self.is_glsl() => format!(
                "uint((uint64_t({}) * uint64_t({})) >> {})",
                leaf(self.random),
                leaf(self.random),
                self.random.below(40)
            ),
            14 if self.is_glsl() => {
                self.length().unwrap_or_else(|| format!("bitfieldReverse({})", leaf(self.random)))
            }
            _ => format!("({} > {} ? {} : {})", leaf(self.random), leaf(self.random), "u0", "u1"),
        }
    }

    fn scalar(&mut self, scalar: Scalar) -> String {
        match scalar {
            // No two parts of an element alike, so that it shows where they go.
            Scalar::F32 if self.calm => {
                format!("(f{} + {}.0)", self.random.below(2), self.random.below(50))
            }
            Scalar::F32 if self.random.percent(75) => format!("f{}", self.random.below(3)),
            Scalar::F32 => self.float(1),
            Scalar::U32 => self.word(1),
            Scalar::I32 => format!("int({})", self.word(1)),
            Scalar::U64 => format!("(uint64_t({}) << 32 | uint64_t({}))", self.word(1), self.word(1)),
            Scalar::U8 | Scalar::U16 => format!("{}({})", scalar.name(), self.word(1)),
        }
    }

    fn store(&mut self) -> Vec<Stmt> {
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
    fn private(&mut self) -> Vec<Stmt> {
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
    fn exchange(&mut self) -> Vec<Stmt> {
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
                vec![Stmt::block(
                    "{",
                    vec![
                        wait.clone(),
                        Stmt::line(format!("{own} = f0;")),
                        wait.clone(),
                        Stmt::line(format!("f1 += {other};")),
                        wait,
                    ],
                    "}",
                )]
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

    fn count(&mut self) -> Vec<Stmt> {
        let counters: Vec<usize> = (0..self.kernel.bindings.len())
            .filter(|&n| self.kernel.bindings[n].role == Role::Counters)
            .collect();
        let Some(&number) = counters.first() else { return vec![self.assign()] };
        let index = self.index(Role::Counters);
        let op = self.random.one(&["atomicAdd", "atomicAdd", "atomicMax", "atomicXor", "atomicOr"]);
        vec![Stmt::line(format!("{op}(b{number}.a0[{index}], u0 & 15u);"))]
    }

    fn helper(&mut self) -> Vec<Stmt> {
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
