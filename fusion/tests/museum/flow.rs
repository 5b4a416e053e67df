//! What this engine itself got wrong: what is certain to happen, and what happens to who has nothing to do.

use crate::frame::Verdict::Fused;
use crate::frame::{Exhibit, numbers};
use crate::support::poison;

/// A kernel that may leave from inside a loop before it writes, and one that reads what it may have written.
fn return_in_loop(stage: &str) -> Exhibit {
    let mut e = Exhibit::of("return_in_loop");
    let (a, t, out) = (e.numbers("a", 256), e.temporary("t", 256), e.poisoned("out", 256));
    e.run(stage, 4, &[(0, a), (1, t)], &[]);
    e.run("double", 4, &[(0, t), (1, out)], &[]);
    e.in_memory(t);
    let all: Vec<u32> = numbers(256).collect();
    let left = |i: usize| (0..4).any(|k| all[(i + k) % 256] > 200);
    let stays = poison(256);
    e.expect(out, (0..256).map(|i| 2_u32.wrapping_mul(if left(i) { stays[i] } else { all[i] })));
    e
}

/// A kernel that stores before it asks whether to go on, and one that reads all that it may have stored.
fn store_before_test(stage: &str) -> Exhibit {
    let mut e = Exhibit::of("store_before_test");
    let (a, t, sum) = (e.numbers("a", 256), e.temporary("t", 1024), e.poisoned("sum", 256));
    e.run(stage, 4, &[(0, a), (1, t)], &[1]);
    e.run("sum", 4, &[(0, t), (1, sum)], &[]);
    e.in_memory(t);
    let stays = poison(1024);
    e.expect(
        sum,
        numbers(256)
            .enumerate()
            .map(|(i, v)| (2 * v + 1).wrapping_add(stays[4 * i + 2]).wrapping_add(stays[4 * i + 3])),
    );
    e
}

exhibits! {
    fn return_in_a_for_loop() -> Fused(0); { return_in_loop("for") }
    fn return_in_a_while_loop() -> Fused(0); { return_in_loop("while") }
    fn return_in_a_do_loop() -> Fused(0); { return_in_loop("do") }
    fn return_in_nested_loops() -> Fused(0); { return_in_loop("nested") }
    fn return_in_a_switch_in_a_loop() -> Fused(0); { return_in_loop("switch") }
    fn store_before_the_test_of_a_do_loop() -> Fused(0); { store_before_test("do") }
    fn store_before_a_break() -> Fused(0); { store_before_test("break") }

    /// Items from n on are cleared although they return then; n is a multiple of four below the item count.
    fn store_before_a_range_guard() -> Fused(0); {
        let mut e = Exhibit::of("store_before_guard");
        let (a, o) = (e.numbers("a", 256), e.poisoned("o", 256));
        e.run("set", 4, &[(1, o)], &[100]);
        e.run("add", 4, &[(0, a), (1, o)], &[100]);
        e.expect(o, numbers(100).map(|v| v + 1).chain([0; 156]));
        e
    }

    /// The same with another limit in each kernel.
    fn store_before_range_guards_with_other_limits() -> Fused(0); {
        let mut e = Exhibit::of("store_before_guard");
        let (a, o) = (e.numbers("a", 256), e.poisoned("o", 256));
        e.run("set", 4, &[(1, o)], &[64]);
        e.run("add", 4, &[(0, a), (1, o)], &[200]);
        e.expect(o, numbers(200).enumerate().map(|(i, v)| v + u32::from(i < 64)).chain([0; 56]));
        e
    }

    /// The first kernel reads a promoted buffer before anybody wrote it, if it had anything to do.
    fn nothing_to_do_with_a_promoted_buffer() -> Fused(0); {
        let mut e = Exhibit::of("nothing_to_do");
        let (a, t, out) = (e.numbers("a", 256), e.temporary("t", 256), e.poisoned("out", 256));
        e.run("first", 4, &[(0, a), (1, t)], &[0]);
        e.run("second", 4, &[(0, t), (1, out)], &[0]);
        e.expect(out, poison(256));
        e
    }
}
