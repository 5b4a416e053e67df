//! Expands instructions that stand for a formula.
//!
//! How a driver computes `length(v)` is its own affair: it may contract the sum of squares, in an order that depends on
//! the surrounding code (NVIDIA 580.159.04 does), and `NoContraction` says nothing about the inside of an extended instruction.
//! Expanded to products and sums, component by component from the first on, it is arithmetic like any other.
//!
//! So are sums of products that are one instruction: where a kernel does not ask for a mode of rounding, NVIDIA's compiler contracts
//! inside a matrix times a vector that carries `NoContraction` in one kernel and not in another.
//!
//! Minima and maxima become comparisons and selections. Left alone, NVIDIA's compiler flushes a denormal in `min(x, y)` that it
//! keeps once it knows that `x` and `y` are the same value; a selection moves its operand in either case. Where GLSL.std.450 leaves the
//! result open, it is the first operand for zeros of different signs, and the operand that is a number if the other is a NaN. (If it were
//! the first operand for NaNs too, `1 < x ? 1 : x` would be flushed again: NVIDIA's compiler turns such a selection back into a minimum
//! in some surroundings, and not in others.)
//!
//! | instruction | formula (GLSL.std.450) |
//! | --- | --- |
//! | `FMin`, `NMin` | `y < x ∨ isNan(x) ? y : x` |
//! | `FMax`, `NMax` | `x < y ∨ isNan(x) ? y : x` |
//! | `FClamp`, `NClamp` | `min(max(x, low), high)` |
//! | `Length` | `sqrt(x·x)`; of a scalar its absolute value |
//! | `Distance` | `Length(x − y)` |
//! | `Normalize` | `x · inverseSqrt(x·x)` |
//! | `Cross` | `(x₁y₂ − y₁x₂, x₂y₀ − y₂x₀, x₀y₁ − y₀x₁)` |
//! | `FaceForward` | `dot(r, i) < 0 ? n : −n` |
//! | `Reflect` | `i − (2 · dot(n, i)) · n` |
//! | `OpDot` | `x₀y₀ + x₁y₁ + …`, from the first on |
//! | `OpMatrixTimesVector`, `OpVectorTimesMatrix`, `OpMatrixTimesMatrix` | dot products of rows and columns |
//! | `Refract` | `k = 1 − η·η·(1 − dot(n, i)²)`; `k < 0 ? 0 : η·i − (η·dot(n, i) + sqrt(k))·n` |
//!
//! # Requires
//! - a module that is otherwise done
//!
//! # Guarantees
//! - none of these instructions is left; the result has the id that it had
//!
//! # Leaves alone
//! - the other extended instructions

mod products;
#[cfg(test)]
mod tests;
mod writer;

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{GlslStd450Op as Glsl, Op, Word};

use crate::frontend::defs::glsl_imports;
use writer::{Parts, Writer};

/// Writes out all of them.
pub(in crate::frontend) fn run(module: &mut Module) {
    let imports = glsl_imports(module);
    let is_formula =
        |inst: &Instruction| products::is_product(inst.class.opcode) || formula(inst, &imports).is_some();
    if !module.functions.iter().any(|f| f.all_inst_iter().any(is_formula)) {
        return;
    }
    let Some(mut writer) = Writer::new(module) else { return };
    let mut functions = std::mem::take(&mut module.functions);
    for block in functions.iter_mut().flat_map(|f| &mut f.blocks) {
        for inst in std::mem::take(&mut block.instructions) {
            let lines = match products::is_product(inst.class.opcode) {
                true => writer.product(&inst),
                false => formula(&inst, &imports).and_then(|(set, op)| writer.lines(&inst, set, op)),
            };
            match lines {
                Some(lines) => block.instructions.extend(lines),
                None => block.instructions.push(inst),
            }
        }
    }
    module.functions = functions;
    writer.added.finish(module);
}

