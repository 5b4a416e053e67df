//! A pool of kernels: lists are drawn from it, so that each kernel is loaded once.

use std::sync::Arc;

use super::bench::{Bench, Cover};
use super::open;
use super::pattern::Pattern;
use super::random::Random;
use super::recipe::{Pick, Recipe, Role, Store};
use super::soup;
use super::text::{CONSTANTS, stand_in};
use vkfuse_jit::kernel::{Kernel, KernelError, Module, SpecValue, Specialized};

/// A kernel with its specialization constants.
pub struct PoolKernel {
    /// Its place in the pool.
    pub number: usize,
    /// The module.
    pub module: Module,
    /// Values of its specialization constants.
    pub spec: Vec<(u32, SpecValue)>,
    /// The kernel specialised.
    pub kernel: Arc<Specialized>,
    /// Where it comes from; the literals 7001 and following are specialization constants in kernels that have any.
    pub text: String,
    pub(crate) kind: Kind,
}

/// What is known of a kernel by construction.
pub(crate) enum Kind {
    /// Nothing.
    Soup { dims: usize },
    /// Everything.
    Known { role: Role, recipe: Recipe, uses: Vec<Use> },
}

/// How a kernel uses one binding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) pattern: Pattern,
    pub(crate) writes: bool,
    pub(crate) atomic: bool,
    /// Whether all elements are read or written, whatever the data.
    pub(crate) all: bool,
    /// Whether it is the table of [`Pattern::Table`], or of [`Pick::Uniform`].
    pub(crate) table: bool,
    /// Whether its length is the number of elements.
    pub(crate) by_length: bool,
}

impl Recipe {
    /// How its bindings are used, in the order in which the text declares them.
    fn uses(&self) -> Vec<Use> {
        let one = |pattern, all| Use {
            set: 0,
            binding: 0,
            pattern,
            writes: false,
            atomic: false,
            all,
            table: false,
            by_length: false,
        };
        let mut uses: Vec<Use> = self.reads.iter().map(|&p| one(p, self.reads_all())).collect();
        if self.reads.contains(&Pattern::Table) || self.write == Pattern::Table {
            uses.push(Use { table: true, ..one(Pattern::Own, true) });
        }
        if self.pick == Some(Pick::Uniform) {
            uses.push(Use { table: true, ..one(Pattern::Own, true) });
        }
        if self.second {
            uses.push(Use { writes: true, ..one(Pattern::Own, self.writes_all()) });
        }
        uses.push(Use {
            set: u32::from(self.far),
            writes: true,
            atomic: matches!(self.store, Store::Atomic(_)),
            by_length: self.guard == super::recipe::Guard::Length,
            ..one(self.write, self.writes_all())
        });
        for (number, used) in uses.iter_mut().enumerate() {
            used.binding = number as u32;
        }
        uses
    }
}

/// Gives a module its specialization constants. A runtime loads it on its device on the way.
pub type Load<'a> = dyn FnMut(&Module, &[(u32, SpecValue)]) -> Arc<Specialized> + 'a;

/// Loads a kernel for the interpreter alone.
///
/// # Panics
/// If the kernel cannot be specialised, which is a defect of the generator.
pub fn load(module: &Module, spec: &[(u32, SpecValue)]) -> Arc<Specialized> {
    let kernel = Kernel::new(module, None).expect("one entry point");
    kernel.specialize(spec).expect("its own constants")
}

pub(crate) struct Pool {
    pub(crate) kernels: Vec<Arc<PoolKernel>>,
    pub(crate) benches: Vec<Bench>,
}

impl Pool {
    /// This many benches with kernels of every role on each.
    pub(crate) fn new(random: &mut Random, benches: usize, load: &mut Load<'_>) -> Self {
        let mut pool = Self { kernels: Vec::new(), benches: Vec::new() };
        for number in 0..benches {
            let bench = Bench::random(random, number);
            pool.benches.push(bench);
            let tiles = if matches!(bench.cover, Cover::One | Cover::Rows) { 7 } else { 0 };
            for (role, count) in [(Role::Elementwise, 8), (Role::Tile, tiles), (Role::Cross, 8)] {
                for _ in 0..count {
                    let recipe = Recipe::random(random, bench, role);
                    pool.add_known(role, recipe, load);
                }
            }
        }
        for _ in 0..4 * benches {
            pool.add_soup(random, load);
        }
        pool
    }

    fn add_known(&mut self, role: Role, recipe: Recipe, load: &mut Load<'_>) {
        let text = recipe.text();
        let mut module = compile(self.kernels.len(), &text);
        let mut spec = Vec::new();
        if recipe.open {
            let values = [recipe.bench.items(), 5, 40];
            // The defaults are others, so that a constant that is not set shows.
            let words = open::open(module.words(), &[4, 9, 33]);
            module = checked(Module::from_words(module.name(), &words), &text);
            let opened = Kernel::new(&module, None);
            let opened = opened.as_ref().map_or(&[][..], Kernel::spec_constants);
            let known: Vec<u32> = opened.iter().map(|c| c.id).collect();
            debug_assert!(known.iter().all(|&id| id < CONSTANTS) && stand_in(0) > 7000);
            spec = known.iter().map(|&id| (id, SpecValue::U32(values[id as usize]))).collect();
        }
        let kernel = load(&module, &spec);
        let uses = recipe.uses();
        let number = self.kernels.len();
        let kind = Kind::Known { role, recipe, uses };
        self.kernels.push(Arc::new(PoolKernel { number, module, spec, kernel, text, kind }));
    }

    fn add_soup(&mut self, random: &mut Random, load: &mut Load<'_>) {
        let shape = *random.pick(&soup::SHAPES);
        let open = random.one_in(4);
        let text = soup::kernel_text(random, shape, open);
        let number = self.kernels.len();
        let module = compile(number, &text);
        let spec = match open {
            true => vec![(0, SpecValue::U32(2 + random.below(3) as u32))],
            false => Vec::new(),
        };
        let kernel = load(&module, &spec);
        let dims = if shape[1] > 1 { 2 } else { 1 };
        let kind = Kind::Soup { dims };
        self.kernels.push(Arc::new(PoolKernel { number, module, spec, kernel, text, kind }));
    }
}

fn compile(number: usize, text: &str) -> Module {
    checked(Module::from_wgsl(&format!("k{number}"), text), text)
}

fn checked(module: Result<Module, KernelError>, text: &str) -> Module {
    module.unwrap_or_else(|error| panic!("{error}\n{text}"))
}
