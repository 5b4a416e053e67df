//! Certificates of all lists that the probes plan, and of what weakened rules make of them. Nothing is run for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::catch_unwind;

use vkfuse_jit::certify::{Certificate, Outcome, certify};
use vkfuse_jit::mutation::Mutant;
use vkfuse_jit::plan::{Plan, Submission};

use super::lab::{Lab, kernel, weakened};
use super::solver::Process;

type Proved = BTreeMap<&'static str, u64>;

/// What the certificates of this thread came to.
#[derive(Default)]
struct State {
    /// Whether this thread certifies lists instead of running them.
    wanted: bool,
    /// The solver, once it was looked for.
    solver: Option<Option<Process>>,
    /// How many claims of each name were proved.
    proved: Proved,
    unknown: Vec<String>,
    refuted: Vec<String>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Certifies a list, if that is what this thread wants instead of running it; the first thing that is refuted is an
/// error.
pub(crate) fn instead(list: &[Submission], plan: &Plan) -> Option<Result<(), String>> {
    let wanted = STATE.with_borrow(|state| state.wanted);
    wanted.then(|| check(list, plan))
}

fn check(list: &[Submission], plan: &Plan) -> Result<(), String> {
    STATE.with_borrow_mut(|state| {
        let State { solver, proved, unknown, refuted, .. } = state;
        let Some(solver) = solver.get_or_insert_with(Process::start) else { return Ok(()) };
        let mut wrong = None;
        for Certificate { claim, subject, outcome, .. } in certify(list, plan, solver) {
            match outcome {
                Outcome::Proved => *proved.entry(claim.name()).or_default() += 1,
                Outcome::Unknown(why) => unknown.push(format!("{}: {subject}: {why}", claim.name())),
                Outcome::Refuted(why) => {
                    let text = format!("{}: {subject}: {why}", claim.name());
                    refuted.push(text.clone());
                    wrong.get_or_insert(text);
                }
            }
        }
        wrong.map_or(Ok(()), |what| Err(format!("refuted: {what}")))
    })
}

/// Takes out what was proved, not decided and refuted on this thread.
fn take() -> (Proved, Vec<String>, Vec<String>) {
    STATE.with_borrow_mut(|state| {
        (
            std::mem::take(&mut state.proved),
            std::mem::take(&mut state.unknown),
            std::mem::take(&mut state.refuted),
        )
    })
}

/// `VKFUSE_PROBES=PREFIX` asks for those of some.
#[test]
fn the_plans_of_all_probes_are_proved() {
    let only = std::env::var("VKFUSE_PROBES").unwrap_or_default();
    STATE.with_borrow_mut(|state| state.wanted = true);
    let (mut all, mut open) = (Proved::new(), Vec::new());
    for (file, probes) in super::mutation::PROBES {
        for (name, probe) in probes.iter().filter(|one| format!("{file}::{}", one.0).starts_with(&only)) {
            probe();
            let (proved, unknown, refuted) = take();
            assert!(refuted.is_empty(), "{file}::{name}: {refuted:#?}");
            proved.into_iter().for_each(|(claim, count)| *all.entry(claim).or_default() += count);
            open.extend(unknown.into_iter().map(|what| format!("{file}::{name}: {what}")));
        }
    }
    let sum: u64 = all.values().sum();
    println!("{sum} certificates proved: {all:?}");
    assert!(open.is_empty(), "not decided: {open:#?}");
    let has_solver = STATE.with_borrow(|state| matches!(state.solver, Some(Some(_))));
    assert!(!has_solver || sum > 0);
}

/// Two kernels of one group of eight that go through `p.y` elements each, eight apart, and ask whether each is below `p.x`.
fn guarded_rounds(way: &str, below: u32, rounds: u32) -> Lab {
    let of = |work: &str| {
        let way = way.replace("DO", &format!("if (e < p.x) {{ {work} }}"));
        kernel("a z", "8", &format!("var e = lid.x; {way}"))
    };
    let push = [below, rounds];
    Lab::new(8 * u64::from(rounds)).submit(&of("z[e] = a[e] + 1u;"), [1, 1, 1], &[0, 1], &push).submit(
        &of("z[e] = a[e] * 3u;"),
        [1, 1, 1],
        &[1, 2],
        &push,
    )
}

/// Whether a guard in a loop holds in all its rounds, wherever the loop is tested.
#[test]
fn guards_in_rounds_are_proved_or_refuted() {
    STATE.with_borrow_mut(|state| state.wanted = true);
    let ways = [
        "for (var j = 0u; j < p.y; j++) { DO e += 8u; }",
        "for (var j = 0u; j != p.y; j++) { DO e += 8u; }",
        "var j = 0u; loop { DO e += 8u; j++; if (j >= p.y) { break; } }",
        "var j = 0u; loop { DO e += 8u; if (j == p.y - 1u) { break; } j++; }",
        "var j = 0u; loop { DO e += 8u; continuing { j++; break if j >= p.y; } }",
        "var j = 0u; loop { DO continuing { e += 8u; j += 1u; break if !(j < p.y); } }",
        "var j = p.y; loop { DO e += 8u; j--; if (j == 0u) { break; } }",
        "var j = i32(p.y); loop { DO e += 8u; j -= 1i; if (j <= 0i) { break; } }",
        "var j = i32(p.y) - 1i; loop { DO e += 8u; j -= 1i; if (j < 0i) { break; } }",
        "var j = 0u; loop { DO e += 8u; j += 2u; if (j >= 2u * p.y) { break; } }",
        "var j = 0u; loop { DO e += 8u; j++; if (j + 2u > p.y + 1u) { break; } }",
        "var j = 0u; loop { DO e += 8u; j++; if (j != p.y) { continue; } break; }",
    ];
    // Few rounds are taken one after the other, many are any round.
    for (rounds, is_exact) in [(4, true), (1000, false)] {
        for way in ways {
            let all = 8 * rounds;
            guarded_rounds(way, all, rounds).check().fused(0);
            let (proved, unknown, refuted) = take();
            if proved.is_empty() {
                return;
            }
            assert!(unknown.is_empty() && refuted.is_empty(), "{rounds}, {way}: {unknown:?}, {refuted:?}");
            assert_eq!(proved.get("settled"), Some(&2), "{rounds}, {way}");
            // Of the last element, in the last round, it is false.
            weakened(Mutant::EveryGuardHolds, || {
                let _ = catch_unwind(|| guarded_rounds(way, all - 1, rounds).check());
            });
            let (proved, unknown, refuted) = take();
            assert_eq!(proved.get("settled"), None, "{rounds}, {way}");
            let (doubtful, last) = if is_exact { (refuted, "local id x = 7") } else { (unknown, "") };
            for submission in ["settled: submission 0", "settled: submission 1"] {
                let is_its = |what: &String| what.starts_with(submission) && what.contains(last);
                assert!(doubtful.iter().any(is_its), "{rounds}, {way}: {doubtful:?}");
            }
        }
    }
}

/// Which weakened rules the certificates do not prove, without running anything. `VKFUSE_MUTANTS=NAME,NAME` asks for some.
#[test]
#[ignore = "some minutes"]
fn weakened_rules_are_refuted() {
    STATE.with_borrow_mut(|state| state.wanted = true);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    let only = std::env::var("VKFUSE_MUTANTS").unwrap_or_default();
    let is_meant =
        |mutant: &Mutant| only.is_empty() || only.split(',').any(|one| one == format!("{mutant:?}"));
    for &mutant in Mutant::ALL.iter().filter(|mutant| is_meant(mutant)) {
        // A counter-example may rest on values that the group writes, and then counts as undecided.
        let (mut refuted, mut undecided) = (None, None);
        let probes = super::mutation::PROBES.iter().flat_map(|(file, of_file)| {
            of_file.iter().map(move |&(name, probe)| (format!("{file}::{name}"), probe))
        });
        weakened(mutant, || {
            for (name, probe) in probes {
                let _ = catch_unwind(probe);
                let (_, unknown, wrong) = take();
                if !wrong.is_empty() {
                    refuted = Some(name);
                    break;
                }
                if !unknown.is_empty() {
                    undecided.get_or_insert(name);
                }
            }
        });
        match (refuted, undecided) {
            (Some(name), _) => println!("{mutant:?} | refuted in {name}"),
            (None, Some(name)) => println!("{mutant:?} | not proved in {name}"),
            (None, None) => {
                println!("{mutant:?} | -");
                missed.push(mutant);
            }
        }
    }
    std::panic::set_hook(hook);
    let has_solver = STATE.with_borrow(|state| matches!(state.solver, Some(Some(_))));
    if has_solver {
        let silent: Vec<Mutant> = missed.into_iter().filter(|m| !NO_CLAIM.contains(m)).collect();
        assert!(silent.is_empty(), "all proved: {silent:?}");
    }
}

/// Weakened rules that no certificate is about (limits, what is hidden from compilers, what is a claim in the module), and
/// those under which the probes' plans are other plans but not wrong ones.
const NO_CLAIM: &[Mutant] = &[
    // Stops at an assertion before a plan is wrong.
    Mutant::CellsNeverChange,
    // Noticed by random lists alone.
    Mutant::CounterOutlivesLoop,
    // Refuses more.
    Mutant::ForgetGuards,
    // Refused for a read that nothing defined, or for want of a slot instead.
    Mutant::LocalIsPrivate,
    Mutant::NoOwnership,
    // About wishes, and about buffers between dispatches.
    Mutant::AnyWish,
    Mutant::PaddingIsOverwritten,
    // About how the parts of one element lie.
    Mutant::MajorsAreOne,
    Mutant::ViewsAreApart,
    Mutant::SilentlyWithoutBarriers,
    Mutant::IgnoreLoopLimit,
    Mutant::PlacedRoundsAreOwn,
    Mutant::RoundsInTurnAreOne,
    Mutant::AnyProductEnds,
    // About plans that are used again.
    Mutant::AnyValueWillDo,
    Mutant::EqualOnceIsEqual,
    Mutant::ComputedIsPassedOn,
    Mutant::NoValueIsPlanned,
    Mutant::IgnoreLimits,
    Mutant::WishesAreGranted,
    Mutant::ReadsEndEarly,
    // What the planner refuses there is proved by what is compared byte by byte.
    Mutant::OverlapsAreFollowed,
    Mutant::SmallArgumentsMove,
    Mutant::EffectsComeAfterGuards,
    Mutant::EndsAreAlike,
    Mutant::ItemsApartAreVectors,
    Mutant::AnyLengthIsAMultiple,
    Mutant::QuartersBeginAnywhere,
    Mutant::PeeledItemsAreFewer,
    Mutant::NothingIsHidden,
    Mutant::EveryFloatIsPlain,
    Mutant::MemoryIsNotHidden,
    Mutant::NumbersAreNotHidden,
    Mutant::ZerosDivide,
    Mutant::AnyArgumentIsTheZero,
    Mutant::HiddenTwiceIsOpen,
    Mutant::HalvesAreHandedOn,
    Mutant::HalvesWorkedOutAreOpen,
    Mutant::DevicesComputeWithHalves,
    Mutant::ReadBackIsOpen,
    Mutant::ReadBackIsKept,
    Mutant::ChoicesAreOpen,
    Mutant::AloneIsOpen,
    Mutant::ArgumentsAreNotHidden,
    // About how a group is written.
    Mutant::BarriersOrderSharedMemory,
    Mutant::ExtremaChangePlaces,
    Mutant::FirstRoundsComeAgain,
    Mutant::SumsLoseTheirKnownPart,
    Mutant::InvocationsAreOne,
    Mutant::RestIsNobody,
    Mutant::RowsAreLines,
    Mutant::SubgroupsStay,
    Mutant::SubgroupsAreWhole,
    Mutant::SubgroupsPart,
    Mutant::LocalIndicesAreLanes,
    Mutant::IdleSubgroupsCount,
    Mutant::FewerAreLeft,
    Mutant::LeftAreOneSubgroup,
    Mutant::ReturnsStayApart,
    Mutant::SubgroupsAreOneGroup,
    Mutant::LanesAreOneGroup,
    Mutant::ShufflesCross,
    Mutant::RegistersStay,
    Mutant::AnyTermIsNothing,
    Mutant::SlicesAreOne,
    Mutant::LastSubgroupsAreMore,
    Mutant::VectorsLieAnywhere,
    Mutant::SidesMeetLater,
    Mutant::WorkGroupsAreNobodys,
    Mutant::NobodyIsInAPart,
    Mutant::BuffersStartAnywhere,
    Mutant::RegistersAreOne,
    Mutant::AnybodyStores,
    Mutant::ShufflesStay,
    Mutant::ShufflesPassBarriers,
    Mutant::ShufflesPassStores,
    Mutant::BarriersAreIdle,
    Mutant::BarriersAreAlone,
    Mutant::StoresPassBarriers,
    Mutant::StoresPassTheirLoads,
    Mutant::StoresToViewsWait,
    Mutant::LaterStoresComeFirst,
    Mutant::NobodyReadsInside,
    Mutant::ConstantsArePlain,
    // What lies outside of what is bound is taken not to be accessed, also with robust access.
    Mutant::OutsideIsWorkedOut,
    // Seen in texels, and in lists that follow device addresses: neither is followed.
    Mutant::ExtremumIsTheSum,
    Mutant::AddressesWriteNoNumbers,
    // About the values that the items of a placed kernel write.
    Mutant::IdsAreNotVirtual,
    Mutant::VariablesKeepTheirValues,
    // About the values that the items of an epilogue load.
    Mutant::HalvesAreNotKept,
];
