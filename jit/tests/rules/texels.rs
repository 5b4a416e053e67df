//! Texels of storage images that are recomputed where they are read, and what must not be.

use std::fmt::Write as _;

use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::{Internalization, Promote};

use super::lab::{Lab, View, kernel};

const W: u32 = 20;
const H: u32 = 12;

/// A kernel on images, `a` … `m` read and others written, each `NAME:FORMAT` or of one word without a sign; a format with `^` before it is
/// of three dimensions. The body may use `at`, the ids `gid`, `wid` and `lid`, and the push constants `p.x p.y p.z p.w`.
pub(crate) fn images(names: &str, body: &str) -> String {
    let mut text = String::new();
    if body.contains("p.") {
        text.push_str("struct P { x: u32, y: u32, z: u32, w: u32 }\nvar<immediate> p: P;\n");
    }
    for (binding, name) in names.split_whitespace().enumerate() {
        let (name, format) = name.split_once(':').unwrap_or((name, "r32uint"));
        let (dims, format) = format.strip_prefix('^').map_or((2, format), |format| (3, format));
        let access = if matches!(name.as_bytes()[0], b'a'..=b'm') { "read" } else { "write" };
        let _ = writeln!(
            text,
            "@group(0) @binding({binding}) var {name}: texture_storage_{dims}d<{format}, {access}>;"
        );
    }
    let _ = write!(
        text,
        "@compute @workgroup_size(4, 4)
        fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>,
            @builtin(local_invocation_id) lid: vec3<u32>) {{
            let at = vec2<i32>(gid.xy);
            {body}
        }}"
    );
    text
}

/// Only where the image is: `dims` is its size.
fn inside(body: &str) -> String {
    format!(
        "let dims = vec2<i32>(textureDimensions(z)); if (at.x >= dims.x || at.y >= dims.y) {{ return; }} {body}"
    )
}

/// A kernel that reads and writes one image.
pub(crate) fn in_place(body: &str) -> String {
    images("b", &inside(body).replace("(z)", "(b)")).replace("r32uint, read>", "r32uint, read_write>")
}

fn gain() -> String {
    images("a z", &inside("textureStore(z, at, textureLoad(a, at) * 3u);"))
}

fn tone() -> String {
    images("a z", &inside("let x = textureLoad(a, at).x; textureStore(z, at, vec4<u32>(x * x + 5u));"))
}

/// The sum of all texels up to this many away, those outside being the next one inside.
fn blur(radius: u32) -> String {
    let body = format!(
        "var sum = vec4<u32>(); let r = {radius};
         for (var y = -r; y <= r; y++) {{ for (var x = -r; x <= r; x++) {{
             sum += textureLoad(a, clamp(at + vec2<i32>(x, y), vec2<i32>(0), dims - 1)); }} }}
         textureStore(z, at, sum);"
    );
    images("a z", &inside(&body))
}

/// Images of one size, none a whole number of work-groups wide, and lists over enough work-groups for them.
fn lab(width: u32, height: u32, count: u64) -> Lab {
    let mut lab = Lab::rewriting(4096);
    lab.limits.max_images = 8;
    (0..count).fold(lab, |lab, image| lab.sized(image, [width, height]))
}

const GROUPS: [u32; 3] = [6, 4, 1];

/// What `gain` writes to image 1, read at some coordinates into image 2.
fn after_gain(read: &str) -> Lab {
    let reads = images("a z", &inside(&format!("textureStore(z, at, {read});")));
    lab(W, H, 3).submit(&gain(), GROUPS, &[0, 1], &[]).submit(&reads, GROUPS, &[1, 2], &[])
}

#[track_caller]
fn why(apart: Option<&RewriteReason>, part: &str) {
    let text = apart.map(ToString::to_string).unwrap_or_default();
    assert!(text.contains(part), "{text:?} instead of {part:?}");
}

