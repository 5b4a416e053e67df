//! What invocations of a submission store, as far as that tells the values of two of them apart.
//!
//! # Guarantees
//! - values that [`Value::differs`] tells apart follow from other numbers, or from other places in memory, by operations without side effects
//!
//! # Refuses
//! - to say anything of values that come from loops, branches, sub-groups or variables, and of integers and floats of other than 32 bits

use std::hash::{DefaultHasher, Hash, Hasher};

use ahash::AHashMap;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass};

use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Affine, Atom, AtomId, Atoms};
use crate::analysis::evaluate::AccessForm;
use crate::frontend::defs::Defs;
use crate::kernel::NormalKernel;
use crate::plan::input::submission::Submission;

/// An invocation: its work-group, from the base on, and its local id.
pub(super) type Invocation = [[u32; 3]; 2];

/// Operations that a value is followed through, one in another.
const DEPTH: u32 = 128;

/// What an invocation has for an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// An integer of 32 bits, or a boolean.
    Number(u32),
    /// A float of 32 bits.
    Float(u32),
    /// The same in all invocations.
    Same(u64),
    /// Made of what memory has at certain places: of the same places in the same way where the numbers are equal.
    Data(u64),
    Unknown,
}

impl Value {
    /// Whether two invocations may well have different values; where nothing is known, not.
    pub(super) fn differs(self, other: Value) -> bool {
        use Value::{Data, Float, Number, Unknown};
        match (self, other) {
            (Number(a), Number(b)) | (Float(a), Float(b)) => a != b,
            (Data(a), Data(b)) => a != b,
            (Data(_), other) | (other, Data(_)) => other != Unknown,
            _ => false,
        }
    }
}

/// The values of one submission's invocations.
pub(super) struct Stored<'a> {
    one: &'a Submission,
    atoms: &'a Atoms,
    normal: &'a NormalKernel,
    defs: Defs<'a>,
    /// Where each load goes, by its result.
    loads: AHashMap<u32, (&'a Access, &'a AccessForm)>,
}

impl<'a> Stored<'a> {
    /// `forms` are those of the accesses of `normal`.
    pub(super) fn new(
        one: &'a Submission,
        normal: &'a NormalKernel,
        atoms: &'a Atoms,
        forms: &'a [AccessForm],
    ) -> Self {
        let reads = normal.analysis.accesses.iter().zip(forms);
        let reads = reads.filter(|(access, form)| {
            access.kind == AccessKind::Read && access.texel.is_none() && !form.unknown
        });
        let loads =
            reads.filter_map(|(access, form)| Some((inst(normal, access)?.result_id?, (access, form))));
        Self { one, atoms, normal, defs: Defs::new(&normal.module), loads: loads.collect() }
    }

    /// What an invocation stores by an access.
    pub(super) fn by(&self, access: &Access, who: Invocation) -> Value {
        let stored = inst(self.normal, access).filter(|inst| inst.class.opcode == Op::Store);
        let Some(id) = stored.and_then(|inst| inst.operands.get(1)?.id_ref_any()) else {
            return Value::Unknown;
        };
        let mut known = AHashMap::new();
        self.of(id, who, &mut known, DEPTH)
    }

    fn of(&self, id: u32, who: Invocation, known: &mut AHashMap<u32, Value>, depth: u32) -> Value {
        if let Some(&value) = known.get(&id) {
            return value;
        }
        let value = match self.defs.get(id) {
            Some(inst) if depth > 0 => self.made_by(inst, who, known, depth - 1).unwrap_or(Value::Unknown),
            _ => Value::Unknown,
        };
        known.insert(id, value);
        value
    }

