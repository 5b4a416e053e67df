//! The open floats of a kernel: those that a compiler can simplify once it knows a number, a path or a place in memory.
//!
//! A driver's compiler knows some numbers of a kernel only where the kernel is fused, and others only where it runs alone: ids that are zero,
//! arguments that are equal, rounds that are unrolled, bindings of the same memory. With such a number it decides a *choice*
//! (a phi, a selection, an element picked by an index, the content of a variable), and simplifies with what was chosen: `0 * x`, `log(exp(x))`. The ways
//! in which it may learn a number cannot be listed, so the choices are made harmless instead. A float is *closed* if it is
//!
//! - a value loaded from memory, or an argument,
//! - a sum, a difference or a product of floats that are certainly no constants: no compiler simplifies across these,
//! - a hidden float,
//! - a choice among closed floats.
//!
//! Any other float that is chosen is open, and so is a divisor that may be a constant zero. It gets hidden (`rewrite::close`), also where the kernel runs alone: constants where the kernel begins, others where they
//! are computed or chosen. So do integers that are converted to floats. Deciding a choice then reveals nothing, and the compiler sees the same float operations
//! together, over operands that it knows nothing about, wherever the kernel stands.
//!
//! What depends on one float alone is left as it is, as `x > 0 ? x : 0` or `float(int(x))` (but not a choice among constants): a compiler knows as much of any closed
//! float as of any other.

mod defined;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Capability, ImageFormat, Op, StorageClass};

use super::is_float_type;
use crate::analysis::cfg::Cfg;
use crate::frontend::opcodes;

/// What has to be hidden in a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    /// Floats that are hidden behind what makes them.
    pub(crate) results: AHashSet<u32>,
    /// Operands that are hidden.
    pub(crate) uses: Vec<OpenUse>,
    /// Local variables that begin with constants: these are hidden, and stored where the kernel begins.
    pub(crate) starts: Vec<u32>,
    /// Loads, by block and position, of halves that have no operation: of what the kernel stored itself.
    pub(crate) volatile: Vec<(usize, usize)>,
}

/// An operand that is hidden.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenUse {
    /// Block and position of the instruction.
    pub(crate) at: (usize, usize),
    pub(crate) operand: usize,
    pub(crate) place: Place,
}

/// Where an operand is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where the kernel begins: a constant.
    Start,
    /// Before the instruction.
    Before,
    /// At the end of a block.
    End(usize),
}

/// Most scalars of a constant that is hidden where the kernel begins; what is loaded of a longer one is hidden.
const MOST_AT_START: u32 = 16;

/// The same limit for a constant of zeros, where a single hidden zero serves all scalars of a type.
const MOST_ZEROS: u32 = 256;

/// The float may be a constant.
const CONSTANT: u8 = 1;
/// Something else than sums and products has made it.
const MADE: u8 = 2;

impl Open {
    /// Looks for it in a module in normal form. `own` are loads, by block and position, that may find what the kernel itself stored.
    pub(crate) fn of(module: &Module, own: &[(usize, usize)]) -> Self {
        let Some(function) = module.functions.first() else { return Self::default() };
        let mut finder = Finder::new(module, function);
        finder.variables();
        finder.values(function, own);
        finder.phis(function);
        finder.open
    }

    pub(crate) fn is_empty(&self) -> bool {
        let Self { results, uses, starts, volatile } = self;
        results.is_empty() && uses.is_empty() && starts.is_empty() && volatile.is_empty()
    }
}

struct Finder<'a> {
    defined: AHashMap<u32, &'a Instruction>,
    /// Types that hold floats, and those of them that can be hidden.
    floats: AHashMap<u32, bool>,
    glsl: AHashSet<u32>,
    /// The body.
    body: Vec<&'a Instruction>,
    /// What is in force of each float of the body.
    bits: AHashMap<u32, u8>,
    /// Local and shared variables whose loads are hidden.
    hidden: AHashSet<u32>,
    function: &'a Function,
    cfg: Cfg,
    /// Whether the kernel stores through addresses.
    stores_by_address: bool,
    open: Open,
}

