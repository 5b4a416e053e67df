//! Layers of nets for images.

use crate::host::{self, Planes};
use crate::list::List;
use crate::table::Table;
use crate::tensor::{Real, Tensor};

/// No multiples of a work-group's size.
const IN: Planes = Planes { width: 19, height: 13, channels: 5 };
const OUT: Planes = Planes { channels: 8, ..IN };
const WIDE: Planes = Planes { channels: 11, ..IN };

impl List {
    fn layer(
        &mut self,
        kernel: &str,
        buffers: &[&Tensor],
        (of, to): (Planes, Planes),
        made: Vec<f32>,
    ) -> Tensor {
        let (x, y) = (of.width as u32, of.height as u32);
        let by = if kernel == "winograd" { 16 } else { 8 };
        let channels = if kernel == "pointwise_all" { to.channels.div_ceil(8) } else { to.channels };
        let groups = [x.div_ceil(by), y.div_ceil(by), channels as u32];
        let push = [x, y, of.channels as u32, to.channels as u32];
        let buffers: Vec<_> = buffers.iter().map(|one| one.buffer).collect();
        self.run(&format!("layer.{kernel}"), groups, &buffers, &push, (made, Real::Single))
    }

    fn convolution(&mut self, how: &str) -> Tensor {
        let x = self.given(IN.len(), Real::Single);
        let of = host_weights(IN.channels * OUT.channels * 9);
        let made = IN.convolution(&x.host, &of, OUT.channels);
        let w = match how {
            "winograd" => self.numbers(&host::winograd(&of), Real::Single),
            _ => self.numbers(&of, Real::Single),
        };
        self.layer(how, &[&x, &w], (IN, OUT), made)
    }

    fn after(&mut self, what: &str, a: &Tensor, planes: Planes) -> Tensor {
        let both = (planes, planes);
        match what {
            "norm" => {
                let b = self.given(2 * planes.channels, Real::Single);
                let made = planes.norm(&a.host, &b.host);
                self.layer(what, &[a, &b], both, made)
            }
            "relu" => {
                let made = a.host.iter().map(|x| x.max(0.0)).collect();
                self.layer(what, &[a], both, made)
            }
            _ => {
                let b = self.given(planes.len(), Real::Single);
                let made = host::both(&a.host, &b.host, |a, b| a + b);
                self.layer(what, &[a, &b], both, made)
            }
        }
    }

    fn packed(&mut self, what: &str, a: &Tensor) -> Tensor {
        let (plane, channels) = (OUT.width * OUT.height, OUT.channels);
        let at = |i: usize| (i / 4 / plane * 4 + i % 4) * plane + i / 4 % plane;
        let mut buffers = vec![a.buffer];
        let made: Vec<f32> = match what {
            "pack" => (0..OUT.len()).map(|i| a.host[at(i)]).collect(),
            "unpack" => {
                let mut made = vec![0.0; OUT.len()];
                (0..OUT.len()).for_each(|i| made[at(i)] = a.host[i]);
                made
            }
            "bias" => {
                let b = self.given(channels, Real::Single);
                buffers.push(b.buffer);
                a.host.iter().enumerate().map(|(i, a)| a + b.host[i / 4 / plane * 4 + i % 4]).collect()
            }
            "swish" => a.host.iter().map(|&x| host::silu(x)).collect(),
            _ => {
                let b = self.given(OUT.len(), Real::Single);
                buffers.push(b.buffer);
                host::both(&a.host, &b.host, |a, b| a + b)
            }
        };
        let items = (plane * channels / 4) as u32;
        let push = [plane as u32, channels as u32];
        self.run(&format!("packed.{what}"), [items.div_ceil(64), 1, 1], &buffers, &push, (made, Real::Single))
    }
}

fn host_weights(count: usize) -> Vec<f32> {
    crate::tensor::numbers(count, 77)
}

pub(crate) fn all(table: &mut Table) {
    for how in ["direct", "winograd"] {
        for followers in [&["norm"][..], &["norm", "relu"], &["norm", "relu", "add"], &["add", "relu"]] {
            let mut list = List::default();
            let mut last = list.convolution(how);
            for follower in followers {
                last = list.after(follower, &last, OUT);
            }
            list.check(table, &format!("convolution, {how}: {}", followers.join(", ")));
        }
    }
    // A block of MobileNet.
    for (depthwise, pointwise, out) in [
        ("depthwise", "pointwise", OUT),
        ("depthwise_flat", "pointwise", OUT),
        ("depthwise", "pointwise_all", OUT),
        ("depthwise_flat", "pointwise_all", OUT),
        ("depthwise_flat", "pointwise_all", WIDE),
    ] {
        for between in [&[][..], &["norm", "relu"]] {
            let mut list = List::default();
            let x = list.given(IN.len(), Real::Single);
            let w = list.given(IN.channels * 9, Real::Single);
            let made = IN.depthwise(&x.host, &w.host);
            let mut last = list.layer(depthwise, &[&x, &w], (IN, IN), made);
            for one in between {
                last = list.after(one, &last, IN);
            }
            let w = list.given(IN.channels * out.channels, Real::Single);
            let made = IN.pointwise(&last.host, &w.host, out.channels);
            last = list.layer(pointwise, &[&last, &w], (IN, out), made);
            for one in between {
                last = list.after(one, &last, out);
            }
            let all = [&[depthwise][..], between, &[pointwise], between].concat();
            let channels = if out.channels == OUT.channels { "" } else { ", 11 channels" };
            list.check(table, &format!("{}{channels}", all.join(", ")));
        }
    }
    for how in ["naive", "tiled", "blocked", "subgroup"] {
        let mut list = List::default();
        let x = list.given(IN.len(), Real::Single);
        let inner = 9 * IN.channels;
        let to = Planes { channels: inner, ..IN };
        let made = IN.im2col(&x.host);
        let patches = list.layer("im2col", &[&x], (IN, to), made);
        let w = list.numbers(&host_weights(inner * OUT.channels), Real::Single);
        list.product(how, &w, &patches, inner);
        list.check(table, &format!("im2col, product by {how}"));
    }
    for between in [&["bias"][..], &["swish"], &["add"], &["bias", "swish", "add"]] {
        let mut list = List::default();
        let x = list.given(OUT.len(), Real::Single);
        let mut last = list.packed("pack", &x);
        for one in between {
            last = list.packed(one, &last);
        }
        list.packed("unpack", &last);
        list.check(table, &format!("pack, {}, unpack", between.join(", ")));
    }
    // What is packed was made by a convolution, and what comes out goes into the next one's sum.
    let mut list = List::default();
    let mut last = list.convolution("direct");
    for one in ["pack", "bias", "swish", "unpack"] {
        last = list.packed(one, &last);
    }
    list.after("add", &last, OUT);
    list.check(table, "convolution, direct: pack, bias, swish, unpack, add");
}
