//! Lines of items of several lengths in one dispatch, and parts of a line, which have paths of their own for several items.

use rspirv::spirv::Op;
use vkfuse_jit::plan::{Internalization, Promote, ShapeLimits};

use super::lab::{Checked, Lab, kernel};
use super::placement::{flat, over};

/// A device whose invocations do four items of a line each.
fn in_fours(mut lab: Lab, vectors: bool) -> Lab {
    let shape = lab.limits.shape;
    lab.limits.shape = ShapeLimits { group_size: 16, items: 1, vectors, superword: 4, lanes: 1, ..shape };
    lab
}

impl Checked {
    /// Demands that the entry point asks this often which path items take.
    #[track_caller]
    fn with_paths(self, paths: usize) -> Self {
        let module = self.module();
        let entry = module.functions.last().expect("an entry point");
        let asked = entry.all_inst_iter().filter(|inst| inst.class.opcode == Op::SelectionMerge).count();
        assert_eq!(
            (asked, self.plan.report.groups[0].items_per_invocation),
            (paths, 4),
            "{:#?}",
            self.plan.report
        );
        self
    }

    fn is_renumbered(&self) -> bool {
        self.plan.report.groups[0].schedule.contains("linear work-groups")
    }
}

/// `p.x` elements, stored from element `p.y` on.
fn part(value: &str) -> String {
    kernel("a z", "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} z[p.y + i] = {value};"))
}

/// Elements in the range that a condition of `i`, `p.x` and `p.y` says.
fn range(condition: &str, value: &str) -> String {
    kernel("a z", "16", &format!("let i = gid.x; if (!({condition})) {{ return; }} z[i] = {value};"))
}

const WHOLE: &str = "a[i] ^ (3u * i)";

