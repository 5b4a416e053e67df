//! The judgement on one list.

use std::sync::Arc;

use rspirv::binary::Assemble as _;
use vkfuse_interp::{AccessKind, Order, Program, Trace};
use vkfuse_jit::kernel::BindingKind;
use vkfuse_jit::plan::{
    BlockCoarseningLimits, BufferId, FloatMode, FuseOptions, Internalization, Limits, Plan, Promote,
    ShapeLimits, Step, SubgroupLimits, Submission, ThreadCoarseningLimits, UnrollLimits, closed, overwrites,
    plan, plan_unfused, with_settled_numbers,
};

use crate::again;
use crate::compile;
use crate::devices;
use crate::inside;
use crate::list::List;
use crate::meet::Touches;
use crate::pool::Pool;
use crate::run::{self, Outcome};
use crate::views;

/// What is wrong, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The form of a kernel that is fused gives other bytes than the kernel.
    Form,
    /// Members whose accesses lose their order.
    Order,
    /// A barrier is missing between members.
    Barrier,
    /// A uniform view of memory that another member writes.
    Uniform,
    /// A promotion that the accesses do not allow.
    Promotion,
    /// Variables on memory that members hand over are not coherent.
    Coherence,
    /// A kernel is said to overwrite what it leaves as it was.
    Contents,
    /// The bytes differ.
    Bytes,
    /// The fused run reads unwritten memory, races, or leaves its buffers.
    Findings,
    /// A module is not valid.
    Invalid,
    /// Something could not be planned, built or run.
    Internal,
}

/// A wrong plan.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{class:?}: {what}\n{report}")]
pub struct Failure {
    /// What is wrong, by kind.
    pub class: Class,
    /// What is wrong.
    pub what: String,
    /// What the planner said.
    pub report: String,
}

/// How a list came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The list itself has no defined result, for this reason.
    Undefined(&'static str),
    /// It cannot be run here, for this reason.
    Skipped(String),
    /// Right.
    Right {
        /// Dispatches.
        steps: usize,
        /// Submissions.
        submissions: usize,
        /// Promotions granted.
        internalized: usize,
        /// Promotions refused.
        refused: usize,
        /// Barriers placed.
        barriers: usize,
        /// Why it was cut first.
        split: Option<String>,
    },
}

/// Group size, items of an invocation, vectors: what devices like, by turns.
const SHAPES: [(u32, u32, bool); 8] = [
    (0, 1, false),
    (0, 1, false),
    (0, 4, true),
    (16, 4, true),
    (0, 4, false),
    (64, 1, false),
    (7, 2, false),
    (8, 4, true),
];

/// Work-groups that one does (block coarsening), under each of these shapes.
const SIDE_BY_SIDE: [u32; 8] = [1, 2, 4, 1, 3, 2, 1, 2];

/// Work-groups that are done by fewer invocations.
const NARROW: [ThreadCoarseningLimits; 8] = {
    const fn left(invocations: u32) -> ThreadCoarseningLimits {
        ThreadCoarseningLimits {
            invocations,
            least: 1,
            private_bytes: 1024,
            any_loops: true,
            subgroup: invocations,
            shuffles: true,
            packed: 4,
            side_by_side: if invocations == 4 { 1 } else { 4 },
            lane_elements: if invocations == 4 { 0 } else { 2 },
            uniform: true,
        }
    }
    [left(0), left(8), left(0), left(4), left(2), left(0), left(16), left(1)]
};

/// Loops that are unrolled.
const WRITTEN_OUT: [UnrollLimits; 5] = [
    UnrollLimits { rounds: 16, at_once: 1, private_bytes: 256, keep: 0, registers: 0 },
    UnrollLimits { rounds: 2, at_once: 2, private_bytes: 64, keep: 0, registers: 0 },
    UnrollLimits { rounds: 64, at_once: 4, private_bytes: 256, keep: 0, registers: 0 },
    UnrollLimits { rounds: 0, at_once: 2, private_bytes: 256, keep: 3, registers: 1 << 16 },
    UnrollLimits { rounds: 4, at_once: 3, private_bytes: 16, keep: 0, registers: 0 },
];