impl<'a> Finder<'a> {
    fn new(module: &'a Module, function: &'a Function) -> Self {
        let halves = module
            .capabilities
            .iter()
            .any(|inst| inst.operands.first() == Some(&Operand::Capability(Capability::Float16)));
        let (mut all, mut stuck) = (AHashSet::new(), AHashSet::new());
        for inst in &module.types_global_values {
            let Some(id) = inst.result_id else { continue };
            if is_float_type(inst, &all) {
                all.insert(id);
                let is_half = inst.class.opcode == Op::TypeFloat
                    && inst.operands.first() == Some(&Operand::LiteralBit32(16));
                let parts = inst.operands.iter().filter_map(Operand::id_ref_any);
                if is_half && !halves || { parts }.any(|part| stuck.contains(&part)) {
                    stuck.insert(id);
                }
            }
        }
        let insts = module.types_global_values.iter().chain(function.all_inst_iter());
        let mut finder = Self {
            defined: { insts }.filter_map(|inst| Some((inst.result_id?, inst))).collect(),
            floats: all.iter().map(|&ty| (ty, !stuck.contains(&ty))).collect(),
            glsl: module.ext_inst_imports.iter().filter_map(|inst| inst.result_id).collect(),
            body: function.all_inst_iter().collect(),
            bits: AHashMap::new(),
            hidden: AHashSet::new(),
            function,
            cfg: Cfg::new(function),
            stores_by_address: false,
            open: Open::default(),
        };
        finder.stores_by_address = function.all_inst_iter().any(|inst| {
            inst.class.opcode == Op::Store
                && operand(inst, 0).is_none_or(|pointer| finder.is_by_address(pointer))
        });
        finder
    }

    fn variables(&mut self) {
        let mut stored = AHashSet::new();
        for inst in self.body.iter().filter(|inst| inst.class.opcode == Op::Store) {
            let (Some(pointer), Some(value)) = (operand(inst, 0), operand(inst, 1)) else { continue };
            if !self.is_local(pointer) || !self.is_float(value) {
                continue;
            }
            let Some(variable) = self.variable(pointer) else { continue };
            stored.insert(variable);
            if self.is_constant(value) && self.is_long(value) {
                self.hidden.insert(variable);
            }
        }
        let mut starts: Vec<(u32, u32)> = Vec::new();
        for inst in self.defined.values().filter(|inst| inst.class.opcode == Op::Variable) {
            let (Some(id), Some(value)) = (inst.result_id, operand(inst, 1)) else { continue };
            if !self.is_float(value) {
                continue;
            }
            let is_own = self.class(id) == Some(StorageClass::Function);
            // A table that is never written is not copied.
            if is_own && stored.contains(&id) && !self.hidden.contains(&id) && !self.is_long(value) {
                starts.push((id, value));
            } else {
                self.hidden.insert(id);
            }
        }
        starts.retain(|&(_, value)| self.can_be_hidden(value));
        if !mutant!(ChoicesAreOpen) {
            self.open.starts = starts.into_iter().map(|(id, _)| id).collect();
            self.open.starts.sort_unstable();
        }
    }

    /// What is in force of a float, as an operand.
    fn bits(&self, id: u32) -> u8 {
        match self.bits.get(&id) {
            Some(&bits) => bits,
            None if self.is_constant(id) => CONSTANT | MADE,
            None => 0,
        }
    }

