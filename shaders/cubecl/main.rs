//! Elementwise kernels of a CubeCL program, launched once each so that its log has their WGSL.
use cubecl::prelude::*;
use cubecl::wgpu::{WgpuDevice, WgpuRuntime};

#[cube(launch)]
fn product<F: Float>(x: &Array<F>, y: &Array<F>, out: &mut Array<F>) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = x[ABSOLUTE_POS] * y[ABSOLUTE_POS];
    }
}

#[cube(launch)]
fn sum<F: Float>(x: &Array<F>, y: &Array<F>, out: &mut Array<F>) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = x[ABSOLUTE_POS] + y[ABSOLUTE_POS];
    }
}

#[cube(launch)]
fn silu<F: Float>(x: &Array<F>, out: &mut Array<F>) {
    if ABSOLUTE_POS < out.len() {
        let v = x[ABSOLUTE_POS];
        out[ABSOLUTE_POS] = v / (F::new(1.0) + F::exp(F::new(0.0) - v));
    }
}

#[cube(launch)]
fn affine<F: Float + CubeElement>(x: &Array<F>, factor: F, offset: F, out: &mut Array<F>) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = x[ABSOLUTE_POS] * factor + offset;
    }
}

fn main() {
    let client = WgpuRuntime::client(&WgpuDevice::default());
    const N: usize = 1000;
    let bytes = f32::as_bytes(&[1.0; N]).to_vec();
    let [x, y, out] = [(); 3].map(|()| client.create_from_slice(&bytes));
    let count = CubeCount::Static(N.div_ceil(256) as u32, 1, 1);
    let dim = CubeDim::new_1d(256);
    fn arg(h: &cubecl::server::Handle) -> ArrayArg<'_, WgpuRuntime> {
        unsafe { ArrayArg::from_raw_parts::<f32>(h, N, 1) }
    }
    product::launch::<f32, WgpuRuntime>(&client, count.clone(), dim, arg(&x), arg(&y), arg(&out)).unwrap();
    sum::launch::<f32, WgpuRuntime>(&client, count.clone(), dim, arg(&x), arg(&y), arg(&out)).unwrap();
    silu::launch::<f32, WgpuRuntime>(&client, count.clone(), dim, arg(&x), arg(&out)).unwrap();
    affine::launch::<f32, WgpuRuntime>(
        &client,
        count,
        dim,
        arg(&x),
        ScalarArg::new(0.5),
        ScalarArg::new(0.25),
        arg(&out),
    )
    .unwrap();
    let bytes = client.read_one(out);
    println!("{:?}", &f32::from_bytes(&bytes)[..4]);
}
