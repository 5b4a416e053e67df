//! Certificates: what the planner concludes about a list, as claims over bit-vectors that an independent solver can check.
//!
//! [`certify`] takes a list and its plan, works out what has to be true for the plan to be right, and asks a
//! [`Solver`] for a counter-example to each claim. The claims are made from the instructions of the kernels' normal
//! form: nothing of `analysis` takes part, and pairs of accesses are found here, not taken from the planner. What the
//! planner says of a pair (`Plan::verdicts`) only makes the claim stronger. `docs/certificates.md` says what is claimed,
//! and what has to be trusted.
//!
//! The files in order of the work: `body` (a module), `term` and `text` (bit-vectors), `trace`, `carried`, `ends`, `value` and
//! `place` (one invocation in one kernel), `group` (members and ids), `pair`, `inside`, `placed`, `inlined` and `behind` (the claims), and
//! `rewritten` (which of them a rewrite rests on).

mod behind;
mod body;
mod by_rounds;
mod carried;
mod element;
mod ends;
mod group;
mod inlined;
mod inside;
mod pair;
mod place;
mod placed;
mod rewritten;
mod term;
mod text;
mod trace;
mod value;

use std::sync::Arc;

use ahash::AHashMap;

pub use text::Question;

use crate::analysis::AccessKind;
use crate::analysis::dependence::Relation;
use crate::plan::output::again::Counted;
use crate::plan::recipe::{Recipe, Target, Unroll};
use crate::plan::step::Source;
use crate::plan::{BufferId, Internalization, Plan, Step, Submission};
use group::{Access, Group, Traces};
use inside::Inner;
use pair::Meeting;
use trace::World;

/// What a solver says to a question: whether all that it asserts can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It cannot: the claim is proved.
    Never,
    /// It can, with these values of the symbols.
    Possible(Vec<(String, String)>),
    /// No answer, and why.
    Unknown(String),
}

/// What answers questions.
pub trait Solver {
    /// Answers one.
    fn ask(&mut self, question: &Question) -> Answer;
}

/// What a claim says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Claim {
    /// Two accesses never reach the same byte.
    Disjoint,
    /// Only one and the same invocation reaches the same byte by two accesses.
    SameInvocation,
    /// Only invocations of one work-group reach the same byte by two accesses.
    SameGroup,
    /// All that is read of an internalized buffer was written before.
    Covered,
    /// Elements of an internalized buffer and its slots belong together.
    Slot,
    /// Loops that are unrolled go round as often as they were written.
    Rounds,
    /// Branches whose question is left out go one way.
    Settled,
    /// Each invocation of each member is done once, and the list allows what the step does.
    Shape,
    /// A kernel that is placed does each of its items once, and nothing else.
    Placed,
    /// What is recomputed is what would have been loaded.
    Inlined,
    /// What is done where elements are stored is done once for each, and finds what it would have loaded.
    Behind,
    /// Submissions that are done in another order have no byte in common that one of them writes.
    Order,
    /// Nothing reads the memory of a value that is not in memory.
    Renamed,
}

impl Claim {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Disjoint,
        Self::SameInvocation,
        Self::SameGroup,
        Self::Covered,
        Self::Slot,
        Self::Rounds,
        Self::Settled,
        Self::Shape,
        Self::Placed,
        Self::Inlined,
        Self::Behind,
        Self::Order,
        Self::Renamed,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disjoint => "disjoint",
            Self::SameInvocation => "same invocation",
            Self::SameGroup => "same group",
            Self::Covered => "covered",
            Self::Slot => "slot",
            Self::Rounds => "rounds",
            Self::Settled => "settled",
            Self::Shape => "shape",
            Self::Placed => "placed",
            Self::Inlined => "inlined",
            Self::Behind => "behind stores",
            Self::Order => "order",
            Self::Renamed => "renamed",
        }
    }
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No counter-example exists.
    Proved,
    /// A counter-example, made of ids and of contents of memory.
    Refuted(String),
    /// A counter-example that may not be one, because the claim allows more than the kernels do there, or no answer.
    Unknown(String),
}

/// One claim and what became of it.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// What is claimed.
    pub claim: Claim,
    /// Of what.
    pub subject: String,
    /// Whether that is true.
    pub outcome: Outcome,
    /// The last question that was asked for it, if one was.
    pub question: Option<Question>,
}

