//! `as` from floats to integers of all widths, and what is done with their low bits.

use vkfuse::rust::{Captures, HostBuffer, Item, Read, Write, device, host::on_host, kernel};

macro_rules! casts {
    ($($name:ident $ty:ident)+) => {$(
        /// All of it, or a part that a driver may think to be enough to compute.
        #[device]
        fn $name(x: $ty) -> [u32; 16] {
            let long = x as u64;
            let signed = x as i64;
            [
                long as u32,
                (long >> 32) as u32,
                signed as u32,
                (signed >> 32) as u32,
                long as u16 as u32,
                (signed as i8) as u32,
                (1 & long) as u32,
                1_u32 << (long % 32),
                (7 >> signed) as u32,
                (long % 1000) as u32,
                (signed / 3) as u32,
                x as u32,
                x as i32 as u32,
                (x as u16) as u32 + (x as u8) as u32 * 65536,
                (x as i16) as u32,
                (x as i8) as u32,
            ]
        }
    )+};
}

casts! { of_f32 f32 of_f64 f64 }

#[derive(Captures)]
struct Casts {
    x: Read<f32>,
    y: Read<f64>,
    narrow: Write<[u32; 16]>,
    wide: Write<[u32; 16]>,
}

#[kernel]
impl Casts {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.narrow.set(i, of_f32(self.x.get(i)));
        self.wide.set(i, of_f64(self.y.get(i)));
    }
}

/// Around all powers of two, of both signs, and halves between.
fn numbers() -> Vec<f64> {
    let mut all = vec![0.0, 0.5, 0.999, 1e-30, f64::NAN, f64::INFINITY, 1e300, 4_294_967_295.999];
    for exponent in 0..66 {
        let power = 2_f64.powi(exponent);
        let last = power.to_bits();
        all.extend([
            power,
            power + 1.0,
            power - 1.0,
            power + 0.5,
            power * 1.5 + 3.0,
            f64::from_bits(last - 1),
        ]);
        all.extend([f64::from_bits(last + 1), power * 1.000_000_3, power * 1.999_999_8]);
        all.extend([power * 1.234_567_890_123_456_7, f64::from((power as f32).next_down())]);
    }
    let negative: Vec<f64> = all.iter().map(|x| -x).collect();
    all.extend(negative);
    all
}

#[test]
fn floats_become_integers_as_on_the_host() {
    let rig = rig!();
    let y = numbers();
    let x: Vec<f32> = y.iter().map(|&y| y as f32).collect();
    let host = (HostBuffer::new(x.clone()), HostBuffer::new(y.clone()));
    let results = (HostBuffer::new(vec![[0; 16]; x.len()]), HostBuffer::new(vec![[0; 16]; x.len()]));
    on_host(
        [x.len() as u32],
        &Casts {
            x: (&host.0).into(),
            y: (&host.1).into(),
            narrow: (&results.0).into(),
            wide: (&results.1).into(),
        },
    );
    let (a, b) =
        (rig.context.buffer_from(&x).expect("a buffer"), rig.context.buffer_from(&y).expect("a buffer"));
    let (narrow, wide) = (
        rig.context.buffer::<[u32; 16]>(x.len()).expect("a buffer"),
        rig.context.buffer::<[u32; 16]>(x.len()).expect("a buffer"),
    );
    rig.queue
        .submit(|h| {
            let kernel =
                Casts { x: (&a).into(), y: (&b).into(), narrow: (&narrow).into(), wide: (&wide).into() };
            h.parallel_for(x.len() as u32, &kernel);
        })
        .expect("submits");
    let found = (narrow.download().expect("downloads"), wide.download().expect("downloads"));
    let (narrow, wide) = (results.0.to_vec(), results.1.to_vec());
    for k in 0..x.len() {
        assert_eq!(found.0[k], narrow[k], "of {:?}", x[k]);
        assert_eq!(found.1[k], wide[k], "of {:?}", y[k]);
        // What the host is to be, by the language itself.
        assert_eq!(wide[k][0], y[k] as u64 as u32);
        assert_eq!(narrow[k][3], (x[k] as i64 >> 32) as u32);
    }
    rig.assert_no_validation_messages();
}
