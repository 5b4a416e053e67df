//! Each kernel gives on a device what it gives on the host.

use vkfuse::{
    Buffer,
    rust::{
        Captures, GroupRange, HostBuffer, Item, Ranged, Read, ReadWrite, Shared, Spec, Vec3, Vec4, Write,
        host::{on_host, on_host_groups, task_on_host},
        kernel, kernel_fn,
    },
};

use crate::{
    kernels::{
        Branches, Complex, Document, Flow, Loops, Meaning, Methods, Nested, Outer, Padded, Pair, Particle,
        Paths, Range, Reduce, Weighted,
    },
    support::Rig,
};

fn buffer<T: bytemuck::Pod>(rig: &Rig, data: &[T]) -> Buffer<T> {
    rig.context.buffer_from(data).expect("a buffer")
}

/// The document's own example: a captured integer, a padded struct, also inside of an array inside of a struct, and a
/// character written by a single task.
#[test]
fn a_captured_struct_of_structs() {
    let rig = rig!();
    let padded = Padded { letter: b'r', wide: 5, small: -3 };
    let outer = Outer { flag: true, parts: [padded, Padded { wide: 7, ..padded }] };
    let on = |number, flag| {
        let host = HostBuffer::new(vec![b'-'; 5]);
        let device = buffer(&rig, &[b'-'; 5]);
        let outer = Outer { flag, ..outer };
        task_on_host(&Document { number, padded, outer, out: (&host).into() });
        let kernel = Document { number, padded, outer, out: device.write().into() };
        rig.queue
            .submit(|h| {
                h.single_task(&kernel);
            })
            .expect("submits");
        let device = device.download().expect("downloads");
        assert_eq!(device, host.to_vec());
        device[0]
    };
    assert_eq!([on(55, true), on(54, true), on(55, false)], [b'r', b'-', b'-']);
    rig.assert_no_validation_messages();
}

#[test]
fn accessors_in_structs_in_arrays() {
    let rig = rig!();
    let (a, b) = ([1.0_f32, 2.0, 5.0], [10.0_f32, 20.0, 30.0, 40.0]);
    let (ha, hb, hout) =
        (HostBuffer::new(a.to_vec()), HostBuffer::new(b.to_vec()), HostBuffer::new(vec![0.5_f32; 6]));
    let (da, db, dout) = (buffer(&rig, &a), buffer(&rig, &b), buffer(&rig, &[0.5_f32; 6]));
    let pairs = [Pair { weight: 2.0, data: (&ha).into() }, Pair { weight: 3.0, data: (&hb).into() }];
    on_host([8], &Nested { pairs, part: Ranged::new(&hb, 1..3), out: (&hout).into() });
    let pairs = [Pair { weight: 2.0, data: (&da).into() }, Pair { weight: 3.0, data: (&db).into() }];
    let kernel = Nested { pairs, part: Ranged::new(&db, 1..3), out: (&dout).into() };
    // Of the eight items two are outside of the longest accessor: nothing happens there.
    rig.queue
        .submit(|h| {
            h.parallel_for(8, &kernel);
        })
        .expect("submits");
    assert_eq!(dout.download().expect("downloads"), hout.to_vec());
    rig.assert_no_validation_messages();
}

#[test]
fn control_flow() {
    let rig = rig!();
    for range in [32, 40, 300] {
        let (host, device) = (HostBuffer::new(vec![0_u32; 32]), buffer(&rig, &[0_u32; 32]));
        on_host([range], &Flow { out: (&host).into() });
        rig.queue
            .submit(|h| {
                h.parallel_for(range, &Flow { out: (&device).into() });
            })
            .expect("submits");
        assert_eq!(device.download().expect("downloads"), host.to_vec());
    }
    rig.assert_no_validation_messages();
}

