//! Reports in the words and the order of the JSON that the `vkfuse` command prints (feature `json`).
//!
//! [`FusionReport::to_json`] is what became of a list; the command adds device, times and outputs. A field that does not apply is
//! `null` and never missing.

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    jit::{
        BufferId, BufferReport, EpilogueReport, GroupReport, InlineReport, Internalization, Places, Promote,
        Reason, RenameReport, ReorderReport, RewriteReport, SplitReport, TrustedReport,
    },
    report::list::{CheckReport, CheckedBy, ChoiceReport, FusionReport, StepReport, Tier},
};

/// Version of the format.
pub const FORMAT: u32 = 1;

/// What became of a list.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct List {
    /// Version of the format.
    pub format: u32,
    /// What became of it, in words.
    pub outcome: String,
    /// Entry points, by submission.
    pub kernels: Vec<String>,
    /// How many dispatches ran it.
    pub dispatches: usize,
    /// Dispatches, as planned.
    pub groups: Vec<Group>,
    /// Where it was cut, and why.
    pub splits: Vec<Split>,
    /// What became of promotions, by the buffer's name.
    pub buffers: Named<BufferOutcome>,
    /// What was taken on the user's word.
    pub trusted: Vec<Trusted>,
    /// Kernels that run alone in code that is not the user's, and what was changed.
    pub changed: Vec<Changed>,
    /// What was placed, what is recomputed, and whether the list was done in another order.
    pub rewrites: Vec<Rewrite>,
    /// What comparing fused and unfused came to, where that was asked for.
    pub checks: Vec<Check>,
    /// What was given and is not used, and what may be a mistake in the list: a sentence for each, once.
    pub notes: Vec<String>,
    /// How it ran where the planner does not know how it is fastest, and what was measured.
    pub choice: Option<Choice>,
    /// Where the code came from.
    pub cache: Cache,
    /// Microseconds.
    pub time_us: MakingTimes,
}

/// One dispatch.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Submissions, counted from 0.
    pub kernels: Vec<usize>,
    /// Whether there are several.
    pub fused: bool,
    /// Work-group size.
    pub work_group: [u32; 3],
    /// Which invocation does which work.
    pub schedule: String,
    /// Items of one invocation.
    pub items_per_invocation: u32,
    /// Places that load what was loaded before, and take it from a register.
    pub loads_kept: u32,
    /// Work-groups of the kernels that one of the dispatch does (block coarsening).
    pub work_groups: u32,
    /// Bytes of push constants that are passed in a uniform buffer of the engine, because there is no room for them.
    pub push_buffer_bytes: u32,
    /// Why it does its own alone, if several might be worth it.
    pub alone: Option<String>,
    /// Places where a barrier could stand.
    pub barriers: Vec<Barrier>,
    /// The key of its code, in hexadecimal: `--dump-spirv` names files by its start.
    pub key: Option<String>,
    /// What the driver says of its code, under the driver's names; empty where it says nothing, or was not asked.
    pub statistics: Named<f64>,
}

/// A place in a group where a barrier could stand.
#[derive(Debug, Serialize)]
pub struct Barrier {
    /// The submission before it.
    pub after: usize,
    /// Whether it is there.
    pub kept: bool,
    /// Why, or why not.
    pub reason: String,
}

/// Why the list was cut after a submission.
#[derive(Debug, Serialize)]
pub struct Split {
    /// The submission before the cut.
    pub after: usize,
    /// The buffer that decided, if one did.
    pub buffer: Option<String>,
    /// The reason in short.
    pub reason: String,
    /// The reason in full, with the accesses that decided.
    pub detail: String,
    /// Why no rewrite closed it, if one was tried.
    pub tried: Option<String>,
    /// Where the reason is explained: the page, with its heading.
    pub explained_at: String,
}

/// A rewrite: a submission whose items are done in the order of another's elements, that recomputes what another stores, or that is done where
/// another stores; a reordered list; or a value that needs no memory.
#[derive(Debug, Serialize)]
pub struct Rewrite {
    /// `place`, `inline`, `epilogue`, `reorder` or `rename`.
    pub kind: &'static str,
    /// The submission; the first one that uses a value; none of a list.
    pub kernel: Option<usize>,
    /// The other one; the last one that writes over a value.
    pub partner: Option<usize>,
    /// Of what is placed.
    pub pi: Option<Pi>,
    /// Of what is inlined.
    pub again: Option<Again>,
    /// Of what is reordered: all submissions, in the order in which they are done.
    pub order: Option<Vec<usize>>,
    /// Of what is renamed.
    pub value: Option<Value>,
    /// The item of an invocation, what it costs, the order, or where the value is, in words.
    pub detail: String,
}

