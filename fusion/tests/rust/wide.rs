//! Integers of 64 bits, and absolute values: at the corners of their types, and without what drivers get wrong.

use std::collections::HashSet;

use vkfuse::rust::{
    Captures, HostBuffer, Item, LowerOptions, Lowered, Read, Write, device, host::on_host, kernel,
};

/// Quotients, remainders and products, and their lowest bits, which a driver may think to know.
#[device]
fn unsigned(a: u64, b: u64) -> [u64; 8] {
    let quotient = a / b;
    let remainder = a % b;
    [
        quotient,
        remainder,
        (1 & remainder) * b,
        (1 & quotient) * (a ^ b),
        b % (b % 7),
        6_836_993_793_617_351_453 % b,
        a * b,
        a / 10 + a % 0,
    ]
}

#[device]
fn signed(a: i64, b: i64) -> [u64; 8] {
    let quotient = a / b;
    let remainder = a % b;
    [
        quotient as u64,
        remainder as u64,
        ((1 & remainder) * b) as u64,
        ((1 & quotient) * (a ^ b)) as u64,
        (a % (a % a).signum()) as u64,
        (-6_836_993_793_617_351_453 % b) as u64,
        (a * b) as u64,
        (a / -1 + a % -10) as u64,
    ]
}

/// Absolute values, as they are and as floats with the other sign.
#[device]
fn sizes(a: i64) -> [u64; 8] {
    let float = (-(a as i32).abs()) as f32;
    let wide = (-a.abs()) as f64;
    [
        a.abs() as u64,
        (a as i32).abs() as u64,
        (a as i16).abs() as u64,
        (a as i8).abs() as u64,
        float.abs().to_bits() as u64,
        (float.abs() + 0.125).to_bits() as u64,
        wide.abs().to_bits(),
        ((a as i32) - 7).abs() as u32 as u64,
    ]
}

#[derive(Captures)]
struct Wide {
    all: Read<u64>,
    count: u32,
    out: Write<[u64; 8]>,
}

#[kernel]
impl Wide {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        let a = self.all.get(i / self.count);
        let b = self.all.get(i % self.count);
        self.out.set(i * 3, unsigned(a, b));
        self.out.set(i * 3 + 1, signed(a as i64, b as i64));
        self.out.set(i * 3 + 2, sizes(a as i64));
    }
}

/// Zero, both sides of all powers of two, of both signs, and numbers without a pattern of several sizes.
fn corners() -> Vec<u64> {
    let mut all: HashSet<u64> = HashSet::from([0, 3, 5, 7, 10, 100, 0x1_0000_ffff, 0xffff_0001_0000_0000]);
    for exponent in [0, 1, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 62, 63] {
        let power = 1_u64 << exponent;
        all.extend([power, power - 1, power + 1, power.wrapping_neg(), !power]);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for k in 0..32 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.insert(state >> (k * 2));
    }
    let mut all: Vec<u64> = all.into_iter().collect();
    all.sort_unstable();
    all
}

#[test]
fn long_integers_are_those_of_the_host() {
    let rig = rig!();
    let all = corners();
    let count = all.len() as u32;
    let host = (HostBuffer::new(all.clone()), HostBuffer::new(vec![[0; 8]; all.len() * all.len() * 3]));
    on_host([count * count], &Wide { all: (&host.0).into(), count, out: (&host.1).into() });
    let device = (
        rig.context.buffer_from(&all).expect("a buffer"),
        rig.context.buffer::<[u64; 8]>(all.len() * all.len() * 3).expect("a buffer"),
    );
    rig.queue
        .submit(|h| {
            let kernel = Wide { all: (&device.0).into(), count, out: (&device.1).into() };
            h.parallel_for(count * count, &kernel);
        })
        .expect("submits");
    let (host, device) = (host.1.to_vec(), device.1.download().expect("downloads"));
    for (k, (host, device)) in host.iter().zip(&device).enumerate() {
        let (a, b) = (all[k / 3 / all.len()], all[k / 3 % all.len()]);
        assert_eq!(device, host, "part {} of {a:#x} and {b:#x}", k % 3);
        // What the host is to be, by the language itself.
        match k % 3 {
            0 => assert_eq!(host[..2], [a / b.max(1), a.checked_rem(b).unwrap_or(0)]),
            1 if b != 0 => assert_eq!(host[1], (a as i64).wrapping_rem(b as i64) as u64),
            2 => assert_eq!(host[1], (a as i32).wrapping_abs() as u64),
            _ => {}
        }
    }
    rig.assert_no_validation_messages();
}

/// The divisions of 64 bits in a module whose divisor is no constant, and of any other divisions.
fn divisions(words: &[u32]) -> (usize, usize) {
    let (mut long, mut constants, mut found) = (HashSet::new(), HashSet::new(), (0, 0));
    let mut at = 5;
    while at < words.len() {
        let (inst, op) = (&words[at..at + (words[at] >> 16) as usize], words[at] & 0xffff);
        match op {
            // OpTypeInt, OpConstant, OpUDiv to OpSMod.
            21 if inst[2] == 64 => _ = long.insert(inst[1]),
            43 => _ = constants.insert(inst[2]),
            134 | 135 | 137..=139 if long.contains(&inst[1]) && !constants.contains(&inst[4]) => found.0 += 1,
            134 | 135 | 137..=139 => found.1 += 1,
            _ => {}
        }
        at += inst.len();
    }
    found
}

#[test]
fn no_driver_divides_long_integers() {
    let lowered = Lowered::of::<Wide>(LowerOptions::default()).expect("lowers");
    let (long, other) = divisions(&lowered.words);
    assert_eq!(long, 0);
    // Eleven of them make three of 32 bits each; three are by constants, and two are the kernel's own.
    assert_eq!(other, 11 * 3 + 3 + 2);
}
