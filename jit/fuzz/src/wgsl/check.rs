//! Runs a list unfused and fused in the interpreter and compares.

use ahash::AHashSet;

use super::case::{Case, Family, Legality};
use super::tally::{Split, Verdict, has_columns};
use crate::devices;
use vkfuse_interp::{
    Bind, Dispatch, Findings, Memory, ObjectId, Options, Order, Program, Trace, execute, execute_traced,
};
use vkfuse_jit::plan::{
    BlockCoarseningLimits, BufferId, FloatMode, FuseOptions, Internalization, Limits, Plan, Promote, Report,
    ShapeLimits, SmallScalars, Step, ThreadCoarseningLimits, UnrollLimits, plan, plan_unfused,
};

/// A wrong result.
#[derive(Debug, thiserror::Error)]
#[error("{what}\n{report}")]
pub struct Failure {
    what: String,
    report: String,
}

/// What comes after a run of a list in the interpreter: all bytes of all buffers, and what was noticed.
pub type Outcome = (Vec<Vec<u8>>, Findings);

/// What the device likes, by turns: shapes as the users gave them, larger and smaller work-groups, several items
/// per invocation, apart and next to each other.
const SHAPES: [(u32, u32, bool); 8] = [
    (0, 1, false),
    (0, 4, true),
    (0, 4, false),
    (16, 4, true),
    (4, 2, false),
    (64, 8, true),
    (7, 4, true),
    (32, 1, false),
];

/// Work-groups that one does (block coarsening).
const SIDE_BY_SIDE: [u32; 5] = [2, 1, 4, 3, 2];

/// Invocations that are left of a work-group.
const LEFT: [u32; 7] = [0, 8, 0, 4, 32, 0, 16];

/// Loops that are unrolled.
const WRITTEN_OUT: [UnrollLimits; 5] = [
    UnrollLimits { rounds: 16, at_once: 1, private_bytes: 256, keep: 0, registers: 0 },
    UnrollLimits { rounds: 2, at_once: 2, private_bytes: 64, keep: 0, registers: 0 },
    UnrollLimits { rounds: 64, at_once: 4, private_bytes: 256, keep: 0, registers: 0 },
    UnrollLimits { rounds: 0, at_once: 2, private_bytes: 256, keep: 3, registers: 1 << 16 },
    UnrollLimits { rounds: 4, at_once: 3, private_bytes: 16, keep: 0, registers: 0 },
];

/// Limits of a middling device.
pub fn limits(case: &Case) -> Limits {
    // Any number that follows from the case will do.
    let turn: usize =
        case.submissions.iter().map(|s| s.groups[0] as usize + s.push.first().map_or(0, |&b| b.into())).sum();
    let (group_size, items, vectors) = SHAPES[turn % SHAPES.len()];
    // Squares of 64.
    let is_large = case.family == Family::Columns;
    Limits {
        shape: ShapeLimits {
            group_size,
            items,
            vectors,
            rounds: [1, 3][turn / 2 % 2],
            least: 1,
            superword: if vectors || is_large { 4 } else { items },
            lanes: 1,
            conditions: None,
        },
        kept_result_bytes: [0, 32, 64][turn / 3 % 3],
        block_coarsening: BlockCoarseningLimits {
            work_groups: SIDE_BY_SIDE[turn % SIDE_BY_SIDE.len()],
            least: 1,
            private_bytes: 256,
            shared_bytes: 0,
        },
        thread_coarsening: ThreadCoarseningLimits {
            invocations: LEFT[turn % LEFT.len()],
            least: 1,
            private_bytes: 1024,
            any_loops: true,
            // As many as are left, or others.
            subgroup: [LEFT[turn % LEFT.len()], 8, 0][turn / 3 % 3],
            shuffles: !(turn / 9).is_multiple_of(4),
            packed: [4, 0, 2, 8, 1][turn / 5 % 5],
            side_by_side: [1, 4, 2][turn / 2 % 3],
            lane_elements: [0, 2, 4, 1][turn / 6 % 4],
            uniform: turn % 4 < 3,
        },
        unroll: WRITTEN_OUT[turn % WRITTEN_OUT.len()],
        late_stores: [16, 0, 2, 5][turn / 2 % 4],
        max_shared_bytes: if is_large { 48 << 10 } else { devices::middling().max_shared_bytes },
        max_push_bytes: if is_large { 256 } else { [256, 16, 0, 8, 256, 4, 32][turn % 7] },
        small_scalars: SmallScalars { int8: true, int16: true, float16: turn % 3 != 1 },
        max_work_group_size: if is_large {
            [1024, 1024, 64]
        } else {
            devices::middling().max_work_group_size
        },
        max_work_group_invocations: if is_large { 1024 } else { 256 },
        ..devices::middling()
    }
}