/// What the device of a list can do.
pub(crate) fn limits(list: &List) -> Limits {
    let (group_size, items, vectors) = SHAPES[list.shape as usize % SHAPES.len()];
    let work_groups = SIDE_BY_SIDE[list.shape as usize % SIDE_BY_SIDE.len()];
    Limits {
        shape: ShapeLimits {
            group_size,
            items,
            vectors,
            rounds: [1, 3][list.shape as usize / 3 % 2],
            least: 1,
            superword: [4, 2, 1][list.shape as usize / 2 % 3],
            lanes: 1,
            conditions: None,
        },
        // Those of the interpreter, or unknown ones.
        subgroups: SubgroupLimits { size: [8, 0, 8][list.shape as usize % 3], together: true },
        overlapping_invocations: 1 << 16,
        kept_result_bytes: [0, 16, 64][list.shape as usize / 3 % 3],
        block_coarsening: BlockCoarseningLimits {
            work_groups,
            least: 1,
            private_bytes: 256,
            shared_bytes: 0,
        },
        thread_coarsening: NARROW[list.shape as usize % NARROW.len()],
        unroll: WRITTEN_OUT[list.shape as usize % WRITTEN_OUT.len()],
        late_stores: [16, 0, 2, 5][list.shape as usize / 3 % 4],
        max_push_bytes: [256, 16, 32, 4, 0][list.shape as usize / 2 % 5],
        ..devices::middling()
    }
}

/// Judges one list.
///
/// # Errors
/// [`Failure`] if what was planned is wrong.
pub fn judge(pool: &Pool, list: &List) -> Result<Verdict, Failure> {
    match Reference::new(pool, list)? {
        Ok(reference) => reference.judge(),
        Err(verdict) => Ok(verdict),
    }
}

/// Bytes of all objects after a list, by the reference interpreter.
///
/// # Errors
/// Why the list has no defined result, or none that can be computed here.
pub fn defined(pool: &Pool, list: &List) -> Result<Vec<Vec<u8>>, Verdict> {
    let case = Case::new(pool, list)?;
    case.unfused().map(|(outcome, _)| outcome.bytes)
}

/// Whether bytes of a list depend on results that SPIR-V leaves open, of instructions for floats: a driver may then give
/// others for the same instructions in another kernel.
pub fn is_open(pool: &Pool, list: &List) -> bool {
    let Ok(case) = Case::new(pool, list) else { return false };
    let Ok((outcome, steps)) = case.unfused() else { return false };
    let other = run::programs(&steps).and_then(|mut built| {
        for one in &mut built {
            one.program = one.program.clone().with_other_open_results();
        }
        run::run(&case.contents, &steps, &built, Order::Forward, None)
    });
    // Other results may lead anywhere, such as out of bounds.
    other.map_or(true, |other| other.bytes != outcome.bytes)
}

struct Case {
    limits: Limits,
    given: Vec<Submission>,
    /// In closed kernels, which are what is planned.
    submissions: Vec<Submission>,
    contents: Vec<Vec<u8>>,
}

impl Case {
    fn new(pool: &Pool, list: &List) -> Result<Self, Verdict> {
        let submissions = list.submissions(pool).map_err(Verdict::Skipped)?;
        let limits = limits(list);
        let given = submissions;
        let submissions = closed(&given, FloatMode::Strict, &limits);
        Ok(Self { limits, given, submissions, contents: list.contents() })
    }

