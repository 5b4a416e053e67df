//! A list of submissions and the buffers it works on, described once and run in several ways.
//!
//! Buffers are kept as 32-bit words, whatever the kernels make of them: fusion knows bytes only, and so does the
//! comparison of an unfused with a fused run.

use std::sync::Arc;

use vkfuse::{
    Accessor, Buffer, BufferReport, Error, Event, FusionProperties, FusionReport, FusionWrapper, Handler,
    Internalization, Kernel, Outcome, Promote, SpecValue, Stats, module::ElementType,
};

use super::{Rig, poison};

/// A buffer of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buf(usize);

/// How large a submission is.
#[derive(Clone, Copy, Debug)]
pub enum Size {
    /// In work-groups.
    Groups([u32; 3]),
    /// In work-items, rounded up to whole work-groups.
    Items([u32; 3]),
}

struct Spec {
    name: String,
    preset: Vec<u32>,
    promote: Promote,
}

/// One argument of a submission.
#[derive(Clone)]
struct Argument {
    binding: u32,
    buffer: Buf,
    access: Access,
    range: Option<(usize, usize)>,
    promote: Promote,
}

#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    ReadWrite,
}

/// One submission of a workload; built by chaining.
#[derive(Clone)]
pub struct Submit {
    kernel: String,
    arguments: Vec<Argument>,
    push: Vec<u8>,
    spec: Vec<(u32, SpecValue)>,
    size: Size,
}

impl Submit {
    /// A submission of a kernel of the `shaders` folder, with its default specialization constants.
    pub fn new(kernel: &str, size: Size) -> Submit {
        Submit { kernel: kernel.to_owned(), arguments: Vec::new(), push: Vec::new(), spec: Vec::new(), size }
    }

    pub fn read(self, binding: u32, buffer: Buf) -> Submit {
        self.argument(binding, buffer, Access::Read)
    }

    pub fn write(self, binding: u32, buffer: Buf) -> Submit {
        self.argument(binding, buffer, Access::Write)
    }

    pub fn read_write(self, binding: u32, buffer: Buf) -> Submit {
        self.argument(binding, buffer, Access::ReadWrite)
    }

    /// Narrows the argument added last to `len` words from `offset`.
    pub fn range(mut self, offset: usize, len: usize) -> Submit {
        self.last().range = Some((offset, len));
        self
    }

    /// Sets the promotion of the argument added last.
    pub fn promote(mut self, promote: Promote) -> Submit {
        self.last().promote = promote;
        self
    }

    /// Appends a word to the push constants.
    pub fn push(mut self, value: u32) -> Submit {
        self.push.extend(value.to_ne_bytes());
        self
    }

    /// Appends a float to the push constants.
    pub fn push_f32(self, value: f32) -> Submit {
        self.push(value.to_bits())
    }

    /// Sets specialization constants 0, 1 and 2, which the kernels take as their work-group size.
    pub fn local(mut self, size: &[u32]) -> Submit {
        for (id, &value) in size.iter().enumerate() {
            self.spec.push((id as u32, SpecValue::U32(value)));
        }
        self
    }

    /// Sets one specialization constant.
    pub fn spec(mut self, id: u32, value: u32) -> Submit {
        self.spec.push((id, SpecValue::U32(value)));
        self
    }

    fn argument(mut self, binding: u32, buffer: Buf, access: Access) -> Submit {
        self.arguments.push(Argument { binding, buffer, access, range: None, promote: Promote::None });
        self
    }

    fn last(&mut self) -> &mut Argument {
        self.arguments.last_mut().expect("an argument was added")
    }

    /// Its kernel.
    pub fn kernel(&self, rig: &Rig) -> Kernel {
        rig.kernel(&self.kernel)
    }

    /// Writes this submission, of its kernel, into a handler.
    pub fn record<'a>(&self, kernel: &'a Kernel, buffers: &'a [Buffer<u32>], h: &mut Handler<'a>) {
        for argument in &self.arguments {
            h.arg(argument.binding, argument.accessor(&buffers[argument.buffer.0]));
        }
        if !self.push.is_empty() {
            h.push_bytes(&self.push);
        }
        for (id, value) in &self.spec {
            h.spec(*id, *value);
        }
        match self.size {
            Size::Groups(groups) => h.dispatch(kernel, groups),
            Size::Items(items) => h.dispatch_items(kernel, items),
        };
    }
}