/// Checks one list.
///
/// # Errors
/// [`Failure`] if a byte differs, if the fused run races where the unfused does not, or if a module
/// does not stand.
pub fn check(case: &Case) -> Result<Verdict, Failure> {
    let limits = limits(case);
    let fail = |what: String, plan: Option<&Plan>| Failure {
        what,
        report: plan.map_or_else(String::new, |p| format!("{:#?}", p.report)),
    };
    let unfused: Vec<Step> = case
        .submissions
        .iter()
        .map(|s| plan_unfused(s, FloatMode::Strict, &limits))
        .collect::<Result<_, _>>()
        .map_err(|e| fail(e.to_string(), None))?;
    let (expected, findings) = run(case, &unfused, Order::Forward).map_err(|e| fail(e, None))?;
    if !findings.is_clean() {
        if case.legality != Legality::Unlabelled {
            return Err(fail(format!("a list made to be right is not: {findings:#?}"), None));
        }
        return Ok(Verdict::Undefined);
    }
    let plan =
        plan(&case.submissions, &FuseOptions::default(), &limits).map_err(|e| fail(e.to_string(), None))?;
    let inside: AHashSet<BufferId> =
        plan.report.buffers.iter().filter(|b| b.got != Internalization::None).map(|b| b.buffer).collect();
    for order in Order::ALL {
        let (got, findings) = run(case, &plan.steps, order).map_err(|e| fail(e, Some(&plan)))?;
        if !findings.is_clean() {
            return Err(fail(format!("the fused run is not clean: {findings:#?}"), Some(&plan)));
        }
        for (number, (want, got)) in expected.iter().zip(&got).enumerate() {
            // What stays inside is not written: it must be as it was.
            let internal = inside.contains(&BufferId(number as u64));
            let want = if internal { &case.buffers[number] } else { want };
            if let Some(at) = want.iter().zip(got).position(|(a, b)| a != b) {
                let kind = if internal { "internalized " } else { "" };
                return Err(fail(
                    format!("{kind}buffer {number} differs at element {} ({order:?})", at / 4),
                    Some(&plan),
                ));
            }
        }
    }
    let verdict = of_plan(case, &plan);
    let one_group = matches!(verdict, Verdict::Equal { one_group: true, .. });
    let illegal = case.legality == Legality::Illegal && is_as_given(case, &plan.report) && !one_group;
    if illegal && plan.steps.len() == 1 && case.submissions.len() > 1 {
        return Err(fail("an illegal list was fused as a whole".into(), Some(&plan)));
    }
    Ok(verdict)
}

/// Whether every kernel runs in its own order, on values that are in memory: what is illegal then may be legal otherwise.
pub fn is_as_given(case: &Case, report: &Report) -> bool {
    let is_placed = case.family != Family::Seams && !report.rewrites.is_empty();
    !is_placed && report.inlined.is_empty() && report.epilogues.is_empty() && report.renamed.is_empty()
}

/// What a plan for a desktop device comes to, without running it.
///
/// # Panics
/// If a list cannot be planned.
pub fn planned(case: &Case) -> Verdict {
    let plan = plan(&case.submissions, &FuseOptions::default(), &devices::desktop());
    of_plan(case, &plan.expect("a list that can be planned"))
}

