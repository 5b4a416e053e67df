//! Kernels with images and samplers: in order with everything else, alone and in lists. Those that read and write the texels of their own
//! coordinates fuse.

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
    Accessor, Buffer, Context, Error, Event, FusionProperties, FusionWrapper, Image, Outcome, Reason,
    SubmitError,
};

/// Texels of a line, and lines. Neither is a multiple of what a work-group has.
pub(crate) const W: u32 = 37;
pub(crate) const H: u32 = 21;
pub(crate) const N: u32 = W * H;

pub(crate) fn image(context: &Context) -> Image {
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

pub(crate) fn gain(rig: &Rig, from: &Image, to: &Image, factor: f32) -> Result<Event, Error> {
    let kernel = rig.kernel("images/gain");
    rig.queue.submit(|h| {
        h.arg(0, from.read()).arg(1, to.write()).push(&factor).dispatch_items(&kernel, [W, H, 1]);
    })
}

pub(crate) fn tone(rig: &Rig, image: &Image) -> Result<Event, Error> {
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
        // What goes by elements fuses, with images or without; what goes by the lines of the image stands between.
        assert_eq!(report.dispatches, 3, "{:#?}", report.plan);
        let fused: Vec<_> =
            report.plan.groups.iter().map(|group| (group.members.as_range().unwrap(), group.fused)).collect();
        assert_eq!(fused, [(0..3, true), (3..4, false), (4..7, true)]);
        assert!(report.plan.splits[0].detail.contains("texel ("), "{:#?}", report.plan.splits);
    }
}

