//! How fast bodies that attract each other become.

use crate::{agree, floats};
use bytemuck::{Pod, Zeroable};
use vkfuse::rust::{Captures, Item, Read, Value, Vec3, Write, device, kernel};

#[derive(Clone, Copy, Value, Pod, Zeroable)]
#[repr(C)]
struct Body {
    at: Vec3,
    mass: f32,
}

#[device]
impl Body {
    fn pull(&self, other: Body) -> Vec3 {
        let way = other.at - self.at;
        way * (other.mass * inverse_cube(way.dot(way) + 0.01))
    }
}

/// One by the cube of the root: from a first guess, in steps that every device does alike.
#[device]
fn inverse_cube(x: f32) -> f32 {
    let mut y = f32::from_bits(0x5f37_59df - (x.to_bits() >> 1));
    for _ in 0..3 {
        y *= 1.5 - 0.5 * x * y * y;
    }
    y * y * y
}

#[derive(Captures)]
struct Step {
    dt: f32,
    bodies: Read<Body>,
    speeds: Write<f32>,
}

#[kernel]
impl Step {
    fn run(&self, item: Item<1>) {
        let body = self.bodies[item.index()];
        let mut force = Vec3::splat(0.0);
        for k in 0..self.bodies.len() {
            force += body.pull(self.bodies[k]);
        }
        self.speeds[item.index()] = self.dt * force.dot(force);
    }
}

#[test]
fn n_body() {
    let rig = rig!();
    agree(&rig, |bench| {
        let bodies: Vec<Body> = bytemuck::cast_slice(&floats(1200, 1)).to_vec();
        let (bodies, speeds) = (bench.buffer(bodies), bench.buffer(vec![0.0; 300]));
        bench.run(300, &Step { dt: 0.125, bodies: bodies.read(), speeds: speeds.write() });
        bench.increment(&speeds);
    });
}