impl Argument {
    fn accessor<'a>(&self, buffer: &'a Buffer<u32>) -> Accessor<'a> {
        let mut accessor = match self.access {
            Access::Read => buffer.read(),
            Access::Write => buffer.write(),
            Access::ReadWrite => buffer.read_write(),
        };
        // Words stand for elements of any type.
        accessor = accessor.elements(ElementType::Bytes);
        if let Some((offset, len)) = self.range {
            accessor = accessor.range(offset, len);
        }
        match self.promote {
            Promote::Private => accessor.promote_private(),
            Promote::Local => accessor.promote_local(),
            Promote::Auto => accessor.promote_auto(),
            _ => accessor,
        }
    }
}

/// Buffers with their contents, and what is submitted on them.
#[derive(Default)]
pub struct Workload {
    buffers: Vec<Spec>,
    submits: Vec<Submit>,
}

impl Workload {
    /// A buffer with the given words.
    pub fn words(&mut self, name: &str, preset: impl IntoIterator<Item = u32>) -> Buf {
        self.buffers.push(Spec {
            name: name.to_owned(),
            preset: preset.into_iter().collect(),
            promote: Promote::None,
        });
        Buf(self.buffers.len() - 1)
    }

    /// A buffer with the given integers.
    pub fn ints(&mut self, name: &str, preset: impl IntoIterator<Item = i32>) -> Buf {
        self.words(name, preset.into_iter().map(|value| value as u32))
    }

    /// A buffer with the given floats.
    pub fn floats(&mut self, name: &str, preset: impl IntoIterator<Item = f32>) -> Buf {
        self.words(name, preset.into_iter().map(f32::to_bits))
    }

    /// A buffer of `len` poisoned words: an output or a temporary.
    pub fn poisoned(&mut self, name: &str, len: usize) -> Buf {
        self.words(name, poison(len))
    }

    /// Sets the promotion property of a buffer.
    pub fn promote(&mut self, buffer: Buf, promote: Promote) {
        self.buffers[buffer.0].promote = promote;
    }

    /// Appends a submission.
    pub fn submit(&mut self, submit: Submit) {
        self.submits.push(submit);
    }

    /// The submissions, in order.
    pub fn submits(&self) -> &[Submit] {
        &self.submits
    }

    /// How many buffers there are.
    pub fn count(&self) -> usize {
        self.buffers.len()
    }

    /// What a buffer holds before every run.
    pub fn preset(&self, buffer: Buf) -> &[u32] {
        &self.buffers[buffer.0].preset
    }

    /// Makes the buffers on the device, each with its preset in device memory.
    pub fn allocate(&self, rig: &Rig) -> Vec<Buffer<u32>> {
        self.buffers
            .iter()
            .map(|spec| {
                let buffer = rig.context.buffer_from(&spec.preset).expect("a buffer").named(&spec.name);
                match spec.promote {
                    Promote::Private => buffer.promote_private(),
                    Promote::Local => buffer.promote_local(),
                    Promote::Auto => buffer.promote_auto(),
                    _ => buffer,
                }
            })
            .collect()
    }

    /// Submits everything to the rig's queue, in order.
    pub fn submit_all(&self, rig: &Rig, buffers: &[Buffer<u32>]) -> Vec<Event> {
        self.submits
            .iter()
            .map(|submit| {
                let kernel = submit.kernel(rig);
                rig.queue
                    .submit(|h| submit.record(&kernel, buffers, h))
                    .unwrap_or_else(|error| panic!("{}: {error}", submit.kernel))
            })
            .collect()
    }

    /// Runs the list with fusion off.
    pub fn run_unfused(&self, rig: &Rig) -> Ran {
        let before = rig.context.stats();
        let buffers = self.allocate(rig);
        let events = self.submit_all(rig, &buffers);
        rig.queue.wait().expect("the unfused run");
        Ran::collect(self, rig, buffers, events, None, before)
    }

