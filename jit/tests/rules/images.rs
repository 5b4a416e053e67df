//! Images: texels by their coordinates, as elements of buffers by their index; what is sampled stays as it is.
//!
//! These lists are planned and not run: the sizes of their images are not said, which the interpreter would have to know. On a device they
//! are, in the engine's tests, and what is recomputed is in `texels`.

use vkfuse_jit::Reason;
use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::Limits;

use super::lab::{Checked, Lab, View};

/// A kernel of 4 × 4 invocations. Images: `a` is read, `s` sampled or fetched from, `z` written.
fn kernel(images: &str, body: &str) -> String {
    let mut text = String::new();
    for (binding, name) in images.split_whitespace().enumerate() {
        let ty = match name {
            "a" => "texture_storage_2d<r32float, read>",
            "s" => "texture_2d<f32>",
            _ => "texture_storage_2d<r32float, write>",
        };
        text += &format!("@group(0) @binding({binding}) var {name}: {ty};\n");
    }
    text + "@compute @workgroup_size(4, 4)
    fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>,
        @builtin(local_invocation_id) lid: vec3<u32>) {
        let at = vec2<i32>(gid.xy);
        let first = vec2<i32>(wid.xy) * 4;
        let local = vec2<i32>(lid.xy);
        "
        + body
        + "\n}\n"
}

fn gain() -> String {
    kernel("a z", "textureStore(z, at, textureLoad(a, at) * 2.0);")
}

/// Reads what `gain` has written to image 1 at some coordinates, and writes image 2.
fn after_gain(coordinates: &str) -> Lab {
    let reads = kernel("a z", &format!("textureStore(z, at, textureLoad(a, {coordinates}));"));
    Lab::rewriting(4096).submit(&gain(), [5, 3, 1], &[0, 1], &[]).submit(&reads, [5, 3, 1], &[1, 2], &[])
}

#[track_caller]
fn built(checked: Checked) -> Checked {
    for step in &checked.plan.steps {
        step.build().expect("a module");
    }
    checked
}