probes! {
    fn a_stencil_of_texels_is_worked_out() {
        for (radius, size) in [(1, [W, H]), (2, [W, H]), (1, [19, 10]), (2, [17, 15])] {
            for promote in [Promote::None, Promote::Auto, Promote::Private] {
                let checked = lab(size[0], size[1], 4)
                    .promote(1, promote)
                    .submit(&gain(), GROUPS, &[0, 1], &[])
                    .submit(&blur(radius), GROUPS, &[1, 2], &[])
                    .submit(&tone(), GROUPS, &[2, 3], &[])
                    .check()
                    .fused(0)
                    .works_out(&[(1, 0)]);
                if promote != Promote::None {
                    checked.inside(1, Internalization::Private);
                }
            }
        }
    }

    /// What is computed reads what was computed.
    fn chains_of_texels_are_worked_out() {
        for promote in [Promote::None, Promote::Auto] {
            let checked = lab(W, H, 4)
                .promote(1, promote)
                .promote(2, promote)
                .submit(&gain(), GROUPS, &[0, 1], &[])
                .submit(&tone(), GROUPS, &[1, 2], &[])
                .submit(&blur(1), GROUPS, &[2, 3], &[])
                .check()
                .fused(0)
                .works_out(&[(2, 1), (2, 0)]);
            if promote == Promote::Auto {
                checked.inside(1, Internalization::Private).inside(2, Internalization::Private);
            }
        }
        // A blur is a definition only without a loop.
        let cross = images("a z", &inside("
            let low = vec2<i32>(0); let high = dims - 1;
            textureStore(z, at, textureLoad(a, clamp(at + vec2<i32>(1, 0), low, high))
                + textureLoad(a, clamp(at - vec2<i32>(1, 0), low, high)));"));
        lab(W, H, 4)
            .submit(&gain(), GROUPS, &[0, 1], &[])
            .submit(&cross, GROUPS, &[1, 2], &[])
            .submit(&blur(1), GROUPS, &[2, 3], &[])
            .check()
            .fused(0)
            .works_out(&[(1, 0), (2, 1)]);
    }

    /// Whatever the way to stay inside.
    fn reads_that_stay_inside_are_replaced() {
        for read in [
            "textureLoad(a, vec2<i32>(dims.x - 1 - at.x, at.y))",
            "textureLoad(a, dims - 1 - at)",
            "textureLoad(a, max(at, vec2<i32>(1)) - 1) + textureLoad(a, min(at + 1, dims - 1))",
            "textureLoad(a, vec2<i32>(abs(at.x - 3), at.y))",
            "textureLoad(a, dims - 1 - abs(dims - 1 - abs(at - 2)))",
            "textureLoad(a, dims - 1 - abs(dims - 1 - abs(at + 2)))",
            "textureLoad(a, vec2<i32>(max(at.x, 9 - at.x) - 5, at.y))",
            "textureLoad(a, vec2<i32>((at.x + 1) % dims.x, (at.y + 1) % dims.y))",
            "textureLoad(a, vec2<i32>(at.x / 2, at.y / 3)) + textureLoad(a, vec2<i32>(0))",
            "textureLoad(a, vec2<i32>(vec2<u32>(3u, 4u)))",
        ] {
            after_gain(read).check().fused(0).works_out(&[(1, 0)]);
        }
        let guarded = images("a z", &inside("
            var sum = textureLoad(a, at);
            if (at.x > 0) { sum += textureLoad(a, at - vec2<i32>(1, 0)); }
            if (at.y + 1 < dims.y) { sum += textureLoad(a, at + vec2<i32>(0, 1)); }
            textureStore(z, at, sum);"));
        lab(W, H, 3)
            .submit(&gain(), GROUPS, &[0, 1], &[])
            .submit(&guarded, GROUPS, &[1, 2], &[])
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
    }

    /// A read outside of the image finds what the device has there.
    fn reads_that_may_leave_the_image_stay() {
        for read in [
            "textureLoad(a, at + vec2<i32>(1, 0))",
            "textureLoad(a, at - vec2<i32>(0, 1))",
            "textureLoad(a, dims - at)",
            "textureLoad(a, vec2<i32>(max(at.x, 9 - at.x) - 6, at.y))",
        ] {
            let checked = after_gain(read).planned();
            assert!(matches!(checked.stays_apart(2), Some(RewriteReason::NotStored { .. })), "{:#?}", checked.plan.report);
        }
        let checked = after_gain("textureLoad(a, vec2<i32>(i32(textureLoad(a, at).x), 0))").planned();
        why(checked.stays_apart(2), "coordinates that are not followed");
        // Of an image whose size is not known.
        let reads = images("a z", "textureStore(z, at, textureLoad(a, vec2<i32>(19 - at.x, at.y)));");
        let plain = images("a z", "textureStore(z, at, textureLoad(a, at) * 3u);");
        let list = |size: Option<[u32; 2]>, groups| {
            let lab = match size {
                Some(size) => lab(size[0], size[1], 3),
                None => Lab::rewriting(4096),
            };
            lab.submit(&plain, groups, &[0, 1], &[]).submit(&reads, groups, &[1, 2], &[])
        };
        list(Some([W, H]), [5, 3, 1]).check().fused(0).works_out(&[(1, 0)]);
        list(None, [5, 3, 1]).planned().stays_apart(2);
        // Written beyond its end: the writes have no effect.
        list(Some([W - 1, H]), [5, 3, 1]).planned().stays_apart(2);
    }

    /// What the producer reads outside of its image is up to the device, each time.
    fn a_producer_that_may_leave_its_image_is_not_worked_out() {
        let right = images("a z", &inside("textureStore(z, at, textureLoad(a, at + vec2<i32>(1, 0)));"));
        let checked = lab(W, H, 3)
            .submit(&right, GROUPS, &[0, 1], &[])
            .submit(&blur(1), GROUPS, &[1, 2], &[])
            .planned();
        why(checked.stays_apart(2), "outside of an image");
        // One that is a column wider.
        lab(W, H, 3)
            .sized(0, [W + 1, H])
            .submit(&right, GROUPS, &[0, 1], &[])
            .submit(&blur(1), GROUPS, &[1, 2], &[])
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
    }

    /// Texels that the producer leaves alone hold what they held.
    fn texels_that_are_not_written_are_not_worked_out() {
        let part = images("a z",
            "if (gid.x >= p.x || gid.y >= p.y) { return; } textureStore(z, at, textureLoad(a, at) * 3u);");
        let list = |columns: u32, rows: u32| {
            lab(W, H, 3)
                .submit(&part, [5, 3, 1], &[0, 1], &[columns, rows])
                .submit(&blur(1), GROUPS, &[1, 2], &[])
        };
        list(W, H).check().fused(0).works_out(&[(1, 0)]);
        for (columns, rows) in [(W - 1, H), (W, H - 1)] {
            let checked = list(columns, rows).planned();
            assert!(matches!(checked.stays_apart(2), Some(RewriteReason::NotStored { .. })));
        }
        // Too few work-groups.
        lab(W, H, 3)
            .submit(&part, [4, 3, 1], &[0, 1], &[W, H])
            .submit(&blur(1), GROUPS, &[1, 2], &[])
            .check()
            .stays_apart(2);
        // A triangle, and every other line.
        for condition in ["gid.x + gid.y < p.x", "gid.y % 2u == 0u"] {
            let some = images("a z", &inside(&format!("if ({condition}) {{ textureStore(z, at, textureLoad(a, at)); }}")));
            let checked = lab(W, H, 3)
                .submit(&some, GROUPS, &[0, 1], &[W])
                .submit(&blur(1), GROUPS, &[1, 2], &[])
                .planned();
            checked.stays_apart(2);
        }
    }

    /// The value is made of the item's own ids, and the first texel is another one than the first.
    fn ids_of_texels_are_their_coordinates() {
        let ids = "vec4<u32>(gid.x + 100u * wid.y + 10000u * lid.x + 1000000u * gid.y)";
        let left = "textureLoad(a, vec2<i32>(max(at.x, 1) - 1, at.y))";
        for (place, read) in [
            ("at", left),
            ("at.yx", "textureLoad(a, vec2<i32>(max(at.y, 1) - 1, max(at.x, 1) - 1))"),
        ] {
            let writes = images("z", &format!("textureStore(z, {place}, {ids});"));
            let reads = images("a z", &format!("textureStore(z, at, {read});"));
            let checked = lab(W, W, 2)
                .submit(&writes, [5, 5, 1], &[0], &[])
                .submit(&reads, [5, 5, 1], &[0, 1], &[])
                .check();
            checked.fused(0).works_out(&[(1, 0)]);
        }
        let shifted = images("z", &format!("textureStore(z, at + vec2<i32>(2, 3), {ids});"));
        let reads = |x: u32| images("a z", &format!("textureStore(z, at, textureLoad(a, max(at, vec2<i32>({x}, 4)) - vec2<i32>(0, 1)));"));
        let list = |x| {
            lab(W + 2, H + 3, 2)
                .submit(&shifted, [5, 3, 1], &[0], &[])
                .submit(&reads(x), [5, 3, 1], &[0, 1], &[])
        };
        list(2).check().fused(0).works_out(&[(1, 0)]);
        let checked = list(1).planned();
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::NotStored { .. })));
    }

    /// Two items that write one texel: it is not known which was the last.
    fn an_id_that_is_no_coordinate_is_not_followed() {
        let writes = images("z", "textureStore(z, at, vec4<u32>(gid.z));");
        let reads = images("a z", "textureStore(z, at, textureLoad(a, vec2<i32>(19 - at.x, at.y)));");
        let list = |depth| {
            lab(W, H, 2)
                .submit(&writes, [5, 3, depth], &[0], &[])
                .submit(&reads, [5, 3, 1], &[0, 1], &[])
                .planned()
        };
        list(1).fused(0).works_out(&[(1, 0)]);
        why(list(2).stays_apart(2), "a dimension that is none of the image");
        for place in ["at.xx", "at / 2", "2 * at", "vec2<i32>(at.x, 11 - at.y)"] {
            let writes = images("z", &format!("textureStore(z, {place}, vec4<u32>(1u));"));
            let checked = lab(W, H, 2)
                .submit(&writes, [5, 3, 1], &[0], &[])
                .submit(&reads, [5, 3, 1], &[0, 1], &[])
                .planned();
            checked.stays_apart(2);
        }
    }

    fn volumes_are_worked_out() {
        let writes = images("a:^r32uint z:^r32uint",
            "textureStore(z, vec3<i32>(gid), textureLoad(a, vec3<i32>(gid)) + gid.z);");
        let reads = images("a:^r32uint z:^r32uint",
            "textureStore(z, vec3<i32>(gid), textureLoad(a, vec3<i32>(at, 2 - i32(gid.z))));");
        let list = |depth| {
            let lab = (0..3).fold(Lab::rewriting(4096), |lab, image| lab.deep(image, [8, 4, depth]));
            lab.submit(&writes, [2, 1, depth], &[0, 1], &[]).submit(&reads, [2, 1, 3], &[1, 2], &[])
        };
        list(3).check().fused(0).works_out(&[(1, 0)]);
        list(2).planned().stays_apart(2);
    }

    /// Channels that the image has not are zeros, and alpha is one.
    fn formats_that_keep_all_are_worked_out() {
        for (format, one) in [
            ("r32uint", "vec4<u32>(1u, 2u, 3u, 4u)"),
            ("rg32uint", "vec4<u32>(1u, 2u, 3u, 4u)"),
            ("rgba32uint", "vec4<u32>(1u, 2u, 3u, 4u)"),
            ("r32sint", "vec4<i32>(1, 2, 3, 4)"),
            ("rgba32sint", "vec4<i32>(1, 2, 3, 4)"),
            ("r32float", "vec4<f32>(1.0, 2.0, 3.0, 4.0)"),
            ("rg32float", "vec4<f32>(1.0, 2.0, 3.0, 4.0)"),
            ("rgba32float", "vec4<f32>(1.0, 2.0, 3.0, 4.0)"),
        ] {
            let names = format!("a:{format} z:{format}");
            let writes = images(&names, &format!("textureStore(z, at, textureLoad(a, at) + {one});"));
            // All four channels come through the first.
            let read = "let x = textureLoad(a, vec2<i32>(19 - at.x, at.y));";
            let sum = "x.x + x.y + x.y + x.z * x.w + x.z + x.w + x.w";
            let ty = one.split_once('(').map_or("", |(ty, _)| ty);
            let reads = images(&names, &format!("{read} textureStore(z, at, {ty}({sum}));"));
            lab(W, H, 3)
                .submit(&writes, [5, 3, 1], &[0, 1], &[])
                .submit(&reads, [5, 3, 1], &[1, 2], &[])
                .check()
                .fused(0)
                .works_out(&[(1, 0)]);
        }
    }

    /// What is read is what the format made of it.
    fn formats_that_round_are_not_worked_out() {
        for format in ["rgba8unorm", "rgba8uint", "rgba16float", "rgba16uint"] {
            let names = format!("a:{format} z:{format}");
            let writes = images(&names, "textureStore(z, at, textureLoad(a, at) + textureLoad(a, at));");
            let reads = images(&names, "textureStore(z, at, textureLoad(a, vec2<i32>(19 - at.x, at.y)));");
            let checked = lab(W, H, 3)
                .submit(&writes, [5, 3, 1], &[0, 1], &[])
                .submit(&reads, [5, 3, 1], &[1, 2], &[])
                .planned();
            why(checked.stays_apart(2), "a format that does not keep what is written");
        }
        // What it is made of may be rounded: that stays as it is.
        let writes = images("a:rgba8unorm z:rgba32float", "textureStore(z, at, textureLoad(a, at) * 2.0);");
        let reads = images("a:rgba32float z:rgba8unorm", "textureStore(z, at, textureLoad(a, vec2<i32>(19 - at.x, at.y)));");
        lab(W, H, 3)
            .submit(&writes, [5, 3, 1], &[0, 1], &[])
            .submit(&reads, [5, 3, 1], &[1, 2], &[])
            .planned()
            .fused(0)
            .works_out(&[(1, 0)]);
        // Bits of another type.
        let writes = images("z:r32uint", "textureStore(z, at, vec4<u32>(gid.x));");
        let reads = images("a:r32sint z:r32sint", "textureStore(z, at, textureLoad(a, vec2<i32>(19 - at.x, at.y)));");
        let checked = lab(W, H, 2)
            .submit(&writes, [5, 3, 1], &[0], &[])
            .submit(&reads, [5, 3, 1], &[0, 1], &[])
            .planned();
        why(checked.stays_apart(2), "texels of another format");
    }

    /// Another way to see an image may begin at another layer of it.
    fn another_view_of_an_image_is_not_worked_out() {
        let mirrored = images("a z", "textureStore(z, at, textureLoad(a, vec2<i32>(19 - at.x, at.y)));");
        let list = |view: View| {
            let plain = images("a z", "textureStore(z, at, textureLoad(a, at));");
            lab(W, H, 3)
                .submit(&plain, [5, 3, 1], &[0, 1], &[])
                .submit_views(&mirrored, [5, 3, 1], &[view, 2.into()], &[])
                .planned()
        };
        list(1.into()).fused(0).works_out(&[(1, 0)]);
        why(list((1, 1, 4095).into()).stays_apart(2), "another view of the image");
        why(list((1, 0, 4095).into()).stays_apart(2), "another view of the image");
    }

    /// What is read, and what is written, has to stay until it is computed.
    fn images_that_are_written_over_are_not_worked_out() {
        // The source, by somebody else and by the kernel that reads; each at its own texel.
        let list = |middle: [u64; 2], last: [u64; 2]| {
            lab(W, H, 5)
                .submit(&gain(), GROUPS, &[0, 1], &[])
                .submit(&tone(), GROUPS, &middle, &[])
                .submit(&blur(1), GROUPS, &last, &[])
                .check()
        };
        list([3, 4], [1, 2]).fused(0).works_out(&[(2, 0)]);
        for (middle, last) in [([3, 0], [1, 2]), ([3, 4], [1, 0])] {
            let checked = list(middle, last);
            assert!(checked.plan.report.inlined.is_empty(), "{:#?}", checked.plan.report);
        }
        // The image is written once more: the last one is computed, and that alone.
        list([3, 1], [1, 2]).fused(0).works_out(&[(2, 1)]);
        // In place: what it was made of is no more.
        let place = in_place("textureStore(b, at, textureLoad(b, at) + 1u);");
        let checked = lab(W, H, 2)
            .submit(&place, [5, 3, 1], &[0], &[])
            .submit(&blur(1), GROUPS, &[0, 1], &[])
            .check();
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::Overwritten { .. })), "{:#?}", checked.plan.report);
    }

    /// Over its own texels: then it is made of what the one before it was made of.
    fn texels_that_are_written_over_in_place_are_worked_out() {
        let list = |bodies: &[&str], groups| {
            let list = lab(W, H, 3).submit(&gain(), groups, &[0, 1], &[]);
            let list = bodies.iter().fold(list, |list, body| list.submit(&in_place(body), groups, &[1], &[]));
            list.submit(&blur(1), GROUPS, &[1, 2], &[])
        };
        let own = "textureStore(b, at, textureLoad(b, at) * textureLoad(b, at) + 5u);";
        list(&[own], GROUPS).check().fused(0).works_out(&[(2, 1)]);
        list(&[own, own], GROUPS).check().fused(0).works_out(&[(3, 2)]);
        // Half of it is written over: what the other half holds is another matter.
        let half = "if (gid.x < 10u) { textureStore(b, at, textureLoad(b, at) + 5u); }";
        let checked = list(&[half], GROUPS).check();
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::NotStored { .. })), "{:#?}", checked.plan.report);
        // Another invocation's, which has written it or has not.
        let others = "textureStore(b, at, textureLoad(b, vec2<i32>(4 * wid.xy + 3u - lid.xy)));";
        let checked = list(&[others], [5, 3, 1]).planned();
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::Overwritten { .. })), "{:#?}", checked.plan.report);
        // What it was made of in the first place is written over.
        let reads = images("a y z", &inside("textureStore(z, at, textureLoad(a, dims - 1 - at)); textureStore(y, at, vec4<u32>(1u));"));
        let over = |other| {
            lab(W, H, 4)
                .submit(&gain(), GROUPS, &[0, 1], &[])
                .submit(&in_place(own), GROUPS, &[1], &[])
                .submit(&reads, GROUPS, &[1, other, 2], &[])
                .check()
        };
        over(3).fused(0).works_out(&[(2, 1)]);
        assert!(matches!(over(0).stays_apart(2), Some(RewriteReason::Overwritten { .. })));
    }

    /// An image that a list kept inside can be read again once all of it was written.
    fn an_image_is_written_over_if_every_texel_is() {
        let part = images("a z",
            "if (gid.x >= p.x || gid.y >= p.y) { return; } textureStore(z, at, textureLoad(a, at) * 3u);");
        let shifted = images("a z", "textureStore(z, at + 1, textureLoad(a, at));");
        let own = in_place("textureStore(b, at, textureLoad(b, at) + 5u);");
        let list = || lab(W, H, 2);
        for (lab, whole) in [
            (list().submit(&part, [5, 3, 1], &[0, 1], &[W, H]), true),
            (list().submit(&part, [5, 3, 1], &[0, 1], &[W - 1, H]), false),
            (list().submit(&part, [5, 3, 1], &[0, 1], &[W, H - 1]), false),
            (list().submit(&part, [4, 3, 1], &[0, 1], &[W, H]), false),
            (list().submit(&shifted, [5, 3, 1], &[0, 1], &[]), false),
            (list().submit(&own, GROUPS, &[1], &[]), true),
            (Lab::rewriting(4096).submit(&gain(), GROUPS, &[0, 1], &[]), false),
        ] {
            assert_eq!(lab.overwrites(1), whole);
        }
    }

    /// From a buffer into an image, and what is read of it.
    fn buffers_and_images_are_worked_out() {
        let own = "texture_storage_2d<r32uint, write>";
        let fill = kernel("a z", "4, 4", "textureStore(z, gid.xy, vec4<u32>(a[gid.y * p.x + gid.x] * 7u));")
            .replace("var<storage, read_write> z: array<u32>", &format!("var z: {own}"));
        lab(W, H, 3)
            .sized(0, [1, 1])
            .submit(&fill, [5, 3, 1], &[0, 1], &[W])
            .submit(&blur(1), GROUPS, &[1, 2], &[])
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
    }

    /// Both kernels are compiled as if they stood alone.
    fn floats_of_texels_are_hidden_where_they_come_together() {
        let names = "a:r32float z:r32float";
        let writes = images(names, "textureStore(z, at, textureLoad(a, at) / 3.0);");
        let reads = images(names, "textureStore(z, at, textureLoad(a, vec2<i32>(19 - at.x, at.y)) * 3.0);");
        let list = || {
            lab(W, H, 3)
                .submit(&writes, [5, 3, 1], &[0, 1], &[])
                .submit(&reads, [5, 3, 1], &[1, 2], &[])
        };
        list().check().fused(0).works_out(&[(1, 0)]);
        let seen = list().seen_through(1).expect("hidden floats");
        assert!(seen[2] > 0, "{seen:?}");
    }
}
