//! Runs one dispatch: the state of a work-group, and the loop that executes its invocations.

mod access;
mod barrier;
mod report;
mod subgroup;
mod texel;
mod world;

use super::compute::compute;
use super::decode::NONE;
use super::error::OracleError;
use super::finding::Findings;
use super::input::{Position, unfold};
use super::memory::Memory;
use super::program::{Edge, Inst, Program};
use super::schedule::{Order, Random};
use super::trace::Trace;
use super::undefined::Notice;
use super::{Dispatch, Options, Progress};
use access::Site;
use world::World;

/// Most work-groups in a dispatch; their order is a list.
const GROUP_LIMIT: u128 = 1 << 24;

/// Instructions after which it is asked whether to go on.
const ASKED_AFTER: u64 = 1 << 20;

/// What ends a run early.
enum Ended {
    Failed(OracleError),
    /// It was not to go on.
    Stopped,
}

impl From<OracleError> for Ended {
    fn from(error: OracleError) -> Ended {
        Ended::Failed(error)
    }
}

/// Asks whether to go on.
type GoesOn<'a> = Option<&'a dyn Fn(Progress) -> bool>;

/// What an invocation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Waits at the instruction that its program counter points at.
    Barrier,
    SubgroupBarrier,
    Subgroup,
    Done,
}

pub(super) struct Machine<'a> {
    program: &'a Program,
    options: &'a Options,
    world: World<'a>,
    random: Random,
    groups: [u32; 3],
    /// Invocations in a group.
    size: u32,
    /// Register files, one after the other.
    registers: Vec<u64>,
    stride: usize,
    counters: Vec<u32>,
    states: Vec<State>,
    /// How many sets of invocations were arranged in this group.
    turn: u32,
    /// Values on their way through phis.
    scratch: Vec<u64>,
    /// How far it is, and the number of instructions at which it looks whether to go on.
    progress: Progress,
    pause: u64,
}

impl<'a> Machine<'a> {
    /// Nothing to run gives `None`.
    pub(super) fn new(
        index: usize,
        dispatch: &'a Dispatch<'a>,
        memory: &'a mut Memory,
        options: &'a Options,
        findings: &'a mut Findings,
        trace: Option<&'a mut Trace>,
    ) -> Result<Option<Self>, OracleError> {
        let program = dispatch.program;
        let product = |sizes: [u32; 3]| sizes.iter().fold(1u128, |all, size| all * u128::from(*size));
        let (size, groups) = (product(program.local_size), product(dispatch.groups));
        if size == 0 || groups == 0 {
            return Ok(None);
        }
        let left = options.max_steps.saturating_sub(findings.steps);
        // Every invocation takes a step, so this many cannot end within the limit.
        if size * groups > u128::from(left.min(u64::from(u32::MAX - 1))) {
            return Err(OracleError::StepLimit { dispatch: index, steps: findings.steps });
        }
        if groups > GROUP_LIMIT {
            let (asked, limit) = (groups as u64, GROUP_LIMIT as u64);
            return Err(OracleError::Limit { what: "the number of work-groups", asked, limit });
        }
        let size = size as u32;
        let stride = program.registers.len();
        let lanes = (stride + program.private.lanes.len()) as u64 * u64::from(size);
        if lanes > options.max_lanes {
            let limit = options.max_lanes;
            return Err(OracleError::Limit { what: "the lanes of a work-group", asked: lanes, limit });
        }
        let world = World::new(index, dispatch, memory, size, options, findings, trace)?;
        Ok(Some(Self {
            program,
            options,
            world,
            random: Random::new(options.seed ^ (index as u64) << 32),
            groups: dispatch.groups,
            size,
            registers: program.registers.repeat(size as usize),
            stride,
            counters: vec![0; size as usize],
            states: vec![State::Ready; size as usize],
            turn: 0,
            scratch: Vec::new(),
            progress: Progress { dispatch: index, done: 0, groups: groups as u32 },
            pause: 0,
        }))
    }

