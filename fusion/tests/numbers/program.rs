//! One program: its buffers, its calls, and the model that each call is applied to.

use std::{ops::Range, thread};

use bytemuck::{NoUninit, Pod, Zeroable};
use vkfuse::{
    Buffer, Error, Event, FusedList, FusionProperties, FusionWrapper, Internalization, Queue, QueueOptions,
};

use super::{random::Random, support::Rig};

/// Words of a buffer with numbers: two sets, far enough apart to be bound by themselves on every device.
const NUMBERS: usize = 2 * SET;
const SET: usize = 64;
/// The words of a set that a kernel reads: offset, stride, trip count, mode, offset of the results.
const USED: usize = 5;
/// Every number is below this, so that no index leaves a data buffer.
const BELOW: u64 = 4;
/// Items of a dispatch, two work-groups of them.
const ITEMS: usize = 64;
/// Words of a data buffer: `3 + 63 * 3 + 2` is the last that is read.
const DATA: usize = 256;
/// Data buffers. The second and the third ask for promotion.
const BUFFERS: usize = 4;

/// What all programs did.
#[derive(Debug, Default)]
pub struct Done {
    pub calls: u64,
    pub lists: u64,
    pub fused: u64,
    /// Lists after which a buffer could not be read.
    pub promoted: u64,
    pub kept: u64,
}

/// Push constants of `numbers/gather`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Push {
    n: u32,
    data: u32,
}

/// One submission.
#[derive(Clone, Debug)]
enum Step {
    /// `numbers/gather`, with all of the buffer bound if it goes by the first set, or with a set.
    Gather {
        numbers: usize,
        set: usize,
        by_range: bool,
        from: usize,
        to: usize,
        data: u32,
    },
    /// `numbers/set`
    Set {
        numbers: usize,
        at: usize,
        n: u32,
        first: u32,
    },
    Fill {
        numbers: usize,
        range: Range<usize>,
        value: u32,
    },
    Update {
        numbers: usize,
        at: usize,
        values: Vec<u32>,
    },
    Copy {
        from: usize,
        to: usize,
        range: Range<usize>,
    },
}

/// Buffers, and what they hold according to the model.
struct Memory {
    real: Buffer<u32>,
    model: Vec<u32>,
}

impl Memory {
    fn new(rig: &Rig, data: Vec<u32>) -> Memory {
        Memory { real: rig.context.buffer_from(&data).unwrap(), model: data }
    }

    fn write(&mut self, at: usize, values: &[u32]) {
        self.model[at..at + values.len()].copy_from_slice(values);
    }
}

/// A kept list with the steps that it runs.
struct Kept {
    list: FusedList,
    steps: Vec<Step>,
}

pub struct Program<'a> {
    rig: &'a Rig,
    random: Random,
    queues: [Queue; 2],
    numbers: [Memory; 2],
    data: Vec<Memory>,
    kept: Vec<Kept>,
}

type Checked = Result<(), String>;

fn said(error: Error) -> String {
    let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}

