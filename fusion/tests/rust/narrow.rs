//! Integers of 8 and 16 bits: in memory as narrow as they are, computed with in 32 bits, with the meaning of their type.

use std::collections::{HashMap, HashSet};

use vkfuse::rust::{
    Captures, GroupItem, GroupRange, HostBuffer, LowerOptions, Lowered, Read, ReadWrite, Shared, Spec, Value,
    Write, device, host::on_host_groups, kernel,
};

macro_rules! operations {
    ($($name:ident $ty:ident)+) => {$(
        /// Where what wrapped around shows: in comparisons, divisions, shifts to the right, conversions.
        #[device]
        fn $name(a: $ty, b: $ty) -> [i32; 8] {
            let difference = a - (b + a);
            [
                difference.max(b) as i32,
                (a * b / 3) as i32,
                ((a << 1) >> 1) as i32,
                (!a).min(b) as i32,
                ((a + b) as f32) as i32,
                (a % difference) as i32,
                (((a + b) as i64) >> 3) as i32,
                ((difference as u8) as i16 as u16 as i8) as i32 + ((a < difference) as i32) * 1000,
            ]
        }
    )+};
}

operations! { of_i8 i8 of_u8 u8 of_i16 i16 of_u16 u16 }

#[device]
fn of_sign(a: i8, b: i16) -> [i32; 8] {
    let least = a.abs();
    let negative = -b;
    [
        least.max(3) as i32,
        negative.max(3) as i32,
        a.signum() as i32,
        (b.abs() / 5) as i32,
        (-a.abs()) as i32,
        (b as i8).max(a) as i32,
        (1000.5_f32 as i8 - a) as i32,
        (-40000.0_f32 as i16 + b) as i32,
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable, Value)]
#[repr(C)]
pub struct Mixed {
    a: i8,
    b: u8,
    c: i16,
    d: [u16; 2],
    e: [i8; 4],
}

#[derive(Captures)]
pub struct Narrow {
    small: i8,
    bytes: [i8; 3],
    short: i16,
    half: u16,
    mixed: Mixed,
    a: Read<i8>,
    b: Read<u8>,
    c: Read<i16>,
    d: Read<u16>,
    changed: ReadWrite<Mixed>,
    out: Write<[i32; 8]>,
    shared: Shared<i8, 16>,
    least: Spec<i8>,
    most: Spec<u16>,
}

#[kernel]
impl Narrow {
    fn run(&self, item: GroupItem<1>) {
        let row = item.group(0);
        let column = item.local(0);
        let i = item.global(0);
        let a = self.a.get(row);
        let c = self.c.get(row);
        self.out.set(i * 6, of_i8(a, self.a.get(column)));
        self.out.set(i * 6 + 1, of_u8(self.b.get(row), self.b.get(column)));
        self.out.set(i * 6 + 2, of_i16(c, self.c.get(column)));
        self.out.set(i * 6 + 3, of_u16(self.d.get(row), self.d.get(column)));
        self.out.set(i * 6 + 4, of_sign(a, c));
        self.shared.set(column, a + self.a.get(column));
        item.barrier();
        let mut kept = self.mixed;
        kept.e[column] -= self.shared.get((column + 1) % 16);
        let sum = (self.small + self.bytes[1]) as i32 + self.bytes[2] as i32 + (self.short - 1) as i32;
        self.out.set(
            i * 6 + 5,
            [
                sum,
                (self.half + 1) as i32,
                kept.e[column % 4] as i32,
                (kept.a - 1) as i32,
                (kept.d[1] + kept.b as u16) as i32,
                (self.least.get() - 1) as i32,
                (self.most.get() + 2) as i32,
                self.shared.get(column) as i32,
            ],
        );
        let mut changed = self.changed.get(i);
        changed.a -= 1;
        changed.c *= 3;
        changed.d[column] += 9;
        changed.e[1] = -changed.e[column % 4];
        self.changed.set(i, changed);
    }
}

const MIXED: Mixed = Mixed { a: -128, b: 255, c: -32768, d: [65535, 7], e: [-128, 127, -1, 100] };