    /// Goes through the body once. Phis are closed, whatever meets in them: that is seen to in the end.
    fn values(&mut self, function: &Function, own: &[(usize, usize)]) {
        for (block, body) in function.blocks.iter().enumerate() {
            for (position, inst) in body.instructions.iter().enumerate() {
                let at = (block, position);
                if inst.class.opcode == Op::Store {
                    self.store(inst, at);
                }
                let Some(id) = inst.result_id.filter(|&id| self.is_float(id)) else { continue };
                let bits = self.made(inst, at, own.contains(&at));
                let hides = self.open.results.contains(&id);
                self.bits.insert(id, if hides { 0 } else { bits });
            }
        }
    }

    fn store(&mut self, inst: &Instruction, at: (usize, usize)) {
        let (Some(pointer), Some(value)) = (operand(inst, 0), operand(inst, 1)) else { return };
        let shows = self.variable(pointer).is_none_or(|variable| !self.hidden.contains(&variable));
        if shows && self.is_local(pointer) && self.is_float(value) && self.bits(value) != 0 {
            self.hide_use(value, at, 1, Place::Before);
        }
    }

    /// Hides an operand; a constant where the kernel begins.
    fn hide_use(&mut self, id: u32, at: (usize, usize), operand: usize, place: Place) {
        if self.can_be_hidden(id) && !mutant!(ChoicesAreOpen) {
            let place = if self.is_constant(id) { Place::Start } else { place };
            self.open.uses.push(OpenUse { at, operand, place });
        }
    }

    fn hide_result(&mut self, id: u32) {
        if self.can_be_hidden(id) && !mutant!(ChoicesAreOpen) {
            self.open.results.insert(id);
        }
    }

    /// What is in force of what an instruction makes.
    fn made(&mut self, inst: &Instruction, at: (usize, usize), is_own: bool) -> u8 {
        let Some(id) = inst.result_id else { return 0 };
        let floats: Vec<u32> = ids(inst).filter(|&id| self.is_float(id)).collect();
        let all = floats.iter().fold(0, |all, &id| all | self.bits(id));
        match inst.class.opcode {
            Op::Phi => match self.is_met_by_one_float(inst, at.0) {
                true => self.chosen_by_one(&floats),
                false => 0,
            },
            Op::Undef => CONSTANT | MADE,
            Op::Load => {
                let Some(pointer) = operand(inst, 0) else { return CONSTANT | MADE };
                let of = self.variable(pointer);
                let shows = self.is_local(pointer) && of.is_none_or(|of| self.hidden.contains(&of))
                    || self.stores_by_address && self.is_by_address(pointer);
                if shows || is_own {
                    self.brought_in(id, at);
                }
                0
            }
            Op::ImageRead | Op::ImageFetch => {
                if is_own || self.lacks_channels(inst) {
                    self.brought_in(id, at);
                }
                0
            }
            Op::CopyObject
            | Op::CopyLogical
            | Op::CompositeConstruct
            | Op::CompositeExtract
            | Op::CompositeInsert
            | Op::VectorShuffle
            | Op::Transpose
            | Op::FNegate => all,
            Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::VectorTimesScalar
            | Op::MatrixTimesScalar
            | Op::VectorTimesMatrix
            | Op::MatrixTimesVector
            | Op::MatrixTimesMatrix
            | Op::OuterProduct
            | Op::Dot => self.sum(inst.class.opcode, &floats),
            Op::Select => self.select(inst, at),
            Op::VectorExtractDynamic | Op::VectorInsertDynamic => {
                if all != 0 && !ids(inst).last().is_some_and(|index| self.is_constant(index)) {
                    self.hide_result(id);
                }
                all
            }
            Op::ExtInst => self.extended(inst, at, &floats),
            Op::ConvertSToF | Op::ConvertUToF | Op::Bitcast if floats.is_empty() => {
                match (self.number(inst, 0, at), inst.class.opcode) {
                    (true, Op::Bitcast) => 0,
                    (true, _) => MADE,
                    (false, _) => CONSTANT | MADE,
                }
            }
            Op::FDiv | Op::FRem | Op::FMod if self.may_be_zero(&floats) => {
                self.hide_use(floats[1], at, 1, Place::Before);
                ranged(all)
            }
            Op::FDiv => match floats[..] {
                [a, b] if self.is_constant(b) && self.is_harmless(b) => MADE | self.bits(a),
                [a, b] if self.is_constant(a) && self.is_harmless(a) => MADE | self.bits(b) & CONSTANT,
                _ => ranged(all),
            },
            _ if floats.is_empty() => 0,
            _ => ranged(all),
        }
    }

