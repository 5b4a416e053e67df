//! The same in plain Rust, each written as its definition says.

/// Rows of `x` times rows of `w`.
pub(crate) fn product(x: &[f32], w: &[f32], inner: usize) -> Vec<f32> {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32
    };
    x.chunks(inner).flat_map(|row| w.chunks(inner).map(move |column| dot(row, column))).collect()
}

pub(crate) fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())
}

pub(crate) fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

/// A function of two numbers, element by element.
pub(crate) fn both(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

/// A function of an element and what its column has.
pub(crate) fn columns(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    a.iter().zip(b.iter().cycle()).map(|(&a, &b)| f(a, b)).collect()
}

/// Planes of a net for images.
#[derive(Clone, Copy)]
pub(crate) struct Planes {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) channels: usize,
}

impl Planes {
    pub(crate) fn len(self) -> usize {
        self.width * self.height * self.channels
    }

    /// A pixel; zero outside.
    fn pixel(self, a: &[f32], x: i32, y: i32, plane: usize) -> f32 {
        let is_inside = x >= 0 && y >= 0 && (x as usize) < self.width && (y as usize) < self.height;
        if is_inside { a[(plane * self.height + y as usize) * self.width + x as usize] } else { 0.0 }
    }

    /// The nine pixels around each, line by line, of each plane.
    fn window(self, a: &[f32], x: usize, y: usize, plane: usize) -> [f32; 9] {
        std::array::from_fn(|k| {
            self.pixel(a, x as i32 + k as i32 % 3 - 1, y as i32 + k as i32 / 3 - 1, plane)
        })
    }

    /// Something for each pixel of `outputs` planes.
    fn each(self, outputs: usize, f: impl Fn(usize, usize, usize) -> f32) -> Vec<f32> {
        let mut all = Vec::new();
        for z in 0..outputs {
            for y in 0..self.height {
                all.extend((0..self.width).map(|x| f(x, y, z)));
            }
        }
        all
    }

    /// A convolution of 3 x 3.
    pub(crate) fn convolution(self, a: &[f32], w: &[f32], outputs: usize) -> Vec<f32> {
        self.each(outputs, |x, y, z| {
            let of = |k: usize| {
                let own = &w[(z * self.channels + k) * 9..][..9];
                own.iter().zip(self.window(a, x, y, k)).map(|(w, a)| w * a).sum::<f32>()
            };
            (0..self.channels).map(of).sum()
        })
    }

    pub(crate) fn depthwise(self, a: &[f32], w: &[f32]) -> Vec<f32> {
        self.each(self.channels, |x, y, z| {
            w[9 * z..][..9].iter().zip(self.window(a, x, y, z)).map(|(w, a)| w * a).sum()
        })
    }

    pub(crate) fn pointwise(self, a: &[f32], w: &[f32], outputs: usize) -> Vec<f32> {
        self.each(outputs, |x, y, z| {
            (0..self.channels).map(|k| self.pixel(a, x as i32, y as i32, k) * w[z * self.channels + k]).sum()
        })
    }

    /// A row for each pixel, with the window of each plane.
    pub(crate) fn im2col(self, a: &[f32]) -> Vec<f32> {
        let mut all = Vec::new();
        for at in 0..self.width * self.height {
            let (x, y) = (at % self.width, at / self.width);
            all.extend((0..self.channels).flat_map(|k| self.window(a, x, y, k)));
        }
        all
    }

    /// A factor and an offset for each plane.
    pub(crate) fn norm(self, a: &[f32], b: &[f32]) -> Vec<f32> {
        let plane = self.width * self.height;
        a.iter().enumerate().map(|(i, a)| a * b[2 * (i / plane)] + b[2 * (i / plane) + 1]).collect()
    }
}

/// Weights of 3 x 3 as Winograd's algorithm for squares of 2 x 2 has them: 4 x 4 each.
pub(crate) fn winograd(w: &[f32]) -> Vec<f32> {
    let line = |g: [f32; 3]| [g[0], (g[0] + g[1] + g[2]) / 2.0, (g[0] - g[1] + g[2]) / 2.0, g[2]];
    let mut all = Vec::new();
    for g in w.chunks_exact(9) {
        let columns: [[f32; 4]; 3] = std::array::from_fn(|i| line([g[i], g[3 + i], g[6 + i]]));
        all.extend((0..4).flat_map(|j| line([columns[0][j], columns[1][j], columns[2][j]])));
    }
    all
}

/// Rows divided by the root of their mean square.
pub(crate) fn rms_norm(a: &[f32], length: usize) -> Vec<f32> {
    let row = |row: &[f32]| {
        let mean = row.iter().map(|x| x * x).sum::<f32>() / length as f32;
        let scale = (mean + 1e-5).sqrt().recip();
        row.iter().map(|x| x * scale).collect::<Vec<_>>()
    };
    a.chunks(length).flat_map(row).collect()
}

/// Halves of rows turned by their number times an angle.
pub(crate) fn rope(a: &[f32], angles: &[f32], length: usize) -> Vec<f32> {
    let row = |(number, row): (usize, &[f32])| {
        let (x, y) = row.split_at(length / 2);
        let turn = |k: usize| (number as f32 * angles[k]).sin_cos();
        let left = (0..length / 2).map(|k| x[k] * turn(k).1 - y[k] * turn(k).0);
        let right = (0..length / 2).map(|k| x[k] * turn(k).0 + y[k] * turn(k).1);
        left.chain(right).collect::<Vec<_>>()
    };
    a.chunks(length).enumerate().flat_map(row).collect()
}

/// The same of neighbours in rows.
pub(crate) fn turn(a: &[f32], angles: &[f32], length: usize) -> Vec<f32> {
    let pair = |(i, pair): (usize, &[f32])| {
        let (s, c) = ((i / (length / 2)) as f32 * angles[i % (length / 2)]).sin_cos();
        [pair[0] * c - pair[1] * s, pair[0] * s + pair[1] * c]
    };
    a.chunks(2).enumerate().flat_map(pair).collect()
}

/// The greatest `count` of each row, in order.
pub(crate) fn top(a: &[f32], length: usize, count: usize) -> Vec<f32> {
    let row = |row: &[f32]| {
        let mut row = row.to_vec();
        row.sort_by(|a, b| b.total_cmp(a));
        row.truncate(count);
        row
    };
    a.chunks(length).flat_map(row).collect()
}

pub(crate) fn softmax(a: &[f32], length: usize) -> Vec<f32> {
    let row = |row: &[f32]| {
        let sum: f32 = row.iter().map(|x| x.exp()).sum();
        row.iter().map(|x| x.exp() / sum).collect::<Vec<_>>()
    };
    a.chunks(length).flat_map(row).collect()
}