    /// The kernels one by one.
    fn alone(list: &[Submission], float: FloatMode, limits: &Limits) -> Result<Vec<Step>, String> {
        let steps = list.iter().map(|one| plan_unfused(one, float, limits));
        steps.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    /// The run of the list as it stands, and its steps.
    fn unfused(&self) -> Result<(Outcome, Vec<Step>), Verdict> {
        let steps = Self::alone(&self.given, FloatMode::Contract, &self.limits).map_err(Verdict::Skipped)?;
        let built = run::programs(&steps).map_err(Verdict::Skipped)?;
        let outcome =
            run::run(&self.contents, &steps, &built, Order::Forward, None).map_err(Verdict::Skipped)?;
        let findings = &outcome.findings;
        if !findings.races.is_empty() {
            return Err(Verdict::Undefined("a race"));
        }
        if !findings.out_of_bounds.is_empty() {
            return Err(Verdict::Undefined("out of bounds"));
        }
        if !findings.uninitialised.is_empty() {
            return Err(Verdict::Undefined("uninitialised variables"));
        }
        if !findings.changed_constants.is_empty() {
            return Err(Verdict::Undefined("a uniform buffer that its own kernel writes"));
        }
        if !findings.divergent_barriers.is_empty() {
            return Err(Verdict::Undefined("divergent barriers"));
        }
        if self.submissions.iter().any(|s| s.kernel.interface.has_atomics) {
            for order in Order::ALL {
                let again =
                    run::run(&self.contents, &steps, &built, order, None).map_err(Verdict::Skipped)?;
                if again.bytes != outcome.bytes {
                    return Err(Verdict::Undefined("the order of atomics"));
                }
            }
        }
        Ok((outcome, steps))
    }

    /// The accesses of the list. The normal forms are run instead of the kernels, since they lack loads whose results are unused. They have
    /// to give the same bytes as the kernels.
    fn trace(&self, expected: &Outcome) -> Result<Trace, Failure> {
        let fail = |class, what: String| Failure { class, what, report: String::new() };
        // With room for a zero behind all arguments: the forms have the bindings of the kernels then.
        let limits = Limits { max_push_bytes: self.limits.max_push_bytes + 64, ..self.limits };
        let steps = Self::alone(&self.submissions, FloatMode::Strict, &limits);
        let steps = steps.map_err(|error| fail(Class::Internal, error))?;
        let mut built = run::programs(&steps).map_err(|error| fail(Class::Internal, error))?;
        for (submission, built) in self.submissions.iter().zip(&mut built) {
            if let Ok(normal) = &submission.kernel.normal {
                let words = normal.module.assemble();
                built.program =
                    Program::decode(&words).map_err(|error| fail(Class::Form, error.to_string()))?;
            }
        }
        let mut trace = Trace::default();
        let outcome = run::run(&self.contents, &steps, &built, Order::Forward, Some(&mut trace))
            .map_err(|error| fail(Class::Form, error))?;
        match difference(&self.contents, expected, &outcome, &[]) {
            Some((object, byte)) => Err(fail(Class::Form, format!("buffer {object} differs at byte {byte}"))),
            None if !outcome.findings.is_clean() => {
                Err(fail(Class::Form, format!("{:#?}", outcome.findings)))
            }
            None => Ok(trace),
        }
    }
}

/// What a list does as it stands. No planner has a part in it.
pub struct Reference {
    case: Case,
    expected: Arc<Outcome>,
    trace: Arc<Trace>,
}

impl Reference {
    /// Runs a list as it stands, or says why it cannot be judged.
    ///
    /// # Errors
    /// [`Failure`] if the forms of its kernels do something else.
    pub fn new(pool: &Pool, list: &List) -> Result<Result<Self, Verdict>, Failure> {
        let case = match Case::new(pool, list) {
            Ok(case) => case,
            Err(verdict) => return Ok(Err(verdict)),
        };
        let (expected, _) = match case.unfused() {
            Ok(run) => run,
            Err(verdict) => return Ok(Err(verdict)),
        };
        let trace = case.trace(&expected)?;
        Ok(Ok(Self { case, expected: Arc::new(expected), trace: Arc::new(trace) }))
    }

