//! What the stages need to know of opcodes: one table, a line for each opcode.
//!
//! An opcode that is not in the table has no property. How an opcode translates into an expression is said where that is
//! done (`analysis::symbolic`); what it computes, in the interpreter, which shares nothing with this table.

use std::sync::LazyLock;

use rspirv::dr::{Instruction, Operand};
use rspirv::grammar;
use rspirv::spirv::{GlslStd450Op, MemoryAccess, Op, Word};

/// The result follows from the operands alone.
pub(crate) const PURE: u8 = 1 << 0;
/// Undefined for some operands: must not be computed where the kernel would not.
pub(crate) const DIVIDES: u8 = 1 << 1;
/// Float arithmetic that a driver may contract unless asked not to.
pub(crate) const CONTRACTIBLE: u8 = 1 << 2;
/// Moves floats, or adds, subtracts or multiplies them: no rewriting that drivers do across it changes a number, if none of
/// the operands is a constant.
pub(crate) const PLAIN_FLOATS: u8 = 1 << 3;
/// An atomic operation on memory.
pub(crate) const ATOMIC: u8 = 1 << 4;
/// Valid in a compute shader with the known capabilities, and yet without a place in the normal form.
pub(crate) const REFUSED: u8 = 1 << 5;

macro_rules! table {
    ($($op:ident: $($property:ident)+,)*) => {
        fn properties(op: Op) -> u8 {
            match op {
                $(Op::$op => $($property)|+,)*
                _ => 0,
            }
        }
    };
}

table! {
    CopyMemory: REFUSED,
    CopyMemorySized: REFUSED,
    PtrAccessChain: REFUSED,
    InBoundsPtrAccessChain: REFUSED,
    PtrEqual: REFUSED,
    PtrNotEqual: REFUSED,
    PtrDiff: REFUSED,
    ImageTexelPointer: REFUSED,
    Kill: REFUSED,
    AtomicLoad: ATOMIC,
    AtomicStore: ATOMIC,
    AtomicExchange: ATOMIC,
    AtomicCompareExchange: ATOMIC,
    AtomicCompareExchangeWeak: ATOMIC,
    AtomicIIncrement: ATOMIC,
    AtomicIDecrement: ATOMIC,
    AtomicIAdd: ATOMIC,
    AtomicISub: ATOMIC,
    AtomicSMin: ATOMIC,
    AtomicUMin: ATOMIC,
    AtomicSMax: ATOMIC,
    AtomicUMax: ATOMIC,
    AtomicAnd: ATOMIC,
    AtomicOr: ATOMIC,
    AtomicXor: ATOMIC,
    AtomicFlagTestAndSet: ATOMIC,
    AtomicFlagClear: ATOMIC,
    AtomicFAddEXT: ATOMIC,
    AtomicFMinEXT: ATOMIC,
    AtomicFMaxEXT: ATOMIC,
    Load: PLAIN_FLOATS,
    Store: PLAIN_FLOATS,
    Phi: PLAIN_FLOATS,
    Undef: PLAIN_FLOATS,
    CopyObject: PLAIN_FLOATS,
    ExtInst: PURE,
    CompositeConstruct: PURE PLAIN_FLOATS,
    CompositeExtract: PURE PLAIN_FLOATS,
    CompositeInsert: PURE PLAIN_FLOATS,
    VectorShuffle: PURE PLAIN_FLOATS,
    VectorExtractDynamic: PURE,
    VectorInsertDynamic: PURE,
    ConvertFToU: PURE,
    ConvertFToS: PURE,
    ConvertSToF: PURE,
    ConvertUToF: PURE,
    UConvert: PURE,
    SConvert: PURE,
    FConvert: PURE,
    QuantizeToF16: PURE,
    Bitcast: PURE,
    SNegate: PURE,
    FNegate: PURE CONTRACTIBLE,
    IAdd: PURE,
    FAdd: PURE CONTRACTIBLE PLAIN_FLOATS,
    ISub: PURE,
    FSub: PURE CONTRACTIBLE PLAIN_FLOATS,
    IMul: PURE,
    FMul: PURE CONTRACTIBLE PLAIN_FLOATS,
    UDiv: PURE DIVIDES,
    SDiv: PURE DIVIDES,
    FDiv: PURE CONTRACTIBLE,
    UMod: PURE DIVIDES,
    SRem: PURE DIVIDES,
    SMod: PURE DIVIDES,
    FRem: PURE CONTRACTIBLE,
    FMod: PURE CONTRACTIBLE,
    VectorTimesScalar: PURE CONTRACTIBLE PLAIN_FLOATS,
    MatrixTimesScalar: PURE CONTRACTIBLE,
    VectorTimesMatrix: PURE CONTRACTIBLE,
    MatrixTimesVector: PURE CONTRACTIBLE,
    MatrixTimesMatrix: PURE CONTRACTIBLE,
    OuterProduct: PURE CONTRACTIBLE,
    Transpose: PURE,
    Dot: PURE CONTRACTIBLE,
    SDot: PURE,
    UDot: PURE,
    SUDot: PURE,
    SDotAccSat: PURE,
    UDotAccSat: PURE,
    SUDotAccSat: PURE,
    IAddCarry: PURE,
    ISubBorrow: PURE,
    UMulExtended: PURE,
    SMulExtended: PURE,
    Any: PURE,
    All: PURE,
    IsNan: PURE,
    IsInf: PURE,
    LogicalEqual: PURE,
    LogicalNotEqual: PURE,
    LogicalOr: PURE,
    LogicalAnd: PURE,
    LogicalNot: PURE,
    Select: PURE PLAIN_FLOATS,
    IEqual: PURE,
    INotEqual: PURE,
    UGreaterThan: PURE,
    SGreaterThan: PURE,
    UGreaterThanEqual: PURE,
    SGreaterThanEqual: PURE,
    ULessThan: PURE,
    SLessThan: PURE,
    ULessThanEqual: PURE,
    SLessThanEqual: PURE,
    FOrdEqual: PURE,
    FUnordEqual: PURE,
    FOrdNotEqual: PURE,
    FUnordNotEqual: PURE,
    FOrdLessThan: PURE,
    FUnordLessThan: PURE,
    FOrdGreaterThan: PURE,
    FUnordGreaterThan: PURE,
    FOrdLessThanEqual: PURE,
    FUnordLessThanEqual: PURE,
    FOrdGreaterThanEqual: PURE,
    FUnordGreaterThanEqual: PURE,
    ShiftRightLogical: PURE,
    ShiftRightArithmetic: PURE,
    ShiftLeftLogical: PURE,
    BitwiseOr: PURE,
    BitwiseXor: PURE,
    BitwiseAnd: PURE,
    Not: PURE,
    BitFieldInsert: PURE,
    BitFieldSExtract: PURE,
    BitFieldUExtract: PURE,
    BitReverse: PURE,
    BitCount: PURE,
}

