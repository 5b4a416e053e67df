//! Texels that are fetched where another kernel writes them: recomputed as those that are read, and what must not be.

use vkfuse_jit::Reason;
use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::is_possible;
use super::lab::{Lab, View};
use super::texels::images;

const W: u32 = 20;
const H: u32 = 12;
const GROUPS: [u32; 3] = [6, 4, 1];

/// A kernel that fetches from `s`, at `at`, and writes to image `z` of `dims` texels.
fn fetching(of: &str, body: &str) -> String {
    let inside =
        "let dims = vec2<i32>(textureDimensions(z)); if (at.x >= dims.x || at.y >= dims.y) { return; }";
    let text = images("a z", &format!("{inside} {body}").replace("(a,", "(s,"));
    text.replace("var a: texture_storage_2d<r32uint, read>", &format!("var s: texture_2d<{of}>"))
}

fn fetch(value: &str) -> String {
    fetching("u32", &format!("textureStore(z, at, {value});"))
}

/// A kernel that knows how large its images are, and fetches its own texel or the one at the other end.
fn bounded(sampler: bool, own: bool) -> String {
    let place = if own { "at" } else { "ivec2(19, 11) - at" };
    let (image, extension) = match sampler {
        true => ("usampler2D", ""),
        false => ("utexture2D", "#extension GL_EXT_samplerless_texture_functions : enable"),
    };
    format!(
        "#version 450
        {extension}
        layout(local_size_x = 4, local_size_y = 4) in;
        layout(set = 0, binding = 0) uniform {image} s;
        layout(set = 0, binding = 1, r32ui) uniform writeonly uimage2D z;
        void main() {{
            ivec2 at = ivec2(gl_GlobalInvocationID.xy);
            if (at.x >= 20 || at.y >= 12) return;
            imageStore(z, at, texelFetch(s, {place}, 0) * 3u + gl_GlobalInvocationID.y);
        }}"
    )
}

fn gain() -> String {
    images("a z", "textureStore(z, at, textureLoad(a, min(at, vec2<i32>(19, 11))) * 3u + vec4<u32>(gid.x));")
}

fn lab(count: u64) -> Lab {
    let mut lab = Lab::rewriting(4096);
    lab.limits.max_images = 8;
    (0..count).fold(lab, |lab, image| lab.sized(image, [W, H]))
}

/// What `gain` writes to image 1, fetched into image 2.
fn after_gain(value: &str) -> Lab {
    lab(3).submit(&gain(), GROUPS, &[0, 1], &[]).submit(&fetch(value), GROUPS, &[1, 2], &[])
}

#[track_caller]
fn stays(list: Lab) {
    let checked = list.planned();
    let report = &checked.plan.report;
    assert_eq!(checked.plan.steps.len(), 2, "{report:#?}");
    assert!(matches!(report.splits[0].reason, Reason::SampledWritten(_)), "{report:#?}");
}

