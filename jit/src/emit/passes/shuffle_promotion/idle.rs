//! Stores that change nothing: steps of a tree over elements that no invocation has.
//!
//! Where a row is shorter than its work-group, the elements behind it hold a constant, such as the zero of a sum. A step `x = x + zero` changes
//! nothing once the zero has been added, or where `x` is that zero. A driver cannot see it, as floats are hidden from its compiler.
//!
//! # Requires
//! - accesses in the order of the function, each known by the register that it is one to
//!
//! # Guarantees
//! - a store that is found leaves the bits of its register as they are: it stores `F(x, c)` where `x` is the register's own value and `c` a
//!   constant, and `x` is `c`, or `F(y, c)` for some `y`
//! - `F` is a sum with a zero, a minimum or maximum, or a selection of one of both by a condition on both alone: for these, `F(c, c)` is `c` and
//!   `F(F(y, c), c)` is `F(y, c)`

use std::rc::Rc;

use ahash::AHashMap;
use rspirv::spirv::{GlslStd450Op, Op};

use crate::emit::passes::slots::Slot;
use crate::ir::entity::{Global, Inst, Value};
use crate::ir::{Def, Function, Module, Operation, Position, TypeKind};

/// A register of a variable.
type Register = (Global, u32);

/// An access to a register.
pub(super) struct RegisterAccess {
    pub(super) at: Position,
    pub(super) inst: Inst,
    pub(super) register: Register,
    /// It is the invocation's own.
    pub(super) is_own: bool,
}

/// What is known of a register.
#[derive(Clone, PartialEq, Eq)]
enum Known {
    /// It holds a constant, by its bits.
    Constant(u32),
    /// It holds `F(y, c)` for this `F` and `c`, whatever `y` is.
    Combined(How, u32),
}

/// What combines two values, as words that are the same for the same `F` alone: opcodes, and the places of both in them.
type How = Rc<[u32]>;

/// The place of the register's own value.
const OWN: u32 = 0;
/// The place of the constant.
const OTHER: u32 = 1;
/// A number follows.
const NUMBER: u32 = 2;
/// Most words of a condition.
const MOST: usize = 48;

/// What was loaded from a register, and how often the register had been stored to.
#[derive(Clone)]
struct Loaded {
    register: Register,
    stores: u32,
    known: Option<Known>,
}

/// Which of these accesses are stores that change nothing, by their instructions; `zero` is what hides floats.
pub(super) fn stores(
    module: &Module,
    f: &Function,
    accesses: impl Iterator<Item = RegisterAccess>,
    zero: Option<Slot>,
) -> Vec<Inst> {
    let reader = Reader { module, f, zero };
    let mut known: AHashMap<Register, Known> = AHashMap::new();
    let mut stores: AHashMap<Register, u32> = AHashMap::new();
    let mut loads: AHashMap<Value, Loaded> = AHashMap::new();
    let mut idle = Vec::new();
    for RegisterAccess { at, inst, register, is_own } in accesses {
        let is_straight = at.0 == f.body;
        let data = &f.insts[inst];
        let &Operation::Store { value, .. } = &data.operation else {
            if let (Some(result), true) = (data.result, is_own && is_straight) {
                let (stores, known) = (stores.get(&register).copied(), known.get(&register).cloned());
                loads.insert(result, Loaded { register, stores: stores.unwrap_or_default(), known });
            }
            continue;
        };
        let count = stores.entry(register).or_default();
        let combined = if is_straight { reader.combined(value, &loads) } else { Vec::new() };
        let is_idle = combined.iter().any(|(how, own, constant)| {
            let there = [Known::Constant(*constant), Known::Combined(how.clone(), *constant)].map(Some);
            let is_own = own.register == register && (own.stores == *count || mutant!(RegistersStay));
            is_own && there.contains(&own.known)
        });
        if is_idle {
            idle.push(inst);
            continue;
        }
        *count += 1;
        let now = match reader.constant(value).filter(|_| is_straight) {
            Some(constant) => Some(Known::Constant(constant)),
            None => combined.into_iter().next().map(|(how, _, constant)| Known::Combined(how, constant)),
        };
        match now {
            Some(now) => known.insert(register, now),
            None => known.remove(&register),
        };
    }
    idle
}

struct Reader<'a> {
    module: &'a Module,
    f: &'a Function,
    zero: Option<Slot>,
}