/// Checks everything a plan rests on.
pub fn certify(list: &[Submission], plan: &Plan, solver: &mut dyn Solver) -> Vec<Certificate> {
    // What is proved of a placed kernel is proved of what it was placed as, and of a closed one of its closed form.
    let submitted = plan.closed.as_deref().unwrap_or(list);
    let asked = &*plan.report.renamed_list(submitted);
    let list = plan.rewritten.as_deref().unwrap_or(asked);
    let mut checker = Checker { list, plan, solver, found: Vec::new() };
    let mut values = submitted.to_vec();
    for one in &plan.report.renamed {
        checker.renamed(&values, one);
        for &(at, number) in &one.arguments {
            values[at].args[number].buffer = asked[at].args[number].buffer;
        }
    }
    for (position, (own, placed)) in asked.iter().zip(list).enumerate() {
        if plan.report.epilogues.iter().any(|one| one.changes(position)) {
            checker.placed_beside(own, placed, position);
            continue;
        }
        let mut rewrites = plan.report.rewrites.iter();
        if let Some(rewrite) = rewrites.find(|one| one.submission == position) {
            // A submission that recomputes others, or has rounds as items, had that form when it was placed.
            let mut before = plan.placed.iter().rev().filter(|(at, _)| *at == position).map(|(_, one)| one);
            let last = before.next().unwrap_or(own);
            if rewrite.rounds > 1 {
                let by = Counted { at: position, count: rewrite.rounds, beside: rewrite.beside };
                checker.by_rounds(before.next().unwrap_or(own), last, by);
            }
            checker.placed(last, placed, position);
            continue;
        }
        let is_inlined = plan
            .report
            .inlined
            .iter()
            .any(|one| one.submission == position || one.gone && one.producer == position);
        if !Arc::ptr_eq(&own.kernel, &placed.kernel) && !is_inlined {
            checker.placed(own, placed, position);
        }
    }
    for again in &plan.again {
        checker.inlined(again);
    }
    for behind in &plan.behind {
        checker.behind(behind);
    }
    if let Some(reordered) = &plan.report.reordered {
        checker.reordered(asked, &reordered.order);
    }
    for step in &plan.steps {
        if let (Source::Fused { recipe, .. }, true) = (&step.source, step.members.len() > 1) {
            checker.step(step, recipe);
        }
    }
    checker.found
}

struct Checker<'a, 's> {
    list: &'a [Submission],
    plan: &'a Plan,
    solver: &'s mut dyn Solver,
    found: Vec<Certificate>,
}

/// A question, made more exactly at each attempt.
type Make<'m> = &'m mut dyn FnMut(usize) -> Option<Question>;

const ATTEMPTS: usize = 3;

impl Checker<'_, '_> {
    fn step(&mut self, step: &Step, recipe: &Recipe) {
        let whole = format!("submissions {:?}", step.members);
        let group = match Group::new(self.list, step, recipe) {
            Ok(group) => group,
            Err(position) => {
                let cause = format!("submission {position} has a control flow that is not followed");
                self.push(Claim::Shape, whole, Outcome::Unknown(cause), None);
                return;
            }
        };
        let outcome = match group.mapping() {
            Ok(()) => Outcome::Proved,
            Err(what) => Outcome::Refuted(what),
        };
        self.push(Claim::Shape, whole, outcome, None);
        let mut known = Vec::new();
        for (number, accesses) in group.accesses.iter().enumerate() {
            match accesses {
                Ok(accesses) => known.extend(accesses.iter().map(|&access| (number, access))),
                Err(what) => {
                    let subject = format!("submission {}", group.members[number].position);
                    self.push(Claim::Disjoint, subject, Outcome::Unknown(what.clone()), None);
                }
            }
        }
        let mut world = group.world();
        let mut traces = Traces::default();
        for (n, a) in known.iter().enumerate() {
            for b in &known[n..] {
                self.pair(&group, &mut world, &mut traces, (a.0, &a.1), (b.0, &b.1));
            }
        }
        for (number, access) in &known {
            let member = &group.members[*number];
            let (own, all) = group.extents(member);
            if recipe.members[*number].remap.is_some() || own[0] >= all[0] {
                continue;
            }
            let subject = format!("submission {}, behind its items: block {}", member.position, access.at.0);
            let mut make = |attempt| group.beyond(&mut world, &mut traces, (*number, access), attempt > 0);
            self.ask(Claim::Shape, subject, &mut make);
        }
        for (number, internal) in recipe.internal.iter().enumerate() {
            self.internal(&group, &mut world, &mut traces, &known, number, internal);
        }
        for (member, one) in recipe.members.iter().enumerate() {
            for how in &one.unroll {
                let (rounds, what) = match *how {
                    Unroll::Whole { sure, most, .. } if sure == most => ((sure, Some(most)), "rounds"),
                    Unroll::Whole { sure, most, .. } => ((sure, Some(most)), "rounds or one more"),
                    Unroll::Part { first, times, at_once, .. } => {
                        ((first + times * at_once, None), "rounds at least")
                    }
                };
                let of = how.index();
                let position = group.members[member].position;
                let subject = format!("submission {position}, loop {of}: {} {what}", rounds.0);
                let mut make = |_| group.rounds(&mut world, &mut traces, member, of as usize, rounds);
                self.ask(Claim::Rounds, subject, &mut make);
            }
            for branch in &one.resolved {
                let position = group.members[member].position;
                let subject = format!(
                    "submission {position}, block {}: its condition is {}",
                    branch.block, branch.taken
                );
                let mut make = |attempt| group.parts(&mut world, &mut traces, member, branch, attempt > 0);
                self.ask(Claim::Settled, subject, &mut make);
            }
        }
    }

