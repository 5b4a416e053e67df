//! Kernels with images and samplers: they run by themselves, in order with everything else, and lists fuse around them.

use std::sync::Arc;

use crate::support::{Rig, own};
use vkfuse::vulkano::{
    format::Format,
    image::{
        Image as VulkanImage, ImageCreateInfo, ImageUsage,
        sampler::{Filter, SamplerCreateInfo},
        view::{ImageView, ImageViewType},
    },
    memory::allocator::{AllocationCreateInfo, StandardMemoryAllocator},
};
use vkfuse::{
    Accessor, Buffer, Context, Error, Event, FusionProperties, FusionWrapper, Image, Outcome, SubmitError,
};

/// Texels of a line, and lines. Neither is a multiple of what a work-group has.
const W: u32 = 37;
const H: u32 = 21;
const N: u32 = W * H;

fn image(context: &Context) -> Image {
    context.image(ImageViewType::Dim2d, Format::R32_SFLOAT, [W, H, 1], 1).unwrap()
}

fn texels() -> Vec<f32> {
    (0..N).map(|i| (i.wrapping_mul(2_654_435_761) >> 20) as f32).collect()
}

fn upload(image: &Image, texels: &[f32]) {
    image.upload(bytemuck::cast_slice(texels)).unwrap();
}

fn download(image: &Image) -> Vec<f32> {
    let bytes = image.download().unwrap();
    bytes.as_chunks::<4>().0.iter().map(|texel| f32::from_ne_bytes(*texel)).collect()
}

fn gain(rig: &Rig, from: &Image, to: &Image, factor: f32) -> Result<Event, Error> {
    let kernel = rig.kernel("images/gain");
    rig.queue.submit(|h| {
        h.arg(0, from.read()).arg(1, to.write()).push(&factor).dispatch_items(&kernel, [W, H, 1]);
    })
}

fn tone(rig: &Rig, image: &Image) -> Result<Event, Error> {
    let kernel = rig.kernel("images/tone");
    rig.queue.submit(|h| {
        h.arg(0, image.read_write()).dispatch_items(&kernel, [W, H, 1]);
    })
}

fn toned(x: f32) -> f32 {
    x / (x + 1.0)
}

/// Quotients are as exact as Vulkan asks for, on a device.
#[track_caller]
fn assert_close(found: &[f32], wanted: &[f32], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() <= wanted.abs() * 1e-6, "{what}, element {at}: {found} and {wanted}");
    }
}

/// Sums of nine texels, those outside being zero.
fn blurred(texels: &[f32]) -> Vec<f32> {
    let at = |x: i32, y: i32| {
        let inside = (0..W as i32).contains(&x) && (0..H as i32).contains(&y);
        if inside { texels[(y * W as i32 + x) as usize] } else { 0.0 }
    };
    let sum = |i: u32| {
        let (x, y) = ((i % W) as i32, (i / W) as i32);
        (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))).map(|(dx, dy)| at(x + dx, y + dy)).sum()
    };
    (0..N).map(sum).collect()
}

fn border() -> SamplerCreateInfo {
    use vkfuse::vulkano::image::sampler::{BorderColor, SamplerAddressMode};
    SamplerCreateInfo {
        mag_filter: Filter::Nearest,
        min_filter: Filter::Nearest,
        address_mode: [SamplerAddressMode::ClampToBorder; 3],
        border_color: BorderColor::FloatTransparentBlack,
        ..SamplerCreateInfo::default()
    }
}

#[test]
fn new_images_are_zeros_and_hold_what_is_uploaded() {
    let rig = rig!();
    let image = image(&rig.context);
    assert_eq!(image.size_bytes(), u64::from(4 * N));
    assert_eq!(download(&image), vec![0.0; N as usize]);
    upload(&image, &texels());
    assert_eq!(download(&image), texels());
    assert!(image.upload(&[0; 4]).is_err());
    let volume = rig.context.image(ImageViewType::Dim3d, Format::R8G8B8A8_UINT, [5, 4, 3], 1).unwrap();
    let layers = rig.context.image(ImageViewType::Dim2dArray, Format::R8G8B8A8_UINT, [5, 4, 1], 3).unwrap();
    for image in [volume, layers] {
        let bytes: Vec<u8> = (0..240).map(|i| i as u8 ^ 0x5a).collect();
        image.upload(&bytes).unwrap();
        assert_eq!(image.download().unwrap(), bytes);
    }
    rig.assert_no_validation_messages();
}