impl Reader<'_> {
    /// The instruction of a value, behind copies of it.
    fn operation(&self, value: Value) -> Option<&Operation> {
        match self.f.values[self.origin(value)].def {
            Def::Inst(inst) => Some(&self.f.insts[inst].operation),
            _ => None,
        }
    }

    /// The bits of a word that is a constant, hidden or not.
    fn constant(&self, value: Value) -> Option<u32> {
        let value = self.origin(value);
        if let Some(constant) = self.f.as_const(value) {
            return self.module.number(constant);
        }
        match self.operation(value)? {
            Operation::Pure { op: Op::Bitcast, args, .. } => self.constant(args[0]),
            Operation::Pure { op: Op::IAdd, args, .. } if self.is_zero(args[1]) => self.constant(args[0]),
            _ => None,
        }
    }

    fn is_zero(&self, value: Value) -> bool {
        let Some(Operation::Load { place, .. }) = self.operation(value) else { return false };
        self.zero.is_some_and(|zero| zero.is_at(self.module, self.f, *place))
    }

    /// The value that this one is a copy of, or itself.
    fn origin(&self, mut value: Value) -> Value {
        while let Def::Inst(inst) = self.f.values[value].def
            && let Operation::Pure { op: Op::CopyObject, args, .. } = &self.f.insts[inst].operation
        {
            value = args[0];
        }
        value
    }

    /// How a value combines what was loaded from a register with a constant that was loaded from another one, one way or both.
    fn combined(&self, value: Value, loads: &AHashMap<Value, Loaded>) -> Vec<(How, Loaded, u32)> {
        let find = |[own, other]: [Value; 2]| {
            let (own, other) = (loads.get(&self.origin(own))?, loads.get(&self.origin(other))?);
            match other.known {
                Some(Known::Constant(constant)) => Some((own.clone(), constant)),
                _ => None,
            }
        };
        let operation = self.operation(value);
        let both = operation.and_then(|operation| match operation {
            Operation::Pure { op: Op::Select, args, .. } => args.get(1..),
            Operation::Pure { args, .. } | Operation::Ext { args, .. } => Some(args),
            _ => None,
        });
        let (Some(operation), Some(&[first, second])) = (operation, both) else { return Vec::new() };
        let sides = (0..).zip([[first, second], [second, first]]);
        let found = sides.filter_map(|(side, both)| {
            let (own, constant) = find(both)?;
            Some((self.how(operation, side, both, constant)?, own, constant))
        });
        found.collect()
    }

    /// What an operation does with a value and a constant, which is its first operand if `side` is 1.
    fn how(&self, operation: &Operation, side: u32, both: [Value; 2], constant: u32) -> Option<How> {
        match operation {
            Operation::Pure { op: op @ (Op::FAdd | Op::IAdd), .. } => {
                (constant == 0 || mutant!(AnyTermIsNothing)).then(|| How::from([*op as u32]))
            }
            Operation::Ext { number, pure: true, .. } if takes_one(*number) => {
                Some(How::from([*number, side]))
            }
            Operation::Pure { op: Op::Select, args, .. } => {
                let mut how = vec![side];
                self.condition(args[0], both.map(|side| self.origin(side)), &mut how)?;
                Some(how.into())
            }
            _ => None,
        }
    }

    /// Adds the words of a condition on two values.
    fn condition(&self, value: Value, both: [Value; 2], how: &mut Vec<u32>) -> Option<()> {
        let value = self.origin(value);
        if how.len() > MOST {
            return None;
        }
        if value == both[0] || value == both[1] {
            how.push(if value == both[0] { OWN } else { OTHER });
            return Some(());
        }
        if let Some(number) = self.f.number(self.module, value) {
            how.extend([NUMBER, number]);
            return Some(());
        }
        let is_truth = *self.module.types.kind(self.f.values[value].ty) == TypeKind::Bool;
        match self.operation(value)? {
            Operation::Pure { op, args, literals } if is_truth && literals.is_empty() => {
                how.push(*op as u32);
                args.iter().try_for_each(|&arg| self.condition(arg, both, how))
            }
            _ => None,
        }
    }
}

/// Whether an instruction of GLSL's set has the value of one of its two operands.
fn takes_one(number: u32) -> bool {
    use GlslStd450Op::{FMax, FMin, NMax, NMin, SMax, SMin, UMax, UMin};
    [FMax, FMin, NMax, NMin, SMax, SMin, UMax, UMin].iter().any(|&op| op as u32 == number)
}
