//! How fast bodies that attract each other become.

use bytemuck::{Pod, Zeroable};
use vkfuse::rust::{Captures, Item, Read, Value, Vec3, Write, device, kernel};

use crate::{agree, floats};

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
        let near = inverse_root(way.dot(way) + 0.01);
        way * (other.mass * near * near * near)
    }
}

/// From a first guess, in steps that every device does alike.
#[device]
fn inverse_root(x: f32) -> f32 {
    let mut y = f32::from_bits(0x5f37_59df - (x.to_bits() >> 1));
    for _ in 0..3 {
        y *= 1.5 - 0.5 * x * y * y;
    }
    y
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
        let speed = self.dt * force;
        self.speeds[item.index()] = speed.dot(speed);
    }
}

#[test]
fn n_body() {
    let rig = rig!();
    let bodies =
        |xs: Vec<f32>| xs.chunks(4).map(|x| Body { at: Vec3::new(x[0], x[1], x[2]), mass: x[3] }).collect();
    agree(&rig, |bench| {
        let (bodies, speeds) = (bench.buffer(bodies(floats(1200, 1))), bench.buffer(vec![0.0; 300]));
        bench.run(300, &Step { dt: 0.125, bodies: bodies.read(), speeds: speeds.write() });
        bench.increment(&speeds);
    });
}