    /// Runs all work-groups, unless it is not to go on; whether it ran them all.
    pub(super) fn run(&mut self, goes_on: GoesOn<'_>) -> Result<bool, OracleError> {
        let groups = self.progress.groups;
        for (done, group) in (0..).zip(self.options.order.groups(groups, &mut self.random)) {
            self.progress.done = done;
            if goes_on.is_some_and(|goes_on| !goes_on(self.progress)) {
                return Ok(false);
            }
            self.begin_group(group);
            match self.group(goes_on) {
                Ok(()) => {}
                Err(Ended::Stopped) => return Ok(false),
                Err(Ended::Failed(error)) => return Err(error),
            }
        }
        Ok(true)
    }

    fn begin_group(&mut self, linear: u32) {
        self.counters.fill(self.program.start);
        self.states.fill(State::Ready);
        self.turn = 0;
        let mut position = Position {
            groups: self.groups,
            group: unfold(linear, self.groups),
            local_size: self.program.local_size,
            local: 0,
            subgroup_size: self.options.subgroup_size,
            scattered: self.program.subgroup_size.is_some(),
        };
        self.world.begin_group(linear);
        for local in 0..self.size {
            position.local = local;
            self.world.begin_invocation(&position);
        }
    }

    /// Runs one work-group to its end.
    fn group(&mut self, goes_on: GoesOn<'_>) -> Result<(), Ended> {
        let mut ready: Vec<u32> = Vec::new();
        loop {
            ready.clear();
            ready.extend((0..self.size).filter(|local| self.states[*local as usize] == State::Ready));
            if ready.is_empty() {
                return Ok(());
            }
            self.options.order.arrange(&mut ready, self.turn, &mut self.random);
            self.turn += 1;
            if self.options.order == Order::Interleaved {
                self.interleave(&mut ready, goes_on)?;
            } else {
                for local in &ready {
                    self.invocation(*local, u32::MAX, goes_on)?;
                }
            }
            self.release()?;
        }
    }

    fn interleave(&mut self, ready: &mut Vec<u32>, goes_on: GoesOn<'_>) -> Result<(), Ended> {
        while !ready.is_empty() {
            let index = self.random.below(ready.len());
            let accesses = 1 + self.random.below(3) as u32;
            self.invocation(ready[index], accesses, goes_on)?;
            if self.states[ready[index] as usize] != State::Ready {
                ready.swap_remove(index);
            }
        }
        Ok(())
    }