    fn made_by(
        &self,
        inst: &Instruction,
        who: Invocation,
        known: &mut AHashMap<u32, Value>,
        depth: u32,
    ) -> Option<Value> {
        let op = inst.class.opcode;
        let id = inst.result_id?;
        match op {
            Op::ConstantTrue => return Some(Value::Number(1)),
            Op::ConstantFalse => return Some(Value::Number(0)),
            Op::Constant => {
                let Some(&Operand::LiteralBit32(bits)) = inst.operands.first() else {
                    return Some(Value::Same(id.into()));
                };
                return Some(self.of_type(inst, bits).unwrap_or(Value::Same(id.into())));
            }
            Op::ConstantNull | Op::ConstantComposite | Op::Undef => return Some(Value::Same(id.into())),
            Op::Load => return self.loaded(inst, who),
            _ => {}
        }
        let mut operands = Vec::with_capacity(inst.operands.len());
        for operand in &inst.operands {
            if let (Operand::IdRef(id), false) = (operand, op == Op::ExtInst && operands.is_empty()) {
                operands.push(self.of(*id, who, known, depth));
            } else {
                operands.push(Value::Same(hash(format!("{operand:?}"))));
            }
        }
        if let (Op::CompositeExtract, [Operand::IdRef(of), Operand::LiteralBit32(part)]) =
            (op, &inst.operands[..])
        {
            let of = self.defs.get(*of)?;
            match of.class.opcode {
                Op::CompositeConstruct if self.is_scalar(of.operands.get(*part as usize)?) => {
                    let part = of.operands.get(*part as usize)?.id_ref_any()?;
                    return Some(self.of(part, who, known, depth));
                }
                Op::Load => {
                    if let Some(value) = self.built_in(of.operands.first()?.id_ref_any()?, Some(*part), who) {
                        return Some(value);
                    }
                }
                _ => {}
            }
        }
        self.applied(inst, &operands)
    }

    /// Whether an operand is a value that is no vector, matrix or array.
    fn is_scalar(&self, operand: &Operand) -> bool {
        let ty = operand.id_ref_any().and_then(|id| self.defs.type_of(id));
        let op = ty.and_then(|ty| self.defs.op(ty));
        matches!(op, Some(Op::TypeInt | Op::TypeFloat | Op::TypeBool))
    }

    /// A number of the type of an instruction's result.
    fn of_type(&self, inst: &Instruction, bits: u32) -> Option<Value> {
        let ty = self.defs.get(inst.result_type?)?;
        match (ty.class.opcode, ty.operands.first()) {
            (Op::TypeInt, Some(Operand::LiteralBit32(32))) | (Op::TypeBool, _) => Some(Value::Number(bits)),
            (Op::TypeFloat, Some(Operand::LiteralBit32(32))) => Some(Value::Float(bits)),
            _ => None,
        }
    }