#[test]
fn arrays_in_branches() {
    let rig = rig!();
    let (host, device) = (HostBuffer::new(vec![0_u64; 6]), buffer(&rig, &[0_u64; 6]));
    on_host([7], &Branches { table: [1, 2, 3, 4], out: (&host).into() });
    rig.queue
        .submit(|h| {
            h.parallel_for(7, &Branches { table: [1, 2, 3, 4], out: (&device).into() });
        })
        .expect("submits");
    assert_eq!(device.download().expect("downloads"), host.to_vec());
    rig.assert_no_validation_messages();
}

#[test]
fn what_rust_would_panic_at() {
    let rig = rig!();
    let (host, device) = (HostBuffer::new(vec![99; 14]), buffer(&rig, &[99; 14]));
    task_on_host(&Meaning { zero: 0, out: (&host).into() });
    rig.queue
        .submit(|h| {
            h.single_task(&Meaning { zero: 0, out: (&device).into() });
        })
        .expect("submits");
    assert_eq!(device.download().expect("downloads"), host.to_vec());
    rig.assert_no_validation_messages();
}

#[test]
fn functions_by_their_paths() {
    let rig = rig!();
    let (host, device) = (HostBuffer::new(vec![0.0; 4]), buffer(&rig, &[0.0_f32; 4]));
    let range = Range { low: -1.0, high: 99.0 };
    task_on_host(&Paths { range, out: (&host).into() });
    rig.queue
        .submit(|h| {
            h.single_task(&Paths { range, out: (&device).into() });
        })
        .expect("submits");
    assert_eq!(device.download().expect("downloads"), host.to_vec());
    rig.assert_no_validation_messages();
}

#[test]
fn methods_and_constants() {
    let rig = rig!();
    let (a, b) = ([1.0_f32, 2.0], [3.0_f32, 4.0, 5.0]);
    let (ha, hb, hout) =
        (HostBuffer::new(a.to_vec()), HostBuffer::new(b.to_vec()), HostBuffer::new(vec![0.0; 3]));
    let (da, db, dout) = (buffer(&rig, &a), buffer(&rig, &b), buffer(&rig, &[0.0_f32; 3]));
    let start = Complex { re: 1.0, im: 2.0 };
    let parts = [Weighted { weight: 2.0, data: (&ha).into() }, Weighted { weight: 0.5, data: (&hb).into() }];
    on_host([3], &Methods { start, parts, out: (&hout).into() });
    let parts = [Weighted { weight: 2.0, data: (&da).into() }, Weighted { weight: 0.5, data: (&db).into() }];
    rig.queue
        .submit(|h| {
            h.parallel_for(3, &Methods { start, parts, out: (&dout).into() });
        })
        .expect("submits");
    assert_eq!(dout.download().expect("downloads"), hout.to_vec());
    rig.assert_no_validation_messages();
}

#[test]
fn loops_with_labels_values_and_steps() {
    let rig = rig!();
    for step in [0, 1, 2, 4, 300, u32::MAX] {
        let (host, device) = (HostBuffer::new(vec![0_u32; 60]), buffer(&rig, &[0_u32; 60]));
        on_host([20], &Loops { step, out: (&host).into() });
        rig.queue
            .submit(|h| {
                h.parallel_for(20, &Loops { step, out: (&device).into() });
            })
            .expect("submits");
        assert_eq!(device.download().expect("downloads"), host.to_vec());
    }
    rig.assert_no_validation_messages();
}

#[test]
fn groups_meet_at_barriers() {
    let rig = rig!();
    let input: Vec<u32> = (0..48).collect();
    let (hin, hout) = (HostBuffer::new(input.clone()), HostBuffer::new(vec![0; 4]));
    let (din, dout) = (buffer(&rig, &input), buffer(&rig, &[0; 4]));
    let partial = Shared::new;
    for factor in [2, 3] {
        let factor = Spec::new(factor);
        let host = Reduce { input: (&hin).into(), out: (&hout).into(), partial: partial(), factor };
        on_host_groups([3], [16], &host);
        let device = Reduce { input: (&din).into(), out: (&dout).into(), partial: partial(), factor };
        rig.queue
            .submit(|h| {
                h.parallel_for(GroupRange::new([3], [16]), &device);
            })
            .expect("submits");
        let (device, host) = (dout.download().expect("downloads"), hout.to_vec());
        assert_eq!(device[..3], host[..3]);
    }
    rig.assert_no_validation_messages();
}

