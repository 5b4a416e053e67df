//! Lists whose legality is known by construction.
//!
//! Every buffer of a list has one [`Form`] of access; as long as all accesses keep to it, no work-group touches what
//! another one has to do with, and the list is legal. An illegal list is a legal one with one access that breaks
//! this, between two kernels that certainly do their part.

use std::sync::Arc;

use smallvec::SmallVec;

use super::bench::{Bench, Cover, Element, Size};
use super::case::{Case, Family, Legality};
use super::memory::Buffers;
use super::pattern::{Form, Pattern};
use super::pool::{Kind, Pool, PoolKernel, Use};
use super::random::Random;
use super::recipe::{Guard, Pick, Recipe, Role};
use super::text::ORDERS;
use vkfuse_jit::plan::{Arg, BufferId, Submission};

/// How an illegal list breaks the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    ReadAfterWrite,
    WriteAfterRead,
    WriteAfterWrite,
    /// Another way of sharing out the elements.
    Cover,
    /// A group reads another group's element.
    Slot,
    /// A counter of all groups is read.
    Counter,
    /// The same kernel on a view that begins elsewhere.
    View,
}

impl Violation {
    const ALL: [Self; 10] = [
        Self::ReadAfterWrite,
        Self::ReadAfterWrite,
        Self::ReadAfterWrite,
        Self::WriteAfterRead,
        Self::WriteAfterRead,
        Self::WriteAfterWrite,
        Self::Cover,
        Self::Slot,
        Self::Counter,
        Self::View,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::ReadAfterWrite => "read after write",
            Self::WriteAfterRead => "write after read",
            Self::WriteAfterWrite => "write after write",
            Self::Cover => "elements shared out in another way",
            Self::Slot => "another group's element",
            Self::Counter => "a counter of all groups",
            Self::View => "a view that begins elsewhere",
        }
    }
}

/// What the list has done to a buffer.
#[derive(Clone, Copy, Default)]
struct State {
    form: Option<Form>,
    /// Read across groups and not written: anything may read it.
    read_only: bool,
}

/// Most bytes of push constants that a list's kernels take as whole blocks, so that devices with few have room.
const MOST_PUSHED: usize = 48;

/// A list being made.
pub(super) struct Builder<'a> {
    /// Decides which kernels follow each other on which buffers.
    random: &'a mut Random,
    /// Decides sizes, numbers and contents.
    detail: &'a mut Random,
    pool: &'a Pool,
    family: Family,
    bench: Bench,
    /// Whether kernels of any work-group size take part, one element for each item.
    by_items: bool,
    exact: bool,
    size: Size,
    buffers: Buffers,
    states: Vec<State>,
    recent: Option<usize>,
    submissions: Vec<Submission>,
    kernels: Vec<Arc<PoolKernel>>,
}

/// One binding of one submission that goes to a given buffer, this many words further on.
#[derive(Clone, Copy)]
struct Forced {
    number: usize,
    logical: usize,
    words: u64,
}

type Candidate<'a> = (&'a Arc<PoolKernel>, &'a Recipe, &'a [Use]);

impl<'a> Builder<'a> {
    /// A list of a family, legal or not; `None` if the pool has no kernels for it.
    pub(super) fn case(
        random: &'a mut Random,
        detail: &'a mut Random,
        pool: &'a Pool,
        family: Family,
        legality: Legality,
    ) -> Option<Case> {
        let fits = |b: &&Bench| match family {
            Family::Tile => b.cover == Cover::One,
            Family::Rows => b.cover == Cover::Rows,
            _ => true,
        };
        let benches: Vec<&Bench> = pool.benches.iter().filter(fits).collect();
        let bench = **benches.get(random.below(benches.len()))?;
        let illegal = legality == Legality::Illegal;
        let exact = bench.cover == Cover::One && random.one_in(3);
        let by_items = family == Family::Elementwise
            && (bench.cover, bench.dims) == (Cover::One, 1)
            && !exact
            && random.one_in(3);
        let mut size = bench.size(detail, illegal, exact);
        if by_items && illegal {
            size.n += 260;
        }
        let buffers = Buffers::new(random, family == Family::Views, bench.element, &size);
        let states = vec![State::default(); buffers.logical.len()];
        let mut builder = Self {
            random,
            detail,
            pool,
            family,
            bench,
            by_items,
            exact,
            size,
            buffers,
            states,
            recent: None,
            submissions: Vec::new(),
            kernels: Vec::new(),
        };
        let mut name = "";
        if illegal {
            let violation = *builder.random.pick(&Violation::ALL);
            let fillers = builder.random.below(3);
            builder.fill(fillers)?;
            let target = builder.prepare(violation)?;
            let between = builder.random.below(3);
            builder.fill(between)?;
            builder.violate(violation, target)?;
            let fillers = builder.random.below(2);
            builder.fill(fillers)?;
            name = violation.name();
        } else {
            let length = 2 + builder.random.below(5);
            builder.fill(length)?;
        }
        let Self { detail, buffers, submissions, kernels, .. } = builder;
        let buffers = buffers.contents(detail, size.n, bench.element);
        Some(Case { family, legality, violation: name, submissions, kernels, buffers })
    }

