//! The chain of the quickstart with its kernels written in Rust: one dispatch, and the host's bits.
//!
//! `cargo run --example rust_chain [FILE.spv]` also writes the module that `Mul` is lowered to, for `vkfuse inspect FILE.spv`.

use std::error::Error;

use vkfuse::{
    Buffer, Context, QueueOptions,
    rust::{Captures, HostBuffer, Item, LowerOptions, Lowered, Read, Write, host::on_host, kernel},
};

const ELEMENTS: u32 = 1_000_003;

#[derive(Captures)]
struct Mul {
    x: Read<f32>,
    y: Read<f32>,
    z: Write<f32>,
}

#[kernel]
impl Mul {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.z.set(i, self.x.get(i) * self.y.get(i));
    }
}

#[derive(Captures)]
struct Sub {
    x: Read<f32>,
    y: Read<f32>,
    z: Write<f32>,
}

#[kernel]
impl Sub {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.z.set(i, self.x.get(i) - self.y.get(i));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(file) = std::env::args().nth(1) {
        let module = Lowered::of::<Mul>(LowerOptions::default())?;
        let bytes: Vec<u8> = module.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes)?;
        println!(
            "{file}: {} as SPIR-V, {} bytes of plain captures",
            module.name, module.signature.plain_bytes
        );
    }
    let context = Context::new()?;
    let queue = context.queue(QueueOptions::new().enable_fusion(true))?;
    println!("{ELEMENTS} elements on {}", context.device_info().name);

    let inputs = [3, 5, 7, 11].map(|step| (0..ELEMENTS).map(|i| (i * step % 1009) as f32 / 64.0).collect());
    let [a, b, c, d]: [Vec<f32>; 4] = inputs;
    let n = a.len();
    let [in1, in2, in3, in4] = [&a, &b, &c, &d].map(|data| context.buffer_from(data));
    let (in1, in2, in3, in4) = (in1?, in2?, in3?, in4?);
    let private = || Ok::<Buffer<f32>, vkfuse::Error>(context.buffer(n)?.promote_private());
    let (tmp1, tmp2, tmp3, out) = (private()?, private()?, private()?, context.buffer::<f32>(n)?);

    let mul =
        |x: &Buffer<f32>, y: &Buffer<f32>, z: &Buffer<f32>| Mul { x: x.into(), y: y.into(), z: z.into() };
    let sub =
        |x: &Buffer<f32>, y: &Buffer<f32>, z: &Buffer<f32>| Sub { x: x.into(), y: y.into(), z: z.into() };
    let done = queue.fuse(|q| {
        q.submit(|h| {
            h.parallel_for(ELEMENTS, &mul(&in1, &in2, &tmp1));
        })?;
        q.submit(|h| {
            h.parallel_for(ELEMENTS, &sub(&in1, &in3, &tmp2));
        })?;
        q.submit(|h| {
            h.parallel_for(ELEMENTS, &mul(&tmp2, &in4, &tmp3));
        })?;
        q.submit(|h| {
            h.parallel_for(ELEMENTS, &sub(&tmp1, &tmp3, &out));
        })?;
        Ok(())
    })?;
    done.wait()?;
    println!("four kernels: {}, temporaries in registers", done.outcome());

    if out.download()? != on_the_host([a, b, c, d]) {
        return Err("the device's bits are not the host's".into());
    }
    println!("all elements equal those of the same kernels on the host, bit for bit");
    Ok(())
}

/// The same four kernels, one after the other, on the host.
fn on_the_host(inputs: [Vec<f32>; 4]) -> Vec<f32> {
    let [in1, in2, in3, in4] = inputs.map(HostBuffer::new);
    let [tmp1, tmp2, tmp3, out] = [(); 4].map(|()| HostBuffer::new(vec![0.0; ELEMENTS as usize]));
    on_host([ELEMENTS], &Mul { x: (&in1).into(), y: (&in2).into(), z: (&tmp1).into() });
    on_host([ELEMENTS], &Sub { x: (&in1).into(), y: (&in3).into(), z: (&tmp2).into() });
    on_host([ELEMENTS], &Mul { x: (&tmp2).into(), y: (&in4).into(), z: (&tmp3).into() });
    on_host([ELEMENTS], &Sub { x: (&tmp1).into(), y: (&tmp3).into(), z: (&out).into() });
    out.to_vec()
}