    /// Whether a compiler may know a divisor, and know that it is zero: LLVM then gives up the quotient, and each use of it may find another value.
    fn may_be_zero(&self, floats: &[u32]) -> bool {
        let is_known = |id: u32| self.is_constant(id) && self.is_harmless(id);
        matches!(*floats, [_, b] if self.bits(b) & CONSTANT != 0 && !is_known(b)) && !mutant!(ZerosDivide)
    }

    /// What memory brings in that a compiler may know: of halves that have no operation the load is volatile.
    fn brought_in(&mut self, id: u32, at: (usize, usize)) {
        if self.can_be_hidden(id) {
            if !mutant!(OwnStoresAreOpen) {
                self.open.results.insert(id);
            }
        } else if self.defined.get(&id).is_some_and(|inst| inst.class.opcode == Op::Load) {
            self.open.volatile.push(at);
        }
    }

    /// Whether a texel has fewer channels than are taken of it: those that it lacks are constants.
    fn lacks_channels(&self, inst: &Instruction) -> bool {
        let image = operand(inst, 0).and_then(|image| self.defined.get(&image));
        let ty = image.and_then(|image| self.defined.get(&image.result_type?));
        let format = ty.into_iter().flat_map(|ty| &ty.operands).find_map(|operand| match operand {
            Operand::ImageFormat(format) => Some(*format),
            _ => None,
        });
        let channels = match format {
            Some(
                ImageFormat::R32f
                | ImageFormat::R16f
                | ImageFormat::R16
                | ImageFormat::R8
                | ImageFormat::R16Snorm
                | ImageFormat::R8Snorm,
            ) => 1,
            Some(
                ImageFormat::Rg32f
                | ImageFormat::Rg16f
                | ImageFormat::Rg16
                | ImageFormat::Rg8
                | ImageFormat::Rg16Snorm
                | ImageFormat::Rg8Snorm,
            ) => 2,
            Some(ImageFormat::R11fG11fB10f) => 3,
            _ => return false,
        };
        let is_there = |user: &Instruction| match (user.class.opcode, user.operands.get(1)) {
            (Op::CompositeExtract, Some(Operand::LiteralBit32(channel))) => *channel < channels,
            _ => false,
        };
        let mut users = self.body.iter().filter(|user| ids(user).any(|id| Some(id) == inst.result_id));
        !users.all(|user| is_there(user))
    }

    /// A sum or a product of floats.
    fn sum(&self, op: Op, floats: &[u32]) -> u8 {
        let may_be = |id: &u32| self.bits(*id) & CONSTANT != 0;
        if !floats.iter().any(may_be) {
            return 0;
        }
        let is_product = !matches!(op, Op::FAdd | Op::FSub);
        let is_known = |id: &u32| self.is_constant(*id) && self.is_harmless(*id);
        let stays = floats.iter().filter(|id| may_be(id)).all(|id| !is_product || is_known(id));
        if stays && !floats.iter().all(may_be) { MADE } else { CONSTANT | MADE }
    }