    fn candidates(&self) -> Vec<Candidate<'a>> {
        let pool: &'a Pool = self.pool;
        let pushed = |kernel: &PoolKernel| match &kernel.kind {
            Kind::Known { recipe, .. } => recipe.pick.map_or(0, Pick::push_bytes),
            Kind::Soup { .. } => 0,
        };
        let pushed: usize = self.kernels.iter().map(|kernel| pushed(kernel)).sum();
        let fits = |recipe: &Recipe| {
            let push = recipe.pick.map_or(0, Pick::push_bytes);
            if push > 0 && pushed + push > MOST_PUSHED {
                return false;
            }
            let placed = if self.by_items {
                let b = recipe.bench;
                recipe.item_only && b.dims == 1 && b.cover == Cover::One && b.element == self.bench.element
            } else {
                recipe.bench == self.bench
            };
            placed && (self.exact || recipe.guard != Guard::Exact)
        };
        let known = |kernel: &'a Arc<PoolKernel>| match &kernel.kind {
            Kind::Known { recipe, uses, .. } if fits(recipe) => Some((kernel, recipe, uses.as_slice())),
            _ => None,
        };
        pool.kernels.iter().filter_map(known).collect()
    }

    /// Adds this many kernels of the family, legally.
    fn fill(&mut self, count: usize) -> Option<()> {
        for number in 0..count {
            let role = self.role(number);
            let of_role: Vec<Candidate<'_>> =
                self.candidates().into_iter().filter(|c| role_of(c.0) == Some(role)).collect();
            let of_role = if of_role.is_empty() { self.candidates() } else { of_role };
            let added = (0..8).any(|_| {
                let (kernel, recipe, uses) = of_role[self.random.below(of_role.len())];
                let shorter = self.may_be_shorter(recipe, uses) && self.random.one_in(6);
                self.add(kernel, recipe, uses, None, shorter)
            });
            added.then_some(())?;
        }
        Some(())
    }

    fn role(&mut self, number: usize) -> Role {
        let roles: &[Role] = match self.family {
            Family::Elementwise => &[Role::Elementwise],
            Family::Tile | Family::Rows if number == 0 => &[Role::Tile],
            Family::Tile | Family::Rows => &[Role::Tile, Role::Tile, Role::Elementwise],
            Family::Access if number == 0 => &[Role::Cross],
            Family::Access => &[Role::Cross, Role::Elementwise, Role::Tile],
            _ => &[Role::Elementwise, Role::Elementwise, Role::Tile, Role::Cross],
        };
        *self.random.pick(roles)
    }

    fn may_be_shorter(&self, recipe: &Recipe, uses: &[Use]) -> bool {
        recipe.guard != Guard::Exact && !uses.iter().any(|u| u.pattern.depends_on_count() || u.table)
    }

    /// Adds a kernel if there are buffers for all its bindings.
    fn add(
        &mut self,
        kernel: &Arc<PoolKernel>,
        recipe: &Recipe,
        uses: &[Use],
        forced: Option<Forced>,
        shorter: bool,
    ) -> bool {
        let size = self.size_for(recipe, shorter);
        let mut taken: Vec<(Use, usize)> = Vec::new();
        // Outputs first: what is read may then be in place.
        let mut order: Vec<usize> = (0..uses.len()).collect();
        order.sort_by_key(|&n| (forced.is_none_or(|f| f.number != n), !uses[n].writes));
        for number in order {
            let chosen = match forced {
                Some(forced) if forced.number == number => Some(forced.logical),
                _ => self.choose(&uses[number], &taken, forced.map(|f| f.logical)),
            };
            let Some(logical) = chosen else { return false };
            taken.push((uses[number], logical));
        }
        let mut args: SmallVec<[Arg; 8]> = SmallVec::new();
        for binding in &kernel.kernel.interface.bindings {
            let at = (binding.at.set, binding.at.binding);
            let Some((used, logical)) = taken.iter().find(|(u, _)| (u.set, u.binding) == at) else {
                return false;
            };
            let view = &self.buffers.logical[*logical];
            let moved = forced.map_or(0, |f| if uses[f.number].binding == at.1 { 4 * f.words } else { 0 });
            args.push(Arg {
                at: binding.at,
                buffer: BufferId(view.physical as u64),
                offset: view.offset + moved,
                len: if used.by_length { 4 * u64::from(size.n) } else { view.len - moved },
                promote: self.buffers.wishes[view.physical],
                numbers: None,
                image: None,
            });
        }
        for (used, logical) in &taken {
            let state = &mut self.states[*logical];
            let form = used.pattern.form();
            state.read_only =
                (state.form.is_none() || state.read_only) && form == Form::Cross && !used.writes;
            state.form.get_or_insert(form);
            if used.writes && form != Form::Cross {
                self.recent = Some(*logical);
            }
        }
        self.submissions.push(Submission {
            kernel: kernel.kernel.clone(),
            base: [0; 3],
            groups: size.groups,
            args,
            push: push(kernel, recipe, &size, 1 + self.detail.below(4) as u32),
        });
        self.kernels.push(kernel.clone());
        true
    }

    fn size_for(&mut self, recipe: &Recipe, shorter: bool) -> Size {
        let mut size = self.size;
        if shorter {
            size = recipe.bench.shorter(self.detail, &size);
        }
        if self.by_items || recipe.bench != self.bench {
            size.width = size.n;
            size.groups = [size.n.div_ceil(recipe.bench.items()), 1, 1];
        }
        // More groups than there is work for.
        let spare = matches!(recipe.bench.cover, Cover::One | Cover::Blocked(_) | Cover::Tiled(_));
        if spare && recipe.guard != Guard::Exact && recipe.bench.dims == 1 && self.random.one_in(10) {
            size.groups[0] += 1 + self.detail.below(2) as u32;
        }
        size
    }

    /// A buffer that a binding may have without making the list illegal, other than `not`.
    fn choose(&mut self, used: &Use, taken: &[(Use, usize)], not: Option<usize>) -> Option<usize> {
        if used.table {
            return Some(self.buffers.table);
        }
        let free = |logical: &usize| {
            let plain = |u: &Use| u.pattern == Pattern::Own && !u.atomic && !u.by_length;
            let in_place = |other: &Use| plain(other) && plain(used);
            taken.iter().all(|(other, l)| {
                l != logical
                    || (!other.writes && !used.writes)
                    || (in_place(other) && other.writes != used.writes)
            })
        };
        let fits = |logical: &usize| {
            let (state, form) = (self.states[*logical], used.pattern.form());
            if self.buffers.is_input(*logical) {
                return !used.writes;
            }
            match state.form {
                None => true,
                Some(_) if state.read_only => !used.writes,
                Some(known) => known == form && known != Form::Cross,
            }
        };
        let all = 0..self.buffers.logical.len();
        let possible: Vec<usize> =
            all.filter(|l| *l != self.buffers.table && Some(*l) != not && free(l) && fits(l)).collect();
        if let Some(recent) = self.recent
            && possible.contains(&recent)
            && !self.random.one_in(if used.writes { 4 } else { 2 })
            && (!used.writes || self.random.one_in(3))
        {
            return Some(recent);
        }
        // What nothing has written yet is only read now and then.
        let touched: Vec<usize> = possible
            .iter()
            .copied()
            .filter(|&l| used.writes || self.buffers.is_input(l) || self.states[l].form.is_some())
            .collect();
        let from = if touched.is_empty() || self.random.one_in(8) { &possible } else { &touched };
        (!from.is_empty()).then(|| from[self.random.below(from.len())])
    }

    /// Adds the first kernel of the pair that will be illegal; tells the buffer they meet in.
    fn prepare(&mut self, violation: Violation) -> Option<usize> {
        let wanted = |u: &Use, size: &Size, bench: &Bench| match violation {
            Violation::WriteAfterRead => {
                !u.writes && u.pattern.certainly_crosses(bench, size) && !is_of_groups(u.pattern)
            }
            Violation::Slot => u.writes && u.pattern == Pattern::Slot,
            Violation::Counter => {
                u.writes
                    && u.atomic
                    && matches!(u.pattern, Pattern::Bin | Pattern::Zero)
                    && u.pattern.certainly_crosses(bench, size)
            }
            _ => u.writes && u.pattern == Pattern::Own,
        };
        let fresh = |l: &usize| {
            self.states[*l].form.is_none() && !self.buffers.is_input(*l) && *l != self.buffers.table
        };
        let target = (0..self.states.len()).find(fresh)?;
        self.add_forced(target, 0, |u, size, bench| u.all && !u.table && wanted(u, size, bench))?;
        Some(target)
    }

    /// Adds the second.
    fn violate(&mut self, violation: Violation, target: usize) -> Option<()> {
        let words = if violation == Violation::View { 64 } else { 0 };
        match violation {
            Violation::Cover => {
                self.bench = self.other_cover()?;
                self.size.groups = [self.size.n.div_ceil(self.bench.items()), 1, 1];
            }
            Violation::View => {
                let long = self.size.n > 64 && self.bench.dims == 1;
                (long && self.bench.cover != Cover::GridStride).then_some(())?;
            }
            _ => {}
        }
        self.add_forced(target, words, |u, size, bench| {
            let crosses = u.pattern.certainly_crosses(bench, size);
            u.all
                && !u.table
                && match violation {
                    Violation::ReadAfterWrite => !u.writes && crosses && !is_of_groups(u.pattern),
                    Violation::WriteAfterWrite => u.writes && crosses,
                    Violation::WriteAfterRead => u.writes && u.pattern == Pattern::Own,
                    Violation::Slot => !u.writes && (is_of_groups(u.pattern) || u.pattern == Pattern::Zero),
                    Violation::Cover | Violation::Counter | Violation::View => {
                        !u.writes && u.pattern == Pattern::Own
                    }
                }
        })
    }

    /// Kernels with the same groups of items that share out the elements in another way.
    fn other_cover(&self) -> Option<Bench> {
        let other = match self.bench.cover {
            Cover::Blocked(_) | Cover::Tiled(_) | Cover::GridStride => Cover::One,
            _ => return None,
        };
        Some(Bench { cover: other, ..self.bench })
    }

    fn add_forced(
        &mut self,
        logical: usize,
        words: u64,
        wanted: impl Fn(&Use, &Size, &Bench) -> bool,
    ) -> Option<()> {
        let mut possible: Vec<(Candidate<'a>, usize)> = Vec::new();
        for candidate in self.candidates() {
            let found = candidate.2.iter().position(|u| wanted(u, &self.size, &candidate.1.bench));
            possible.extend(found.map(|number| (candidate, number)));
        }
        (0..8)
            .any(|_| {
                if possible.is_empty() {
                    return false;
                }
                let ((kernel, recipe, uses), number) = possible[self.random.below(possible.len())];
                // Only lists of one size are certain.
                self.add(kernel, recipe, uses, Some(Forced { number, logical, words }), false)
            })
            .then_some(())
    }
}