    /// Runs one invocation until it waits, ends, or is about to make one more than this many accesses to memory that it shares.
    fn invocation(&mut self, local: u32, accesses: u32, goes_on: GoesOn<'_>) -> Result<(), Ended> {
        let index = local as usize;
        let program = self.program;
        let r = &mut self.registers[index * self.stride..(index + 1) * self.stride];
        let world = &mut self.world;
        let mut left = accesses;
        let mut steps = world.findings.steps;
        let mut at = self.counters[index];
        world.enter(local);
        let state = loop {
            if steps >= self.pause {
                world.findings.steps = steps;
                if steps >= self.options.max_steps {
                    return Err(OracleError::StepLimit { dispatch: world.dispatch, steps }.into());
                }
                if goes_on.is_some_and(|goes_on| !goes_on(self.progress)) {
                    return Err(Ended::Stopped);
                }
                self.pause = steps.saturating_add(ASKED_AFTER).min(self.options.max_steps);
            }
            steps += 1;
            let inst = &program.code[at as usize];
            if left == 0 && inst.touches_shared_memory() {
                steps -= 1;
                break State::Ready;
            }
            match *inst {
                Inst::LoadBytes { push, dst, pointer, first, n } => {
                    left -= u32::from(!push);
                    let spans = &program.spans[first as usize..(first + n) as usize];
                    let site = Site { at, meta: r[pointer as usize], offset: r[pointer as usize + 1] };
                    let out = &mut r[dst as usize..(dst + n) as usize];
                    if push { world.load_push(site, spans, out) } else { world.load_bytes(site, spans, out) }
                }
                Inst::StoreBytes { src, pointer, first, n } => {
                    left -= 1;
                    let spans = &program.spans[first as usize..(first + n) as usize];
                    let site = Site { at, meta: r[pointer as usize], offset: r[pointer as usize + 1] };
                    world.store_bytes(site, spans, &r[src as usize..(src + n) as usize]);
                }
                Inst::LoadLanes { shared, dst, pointer, n, asked } => {
                    left -= u32::from(shared);
                    let site = Site { at, meta: r[pointer as usize], offset: r[pointer as usize + 1] };
                    let asked = program.flags(asked, n);
                    world.load_lanes(site, shared, asked, &mut r[dst as usize..(dst + n) as usize]);
                }
                Inst::StoreLanes { shared, src, pointer, n, changed } => {
                    left -= u32::from(shared);
                    let site = Site { at, meta: r[pointer as usize], offset: r[pointer as usize + 1] };
                    let changed = program.flags(changed, n);
                    world.store_lanes(site, shared, changed, &r[src as usize..(src + n) as usize]);
                }
                Inst::LoadBlock { dst, pointer, first, n } => {
                    left -= 1;
                    let spans = &program.spans[first as usize..(first + n) as usize];
                    let site = Site { at, meta: r[pointer as usize], offset: r[pointer as usize + 1] };
                    world.load_block(site, spans, &mut r[dst as usize..(dst + n) as usize]);
                }
                Inst::StoreBlock { src, pointer, first, n } => {
                    left -= 1;
                    let spans = &program.spans[first as usize..(first + n) as usize];
                    let site = Site { at, meta: r[pointer as usize], offset: r[pointer as usize + 1] };
                    world.store_block(site, spans, &r[src as usize..(src + n) as usize]);
                }
                Inst::Atomic { op, num, class, dst, pointer, value, comparator } => {
                    left -= 1;
                    let site = Site { at, meta: r[pointer as usize], offset: r[pointer as usize + 1] };
                    let operands = (r[value as usize], r[comparator as usize]);
                    r[dst as usize] = world.atomic(site, op, num, class, operands);
                }
                Inst::ReadTexel { dst, image, at: place, sizes, lod, offset, n } => {
                    left -= 1;
                    let mut place = texel::integers(r, place, sizes, offset);
                    if lod != NONE && r[lod as usize] != 0 {
                        // There is one level: no texel is there.
                        place[0] = i64::from(i32::MAX);
                    }
                    let found = world.read_texel(at, r[image as usize], &place[..sizes as usize]);
                    r[dst as usize..(dst + n) as usize].copy_from_slice(&found[..n as usize]);
                }
                Inst::WriteTexel { src, image, at: place, sizes, n } => {
                    left -= 1;
                    let place = texel::integers(r, place, sizes, NONE);
                    let values = &r[src as usize..(src + n) as usize];
                    world.write_texel(at, r[image as usize], &place[..sizes as usize], values);
                }
                Inst::Sample { dst, image, at: place, sizes, dims, offset, n } => {
                    left -= 1;
                    let floats = [0, 1, 2].map(|d| match d < sizes {
                        true => f32::from_bits(r[(place + d) as usize] as u32),
                        false => 0.0,
                    });
                    let shift = match offset {
                        NONE => [0; 3],
                        offset => texel::integers(r, offset, 3, NONE),
                    };
                    let (image, sampler) = (r[image as usize], r[image as usize + 1]);
                    let coordinates = (&floats[..sizes as usize], dims as usize);
                    let found = world.sample(at, image, world.filter(image, sampler), coordinates, shift);
                    r[dst as usize..(dst + n) as usize].copy_from_slice(&found[..n as usize]);
                }
                Inst::TexelPointer { dst, image, at: place, sizes } => {
                    let place = texel::integers(r, place, sizes, NONE);
                    let (meta, offset) = world.texel_pointer(r[image as usize], &place[..sizes as usize]);
                    (r[dst as usize], r[dst as usize + 1]) = (meta, offset);
                }
                Inst::ImageSize { dst, image, n } => {
                    let size = world.image_size(r[image as usize]).map(u64::from);
                    r[dst as usize..(dst + n) as usize].copy_from_slice(&size[..n as usize]);
                }
                Inst::ArrayLength { dst, pointer, offset, stride } => {
                    let start = r[pointer as usize + 1].saturating_add(u64::from(offset));
                    r[dst as usize] = world.array_length(r[pointer as usize], start, stride);
                }
                Inst::Reset { lane, n } => world.reset(lane as usize, n as usize),
                Inst::Jump { edge } => {
                    at = follow(program, &program.edges[edge as usize], r, &mut self.scratch);
                    continue;
                }
                Inst::Branch { cond, yes, no } => {
                    let edge = if r[cond as usize] != 0 { yes } else { no };
                    at = follow(program, &program.edges[edge as usize], r, &mut self.scratch);
                    continue;
                }
                Inst::Switch { selector, first, count, default } => {
                    let cases = &program.cases[first as usize..(first + count) as usize];
                    let value = r[selector as usize];
                    let edge = cases.iter().find(|case| case.0 == value).map_or(default, |case| case.1);
                    at = follow(program, &program.edges[edge as usize], r, &mut self.scratch);
                    continue;
                }
                Inst::Call { target, link } => {
                    r[link as usize] = u64::from(at + 1);
                    at = target;
                    continue;
                }
                Inst::Return { link } => {
                    at = r[link as usize] as u32;
                    continue;
                }
                Inst::End => break State::Done,
                Inst::Unreachable => {
                    let word = program.words[at as usize] as usize;
                    let invocation = world.global_id(world.now().invocation);
                    return Err(
                        OracleError::Unreachable { dispatch: world.dispatch, invocation, word }.into()
                    );
                }
                Inst::Barrier { subgroup: false, .. } => break State::Barrier,
                Inst::Barrier { subgroup: true, .. } => break State::SubgroupBarrier,
                Inst::Subgroup { .. } => break State::Subgroup,
                Inst::Fence { covers } => world.fence(covers),
                _ if self.options.undefined == Notice::Not => compute(inst, program, r),
                _ => world.compute_noticing(self.options.undefined, at, r),
            }
            at += 1;
        };
        world.findings.steps = steps;
        self.counters[index] = at;
        self.states[index] = state;
        Ok(())
    }
}