/// The extended instruction set and the instruction, if that is short for a formula.
fn formula(inst: &Instruction, imports: &[Word]) -> Option<(Word, Glsl)> {
    if inst.class.opcode != Op::ExtInst {
        return None;
    }
    let [Operand::IdRef(set), Operand::LiteralExtInstInteger(number), ..] = inst.operands.as_slice() else {
        return None;
    };
    let op = imports.contains(set).then(|| Glsl::from_u32(*number))??;
    use Glsl::{Cross, Distance, FaceForward, Length, Normalize, Reflect, Refract};
    use Glsl::{FClamp, FMax, FMin, NClamp, NMax, NMin};
    let geometry = matches!(op, Length | Distance | Normalize | Cross | FaceForward | Reflect | Refract);
    let extremum = matches!(op, FMin | FMax | FClamp | NMin | NMax | NClamp);
    (geometry || extremum).then_some((*set, op))
}

impl Writer {
    /// What computes the same as `inst`, or `None` if its operands are not what they have to be.
    fn lines(&mut self, inst: &Instruction, set: Word, op: Glsl) -> Option<Vec<Instruction>> {
        self.set = set;
        let (ty, id) = (inst.result_type?, inst.result_id?);
        let arguments: Vec<Word> = inst.operands[2..].iter().filter_map(Operand::id_ref_any).collect();
        if matches!(op, Glsl::FMin | Glsl::FMax | Glsl::FClamp | Glsl::NMin | Glsl::NMax | Glsl::NClamp) {
            return self.extremum(op, ty, id, &arguments);
        }
        // Every operand before anything is written, so that nothing is left behind.
        let vectors =
            if op == Glsl::Refract { &arguments[..arguments.len().checked_sub(1)?] } else { &arguments };
        let fits = |&value: &Word| self.shape(*self.types.get(&value)?);
        let shapes: Option<Vec<(Word, u32)>> = vectors.iter().map(fits).collect();
        let shapes = shapes?;
        self.shape(ty)?;
        let wanted = match op {
            Glsl::Length | Glsl::Normalize => 1,
            Glsl::FaceForward => 3,
            _ => 2,
        };
        if shapes.len() != wanted || shapes.iter().any(|shape| *shape != shapes[0]) {
            return None;
        }
        if op == Glsl::Cross && shapes[0].1 != 3 {
            return None;
        }
        let parts: Vec<Parts> = vectors.iter().filter_map(|&value| self.parts(value)).collect();
        match (op, parts.as_slice()) {
            (Glsl::Length, [x]) => self.length(x, ty, id),
            (Glsl::Distance, [x, y]) => {
                let difference = self.each(x, |w, n, a| w.binary(Op::FSub, x.scalar, a, y.ids[n]));
                self.length(&difference, ty, id);
            }
            (Glsl::Normalize, [x]) => {
                let square = self.dot(x, x);
                let by = self.extended(Glsl::InverseSqrt, x.scalar, square);
                let scaled = self.each(x, |w, _, a| w.binary(Op::FMul, x.scalar, a, by));
                self.finish(&scaled, ty, id);
            }
            (Glsl::Cross, [x, y]) => {
                let term = |w: &mut Self, a: usize, b: usize| {
                    let first = w.binary(Op::FMul, x.scalar, x.ids[a], y.ids[b]);
                    let second = w.binary(Op::FMul, x.scalar, y.ids[a], x.ids[b]);
                    w.binary(Op::FSub, x.scalar, first, second)
                };
                let ids = vec![term(self, 1, 2), term(self, 2, 0), term(self, 0, 1)];
                self.finish(&Parts { scalar: x.scalar, ids }, ty, id);
            }
            (Glsl::FaceForward, [n, i, reference]) => {
                let dot = self.dot(reference, i);
                let is_negative = self.is_negative(n.scalar, dot);
                let faced = self.each(n, |w, _, a| {
                    let other = w.value(Op::FNegate, n.scalar, vec![Operand::IdRef(a)]);
                    w.select(n.scalar, is_negative, a, other)
                });
                self.finish(&faced, ty, id);
            }
            (Glsl::Reflect, [i, n]) => {
                let dot = self.dot(n, i);
                let two = self.constant(i.scalar, 2);
                let by = self.binary(Op::FMul, i.scalar, two, dot);
                let reflected = self.each(i, |w, at, a| {
                    let part = w.binary(Op::FMul, i.scalar, by, n.ids[at]);
                    w.binary(Op::FSub, i.scalar, a, part)
                });
                self.finish(&reflected, ty, id);
            }
            (Glsl::Refract, [i, n]) => {
                let eta = *arguments.last()?;
                self.refract(i, n, eta, ty, id);
            }
            _ => return None,
        }
        Some(std::mem::take(&mut self.lines))
    }

