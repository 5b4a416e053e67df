//! Executes the instructions that only read and write registers.

use super::arith::{self, Binary, Num, mask, sign_extend};
use super::program::{Inst, POISON, Program};

/// Executes one instruction on the registers of one invocation; others than pure ones do nothing.
#[inline]
pub(super) fn compute(inst: &Inst, program: &Program, r: &mut [u64]) {
    match *inst {
        Inst::Binary { op, num, splat, dst, a, b, n } => {
            for i in 0..n {
                let right = r[(if splat { b } else { b + i }) as usize];
                let left = r[(a + i) as usize];
                let result = arith::binary(op, num, left, right);
                r[(dst + i) as usize] = match program.other_open {
                    false => result,
                    true => arith::other_binary(op, num, left, right, result),
                };
            }
        }
        Inst::Chain { dst, base, offset, first, count } => {
            let (mut meta, mut at) = (r[base as usize], r[base as usize + 1]);
            step(&mut meta, &mut at, i64::from(offset));
            for term in &program.terms[first as usize..(first + count) as usize] {
                let index = sign_extend(r[term.register as usize], term.bits);
                if term.len != u64::MAX && index as u64 >= term.len {
                    meta |= POISON;
                }
                match index.checked_mul(i64::from(term.stride)) {
                    Some(bytes) => step(&mut meta, &mut at, bytes),
                    None => meta |= POISON,
                }
            }
            r[dst as usize] = meta;
            r[dst as usize + 1] = at;
        }
        Inst::Move { dst, src, n } => r.copy_within(src as usize..(src + n) as usize, dst as usize),
        Inst::Gather { dst, first, n } => {
            for i in 0..n {
                r[(dst + i) as usize] = r[program.gathers[(first + i) as usize] as usize];
            }
        }
        Inst::Unary { op, num, dst, a, n } => {
            for i in 0..n {
                let operand = r[(a + i) as usize];
                let result = arith::unary(op, num, operand);
                r[(dst + i) as usize] = match program.other_open {
                    false => result,
                    true => arith::other_unary(op, num, operand, result),
                };
            }
        }
        Inst::Ternary { op, num, dst, a, b, c, n } => {
            for i in 0..n {
                let [a, b, c] = [a, b, c].map(|first| r[(first + i) as usize]);
                let result = arith::ternary(op, num, a, b, c);
                r[(dst + i) as usize] = match program.other_open {
                    false => result,
                    true => arith::other_ternary(num, result),
                };
            }
        }
        Inst::Convert { from, to, dst, a, n } => {
            for i in 0..n {
                let result = arith::convert(from, to, r[(a + i) as usize]);
                r[(dst + i) as usize] = match program.other_open {
                    false => result,
                    true => arith::other_converted(to, result),
                };
            }
        }
        Inst::Wide { op, num, dst, a, b, n } => {
            for i in 0..n {
                let (low, high) = arith::wide(op, num.bits(), r[(a + i) as usize], r[(b + i) as usize]);
                r[(dst + i) as usize] = low;
                r[(dst + n + i) as usize] = high;
            }
        }
        Inst::Regroup { dst, a, from, to, n } => regroup(r, dst, a, u32::from(from), u32::from(to), n),
        Inst::BitFieldInsert { dst, a, insert, offset, count } => {
            let [a, insert, offset, count] = [a, insert, offset, count].map(|register| r[register as usize]);
            r[dst as usize] = arith::bit_field_insert(a, insert, offset, count);
        }
        Inst::Pack { op, dst, a } => {
            let (reads, writes) = op.lanes();
            let mut input = [0; 4];
            let mut output = [0; 4];
            input[..reads as usize].copy_from_slice(&r[a as usize..(a + reads) as usize]);
            arith::pack(op, &input[..reads as usize], &mut output[..writes as usize]);
            r[dst as usize..(dst + writes) as usize].copy_from_slice(&output[..writes as usize]);
        }
        Inst::Dot { num, dst, a, a_step, b, b_step, n } => {
            let mut sum = 0;
            for i in 0..n {
                let left = r[(a + i * u32::from(a_step)) as usize];
                let right = r[(b + i * u32::from(b_step)) as usize];
                let product = arith::binary(Binary::FMul, num, left, right);
                sum = if i == 0 { product } else { arith::binary(Binary::FAdd, num, sum, product) };
            }
            r[dst as usize] = sum;
        }
        Inst::IntDot { how, dst, a, b, add, n } => {
            let lanes = |first: u32| &r[first as usize..first as usize + usize::from(n)];
            let add = if how.saturates { r[add as usize] } else { 0 };
            r[dst as usize] = arith::int_dot(how, lanes(a), lanes(b), add);
        }
        Inst::Select { splat, dst, c, a, b, n } => {
            for i in 0..n {
                let chosen = if r[(if splat { c } else { c + i }) as usize] != 0 { a } else { b };
                r[(dst + i) as usize] = r[(chosen + i) as usize];
            }
        }
        Inst::Any { dst, a, n } => {
            r[dst as usize] = u64::from(r[a as usize..(a + n) as usize].iter().any(|lane| *lane != 0));
        }
        Inst::All { dst, a, n } => {
            r[dst as usize] = u64::from(r[a as usize..(a + n) as usize].iter().all(|lane| *lane != 0));
        }
        // An index outside the vector has an undefined result; here it wraps around.
        Inst::ExtractDynamic { dst, a, index, n } => {
            let lane = r[index as usize] % u64::from(n.max(1));
            r[dst as usize] = r[a as usize + lane as usize];
        }
        Inst::InsertDynamic { dst, a, value, index, n } => {
            let lane = r[index as usize] % u64::from(n.max(1));
            let value = r[value as usize];
            r.copy_within(a as usize..(a + n) as usize, dst as usize);
            r[dst as usize + lane as usize] = value;
        }
        Inst::PointerDifference { dst, a, b, step, bits } => {
            let bytes = r[a as usize + 1].wrapping_sub(r[b as usize + 1]) as i64;
            r[dst as usize] = (bytes / i64::from(step.max(1))) as u64 & mask(bits);
        }
        _ => {}
    }
}

/// Moves a pointer. What would wrap around 64 bits is poisoned instead.
#[inline]
fn step(meta: &mut u64, at: &mut u64, bytes: i64) {
    match (*at as i64).checked_add(bytes) {
        Some(sum) => *at = sum as u64,
        None => *meta |= POISON,
    }
}

/// Little end first, as `OpBitcast` demands.
fn regroup(r: &mut [u64], dst: u32, a: u32, from: u32, to: u32, n: u32) {
    for i in 0..n {
        let mut value = 0;
        if to > from {
            let parts = to / from;
            for part in 0..parts {
                value |= r[(a + i * parts + part) as usize] << (part * from);
            }
        } else {
            let parts = from / to.max(1);
            value = r[(a + i / parts.max(1)) as usize] >> ((i % parts.max(1)) * to);
        }
        r[(dst + i) as usize] = value & Num::Int(to as u8).mask();
    }
}
