//! Plans from the memo against plans made anew, over random lists.

use vkfuse_fuzz::wgsl::{Generator, Random};

use super::*;
use crate::jit::{FloatMode, Limits, Policy, plan};

fn limits() -> Limits {
    Limits {
        max_push_bytes: 256,
        max_shared_bytes: 32 << 10,
        max_storage_buffers: 16,
        max_work_group_size: [256, 256, 64],
        max_work_group_invocations: 256,
        ..Limits::default()
    }
}

/// Demands that a list's plan from the memo is the plan made anew; keeps that if there was none. Whether there was.
fn agrees(memo: &mut Memo, list: &[Submission], options: &FuseOptions) -> bool {
    let fresh = plan(list, options, &limits()).unwrap();
    let (known, numbers) = memo.get(list.iter(), options);
    let hit = known.is_some();
    let planned = known.unwrap_or_else(|| memo.put(list.iter(), options, fresh.clone()));
    assert_eq!(numbers.report(&planned.plan.report), fresh.report);
    assert_eq!(planned.plan.steps.len(), fresh.steps.len());
    for (kept, fresh) in planned.plan.steps.iter().zip(&fresh.steps) {
        let mut bindings = kept.bindings.clone();
        bindings.iter_mut().for_each(|bound| bound.buffer = numbers.buffer(bound.buffer));
        assert_eq!(bindings, fresh.bindings);
        assert_eq!((kept.key, &kept.recipe), (fresh.key, &fresh.recipe));
        assert_eq!((&kept.push, kept.groups, &kept.members), (&fresh.push, fresh.groups, &fresh.members));
    }
    hit
}

/// The same list on other memory.
fn moved(list: &[Submission], random: &mut Random) -> Vec<Submission> {
    let mut list = list.to_vec();
    let (flip, shift) = (random.below(8) as u64, 1 << random.below(40));
    for arg in list.iter_mut().flat_map(|submission| &mut submission.args) {
        arg.buffer = BufferId((arg.buffer.0 ^ flip) + shift);
    }
    list
}

/// The same list with other push constants in some places, small ones so that some become equal.
fn pushed(list: &[Submission], random: &mut Random) -> Vec<Submission> {
    let mut list = list.to_vec();
    for word in list.iter_mut().flat_map(|one| one.push.chunks_exact_mut(4)) {
        if !random.one_in(8) {
            continue;
        }
        let value = match random.below(3) {
            0 => random.below(5) as u32,
            1 => u32::from_le_bytes((&*word).try_into().expect("four bytes")) ^ (1 << random.below(3)),
            _ => random.below(1 << 20) as u32,
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
    list
}

/// A list that differs a little.
fn changed(list: &[Submission], random: &mut Random) -> Vec<Submission> {
    let mut list = list.to_vec();
    let other = list[random.below(list.len())].clone();
    let at = random.below(list.len());
    let one = &mut list[at];
    let arg = random.below(one.args.len().max(1));
    match random.below(8) {
        0 => one.groups[random.below(3)] += 1,
        1 if !one.push.is_empty() => {
            let byte = random.below(one.push.len());
            one.push[byte] ^= 1 << random.below(4);
        }
        2 if random.one_in(2) => one.base[random.below(3)] += 1,
        2 => drop(list.remove(at)),
        3 if one.args.len() == other.args.len() => {
            (one.kernel, one.groups) = (other.kernel, other.groups);
        }
        _ if one.args.is_empty() => {}
        4 => one.args[arg].offset += 256,
        5 => one.args[arg].len = one.args[arg].len.saturating_sub(4),
        6 => one.args[arg].promote = *random.pick(&[Promote::None, Promote::Private, Promote::Auto]),
        _ => one.args[arg].buffer = other.args.first().map_or(BufferId(99), |arg| arg.buffer),
    }
    list
}

#[test]
fn a_kept_plan_is_the_plan() {
    let generator = Generator::new(7, 4);
    let mut cases = 0..;
    let mut random = Random::new(11);
    // Small, so that plans come and go.
    let mut memo = Memo::new(20);
    let (mut hits, mut misses) = (0, 0);
    let (mut other_values, mut other_plans) = (0, 0);
    let mut lists: Vec<Vec<Submission>> = Vec::new();
    for _ in 0..300 {
        if lists.len() < 12 || random.one_in(20) {
            lists.extend(cases.next().map(|number| generator.case(number).submissions));
        }
        let list = &lists[lists.len() - 1 - random.below(12.min(lists.len()))];
        let options = FuseOptions {
            policy: if random.one_in(8) { Policy::Trust } else { Policy::Prove },
            no_barriers: random.one_in(8),
            float: if random.one_in(8) { FloatMode::Contract } else { FloatMode::Strict },
            force: random.one_in(8),
            no_rewrites: random.one_in(8),
            coarser: random.one_in(8),
            kept: if random.one_in(8) { 96 } else { 0 },
            wide: random.one_in(8),
            apart: random.one_in(8),
        };
        agrees(&mut memo, list, &options);
        let moved = moved(list, &mut random);
        assert!(agrees(&mut memo, &moved, &options), "other memory is no other structure");
        let pushed = pushed(list, &mut random);
        if list.iter().zip(&pushed).any(|(one, other)| one.push != other.push) {
            *if agrees(&mut memo, &pushed, &options) { &mut other_values } else { &mut other_plans } += 1;
        }
        let changed = changed(list, &mut random);
        if !changed.is_empty() {
            *if agrees(&mut memo, &changed, &options) { &mut hits } else { &mut misses } += 1;
        }
    }
    assert!(memo.kept.as_ref().is_some_and(|kept| kept.len() == 20));
    println!("other push constants: {other_values} of the kept plan, {other_plans} not");
    assert!(other_values >= 10 && other_plans > 20, "{other_values}, {other_plans}");
    assert!(hits + misses > 100 && misses > 0, "{hits} hits, {misses} misses among changed lists");
}

#[test]
fn what_is_equal_to_the_hash_is_not_enough() {
    let generator = Generator::new(3, 2);
    let mut memo = Memo::new(4);
    let options = FuseOptions::default();
    let (a, b) = (generator.case(0).submissions, generator.case(1).submissions);
    assert!(!agrees(&mut memo, &a, &options));
    // As if both had the same hash.
    let (_, mut numbers) = memo.get(b.iter(), &options);
    let hash = memo.hash(b.iter(), &options, false, &mut numbers);
    let kept = memo.kept.as_mut().unwrap();
    let stranger = kept.pop_lru().unwrap().1;
    kept.put(hash, stranger);
    assert!(!agrees(&mut memo, &b, &options));
    assert!(agrees(&mut memo, &b, &options));
}

#[test]
fn many_buffers_have_numbers_too() {
    let mut numbers = Numbered::default();
    for round in 0..2 {
        for id in 0..100 {
            assert_eq!(numbers.number(BufferId(1000 - id)), id, "round {round}");
        }
    }
    assert_eq!(numbers.buffer(BufferId(40)), BufferId(960));
}
