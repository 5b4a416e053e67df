//! Chains of images, texel by texel, as back ends for phones have them.

use vkfuse::vulkano::format::Format;
use vkfuse::vulkano::image::sampler::{Filter, SamplerAddressMode, SamplerCreateInfo};
use vkfuse::vulkano::image::view::ImageViewType;
use vkfuse::{Accessor, Buffer, Event, FusionProperties, FusionWrapper, Image, Sampler, module::ElementType};

use crate::host::both;
use crate::table::Table;
use crate::tensor::{Real, numbers};

/// No multiples of a work-group's size.
const WIDTH: u32 = 37;
const HEIGHT: u32 = 21;
const TEXELS: usize = (WIDTH * HEIGHT) as usize;

/// How an image keeps a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    Single,
    Half,
    /// Of 0 to 1, in 255 steps.
    Byte,
}

impl Channel {
    const ALL: [(&'static str, Self); 3] =
        [("rgba32f", Self::Single), ("rgba16f", Self::Half), ("rgba8", Self::Byte)];

    fn format(self) -> Format {
        match self {
            Self::Single => Format::R32G32B32A32_SFLOAT,
            Self::Half => Format::R16G16B16A16_SFLOAT,
            Self::Byte => Format::R8G8B8A8_UNORM,
        }
    }

    /// The end of the names of kernels on such images.
    fn suffix(self) -> &'static str {
        match self {
            Self::Single => "",
            Self::Half => "_half",
            Self::Byte => "_byte",
        }
    }

    fn rounded(self, numbers: Vec<f32>) -> Vec<f32> {
        match self {
            Self::Single => numbers,
            Self::Half => Real::Half.rounded(numbers),
            Self::Byte => numbers.iter().map(|x| (x.clamp(0.0, 1.0) * 255.0).round() / 255.0).collect(),
        }
    }

    fn bytes(self, numbers: &[f32]) -> Vec<u8> {
        match self {
            Self::Single => bytemuck::cast_slice(&Real::Single.store(numbers).1).to_vec(),
            Self::Half => bytemuck::cast_slice(&Real::Half.store(numbers).1).to_vec(),
            Self::Byte => numbers.iter().map(|x| (x.clamp(0.0, 1.0) * 255.0).round() as u8).collect(),
        }
    }

    fn numbers(self, bytes: &[u8]) -> Vec<f32> {
        let words = || -> Vec<u32> {
            let word = |four: &[u8]| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
            bytes.chunks_exact(4).map(word).collect()
        };
        match self {
            Self::Single => Real::Single.load(&words()),
            Self::Half => Real::Half.load(&words()),
            Self::Byte => bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect(),
        }
    }

    fn assert_close(self, found: &[f32], wanted: &[f32], what: &str) {
        match self {
            Self::Single => Real::Single.assert_close(found, wanted, what),
            Self::Half => Real::Half.assert_close(found, wanted, what),
            Self::Byte => {
                // A device may round either way, in each step.
                let differs = found.iter().zip(wanted).position(|(a, b)| (a - b).abs() > 2.5 / 255.0);
                assert_eq!(differs, None, "{what}");
            }
        }
    }
}

/// What a step reads or writes.
#[derive(Clone)]
enum Place {
    Image(Image),
    /// Planes of channels.
    Planes(Buffer<u32>),
}

impl Place {
    fn contents(&self, channel: Channel) -> Vec<u8> {
        match self {
            Self::Image(image) => image.download().unwrap(),
            Self::Planes(buffer) => {
                let words: Vec<u32> = buffer.download().unwrap();
                assert!(channel == Channel::Single);
                bytemuck::cast_slice(&words).to_vec()
            }
        }
    }

    fn poison(&self, bytes: usize) {
        match self {
            Self::Image(image) => image.upload(&vec![0xa5; bytes]).unwrap(),
            Self::Planes(buffer) => buffer.upload(&vec![0xa5a5_a5a5; bytes / 4]).unwrap(),
        }
    }
}

/// What is done one after the other, to images of this kind.
struct Chain<'a> {
    table: &'a Table<'a>,
    steps: &'a [&'a str],
    channel: Channel,
    /// What is before and behind each step, and another image.
    places: Vec<Place>,
    other: Image,
    sampler: Sampler,
}