probes! {
    /// Two and three parts, of sizes that vectors and work-groups divide, and that they do not.
    fn parts_have_paths_of_their_own() {
        for (n, h) in [(64, 32), (70, 30), (96, 48), (33, 1), (65, 48), (64, 63), (256, 128), (250, 125)] {
            for vectors in [true, false] {
                in_fours(Lab::rewriting(u64::from(n)), vectors)
                    .promote(2, Promote::Private)
                    .submit(&part("a[i] + 1u"), over(h), &[0, 2], &[h, 0])
                    .submit(&part("a[i] * 3u + i"), over(n - h), &[1, 2], &[n - h, h])
                    .submit(&flat("a z", WHOLE), over(n), &[2, 3], &[0, n])
                    .check()
                    .fused(0)
                    .inside(2, Internalization::Private)
                    .with_paths(2);
            }
        }
        for [a, b, c] in [[32, 16, 48], [30, 17, 23], [5, 90, 1], [16, 16, 16], [3, 30, 3], [64, 64, 128]] {
            for vectors in [true, false] {
                let n = a + b + c;
                in_fours(Lab::rewriting(u64::from(n)), vectors)
                    .promote(3, Promote::Private)
                    .submit(&part("a[i] + 1u"), over(a), &[0, 3], &[a, 0])
                    .submit(&part("a[i] * 3u"), over(b), &[1, 3], &[b, a])
                    .submit(&part("a[i] ^ i"), over(c), &[2, 3], &[c, a + b])
                    .submit(&flat("a z", WHOLE), over(n), &[3, 4], &[0, n])
                    .check()
                    .fused(0)
                    .inside(3, Internalization::Private)
                    .with_paths(3);
            }
        }
    }

    /// Parts that overlap, that leave something out, that lie in each other and that come in another order, by each spelling of a range.
    fn parts_may_lie_anywhere() {
        let spelled: [(&str, u32); 4] = [
            ("i >= p.y && i < p.x", 0),
            ("p.y <= i && i <= p.x", 1),
            ("i32(i) >= i32(p.y) && !(i32(i) >= i32(p.x))", 0),
            ("i < p.x && !(i < p.y)", 0),
        ];
        let ranges = [
            [(0, 20), (20, 45), (45, 64)],
            [(0, 30), (20, 45), (40, 64)],
            [(0, 10), (20, 30), (40, 64)],
            [(0, 64), (10, 50), (20, 30)],
            [(45, 64), (20, 45), (0, 20)],
            [(20, 20), (20, 64), (64, 64)],
            [(10, 40), (10, 40), (10, 20)],
        ];
        for (number, (spelling, less)) in spelled.into_iter().enumerate() {
            let (other, fewer) = spelled[(number + 1) % spelled.len()];
            for [a, b, c] in ranges {
                for vectors in [true, false] {
                    in_fours(Lab::new(64), vectors)
                        .submit(&range(spelling, "a[i] + 1u"), over(64), &[0, 3], &[a.1 - less, a.0])
                        .submit(&range(other, "a[i] * 3u + z[i]"), over(64), &[1, 3], &[b.1 - fewer, b.0])
                        .submit(&range(spelling, "a[i] ^ (z[i] + i)"), over(64), &[2, 3], &[c.1 - less, c.0])
                        .submit(&flat("a z", WHOLE), over(64), &[3, 4], &[0, 64])
                        .check()
                        .fused(0);
                }
            }
        }
    }

    /// Before a part that begins later, behind a member that ends with its work-groups: it does not ask, so it is renumbered.
    fn a_member_that_does_not_ask_is_renumbered() {
        let all = kernel("a z", "16", "z[gid.x] = a[gid.x] + 1u;");
        for (first, end) in [(32, 64), (20, 64), (40, 50), (1, 63), (0, 64)] {
            for vectors in [true, false] {
                let checked = in_fours(Lab::new(64), vectors)
                    .submit(&all, over(32), &[0, 2], &[])
                    .submit(&range("i >= p.y && i < p.x", "a[i] * 3u"), over(64), &[1, 2], &[end, first])
                    .submit(&flat("a z", WHOLE), over(64), &[2, 3], &[0, 64])
                    .check()
                    .fused(0)
                    // One of the two asks for the first member by its work-groups. What begins at 0 is no part.
                    .with_paths(if first == 0 { 1 } else { 3 });
                assert!(checked.is_renumbered());
            }
        }
    }

    /// A line ends by itself if a guard before anything else turns away all that would come behind it.
    fn lines_end_by_their_guards() {
        let guards = [
            ("i >= p.x", 32, true),
            ("i >= p.x", 20, true),
            ("i >= p.x", 33, false),
            ("i >= p.x", 0xffff_ffff, false),
            ("i > p.x", 31, true),
            ("i > p.x", 32, false),
            ("!(p.x >= i)", 31, true),
            ("i32(i) >= i32(p.x)", 32, true),
            ("i32(i) >= i32(p.x)", 0xffff_ffff, true),
            ("i >= p.x * 2u", 16, true),
            ("i >= p.x * 2u", 17, false),
            ("i >= arrayLength(&a)", 0, false),
        ];
        let list = |body: &str, push: u32| {
            in_fours(Lab::new(64), false)
                .submit(&kernel("a z", "16", body), over(32), &[0, 1], &[push])
                .submit(&flat("a z", "a[i] * 3u"), over(64), &[1, 2], &[0, 64])
        };
        for (guard, push, ends) in guards {
            let checked = list(&format!("let i = gid.x; if ({guard}) {{ return; }} z[i] = a[i] + 1u;"), push).check().fused(0);
            assert_eq!(checked.is_renumbered(), !ends, "{guard} {push}");
        }
        // What has been stored before, and who asks how many work-groups there are.
        let bodies = [
            "let i = gid.x; z[i] = a[i] + 1u; if (i >= p.x) { return; } z[i] = a[i] * 7u;",
            "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] + nwg.x;",
            "let i = gid.x; if (i < p.x) { return; } z[i] = a[i] + 1u;",
        ];
        for body in bodies {
            assert!(list(body, 20).check().fused(0).is_renumbered(), "{body}");
        }
        // Another number is another plan.
        let usual = list("let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] + 1u;", 20);
        assert!(!usual.holds_with(&[&[40], &[0, 64]]));
    }
}