probes! {
    fn fetched_texels_are_worked_out() {
        for value in [
            "textureLoad(s, at, 0)",
            "textureLoad(s, vec2<i32>(dims.x - 1 - at.x, at.y), 0) * 5u",
            "textureLoad(s, max(at - 1, vec2<i32>(0)), 0) + textureLoad(s, min(at + 1, dims - 1), 0)",
        ] {
            for promote in [Promote::None, Promote::Auto] {
                let list = lab(3).promote(1, promote).submit(&gain(), GROUPS, &[0, 1], &[]);
                let checked = list.submit(&fetch(value), GROUPS, &[1, 2], &[]).check().fused(0).works_out(&[(1, 0)]);
                if promote == Promote::Auto {
                    checked.inside(1, Internalization::Private);
                }
            }
        }
    }

    /// What is computed fetches itself, with a sampler beside the image or without one.
    fn chains_of_fetches_are_worked_out() {
        for sampler in [false, true] {
            if sampler && !is_possible() {
                continue;
            }
            for own in [false, true] {
                let list = (0..3).fold(lab(4), |list, at| {
                    list.promote(at + 1, if at < 2 { Promote::Auto } else { Promote::None })
                        .submit(&bounded(sampler, own), GROUPS, &[at, at + 1], &[])
                });
                let checked = list.check().fused(0);
                checked.inside(1, Internalization::Private).inside(2, Internalization::Private);
            }
        }
    }

    fn fetches_from_other_levels_stay() {
        stays(after_gain("textureLoad(s, at, 1)"));
        stays(after_gain("textureLoad(s, at, i32(wid.x))"));
        // What it is made of comes from another level.
        let list = lab(3).submit(&fetch("textureLoad(s, at, 1)"), GROUPS, &[0, 1], &[]);
        stays(list.submit(&fetch("textureLoad(s, at, 0)"), GROUPS, &[1, 2], &[]));
    }

    /// Numbers of another kind are other bits, and what is outside of an image is up to the device.
    fn fetches_of_something_else_stay() {
        let floats = fetching("f32", "textureStore(z, at, bitcast<vec4<u32>>(textureLoad(s, at, 0)));");
        stays(lab(3).submit(&gain(), GROUPS, &[0, 1], &[]).submit(&floats, GROUPS, &[1, 2], &[]));
        stays(after_gain("textureLoad(s, at + 1, 0)"));
        let rounded = images("a z:rgba16uint", "textureStore(z, at, textureLoad(a, min(at, vec2<i32>(19, 11))));");
        stays(lab(3).submit(&rounded, GROUPS, &[0, 1], &[]).submit(&fetch("textureLoad(s, at, 0)"), GROUPS, &[1, 2], &[]));
    }

    /// With a sampler of its own, an image is seen through the same view.
    fn views_are_known_by_their_numbers() {
        let part: View = (1, 1, 4000).into();
        let list = |of: [u32; 2], view: View| {
            let list = lab(3).seen(1, of[0]).submit(&gain(), GROUPS, &[0, 1], &[]);
            list.seen(1, of[1]).submit_views(&fetch("textureLoad(s, dims - 1 - at, 0)"), GROUPS, &[view, 2.into()], &[])
        };
        list([7, 7], part).planned().fused(0).works_out(&[(1, 0)]);
        list([7, 7], 1.into()).check().fused(0).works_out(&[(1, 0)]);
        stays(list([7, 8], 1.into()));
        stays(list([7, 8], part));
        let list = lab(3).submit(&gain(), GROUPS, &[0, 1], &[]);
        stays(list.submit_views(&fetch("textureLoad(s, at, 0)"), GROUPS, &[part, 2.into()], &[]));
    }

    /// Where the condition fails, the first texel is read in its place, and not used.
    fn texels_under_a_condition_are_worked_out() {
        let inside = "let dims = vec2<i32>(textureDimensions(z)); if (at.x >= dims.x || at.y >= dims.y) { return; }";
        let read = |image: &str, at: &str| match image {
            "a" => images("a z", &format!("{inside} var own = vec4<u32>(7u, gid.x, 1u, 2u);
                if (at.x > 1 && at.y > 0) {{ own = textureLoad(a, {at}) + 3u; }} textureStore(z, at, own);")),
            _ => fetch("own").replace("textureStore", &format!("var own = vec4<u32>(5u);
                if (at.x > 1 && at.y > 0) {{ own = textureLoad(s, {at}, 0) + 3u; }} textureStore")),
        };
        let mirrored = images("a z", &format!("{inside} textureStore(z, at, textureLoad(a, dims - 1 - at) * 2u);"));
        for kind in ["a", "s"] {
            for promote in [Promote::None, Promote::Auto] {
                let list = lab(3).promote(1, promote).submit(&read(kind, "at - vec2<i32>(2, 1)"), GROUPS, &[0, 1], &[]);
                list.submit(&mirrored, GROUPS, &[1, 2], &[]).check().fused(0).works_out(&[(1, 0)]);
            }
            // Outside of the image where it is read.
            let list = lab(3).submit(&read(kind, "at - vec2<i32>(3, 1)"), GROUPS, &[0, 1], &[]);
            let checked = list.submit(&mirrored, GROUPS, &[1, 2], &[]).planned();
            assert_eq!(checked.plan.steps.len(), 2, "{:#?}", checked.plan.report);
        }
    }

    /// Each reads what the other wrote at its own texel: nothing is left to be written.
    fn own_texels_stay_inside() {
        let own = images("a z", "textureStore(z, at, textureLoad(a, at) * 3u + vec4<u32>(gid.y));");
        let list = (0..3).fold(lab(4), |list, at| {
            list.promote(at + 1, if at < 2 { Promote::Auto } else { Promote::None })
                .submit(&own, [5, 3, 1], &[at, at + 1], &[])
        });
        list.check().fused(0).inside(1, Internalization::Private).inside(2, Internalization::Private);
    }
}
