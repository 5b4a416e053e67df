//! Lists: kernels of a pool one after the other, on buffers that they share.

use smallvec::SmallVec;
use vkfuse_jit::kernel::SpecValue;
use vkfuse_jit::plan::{Arg, BufferId, Numbers, Promote, Submission};

use crate::body::CELLS;
use crate::judge;
use crate::place::ROOM;
use crate::pool::{Pool, Port};
use crate::random::Random;

/// A range of an object bound to one binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) object: usize,
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

/// One kernel with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shot {
    pub(crate) kernel: usize,
    pub(crate) groups: [u32; 3],
    pub(crate) push: [u32; 5],
    pub(crate) constant: Option<u32>,
    pub(crate) bound: Vec<Bound>,
}

/// What an object holds at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) len: u32,
    pub(crate) seed: u32,
    pub(crate) promote: Promote,
}

/// A list to fuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    pub(crate) shots: Vec<Shot>,
    pub(crate) objects: Vec<Object>,
    /// What the device is said to like.
    pub(crate) shape: u32,
}

/// A binding of a submission that has as many elements as there are items, and their bytes.
type Exact = (usize, usize, u32);

impl Object {
    /// The first contents: small numbers at the front, then what shows mistakes.
    pub(crate) fn contents(&self) -> Vec<u8> {
        let mut random = Random::new(u64::from(self.seed), 77);
        let taste = random.below(3);
        let mut words = Vec::with_capacity(self.len as usize / 4);
        for number in 0..self.len / 4 {
            let word = match random.below(20) {
                _ if number < 4 => random.one(&[0, 1, 2, 3, 3, 4, 5, 6, 6, 7]),
                0 => random.one(&[
                    0x7fc0_1234,
                    0xffc0_0001,
                    0x7f80_0000,
                    0xff80_0000,
                    0x0000_0001,
                    0x8000_0000,
                    0x007f_ffff,
                    0x7f80_0001,
                ]),
                1 | 2 => random.word(),
                3..=9 if taste == 0 => random.between(0, 7),
                _ => (random.between(0, 4000) as f32 / 1000.0 - 2.0).to_bits(),
            };
            words.push(word);
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

impl List {
    /// The list of that number over a pool. This many lists in a row have the same kernels, arguments and promotions, and
    /// differ in numbers alone.
    pub fn new(pool: &Pool, seed: u64, number: usize, repeats: usize) -> Self {
        let mut random = Random::new(seed ^ 0x5eed, (number / repeats.max(1)) as u64 + 2);
        let mut detail = Random::new(seed ^ 0xde7a, number as u64 + 2);
        let count = random.one(&[2, 2, 2, 3, 3, 4, 5]);
        let mut objects: Vec<usize> = Vec::new();
        let mut lens: Vec<u32> = Vec::new();
        let mut shots: Vec<Shot> = Vec::new();
        let mut last = None;
        let mut exact: Vec<Exact> = Vec::new();
        let room =
            |home: usize| pool.blocks.get(home).map_or(1024, |block| block.bytes(ROOM).next_multiple_of(64));
        for _ in 0..count {
            let kernel = random.below(pool.kernels.len());
            let mut bound: Vec<Bound> = Vec::new();
            for port in &pool.kernels[kernel].ports {
                if bound.iter().any(|b| (b.set, b.binding) == (port.set, port.binding)) {
                    continue;
                }
                let cells = port.home == CELLS;
                let fits = |&object: &usize, random: &mut Random| {
                    let free = !bound.iter().any(|b| b.object == object) || random.percent(6);
                    free && (objects[object] == port.home
                        || random.percent(if port.uniform { 60 } else { 12 }))
                };
                let candidates: Vec<usize> = (0..objects.len()).filter(|o| fits(o, &mut random)).collect();
                let follow = last
                    .filter(|o| candidates.contains(o) && random.percent(if port.writes { 25 } else { 70 }));
                let object = match follow {
                    Some(object) => object,
                    None if !candidates.is_empty() && (cells || random.percent(55)) => {
                        *random.pick(&candidates)
                    }
                    None => {
                        objects.push(port.home);
                        lens.push(room(port.home));
                        objects.len() - 1
                    }
                };
                let len = lens[object];
                let offset = match random.below(24) {
                    _ if cells => 0,
                    0 => 16,
                    1 => 64,
                    2 => port.header.next_multiple_of(16),
                    3 => random.one(&[32, 48, 4, 8]),
                    _ => 0,
                };
                let mut range = len.saturating_sub(offset);
                if port.uniform {
                    range = range.min(port.least);
                } else if random.percent(5) {
                    range = (range / 2).next_multiple_of(4).max(port.least.min(range));
                }
                if let Some(step) = port.step.filter(|_| port.writes && random.percent(20)) {
                    exact.push((shots.len(), bound.len(), step));
                }
                bound.push(Bound { set: port.set, binding: port.binding, object, offset, len: range });
            }
            let written = pool.kernels[kernel].ports.iter().rfind(|port| port.writes);
            let place = |port: &Port| bound.iter().find(|b| (b.set, b.binding) == (port.set, port.binding));
            last = written.and_then(place).map(|b| b.object).or(last);
            shots.push(Shot { kernel, groups: [1; 3], push: [0; 5], constant: None, bound });
        }
        let wish = random.below(10);
        let mut wishes: Vec<Promote> = objects
            .iter()
            .map(|_| match wish {
                0 | 1 => Promote::None,
                2..=6 => random.one(&[Promote::Auto, Promote::Auto, Promote::None]),
                _ => random.one(&[Promote::Auto, Promote::Private, Promote::Local, Promote::None]),
            })
            .collect();
        // Of a list that keeps all to itself nothing would be seen.
        if let Some(last) = last.filter(|_| random.percent(85)) {
            wishes[last] = Promote::None;
        }
        let shape = random.word() % 8;
        let total = numbers(pool, &mut detail, &mut shots);
        for (shot, at, step) in exact {
            let bound = &mut shots[shot].bound[at];
            bound.len = bound.len.min((total * step).max(16));
        }
        wishes.resize(lens.len(), Promote::None);
        let objects = lens
            .iter()
            .zip(wishes)
            .map(|(&len, promote)| Object { len, seed: detail.word(), promote })
            .collect();
        Self { shots, objects, shape }
    }

    /// Whether all views begin where any device takes them.
    pub(crate) fn is_aligned(&self) -> bool {
        self.shots.iter().flat_map(|shot| &shot.bound).all(|b| b.offset % 64 == 0)
    }

    /// How many submissions there are.
    pub fn len(&self) -> usize {
        self.shots.len()
    }

    /// Whether there are no submissions.
    pub fn is_empty(&self) -> bool {
        self.shots.is_empty()
    }

    /// The kernel of a submission, by its number in the pool.
    pub fn kernel(&self, submission: usize) -> usize {
        self.shots[submission].kernel
    }

    /// The values of the specialization constants of a submission.
    pub fn constants(&self, pool: &Pool, submission: usize) -> Vec<(u32, SpecValue)> {
        let shot = &self.shots[submission];
        let entry = &pool.kernels[shot.kernel].entry;
        // The optimizer may have dropped a constant that nothing uses.
        let mut spec: Vec<(u32, SpecValue)> =
            shot.constant.iter().map(|&value| (0, SpecValue::U32(value))).collect();
        spec.retain(|(id, _)| entry.spec_constants().iter().any(|constant| constant.id == *id));
        spec
    }

    /// First contents of all buffers.
    pub fn contents(&self) -> Vec<Vec<u8>> {
        self.objects.iter().map(Object::contents).collect()
    }

    /// Whether a device takes it: its result is defined, its views begin where any device takes them and hold what the
    /// kernels declare, and there are work-groups.
    pub fn is_for_devices(&self, pool: &Pool) -> bool {
        let fits = |s: &Submission| {
            let mut bound = s.args.iter().zip(&s.kernel.interface.bindings);
            !s.groups.contains(&0) && bound.all(|(arg, binding)| arg.len >= binding.min_size)
        };
        self.is_aligned()
            && self.submissions(pool).is_ok_and(|list| list.iter().all(fits))
            && judge::defined(pool, self).is_ok()
    }

    /// What the planner is given.
    ///
    /// # Errors
    /// What the engine says of a kernel that it cannot specialise.
    pub fn submissions(&self, pool: &Pool) -> Result<Vec<Submission>, String> {
        (0..self.shots.len()).map(|number| self.submission(pool, number)).collect()
    }

    fn submission(&self, pool: &Pool, number: usize) -> Result<Submission, String> {
        let shot = &self.shots[number];
        let kernel = pool.kernels[shot.kernel].entry.specialize(&self.constants(pool, number));
        let kernel = kernel.map_err(|error| error.to_string())?;
        let mut args: SmallVec<[Arg; 8]> = SmallVec::new();
        for (position, used) in kernel.interface.bindings.iter().enumerate() {
            let bound = shot.bound.iter().find(|b| (b.set, b.binding) == (used.at.set, used.at.binding));
            let bound =
                bound.ok_or_else(|| format!("binding {}.{} has no memory", used.at.set, used.at.binding))?;
            // Of half the buffers the host is said to know what it wrote.
            let object = &self.objects[bound.object];
            let numbers = object.seed.is_multiple_of(2).then(|| {
                let bytes = object.contents();
                let end = bytes.len().min((bound.offset + bound.len) as usize);
                Numbers::of(kernel.number_places(position), bytes.get(bound.offset as usize..end)?)
            });
            args.push(Arg {
                at: used.at,
                buffer: BufferId(bound.object as u64),
                offset: u64::from(bound.offset),
                len: u64::from(bound.len),
                promote: self.objects[bound.object].promote,
                numbers: numbers.flatten(),
                image: None,
            });
        }
        let push = if kernel.interface.push.is_some() { shot.push_bytes() } else { Vec::new() };
        Ok(Submission { kernel, base: [0; 3], groups: shot.groups, args, push: push.into() })
    }
}

impl Shot {
    pub(crate) fn push_bytes(&self) -> Vec<u8> {
        self.push.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Group counts and push constants; the number of items of most submissions.
fn numbers(pool: &Pool, detail: &mut Random, shots: &mut [Shot]) -> u32 {
    let items: u32 = pool.local.iter().product();
    let most = (96 / items).clamp(1, 6);
    let mut groups = detail.between(1, most);
    if detail.percent(3) {
        groups = 0;
    }
    let total = groups * items;
    let edge = |detail: &mut Random| match detail.below(12) {
        0..=3 => total,
        4 => 0,
        5 => 1,
        6 | 7 => total.saturating_sub(detail.between(1, 5)),
        8 => total / 2,
        9 => total / 8 * 4,
        10 => total + detail.between(1, 4),
        _ => total.saturating_sub(4) / 4 * 4,
    };
    let n = edge(detail);
    let rounds = detail.between(0, 4);
    let stride = if detail.percent(85) { total.max(64) } else { detail.between(60, 110) };
    for shot in shots {
        let kernel = &pool.kernels[shot.kernel];
        let own: u32 = kernel.local.iter().product();
        let mut count = if own == items { groups } else { total.div_ceil(own) };
        if detail.percent(8) {
            count = detail.between(0, most);
        }
        let (times, each) = kernel.share;
        count = (count * times).div_ceil(each);
        shot.groups = if kernel.two_dimensions && detail.percent(60) && count % 2 == 0 {
            [2, count / 2, 1]
        } else {
            [count, 1, 1]
        };
        let n = if detail.percent(80) { n } else { edge(detail) };
        let m = if detail.percent(80) { rounds } else { detail.between(0, 5) };
        let f = detail.one(&[0.0f32, 1.0, -0.5, 2.5, f32::NAN, f32::INFINITY]);
        shot.push = [n, m, stride, shot.groups[0] * kernel.local[0], f.to_bits()];
        shot.constant = kernel.constant.then(|| detail.one(&[3, 1, 4, 0]));
    }
    total
}