    /// Runs the list in fusion mode, by the normal protocol, and checks the protocol.
    pub fn run_fused(&self, rig: &Rig, properties: &FusionProperties) -> Ran {
        self.try_fused(rig, properties).expect("complete_fusion")
    }

    /// As [`Workload::run_fused`], where completing may fail.
    pub fn try_fused(&self, rig: &Rig, properties: &FusionProperties) -> Result<Ran, Error> {
        let before = rig.context.stats();
        let buffers = self.allocate(rig);
        let fusion = FusionWrapper::new(&rig.queue).expect("the queue enables fusion");
        fusion.start_fusion().expect("start_fusion");
        assert!(fusion.is_in_fusion_mode());
        let events = self.submit_all(rig, &buffers);
        assert!(fusion.is_in_fusion_mode());
        let complete = fusion.complete_fusion(properties)?;
        assert!(!fusion.is_in_fusion_mode());
        complete.wait().expect("the fused run");
        Ok(Ran::collect(self, rig, buffers, events, Some(complete), before))
    }

    /// Runs unfused and fused from the same contents. Demands that the fused run was one dispatch of one fused
    /// group, that every buffer the list leaves in memory is equal bit for bit, and that the validation
    /// layers are silent. Returns the fused run.
    pub fn check_fused(&self, rig: &Rig) -> Ran {
        self.check_fused_with(rig, &FusionProperties::default())
    }

    /// As [`Workload::check_fused`], with properties.
    pub fn check_fused_with(&self, rig: &Rig, properties: &FusionProperties) -> Ran {
        let unfused = self.run_unfused(rig);
        assert_eq!(unfused.stats.dispatches, self.submits.len() as u64);
        let fused = self.run_fused(rig, properties);
        fused.assert_one_fused_group();
        fused.assert_equals(&unfused);
        rig.assert_no_validation_messages();
        fused
    }

    /// Runs unfused and fused, with kernels rewritten and as they are, and demands equal results. Returns the run of kernels as
    /// they are.
    pub fn check_as_they_are(&self, rig: &Rig) -> Ran {
        self.check_equal(rig);
        let unfused = self.run_unfused(rig);
        let fused = self.run_fused(rig, &FusionProperties::default().no_rewrites());
        fused.assert_equals(&unfused);
        rig.assert_no_validation_messages();
        fused
    }

    /// Runs unfused and fused, and demands equal results whatever was fused. Returns the run in fusion mode.
    pub fn check_equal(&self, rig: &Rig) -> Ran {
        let unfused = self.run_unfused(rig);
        let fused = self.run_fused(rig, &FusionProperties::default());
        fused.assert_equals(&unfused);
        rig.assert_no_validation_messages();
        fused
    }
}

/// A run that is over.
pub struct Ran {
    names: Vec<String>,
    presets: Vec<Vec<u32>>,
    pub buffers: Vec<Buffer<u32>>,
    /// Memory as it is, of internalized buffers too.
    memory: Vec<Vec<u32>>,
    /// What every submission returned.
    pub events: Vec<Event>,
    /// What `complete_fusion` returned.
    pub complete: Option<Event>,
    /// What the run added to the context's counters.
    pub stats: Stats,
}

impl Ran {
    fn collect(
        workload: &Workload,
        rig: &Rig,
        buffers: Vec<Buffer<u32>>,
        events: Vec<Event>,
        complete: Option<Event>,
        before: Stats,
    ) -> Ran {
        let stats = rig.context.stats() - before;
        let memory =
            buffers.iter().map(|buffer| buffer.download_stale().expect("reading memory back")).collect();
        Ran {
            names: workload.buffers.iter().map(|spec| spec.name.clone()).collect(),
            presets: workload.buffers.iter().map(|spec| spec.preset.clone()).collect(),
            buffers,
            memory,
            events,
            complete,
            stats,
        }
    }

    /// The memory of a buffer as words.
    pub fn words(&self, buffer: Buf) -> &[u32] {
        &self.memory[buffer.0]
    }

    /// The memory of a buffer as integers.
    pub fn ints(&self, buffer: Buf) -> &[i32] {
        bytemuck::cast_slice(&self.memory[buffer.0])
    }

