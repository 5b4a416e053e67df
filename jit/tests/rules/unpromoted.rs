//! What was to be promoted and found no room: recomputed by its readers, or made where it is stored.

use vkfuse_jit::plan::{Internalization, Promote};

use super::epilogues::{begun, flat, over_rows, rows_of};
use super::lab::{Checked, Lab, kernel};
use super::rows::{NORM, reduce, spread};

/// Rows that neither registers nor shared memory of the test bench hold: 80 elements an invocation.
const LONG: u32 = 640;
const ROWS: u32 = 3;

/// A list on long rows, on a device without caches and with little shared memory.
fn long() -> Lab {
    let mut lab = Lab::rewriting(u64::from(ROWS * LONG));
    lab.limits.cached_bytes = 0;
    lab.limits.max_shared_bytes = 256;
    lab
}

/// Maximum, `value` of each element, sum, quotient; buffer 2 is what finds no room.
fn softmax(lab: Lab, value: &str, promote: Promote) -> Lab {
    let lab = lab.promote(1, promote).promote(2, promote).promote(3, promote);
    lab.submit(&reduce("max(own, v)", "max(x, y)"), [ROWS, 1, 1], &[0, 1], &[LONG])
        .submit(&spread(value), [ROWS, 1, 1], &[0, 1, 2], &[LONG])
        .submit(&reduce("own + v", "x + y"), [ROWS, 1, 1], &[2, 3], &[LONG])
        .submit(&spread("a[at] * 100u / (b[wid.x] + 1u)"), [ROWS, 1, 1], &[2, 3, 4], &[LONG])
}

impl Checked {
    /// Where a buffer is.
    fn place(&self, buffer: u64) -> Internalization {
        let found = self.plan.report.buffers.iter().find(|one| one.buffer.0 == buffer);
        found.map_or(Internalization::None, |one| one.got)
    }

    /// Submissions that are done where others store.
    fn appended(&self) -> Vec<(usize, usize)> {
        self.plan.report.epilogues.iter().map(|one| (one.submission, one.producer)).collect()
    }
}

const CHEAP: &str = "b[wid.x] - a[at]";