    fn loaded(&self, inst: &Instruction, who: Invocation) -> Option<Value> {
        if let Some((access, form)) = self.loads.get(&inst.result_id?) {
            let place = number(self.atoms, &form.offset, self.one, who)?;
            let buffer = self.one.args.get(access.binding)?.buffer;
            return Some(Value::Data(hash((buffer, place, inst.result_type))));
        }
        let pointer = self.defs.get(inst.operands.first()?.id_ref_any()?)?;
        let (variable, parts) = match pointer.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain => {
                let mut ids = pointer.operands.iter().filter_map(Operand::id_ref_any);
                (ids.next()?, ids.map(|id| self.defs.constant(id)).collect::<Option<Vec<u64>>>()?)
            }
            _ => (pointer.result_id?, Vec::new()),
        };
        let (class, _) = self.defs.pointer(self.defs.type_of(variable)?)?;
        match class {
            StorageClass::PushConstant => Some(Value::Same(hash(("push", parts)))),
            StorageClass::Input => {
                let part = parts.first().map(|part| u32::try_from(*part)).transpose().ok()?;
                self.built_in(variable, part, who)
            }
            _ => None,
        }
    }

    /// A built-in of an invocation, or a component of one.
    fn built_in(&self, variable: u32, part: Option<u32>, [group, local]: Invocation) -> Option<Value> {
        let which = self.defs.decoration(variable, Decoration::BuiltIn)?;
        let size = self.one.kernel.interface.local_size;
        let is = |builtin: BuiltIn| which == builtin as u32;
        if is(BuiltIn::LocalInvocationIndex) {
            return Some(Value::Number(local[0] + size[0] * (local[1] + size[1] * local[2])));
        }
        let d = usize::try_from(part?).ok().filter(|d| *d < 3)?;
        let group = self.one.base[d].wrapping_add(group[d]);
        let number = if is(BuiltIn::GlobalInvocationId) {
            group.wrapping_mul(size[d]).wrapping_add(local[d])
        } else if is(BuiltIn::LocalInvocationId) {
            local[d]
        } else if is(BuiltIn::WorkgroupId) {
            group
        } else if is(BuiltIn::NumWorkgroups) {
            self.one.groups[d]
        } else {
            return None;
        };
        Some(Value::Number(number))
    }

    /// What an operation makes of values.
    fn applied(&self, inst: &Instruction, operands: &[Value]) -> Option<Value> {
        let op = inst.class.opcode;
        if let (Op::Select, [condition, a, b]) = (op, operands) {
            return match condition {
                Value::Number(condition) => Some(if *condition == 0 { *b } else { *a }),
                Value::Data(_) if a.differs(*b) => Some(Value::Data(hash(operands))),
                Value::Data(_) if a == b => Some(*a),
                _ => None,
            };
        }
        if !is_pure(op) || operands.contains(&Value::Unknown) {
            return None;
        }
        let made = hash((op as u32, operands));
        if operands.iter().all(|one| matches!(one, Value::Same(_))) {
            return Some(Value::Same(made));
        }
        // Parts that differ make wholes that differ.
        if op == Op::CompositeConstruct || operands.iter().any(|one| matches!(one, Value::Data(_))) {
            return Some(Value::Data(made));
        }
        let bits = match *operands {
            [Value::Number(a), Value::Number(b)] => of_integers(op, a, b)?,
            [Value::Float(a), Value::Float(b)] => of_floats(op, f32::from_bits(a), f32::from_bits(b))?,
            [Value::Number(a)] => match op {
                Op::Not => !a,
                Op::LogicalNot => u32::from(a == 0),
                Op::SNegate => a.wrapping_neg(),
                Op::Bitcast | Op::CopyObject => a,
                Op::ConvertUToF => (a as f32).to_bits(),
                Op::ConvertSToF => (a as i32 as f32).to_bits(),
                _ => return None,
            },
            [Value::Float(a)] => match op {
                Op::FNegate => (-f32::from_bits(a)).to_bits(),
                Op::Bitcast | Op::CopyObject => a,
                _ => return None,
            },
            _ => return None,
        };
        self.of_type(inst, bits)
    }
}

/// The value of a sum of ids, and of quotients and remainders of such sums, for an invocation.
pub(super) fn number(
    atoms: &Atoms,
    form: &Affine,
    one: &Submission,
    [group, local]: Invocation,
) -> Option<i128> {
    let size = one.kernel.interface.local_size;
    let within = |of: &Affine| number(atoms, of, one, [group, local]).filter(|of| *of >= 0);
    let id = |id: AtomId| match atoms.get(id) {
        Atom::Group(d) => Some(i128::from(group[usize::from(*d)])),
        Atom::Local(d) => Some(i128::from(local[usize::from(*d)])),
        Atom::Global(d) => {
            let d = usize::from(*d);
            Some(i128::from(group[d]) * i128::from(size[d]) + i128::from(local[d]))
        }
        Atom::Quotient(of, by) => within(of).map(|of| of / by),
        Atom::Remainder(of, by) => within(of).map(|of| of % by),
        _ => None,
    };
    let mut value = form.constant;
    for &(atom, weight) in &form.terms {
        value += weight.checked_mul(id(atom)?)?;
    }
    Some(value)
}

/// The instruction that makes an access.
fn inst<'a>(normal: &'a NormalKernel, access: &Access) -> Option<&'a Instruction> {
    normal.module.functions.first()?.blocks.get(access.at.0)?.instructions.get(access.at.1)
}

