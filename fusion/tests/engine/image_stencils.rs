//! Lists in which a kernel reads its neighbours' texels of an image that the list wrote: one dispatch with the bits of the unfused run,
//! because the kernel recomputes what it would have read; and lists in which it must not.

use super::images::{H, N, W, as_a_list, gain, image, tone, two};
use vkfuse::vulkano::{format::Format, image::view::ImageViewType};
use vkfuse::{Accessor, Event, FusionProperties, FusionWrapper, Image};

/// Whether the images between kernels are asked for to stay inside.
const KEPT_OR_NOT: [bool; 2] = [true, false];

/// Bits of all kinds of floats: among them a NaN with a number of its own, subnormal ones, and both zeros. Of two different NaNs it is up to
/// the device which one their sum is, so there is one, and nothing that makes another.
fn floats(channels: u32) -> Vec<u8> {
    let special = [0x7fc1_2345, 1, 0x8000_0001, 0x007f_ffff, 0, 0x8000_0000];
    let usual = |i: u32| ((i.wrapping_mul(2_654_435_761) >> 12) as f32 / 1024.0 - 400.0).to_bits();
    let word = |i: u32| if i % 11 == 3 { special[i as usize / 11 % special.len()] } else { usual(i) };
    (0..N * channels).flat_map(|i| word(i).to_ne_bytes()).collect()
}

fn wished(accessor: Accessor, kept: bool) -> Accessor {
    if kept { accessor } else { accessor.promote_private() }
}

/// Demands one dispatch, in which submissions work out what others write: pairs of both.
#[track_caller]
fn assert_worked_out(event: &Event, pairs: &[(usize, usize)]) {
    let report = event.report().unwrap();
    let found: Vec<_> = report.plan.inlined.iter().map(|one| (one.submission, one.producer)).collect();
    assert_eq!(found, pairs, "{:#?}", report.plan);
    assert_eq!(report.dispatches, 1, "{:#?}", report.plan);
}

/// Demands two dispatches, because of this.
#[track_caller]
fn assert_cut(event: &Event, why: &str) {
    let report = event.report().unwrap();
    assert_eq!(report.dispatches, 2, "{:#?}", report.plan);
    assert!(report.plan.splits[0].detail.contains("texel ("), "{:#?}", report.plan);
    let tried = report.plan.splits[0].tried.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(tried.contains(why), "{tried:?} instead of {why:?}");
}

/// What a list leaves in these images: in a list that kept what is between them inside, nothing but the last one.
fn contents(images: &[&Image], kept: bool) -> Vec<Vec<u8>> {
    let last = if kept { 0 } else { images.len() - 1 };
    images[last..].iter().map(|image| image.download().unwrap()).collect()
}

#[test]
fn gain_and_blur_and_tone() {
    let rig = rig!();
    for blur in ["images/stencil", "images/window.wide", "images/window.mirrored", "images/window.guarded"] {
        for kept in KEPT_OR_NOT {
            let [a, b, c] = [(); 3].map(|()| image(&rig.context));
            let submit = |rig: &crate::support::Rig| {
                let kernel = rig.kernel("images/gain");
                let submitted = rig.queue.submit(|h| {
                    h.arg(0, a.read()).arg(1, wished(b.write(), kept)).push(&0.7f32);
                    h.dispatch_items(&kernel, [W, H, 1]);
                });
                submitted.unwrap();
                two(rig, blur, wished(b.read(), kept), &c);
                tone(rig, &c).unwrap();
            };
            let start = || a.upload(&floats(1)).unwrap();
            let event = as_a_list(&rig, &start, &submit, &|| contents(&[&b, &c], kept));
            assert_worked_out(&event, &[(1, 0)]);
            assert_eq!(event.report().unwrap().plan.inlined[0].gone, !kept, "{blur}");
            // What stayed inside is not there.
            assert_eq!(b.download().is_ok(), kept, "{blur}");
        }
    }
}