probes! {
    fn long_rows_are_recomputed_by_all_readers() {
        let checked = softmax(long(), CHEAP, Promote::Auto).check().works_out(&[(2, 1), (3, 1)]);
        assert_eq!(checked.plan.steps.len(), 1);
        assert_eq!(checked.place(2), Internalization::Private);
    }

    fn what_stays_in_caches_is_not_recomputed() {
        let mut lab = softmax(long(), CHEAP, Promote::Auto);
        lab.limits.cached_bytes = 4 * u64::from(ROWS * LONG);
        assert_eq!(lab.check().works_out(&[]).place(2), Internalization::None);
    }

    // Of two things that a kernel reads, one takes it as an epilogue, and the other one it works out, wherever that stands.
    fn what_stands_beside_a_producer_is_recomputed() {
        let (width, height) = (21, 6);
        let n: u32 = width * height;
        let groups = [n.div_ceil(16), 1, 1];
        let gain = flat("a z", "z[i] = a[i] * 5u + 1u;");
        let both = flat("a b z", "z[i] = a[i] * b[i] + 2u;");
        for is_first in [false, true] {
            let list = |promote| {
                let lab = if is_first {
                    let lab = Lab::rewriting(u64::from(n)).promote(2, promote).promote(3, promote);
                    lab.submit(&gain, groups, &[5, 3], &[n]).submit(&rows_of(4), over_rows(4, width, height), &[0, 1, 2], &[width, height, 3])
                } else {
                    begun(4, width, height, promote).promote(3, promote).submit(&gain, groups, &[5, 3], &[n])
                };
                lab.submit(&both, groups, &[2, 3, 4], &[n])
            };
            let producer = usize::from(is_first);
            let checked = list(Promote::Auto).check().works_out(&[(2, 1 - producer)]).appends(&[(2, producer)]);
            assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report);
            assert!(checked.plan.report.inlined[0].gone);
            // Something else reads it, or it has to be in memory.
            let others = list(Promote::Auto).submit(&gain, groups, &[3, 6], &[n]).check();
            assert!(others.plan.steps.len() > 1, "{:#?}", others.plan.report);
            assert!(list(Promote::None).check().plan.steps.len() > 1);
        }
        // What it is made of is something else by then.
        let changed = begun(4, width, height, Promote::Auto)
            .promote(3, Promote::Auto)
            .submit(&gain, groups, &[5, 3], &[n])
            .submit(&flat("z", "z[i] = i * 3u;"), groups, &[5], &[n])
            .submit(&both, groups, &[2, 3, 4], &[n])
            .check();
        assert!(changed.plan.report.inlined.is_empty(), "{:#?}", changed.plan.report);
    }

    fn what_is_kept_by_wish_is_not_recomputed() {
        softmax(long(), CHEAP, Promote::None).check().works_out(&[]);
    }

    fn what_takes_longer_than_memory_is_not_recomputed() {
        let slow = "(a[at] / (b[wid.x] + 1u)) % 7u / (a[at] % 5u + 1u) % (a[at] % 3u + 1u) / (b[wid.x] + 9u)";
        softmax(long(), slow, Promote::Auto).check().works_out(&[]);
    }

    fn what_is_made_of_as_much_is_not_recomputed() {
        // Two long inputs, three readers: six loads in place of a store, three loads and the producer's own two.
        let sum = kernel("a b z", "8", "for (var c = lid.x; c < p.x; c += 8u) { let at = wid.x * p.x + c; z[at] = a[at] + b[at]; }");
        let lab = long().promote(2, Promote::Auto);
        let lab = lab.submit(&sum, [ROWS, 1, 1], &[0, 1, 2], &[LONG]);
        let lab = [5, 6, 7].iter().fold(lab, |lab, &out| lab.submit(&reduce("own + v", "x + y"), [ROWS, 1, 1], &[2, out], &[LONG]));
        lab.check().works_out(&[]);
    }

    fn what_was_made_of_something_else_by_then_is_not_recomputed() {
        let clear = kernel("z", "8", "for (var c = lid.x; c < p.x; c += 8u) { z[wid.x * p.x + c] = c; }");
        let lab = long().promote(1, Promote::Auto).promote(2, Promote::Auto).promote(3, Promote::Auto);
        lab.submit(&reduce("max(own, v)", "max(x, y)"), [ROWS, 1, 1], &[0, 1], &[LONG])
            .submit(&spread(CHEAP), [ROWS, 1, 1], &[0, 1, 2], &[LONG])
            .submit(&clear, [ROWS, 1, 1], &[0], &[LONG])
            .submit(&reduce("own + v", "x + y"), [ROWS, 1, 1], &[2, 3], &[LONG])
            .submit(&spread("a[at] * 100u / (b[wid.x] + 1u)"), [ROWS, 1, 1], &[2, 3, 4], &[LONG])
            .check()
            .works_out(&[]);
    }

    /// What is not stored is loaded as before, so the buffer stays.
    fn what_is_stored_in_part_is_not_recomputed() {
        let part = "for (var c = lid.x; c + 7u < p.x; c += 8u) { z[wid.x * p.x + c] = a[wid.x * p.x + c] * 3u; }";
        let ids = kernel("a z", "4, 2",
            "if (gid.x < p.x && gid.y + 1u < p.y) { z[5u + gid.y * p.x + gid.x] = a[gid.x] + lid.x * wid.y; }");
        let back = kernel("a z", "8", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[p.x - 1u - i];");
        let all = ROWS * LONG;
        for (text, groups, words) in [
            (kernel("a z", "8", part), [ROWS, 1, 1], [LONG, 0]),
            (ids, [LONG / 4, 2, 1], [LONG, ROWS]),
        ] {
            long()
                .promote(2, Promote::Auto)
                .submit(&text, groups, &[0, 2], &words)
                .submit(&back, [all.div_ceil(8), 1, 1], &[2, 3], &[all])
                .check();
        }
    }

    fn the_only_reader_of_long_rows_is_done_where_they_are_stored() {
        let weight = kernel("a b z", "8", "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] * b[i % p.y];");
        for promote in [Promote::Auto, Promote::None] {
            let checked = long()
                .promote(2, promote)
                .submit(&kernel("a z", "8", NORM), [ROWS, 1, 1], &[0, 2], &[LONG])
                .submit(&weight, [ROWS * LONG / 8, 1, 1], &[2, 1, 3], &[ROWS * LONG, LONG])
                .check();
            if promote == Promote::Auto {
                assert_eq!(checked.appended(), [(1, 0)], "{:#?}", checked.plan.report);
                assert_eq!(checked.place(2), Internalization::Private);
            }
        }
    }
}
