//! The forms that people bring along give on a device what they give on the host.

use vkfuse::{
    Buffer,
    rust::{
        Grid, GroupRange, HostBuffer, Item, ItemKind, KernelObject, Ranged, ReadWrite, Shared, Value,
        host::{on_host, on_host_groups, task_on_host},
    },
};

use crate::{
    chains::{Chains, TalliesI32, TalliesU32},
    constants::{Constants, Fixed},
    forms::{Alone, Elements, Grids, Mode, Patterns, Places, Random, Row, Traits},
    odd::{self, COUNT, NAMES, Odd, PLAIN},
    support::Rig,
};

/// The same memory on the host and on the device.
struct Both<T> {
    host: HostBuffer<T>,
    device: Buffer<T>,
}

impl<T: Value + bytemuck::Pod + PartialEq + std::fmt::Debug> Both<T> {
    fn new(rig: &Rig, data: Vec<T>) -> Both<T> {
        Both { device: rig.context.buffer_from(&data).expect("a buffer"), host: HostBuffer::new(data) }
    }

    fn assert_same(&self) {
        assert_eq!(self.device.download().expect("downloads"), self.host.to_vec());
    }
}

fn run<K: KernelObject<Item = Item<1>>>(rig: &Rig, range: u32, host: &K, device: &K)
where
    Item<1>: ItemKind,
{
    on_host([range], host);
    let submitted = rig.queue.submit(|h| {
        h.parallel_for(range, device);
    });
    submitted.expect("submits");
    rig.assert_no_validation_messages();
}

#[test]
fn traits_and_operators() {
    let rig = rig!();
    let (words, part) = (Both::new(&rig, (0..12).collect()), Both::new(&rig, (100..112).collect()));
    let out = Both::new(&rig, vec![0_u32; 8]);
    let host =
        Traits { words: (&words.host).into(), part: Ranged::new(&part.host, 2..9), out: (&out.host).into() };
    let device = Traits {
        words: (&words.device).into(),
        part: Ranged::new(&part.device, 2..9),
        out: (&out.device).into(),
    };
    run(&rig, 10, &host, &device);
    out.assert_same();
}

#[test]
fn patterns() {
    let rig = rig!();
    for mode in [Mode::Off, Mode::Slow, Mode::Fast] {
        let out = Both::new(&rig, vec![0_u32; 100]);
        let host = Patterns { mode, out: (&out.host).into() };
        run(&rig, 100, &host, &Patterns { mode, out: (&out.device).into() });
        out.assert_same();
    }
}

#[test]
fn chains_of_conditions() {
    let rig = rig!();
    for by in [[2, 3, 5], [7, 2, 4]] {
        let out = Both::new(&rig, vec![0_u32; 200]);
        let host = Chains { by, out: (&out.host).into() };
        run(&rig, 200, &host, &Chains { by, out: (&out.device).into() });
        out.assert_same();
    }
}

#[test]
fn odd_functions() {
    let rig = rig!();
    let (x, y, z) = odd::inputs();
    let n = x.len();
    let (x, y, z) = (Both::new(&rig, x), Both::new(&rig, y), Both::new(&rig, z));
    let out = Both::new(&rig, vec![0_u32; n * COUNT]);
    let host = Odd { x: (&x.host).into(), y: (&y.host).into(), z: (&z.host).into(), out: (&out.host).into() };
    let device = Odd {
        x: (&x.device).into(),
        y: (&y.device).into(),
        z: (&z.device).into(),
        out: (&out.device).into(),
    };
    run(&rig, n as u32, &host, &device);
    let (found, expected) = (out.device.download().expect("downloads"), out.host.to_vec());
    for (k, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        let (i, of) = (k / COUNT, k % COUNT);
        let (x, y, z) = (x.host.to_vec()[i], y.host.to_vec()[i], z.host.to_vec()[i]);
        assert_eq!([found, PLAIN[of](x, y, z)], [expected; 2], "{} of {x}, {y} and {z}", NAMES[of]);
    }
}

#[test]
fn functions_of_constants() {
    let rig = rig!();
    let x = [0, 1, 2, 9, 77, 100, u32::MAX, 1 << 31, 12345];
    let x = Both::new(&rig, x.iter().cycle().take(90).copied().collect::<Vec<u32>>());
    let (out, fixed) = (Both::new(&rig, vec![0_u32; 90]), Both::new(&rig, vec![Fixed::default(); 90]));
    let host = Constants { x: (&x.host).into(), out: (&out.host).into(), fixed: (&fixed.host).into() };
    let device =
        Constants { x: (&x.device).into(), out: (&out.device).into(), fixed: (&fixed.device).into() };
    run(&rig, 90, &host, &device);
    out.assert_same();
    fixed.assert_same();
}