/// What a plan that gives equal bytes comes to.
fn of_plan(case: &Case, plan: &Plan) -> Verdict {
    let internalized = plan.report.buffers.iter().filter(|b| b.got != Internalization::None).count();
    let asked = plan.report.buffers.iter().filter(|b| b.asked != Promote::None);
    let one_group = plan.steps.len() == 1
        && plan.steps[0].groups == [1; 3]
        && (plan.steps[0].coarsened_work_groups() == 1
            || case.submissions.iter().all(|s| s.groups == [1; 3]));
    Verdict::Equal {
        steps: plan.steps.len(),
        submissions: case.submissions.len(),
        one_group,
        internalized,
        refused: asked.filter(|b| b.got == Internalization::None).count(),
        barriers: plan.report.groups.iter().flat_map(|g| &g.barriers).filter(|b| b.kept).count(),
        split: Split::of(&plan.report),
        reordered: plan.report.reordered.is_some(),
        renamed: plan.report.renamed.len(),
        narrow: plan.steps.iter().filter(|step| step.invocations_by_one() > 1).count(),
        vectors: plan.steps.iter().filter(|step| step.is_in_vectors()).count(),
        columns: plan.report.groups.iter().filter(|group| has_columns(group)).count(),
    }
}

/// The list as text, and what the planner makes of it.
pub fn explain(case: &Case) -> String {
    let plan = plan(&case.submissions, &FuseOptions::default(), &limits(case));
    let report = plan.map_or_else(|e| e.to_string(), |p| format!("{:#?}", p.report));
    format!("{}\n{report}", case.describe())
}

/// Runs a list unfused in the interpreter.
///
/// # Errors
/// What the interpreter cannot run, as text.
pub fn run_unfused(case: &Case) -> Result<Outcome, String> {
    run_unfused_within(case, Options::default().max_steps)
}

/// As [`run_unfused`], with a limit on the number of instructions.
///
/// # Errors
/// What the interpreter cannot run, as text, and that it was stopped.
pub fn run_unfused_within(case: &Case, max_steps: u64) -> Result<Outcome, String> {
    let step = |s| plan_unfused(s, FloatMode::Strict, &limits(case));
    let steps: Result<Vec<Step>, _> = case.submissions.iter().map(step).collect();
    let options = Options { max_steps, ..in_order(Order::Forward) };
    run_traced(case, &steps.map_err(|e| e.to_string())?, options, None)
}

/// For each buffer, the words of a list's results that depend on what SPIR-V leaves open, such as which NaN an addition of two NaNs gives: a
/// driver may have others there. Other such results may lead anywhere, such as out of bounds: all words are open then. None if the list
/// cannot be run here.
pub fn open_words(case: &Case) -> Option<Vec<AHashSet<usize>>> {
    let step = |s| plan_unfused(s, FloatMode::Strict, &limits(case));
    let steps: Vec<Step> = case.submissions.iter().map(step).collect::<Result<_, _>>().ok()?;
    let usual = programs(&steps).ok()?;
    let other: Vec<Program> = usual.iter().map(|one| one.clone().with_other_open_results()).collect();
    let run = |programs: &[Program]| run_programs(case, &steps, programs, in_order(Order::Forward), None);
    let (usual, _) = run(&usual).ok()?;
    let Some((other, _)) = run(&other).ok().filter(|(_, findings)| findings.is_clean()) else {
        return Some(usual.iter().map(|bytes| (0..bytes.len() / 4).collect()).collect());
    };
    let differ = |(usual, other): (&Vec<u8>, &Vec<u8>)| {
        let words = usual.chunks(4).zip(other.chunks(4)).enumerate();
        words.filter(|(_, (usual, other))| usual != other).map(|(word, _)| word).collect()
    };
    Some(usual.iter().zip(&other).map(differ).collect())
}

/// The accesses of a list that runs unfused.
///
/// # Errors
/// What the interpreter cannot run, as text.
pub(super) fn trace(case: &Case) -> Result<Trace, String> {
    let step = |s| plan_unfused(s, FloatMode::Strict, &limits(case));
    let steps: Result<Vec<Step>, _> = case.submissions.iter().map(step).collect();
    let mut trace = Trace::default();
    run_traced(case, &steps.map_err(|e| e.to_string())?, in_order(Order::Forward), Some(&mut trace))?;
    Ok(trace)
}

fn run(case: &Case, steps: &[Step], order: Order) -> Result<Outcome, String> {
    run_traced(case, steps, in_order(order), None)
}

fn in_order(order: Order) -> Options {
    Options { order, seed: 1, ..Options::default() }
}

fn run_traced(
    case: &Case,
    steps: &[Step],
    options: Options,
    trace: Option<&mut Trace>,
) -> Result<Outcome, String> {
    run_programs(case, steps, &programs(steps)?, options, trace)
}

