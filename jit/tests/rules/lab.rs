//! A bench for probes: write kernels in a line each, submit them, see what the planner makes of the list.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use vkfuse_fuzz::devices::middling;
use vkfuse_interp::{
    Bind, Channel, Dispatch, Findings, Memory, ObjectId, Options, Order, Program, TexelFormat, claims,
    execute,
};
use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind;
use vkfuse_jit::kernel::{Kernel, Module, Specialized};
#[cfg(feature = "mutation")]
use vkfuse_jit::mutation::{self, keeping};
use vkfuse_jit::plan::{
    Arg, Bound, BufferId, FloatMode, FuseOptions, ImageSize, Internalization, Limits, Numbers, Plan, Promote,
    Report, SplitReport, Step, Submission, Way, doubts, plan, plan_unfused,
};

use super::glsl::compile;

/// Declares probes: each is a test, and all of them are listed in `ALL`.
macro_rules! probes {
    ($($(#[$meta:meta])* fn $name:ident() $body:block)*) => {
        $($(#[$meta])* #[test] fn $name() $body)*

        /// The probes of this file by name.
        #[cfg(feature = "mutation")]
        pub(crate) const ALL: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}

/// A WGSL kernel. `names` are its bindings in order: `a`..`m` are read, others written too; a name may carry an
/// element type (`z:atomic<u32>`), `u32` otherwise; a name starting with `u_` is a uniform block `{ n, m }`.
/// The body may use `gid`, `lid`, `wid`, `nwg`, `lix` and the push constants `p.x p.y p.z p.w`.
pub(crate) fn kernel(names: &str, size: &str, body: &str) -> String {
    let mut text = String::new();
    if body.contains("p.") {
        text.push_str("struct P { x: u32, y: u32, z: u32, w: u32 }\nvar<immediate> p: P;\n");
    }
    if names.contains("u_") {
        text.push_str("struct U { n: u32, m: u32, k: vec2<u32> }\n");
    }
    for (binding, name) in names.split_whitespace().enumerate() {
        let (name, element) = name.split_once(':').unwrap_or((name, "u32"));
        let space = match name.as_bytes() {
            [b'u', b'_', ..] => "uniform",
            [b'a'..=b'm', ..] => "storage, read",
            _ => "storage, read_write",
        };
        let ty = if space == "uniform" { "U".to_owned() } else { format!("array<{element}>") };
        let _ = writeln!(text, "@group(0) @binding({binding}) var<{space}> {name}: {ty};");
    }
    // What is declared outside of `main` goes before a line of dashes.
    let (outside, body) = body.split_once("---").unwrap_or(("", body));
    text.push_str(outside);
    let ids = [
        ("gid", "global_invocation_id", "vec3<u32>"),
        ("lid", "local_invocation_id", "vec3<u32>"),
        ("wid", "workgroup_id", "vec3<u32>"),
        ("nwg", "num_workgroups", "vec3<u32>"),
        ("lix", "local_invocation_index", "u32"),
    ];
    let used: Vec<String> = ids
        .iter()
        .filter(|(short, ..)| body.contains(short))
        .map(|(short, name, ty)| format!("@builtin({name}) {short}: {ty}"))
        .collect();
    let _ = write!(text, "@compute @workgroup_size({size})\nfn main({}) {{\n  {body}\n}}\n", used.join(", "));
    text
}

thread_local! {
    static KERNELS: RefCell<HashMap<String, Arc<Specialized>>> = RefCell::default();
    /// What became of plans that ran.
    static RESULTS: RefCell<HashMap<[u8; 32], Result<(), String>>> = RefCell::default();
}

/// Runs `f` with one rule weakened, on kernels that were analysed with it, as far as it matters to their analysis.
#[cfg(feature = "mutation")]
pub(crate) fn weakened<R>(mutant: mutation::Mutant, f: impl FnOnce() -> R) -> R {
    let renew = || {
        if mutation::is_kept(mutant) {
            KERNELS.with_borrow_mut(HashMap::clear);
            mutation::forget();
        }
    };
    renew();
    let result = mutation::with(mutant, f);
    renew();
    result
}

/// Makes a kernel that its thread keeps.
#[cfg(not(feature = "mutation"))]
fn keeping<R>(make: impl FnOnce() -> R) -> R {
    make()
}

/// The kernel of a text in WGSL or GLSL, analysed once on each thread.
pub(crate) fn load(text: &str) -> Arc<Specialized> {
    if let Some(known) = KERNELS.with_borrow(|kernels| kernels.get(text).cloned()) {
        return known;
    }
    let module = keeping(|| match text.strip_prefix("#version") {
        Some(_) => Module::from_bytes("probe", &compile(text)),
        None => Module::from_wgsl("probe", text),
    });
    let module = module.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let kernel = Kernel::new(&module, None).expect("one entry point");
    let kernel = keeping(|| kernel.specialize(&[])).expect("no constants");
    KERNELS.with_borrow_mut(|kernels| kernels.insert(text.to_owned(), kernel.clone()));
    kernel
}

/// A kernel of `tests/kernels`, analysed once on each thread.
pub(crate) fn compiled(name: &str) -> Arc<Specialized> {
    if let Some(known) = KERNELS.with_borrow(|kernels| kernels.get(name).cloned()) {
        return known;
    }
    let path = format!("{}/tests/kernels/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let module = keeping(|| Module::from_bytes(name, &bytes)).unwrap_or_else(|e| panic!("{e}: {name}"));
    let kernel = Kernel::new(&module, None).expect("one entry point");
    let kernel = keeping(|| kernel.specialize(&[])).expect("no constants");
    KERNELS.with_borrow_mut(|kernels| kernels.insert(name.to_owned(), kernel.clone()));
    kernel
}

/// What is bound: a whole buffer, or elements `first .. first + len` of it.
#[derive(Clone, Copy)]
pub(crate) struct View(u64, Option<(u64, u64)>);

impl From<u64> for View {
    fn from(buffer: u64) -> Self {
        Self(buffer, None)
    }
}

impl From<(u64, u64, u64)> for View {
    fn from((buffer, first, len): (u64, u64, u64)) -> Self {
        Self(buffer, Some((first, len)))
    }
}

/// A list under construction over buffers of equally many `u32` elements.
pub(crate) struct Lab {
    elements: u64,
    submissions: Vec<Submission>,
    wishes: HashMap<u64, Promote>,
    /// First words of buffers that hold other ones than usual.
    words: HashMap<u64, Vec<u32>>,
    /// Buffers whose contents the planner knows.
    known: HashSet<u64>,
    /// How large images are, where the planner knows.
    images: HashMap<u64, ImageSize>,
    pub(crate) options: FuseOptions,
    pub(crate) limits: Limits,
}

impl Lab {
    pub(crate) fn new(elements: u64) -> Self {
        let limits = Limits { max_shared_bytes: 16 << 10, ..middling() };
        Self {
            elements,
            submissions: Vec::new(),
            wishes: HashMap::new(),
            words: HashMap::new(),
            known: HashSet::new(),
            images: HashMap::new(),
            options: FuseOptions { no_rewrites: true, ..FuseOptions::default() },
            limits,
        }
    }

    /// One in which kernels are placed and recomputed: elsewhere each runs as it is, so that the rules are seen.
    pub(crate) fn rewriting(elements: u64) -> Self {
        let lab = Self::new(elements);
        Self { options: FuseOptions::default(), ..lab }
    }

    /// Asks for a promotion of a buffer in what is submitted from here on.
    pub(crate) fn promote(mut self, buffer: u64, promote: Promote) -> Self {
        self.wishes.insert(buffer, promote);
        self
    }

    /// Makes a buffer begin with these words.
    pub(crate) fn words(mut self, buffer: u64, words: &[u32]) -> Self {
        self.words.insert(buffer, words.to_vec());
        self
    }

    /// Says how many columns and lines an image has.
    pub(crate) fn sized(self, image: u64, [width, height]: [u32; 2]) -> Self {
        self.deep(image, [width, height, 0])
    }

    /// Says how large an image is, which may be one of three dimensions.
    pub(crate) fn deep(mut self, image: u64, extent: [u32; 3]) -> Self {
        self.images.insert(image, ImageSize { extent, levels: 1, samples: 1, view: None });
        self
    }

    /// Says by which number an image of known size is seen in what is submitted from here on.
    pub(crate) fn seen(mut self, image: u64, view: u32) -> Self {
        self.images.entry(image).and_modify(|size| size.view = Some(view));
        self
    }

    /// Says what a buffer that begins with these words holds, in what is submitted from here on.
    pub(crate) fn known(mut self, buffer: u64, words: &[u32]) -> Self {
        self.known.insert(buffer);
        self.words(buffer, words)
    }

    pub(crate) fn submit(self, text: &str, groups: [u32; 3], buffers: &[u64], push: &[u32]) -> Self {
        let views: Vec<View> = buffers.iter().map(|&b| b.into()).collect();
        self.submit_views(text, groups, &views, push)
    }

    pub(crate) fn submit_views(self, text: &str, groups: [u32; 3], views: &[View], push: &[u32]) -> Self {
        self.submit_kernel(load(text), groups, views, push)
    }

    /// Submits a kernel that was loaded in another way.
    pub(crate) fn submit_kernel(
        mut self,
        kernel: Arc<Specialized>,
        groups: [u32; 3],
        views: &[View],
        push: &[u32],
    ) -> Self {
        // A binding that the body does not mention is not part of the interface.
        let args = kernel
            .interface
            .bindings
            .iter()
            .enumerate()
            .map(|(number, binding)| {
                let View(buffer, part) = views[binding.at.binding as usize];
                let (first, len) = part.unwrap_or((0, self.elements));
                let numbers = self.known.contains(&buffer).then(|| {
                    let bytes: Vec<u8> = self.bytes(buffer).skip(4 * first as usize).collect();
                    Numbers::of(kernel.number_places(number), &bytes)
                });
                Arg {
                    at: binding.at,
                    buffer: BufferId(buffer),
                    offset: 4 * first,
                    len: 4 * len,
                    promote: self.wishes.get(&buffer).copied().unwrap_or_default(),
                    numbers: numbers.flatten(),
                    image: self.images.get(&buffer).copied(),
                }
            })
            .collect();
        let mut push: Vec<u8> = push.iter().flat_map(|word| word.to_le_bytes()).collect();
        if kernel.interface.push.is_some() {
            push.resize(push.len().max(16), 0);
        }
        self.submissions.push(Submission { kernel, base: [0; 3], groups, args, push: push.into() });
        self
    }

    /// Has what was submitted last count its work-groups from here.
    pub(crate) fn based(mut self, base: [u32; 3]) -> Self {
        self.submissions.last_mut().expect("a submission").base = base;
        self
    }

    /// Takes this many bytes off the end of what is bound of a buffer.
    pub(crate) fn cut(mut self, buffer: u64, bytes: u64) -> Self {
        let args = self.submissions.iter_mut().flat_map(|one| &mut one.args);
        args.filter(|arg| arg.buffer.0 == buffer).for_each(|arg| arg.len -= bytes);
        self
    }

    /// Whether what was submitted last certainly writes all of a buffer or an image.
    pub(crate) fn overwrites(&self, buffer: u64) -> bool {
        let one = self.submissions.last().expect("a submission");
        let arg = one.args.iter().position(|arg| arg.buffer.0 == buffer).expect("an argument");
        vkfuse_jit::plan::overwrites(one, arg, &self.limits)
    }

    /// How many bytes of a buffer what was submitted last certainly writes from the first on, and how many it may read.
    pub(crate) fn written_and_read(&self, buffer: u64) -> (u64, u64) {
        let one = self.submissions.last().expect("a submission");
        let arg = one.args.iter().position(|arg| arg.buffer.0 == buffer).expect("an argument");
        (
            vkfuse_jit::plan::written(one, arg, &self.limits),
            vkfuse_jit::plan::read_up_to(one, arg, &self.limits),
        )
    }

    /// Plans the list, runs it unfused and as planned, and compares.
    #[track_caller]
    pub(crate) fn check(self) -> Checked {
        let plan = plan(&self.submissions, &self.options, &self.limits).expect("the device can run it");
        if let Err(what) = self.differ(&plan) {
            panic!("wrong result: {what}\n{:#?}", plan.report);
        }
        Checked { plan }
    }

    /// Plans the list without running it.
    #[track_caller]
    pub(crate) fn planned(self) -> Checked {
        Checked { plan: plan(&self.submissions, &self.options, &self.limits).expect("the device can run it") }
    }

    /// What the plan of the list says of itself.
    pub(crate) fn planned_report(&self) -> Report {
        plan(&self.submissions, &self.options, &self.limits).expect("the device can run it").report
    }

    /// The other ways to run the list that may be faster than its plan.
    pub(crate) fn doubts(&self) -> Vec<Way> {
        let planned = plan(&self.submissions, &self.options, &self.limits).expect("the device can run it");
        doubts(&planned, &self.submissions, &self.options, &self.limits)
    }

    /// Whether the list's plan also is the plan of the list with these push constants, except for what it passes on. If so, that is
    /// looked at.
    #[track_caller]
    pub(crate) fn holds_with(&self, push: &[&[u32]]) -> bool {
        let planned =
            |list: &[Submission]| plan(list, &self.options, &self.limits).expect("the device can run it");
        let mut list = self.submissions.clone();
        for (one, words) in list.iter_mut().zip(push) {
            one.push = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            if one.kernel.interface.push.is_some() {
                one.push.resize(16, 0);
            }
        }
        let (kept, before) = (planned(&self.submissions), &self.submissions);
        let flow = kept.push_flow();
        let holds = flow.holds_with(|at| &before[at].push, |at| &list[at].push);
        if holds {
            let fresh = planned(&list);
            assert_eq!(kept.report, fresh.report);
            for (kept, fresh) in kept.steps.iter().zip(&fresh.steps) {
                assert_eq!(
                    (kept.key, kept.groups, &kept.bindings),
                    (fresh.key, fresh.groups, &fresh.bindings)
                );
            }
            let fresh = fresh.steps.iter().map(|step| step.push.clone());
            assert!(flow.pushes(|at| &list[at].push).eq(fresh));
        }
        holds
    }

    /// Loops of the code that the list becomes.
    pub(crate) fn loops(&self) -> usize {
        self.instructions(246)
    }

    /// Instructions of this opcode in the code that the list becomes.
    pub(crate) fn instructions(&self, opcode: u32) -> usize {
        let plan = plan(&self.submissions, &self.options, &self.limits).expect("the device can run it");
        let modules = plan.steps.iter().map(|step| step.build().expect("code"));
        let count = |words: Arc<[u32]>| {
            let mut at = 5;
            let mut count = 0;
            while at < words.len() {
                count += usize::from(words[at] & 0xffff == opcode);
                at += (words[at] >> 16).max(1) as usize;
            }
            count
        };
        modules.map(count).sum()
    }

    /// Plans the list and runs it twice, the second time with another word than zero where floats are hidden. Returns
    /// how many words of each buffer tell the two apart; `None` if nothing is hidden.
    pub(crate) fn seen_through(&self, zero: u32) -> Option<Vec<usize>> {
        let plan = plan(&self.submissions, &self.options, &self.limits).expect("the device can run it");
        self.steps_seen_through(plan.steps, zero)
    }

    /// The same of its submissions as they run alone.
    pub(crate) fn seen_through_alone(&self, zero: u32) -> Option<Vec<usize>> {
        let alone = |one| plan_unfused(one, FloatMode::Strict, &self.limits).expect("the device can run it");
        self.steps_seen_through(self.submissions.iter().map(alone).collect(), zero)
    }

    fn steps_seen_through(&self, mut steps: Vec<Step>, zero: u32) -> Option<Vec<usize>> {
        let contents = self.contents();
        let usual = Code::of(&steps).expect("code");
        let (usual, _) = run(self, &contents, &usual, Order::Forward).expect("a run");
        let mut hides = false;
        for step in &mut steps {
            if let Some(at) = step.zero_at() {
                step.push[at as usize..at as usize + 4].copy_from_slice(&zero.to_le_bytes());
                hides = true;
            }
        }
        let other = Code::of(&steps).expect("code");
        let (other, _) = run(self, &contents, &other, Order::Forward).expect("a run");
        let words =
            |(a, b): (&Vec<u8>, &Vec<u8>)| a.chunks(4).zip(b.chunks(4)).filter(|(a, b)| a != b).count();
        hides.then(|| usual.iter().zip(&other).map(words).collect())
    }

    /// Runs a plan. Equal code runs once on each thread: most weakened rules change few plans.
    fn differ(&self, plan: &Plan) -> Result<(), String> {
        // Certificates do not follow texels.
        #[cfg(all(feature = "certify", feature = "mutation"))]
        if self.images.is_empty()
            && let Some(result) = super::proof::instead(&self.submissions, plan)
        {
            return result;
        }
        let alone: Vec<Step> = self
            .submissions
            .iter()
            .map(|s| plan_unfused(s, FloatMode::Strict, &self.limits))
            .collect::<Result<_, _>>()
            .map_err(|e| e.to_string())?;
        let (alone, planned) = (Code::of(&alone)?, Code::of(&plan.steps)?);
        let name = self.name(&[&alone, &planned], plan);
        if let Some(known) = RESULTS.with_borrow(|results| results.get(&name).cloned()) {
            return known;
        }
        let result = self.differ_anew(&alone, &planned, plan);
        RESULTS.with_borrow_mut(|results| results.insert(name, result.clone()));
        result
    }

    /// A hash of everything that a run depends on. The code itself is part of it, whatever it was made by.
    fn name(&self, lists: &[&Code<'_>], plan: &Plan) -> [u8; 32] {
        let mut all = blake3::Hasher::new();
        all.update(&self.elements.to_le_bytes());
        all.update(&[u8::from(self.limits.robust)]);
        let mut words: Vec<_> = self.words.iter().collect();
        words.sort();
        all.update(format!("{words:?}").as_bytes());
        let mut images: Vec<_> = self.images.iter().map(|(image, size)| (image, size.extent)).collect();
        images.sort();
        all.update(format!("{images:?}").as_bytes());
        for list in lists {
            for (step, code) in list.steps.iter().zip(&list.code) {
                let Step { recipe, bindings, push, groups, .. } = step;
                all.update(recipe);
                all.update(&code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
                all.update(format!("{bindings:?} {push:?} {groups:?}").as_bytes());
            }
        }
        let inside = plan.report.buffers.iter().map(|b| (b.buffer, b.got));
        all.update(format!("{:?}", inside.collect::<Vec<_>>()).as_bytes());
        *all.finalize().as_bytes()
    }

    fn differ_anew(&self, alone: &Code<'_>, planned: &Code<'_>, plan: &Plan) -> Result<(), String> {
        for (step, code) in planned.steps.iter().zip(&planned.code).filter(|(step, _)| step.is_fused()) {
            let claims =
                claims(code, &binds(step, |buffer| ObjectId(buffer as u32))).map_err(|e| e.to_string())?;
            if let Some(claim) = claims.first() {
                return Err(format!("false claim: {claim:?}"));
            }
        }
        let contents = self.contents();
        let (expected, findings) = run(self, &contents, alone, Order::Forward)?;
        // A probe that races by itself proves nothing.
        assert!(findings.is_clean(), "the list as submitted is not clean: {}", first_of(&findings));
        for order in Order::ALL {
            let (got, findings) = run(self, &contents, planned, order)?;
            if !findings.is_clean() {
                return Err(format!("{order:?}: {}", first_of(&findings)));
            }
            for (buffer, (expected, got)) in expected.iter().zip(&got).enumerate() {
                let inside = plan
                    .report
                    .buffers
                    .iter()
                    .any(|b| b.buffer.0 == buffer as u64 && b.got != Internalization::None);
                // What stays inside is not written.
                let expected = if inside { &contents[buffer] } else { expected };
                if let Some(at) = expected.iter().zip(got).position(|(a, b)| a != b) {
                    return Err(format!("{order:?}: buffer {buffer} differs at byte {at}"));
                }
            }
        }
        Ok(())
    }

    /// Initial contents: small numbers that differ from element to element and buffer to buffer.
    fn contents(&self) -> Vec<Vec<u8>> {
        let last = self.submissions.iter().flat_map(|s| &s.args).map(|a| a.buffer.0).max().unwrap_or(0);
        (0..=last).map(|buffer| self.bytes(buffer).collect()).collect()
    }

    fn bytes(&self, buffer: u64) -> impl Iterator<Item = u8> + '_ {
        let given = self.words.get(&buffer).map(|words| &words[..]).unwrap_or_default();
        let usual = move |i: u32| i.wrapping_mul(7) % 61 + 100 * buffer as u32;
        let word = move |i: u32| given.get(i as usize).copied().unwrap_or_else(|| usual(i));
        (0..self.elements as u32).flat_map(move |i| word(i).to_le_bytes())
    }
}

/// Dispatches and their modules.
struct Code<'a> {
    steps: &'a [Step],
    code: Vec<Arc<[u32]>>,
}

impl<'a> Code<'a> {
    fn of(steps: &'a [Step]) -> Result<Self, String> {
        let code = steps.iter().map(|step| {
            // A sample of them pass by pass.
            let sampled = if step.key[0] < 16 { step.verify_passes() } else { Ok(()) };
            sampled.and_then(|()| step.build()).map_err(|error| error.to_string())
        });
        Ok(Self { steps, code: code.collect::<Result<_, _>>()? })
    }
}

/// A program that takes images whose format it does not declare for those of one channel.
fn with_formats(mut program: Program) -> Program {
    let open: Vec<_> = program.images().filter(|image| image.format.is_none()).collect();
    for image in open {
        let channel = if image.of_floats { Channel::Float32 } else { Channel::Uint32 };
        program.set_format(image.set, image.binding, TexelFormat { channel, channels: 1 });
    }
    program
}

fn run(
    lab: &Lab,
    contents: &[Vec<u8>],
    Code { steps, code }: &Code<'_>,
    order: Order,
) -> Result<(Vec<Vec<u8>>, Findings), String> {
    let mut memory = Memory::new();
    let add = |(number, bytes): (u64, &Vec<u8>)| match lab.images.get(&number) {
        Some(size) => memory.add_image(bytes.clone(), size.extent),
        None => memory.add(bytes.clone()),
    };
    let objects: Vec<ObjectId> = (0..).zip(contents).map(add).collect();
    let decode = |(words, step): (&Arc<[u32]>, &Step)| match Program::decode(words) {
        Ok(program) => Ok(with_formats(program.in_subgroups_of(step.subgroup_size()))),
        Err(error) => Err(error.to_string()),
    };
    let programs: Vec<Program> = code.iter().zip(*steps).map(decode).collect::<Result<_, String>>()?;
    let mut dispatches: Vec<Dispatch<'_>> = steps
        .iter()
        .zip(&programs)
        .map(|(step, program)| Dispatch {
            program,
            groups: step.groups,
            bindings: binds(step, |buffer| objects[buffer as usize]),
            push: step.push.to_vec(),
        })
        .collect();
    for (dispatch, step) in dispatches.iter_mut().zip(*steps) {
        if let Some(at) = step.push_buffer() {
            dispatch.move_push(&mut memory, step.push_bytes() as usize, (at.set, at.binding));
        }
    }
    let options = Options { order, seed: 1, robust: lab.limits.robust, ..Options::default() };
    let findings = execute(&dispatches, &mut memory, &options).map_err(|e| e.to_string())?;
    Ok((objects.iter().map(|&id| memory.bytes(id).to_vec()).collect(), findings))
}

fn binds(step: &Step, object: impl Fn(u64) -> ObjectId) -> Vec<Bind> {
    let bind = |b: &Bound| Bind {
        set: b.at.set,
        binding: b.at.binding,
        object: object(b.buffer.0),
        offset: b.offset,
        len: b.len,
    };
    step.bindings.iter().map(bind).collect()
}

/// One finding of each kind, as text.
fn first_of(findings: &Findings) -> String {
    let mut texts = Vec::new();
    texts.extend(findings.races.list.first().map(ToString::to_string));
    texts.extend(findings.out_of_bounds.list.first().map(ToString::to_string));
    texts.extend(findings.uninitialised.list.first().map(ToString::to_string));
    texts.extend(findings.changed_constants.list.first().map(ToString::to_string));
    texts.extend(findings.divergent_barriers.list.first().map(ToString::to_string));
    texts.join("; ")
}

/// A list whose planned form gives the results of the unfused one.
pub(crate) struct Checked {
    pub(crate) plan: Plan,
}

impl Checked {
    /// Why the list is not one dispatch.
    pub(crate) fn cuts(&self) -> Vec<String> {
        let tried =
            |split: &SplitReport| split.tried.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        self.plan.report.splits.iter().map(|split| split.detail.clone() + &tried(split)).collect()
    }

    /// Demands one dispatch with this many barriers.
    #[track_caller]
    pub(crate) fn fused(self, barriers: usize) -> Self {
        let report = &self.plan.report;
        assert_eq!(self.plan.steps.len(), 1, "split: {:?}", self.cuts());
        let kept = report.groups[0].barriers.iter().filter(|b| b.kept).count();
        assert_eq!(kept, barriers, "barriers: {:#?}", report.groups[0].barriers);
        self
    }

    /// Demands this many dispatches, the first cut being for a pair of accesses of these kinds.
    #[track_caller]
    pub(crate) fn split(self, dispatches: usize, first: AccessKind, second: AccessKind) -> Self {
        let report = &self.plan.report;
        assert_eq!(self.plan.steps.len(), dispatches, "cuts: {:?}", self.cuts());
        match &report.splits[0].reason {
            Reason::CrossGroup(pair) => {
                assert_eq!((pair.first.kind, pair.second.kind), (first, second), "{pair}");
                assert!(pair.first.submission < pair.second.submission, "{pair}");
                assert!(report.splits[0].buffer.is_some());
            }
            other => panic!("split for another reason: {other}"),
        }
        self
    }

    /// Demands that a buffer got a promotion.
    #[track_caller]
    pub(crate) fn inside(self, buffer: u64, kind: Internalization) -> Self {
        let found = self.plan.report.buffers.iter().find(|b| b.buffer.0 == buffer);
        let got = found.map(|b| b.got);
        let why = found.and_then(|b| b.reason.as_ref()).map(Reason::detail);
        assert_eq!(got, Some(kind), "buffer {buffer}: {why:?}");
        let mut bound = self.plan.steps.iter().flat_map(|step| &step.bindings);
        assert!(bound.all(|bound| bound.buffer.0 != buffer), "buffer {buffer} is bound all the same");
        self
    }

    /// Demands that a promotion was refused, and hands out why.
    #[track_caller]
    pub(crate) fn refused(&self, buffer: u64) -> &Reason {
        let found = self.plan.report.buffers.iter().find(|b| b.buffer.0 == buffer);
        let found = found.unwrap_or_else(|| panic!("nothing reported for buffer {buffer}"));
        assert_eq!(found.got, Internalization::None, "{found:#?}");
        found.reason.as_ref().expect("a refusal has a reason")
    }
}
