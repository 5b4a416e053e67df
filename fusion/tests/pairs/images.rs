//! Chains of images, texel by texel, as back ends for phones have them.

use vkfuse::vulkano::format::Format;
use vkfuse::vulkano::image::sampler::{Filter, SamplerCreateInfo};
use vkfuse::vulkano::image::view::ImageViewType;
use vkfuse::{Event, FusionProperties, FusionWrapper, Image, Sampler};

use crate::host::both;
use crate::table::Table;
use crate::tensor::{Real, numbers};

/// No multiples of a work-group's size.
const WIDTH: u32 = 37;
const HEIGHT: u32 = 21;
const COUNT: usize = (4 * WIDTH * HEIGHT) as usize;

/// What is done one after the other, to an image of this kind.
struct Chain<'a> {
    table: &'a Table<'a>,
    steps: &'a [&'a str],
    real: Real,
    /// An image before and behind each step, and another of the same size.
    images: Vec<Image>,
    other: Image,
    sampler: Sampler,
}

fn format(real: Real) -> Format {
    if real == Real::Half { Format::R16G16B16A16_SFLOAT } else { Format::R32G32B32A32_SFLOAT }
}

fn bytes(real: Real, numbers: &[f32]) -> Vec<u8> {
    bytemuck::cast_slice(&real.store(numbers).1).to_vec()
}

impl<'a> Chain<'a> {
    fn new(table: &'a Table<'a>, steps: &'a [&'a str], real: Real) -> Self {
        let context = &table.rig.context;
        let image = || context.image(ImageViewType::Dim2d, format(real), [WIDTH, HEIGHT, 1], 1).unwrap();
        let nearest = SamplerCreateInfo {
            mag_filter: Filter::Nearest,
            min_filter: Filter::Nearest,
            ..Default::default()
        };
        let sampler = context.sampler(nearest).unwrap();
        let images = (0..=steps.len()).map(|_| image()).collect();
        let chain = Chain { table, steps, real, images, other: image(), sampler };
        chain.images[0].upload(&bytes(real, &numbers(COUNT, 1))).unwrap();
        chain.other.upload(&bytes(real, &numbers(COUNT, 2))).unwrap();
        chain
    }

    fn submit(&self) {
        let (rig, last) = (self.table.rig, self.steps.len() - 1);
        for (at, step) in self.steps.iter().enumerate() {
            let half = if self.real == Real::Half { "_half" } else { "" };
            let kernel = rig.kernel(&format!("pairs/image.{step}{half}"));
            let (from, to) = (&self.images[at], &self.images[at + 1]);
            let submitted = rig.queue.submit(|h| {
                match *step {
                    "fetch" => h.arg(0, from.sampled(&self.sampler)),
                    _ if at == 0 => h.arg(0, from.read()),
                    _ => h.arg(0, from.read().promote_auto()),
                };
                if *step == "add" {
                    h.arg(1, self.other.read());
                }
                h.arg(2, if at == last { to.write() } else { to.write().promote_auto() });
                h.push(&[WIDTH, HEIGHT]).dispatch_items(&kernel, [WIDTH, HEIGHT, 1]);
            });
            submitted.unwrap();
        }
    }

    fn fused(&self) -> Event {
        let fusion = FusionWrapper::new(&self.table.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        self.submit();
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        event
    }

    /// The same on the host.
    fn host(&self) -> Vec<f32> {
        let [mut own, other] = [1, 2].map(|seed| self.real.rounded(numbers(COUNT, seed)));
        for step in self.steps {
            let offsets = [0.5, -0.25, 0.125, 1.0];
            let made = match *step {
                "scale" => own.iter().zip(offsets.iter().cycle()).map(|(x, y)| x * 0.75 + y).collect(),
                "add" => both(&own, &other, |a, b| a + b),
                _ => own.iter().map(|x| x.max(0.0)).collect(),
            };
            own = self.real.rounded(made);
        }
        own
    }

    fn check(self, name: &str) -> Event {
        let last = &self.images[self.steps.len()];
        self.submit();
        let unfused = last.download().unwrap();
        last.upload(&vec![0xa5; unfused.len()]).unwrap();
        let event = self.fused();
        let fused = last.download().unwrap();
        assert!(fused == unfused, "{name}: other bytes fused");
        let words: Vec<u32> = fused
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        self.real.assert_close(&self.real.load(&words), &self.host(), name);
        event
    }
}

pub(crate) fn all(table: &mut Table) {
    for (kind, real) in [("rgba32f", Real::Single), ("rgba16f", Real::Half)] {
        for steps in [
            &["scale", "relu"][..],
            &["add", "relu"],
            &["scale", "add", "relu", "scale"],
            &["scale", "fetch", "add"],
        ] {
            if real == Real::Half && steps.contains(&"fetch") {
                continue;
            }
            let name = format!("{kind}: {}", steps.join(", "));
            let event = Chain::new(table, steps, real).check(&name);
            table.add(&name, &event.report().unwrap(), None);
        }
    }
}
