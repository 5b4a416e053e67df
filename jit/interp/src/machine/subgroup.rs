//! Sub-group instructions, executed for all participants at once.

use super::Machine;
use crate::arith::{self, Binary, Num};
use crate::program::{GroupInst, GroupOp, Scan};

impl Machine<'_> {
    /// Executes one instruction for these invocations, ascending, of one sub-group.
    pub(super) fn subgroup(&mut self, inst: GroupInst, active: &[u32]) {
        let GroupInst { op, num, dst, a, b, n } = inst;
        let size = self.options.subgroup_size;
        let lane_of = |local: u32| local % size;
        let participant = |lane: u64| active.iter().position(|local| u64::from(lane_of(*local)) == lane);
        // What a participant is given depends only on values from before the instruction.
        let inputs: Vec<u64> = active.iter().flat_map(|local| self.lanes_of(*local, a, n).to_vec()).collect();
        let input = |index: usize| &inputs[index * n as usize..(index + 1) * n as usize];
        let operands: Vec<u64> = active.iter().map(|local| self.lanes_of(*local, b, 1)[0]).collect();
        let ballot = |chosen: &dyn Fn(usize) -> bool| {
            let mut words = [0u64; 4];
            for (index, local) in active.iter().enumerate().filter(|(index, _)| chosen(*index)) {
                let _ = index;
                words[(lane_of(*local) / 32) as usize] |= 1 << (lane_of(*local) % 32);
            }
            words.to_vec()
        };
        for (index, &local) in active.iter().enumerate() {
            let lane = u64::from(lane_of(local));
            let operand = operands[index];
            // A source that takes no part gives an undefined value; here the invocation's own.
            let from = |source: u64| input(participant(source).unwrap_or(index)).to_vec();
            let result: Vec<u64> = match op {
                GroupOp::Elect => vec![u64::from(index == 0)],
                GroupOp::All => vec![u64::from((0..active.len()).all(|other| input(other)[0] != 0))],
                GroupOp::Any => vec![u64::from((0..active.len()).any(|other| input(other)[0] != 0))],
                GroupOp::AllEqual => vec![u64::from(all_equal(num, active.len(), &input))],
                GroupOp::Broadcast | GroupOp::Shuffle => from(operand),
                GroupOp::BroadcastFirst => input(0).to_vec(),
                GroupOp::Ballot => ballot(&|other| input(other)[0] != 0),
                GroupOp::InverseBallot => vec![bit(input(index), lane)],
                GroupOp::BallotBitExtract => vec![bit(input(index), operand)],
                GroupOp::BallotBitCount(scan) => {
                    let end = match scan {
                        Scan::Inclusive => lane + 1,
                        Scan::Exclusive => lane,
                        Scan::Reduce | Scan::Clustered(_) => u64::from(size),
                    };
                    vec![(0..end).map(|lane| bit(input(index), lane)).sum()]
                }
                GroupOp::BallotFindLsb => {
                    vec![(0..u64::from(size)).find(|lane| bit(input(index), *lane) != 0).unwrap_or(0)]
                }
                GroupOp::BallotFindMsb => {
                    vec![(0..u64::from(size)).rev().find(|lane| bit(input(index), *lane) != 0).unwrap_or(0)]
                }
                GroupOp::ShuffleXor => from(lane ^ operand),
                GroupOp::ShuffleUp => from(lane.wrapping_sub(operand)),
                GroupOp::ShuffleDown => from(lane.wrapping_add(operand)),
                GroupOp::QuadBroadcast => from(lane & !3 | operand & 3),
                GroupOp::QuadSwap => from(lane ^ ((operand & 3) + 1)),
                GroupOp::Arithmetic(op, scan) => {
                    let takes = |other: u32| match scan {
                        Scan::Reduce => true,
                        Scan::Inclusive => other <= local,
                        Scan::Exclusive => other < local,
                        Scan::Clustered(cluster) => lane_of(other) / cluster == lane_of(local) / cluster,
                    };
                    let mut sum: Option<Vec<u64>> = None;
                    for (other, _) in active.iter().enumerate().filter(|(_, other)| takes(**other)) {
                        sum = Some(match sum {
                            None => input(other).to_vec(),
                            Some(sum) => sum
                                .iter()
                                .zip(input(other))
                                .map(|(a, b)| arith::binary(op, num, *a, *b))
                                .collect(),
                        });
                    }
                    sum.unwrap_or_else(|| vec![identity(op, num); n as usize])
                }
            };
            let first = local as usize * self.stride + dst as usize;
            self.registers[first..first + result.len()].copy_from_slice(&result);
        }
    }

    fn lanes_of(&self, local: u32, first: u32, n: u32) -> &[u64] {
        let first = local as usize * self.stride + first as usize;
        &self.registers[first..first + n as usize]
    }
}

fn all_equal<'i>(num: Num, count: usize, input: &dyn Fn(usize) -> &'i [u64]) -> bool {
    let equal = match num {
        Num::F16 | Num::F32 | Num::F64 => Binary::FOrdEqual,
        _ => Binary::Equal,
    };
    (1..count)
        .all(|other| input(0).iter().zip(input(other)).all(|(a, b)| arith::binary(equal, num, *a, *b) == 1))
}

/// A bit of a ballot.
fn bit(ballot: &[u64], lane: u64) -> u64 {
    ballot.get((lane / 32) as usize).map_or(0, |word| word >> (lane % 32) & 1)
}

/// What an exclusive scan starts from.
fn identity(op: Binary, num: Num) -> u64 {
    let all = num.mask();
    let high = 1 << (num.bits() - 1);
    let float = |value: f64| arith::convert(Num::F64, num, value.to_bits());
    match op {
        Binary::Mul => 1,
        Binary::FMul => float(1.0),
        Binary::FMin => float(f64::INFINITY),
        Binary::FMax => float(f64::NEG_INFINITY),
        Binary::UMin | Binary::And => all,
        Binary::SMin => all & !high,
        Binary::SMax => high,
        _ => 0,
    }
}