impl<'a> Program<'a> {
    pub fn new(rig: &'a Rig, seed: u64) -> Program<'a> {
        let mut random = Random::new(seed);
        let queue = || rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
        let numbers = [0, 1].map(|_| {
            let mut data = vec![0; NUMBERS];
            for set in [0, SET] {
                data[set..set + USED].copy_from_slice(&values(&mut random));
            }
            Memory::new(rig, data)
        });
        let data = (0..BUFFERS as u32)
            .map(|k| Memory::new(rig, (0..DATA as u32).map(|i| 1000 * (k + 1) + i).collect()));
        let data: Vec<Memory> = data.collect();
        for promoted in &data[1..3] {
            let _ = promoted.real.clone().promote_auto();
        }
        Program { rig, random, queues: [queue(), queue()], numbers, data, kept: Vec::new() }
    }

    pub fn run(&mut self, done: &mut Done) -> Checked {
        for number in 0..4 + self.random.below(24) {
            let what = self.call(done).and_then(|what| self.check(&what).map(|()| what));
            what.map_err(|error| format!("call {number}, {error}"))?;
            done.calls += 1;
        }
        Ok(())
    }

    /// Compares all words of all buffers. A buffer whose contents stayed inside a list gets those of the model.
    fn check(&mut self, what: &str) -> Checked {
        for (number, memory) in self.numbers.iter().chain(&self.data).enumerate() {
            let real = match memory.real.download() {
                Err(_) if number >= 2 => {
                    memory.real.upload(&memory.model).map_err(said)?;
                    continue;
                }
                real => real.map_err(said)?,
            };
            if let Some(at) = (0..real.len()).find(|at| real[*at] != memory.model[*at]) {
                let (is, should) = (real[at], memory.model[at]);
                return Err(format!(
                    "after {what}: word {at} of buffer {number} is {is} instead of {should}"
                ));
            }
        }
        Ok(())
    }

    /// Makes one call, and says which.
    fn call(&mut self, done: &mut Done) -> Result<String, String> {
        match self.random.below(20) {
            0..=2 => self.upload(),
            3..=4 => self.uploads_at_once(),
            5..=6 => self.tasks_at_once(),
            7 => self.upload_beside_a_list(done),
            8..=10 => {
                let step = self.step(None);
                let queue = self.queues[self.random.below(2)].clone();
                self.submit(&queue, &step).and_then(|event| event.wait()).map_err(said)?;
                self.apply(&step);
                Ok(format!("{step:?}"))
            }
            11..=12 if !self.kept.is_empty() => self.run_kept(done),
            _ => {
                let steps = self.steps();
                let keep = self.random.once_in(4);
                self.list(&steps, keep, done)?;
                Ok(format!("list {steps:?}"))
            }
        }
    }

    /// A write by the host of some words of the numbers.
    fn upload(&mut self) -> Result<String, String> {
        let number = self.random.below(2);
        let set = SET * self.random.below(2);
        let values = values(&mut self.random);
        let (first, len) = self.part();
        let values = &values[first..first + len];
        let (at, real) = (set + first, &self.numbers[number].real);
        let how = self.random.below(3);
        let written = match how {
            0 => real.upload_at(at, values),
            1 => real.host_write(|all| all[at..at + len].copy_from_slice(values)),
            _ => self.queues[0].update(real.write().range(at, len), values).and_then(|event| event.wait()),
        };
        written.map_err(said)?;
        self.numbers[number].write(at, values);
        Ok(format!("host write {how} of {values:?} at {at} of numbers {number}"))
    }

    /// Some words of a set: the first, and how many.
    fn part(&mut self) -> (usize, usize) {
        let first = self.random.below(USED as u64);
        (first, 1 + self.random.below((USED - first) as u64))
    }

    /// Two threads write disjoint words of one buffer.
    fn uploads_at_once(&mut self) -> Result<String, String> {
        let (number, split) = (self.random.below(2), 1 + self.random.below(USED as u64 - 1));
        let set = SET * self.random.below(2);
        let values = values(&mut self.random);
        let real = &self.numbers[number].real;
        let parts = [(set, &values[..split]), (set + split, &values[split..])];
        let written: Vec<Result<(), Error>> = thread::scope(|scope| {
            let threads = parts
                .map(|(at, part)| scope.spawn(move || (0..4).try_for_each(|_| real.upload_at(at, part))));
            threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
        });
        written.into_iter().collect::<Result<Vec<()>, Error>>().map_err(said)?;
        self.numbers[number].write(set, &values);
        Ok(format!("uploads at once of {values:?}, split at {split}, at {set} of numbers {number}"))
    }

    /// Two host tasks write disjoint words of one buffer, beside each other. Nothing waits for them but the next call that
    /// needs them.
    fn tasks_at_once(&mut self) -> Result<String, String> {
        let (number, split) = (self.random.below(2), 1 + self.random.below(USED as u64 - 1));
        let set = SET * self.random.below(2);
        let values = values(&mut self.random);
        for (at, part) in [(set, &values[..split]), (set + split, &values[split..])] {
            let (real, part) = (self.numbers[number].real.clone(), part.to_vec());
            let accessor = self.numbers[number].real.write().range(at, part.len());
            let task = self.queues[0].host_task([accessor], move |scope| {
                scope.write_range(&real, at..at + part.len(), |words| words.copy_from_slice(&part))
            });
            task.map_err(said)?;
        }
        if self.random.once_in(2) {
            self.rig.context.wait().map_err(said)?;
        }
        self.numbers[number].write(set, &values);
        Ok(format!("tasks at once with {values:?}, split at {split}, at {set} of numbers {number}"))
    }

    /// A list goes by the first set while another thread writes the second one.
    fn upload_beside_a_list(&mut self, done: &mut Done) -> Result<String, String> {
        let number = self.random.below(2);
        let values = values(&mut self.random);
        let mut steps = self.steps();
        steps.retain(|step| matches!(step, Step::Gather { .. }));
        for step in &mut steps {
            if let Step::Gather { numbers, set, by_range, .. } = step {
                (*numbers, *set, *by_range) = (number, 0, true);
            }
        }
        let real = self.numbers[number].real.clone();
        let written = thread::scope(|scope| {
            let thread = scope.spawn(|| (0..8).try_for_each(|_| real.upload_at(SET, &values)));
            let listed = self.list(&steps, false, done);
            (thread.join().expect("a thread").map_err(said), listed)
        });
        written.0.and(written.1)?;
        self.numbers[number].write(SET, &values);
        Ok(format!("list {steps:?} beside an upload of {values:?}"))
    }

    /// The submissions of a list. Most of them read what the one before wrote.
    fn steps(&mut self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..2 + self.random.below(3) {
            let before = steps.iter().rev().find_map(|step| match step {
                Step::Gather { to, .. } => Some(*to),
                _ => None,
            });
            // Commands run at once, and end the list of a kernel whose buffer they touch.
            let step = loop {
                let step = self.step(before);
                if matches!(step, Step::Gather { .. } | Step::Set { .. }) {
                    break step;
                }
            };
            steps.push(step);
        }
        steps
    }

    fn step(&mut self, before: Option<usize>) -> Step {
        let random = &mut self.random;
        let (numbers, set) = (random.below(2), SET * random.below(2));
        match random.below(16) {
            0 => Step::Set {
                numbers,
                at: set + random.below(USED as u64),
                n: 1 + random.below(2) as u32,
                first: random.below(2) as u32,
            },
            1 => {
                let (first, len) = self.part();
                Step::Fill {
                    numbers,
                    range: set + first..set + first + len,
                    value: self.random.below(BELOW) as u32,
                }
            }
            2 => {
                let (first, len) = self.part();
                Step::Update { numbers, at: set + first, values: values(&mut self.random)[..len].to_vec() }
            }
            3 => {
                let (first, len) = self.part();
                Step::Copy { from: numbers, to: 1 - numbers, range: set + first..set + first + len }
            }
            _ => {
                let from =
                    before.filter(|_| !random.once_in(4)).unwrap_or_else(|| random.below(BUFFERS as u64));
                let to = (from + 1 + random.below(BUFFERS as u64 - 1)) % BUFFERS;
                Step::Gather {
                    numbers,
                    set,
                    by_range: random.once_in(3),
                    from,
                    to,
                    data: random.below(1000) as u32,
                }
            }
        }
    }

    fn submit(&self, queue: &Queue, step: &Step) -> Result<Event, Error> {
        match step {
            Step::Gather { numbers, set, by_range, from, to, data } => {
                let all = self.numbers[*numbers].real.read();
                let accessor = if *by_range || *set > 0 { all.range(*set, SET) } else { all };
                let push = Push { n: ITEMS as u32, data: *data };
                let kernel = self.rig.kernel("numbers/gather");
                queue.submit(|h| {
                    h.arg(0, accessor)
                        .arg(1, self.data[*from].real.read())
                        .arg(2, self.data[*to].real.write());
                    h.push(&push).dispatch_items(&kernel, [ITEMS as u32, 1, 1]);
                })
            }
            Step::Set { numbers, at, n, first } => {
                let kernel = self.rig.kernel("numbers/set");
                queue.submit(|h| {
                    h.arg(0, self.numbers[*numbers].real.write());
                    h.push(&[*n, *first, *at as u32]).dispatch_items(&kernel, [*n, 1, 1]);
                })
            }
            Step::Fill { numbers, range, value } => {
                queue.fill(self.numbers[*numbers].real.write().range(range.start, range.len()), *value)
            }
            Step::Update { numbers, at, values } => update(queue, &self.numbers[*numbers].real, *at, values),
            Step::Copy { from, to, range } => queue.copy(
                self.numbers[*from].real.read().range(range.start, range.len()),
                self.numbers[*to].real.write().range(range.start, range.len()),
            ),
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Gather { numbers, set, from, to, data, .. } => {
                let used = &self.numbers[*numbers].model[*set..set + USED];
                let [offset, stride, rounds, mode, results] = used.try_into().expect("five numbers");
                let (x, at) = (&self.data[*from].model, |index: u32| index as usize);
                let value = |i: u32| {
                    let sum = match mode & 1 {
                        1 => x[at(i)],
                        _ => (0..rounds)
                            .fold(0, |sum: u32, k| sum.wrapping_add(x[at(offset + i * stride + k)])),
                    };
                    sum.wrapping_add(*data)
                };
                let made: Vec<u32> = (0..ITEMS as u32).map(value).collect();
                self.data[*to].write(results as usize, &made);
            }
            Step::Set { numbers, at, n, first } => {
                let made: Vec<u32> = (0..*n).map(|i| first + i).collect();
                self.numbers[*numbers].write(*at, &made);
            }
            Step::Fill { numbers, range, value } => {
                self.numbers[*numbers].write(range.start, &vec![*value; range.len()]);
            }
            Step::Update { numbers, at, values } => self.numbers[*numbers].write(*at, values),
            Step::Copy { from, to, range } => {
                let copied = self.numbers[*from].model[range.clone()].to_vec();
                self.numbers[*to].write(range.start, &copied);
            }
        }
    }

    /// Runs submissions in fusion mode.
    fn list(&mut self, steps: &[Step], keep: bool, done: &mut Done) -> Checked {
        let queue = self.queues[self.random.below(2)].clone();
        let fusion = FusionWrapper::new(&queue).map_err(said)?;
        fusion.start_fusion().map_err(said)?;
        for step in steps {
            self.submit(&queue, step).map_err(said)?;
        }
        let properties = FusionProperties::default();
        let properties = if self.random.once_in(3) { properties.no_rewrites() } else { properties };
        let event = if keep {
            let (event, list) = fusion.complete_and_keep(&properties).map_err(said)?;
            self.kept.push(Kept { list, steps: steps.to_vec() });
            event
        } else {
            fusion.complete_fusion(&properties).map_err(said)?
        };
        self.ended(steps, &event, done)
    }

    /// Runs a kept list again, as it is, on the other queue, or with another push constant or buffer.
    fn run_kept(&mut self, done: &mut Done) -> Result<String, String> {
        let which = self.random.below(self.kept.len() as u64);
        let mut steps = self.kept[which].steps.clone();
        let how = self.random.below(4);
        let list = &self.kept[which].list;
        let gather = steps.iter().position(|step| matches!(step, Step::Gather { .. }));
        let event = match (how, gather) {
            (1, _) => list.run_on(&self.queues[self.random.below(2)]),
            (2, Some(at)) => {
                let Step::Gather { data, .. } = &mut steps[at] else { unreachable!("it is a gather") };
                *data += 1;
                let push = Push { n: ITEMS as u32, data: *data };
                list.rebind().push(at, &push).run()
            }
            (3, _) if steps.iter().all(|step| matches!(step, Step::Gather { numbers: 0, .. })) => {
                for step in &mut steps {
                    if let Step::Gather { numbers, .. } = step {
                        *numbers = 1;
                    }
                }
                list.rebind().buffer(&self.numbers[0].real, &self.numbers[1].real).run()
            }
            _ => list.run(),
        };
        done.kept += 1;
        self.ended(&steps, &event.map_err(said)?, done)?;
        Ok(format!("kept list, way {how}, {steps:?}"))
    }

    fn ended(&mut self, steps: &[Step], event: &Event, done: &mut Done) -> Checked {
        event.wait().map_err(said)?;
        steps.iter().for_each(|step| self.apply(step));
        done.lists += 1;
        if let Some(report) = event.report() {
            done.fused += u64::from(report.dispatches < steps.len());
            let is_inside = report.plan.buffers.iter().any(|buffer| buffer.got != Internalization::None);
            done.promoted += u64::from(is_inside);
        }
        Ok(())
    }
}

fn update<T: NoUninit + Pod>(
    queue: &Queue,
    buffer: &Buffer<T>,
    at: usize,
    values: &[T],
) -> Result<Event, Error> {
    queue.update(buffer.write().range(at, values.len()), values)
}

/// A set of numbers. With most sets, a kernel reads the elements that it writes.
fn values(random: &mut Random) -> [u32; USED] {
    if !random.once_in(3) {
        let offset = random.below(2) as u32;
        return [offset, 1, 1, 0, offset];
    }
    [(); USED].map(|()| random.below(BELOW) as u32)
}