    /// The same list of kernels that were loaded anew, in another way.
    pub fn reloaded(&self, pool: &Pool, list: &List) -> Option<Self> {
        let (expected, trace) = (self.expected.clone(), self.trace.clone());
        Some(Self { case: Case::new(pool, list).ok()?, expected, trace })
    }

    /// All that the planner says and that is judged. Where it says the same, the judgement is the same.
    ///
    /// # Errors
    /// The planner's own.
    pub fn said(&self) -> Result<Vec<u8>, String> {
        let Case { limits, submissions, .. } = &self.case;
        let plan = plan(submissions, &FuseOptions::default(), limits).map_err(|error| error.to_string())?;
        let mut said = Vec::new();
        for Step { recipe, bindings, push, groups, members, .. } in &plan.steps {
            said.extend(recipe);
            said.extend(format!("{bindings:?} {push:?} {groups:?} {members:?}").into_bytes());
        }
        for submission in submissions {
            let overwrites = (0..submission.args.len()).map(|at| overwrites(submission, at, limits));
            said.extend(overwrites.map(u8::from));
        }
        said.extend(format!("{:?} {:?}", plan.report.groups, plan.report.renamed).into_bytes());
        let kept = plan.report.buffers.iter().map(|b| (b.buffer, b.got));
        said.extend(format!("{:?}", kept.collect::<Vec<_>>()).into_bytes());
        Ok(said)
    }

    /// Plans the list and judges that.
    ///
    /// # Errors
    /// [`Failure`] if what was planned is wrong.
    pub fn judge(&self) -> Result<Verdict, Failure> {
        let Self { case: Case { limits, submissions, contents, .. }, expected, trace } = self;
        let fail = |class, what: String| Failure { class, what, report: String::new() };
        self.overwritten()?;
        let plan = plan(submissions, &FuseOptions::default(), limits)
            .map_err(|error| fail(Class::Internal, error.to_string()))?;
        let fail = |class, what: String| Failure { class, what, report: format!("{:#?}", plan.report) };
        let lens = again::lens(&plan, contents);
        let trace = &again::as_planned(submissions, &plan, trace, contents.len());
        let handed = self.placed(&plan, trace, &lens)?;
        if let Some(what) = inside::wrong(submissions, &plan, trace, &lens) {
            return Err(fail(Class::Promotion, what));
        }
        let built = run::programs(&plan.steps).map_err(|error| fail(Class::Internal, error))?;
        for ((step, built), handed) in plan.steps.iter().zip(&built).zip(&handed) {
            compile::validate(&built.words).map_err(|error| fail(Class::Invalid, error))?;
            let incoherent = views::incoherent(&built.words);
            // What is handed over in registers alone, and stored because it is asked for, needs no order.
            let loaded = views::loaded(&built.words);
            let is_loaded = |buffer: BufferId| {
                step.bindings.iter().any(|b| b.buffer == buffer && loaded.contains(&(b.at.set, b.at.binding)))
            };
            let bad = step.bindings.iter().find(|b| {
                let storage = b.kind == BindingKind::StorageBuffer;
                storage
                    && is_loaded(b.buffer)
                    && handed.iter().any(|&(object, byte)| {
                        object == b.buffer.0 as u32 && (b.offset..b.offset + b.len).contains(&byte)
                    })
                    && incoherent.contains(&(b.at.set, b.at.binding))
            });
            if let Some(b) = bad {
                let what =
                    format!("binding {}.{} on buffer {} is not coherent", b.at.set, b.at.binding, b.buffer.0);
                return Err(fail(Class::Coherence, what));
            }
        }
        let inside: Vec<BufferId> =
            plan.report.buffers.iter().filter(|b| b.got != Internalization::None).map(|b| b.buffer).collect();
        for order in Order::ALL {
            let got = run::run(contents, &plan.steps, &built, order, None)
                .map_err(|error| fail(Class::Internal, error))?;
            if let Some((object, byte)) = difference(contents, expected, &got, &inside) {
                return Err(fail(
                    Class::Bytes,
                    format!("buffer {object} differs at byte {byte} ({order:?})"),
                ));
            }
            if !got.findings.is_clean() {
                return Err(fail(Class::Findings, format!("{order:?}: {:#?}", got.findings)));
            }
        }
        let asked = plan.report.buffers.iter().filter(|b| b.asked != Promote::None);
        Ok(Verdict::Right {
            steps: plan.steps.len(),
            submissions: submissions.len(),
            internalized: inside.len(),
            refused: asked.filter(|b| b.got == Internalization::None).count(),
            barriers: plan.report.groups.iter().flat_map(|g| &g.barriers).filter(|b| b.kept).count(),
            split: plan.report.splits.first().map(|s| s.reason.to_string()),
        })
    }