fn is_of_groups(pattern: Pattern) -> bool {
    matches!(pattern, Pattern::NextSlot | Pattern::AllSlots)
}

fn role_of(kernel: &PoolKernel) -> Option<Role> {
    match &kernel.kind {
        Kind::Known { role, .. } => Some(*role),
        Kind::Soup { .. } => None,
    }
}

/// Push constants of a kernel; none if it has no use for them.
pub(super) fn push(kernel: &PoolKernel, recipe: &Recipe, size: &Size, k: u32) -> SmallVec<[u8; 32]> {
    if kernel.kernel.interface.push.is_none() {
        return SmallVec::new();
    }
    let value = |field: &char| match field {
        'n' => size.n,
        'w' => size.width,
        'h' => size.height,
        'd' => size.depth,
        _ => k,
    };
    let few = [7, size.n, k, 12];
    let rest: &[u32] = match recipe.pick {
        Some(Pick::Push) => &few,
        // A vector begins at a multiple of sixteen bytes.
        Some(Pick::PushVector) => &[1 << 30, 1 << 30, 1 << 30, few[0], few[1], few[2], few[3]],
        _ => &[],
    };
    let fields = ORDERS[recipe.order].iter().map(value);
    fields.chain(rest.iter().copied()).flat_map(u32::to_le_bytes).collect()
}

/// Elements an initial buffer of a type may hold.
pub(super) fn element(random: &mut Random, element: Element) -> u32 {
    match element {
        Element::U32 => random.below(1000) as u32,
        // Small enough for a product of several to stay finite.
        Element::F32 => ((random.below(257) as f32 - 128.0) / 96.0).to_bits(),
    }
}