/// Which invocation does which item.
#[derive(Debug, Serialize)]
pub struct Pi {
    /// `rows`: item `group * length + local + k * work_group.x`; `grid`: item `y * length + x`; `line`: item `x - length`.
    pub order: &'static str,
    /// Elements of a row, the width of the grid, or the invocation that does the first item.
    pub length: u32,
    /// Work-group size.
    pub work_group: [u32; 3],
    /// Work-groups.
    pub groups: [u32; 3],
    /// How many items there are.
    pub items: u64,
}

/// A value that stays inside because it is overwritten later in the list.
#[derive(Debug, Serialize)]
pub struct Value {
    /// The buffer in which it would be.
    pub buffer: Option<String>,
    /// Its uses: submissions, and the number of the argument in each.
    pub arguments: Vec<(usize, usize)>,
    /// Submissions that write over it.
    pub overwritten_by: Vec<usize>,
    /// Bytes that reach no memory.
    pub bytes: u64,
    /// `private` or `local`.
    pub got: &'static str,
}

/// What is recomputed instead of being loaded.
#[derive(Debug, Serialize)]
pub struct Again {
    /// The buffer that is not loaded from.
    pub buffer: Option<String>,
    /// Loads that were replaced.
    pub loads: u32,
    /// How often an invocation does one.
    pub times: u64,
    /// Loads that this costs an invocation.
    pub paid: u64,
    /// Bytes that are not moved.
    pub saved: u64,
}

/// What became of a promotion.
#[derive(Debug, Serialize)]
pub struct BufferOutcome {
    /// `none`, `private`, `local` or `auto`.
    pub asked: &'static str,
    /// `none`, `private` or `local`.
    pub got: &'static str,
    /// Why not what was asked.
    pub reason: Option<String>,
    /// Where that is explained: the page, with its heading.
    pub explained_at: Option<String>,
}

/// A pair of accesses that was not proven but taken on the user's word.
#[derive(Debug, Serialize)]
pub struct Trusted {
    /// The earlier submission.
    pub first: usize,
    /// The later one.
    pub second: usize,
    /// Their buffer.
    pub buffer: Option<String>,
    /// What was not proven.
    pub reason: String,
}

/// A kernel that runs alone in code that is not the user's.
#[derive(Debug, Serialize)]
pub struct Changed {
    /// The submission.
    pub kernel: usize,
    /// The changes: `no_contraction`, `full_precision`, `formulas`, `float_controls`, `closed`, `normalised`, `folded`, `base_in_code`, `layouts`.
    pub changes: Vec<&'static str>,
    /// The same in words.
    pub detail: String,
}

/// What comparing fused and unfused came to.
#[derive(Debug, Serialize)]
pub struct Check {
    /// `interpreter` or `device`.
    pub by: &'static str,
    /// The submissions it is about.
    pub kernels: Vec<usize>,
    /// Whether they are the same; nothing where that could not be found out.
    pub agreed: Option<bool>,
    /// What differs, why it could not be found out, or on how much they agree.
    pub detail: String,
}

/// How a list in doubt ran: one where the planner does not know which way is the fastest.
#[derive(Debug, Serialize)]
pub struct Choice {
    /// How it ran: `usual`, `forced` (fused where that was expected to be slower) or `apart` (every kernel by itself).
    pub way: String,
    /// Whether it runs so from now on; otherwise its runs are still measured.
    pub decided: bool,
    /// The ways that it may run.
    pub measured: Vec<Way>,
}

/// What was measured of a way to run a list.
#[derive(Debug, Serialize)]
pub struct Way {
    /// The way.
    pub way: String,
    /// Runs that were timed by this program.
    pub runs: u32,
    /// The median of their times on the device, in microseconds.
    pub gpu_us: Option<f64>,
    /// Whether it was not worth more runs.
    pub given_up: bool,
}

/// Where the fused kernels came from: `hit`, `miss`, or `null` where that level was not asked.
#[derive(Debug, Serialize, Clone, Copy, Default)]
pub struct Cache {
    /// The memory cache.
    pub memory: Option<&'static str>,
    /// The persistent store.
    pub disk: Option<&'static str>,
}

/// Microseconds that making the code took.
#[derive(Debug, Serialize, Clone, Copy, Default)]
pub struct MakingTimes {
    /// Planning.
    pub plan: f64,
    /// Making SPIR-V.
    pub jit: f64,
    /// The driver's compiler.
    pub driver: f64,
}