#[test]
fn a_closure_with_vectors_and_structs() {
    let rig = rig!();
    let particles = [Particle { mass: 2.0, ..Particle::default() }; 3];
    let (hp, hseen) = (HostBuffer::new(particles.to_vec()), HostBuffer::new(vec![Vec4::splat(0.0); 3]));
    let (dp, dseen) = (buffer(&rig, &particles), buffer(&rig, &[Vec4::splat(0.0); 3]));
    let step = Vec3::new(1.0, 2.0, 3.0);
    let make = |p: ReadWrite<Particle>, seen: Write<Vec4>| {
        kernel_fn!([p: ReadWrite<Particle>, step: Vec3, seen: Write<Vec4>] |item: Item<2>| {
            let i = item.index();
            let mut one = p.get(i);
            one.at = one.at + step * Vec3::splat(one.mass);
            one.at.x += 0.5;
            one.spin[i] = one.at.y;
            p.set(i, Particle { spin: one.spin, mass: -one.mass, at: one.at });
            seen.set(i, Vec4::new(item.id(0) as f32, item.id(1) as f32, item.range(0) as f32, 0.0));
        })
    };
    on_host([2, 2], &make((&hp).into(), (&hseen).into()));
    let kernel = make((&dp).into(), (&dseen).into());
    rig.queue
        .submit(|h| {
            h.parallel_for([2, 2], &kernel);
        })
        .expect("submits");
    assert_eq!(dp.download().expect("downloads"), hp.to_vec());
    assert_eq!(dseen.download().expect("downloads"), hseen.to_vec());
    rig.assert_no_validation_messages();
}

#[derive(Captures)]
pub struct Table {
    table: [f32; 200],
    x: Read<u32>,
    y: Write<f32>,
}

#[kernel]
impl Table {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.y.set(i, self.table[self.x.get(i)]);
    }
}

/// What is over the device's push-constant limit goes to a uniform buffer.
#[test]
fn more_than_push_constants_hold() {
    let rig = rig!();
    let table = std::array::from_fn(|k| k as f32 * 0.5);
    let x: Vec<u32> = (0..300).map(|k| k * 7 % 260).collect();
    let (hx, hy) = (HostBuffer::new(x.clone()), HostBuffer::new(vec![0.0; 300]));
    let (dx, dy) = (buffer(&rig, &x), buffer(&rig, &[0.0_f32; 300]));
    on_host([300], &Table { table, x: (&hx).into(), y: (&hy).into() });
    rig.queue
        .submit(|h| {
            h.parallel_for(300, &Table { table, x: (&dx).into(), y: (&dy).into() });
        })
        .expect("submits");
    assert_eq!(dy.download().expect("downloads"), hy.to_vec());
    rig.assert_no_validation_messages();
}

/// A kernel of two and three dimensions, in ranges that no work-group divides.
#[test]
fn ranges_of_three_dimensions() {
    let rig = rig!();
    let [w, h, d] = [5, 7, 3];
    let out = buffer(&rig, &vec![0_u32; 105]);
    let kernel = kernel_fn!([out: Write<u32> = &out] |item: Item<3>| {
        out.set(item.index(), item.id(0) + 10 * item.id(1) + 100 * item.id(2) + 1000 * item.count());
    });
    rig.queue
        .submit(|s| {
            s.parallel_for([w, h, d], &kernel);
        })
        .expect("submits");
    let expected: Vec<u32> = (0..105).map(|i| i % 5 + 10 * (i / 5 % 7) + 100 * (i / 35) + 105_000).collect();
    assert_eq!(out.download().expect("downloads"), expected);
    rig.assert_no_validation_messages();
}