    fn select(&mut self, inst: &Instruction, at: (usize, usize)) -> u8 {
        let [Some(condition), Some(yes), Some(no)] = [0, 1, 2].map(|n| operand(inst, n)) else {
            return CONSTANT | MADE;
        };
        let [a, b] = [yes, no].map(|id| self.bits(id));
        let is_among_constants = self.is_constant(yes) && self.is_constant(no);
        if a | b == 0 {
            return 0;
        }
        if !is_among_constants && self.is_of_one_float(condition) {
            return self.chosen_by_one(&[yes, no]);
        }
        let is_shown = |id: u32, bits: u8| bits != 0 && !self.is_constant(id);
        if is_shown(yes, a) || is_shown(no, b) {
            inst.result_id.into_iter().for_each(|id| self.hide_result(id));
        } else {
            for (id, number) in [(yes, 1), (no, 2)] {
                if self.is_constant(id) {
                    self.hide_use(id, at, number, Place::Start);
                }
            }
        }
        0
    }

    /// The bits of a choice that depends on one float alone. One of the floats `among` may be a constant.
    fn chosen_by_one(&self, among: &[u32]) -> u8 {
        let again = among.iter().any(|&id| !self.is_constant(id) && self.bits(id) != 0);
        match among.iter().all(|&id| self.bits(id) == 0) {
            true => 0,
            false if again => CONSTANT | MADE,
            false => MADE,
        }
    }

    /// Whether sides meet in a phi that one float each has parted, and not constants alone.
    fn is_met_by_one_float(&self, inst: &Instruction, block: usize) -> bool {
        let (function, cfg) = (self.function, &self.cfg);
        let Some(above) = cfg.idom(block) else { return false };
        let parents = inst.operands.iter().skip(1).step_by(2).filter_map(Operand::id_ref_any);
        let mut from = parents.filter_map(|label| cfg.block_of_label(label));
        let mut values = inst.operands.iter().step_by(2).filter_map(Operand::id_ref_any);
        if from.any(|from| cfg.dominates(block, from)) || values.all(|id| self.is_constant(id)) {
            return false;
        }
        (0..function.blocks.len())
            .filter(|&one| one != block && cfg.dominates(above, one) && !cfg.dominates(block, one))
            .all(|one| match function.blocks[one].instructions.last() {
                Some(last) if last.class.opcode == Op::BranchConditional => {
                    operand(last, 0).is_some_and(|id| self.is_of_one_float(id))
                }
                Some(last) => last.class.opcode != Op::Switch,
                None => true,
            })
    }

    /// An extended instruction of GLSL.std.450.
    fn extended(&mut self, inst: &Instruction, at: (usize, usize), floats: &[u32]) -> u8 {
        let all = floats.iter().fold(0, |all, &id| all | self.bits(id));
        let is_glsl = operand(inst, 0).is_some_and(|import| self.glsl.contains(&import));
        let Some(Operand::LiteralExtInstInteger(number)) = inst.operands.get(1).filter(|_| is_glsl) else {
            return ranged(all);
        };
        match number {
            // `PackDouble2x32`, and from `UnpackSnorm2x16` to `UnpackUnorm4x8`, what makes floats of one word.
            59..=64 if floats.is_empty() => {
                if self.number(inst, 2, at) {
                    MADE
                } else {
                    CONSTANT | MADE
                }
            }
            // `Ldexp`.
            53 => {
                self.number(inst, 3, at);
                ranged(all)
            }
            // `Fma`.
            50 => self.sum(Op::FMul, floats),
            // The least and the greatest are one of their operands.
            37 | 40 | 43 | 79 | 80 | 81 => {
                let constant = |id: &&u32| self.bits(**id) & CONSTANT != 0;
                let count = floats.iter().filter(constant).count();
                let made = floats.iter().any(|&id| self.bits(id) != 0 && !self.is_constant(id));
                match all {
                    0 => 0,
                    _ if count == floats.len() || count > 0 && made => CONSTANT | MADE,
                    _ => MADE,
                }
            }
            // Functions that are constant over no range: the result can be a constant only if an operand can.
            11..=32 => MADE | all & CONSTANT,
            _ => ranged(all),
        }
    }