    /// The memory of a buffer as floats.
    pub fn floats(&self, buffer: Buf) -> &[f32] {
        bytemuck::cast_slice(&self.memory[buffer.0])
    }

    /// The outcome the completing event carries.
    pub fn outcome(&self) -> Outcome {
        self.complete.as_ref().expect("a run in fusion mode").outcome()
    }

    /// The report of a run in fusion mode.
    pub fn report(&self) -> Arc<FusionReport> {
        self.complete
            .as_ref()
            .expect("a run in fusion mode")
            .report()
            .expect("a fusion list that ended has a report")
    }

    /// Demands one dispatch of one fused group, in the counters, the outcome and the report alike.
    pub fn assert_one_fused_group(&self) {
        let report = self.report();
        assert_eq!(self.outcome(), Outcome::Fused, "{:#?}", report.plan);
        assert_eq!(self.stats.dispatches, 1, "{:#?}", report.plan);
        assert_eq!(report.dispatches, 1);
        assert_eq!(report.plan.groups.len(), 1, "{:#?}", report.plan);
        assert!(report.plan.groups[0].fused);
        assert!(report.plan.splits.is_empty(), "{:#?}", report.plan.splits);
        for event in &self.events {
            assert!(event.is_complete());
            assert_eq!(event.outcome(), Outcome::Fused);
        }
    }

    /// Demands what became of the list, and how many dispatches ran it.
    #[track_caller]
    pub fn assert_ran(&self, outcome: &Outcome, dispatches: u64) {
        assert_eq!(self.outcome(), *outcome, "{:#?}", self.report().plan);
        assert_eq!(self.stats.dispatches, dispatches, "{:#?}", self.report().plan);
    }

    /// How many barriers the fused groups kept between their kernels.
    pub fn barriers_kept(&self) -> usize {
        let report = self.report();
        report.plan.groups.iter().flat_map(|group| &group.barriers).filter(|barrier| barrier.kept).count()
    }

    /// What the report says about a buffer, if anything.
    pub fn buffer_report(&self, buffer: Buf) -> Option<BufferReport> {
        let id = self.buffers[buffer.0].id();
        let report = self.report();
        report.plan.buffers.iter().find(|report| report.buffer == id).cloned()
    }

    fn got(&self, buffer: Buf) -> Internalization {
        self.buffer_report(buffer).map_or(Internalization::None, |report| report.got)
    }

    /// Demands that a buffer was internalized as asked: the report says so, its memory still holds the poison, and
    /// reading it is an error that names it.
    pub fn assert_internalized(&self, buffer: Buf, as_what: Promote) {
        let name = &self.names[buffer.0];
        let as_what = match as_what {
            Promote::Private => Internalization::Private,
            Promote::Local => Internalization::Local,
            other => panic!("{other:?} is not one kind of memory"),
        };
        assert_eq!(self.got(buffer), as_what, "{name}: {:#?}", self.report().plan.buffers);
        assert_eq!(self.memory[buffer.0], self.presets[buffer.0], "{name} was written to memory");
        let error =
            self.buffers[buffer.0].download().expect_err("reading an internalized buffer is an error");
        assert!(error.to_string().contains(name.as_str()), "does not name {name}: {error}");
    }

    /// Demands that a buffer was left in memory.
    pub fn assert_in_memory(&self, buffer: Buf) {
        assert_eq!(self.got(buffer), Internalization::None, "{}", self.names[buffer.0]);
    }

    /// Demands equal memory, bit for bit, in every buffer that this run did not internalize.
    pub fn assert_equals(&self, unfused: &Ran) {
        for k in 0..self.memory.len() {
            if self.complete.is_some() && self.got(Buf(k)) != Internalization::None {
                continue;
            }
            let differs =
                self.memory[k].iter().zip(&unfused.memory[k]).position(|(fused, unfused)| fused != unfused);
            if let Some(at) = differs {
                panic!(
                    "{}[{at}] is {:#x} fused and {:#x} unfused",
                    self.names[k], self.memory[k][at], unfused.memory[k][at]
                );
            }
        }
    }
}