#[test]
fn gain_and_tone_and_blur() {
    let rig = rig!();
    for kept in KEPT_OR_NOT {
        let [a, b, c, d] = [(); 4].map(|()| image(&rig.context));
        let submit = |rig: &crate::support::Rig| {
            let (scale, curve) = (rig.kernel("images/gain"), rig.kernel("images/curve.float"));
            let submitted = rig.queue.submit(|h| {
                h.arg(0, a.read()).arg(1, wished(b.write(), kept)).push(&0.7f32);
                h.dispatch_items(&scale, [W, H, 1]);
            });
            submitted.unwrap();
            let submitted = rig.queue.submit(|h| {
                h.arg(0, wished(b.read(), kept)).arg(1, wished(c.write(), kept));
                h.dispatch_items(&curve, [W, H, 1]);
            });
            submitted.unwrap();
            two(rig, "images/stencil", wished(c.read(), kept), &d);
        };
        let start = || a.upload(&floats(1)).unwrap();
        let event = as_a_list(&rig, &start, &submit, &|| contents(&[&b, &c, &d], kept));
        assert_worked_out(&event, &[(2, 1), (2, 0)]);
        assert!(event.report().unwrap().plan.inlined.iter().all(|one| one.gone != kept));
    }
}

/// The tone over its own texels: what the blur reads is made of what the gain read.
#[test]
fn a_tone_in_place_is_no_hindrance() {
    let rig = rig!();
    let [a, b, c] = [(); 3].map(|()| image(&rig.context));
    let submit = |rig: &crate::support::Rig| {
        gain(rig, &a, &b, 0.5).unwrap();
        tone(rig, &b).unwrap();
        two(rig, "images/stencil", b.read(), &c);
        tone(rig, &c).unwrap();
    };
    let start = || a.upload(&floats(1)).unwrap();
    let event = as_a_list(&rig, &start, &submit, &|| contents(&[&b, &c], true));
    assert_worked_out(&event, &[(2, 1)]);
    // Kept, and run with other contents.
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    submit(&rig);
    let (event, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    event.wait().unwrap();
    for _ in 0..2 {
        a.upload(&floats(1).into_iter().rev().collect::<Vec<_>>()).unwrap();
        kept.run().unwrap().wait().unwrap();
        let found = contents(&[&b, &c], true);
        submit(&rig);
        assert_eq!(contents(&[&b, &c], true), found);
    }
    rig.assert_no_validation_messages();
}

#[test]
fn colours_of_32_bits_are_worked_out() {
    let rig = rig!();
    let make = || rig.context.image(ImageViewType::Dim2d, Format::R32G32B32A32_SFLOAT, [W, H, 1], 1).unwrap();
    let [a, b, c] = [(); 3].map(|()| make());
    let submit = |rig: &crate::support::Rig| {
        two(rig, "images/curve.colour", a.read(), &b);
        two(rig, "images/window.colour", b.read(), &c);
    };
    let start = || a.upload(&floats(4)).unwrap();
    let event = as_a_list(&rig, &start, &submit, &|| contents(&[&b, &c], true));
    assert_worked_out(&event, &[(1, 0)]);
}

/// Colours of eight bits are rounded by the image, and of some formats nothing is said.
#[test]
fn what_an_image_rounds_is_read_from_it() {
    let rig = rig!();
    let make = || rig.context.image(ImageViewType::Dim2d, Format::R8G8B8A8_UNORM, [W, H, 1], 1).unwrap();
    let [a, b, c] = [(); 3].map(|()| make());
    let submit = |rig: &crate::support::Rig| {
        two(rig, "images/colour.gain", a.read(), &b);
        two(rig, "images/window.bytes", b.read(), &c);
    };
    let start = || a.upload(&(0..4 * N).map(|i| (i * 37 % 256) as u8).collect::<Vec<_>>()).unwrap();
    let event = as_a_list(&rig, &start, &submit, &|| contents(&[&b, &c], true));
    assert_cut(&event, "a format that does not keep what is written, or is not said");
}

/// Texels outside of the image, and texels that no one wrote.
#[test]
fn what_is_not_written_is_read() {
    let rig = rig!();
    for (first, blur) in
        [("images/curve.float", "images/window.open"), ("images/curve.half", "images/stencil")]
    {
        let [a, b, c] = [(); 3].map(|()| image(&rig.context));
        let submit = |rig: &crate::support::Rig| {
            two(rig, first, a.read(), &b);
            two(rig, blur, b.read(), &c);
        };
        let start = || {
            a.upload(&floats(1)).unwrap();
            b.upload(&floats(1)).unwrap();
        };
        let event = as_a_list(&rig, &start, &submit, &|| contents(&[&b, &c], true));
        assert_cut(&event, "may not have stored");
    }
}