    /// Hides the number that an instruction makes floats from, unless that follows from constants or from one float alone. Returns whether it
    /// is hidden.
    fn number(&mut self, inst: &Instruction, operand: usize, at: (usize, usize)) -> bool {
        let is_open = |number: u32| !self.is_constant(number) && !self.is_of_one_float(number);
        let hides = self::operand(inst, operand).is_none_or(is_open) && !mutant!(NumbersAreNotHidden);
        if hides {
            self.open.uses.push(OpenUse { at, operand, place: Place::Before });
        }
        hides
    }

    /// Whether a number or a condition is made of one float of the kernel and constants.
    fn is_of_one_float(&self, id: u32) -> bool {
        let (mut open, mut seen, mut leaves) = (vec![id], AHashSet::new(), 0);
        while let Some(id) = open.pop() {
            let Some(inst) = self.defined.get(&id).filter(|_| seen.insert(id)) else { continue };
            let op = inst.class.opcode;
            if is_constant(op) || inst.result_type.is_none() || op == Op::ExtInstImport {
                continue;
            }
            if opcodes::has(op, opcodes::PURE) {
                open.extend(ids(inst));
            } else if self.is_float(id) {
                leaves += 1;
            } else {
                return false;
            }
        }
        leaves <= 1
    }

    /// Hides what phis choose among.
    fn phis(&mut self, function: &Function) {
        for (block, body) in function.blocks.iter().enumerate() {
            for (position, inst) in body.instructions.iter().enumerate() {
                let Some(id) = inst.result_id.filter(|&id| self.is_float(id)) else { continue };
                if inst.class.opcode == Op::Phi && !self.is_met_by_one_float(inst, block) {
                    self.phi((inst, id), (block, position));
                }
            }
        }
    }

    fn phi(&mut self, (inst, id): (&Instruction, u32), at: (usize, usize)) {
        let parts = || {
            inst.operands.chunks(2).enumerate().filter_map(|(number, pair)| match pair {
                [value, parent] => Some((2 * number, value.id_ref_any()?, parent.id_ref_any()?)),
                _ => None,
            })
        };
        let from = |label: u32| self.cfg.block_of_label(label).unwrap_or(at.0);
        let goes_round = |parent: u32| self.cfg.dominates(at.0, from(parent));
        let is_header = parts().any(|(.., parent)| goes_round(parent));
        let is_open = |id: u32| self.bits(id) != 0 && !self.is_constant(id);
        // What goes round, or meets, is hidden where it arrives; what a loop begins with, before it.
        let arrives = |parent: u32| !is_header || goes_round(parent);
        if parts().any(|(_, value, parent)| is_open(value) && arrives(parent)) {
            self.hide_result(id);
            return;
        }
        let uses: Vec<(usize, u32, usize)> = parts()
            .filter(|&(_, value, _)| self.bits(value) != 0)
            .map(|(operand, value, parent)| (operand, value, from(parent)))
            .collect();
        for (operand, value, from) in uses {
            self.hide_use(value, at, operand, Place::End(from));
        }
    }
}

/// What an operation gives that may be a constant if what it is made of was made by another one.
fn ranged(all: u8) -> u8 {
    if all == 0 { MADE } else { CONSTANT | MADE }
}

fn operand(inst: &Instruction, at: usize) -> Option<u32> {
    inst.operands.get(at).and_then(Operand::id_ref_any)
}

fn ids(inst: &Instruction) -> impl Iterator<Item = u32> + '_ {
    inst.operands.iter().filter_map(Operand::id_ref_any)
}

fn is_constant(op: Op) -> bool {
    matches!(
        op,
        Op::Constant
            | Op::ConstantComposite
            | Op::ConstantNull
            | Op::ConstantTrue
            | Op::ConstantFalse
            | Op::SpecConstant
            | Op::SpecConstantComposite
            | Op::SpecConstantTrue
            | Op::SpecConstantFalse
            | Op::SpecConstantOp
            | Op::Undef
    )
}