impl<'a> Chain<'a> {
    fn new(table: &'a Table<'a>, steps: &'a [&'a str], channel: Channel) -> Self {
        let context = &table.rig.context;
        let image = || context.image(ImageViewType::Dim2d, channel.format(), [WIDTH, HEIGHT, 1], 1).unwrap();
        let sampler = context.sampler(SamplerCreateInfo {
            mag_filter: Filter::Nearest,
            min_filter: Filter::Nearest,
            address_mode: [SamplerAddressMode::ClampToEdge; 3],
            ..Default::default()
        });
        let mut places = Vec::new();
        let given = numbers(4 * TEXELS, 1);
        if steps[0] == "fill" {
            let words: Vec<u32> = given.iter().map(|x| x.to_bits()).collect();
            places.push(Place::Planes(context.buffer_from(&words).unwrap()));
        } else {
            let first = image();
            first.upload(&channel.bytes(&given)).unwrap();
            places.push(Place::Image(first));
        }
        for step in steps {
            places.push(match *step {
                "empty" => Place::Planes(context.buffer_from(&vec![0; 4 * TEXELS]).unwrap()),
                "own" => places.last().expect("a first one").clone(),
                _ => Place::Image(image()),
            });
        }
        let chain = Chain { table, steps, channel, places, other: image(), sampler: sampler.unwrap() };
        chain.other.upload(&channel.bytes(&numbers(4 * TEXELS, 2))).unwrap();
        chain
    }

    /// An argument, with a wish if it is neither given nor a result.
    fn wished<'b>(&self, image: &Image, argument: Accessor<'b>) -> Accessor<'b> {
        let ends = [self.places.first(), self.places.last()];
        let is_end = |place: &Place| matches!(place, Place::Image(end) if end.id() == image.id());
        match ends.into_iter().flatten().any(is_end) {
            true => argument,
            false => argument.promote_auto(),
        }
    }

    fn submit(&self) {
        let rig = self.table.rig;
        for (at, step) in self.steps.iter().enumerate() {
            let kernel = rig.kernel(&format!("pairs/image.{step}{}", self.channel.suffix()));
            let (from, to) = (&self.places[at], &self.places[at + 1]);
            let submitted = rig.queue.submit(|h| {
                match from {
                    Place::Planes(buffer) => h.arg(0, buffer.read().elements(ElementType::Bytes)),
                    Place::Image(image) => {
                        let argument = match *step {
                            "fetch" | "sample" => image.sampled(&self.sampler),
                            "own" => image.read_write(),
                            _ => image.read(),
                        };
                        h.arg(0, self.wished(image, argument))
                    }
                };
                if *step == "add" {
                    h.arg(1, self.other.read());
                }
                match to {
                    _ if *step == "own" => {}
                    Place::Planes(buffer) => {
                        h.arg(2, buffer.write().elements(ElementType::Bytes));
                    }
                    Place::Image(image) => {
                        h.arg(2, self.wished(image, image.write()));
                    }
                }
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
        let round = |made| self.channel.rounded(made);
        let (mut own, other) = (numbers(4 * TEXELS, 1), round(numbers(4 * TEXELS, 2)));
        if self.steps[0] != "fill" {
            own = round(own);
        }
        for step in self.steps {
            let (width, height) = (WIDTH as usize, HEIGHT as usize);
            let texel = |x: usize, y: usize| &own[4 * (y * width + x)..][..4];
            // Something for each texel, channel by channel.
            let each = |of: &dyn Fn(usize, usize, usize) -> f32| -> Vec<f32> {
                (0..4 * TEXELS).map(|i| of(i / 4 % width, i / 4 / width, i % 4)).collect()
            };
            let offsets = [0.5, -0.25, 0.125, 1.0];
            let made = match *step {
                "scale" => own.iter().zip(offsets.iter().cycle()).map(|(x, y)| x * 0.75 + y).collect(),
                "add" => both(&own, &other, |a, b| a + b),
                "own" => own.iter().map(|x| x * 0.5 + 0.25).collect(),
                "border" => each(&|x, y, c| if x > 0 && y > 0 { texel(x - 1, y - 1)[c] } else { 0.0 }),
                "shift" => each(&|x, y, c| texel((x + 1).min(width - 1), (y + 1).min(height - 1))[c]),
                "convolution" => each(&|x, y, c| {
                    let above = texel(x, y.saturating_sub(1))[c];
                    let below = texel(x, (y + 1).min(height - 1))[c];
                    above * 0.25 + texel(x, y)[c] * 0.5 + below * 0.25
                }),
                "fill" => (0..4 * TEXELS).map(|i| own[i % 4 * TEXELS + i / 4]).collect(),
                "empty" => (0..4 * TEXELS).map(|i| own[i % TEXELS * 4 + i / TEXELS]).collect(),
                _ => own.iter().map(|x| x.max(0.0)).collect(),
            };
            own = round(made);
        }
        own
    }

    fn check(self, name: &str) -> Event {
        let last = &self.places[self.steps.len()];
        let first = self.places[0].contents(self.channel);
        self.submit();
        let unfused = last.contents(self.channel);
        last.poison(unfused.len());
        // What is changed in place begins as it was.
        if let Place::Image(image) = &self.places[0] {
            image.upload(&first).unwrap();
        }
        let event = self.fused();
        let fused = last.contents(self.channel);
        assert!(fused == unfused, "{name}: other bytes fused");
        self.channel.assert_close(&self.channel.numbers(&fused), &self.host(), name);
        event
    }
}

pub(crate) fn all(table: &mut Table) {
    for (kind, channel) in Channel::ALL {
        for steps in [
            &["scale", "relu"][..],
            &["add", "relu"],
            &["scale", "add", "relu", "scale"],
            &["scale", "own", "own"],
            &["own", "own"],
            &["scale", "own", "relu"],
            &["scale", "fetch", "add"],
            &["fetch", "fetch", "fetch"],
            &["scale", "fetch_alone", "add"],
            &["scale", "sample", "add"],
            &["scale", "convolution", "relu"],
            &["scale", "relu", "convolution", "add"],
            &["border", "scale", "shift", "relu"],
            &["fill", "scale", "relu", "empty"],
            &["fill", "fetch", "add", "empty"],
        ] {
            let of_all = ["scale", "relu"];
            let of_halves = ["add", "own", "fetch", "convolution"];
            let is_there = |step: &&str| match channel {
                Channel::Single => true,
                Channel::Half => of_all.contains(step) || of_halves.contains(step),
                Channel::Byte => of_all.contains(step),
            };
            if !steps.iter().all(is_there) {
                continue;
            }
            let name = format!("{kind}: {}", steps.join(", "));
            let event = Chain::new(table, steps, channel).check(&name);
            table.add(&name, &event.report().unwrap(), None);
        }
    }
}