fn programs(steps: &[Step]) -> Result<Vec<Program>, String> {
    let program = |step: &Step| {
        let words = step.build().map_err(|e| e.to_string())?;
        let program = Program::decode(&words).map_err(|e| e.to_string())?;
        Ok(program.in_subgroups_of(step.subgroup_size()))
    };
    steps.iter().map(program).collect()
}

fn run_programs(
    case: &Case,
    steps: &[Step],
    programs: &[Program],
    options: Options,
    trace: Option<&mut Trace>,
) -> Result<Outcome, String> {
    let mut memory = Memory::new();
    let objects: Vec<ObjectId> = case.buffers.iter().map(|bytes| memory.add(bytes.clone())).collect();
    let mut dispatches: Vec<Dispatch<'_>> = steps
        .iter()
        .zip(programs)
        .map(|(step, program)| Dispatch {
            program,
            groups: step.groups,
            bindings: step
                .bindings
                .iter()
                .map(|b| Bind {
                    set: b.at.set,
                    binding: b.at.binding,
                    object: objects[b.buffer.0 as usize],
                    offset: b.offset,
                    len: b.len,
                })
                .collect(),
            push: step.push.to_vec(),
        })
        .collect();
    for (dispatch, step) in dispatches.iter_mut().zip(steps) {
        if let Some(at) = step.push_buffer() {
            dispatch.move_push(&mut memory, step.push_bytes() as usize, (at.set, at.binding));
        }
    }
    let findings = match trace {
        Some(trace) => execute_traced(&dispatches, &mut memory, &options, trace),
        None => execute(&dispatches, &mut memory, &options),
    };
    let findings = findings.map_err(|e| e.to_string())?;
    Ok((objects.iter().map(|&id| memory.bytes(id).to_vec()).collect(), findings))
}

#[cfg(test)]
mod tests {
    use super::super::seams::Seams;
    use super::super::written::{Written, submission, text};
    use super::*;

    /// Floats are added, and integers made of the bits of the sums: buffers 0 and 1, then 2, then 3.
    fn bits_of_sums(first: [f32; 4]) -> Case {
        let sum = "z[gid.x] = bitcast<u32>(bitcast<f32>(a[gid.x]) + bitcast<f32>(b[gid.x]));";
        let texts = [text("a b z", 4, sum), text("a z", 4, "z[gid.x] = a[gid.x] * 3u;")];
        let mut written = Written::default();
        let kernels: Vec<_> = texts.iter().map(|text| written.of(text)).collect();
        let on = |at: usize, buffers: &[u64]| {
            submission(&kernels[at], [1; 3], buffers, (4, &[Promote::None; 4]), [0; 4])
        };
        let submissions = vec![on(0, &[0, 1, 2]), on(1, &[2, 3])];
        let second = [f32::from_bits(0xffc0_1234), 1.0, f32::INFINITY, f32::NEG_INFINITY];
        let bytes = |values: [f32; 4]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let buffers = vec![bytes(first), bytes(second), vec![0; 16], vec![0; 16]];
        let (family, legality) = (Family::Mixed, Legality::Legal);
        Case { family, legality, violation: "", submissions, kernels, buffers }
    }

    #[test]
    fn integers_made_of_the_bits_of_nans_are_open() {
        let open = open_words(&bits_of_sums([f32::from_bits(0x7fc0_0001), 2.0, 3.0, f32::INFINITY]));
        let open = open.expect("a list that runs");
        // A NaN and another, and infinities of both signs; numbers and one infinity are defined.
        let both: AHashSet<usize> = [0, 3].into_iter().collect();
        assert_eq!(open, [AHashSet::new(), AHashSet::new(), both.clone(), both]);
    }

    /// The consumer reads a column of what its producer stores by rows, and is appended to it.
    #[test]
    fn an_illegal_list_with_an_epilogue_is_not_as_given() {
        let mut seams = Seams::new(0);
        let illegal = (0..150).map(|list| seams.case(list)).filter(|case| case.legality == Legality::Illegal);
        let mut epilogues = 0;
        for case in illegal {
            let plan = plan(&case.submissions, &FuseOptions::default(), &devices::desktop()).expect("a plan");
            if !plan.report.epilogues.is_empty() {
                epilogues += 1;
                assert!(!is_as_given(&case, &plan.report));
            }
        }
        assert!(epilogues > 0);
    }
}