fn narrow<const N: usize>(all: [i32; N]) -> (Vec<i8>, Vec<u8>, Vec<i16>, Vec<u16>) {
    (
        all.map(|x| x as i8).to_vec(),
        all.map(|x| x as u8).to_vec(),
        all.map(|x| x as i16).to_vec(),
        all.map(|x| x as u16).to_vec(),
    )
}

#[test]
fn what_wraps_is_what_is_compared() {
    let rig = rig!();
    let all = [0, 1, -1, 2, 3, 5, -7, 100, 127, -128, 255, 128, 32767, -32768, 200, -3];
    let (a, b, c, d) = narrow(all);
    let host = (
        HostBuffer::new(a.clone()),
        HostBuffer::new(b.clone()),
        HostBuffer::new(c.clone()),
        HostBuffer::new(d.clone()),
        HostBuffer::new(vec![MIXED; 256]),
        HostBuffer::new(vec![[0; 8]; 6 * 256]),
    );
    let make = |b: &[u8]| rig.context.buffer_from(b).expect("a buffer");
    let device = (
        rig.context.buffer_from(&a).expect("a buffer"),
        make(&b),
        rig.context.buffer_from(&c).expect("a buffer"),
        rig.context.buffer_from(&d).expect("a buffer"),
        rig.context.buffer_from(&[MIXED; 256]).expect("a buffer"),
        rig.context.buffer_from(&[[0_i32; 8]; 6 * 256]).expect("a buffer"),
    );
    macro_rules! on {
        ($at:expr) => {
            Narrow {
                small: -128,
                bytes: [1, -100, -2],
                short: -32768,
                half: 65535,
                mixed: MIXED,
                a: (&$at.0).into(),
                b: (&$at.1).into(),
                c: (&$at.2).into(),
                d: (&$at.3).into(),
                changed: (&$at.4).into(),
                out: (&$at.5).into(),
                shared: Shared::new(),
                least: Spec::new(-128),
                most: Spec::new(65535),
            }
        };
    }
    on_host_groups([16], [16], &on!(host));
    rig.queue
        .submit(|h| {
            h.parallel_for(GroupRange::new([16], [16]), &on!(device));
        })
        .expect("submits");
    assert_eq!(device.5.download().expect("downloads"), host.5.to_vec());
    assert_eq!(device.4.download().expect("downloads"), host.4.to_vec());
    // The least number less than itself and one: not what 32 bits make of it.
    assert_eq!(host.5.to_vec()[5][3], 127);
    rig.assert_no_validation_messages();
}

/// Narrow numbers are loaded, converted and stored, and nothing else is done to them.
#[test]
fn no_narrow_arithmetic_reaches_the_driver() {
    const CAPABILITY: u32 = 17;
    const INT8_AND_INT16: [u32; 2] = [39, 22];
    const TYPE_INT: u32 = 21;
    const ARITHMETIC: std::ops::RangeInclusive<u32> = 126..=205;
    let words = Lowered::of::<Narrow>(LowerOptions::default()).expect("lowers").words;
    let (mut types, mut narrow, mut operations) = (HashSet::new(), HashSet::new(), HashMap::new());
    let mut at = 5;
    while at < words.len() {
        let (op, len) = (words[at] & 0xffff, (words[at] >> 16) as usize);
        let inst = &words[at..at + len];
        at += len;
        match op {
            CAPABILITY => assert!(!INT8_AND_INT16.contains(&inst[1]), "capability {}", inst[1]),
            TYPE_INT if inst[2] < 32 => {
                types.insert(inst[1]);
            }
            op if ARITHMETIC.contains(&op) => {
                *operations.entry(op).or_insert(0) += 1;
                assert!(!types.contains(&inst[1]), "opcode {op} gives a narrow number");
                assert!(!inst[3..].iter().any(|id| narrow.contains(id)), "opcode {op} takes a narrow number");
            }
            _ if len > 2 && types.contains(&inst[1]) => {
                narrow.insert(inst[2]);
            }
            _ => {}
        }
    }
    assert!(types.len() == 4 && narrow.len() > 4 && operations.len() > 10);
}
