//! Splits the words of a module into instructions and functions, without building operands.

use std::sync::OnceLock;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use rspirv::spirv::{MAGIC_NUMBER, Op};

use super::Decoded;
use crate::error::OracleError;

/// The universal limit of SPIR-V.
const BOUND_LIMIT: u32 = 0x3f_ffff;

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw<'w> {
    pub(super) op: Op,
    /// Result type, 0 if none.
    pub(super) ty: u32,
    /// Result id, 0 if none.
    pub(super) id: u32,
    /// The other operands.
    pub(super) args: &'w [u32],
    /// Offset in the module.
    pub(super) word: u32,
}

impl<'w> Raw<'w> {
    pub(super) fn malformed(&self, what: &'static str) -> OracleError {
        OracleError::malformed(what, self.word as usize)
    }

    pub(super) fn unsupported(&self, why: &'static str) -> OracleError {
        OracleError::unsupported(self.name(), self.word as usize, why)
    }

    pub(super) fn name(&self) -> String {
        format!("Op{:?}", self.op)
    }

    pub(super) fn arg(&self, index: usize) -> Decoded<u32> {
        self.args.get(index).copied().ok_or_else(|| self.malformed("an operand is missing"))
    }

    /// The operands from `index` on.
    pub(super) fn rest(&self, index: usize) -> &'w [u32] {
        self.args.get(index..).unwrap_or(&[])
    }
}

pub(super) struct Scanned<'w> {
    pub(super) bound: usize,
    /// Everything before the first function.
    pub(super) globals: Vec<Raw<'w>>,
    pub(super) functions: Vec<ScannedFunction<'w>>,
}

pub(super) struct ScannedFunction<'w> {
    pub(super) def: Raw<'w>,
    pub(super) parameters: Vec<Raw<'w>>,
    /// From the first label to the last terminator.
    pub(super) body: Vec<Raw<'w>>,
}

/// Per opcode whether it has a result type and a result id.
fn results() -> &'static [(bool, bool)] {
    static RESULTS: OnceLock<Vec<(bool, bool)>> = OnceLock::new();
    RESULTS.get_or_init(|| {
        let mut results = Vec::new();
        for inst in INSTRUCTION_TABLE.iter() {
            let opcode = inst.opcode as usize;
            if results.len() <= opcode {
                results.resize(opcode + 1, (false, false));
            }
            let has = |kind| inst.operands.iter().any(|operand| operand.kind == kind);
            results[opcode] = (has(OperandKind::IdResultType), has(OperandKind::IdResult));
        }
        results
    })
}

pub(super) fn scan(words: &[u32]) -> Decoded<Scanned<'_>> {
    if words.len() < 5 || words[0] != MAGIC_NUMBER {
        return Err(OracleError::malformed("no SPIR-V header", 0));
    }
    let bound = words[3];
    if bound > BOUND_LIMIT {
        let (asked, limit) = (u64::from(bound), u64::from(BOUND_LIMIT));
        return Err(OracleError::Limit { what: "the id bound", asked, limit });
    }
    let mut scanned = Scanned { bound: bound as usize, globals: Vec::new(), functions: Vec::new() };
    let mut inside = false;
    let mut at = 5;
    while at < words.len() {
        let raw = instruction(words, at)?;
        at += (words[at] >> 16) as usize;
        if raw.id as usize >= bound as usize || raw.ty as usize >= bound as usize {
            return Err(raw.malformed("id over the bound"));
        }
        match raw.op {
            Op::Function => {
                inside = true;
                scanned.functions.push(ScannedFunction {
                    def: raw,
                    parameters: Vec::new(),
                    body: Vec::new(),
                });
            }
            Op::FunctionEnd => inside = false,
            _ => match scanned.functions.last_mut() {
                None => scanned.globals.push(raw),
                Some(_) if !inside => {}
                Some(function) if raw.op == Op::FunctionParameter => function.parameters.push(raw),
                // What precedes the first label is debug information.
                Some(function) if function.body.is_empty() && raw.op != Op::Label => {}
                Some(function) => function.body.push(raw),
            },
        }
    }
    Ok(scanned)
}

fn instruction(words: &[u32], at: usize) -> Decoded<Raw<'_>> {
    let head = words[at];
    let (len, opcode) = ((head >> 16) as usize, head & 0xffff);
    let operands = match len {
        0 => None,
        _ => words.get(at + 1..at + len),
    };
    let operands = operands.ok_or_else(|| OracleError::malformed("an instruction is cut off", at))?;
    let op = Op::from_u32(opcode)
        .ok_or_else(|| OracleError::unsupported(format!("opcode {opcode}"), at, "it is not known"))?;
    let (typed, named) = results().get(opcode as usize).copied().unwrap_or_default();
    let skip = usize::from(typed) + usize::from(named);
    if operands.len() < skip {
        return Err(OracleError::malformed("a result id is missing", at));
    }
    let ty = if typed { operands[0] } else { 0 };
    let id = if named { operands[skip - 1] } else { 0 };
    Ok(Raw { op, ty, id, args: &operands[skip..], word: at as u32 })
}