#[test]
fn lists_go_through_images() {
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

/// Submits to a queue.
pub(crate) type Submits<'a> = &'a dyn Fn(&Rig);

/// Runs submissions one by one and as a list, several times, and compares what `read` gives; returns the last event.
pub(crate) fn as_a_list<T: PartialEq + std::fmt::Debug>(
    rig: &Rig,
    start: &dyn Fn(),
    submit: Submits<'_>,
    read: &dyn Fn() -> T,
) -> Event {
    start();
    submit(rig);
    let wanted = read();
    let mut last = None;
    for round in 0..3 {
        start();
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        submit(rig);
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        assert_eq!(read(), wanted, "round {round}: {:#?}", event.report().map(|report| report.plan.clone()));
        last = Some(event);
    }
    rig.assert_no_validation_messages();
    last.unwrap()
}

pub(crate) fn two(rig: &Rig, name: &str, from: Accessor, to: &Image) {
    let kernel = rig.kernel(name);
    let submitted = rig.queue.submit(|h| {
        h.arg(0, from).arg(1, to.write()).dispatch_items(&kernel, [W, H, 1]);
    });
    submitted.unwrap();
}

#[test]
fn kernels_on_their_own_texels_are_one_dispatch() {
    let rig = rig!();
    let (a, b, c) = (image(&rig.context), image(&rig.context), image(&rig.context));
    let submit = |rig: &Rig| {
        gain(rig, &a, &b, 0.25).unwrap();
        tone(rig, &b).unwrap();
        gain(rig, &b, &c, 3.0).unwrap();
        tone(rig, &c).unwrap();
    };
    let read = || (download(&a), download(&b), download(&c));
    let event = as_a_list(&rig, &|| upload(&a, &texels()), &submit, &read);
    assert_eq!(event.outcome(), Outcome::Fused, "{:#?}", event.report());
    assert_eq!(event.report().unwrap().dispatches, 1);
    assert_close(
        &read().1,
        &texels().iter().map(|x| toned(x * 0.25)).collect::<Vec<_>>(),
        "the second image",
    );
}

/// What one kernel leaves for the next is what the format holds of it, also between variables of two types.
#[test]
fn formats_round_between_fused_kernels() {
    let rig = rig!();
    let make = || rig.context.image(ImageViewType::Dim2d, Format::R8G8B8A8_UNORM, [W, H, 1], 1).unwrap();
    let (a, b) = (make(), make());
    let start = || a.upload(&(0..4 * N).map(|i| (i * 37 % 256) as u8).collect::<Vec<_>>()).unwrap();
    let submit = |rig: &Rig| {
        two(rig, "images/colour.gain", a.read(), &b);
        let tone = rig.kernel("images/colour.tone");
        for _ in 0..3 {
            let submitted = rig.queue.submit(|h| {
                h.arg(0, &b).dispatch_items(&tone, [W, H, 1]);
            });
            submitted.unwrap();
        }
    };
    let event = as_a_list(&rig, &start, &submit, &|| b.download().unwrap());
    assert_eq!(event.outcome(), Outcome::Fused, "{:#?}", event.report());
}

#[test]
fn volumes_fuse() {
    let rig = rig!();
    let shape = [9, 7, 5];
    let volume = rig.context.image(ImageViewType::Dim3d, Format::R32_UINT, shape, 1).unwrap();
    let numbers: Vec<u32> = (0..shape.iter().product()).map(|i: u32| i * i + 11).collect();
    let submit = |rig: &Rig| {
        let kernel = rig.kernel("images/volume");
        for _ in 0..5 {
            let submitted = rig.queue.submit(|h| {
                h.arg(0, &volume).dispatch_items(&kernel, shape);
            });
            submitted.unwrap();
        }
    };
    let start = || volume.upload(bytemuck::cast_slice(&numbers)).unwrap();
    let event = as_a_list(&rig, &start, &submit, &|| volume.download().unwrap());
    assert_eq!(event.outcome(), Outcome::Fused, "{:#?}", event.report());
}

/// What is sampled and not written is in no one's way; what is written is sampled by the next dispatch.
#[test]
fn kernels_that_sample_fuse_with_what_comes_after_them() {
    let rig = rig!();
    let (a, b, c) = (image(&rig.context), image(&rig.context), image(&rig.context));
    let sampler = rig.context.sampler(border()).unwrap();
    let submit = |rig: &Rig| {
        two(rig, "images/blur.combined", a.sampled(&sampler), &b);
        tone(rig, &b).unwrap();
        gain(rig, &b, &c, 0.5).unwrap();
        two(rig, "images/blur.combined", c.sampled(&sampler), &b);
    };
    let event = as_a_list(&rig, &|| upload(&a, &texels()), &submit, &|| (download(&b), download(&c)));
    let report = event.report().unwrap();
    let groups: Vec<_> = report.plan.groups.iter().map(|group| group.members.as_range().unwrap()).collect();
    assert_eq!(groups, [0..3, 3..4], "{:#?}", report.plan);
    assert!(matches!(report.plan.splits[0].reason, Reason::SampledWritten(_)), "{:#?}", report.plan.splits);
}

/// Another invocation's texel of the same work-group, behind a barrier.
#[test]
fn texels_are_handed_over_inside_a_work_group() {
    let rig = rig!();
    let (a, b, c) = (image(&rig.context), image(&rig.context), image(&rig.context));
    let submit = |rig: &Rig| {
        gain(rig, &a, &b, 0.5).unwrap();
        two(rig, "images/turn", b.read(), &c);
        tone(rig, &c).unwrap();
    };
    let event = as_a_list(&rig, &|| upload(&a, &texels()), &submit, &|| {
        // Texels that would have come from outside of the image are whatever the device reads there.
        let c = download(&c);
        let is_whole = |i: &u32| i % W < W / 8 * 8;
        (download(&b), (0..N).filter(is_whole).map(|i| c[i as usize]).collect::<Vec<_>>())
    });
    assert_eq!(event.outcome(), Outcome::Fused, "{:#?}", event.report());
    let barriers: Vec<_> = event.report().unwrap().plan.groups[0].barriers.iter().map(|b| b.kept).collect();
    assert_eq!(barriers, [true, false]);
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
        (volume.read(), "VK_IMAGE_VIEW_TYPE_3D"),
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
        let name = if why.contains("buffer") { "takes no `buffer " } else { "takes no `image " };
        assert!(text.contains(name), "{text}");
        let takes = if why.contains("buffer") { "the kernel takes binding 0" } else { "; the kernel takes" };
        assert!(text.contains(takes), "{text}");
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
    let wide = rig.context.image(ImageViewType::Dim2d, Format::R32_SFLOAT, [1 << 24, 4, 1], 1).unwrap_err();
    assert!(wide.to_string().contains("extent"), "{wide}");
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

/// The width of an image is a number of the call: one plan serves images of one size, and another one is made for others.
#[test]
fn lists_depend_on_the_sizes_of_images() {
    let rig = rig!();
    let buffer = rig.context.buffer_from(&vec![0.0f32; 2 * N as usize]).unwrap();
    let run = |image: &Image, width: u32, fused: bool| {
        let submit = || {
            let [sized, pushed] = ["images/lines.sized", "images/lines.pushed"].map(|name| rig.kernel(name));
            rig.queue
                .submit(|h| {
                    h.arg(0, image.read()).arg(1, buffer.write()).dispatch_items(&sized, [40, H, 1]);
                })
                .unwrap();
            rig.queue
                .submit(|h| {
                    h.arg(0, buffer.read_write()).push(&[width, H]).dispatch_items(&pushed, [40, H, 1]);
                })
                .unwrap();
        };
        buffer.fill(0.0).unwrap();
        submit();
        let wanted = buffer.download().unwrap();
        buffer.fill(0.0).unwrap();
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        submit();
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        let report = event.report().unwrap();
        assert_eq!(report.dispatches, if fused { 1 } else { 2 }, "{width}: {:#?}", report.plan);
        assert_eq!(buffer.download().unwrap(), wanted, "{width}");
    };
    let make = |width| {
        let image = rig.context.image(ImageViewType::Dim2d, Format::R32_SFLOAT, [width, H, 1], 1).unwrap();
        upload(&image, &(0..width * H).map(|i| i as f32 + 1.0).collect::<Vec<_>>());
        image
    };
    let (narrow, wide, other) = (make(W), make(W + 2), make(W));
    for _ in 0..3 {
        run(&narrow, W, true);
        // The second kernel reads more than the first one writes.
        run(&narrow, W + 2, false);
        run(&other, W, true);
        run(&wide, W + 2, true);
    }
    rig.assert_no_validation_messages();
}

/// A kernel whose reads and writes of texels say for themselves what others see fuses with those that do not.
#[test]
fn images_under_the_vulkan_memory_model_fuse() {
    let rig = rig!();
    // Whole work-groups: texels are swapped inside of them.
    let make =
        || rig.context.image(ImageViewType::Dim2d, Format::R32_SFLOAT, [W - W % 8, H - H % 8, 1], 1).unwrap();
    let [a, b, c] = [(); 3].map(|()| make());
    let texels = &texels()[..((W - W % 8) * (H - H % 8)) as usize];
    let kernel = rig.kernel("images/tone.vulkan");
    let items = [W - W % 8, H - H % 8, 1];
    let gain = |rig: &Rig, from: &Image, to: &Image, factor: f32| {
        let kernel = rig.kernel("images/gain");
        rig.queue.submit(|h| {
            h.arg(0, from.read()).arg(1, to.write()).push(&factor).dispatch_items(&kernel, items);
        })
    };
    let submit = |rig: &Rig| {
        gain(rig, &a, &b, 0.5).unwrap();
        gain(rig, &b, &c, 0.5).unwrap();
        let submitted = rig.queue.submit(|h| {
            h.arg(0, &c).dispatch_items(&kernel, items);
        });
        submitted.unwrap();
        gain(rig, &c, &b, 8.0).unwrap();
        gain(rig, &b, &a, 0.5).unwrap();
    };
    let event = as_a_list(&rig, &|| upload(&a, texels), &submit, &|| (download(&a), download(&b)));
    let wanted: Vec<f32> = texels.iter().map(|x| toned(x * 0.25) * 4.0).collect();
    assert_close(&download(&a), &wanted, "the end of the list");
    let report = event.report().unwrap();
    let groups: Vec<_> = report.plan.groups.iter().map(|group| group.members.as_range().unwrap()).collect();
    assert!(matches!(&groups[..], [all] if *all == (0..5)), "{:#?}", report.plan);
}

/// Texels that an image does not have have undefined values: where a kernel certainly reads one, that is noted.
#[test]
fn reads_beside_an_image_are_noted() {
    let rig = rig!();
    let image = rig.context.image(ImageViewType::Dim2d, Format::R32_SFLOAT, [8, 8, 1], 1).unwrap();
    let buffer = rig.context.buffer::<f32>(128).unwrap();
    let (from, to) = (rig.kernel("images/copy.out"), rig.kernel("images/copy.in"));
    let event = rig.queue.fuse(|queue| {
        for (kernel, count, width) in [(&from, 64, 8), (&from, 65, 8), (&from, 64, 16), (&to, 65, 8)] {
            let image = if std::ptr::eq(kernel, &from) { image.read() } else { image.write() };
            let buffer = if std::ptr::eq(kernel, &from) { buffer.write() } else { buffer.read() };
            queue.submit(|h| {
                h.arg(0, buffer).arg(1, image).push(&[count, width]).dispatch(kernel, [2, 1, 1]);
            })?;
        }
        Ok(())
    });
    let event = event.unwrap();
    event.wait().unwrap();
    let report = event.report().expect("of a list");
    let notes: Vec<&[String]> = report.kernels.iter().map(|one| &*one.notes).collect();
    let said = |invocation: u32, coordinate: &str| {
        format!(
            "kernel {} reads texels that the image at binding 1 does not have, with undefined values: invocation [{invocation}, 0, 0] has \
             {coordinate}, and the image 8",
            from.name()
        )
    };
    assert_eq!(notes, [&[][..], &[said(64, "y = 8")], &[said(63, "x = 15")], &[]]);
    rig.assert_no_validation_messages();
}
