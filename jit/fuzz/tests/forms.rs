//! Random lists of the forms that real programs submit: fused and unfused agree, in every order the interpreter tries, and most are fused.

use std::collections::BTreeMap;

use vkfuse_fuzz::wgsl::{Forms, Legality, Tally, check, explain, limits};
use vkfuse_jit::plan::{FuseOptions, plan};

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Of a form, or of all: lists with it, those of them that are one dispatch, seams of legal lists beside it, and those of them that are
/// inside a dispatch.
type Row = [usize; 4];

/// `VKFUSE_FORM_LISTS` for a long run, `VKFUSE_FUZZ_SEED` for other lists, or `SEED:LIST` for one, to look at.
#[test]
fn forms_of_real_programs_give_the_same_bytes_fused() {
    if let Ok(name) = std::env::var("VKFUSE_FUZZ_SEED")
        && let Some((Ok(seed), Ok(list))) = name.split_once(':').map(|(s, l)| (s.parse(), l.parse()))
    {
        let case = Forms::new(seed).case(list);
        println!("{}\n{:?}", explain(&case), check(&case));
        return;
    }
    let (lists, seed) = (number("VKFUSE_FORM_LISTS", 150), number("VKFUSE_FUZZ_SEED", 0) as u64);
    let mut forms = Forms::new(seed);
    let mut tally = Tally::default();
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for list in 0..lists {
        let (case, made) = forms.formed(list);
        let verdict = check(&case).unwrap_or_else(|failure| {
            let short = case.shrunk(&mut |case| check(case).is_err());
            panic!("list {list} of seed {seed}: {failure}\n{}", short.describe());
        });
        tally.count(&case, verdict, &format!("{seed}:{list}"));
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
                if form != "all" && !made[at - 1].contains(&form) && !made[at].contains(&form) {
                    continue;
                }
                let is_inside = |members: &[usize]| members.contains(&(at - 1)) && members.contains(&at);
                // What is worked out by its reader is in no dispatch of its own.
                let gone = plan
                    .report
                    .inlined
                    .iter()
                    .any(|one| one.gone && (one.producer == at - 1 || one.producer == at));
                row[2] += 1;
                row[3] += usize::from(gone || plan.steps.iter().any(|step| is_inside(&step.members)));
            }
        }
    }
    println!("{tally}");
    println!("{:32}{:>8}{:>8}{:>8}{:>8}", "form", "lists", "one", "seams", "fused");
    for (form, [made, one, seams, fused]) in &rows {
        println!("{form:32}{made:>8}{one:>8}{seams:>8}{fused:>8}");
    }
    if lists < 150 {
        return;
    }
    // The check means something only if most of what may be fused is.
    let [.., seams, fused] = rows["all"];
    assert!(fused * 2 > seams, "{fused} of {seams} seams fused");
}
