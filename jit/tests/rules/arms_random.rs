//! Random indices that conditions choose: by `select` and by `if`, one inside the other, with words that wrap, in loops whose values change between
//! test and use. A kernel stores a part of a buffer, and a second one reads by such an index what may lie anywhere in it.

use std::fmt::Write as _;

use vkfuse_jit::plan::{Internalization, Promote};

use super::lab::{Lab, kernel};
use super::placed_blocks_random::Random;

/// Elements of each buffer.
const ELEMENTS: u64 = 96;

/// A value of the second kernel: a name, or something near one.
fn value(random: &mut Random, names: &[String]) -> String {
    let name = &names[random.below(names.len())];
    let amount = random.one_of(&[1, 1, 1, 2, 3, 8, 44, 45]);
    match random.below(12) {
        0..4 => name.clone(),
        4 | 5 => format!("({name} + {amount}u)"),
        6 | 7 => format!("({name} - {amount}u)"),
        8 => format!("(p.x - 1u - {name})"),
        9 => format!("({name} * 2u)"),
        10 => random.one_of(&["0u", "1u", "p.x", "(p.x - 1u)", "4294967295u", "2147483648u"]).to_owned(),
        _ => format!("u32(i32({name}) - {amount})"),
    }
}

fn condition(random: &mut Random, names: &[String], depth: usize) -> String {
    if depth < 2 && random.one_in(4) {
        let (a, b) = (condition(random, names, depth + 1), condition(random, names, depth + 1));
        return match random.below(3) {
            0 => format!("({a} && {b})"),
            1 => format!("({a} || {b})"),
            _ => format!("!({a})"),
        };
    }
    let (a, b) = (value(random, names), value(random, names));
    let op = random.one_of(&["<", "<=", ">", ">=", "==", "!="]);
    let b = random.one_of(&[b.as_str(), "p.x", "p.x", "0u", "1u", "(p.x - 1u)"]).to_owned();
    match random.one_in(4) {
        true => format!("(i32({a}) {op} i32({b}))"),
        false => format!("({a} {op} {b})"),
    }
}

/// Statements that change `j`, or name another value.
fn statements(random: &mut Random, names: &mut Vec<String>, depth: usize) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(3) {
        let test = condition(random, names, 0);
        let (a, b) = (value(random, names), value(random, names));
        let next = format!("v{}", text.len() + 1000 * depth);
        match random.below(7) {
            0 | 1 => drop(writeln!(text, "j = select({a}, {b}, {test});")),
            2 => drop(writeln!(text, "if ({test}) {{ j = {a}; }}")),
            3 => drop(writeln!(text, "if ({test}) {{ j = {a}; }} else {{ j = {b}; }}")),
            4 => {
                let _ = writeln!(text, "let {next} = select({a}, {b}, {test});");
                names.push(next);
            }
            5 if depth == 0 => {
                // What is tested in one round is used in the next.
                let mut inner = names.clone();
                inner.push("k".to_owned());
                let body = statements(random, &mut inner, 1);
                let last = value(random, names);
                let _ = writeln!(
                    text,
                    "for (var k = 0u; k < 2u; k++) {{ let c = {test}; {body} r = r * 5u + a[min(j, 95u)]; if (c) {{ j = {last}; }} }}"
                );
            }
            _ => drop(writeln!(text, "if ({test}) {{ r = r * 3u + a[min({a}, 95u)]; }}")),
        }
    }
    text
}

fn lists() -> u64 {
    std::env::var("VKFUSE_CHOICES").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

probes! {
    fn random_choices_are_bounded_by_their_conditions_alone() {
        let mut inside = 0;
        for seed in 0..lists() {
            let random = &mut Random(seed);
            let mut names: Vec<String> = vec!["i".to_owned(), "i".to_owned(), "j".to_owned()];
            let mut body = "let i = gid.x; if (i >= p.x) { return; } var j = i; var r = 1u;\n".to_owned();
            body.push_str(&statements(random, &mut names, 0));
            body.push_str("z[i] = r * 7u + a[min(j, 95u)];");
            let n = random.one_of(&[45, 45, 45, 8, 13, 1]);
            let groups = [u32::div_ceil(n, 8), 1, 1];
            let store = kernel("a z", "8", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] * 3u + i;");
            let mut lab = Lab::rewriting(ELEMENTS).promote(1, random.one_of(&[Promote::Auto, Promote::None]));
            lab.options.force = random.one_in(3);
            let report = lab
                .submit(&store, groups, &[0, 1], &[n])
                .submit(&kernel("a z", "8", &body), groups, &[1, 2], &[n])
                .check()
                .plan
                .report;
            inside += u64::from(report.buffers.iter().any(|one| one.got == Internalization::Private));
        }
        println!("{inside} of {} lists keep the buffer in registers", lists());
        assert!(inside * 20 > lists(), "{inside}");
    }
}