    /// The least or greatest of scalars, or of vectors component by component.
    fn extremum(&mut self, op: Glsl, ty: Word, id: Word, arguments: &[Word]) -> Option<Vec<Instruction>> {
        let (_, count) = self.shape(ty)?;
        if arguments.iter().any(|value| self.types.get(value) != Some(&ty)) {
            return None;
        }
        let result = match (op, arguments) {
            (Glsl::FMin | Glsl::FMax | Glsl::NMin | Glsl::NMax, &[x, y]) => {
                let boolean = self.booleans(count);
                self.one_of(op, (ty, boolean), x, y)
            }
            (Glsl::FClamp | Glsl::NClamp, &[x, low, high]) => {
                let boolean = self.booleans(count);
                let raised = self.one_of(Glsl::NMax, (ty, boolean), x, low);
                self.one_of(Glsl::NMin, (ty, boolean), raised, high)
            }
            _ => return None,
        };
        self.finish(&Parts { scalar: ty, ids: vec![result] }, ty, id);
        Some(std::mem::take(&mut self.lines))
    }

    /// `y` where it is less, or greater, or where `x` is no number; `x` elsewhere.
    fn one_of(&mut self, op: Glsl, (ty, boolean): (Word, Word), x: Word, y: Word) -> Word {
        let (less, more) = if matches!(op, Glsl::FMin | Glsl::NMin) { (y, x) } else { (x, y) };
        let is_less = self.binary(Op::FOrdLessThan, boolean, less, more);
        let is_nan = self.value(Op::IsNan, boolean, vec![Operand::IdRef(x)]);
        let condition = self.binary(Op::LogicalOr, boolean, is_less, is_nan);
        self.select(ty, condition, y, x)
    }

    fn refract(&mut self, i: &Parts, n: &Parts, eta: Word, ty: Word, id: Word) {
        let scalar = i.scalar;
        let mut eta = eta;
        // The ratio may be a float of another width than the vectors.
        if self.types.get(&eta) != Some(&scalar) {
            eta = self.value(Op::FConvert, scalar, vec![Operand::IdRef(eta)]);
        }
        let (zero, one) = (self.constant(scalar, 0), self.constant(scalar, 1));
        let dot = self.dot(n, i);
        let square = self.binary(Op::FMul, scalar, dot, dot);
        let rest = self.binary(Op::FSub, scalar, one, square);
        let eta2 = self.binary(Op::FMul, scalar, eta, eta);
        let part = self.binary(Op::FMul, scalar, eta2, rest);
        let k = self.binary(Op::FSub, scalar, one, part);
        let is_negative = self.is_negative(scalar, k);
        let root = self.extended(Glsl::Sqrt, scalar, k);
        let along = self.binary(Op::FMul, scalar, eta, dot);
        let by = self.binary(Op::FAdd, scalar, along, root);
        let refracted = self.each(i, |w, at, a| {
            let first = w.binary(Op::FMul, scalar, eta, a);
            let second = w.binary(Op::FMul, scalar, by, n.ids[at]);
            let difference = w.binary(Op::FSub, scalar, first, second);
            w.select(scalar, is_negative, zero, difference)
        });
        self.finish(&refracted, ty, id);
    }

    fn length(&mut self, x: &Parts, ty: Word, id: Word) {
        let result = match x.ids.as_slice() {
            [one] => self.extended(Glsl::FAbs, ty, *one),
            _ => {
                let square = self.dot(x, x);
                self.extended(Glsl::Sqrt, ty, square)
            }
        };
        self.finish(&Parts { scalar: ty, ids: vec![result] }, ty, id);
    }
}
