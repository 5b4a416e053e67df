//! From words to a [`Program`]: one pass over the module for types, constants and variables, then the
//! functions that the entry point reaches.
//!
//! Only what the entry point reaches is looked at, so an instruction outside the interpreted subset
//! matters only where it could run.

mod atomic;
mod chain;
mod composite;
mod compute;
mod control;
mod function;
mod geometry;
mod glsl;
mod image;
mod linear;
mod memory;
mod module;
mod parts;
mod scan;
mod shape;
mod subgroup;
mod variable;
mod verify;

use ahash::AHashMap;
use rspirv::spirv::Op;

use super::error::OracleError;
use super::program::{Image, Inst, Program};
use chain::View;
use module::Decorations;
use scan::Raw;
use shape::Shapes;

/// No register yet.
pub(super) const NONE: u32 = u32::MAX;

/// The most lanes in a register file, in Private memory and in Workgroup memory.
const LANE_LIMIT: u64 = 1 << 20;

type Decoded<T> = Result<T, OracleError>;

/// Everything known while a module is decoded.
struct Decoder<'w> {
    program: Program,
    decorations: Decorations,
    shapes: Shapes,
    /// First register of each id.
    registers: Vec<u32>,
    /// Type of each id that is a value.
    value_types: Vec<u32>,
    /// What each id that is a pointer points at, where more is known than its type says.
    views: Vec<Option<View>>,
    /// Which ids are constants.
    constant: Vec<bool>,
    /// Module-scope variables that nothing used yet.
    variables: AHashMap<u32, Raw<'w>>,
    /// Whether Workgroup variables are blocks, which all lie in the same bytes.
    explicit_shared: bool,
    glsl_sets: Vec<u32>,
    quiet_sets: Vec<u32>,
    span_cache: AHashMap<View, (u32, u32)>,
    /// Of loads and stores that only some lanes matter of: which, by their place among the program's flags.
    parts: AHashMap<u32, u32>,
    /// All byte offsets, strides and widths of buffer accesses, united.
    grain_bits: u32,
}

/// Decodes the entry point of that name, or `main`, or the only one.
pub(super) fn decode(words: &[u32], entry: Option<&str>) -> Decoded<Program> {
    let module = scan::scan(words)?;
    let mut decoder = Decoder::new(module.bound);
    let entry = decoder.module(&module, entry)?;
    decoder.functions(&module.functions, entry)?;
    let mut program = decoder.program;
    program.grain_shift = decoder.grain_bits.trailing_zeros().min(2);
    verify::verify(&program)?;
    Ok(program)
}

impl<'w> Decoder<'w> {
    fn new(bound: usize) -> Self {
        Self {
            program: Program {
                code: Vec::new(),
                words: Vec::new(),
                start: 0,
                local_size: [1; 3],
                registers: Vec::new(),
                private: Image::default(),
                shared: Image::default(),
                inputs: Vec::new(),
                bindings: Vec::new(),
                samplers: Vec::new(),
                spans: Vec::new(),
                terms: Vec::new(),
                edges: Vec::new(),
                moves: Vec::new(),
                cases: Vec::new(),
                gathers: Vec::new(),
                flags: Vec::new(),
                groups: Vec::new(),
                has_atomics: false,
                grain_shift: 0,
                other_open: false,
                subgroup_size: None,
            },
            decorations: Decorations::default(),
            shapes: Shapes::new(bound),
            registers: vec![NONE; bound],
            value_types: vec![0; bound],
            views: vec![None; bound],
            constant: vec![false; bound],
            variables: AHashMap::new(),
            explicit_shared: false,
            glsl_sets: Vec::new(),
            quiet_sets: Vec::new(),
            span_cache: AHashMap::new(),
            parts: AHashMap::new(),
            grain_bits: 4,
        }
    }

    fn emit(&mut self, raw: &Raw<'_>, inst: Inst) {
        self.program.code.push(inst);
        self.program.words.push(raw.word);
    }

    /// First register of a value; a module-scope variable gets its memory on first use.
    fn register(&mut self, id: u32, raw: &Raw<'_>) -> Decoded<u32> {
        let known =
            self.registers.get(id as usize).copied().ok_or_else(|| raw.malformed("id over the bound"))?;
        if known != NONE {
            return Ok(known);
        }
        match self.variables.remove(&id) {
            Some(variable) => self.variable(&variable, true),
            None => Err(raw.malformed("an id is used that is not a value")),
        }
    }

    fn value_type(&self, id: u32, raw: &Raw<'_>) -> Decoded<u32> {
        match self.value_types.get(id as usize) {
            Some(&ty) if ty != 0 => Ok(ty),
            _ => Err(raw.malformed("an id is used that is not a value")),
        }
    }

    /// Registers for a value of this many lanes.
    fn allocate(&mut self, lanes: u32) -> Decoded<u32> {
        let first = self.program.registers.len();
        let len = first as u64 + u64::from(lanes);
        if len > LANE_LIMIT {
            return Err(OracleError::Limit {
                what: "the number of registers",
                asked: len,
                limit: LANE_LIMIT,
            });
        }
        self.program.registers.resize(len as usize, 0);
        Ok(first as u32)
    }

    /// Registers that hold undefined values of a type.
    fn allocate_garbage(&mut self, ty: u32) -> Decoded<u32> {
        let mut lanes = Vec::new();
        self.shapes.garbage(ty, &mut lanes);
        let first = self.allocate(lanes.len() as u32)?;
        self.program.registers[first as usize..].copy_from_slice(&lanes);
        Ok(first)
    }

    /// Value of a scalar constant.
    fn constant_value(&self, id: u32, raw: &Raw<'_>) -> Decoded<u64> {
        let index = id as usize;
        if self.constant.get(index) != Some(&true) || self.registers[index] == NONE {
            return Err(OracleError::unsupported(
                raw.name(),
                raw.word as usize,
                "an operand is not constant",
            ));
        }
        let register = self.registers[index] as usize;
        self.program.registers.get(register).copied().ok_or_else(|| raw.malformed("constant without value"))
    }

    /// Adds lanes to the gather table and returns where they start.
    fn gather(&mut self, lanes: impl IntoIterator<Item = u32>) -> (u32, u32) {
        let first = self.program.gathers.len();
        self.program.gathers.extend(lanes);
        (first as u32, (self.program.gathers.len() - first) as u32)
    }
}

/// Instructions that neither compute nor change control flow here.
fn is_silent(op: Op) -> bool {
    matches!(
        op,
        Op::Nop
            | Op::Line
            | Op::NoLine
            | Op::SelectionMerge
            | Op::LoopMerge
            | Op::LifetimeStart
            | Op::LifetimeStop
            | Op::AssumeTrueKHR
    )
}