/// As [`Instruction::new`], which searches all opcodes one after another.
pub(crate) fn instruction(
    op: Op,
    result_type: Option<Word>,
    result_id: Option<Word>,
    operands: Vec<Operand>,
) -> Instruction {
    static CLASSES: LazyLock<Vec<Option<&'static grammar::Instruction<'static>>>> = LazyLock::new(|| {
        let mut classes = Vec::new();
        for class in grammar::INSTRUCTION_TABLE.iter() {
            classes.resize(classes.len().max(class.opcode as usize + 1), None);
            classes[class.opcode as usize].get_or_insert(class);
        }
        classes
    });
    match CLASSES.get(op as usize).copied().flatten() {
        Some(class) => Instruction { class, result_type, result_id, operands },
        None => Instruction::new(op, result_type, result_id, operands),
    }
}

/// Whether an instruction does nothing but give a result, which follows from its operands: it is [`PURE`], and none of those that also write through a
/// pointer that they are given.
pub(crate) fn is_pure(inst: &Instruction) -> bool {
    let op = inst.class.opcode;
    let writes = || {
        let number = |operand: &Operand| match operand {
            Operand::LiteralExtInstInteger(number) => Some(*number),
            _ => None,
        };
        let number = inst.operands.iter().find_map(number);
        [GlslStd450Op::Modf, GlslStd450Op::Frexp].map(|op| Some(op as u32)).contains(&number)
    };
    has(op, PURE) && !(op == Op::ExtInst && writes())
}

/// Whether an access to memory has to be made as it stands.
pub(crate) fn is_volatile(inst: &Instruction) -> bool {
    let volatile = |operand: &Operand| match operand {
        Operand::MemoryAccess(access) => access.contains(MemoryAccess::VOLATILE),
        _ => false,
    };
    inst.operands.iter().any(volatile)
}

/// Makes an access, by its operands, one that happens as it is written.
pub(crate) fn make_volatile(operands: &mut Vec<Operand>) {
    for operand in operands.iter_mut() {
        if let Operand::MemoryAccess(access) = operand {
            *access |= MemoryAccess::VOLATILE;
            return;
        }
    }
    operands.push(Operand::MemoryAccess(MemoryAccess::VOLATILE));
}

/// Whether an opcode has a property.
pub(crate) fn has(op: Op, property: u8) -> bool {
    properties(op) & property != 0
}