/// One after the other, from and to the same images, also where a run is known.
#[test]
fn kernels_with_images_run_in_order() {
    let rig = rig!();
    let (a, b) = (image(&rig.context), image(&rig.context));
    for round in 0..6 {
        let before = rig.context.stats();
        upload(&a, &texels());
        gain(&rig, &a, &b, 0.5).unwrap();
        tone(&rig, &b).unwrap();
        gain(&rig, &b, &a, 8.0).unwrap();
        let wanted: Vec<f32> = texels().iter().map(|x| toned(x * 0.5) * 8.0).collect();
        assert_close(&download(&a), &wanted, &format!("round {round}"));
        let ran = rig.context.stats() - before;
        assert_eq!(ran.dispatches, 3);
        assert_eq!(ran.made_again, if round >= 2 { 3 } else { 0 }, "round {round}");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn images_are_sampled() {
    let rig = rig!();
    let (from, to) = (image(&rig.context), image(&rig.context));
    upload(&from, &texels());
    let sampler = rig.context.sampler(border()).unwrap();
    let [combined, separate] = ["images/blur.combined", "images/blur.separate"].map(|name| rig.kernel(name));
    for _ in 0..3 {
        upload(&to, &vec![-1.0; N as usize]);
        rig.queue
            .submit(|h| {
                h.arg(0, from.sampled(&sampler)).arg(1, to.write()).dispatch_items(&combined, [W, H, 1]);
            })
            .unwrap();
        assert_eq!(download(&to), blurred(&texels()));
        upload(&to, &vec![-1.0; N as usize]);
        rig.queue
            .submit(|h| {
                h.arg(0, from.read()).arg(1, to.write()).arg(2, &sampler);
                h.dispatch_items(&separate, [W, H, 1]);
            })
            .unwrap();
        assert_eq!(download(&to), blurred(&texels()));
        // What was written is sampled, and what was sampled is written.
        rig.queue
            .submit(|h| {
                h.arg(0, to.sampled(&sampler)).arg(1, from.write()).dispatch_items(&combined, [W, H, 1]);
            })
            .unwrap();
        assert_eq!(download(&from), blurred(&blurred(&texels())));
        upload(&from, &texels());
    }
    rig.assert_no_validation_messages();
}

/// Three kernels on buffers, one that copies into an image, one on the image, one that copies out, two on buffers.
struct Around {
    rig: Rig,
    image: Image,
    buffers: [Buffer<f32>; 5],
}

impl Around {
    fn new(rig: Rig) -> Around {
        let buffers = [(); 5].map(|()| rig.context.buffer_from(&vec![-1.0f32; N as usize]).unwrap());
        Around { image: image(&rig.context), buffers, rig }
    }

    fn submit(&self) {
        let queue = &self.rig.queue;
        let line = self.rig.kernel("library/line");
        let [a, b, c, d, e] = &self.buffers;
        let step = |from: &Buffer<f32>, to: &Buffer<f32>| {
            let submitted = queue.submit(|h| {
                h.arg(0, from.read()).arg(1, to.write()).push(&N).dispatch_items(&line, [N, 1, 1]);
            });
            submitted.unwrap();
        };
        let copy = |kernel: &str, buffer: Accessor| {
            let kernel = self.rig.kernel(kernel);
            let submitted = queue.submit(|h| {
                h.arg(0, buffer).arg(1, &self.image).push(&N).push(&W).dispatch_items(&kernel, [N, 1, 1]);
            });
            submitted.unwrap();
        };
        step(a, b);
        step(b, c);
        copy("images/copy.in", c.read());
        tone(&self.rig, &self.image).unwrap();
        copy("images/copy.out", d.write());
        step(d, e);
        step(e, a);
    }

    fn check(&self, event: &Event, outcome: &Outcome) {
        event.wait().unwrap();
        let wanted: Vec<f32> = texels().iter().map(|x| toned(x + 2.0) + 2.0).collect();
        assert_close(&self.buffers[0].download().unwrap(), &wanted, "the end of the list");
        assert_eq!(event.outcome(), *outcome);
        let report = event.report().unwrap();
        // Two and two fuse; what has images stands between them.
        assert_eq!(report.dispatches, 5, "{:#?}", report.plan);
        let fused: Vec<_> =
            report.plan.groups.iter().map(|group| (group.members.clone(), group.fused)).collect();
        assert_eq!(fused, [(0..2, true), (2..3, false), (3..4, false), (4..5, false), (5..7, true)]);
        assert!(report.plan.splits[0].reason.to_string().contains("image"), "{:#?}", report.plan.splits);
    }
}

#[test]
fn lists_fuse_around_images() {
    let list = Around::new(rig!());
    for _ in 0..4 {
        list.buffers[0].upload(&texels()).unwrap();
        let fusion = FusionWrapper::new(&list.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        list.submit();
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        list.check(&event, &Outcome::Split);
    }
    let fusion = FusionWrapper::new(&list.rig.queue).unwrap();
    list.buffers[0].upload(&texels()).unwrap();
    fusion.start_fusion().unwrap();
    list.submit();
    let (event, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    list.check(&event, &Outcome::Split);
    for _ in 0..3 {
        list.buffers[0].upload(&texels()).unwrap();
        list.check(&kept.run().unwrap(), &Outcome::Split);
    }
    list.rig.assert_no_validation_messages();
}

/// The host sees what a list has written into an image, and ends it for that.
#[test]
fn who_looks_at_an_image_ends_the_list() {
    let rig = rig!();
    let (a, b) = (image(&rig.context), image(&rig.context));
    upload(&a, &texels());
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    gain(&rig, &a, &b, 2.0).unwrap();
    assert_eq!(download(&b), texels().iter().map(|x| x * 2.0).collect::<Vec<_>>());
    assert!(!fusion.is_in_fusion_mode());
    rig.assert_no_validation_messages();
}

#[test]
fn what_does_not_fit_is_refused_with_the_reason() {
    let rig = rig!();
    let floats = image(&rig.context);
    let integers = rig.context.image(ImageViewType::Dim2d, Format::R32_UINT, [W, H, 1], 1).unwrap();
    let volume = rig.context.image(ImageViewType::Dim3d, Format::R32_SFLOAT, [W, H, 2], 1).unwrap();
    let buffer = rig.context.buffer_from(&texels()).unwrap();
    let sampler = rig.context.sampler(border()).unwrap();
    let (gain, line) = (rig.kernel("images/gain"), rig.kernel("library/line"));
    let wrong: [(Accessor, &str); 4] = [
        (integers.read(), "R32_UINT"),
        (volume.read(), "Dim3d"),
        (buffer.read(), "what is passed is a buffer"),
        (Accessor::from(&sampler), "cannot be used as one"),
    ];
    for (accessor, why) in wrong {
        let error = rig.queue.submit(|h| {
            h.arg(0, accessor).arg(1, floats.write()).push(&1.0f32).dispatch(&gain, [1, 1, 1]);
        });
        let error = error.unwrap_err();
        assert!(
            matches!(&error, Error::Submit { problem: SubmitError::WrongResource { .. }, .. }),
            "{error}"
        );
        let text = format!(
            "{error}: {}",
            std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
        );
        assert!(text.contains(why), "{text}");
    }
    let error = rig.queue.submit(|h| {
        h.arg(0, floats.read()).arg(1, buffer.write()).push(&N).dispatch(&line, [1, 1, 1]);
    });
    assert!(matches!(error.unwrap_err(), Error::Submit { problem: SubmitError::WrongResource { .. }, .. }));
    // A kernel that writes what it may only read.
    let error = rig.queue.submit(|h| {
        h.arg(0, floats.read()).arg(1, integers.read()).push(&1.0f32).dispatch(&gain, [1, 1, 1]);
    });
    assert!(error.is_err());
    assert!(rig.queue.copy(floats.read(), buffer.write()).is_err());
    assert!(rig.context.image(ImageViewType::Dim2d, Format::D32_SFLOAT, [4, 4, 1], 1).is_err());
    rig.assert_no_validation_messages();
}

/// An image of the program's own.
#[test]
fn imported_images_are_used() {
    let Some(own) = own::Own::open() else { return };
    let rig = Rig::over(own.context());
    let info = ImageCreateInfo {
        format: Format::R32_SFLOAT,
        extent: [W, H, 1],
        usage: ImageUsage::STORAGE | ImageUsage::TRANSFER_SRC | ImageUsage::TRANSFER_DST,
        ..ImageCreateInfo::default()
    };
    let allocator = Arc::new(StandardMemoryAllocator::new_default(own.device.clone()));
    let given = VulkanImage::new(allocator, info, AllocationCreateInfo::default()).unwrap();
    let view = ImageView::new_default(given).unwrap();
    let from = own::import_image(&rig.context, &view);
    let to = image(&rig.context);
    upload(&from, &texels());
    gain(&rig, &from, &to, 3.0).unwrap();
    assert_eq!(download(&to), texels().iter().map(|x| x * 3.0).collect::<Vec<_>>());
    assert_eq!(download(&from), texels());
}