/// Atomics of a range, and of work-group memory. What they leave behind does not depend on the order of the items.
#[test]
fn atomics_of_ranges_and_work_groups() {
    let rig = rig!();
    macro_rules! on {
        ($name:ident, $first:expr) => {{
            let (part, out) = (Both::new(&rig, vec![$first; 12]), Both::new(&rig, vec![0_u32; 48]));
            let (host, device) = (Ranged::new(&part.host, 3..11), Ranged::new(&part.device, 3..11));
            let host = $name { part: host, out: (&out.host).into(), taken: Shared::new() };
            let device = $name { part: device, out: (&out.device).into(), taken: Shared::new() };
            on_host_groups([3], [16], &host);
            let submitted = rig.queue.submit(|h| {
                h.parallel_for(GroupRange::new([3], [16]), &device);
            });
            submitted.expect("submits");
            assert_eq!(out.host.to_vec(), [1; 48]);
            out.assert_same();
            part.assert_same();
        }};
    }
    on!(TalliesU32, 60_u32);
    on!(TalliesI32, -60_i32);
    rig.assert_no_validation_messages();
}

#[test]
fn references_and_closures() {
    let rig = rig!();
    let (out, seed) = (Both::new(&rig, vec![0_u32; 20]), Random { state: 77, count: 0 });
    let host = Places { seed, out: (&out.host).into() };
    run(&rig, 20, &host, &Places { seed, out: (&out.device).into() });
    out.assert_same();
}

#[test]
fn elements() {
    let rig = rig!();
    for limit in [1, 2000] {
        let data = [vec![1_u32, 2, 3, 4, 5], vec![0, 17, 9, 17], vec![1, 1, limit]];
        let data = data.map(|data| Both::new(&rig, data));
        let (part, many) = (Both::new(&rig, vec![1_u32; 8]), Both::new(&rig, vec![[9_u32; 3]; 4]));
        let states = Both::new(&rig, vec![Random { state: 1000, count: 0 }; 6]);
        let out = Both::new(&rig, vec![0_u32; 6]);
        let factors = [1, 2, 3];
        let host = Elements {
            rows: std::array::from_fn(|k| Row { factor: factors[k], data: (&data[k].host).into() }),
            part: Ranged::new(&part.host, 1..6),
            many: (&many.host).into(),
            states: (&states.host).into(),
            out: (&out.host).into(),
        };
        let device = Elements {
            rows: std::array::from_fn(|k| Row { factor: factors[k], data: (&data[k].device).into() }),
            part: Ranged::new(&part.device, 1..6),
            many: (&many.device).into(),
            states: (&states.device).into(),
            out: (&out.device).into(),
        };
        run(&rig, 7, &host, &device);
        out.assert_same();
        part.assert_same();
        many.assert_same();
        states.assert_same();
    }
    let out = Both::new(&rig, vec![2_u32]);
    task_on_host(&Alone { out: (&out.host).into(), kept: Shared::new() });
    let kernel = Alone { out: ReadWrite::from(&out.device), kept: Shared::new() };
    let submitted = rig.queue.submit(|h| {
        h.single_task(&kernel);
    });
    submitted.expect("submits");
    out.assert_same();
    rig.assert_no_validation_messages();
}

#[test]
fn grids() {
    let rig = rig!();
    let image = Both::new(&rig, (0..64).collect::<Vec<u32>>());
    let sums = Both::new(&rig, vec![0_u32; 15]);
    let volume = Both::new(&rig, (0..24).map(|state| Random { state, count: 0 }).collect());
    let turned = Both::new(&rig, vec![99_u32; 24]);
    let host = Grids {
        image: Grid::new(&image.host, [3, 4]).pitch(10).at(20),
        sums: Grid::new(&sums.host, [3, 4]).at(2),
        volume: Grid::new(&volume.host, [2, 3, 4]),
        turned: Grid::new(&turned.host, [4, 2, 3]),
    };
    let device = |pitch| Grids {
        image: Grid::new(&image.device, [3, 4]).pitch(pitch).at(20),
        sums: Grid::new(&sums.device, [3, 4]).at(2),
        volume: Grid::new(&volume.device, [2, 3, 4]),
        turned: Grid::new(&turned.device, [4, 2, 3]),
    };
    on_host([6, 4], &host);
    let submit = |kernel: Grids| {
        let submitted = rig.queue.submit(|h| {
            h.parallel_for([6, 4], &kernel);
        });
        submitted.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(submit(device(10)), Ok(()));
    sums.assert_same();
    turned.assert_same();
    // Rows further apart than there is room.
    let refused = submit(device(30)).expect_err("an error");
    assert!(refused.contains("`image`: elements 20..84 are outside of the accessor's 64"), "{refused}");
    let found = rig.queue.check_for([6, 4], &device(10)).expect("runs");
    // Which are reported is the device's choice.
    let ours = |name: &str| ["image", "sums", "volume", "turned"].contains(&name);
    let named = found.first.iter().all(|access| access.capture.as_deref().is_some_and(ours));
    assert!(found.count > 0 && !found.first.is_empty() && named, "{found:?}");
    rig.assert_no_validation_messages();
}