/// Takes an edge: the phis of the target read all their values before any is written.
#[inline]
fn follow(program: &Program, edge: &Edge, r: &mut [u64], scratch: &mut Vec<u64>) -> u32 {
    let moves = &program.moves[edge.moves as usize..(edge.moves + edge.count) as usize];
    if !moves.is_empty() {
        scratch.clear();
        for step in moves {
            scratch.extend_from_slice(&r[step.from as usize..(step.from + step.lanes) as usize]);
        }
        let mut first = 0;
        for step in moves {
            let lanes = step.lanes as usize;
            r[step.to as usize..step.to as usize + lanes].copy_from_slice(&scratch[first..first + lanes]);
            first += lanes;
        }
    }
    edge.target
}

impl Inst {
    #[inline]
    fn touches_shared_memory(&self) -> bool {
        matches!(
            self,
            Self::LoadBytes { push: false, .. }
                | Self::StoreBytes { .. }
                | Self::ReadTexel { .. }
                | Self::WriteTexel { .. }
                | Self::Sample { .. }
                | Self::LoadBlock { .. }
                | Self::StoreBlock { .. }
                | Self::LoadLanes { shared: true, .. }
                | Self::StoreLanes { shared: true, .. }
                | Self::Atomic { .. }
        )
    }
}
