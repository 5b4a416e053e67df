//! Structures and arrays that functions take by value: as many dispatches, and as much inside, as where members are named.

use crate::support::{Rig, Size, Submit, Workload};
use vkfuse::Promote;

const N: u32 = 1024;
const GROUPS: Size = Size::Groups([N / 64, 1, 1]);

#[test]
fn blocks_by_value_are_as_good_as_by_name() {
    let rig = rig!();
    for kind in ["named", "plain", "deep", "uniform", "storage", "changed", "chosen"] {
        let mut list = Workload::default();
        let x: Vec<f32> = (0..N).map(|i| i as f32 * 0.5 - 100.0).collect();
        let from = list.floats("x", x.iter().copied());
        let (tmp, out) = (list.poisoned("tmp", N as usize), list.poisoned("out", N as usize));
        list.promote(tmp, Promote::Private);
        let block = list.words("block", [N, 1, 0]);
        for (from, to) in [(from, tmp), (tmp, out)] {
            let submit = Submit::new(&format!("by_value/push.{kind}"), GROUPS).read(0, from).write(1, to);
            list.submit(match kind {
                "uniform" | "storage" => submit.read(2, block),
                // Another structure in front, and the number of elements behind.
                "deep" => [0, 7, 7, 7, 7, 1, 0, 0, 9, N].into_iter().fold(submit, Submit::push),
                _ => submit.push(N).push(1).push(0),
            });
        }
        let ran = list.check_equal(&rig);
        assert_eq!(ran.stats.dispatches, 1, "{kind}: {:#?}", ran.report().plan);
        ran.assert_internalized(tmp, Promote::Private);
        assert_eq!(ran.floats(out), x.iter().map(|x| 4.0 * x).collect::<Vec<_>>(), "{kind}");
    }
    rig.assert_no_validation_messages();
}

/// Six words: `float v[2]; uint k; (padding); vec2 more`.
const ELEMENT: usize = 6;

#[test]
fn elements_by_value_are_handed_on() {
    let rig = rig!();
    let word = |i: usize| (i as f32 * 0.25 - 50.0).to_bits();
    let numbers: Vec<u32> = (0..N as usize)
        .flat_map(|e| {
            let at = |part: usize| word(ELEMENT * e + part);
            [at(0), at(1), e as u32, 0, at(4), at(5)]
        })
        .collect();
    let four = |bits: u32| (4.0 * f32::from_bits(bits)).to_bits();
    for kind in ["plain", "looped", "chosen"] {
        for promote in [Promote::None, Promote::Private] {
            let ran = elements(&rig, kind, promote, &numbers);
            for (e, (found, given)) in ran.chunks(ELEMENT).zip(numbers.chunks(ELEMENT)).enumerate() {
                let wanted = [four(given[0]), four(given[1]), given[2]];
                assert_eq!(found[..3], wanted, "{kind}, {promote:?}, element {e}");
                assert_eq!(found[4..], [four(given[4]), four(given[5])], "{kind}, {promote:?}, element {e}");
            }
        }
    }
    rig.assert_no_validation_messages();
}

/// What two kernels make of the numbers in one dispatch.
fn elements(rig: &Rig, kind: &str, promote: Promote, numbers: &[u32]) -> Vec<u32> {
    let mut list = Workload::default();
    let x = list.words("x", numbers.iter().copied());
    let (tmp, out) = (list.words("tmp", vec![0; numbers.len()]), list.words("out", vec![0; numbers.len()]));
    list.promote(tmp, promote);
    for (from, to) in [(x, tmp), (tmp, out)] {
        list.submit(
            Submit::new(&format!("by_value/elements.{kind}"), GROUPS).read(0, from).write(1, to).push(N),
        );
    }
    let ran = list.check_equal(rig);
    assert_eq!(ran.stats.dispatches, 1, "{kind}: {:#?}", ran.report().plan);
    if promote == Promote::Private {
        ran.assert_internalized(tmp, promote);
    }
    ran.words(out).to_vec()
}