/// A map that keeps its order.
#[derive(Debug)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl FusionReport {
    /// What became of the list, as one JSON object: the fields that `vkfuse run --json` prints, in its words.
    #[must_use]
    pub fn to_json(&self) -> String {
        let list = List::of(self, |id| self.buffer_name(id).map(str::to_owned));
        // It consists of strings, numbers and lists of them, which never fail to serialize.
        serde_json::to_string(&list).unwrap_or_default()
    }
}

impl List {
    /// What `report` says, with its buffers called as `name` has it. Two of one name are distinguished by their numbers.
    #[must_use]
    pub fn of(report: &FusionReport, name: impl Fn(BufferId) -> Option<String>) -> List {
        let plan = &report.plan;
        let mut buffers = Named(Vec::with_capacity(plan.buffers.len()));
        for outcome in &plan.buffers {
            let id = outcome.buffer;
            let mut called = name(id).unwrap_or_else(|| format!("buffer {}", id.0));
            if buffers.0.iter().any(|(other, _)| *other == called) {
                called = format!("{called} ({})", id.0);
            }
            buffers.0.push((called, BufferOutcome::from(outcome)));
        }
        let rewrites = plan.rewrites.iter().map(Rewrite::placed);
        let inlined = plan.inlined.iter().map(|one| Rewrite::inlined(one, &name));
        let epilogues = plan.epilogues.iter().map(Rewrite::epilogue);
        let reordered = plan.reordered.iter().map(Rewrite::reordered);
        let renamed = plan.renamed.iter().map(|one| Rewrite::renamed(one, &name));
        List {
            format: FORMAT,
            outcome: report.outcome.to_string(),
            kernels: report.kernels.iter().map(|one| one.kernel.to_string()).collect(),
            dispatches: report.dispatches,
            groups: plan.groups.iter().map(|group| Group::of(group, report)).collect(),
            splits: plan.splits.iter().map(|split| Split::of(split, &name)).collect(),
            buffers,
            trusted: plan.trusted.iter().map(|pair| Trusted::of(pair, &name)).collect(),
            changed: Changed::all(report),
            rewrites: rewrites.chain(inlined).chain(epilogues).chain(reordered).chain(renamed).collect(),
            checks: report.checks.iter().map(Check::from).collect(),
            notes: report.sentences(),
            choice: report.choice.as_ref().map(Choice::from),
            cache: Cache::of(report),
            time_us: MakingTimes { plan: report.plan_us, jit: report.jit_us, driver: report.driver_us },
        }
    }
}

impl From<&ChoiceReport> for Choice {
    fn from(choice: &ChoiceReport) -> Choice {
        let measured = choice.measured.iter().map(|one| Way {
            way: one.way.to_string(),
            runs: one.runs,
            gpu_us: one.gpu_time.map(|time| time.as_secs_f64() * 1e6),
            given_up: one.is_given_up,
        });
        Choice { way: choice.way.to_string(), decided: choice.is_decided, measured: measured.collect() }
    }
}

impl Changed {
    /// Those of a list.
    fn all(report: &FusionReport) -> Vec<Changed> {
        let changed = report.steps.iter().filter(|step| !step.changes.is_empty());
        let one = |step: &StepReport| {
            let detail: Vec<String> = step.changes.iter().map(ToString::to_string).collect();
            let changes = step.changes.iter().map(|change| change.word()).collect();
            Some(Changed { kernel: *step.members.first()?, changes, detail: detail.join(", ") })
        };
        changed.filter_map(one).collect()
    }
}

impl Group {
    fn of(group: &GroupReport, report: &FusionReport) -> Group {
        let barriers = group.barriers.iter().map(|barrier| Barrier {
            after: barrier.after,
            kept: barrier.kept,
            reason: barrier.reason.to_string(),
        });
        let step = report.steps.iter().find(|step| step.members == group.members);
        Group {
            kernels: group.members.to_vec(),
            fused: group.fused,
            work_group: group.work_group,
            schedule: group.schedule.clone(),
            items_per_invocation: group.items_per_invocation,
            loads_kept: group.loads_kept,
            work_groups: group.work_groups,
            push_buffer_bytes: group.push_buffer_bytes,
            alone: group.alone.map(|why| why.to_string()),
            barriers: barriers.collect(),
            key: step.map(|step| blake3::Hash::from_bytes(step.key).to_hex().to_string()),
            statistics: Named(
                step.iter()
                    .flat_map(|step| &step.statistics)
                    .map(|one| (one.name.clone(), one.value))
                    .collect(),
            ),
        }
    }
}