probes! {
    /// A texel stays with its invocation: no barrier.
    fn kernels_that_read_their_own_texel_fuse() {
        built(after_gain("at").planned().fused(0));
        built(after_gain("first + local").planned().fused(0));
        built(after_gain("at.yx").planned().split(2, Write, Read));
    }

    fn a_neighbours_texel_splits_and_the_reason_has_the_coordinates() {
        let checked = built(after_gain("at + vec2<i32>(1, 0)").planned().split(2, Write, Read));
        let detail = &checked.plan.report.splits[0].detail;
        assert!(detail.contains("writes binding 0.1 at texel (global.x, global.y)"), "{detail}");
        assert!(detail.contains("at texel ((global.x + 1), (global.y + 0))"), "{detail}");
        built(after_gain("at - vec2<i32>(0, 1)").planned().split(2, Write, Read));
        // No one writes a column past the twentieth, whatever the lines of the image hold.
        built(after_gain("vec2<i32>(at.x + 20, at.y - 1)").planned().fused(0));
    }

    /// Texels that are another invocation's of the same work-group come through memory, with one barrier.
    fn texels_of_the_work_group_are_handed_over_by_a_barrier() {
        built(after_gain("first + vec2<i32>(3 - local.x, local.y)").planned().fused(1));
    }

    /// Columns that no one writes.
    fn other_columns_are_apart() {
        let evens = kernel("z", "textureStore(z, vec2<i32>(2 * at.x, at.y), vec4<f32>(1.0));");
        let odds = kernel("a z", "textureStore(z, at, textureLoad(a, vec2<i32>(2 * (at.x / 2) + 1, at.y)));");
        let list = Lab::rewriting(4096).submit(&evens, [5, 3, 1], &[0], &[]);
        built(list.submit(&odds, [5, 3, 1], &[0, 1], &[]).planned().fused(0));
    }

    /// Reads after writes of what is sampled, at whatever coordinates, and writes after reads.
    fn an_image_that_is_sampled_and_written_splits() {
        // The first column is no one's.
        let right = kernel("a z", "textureStore(z, at + vec2<i32>(1, 0), textureLoad(a, at));");
        // A fetch from another level may find anything.
        let [fetched, any] = [0, 1].map(|level| kernel("s z", &format!("textureStore(z, at, textureLoad(s, at, {level}));")));
        for (first, second, [a, b]) in [(&right, &fetched, [[0, 1], [1, 2]]), (&fetched, &right, [[1, 2], [0, 1]]), (&right, &any, [[0, 1], [1, 2]])] {
            let list = Lab::rewriting(4096).submit(first, [5, 3, 1], &a, &[]);
            let checked = built(list.submit(second, [5, 3, 1], &b, &[]).planned());
            let report = &checked.plan.report;
            assert_eq!(checked.plan.steps.len(), 2, "{report:#?}");
            assert!(matches!(report.splits[0].reason, Reason::SampledWritten(_)), "{report:#?}");
            assert_eq!(report.splits[0].buffer.map(|buffer| buffer.0), Some(1));
        }
    }

    /// What is only sampled is in no one's way.
    fn kernels_that_sample_fuse_with_others() {
        let fetched = kernel("s z", "textureStore(z, at, textureLoad(s, at, 0) + textureLoad(s, at.yx, 0));");
        built(
            Lab::rewriting(4096)
                .submit(&fetched, [5, 3, 1], &[0, 1], &[])
                .submit(&gain(), [5, 3, 1], &[1, 2], &[])
                .submit(&fetched, [5, 3, 1], &[0, 3], &[])
                .planned()
                .fused(0),
        );
    }

    /// Wherever a view of an image is said to begin, coordinates are those of the image.
    fn views_of_one_image_begin_at_one_texel() {
        let left = kernel("a z", "textureStore(z, at, textureLoad(a, at - vec2<i32>(4, 0)));");
        let shifted: [View; 2] = [(1, 1, 4000).into(), 2.into()];
        let list = Lab::rewriting(4096).submit(&gain(), [5, 3, 1], &[0, 1], &[]);
        built(list.submit_views(&left, [5, 3, 1], &shifted, &[]).planned().split(2, Write, Read));
    }

    /// The size of an image is a number of the call: of storage images, and of the first level of sampled ones.
    fn sizes_of_images_are_numbers() {
        let mirror = |image: &str, size: &str| {
            let body = format!(
                "let size = vec2<i32>({size});
                 if (at.x < size.x) {{
                     let mirrored = vec2<i32>(size.x - 1 - at.x, at.y);
                     textureStore(z, mirrored, vec4<f32>(1.0)); }}"
            );
            kernel(&format!("{image} z"), &body)
        };
        let split = |a: &str, b: &str, width: Option<u32>| {
            let lab = Lab::rewriting(4096);
            let lab = match width {
                Some(width) => lab.sized(0, [width, 12]),
                None => lab,
            };
            let list = lab.submit(a, [5, 3, 1], &[0, 1], &[]).submit(b, [5, 3, 1], &[0, 1], &[]).planned();
            built(list).plan.steps.len() > 1
        };
        let own = kernel("a z", "textureStore(z, vec2<i32>(19 - at.x, at.y), vec4<f32>(2.0));");
        for (image, size) in [("a", "textureDimensions(a)"), ("s", "textureDimensions(s)"), ("s", "textureDimensions(s, 0)")] {
            let mirror = mirror(image, size);
            // Of an image of another width, or of a width that is not known, others write the texel.
            assert!(!split(&mirror, &own, Some(20)), "{size}");
            assert!(split(&mirror, &own, Some(19)), "{size}");
            assert!(split(&mirror, &own, None), "{size}");
        }
        // One level less is half as wide.
        assert!(split(&mirror("s", "textureDimensions(s, 1)"), &own, Some(20)));
    }

    /// As many rounds as the image has columns, and the levels of an image.
    fn rounds_that_follow_the_size_of_an_image_are_counted() {
        let rows = kernel(
            "s z",
            "if (at.x > 0) { return; }
             for (var x = 0; x < i32(textureDimensions(s).x); x += i32(textureNumLevels(s))) {
                 textureStore(z, vec2<i32>(x, at.y), textureLoad(s, vec2<i32>(x, at.y), 0));
             }",
        );
        let list = |width: u32, rounds: u64| {
            let mut lab = Lab::rewriting(4096).sized(0, [width, 12]);
            lab.limits = Limits { max_loop_rounds: Some(rounds), ..lab.limits };
            lab.submit(&rows, [1, 3, 1], &[0, 1], &[]).submit(&rows, [1, 3, 1], &[0, 2], &[]).planned()
        };
        // The round that finds the loop at its end counts.
        built(list(100, 202).fused(0));
        let checked = list(100, 201);
        assert_eq!(checked.plan.report.splits[0].reason, Reason::LoopRounds { limit: 201, unbounded: None });
    }

    fn images_count_against_the_limit() {
        let list = |limit: u32| {
            let mut lab = Lab::rewriting(4096);
            lab.limits = Limits { max_images: limit, ..lab.limits };
            lab.submit(&gain(), [5, 3, 1], &[0, 1], &[]).submit(&gain(), [5, 3, 1], &[1, 2], &[]).planned()
        };
        list(3).fused(0);
        let checked = list(2);
        assert_eq!(checked.plan.report.splits[0].reason, Reason::Bindings { needed: 3, limit: 2 });
    }
}