fn of_integers(op: Op, a: u32, b: u32) -> Option<u32> {
    let (x, y) = (a as i32, b as i32);
    Some(match op {
        Op::IAdd => a.wrapping_add(b),
        Op::ISub => a.wrapping_sub(b),
        Op::IMul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b)?,
        Op::UMod => a.checked_rem(b)?,
        Op::SDiv => x.checked_div(y)? as u32,
        Op::SRem | Op::SMod if x >= 0 && y > 0 => (x % y) as u32,
        Op::ShiftLeftLogical => a.checked_shl(b)?,
        Op::ShiftRightLogical => a.checked_shr(b)?,
        Op::ShiftRightArithmetic => x.checked_shr(b)? as u32,
        Op::BitwiseAnd | Op::LogicalAnd => a & b,
        Op::BitwiseOr | Op::LogicalOr => a | b,
        Op::BitwiseXor => a ^ b,
        Op::IEqual | Op::LogicalEqual => (a == b).into(),
        Op::INotEqual | Op::LogicalNotEqual => (a != b).into(),
        Op::ULessThan => (a < b).into(),
        Op::ULessThanEqual => (a <= b).into(),
        Op::UGreaterThan => (a > b).into(),
        Op::UGreaterThanEqual => (a >= b).into(),
        Op::SLessThan => (x < y).into(),
        Op::SLessThanEqual => (x <= y).into(),
        Op::SGreaterThan => (x > y).into(),
        Op::SGreaterThanEqual => (x >= y).into(),
        _ => return None,
    })
}

fn of_floats(op: Op, a: f32, b: f32) -> Option<u32> {
    Some(match op {
        Op::FAdd => (a + b).to_bits(),
        Op::FSub => (a - b).to_bits(),
        Op::FMul => (a * b).to_bits(),
        Op::FDiv => (a / b).to_bits(),
        _ => return None,
    })
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Operations whose result follows from their operands alone.
fn is_pure(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        FAdd | FSub
            | FMul
            | FDiv
            | FRem
            | FMod
            | FNegate
            | IAdd
            | ISub
            | IMul
            | UDiv
            | SDiv
            | UMod
            | SRem
            | SMod
            | SNegate
            | ShiftLeftLogical
            | ShiftRightLogical
            | ShiftRightArithmetic
            | BitwiseAnd
            | BitwiseOr
            | BitwiseXor
            | Not
            | LogicalAnd
            | LogicalOr
            | LogicalNot
            | LogicalEqual
            | LogicalNotEqual
            | ConvertFToU
            | ConvertFToS
            | ConvertUToF
            | ConvertSToF
            | UConvert
            | SConvert
            | FConvert
            | Bitcast
            | CopyObject
            | VectorTimesScalar
            | MatrixTimesScalar
            | MatrixTimesVector
            | VectorTimesMatrix
            | Dot
            | IEqual
            | INotEqual
            | ULessThan
            | ULessThanEqual
            | UGreaterThan
            | UGreaterThanEqual
            | SLessThan
            | SLessThanEqual
            | SGreaterThan
            | SGreaterThanEqual
            | FOrdEqual
            | FOrdNotEqual
            | FOrdLessThan
            | FOrdLessThanEqual
            | FOrdGreaterThan
            | FOrdGreaterThanEqual
            | FUnordEqual
            | FUnordNotEqual
            | FUnordLessThan
            | FUnordLessThanEqual
            | FUnordGreaterThan
            | FUnordGreaterThanEqual
            | CompositeConstruct
            | CompositeExtract
            | CompositeInsert
            | VectorShuffle
            | BitCount
            | BitReverse
            | BitFieldUExtract
            | BitFieldSExtract
            | BitFieldInsert
            | ExtInst
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_values_apart() {
        use Value::{Data, Float, Number, Same, Unknown};
        let (zero, minus) = (0f32.to_bits(), (-1f32).to_bits());
        for (a, b) in
            [(Number(1), Number(2)), (Float(zero), Float(minus)), (Data(1), Data(2)), (Data(1), Same(3))]
        {
            assert!(a.differs(b) && b.differs(a) && !a.differs(a), "{a:?} {b:?}");
        }
        // Two push constants may be equal, and what is not followed may be anything.
        for (a, b) in [(Same(1), Same(2)), (Same(1), Number(1)), (Unknown, Data(1)), (Unknown, Number(1))] {
            assert!(!a.differs(b) && !b.differs(a), "{a:?} {b:?}");
        }
    }
}