impl Split {
    fn of(split: &SplitReport, name: impl Fn(BufferId) -> Option<String>) -> Split {
        Split {
            after: split.after,
            buffer: split.buffer.and_then(name),
            reason: split.reason.to_string(),
            detail: split.reason.in_full(),
            tried: split.tried.as_ref().map(|tried| tried.detail()),
            explained_at: split.reason.explained_at(),
        }
    }
}

impl Rewrite {
    fn placed(one: &RewriteReport) -> Rewrite {
        let (order, length) = match one.places {
            Places::Rows { length } => ("rows", length),
            Places::Blocks { length, .. } => ("blocks", length),
            Places::Grid { width } => ("grid", width),
            Places::Line { start } => ("line", start),
            Places::Padded { invocations } => ("padded", invocations),
        };
        let pi = Pi { order, length, work_group: one.work_group, groups: one.groups, items: one.items };
        Rewrite {
            kind: "place",
            kernel: Some(one.submission),
            partner: Some(one.partner),
            pi: Some(pi),
            again: None,
            order: None,
            value: None,
            detail: one.to_string(),
        }
    }

    fn inlined(one: &InlineReport, name: impl Fn(BufferId) -> Option<String>) -> Rewrite {
        let InlineReport { loads, times, paid, saved, .. } = *one;
        Rewrite {
            kind: "inline",
            kernel: Some(one.submission),
            partner: Some(one.producer),
            pi: None,
            again: Some(Again { buffer: name(one.buffer), loads, times, paid, saved }),
            order: None,
            value: None,
            detail: one.to_string(),
        }
    }

    fn epilogue(one: &EpilogueReport) -> Rewrite {
        Rewrite {
            kind: "epilogue",
            kernel: Some(one.submission),
            partner: Some(one.producer),
            pi: None,
            again: None,
            order: None,
            value: None,
            detail: one.to_string(),
        }
    }

    fn reordered(one: &ReorderReport) -> Rewrite {
        Rewrite {
            kind: "reorder",
            kernel: None,
            partner: None,
            pi: None,
            again: None,
            order: Some(one.order.clone()),
            value: None,
            detail: one.to_string(),
        }
    }

    fn renamed(one: &RenameReport, name: impl Fn(BufferId) -> Option<String>) -> Rewrite {
        let value = Value {
            buffer: name(one.buffer),
            arguments: one.arguments.clone(),
            overwritten_by: one.overwritten_by.clone(),
            bytes: one.bytes.iter().map(|range| range.end - range.start).sum(),
            got: word(one.got),
        };
        Rewrite {
            kind: "rename",
            kernel: one.arguments.first().map(|one| one.0),
            partner: one.overwritten_by.last().copied(),
            pi: None,
            again: None,
            order: None,
            value: Some(value),
            detail: one.to_string(),
        }
    }
}

fn word(got: Internalization) -> &'static str {
    match got {
        Internalization::None => "none",
        Internalization::Private => "private",
        Internalization::Local => "local",
    }
}

impl From<&BufferReport> for BufferOutcome {
    fn from(report: &BufferReport) -> BufferOutcome {
        let asked = match report.asked {
            Promote::None => "none",
            Promote::Private => "private",
            Promote::Local => "local",
            Promote::Auto => "auto",
        };
        let got = word(report.got);
        let explained_at = report.reason.as_ref().map(Reason::explained_at);
        BufferOutcome { asked, got, reason: report.why(), explained_at }
    }
}

impl Trusted {
    fn of(pair: &TrustedReport, name: impl Fn(BufferId) -> Option<String>) -> Trusted {
        Trusted {
            first: pair.first,
            second: pair.second,
            buffer: pair.buffer.and_then(name),
            reason: pair.reason.to_string(),
        }
    }
}

impl From<&CheckReport> for Check {
    fn from(check: &CheckReport) -> Check {
        Check {
            by: match check.by {
                CheckedBy::Interpreter => "interpreter",
                CheckedBy::Device => "device",
            },
            kernels: check.members.to_vec(),
            agreed: check.agreed,
            detail: check.detail.clone(),
        }
    }
}

impl Cache {
    /// Where the kernels of a fused run came from.
    #[must_use]
    pub fn of(report: &FusionReport) -> Cache {
        let word = |tier| match tier {
            // Switched off: the field does not apply, as where a faster level had it.
            Tier::Off => None,
            tier => tier.word(),
        };
        Cache { memory: word(report.memory()), disk: word(report.disk()) }
    }
}
