//! Random lists of the forms that real programs submit: fused and unfused agree, in every order the interpreter tries, and most are fused.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_FORM_LISTS` | how many lists; 100 by default |
//! | `VKFUSE_FORM_SIZES` | how many lists in a row have the same kernels, at other sizes; 1 by default |
//! | `VKFUSE_FORM_SECONDS` | begins no list after this many seconds; no limit by default |
//! | `VKFUSE_FORM_SEAMS` | `1` prints each seam of a legal list that is not inside a dispatch |
//! | `VKFUSE_FUZZ_SEED` | seed; `SEED:LIST` checks that one list of that seed and prints it |
//!
//! Ends with a table: of each form how many seams over which a value is handed on are inside a dispatch, and why others are not.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Instant;

use vkfuse_fuzz::wgsl::{Forms, Legality, Tally, check, explain, limits};
use vkfuse_jit::plan::{FuseOptions, Submission, plan};

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Lists between which the kernels are forgotten.
const AT_ONCE: usize = 500;

/// Reasons of a form that are printed.
const REASONS: usize = 6;

/// Of a form, or of all: lists with it, those of them that are one dispatch, seams of legal lists beside it over which a value is handed
/// on, and those of them that are inside a dispatch.
type Row = [usize; 4];

/// Whether the second has an argument that the first writes.
fn hands_on(first: &Submission, second: &Submission) -> bool {
    let mut written =
        first.args.iter().zip(&first.kernel.interface.bindings).filter(|(_, binding)| binding.writes);
    written.any(|(arg, _)| second.args.iter().any(|other| other.buffer == arg.buffer))
}

#[test]
fn forms_of_real_programs_give_the_same_bytes_fused() {
    let sizes = number("VKFUSE_FORM_SIZES", 1);
    if let Ok(name) = std::env::var("VKFUSE_FUZZ_SEED")
        && let Some((Ok(seed), Ok(list))) = name.split_once(':').map(|(s, l)| (s.parse(), l.parse()))
    {
        let case = Forms::new(seed).sizes(sizes).case(list);
        println!("{}\n{:?}", explain(&case), check(&case));
        return;
    }
    let (lists, seed) = (number("VKFUSE_FORM_LISTS", 100), number("VKFUSE_FUZZ_SEED", 0) as u64);
    let (start, seconds) = (Instant::now(), number("VKFUSE_FORM_SECONDS", usize::MAX) as u64);
    let prints_seams = number("VKFUSE_FORM_SEAMS", 0) == 1;
    let mut forms = Forms::new(seed).sizes(sizes);
    let mut tally = Tally::default();
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for list in (0..lists).take_while(|_| start.elapsed().as_secs() < seconds) {
        if list.is_multiple_of(AT_ONCE) {
            forms = Forms::new(seed).sizes(sizes);
        }
        let (case, made) = forms.formed(list);
        let verdict = check(&case).unwrap_or_else(|failure| {
            let short = case.shrunk(&mut |case| check(case).is_err());
            panic!("list {list} of seed {seed}: {failure}\n{}", short.describe());
        });
        tally.count(&case, verdict, &format!("{seed}:{list}"));
        if (list + 1).is_multiple_of(500) {
            let _ = writeln!(
                std::io::stderr(),
                "{} lists of seed {seed} in {} s",
                list + 1,
                start.elapsed().as_secs()
            );
        }
        let Ok(plan) = plan(&case.submissions, &FuseOptions::default(), &limits(&case)) else { continue };
        let mut here: Vec<&str> = made.iter().flatten().copied().chain(["all"]).collect();
        here.sort_unstable();
        here.dedup();
        for form in here {
            let row = rows.entry(form).or_default();
            row[0] += 1;
            row[1] += usize::from(plan.steps.len() == 1);
            if case.legality != Legality::Legal {
                continue;
            }
            for at in 1..made.len() {
                if !hands_on(&case.submissions[at - 1], &case.submissions[at]) {
                    continue;
                }
                if form != "all" && !made[at - 1].contains(&form) && !made[at].contains(&form) {
                    continue;
                }
                let is_inside = |members: &[usize]| members.contains(&(at - 1)) && members.contains(&at);
                // What is computed by its reader is in no dispatch of its own.
                let gone = plan
                    .report
                    .inlined
                    .iter()
                    .any(|one| one.gone && (one.producer == at - 1 || one.producer == at));
                let fused = gone || plan.steps.iter().any(|step| is_inside(&step.members));
                row[2] += 1;
                row[3] += usize::from(fused);
                let split = plan.report.splits.iter().find(|split| split.after == at - 1);
                if let Some(split) = split.filter(|_| !fused) {
                    let tried = split.tried.as_ref().map_or_else(String::new, |tried| format!("; {tried}"));
                    let why = format!("{}{tried}", split.reason).replace(|c: char| c.is_ascii_digit(), "#");
                    if form == "all" && prints_seams {
                        println!("{seed}:{list} {:?} > {:?}: {why}", made[at - 1], made[at]);
                    }
                    *reasons.entry(form).or_default().entry(why).or_default() += 1;
                }
            }
        }
    }
    println!("{tally}");
    println!("{:32}{:>8}{:>8}{:>8}{:>8}", "form", "lists", "one", "seams", "fused");
    for (form, [made, one, seams, fused]) in &rows {
        println!("{form:32}{made:>8}{one:>8}{seams:>8}{fused:>8}");
        let mut reasons: Vec<_> = reasons.remove(form).unwrap_or_default().into_iter().collect();
        reasons.sort_by_key(|&(_, count)| Reverse(count));
        reasons.iter().take(REASONS).for_each(|(why, count)| println!("{count:>12} {why}"));
    }
    println!("{} lists in {} s", rows["all"][0], start.elapsed().as_secs());
    if lists < 100 {
        return;
    }
    // The check means something only if most of what may be fused is.
    let [.., seams, fused] = rows["all"];
    assert!(fused * 2 > seams, "{fused} of {seams} seams fused");
}