    /// Whether the user's word is taken for what a member does with a buffer.
    fn is_trusted(&self, member: usize, buffer: BufferId) -> bool {
        let mut trusted = self.plan.report.trusted.iter();
        trusted.any(|t| t.second == member && t.buffer.is_none_or(|b| b == buffer))
    }

    /// Two accesses, of two members or, to what stays inside, also of one.
    fn pair<'a>(
        &mut self,
        group: &'a Group<'a>,
        world: &mut World,
        traces: &mut Traces<'a>,
        a: (usize, &Access),
        b: (usize, &Access),
    ) {
        let args = [a, b].map(|(member, access)| &group.members[member].submission.args[access.argument]);
        if args[0].buffer != args[1].buffer || a.1.kind == AccessKind::Read && b.1.kind == AccessKind::Read {
            return;
        }
        let [first, second] = [a, b].map(|(member, _)| group.members[member].position);
        if self.is_trusted(second, args[0].buffer) {
            return;
        }
        let target = &group.recipe.members[a.0].targets[a.1.argument];
        let inside = match target {
            Target::Internal { index, .. } => {
                group.recipe.internal.get(usize::from(*index)).map(|internal| internal.kind)
            }
            Target::Bound(_) => None,
        };
        // What has to hold for the fused kernel to be right.
        let needed = if a.0 == b.0 {
            match inside {
                None => return,
                Some(Internalization::Local) if group.recipe.members[a.0].widen_barriers => Meeting::OneGroup,
                Some(_) => Meeting::OneInvocation,
            }
        } else if a.1.is_uniform || b.1.is_uniform {
            Meeting::Nobody
        } else if inside != Some(Internalization::Private) && group.has_barrier(a.0, b.0) {
            Meeting::OneGroup
        } else {
            Meeting::OneInvocation
        };
        // What the planner says, if that is more.
        let said =
            self.plan.verdicts.iter().find(|v| v.first == (first, a.1.at) && v.second == (second, b.1.at));
        let said = said.and_then(|v| match v.relation {
            Relation::Disjoint => Some(Meeting::Nobody),
            Relation::SameInvocation => Some(Meeting::OneInvocation),
            Relation::SameGroup => Some(Meeting::OneGroup),
            Relation::Unrelated => None,
        });
        let meeting = said.map_or(needed, |said| said.min(needed));
        let claim = match meeting {
            Meeting::Nobody => Claim::Disjoint,
            Meeting::OneInvocation => Claim::SameInvocation,
            Meeting::OneGroup => Claim::SameGroup,
        };
        let subject = format!("buffer {}: {} and {}", args[0].buffer.0, name(group, a), name(group, b));
        let mut make = |attempt| group.meeting(world, traces, (a, b), meeting, attempt > 0);
        self.ask(claim, subject, &mut make);
    }

    /// A buffer that stays inside.
    fn internal<'a>(
        &mut self,
        group: &'a Group<'a>,
        world: &mut World,
        traces: &mut Traces<'a>,
        known: &[(usize, Access)],
        number: usize,
        internal: &crate::plan::recipe::Internal,
    ) {
        let mut inner: Vec<Inner<'a>> = Vec::new();
        let mut complaint = None;
        let mut buffer = None;
        for &(member, access) in known {
            let target = &group.recipe.members[member].targets[access.argument];
            let Target::Internal { index, slots, .. } = target else { continue };
            if usize::from(*index) != number {
                continue;
            }
            buffer = Some(group.members[member].submission.args[access.argument].buffer);
            match slots.get(access.nth) {
                Some(slot) => inner.push(Inner { member, access, slot }),
                None => complaint = Some("an access that has no slot"),
            }
            if access.kind == AccessKind::Atomic {
                complaint = Some("an atomic operation on what stays inside");
            }
        }
        let Some(buffer) = buffer else { return };
        // A submission without work-groups uses nothing.
        let others =
            self.list.iter().enumerate().filter(|(n, s)| s.runs() && !group.step.members.contains(n));
        if { others }.any(|(_, s)| s.args.iter().any(|arg| arg.buffer == buffer)) {
            complaint = Some("what stays inside is used outside of the group");
        }
        let subject = format!("buffer {} inside submissions {:?}", buffer.0, group.step.members);
        let outcome = complaint.map_or(Outcome::Proved, |what| Outcome::Refuted(what.to_owned()));
        self.push(Claim::Shape, subject, outcome, None);
        for read in inner.iter().filter(|i| i.access.kind == AccessKind::Read) {
            if self.is_trusted(group.members[read.member].position, buffer) {
                continue;
            }
            let subject = format!("buffer {}: {}", buffer.0, name(group, (read.member, &read.access)));
            let is_local = internal.kind == Internalization::Local;
            // Others of the work-group are many: first without them.
            let mut make = |attempt| {
                group.check_covered(world, traces, &inner, read, (attempt > 0, attempt > 1 && is_local))
            };
            self.ask(Claim::Covered, subject, &mut make);
        }
        for (n, a) in inner.iter().enumerate() {
            for b in &inner[n..] {
                if a.access.kind == AccessKind::Read && b.access.kind == AccessKind::Read {
                    continue;
                }
                let names = [a, b].map(|i| name(group, (i.member, &i.access)));
                let subject = format!("buffer {}: {} and {}", buffer.0, names[0], names[1]);
                let mut make = |attempt| {
                    group.slots(world, traces, (a, b), (internal.kind, internal.slots), attempt > 0)
                };
                self.ask(Claim::Slot, subject, &mut make);
            }
        }
    }

    /// Asks for a counter-example, more exactly if the first one proves nothing.
    fn ask(&mut self, claim: Claim, subject: String, make: Make<'_>) {
        let mut last: Option<Question> = None;
        let mut outcome = Outcome::Unknown("too many accesses or pieces of them to write down".to_owned());
        for attempt in 0..ATTEMPTS {
            let Some(question) = make(attempt) else {
                // What was found without looking exactly is no counter-example.
                if matches!(outcome, Outcome::Refuted(_)) {
                    outcome = Outcome::Unknown("too many rounds or invocations to write down".to_owned());
                }
                continue;
            };
            if last.as_ref() == Some(&question) {
                continue;
            }
            let answer = self.solver.ask(&question);
            outcome = match answer {
                Answer::Never => Outcome::Proved,
                Answer::Possible(values) => match question.loose {
                    Some(why) => Outcome::Unknown(why.to_owned()),
                    None => Outcome::Refuted(counter_example(&question, &values)),
                },
                Answer::Unknown(why) => Outcome::Unknown(why),
            };
            last = Some(question);
            if outcome == Outcome::Proved {
                break;
            }
        }
        self.push(claim, subject, outcome, last);
    }

    fn push(&mut self, claim: Claim, subject: String, outcome: Outcome, question: Option<Question>) {
        self.found.push(Certificate { claim, subject, outcome, question });
    }
}

fn name(group: &Group<'_>, (member, access): (usize, &Access)) -> String {
    let member = &group.members[member];
    let arg = &member.submission.args[access.argument];
    let kind = match access.kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::Atomic => "atomic",
    };
    let (block, position) = access.at;
    format!(
        "{kind} of {}.{} at {block}:{position} of submission {} ({})",
        arg.at.set, arg.at.binding, member.position, member.submission.kernel.name
    )
}

/// The values of a counter-example under their names.
fn counter_example(question: &Question, values: &[(String, String)]) -> String {
    let by_name: AHashMap<&str, &str> = values.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let symbols = question.symbols.iter().enumerate();
    let named = symbols.filter_map(|(n, what)| {
        let value = by_name.get(format!("s{n}").as_str())?;
        Some(format!("{what} = {value}"))
    });
    named.collect::<Vec<_>>().join(", ")
}