    /// Judges groups and barriers; gives for each step the objects that members hand over.
    fn placed(&self, plan: &Plan, trace: &Trace, lens: &[usize]) -> Result<Vec<Vec<(u32, u64)>>, Failure> {
        let mut handed = vec![Vec::new(); plan.steps.len()];
        for (number, step) in plan.steps.iter().enumerate() {
            let Some(touches) = Touches::of(&self.case.submissions, plan, step, trace, lens) else {
                continue;
            };
            handed[number] = touches.handed();
            let groups = plan.report.groups.iter().filter(|g| g.members == step.members);
            let barriers: Vec<usize> =
                groups.flat_map(|g| &g.barriers).filter(|b| b.kept).map(|b| b.after).collect();
            if let Some(wrong) = touches.wrong(&barriers) {
                let class = match (wrong.uniform, wrong.no_barrier) {
                    (true, _) => Class::Uniform,
                    (_, true) => Class::Barrier,
                    _ => Class::Order,
                };
                let what = format!(
                    "submissions {} and {} meet at byte {} of buffer {}",
                    wrong.first, wrong.second, wrong.byte, wrong.object
                );
                return Err(Failure { class, what, report: format!("{:#?}", plan.report) });
            }
        }
        Ok(handed)
    }

    /// Judges what is said about overwriting: every byte of the range has to be written.
    fn overwritten(&self) -> Result<(), Failure> {
        for (number, submission) in with_settled_numbers(&self.case.submissions).iter().enumerate() {
            for (at, arg) in submission.args.iter().enumerate() {
                if !overwrites(submission, at, &self.case.limits) {
                    continue;
                }
                let mut written = vec![false; arg.len as usize];
                let mine = self.trace.touches.iter().filter(|t| {
                    t.dispatch as usize == number
                        && u64::from(t.object.0) == arg.buffer.0
                        && t.offset >= arg.offset
                        && t.kind == AccessKind::Write
                });
                for t in mine {
                    let first = (t.offset - arg.offset) as usize;
                    let end = (first + t.bytes as usize).min(written.len());
                    written[first.min(end)..end].fill(true);
                }
                if let Some(byte) = written.iter().position(|written| !written) {
                    let what = format!(
                        "submission {number} is said to overwrite buffer {}, but not byte {byte}",
                        arg.buffer.0
                    );
                    return Err(Failure { class: Class::Contents, what, report: String::new() });
                }
            }
        }
        Ok(())
    }
}

/// The first byte that differs, and its object.
fn difference(
    contents: &[Vec<u8>],
    expected: &Outcome,
    got: &Outcome,
    inside: &[BufferId],
) -> Option<(usize, usize)> {
    for (object, (want, got)) in expected.bytes.iter().zip(&got.bytes).enumerate() {
        // What stays inside is not written: it must be as it was.
        let want = if inside.contains(&BufferId(object as u64)) { &contents[object] } else { want };
        if let Some(byte) = want.iter().zip(got).position(|(a, b)| a != b) {
            return Some((object, byte));
        }
    }
    None
}
