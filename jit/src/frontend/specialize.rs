//! Makes one entry point's module plain: constants final, no debug information, one entry point.
//!
//! Works on words, in front of the parser, because the parser cannot represent every
//! `OpSpecConstantOp` and has no place for `OpExecutionModeId`.
//!
//! # Requires
//! - decoration groups are expanded
//!
//! # Guarantees
//! - no `OpSpecConstant*`, no `SpecId`; every one of them is an ordinary constant
//! - one `OpEntryPoint`, named `main`, with one literal `LocalSize` mode; the `WorkgroupSize`
//!   built-in, which would override it, is an ordinary constant
//! - no debug or non-semantic instruction
//!
//! # Refuses
//! - a work-group size that is missing, zero, or not made of constants
//! - constants computed by operations that SPIR-V does not allow there for shaders

use rspirv::spirv::{Decoration, ExecutionMode, Op};

use super::error::KernelError;
use super::fold;
use super::survey::{Source, Survey};
use super::value::{Constants, Type, Value};
use super::words::{self, HEADER, Inst};

/// A module after specialization.
pub(super) struct Specialised {
    pub(super) words: Vec<u32>,
    pub(super) local_size: [u32; 3],
}

/// Applies `values` (`SpecId`, bits), sorted by id, to a validated module.
pub(super) fn apply(source: &Source<'_>, values: &[(u32, u64)]) -> Result<Specialised, KernelError> {
    let survey = Survey::of(source, values);
    let mut rewriter = Rewriter {
        source,
        survey: &survey,
        constants: Constants::default(),
        out: source.words[..HEADER].to_vec(),
        bound: source.words[3],
        mode_at: None,
    };
    for inst in words::instructions(source.words) {
        rewriter.instruction(&inst)?;
    }
    let local_size = rewriter.local_size()?;
    let Rewriter { mut out, bound, mode_at, .. } = rewriter;
    let mut mode = Vec::new();
    let operands =
        [source.entry_id, ExecutionMode::LocalSize as u32, local_size[0], local_size[1], local_size[2]];
    words::push(&mut mode, Op::ExecutionMode, &operands);
    let at = mode_at.unwrap_or(out.len());
    out.splice(at..at, mode);
    out[3] = bound;
    Ok(Specialised { words: out, local_size })
}

struct Rewriter<'a> {
    source: &'a Source<'a>,
    survey: &'a Survey,
    constants: Constants,
    out: Vec<u32>,
    bound: u32,
    /// Where the `LocalSize` mode goes: behind the entry point.
    mode_at: Option<usize>,
}

impl Rewriter<'_> {
    fn instruction(&mut self, inst: &Inst<'_>) -> Result<(), KernelError> {
        let Some(op) = inst.op() else {
            self.copy(inst);
            return Ok(());
        };
        match op {
            op if words::is_debug(op) => {}
            Op::Extension if is_reflection_extension(inst) => {}
            _ if words::is_non_semantic(inst, &self.survey.non_semantic) => {}
            Op::EntryPoint => self.entry_point(inst),
            Op::ExecutionMode | Op::ExecutionModeId => self.execution_mode(inst),
            Op::Decorate => self.decorate(inst.at(0), inst.from(1)),
            Op::DecorateId if is_reflection_decoration(inst.at(1)) => {}
            Op::DecorateString | Op::MemberDecorateString => {}
            Op::SpecConstantTrue
            | Op::SpecConstantFalse
            | Op::SpecConstant
            | Op::SpecConstantComposite
            | Op::SpecConstantOp => self.constant(inst, op)?,
            _ => {
                self.constants.learn(inst);
                self.copy(inst);
            }
        }
        Ok(())
    }

    fn copy(&mut self, inst: &Inst<'_>) {
        self.out.extend_from_slice(inst.words);
    }

    fn entry_point(&mut self, inst: &Inst<'_>) {
        let name = words::string(inst.from(2));
        let ours = inst.at(1) == self.source.entry_id
            && name.as_ref().is_some_and(|(name, _)| name == self.source.entry)
            && self.mode_at.is_none();
        if let (true, Some((_, length))) = (ours, name) {
            let mut operands = vec![inst.at(0), inst.at(1), u32::from_le_bytes(*b"main"), 0];
            operands.extend_from_slice(inst.from(2 + length));
            words::push(&mut self.out, Op::EntryPoint, &operands);
            self.mode_at = Some(self.out.len());
        }
    }

    fn execution_mode(&mut self, inst: &Inst<'_>) {
        let size = [ExecutionMode::LocalSize, ExecutionMode::LocalSizeId]
            .iter()
            .any(|mode| *mode as u32 == inst.at(1));
        if inst.at(0) == self.source.entry_id && !size {
            self.copy(inst);
        }
    }

    fn decorate(&mut self, target: u32, decoration: &[u32]) {
        let kind = decoration.first().copied().unwrap_or(u32::MAX);
        if kind == Decoration::SpecId as u32
            || (kind == Decoration::BuiltIn as u32 && Some(target) == self.survey.workgroup_size)
        {
            return;
        }
        let mut operands = vec![target];
        operands.extend_from_slice(decoration);
        words::push(&mut self.out, Op::Decorate, &operands);
    }

    fn constant(&mut self, inst: &Inst<'_>, op: Op) -> Result<(), KernelError> {
        let (ty, id) = (inst.at(0), inst.at(1));
        let value = match op {
            Op::SpecConstantOp => self.compute(inst)?,
            Op::SpecConstantComposite => Value::Parts(inst.from(2).to_vec()),
            _ => {
                self.constants.learn(inst);
                let default = self.constants.value(id).map(|(_, value)| value.clone());
                match (self.survey.given.get(&id), default) {
                    (Some(bits), Some(Value::Bool(_))) => Value::Bool(*bits != 0),
                    (Some(bits), Some(Value::Bits(_))) => Value::Bits(*bits),
                    (_, Some(default)) => default,
                    (_, None) => return Err(self.cannot(id, "a constant of unknown type")),
                }
            }
        };
        self.emit(id, ty, value);
        Ok(())
    }

    /// Writes a constant of known value and remembers it.
    fn emit(&mut self, id: u32, ty: u32, value: Value) {
        match &value {
            Value::Bool(true) => words::push(&mut self.out, Op::ConstantTrue, &[ty, id]),
            Value::Bool(false) => words::push(&mut self.out, Op::ConstantFalse, &[ty, id]),
            Value::Null => words::push(&mut self.out, Op::ConstantNull, &[ty, id]),
            Value::Parts(parts) => {
                let operands = [&[ty, id], parts.as_slice()].concat();
                words::push(&mut self.out, Op::ConstantComposite, &operands);
            }
            Value::Bits(bits) => {
                let bits = match self.constants.ty(ty) {
                    // Narrow signed numbers are stored sign-extended (SPIR-V, "Literal").
                    Some(Type::Int { width, signed: true }) => {
                        super::value::sign_extend(*bits, *width) as u64
                    }
                    _ => *bits,
                };
                let words = [ty, id, bits as u32, (bits >> 32) as u32];
                let used = if self.constants.width(ty) > 32 { 4 } else { 3 };
                words::push(&mut self.out, Op::Constant, &words[..used]);
            }
        }
        self.constants.set(id, ty, value);
    }

    fn fresh(&mut self) -> u32 {
        let id = self.bound;
        self.bound += 1;
        id
    }

    fn compute(&mut self, inst: &Inst<'_>) -> Result<Value, KernelError> {
        let (ty, id) = (inst.at(0), inst.at(1));
        let op = Op::from_u32(inst.at(2));
        let args = inst.from(3);
        let value = match op {
            Some(Op::CompositeExtract) => self.extract(args),
            Some(Op::CompositeInsert) => self.insert(ty, args),
            Some(Op::VectorShuffle) => self.shuffle(ty, args),
            Some(Op::Select) => self.select(ty, args),
            Some(Op::CopyObject) => {
                let source = args.first().and_then(|id| self.constants.value(*id));
                source.map(|(_, value)| value.clone())
            }
            Some(op) => self.componentwise(op, ty, args),
            None => None,
        };
        let name = op.map_or_else(|| format!("opcode {}", inst.at(2)), |op| format!("Op{op:?}"));
        value.ok_or_else(|| self.cannot(id, &name))
    }

    fn cannot(&self, id: u32, op: &str) -> KernelError {
        KernelError::SpecializationOp { kernel: self.source.module.to_owned(), id, op: op.to_owned() }
    }

    fn extract(&self, args: &[u32]) -> Option<Value> {
        let (first, path) = args.split_first()?;
        let (mut _ty, mut value) = self.constants.value(*first)?.clone();
        for index in path {
            value = match value {
                Value::Parts(parts) => {
                    let part = parts.get(*index as usize)?;
                    self.constants.value(*part)?.1.clone()
                }
                Value::Null => Value::Null,
                _ => return None,
            };
        }
        Some(value)
    }

    fn insert(&mut self, ty: u32, args: &[u32]) -> Option<Value> {
        let (object, rest) = args.split_first()?;
        let (composite, path) = rest.split_first()?;
        let Some((index, deeper)) = path.split_first() else {
            return Some(self.constants.value(*object)?.1.clone());
        };
        let mut parts = self.parts(*composite, ty)?;
        let slot = parts.get(*index as usize).copied()?;
        let part_type = self.constants.part_type(ty, *index)?;
        let new = if deeper.is_empty() {
            *object
        } else {
            let nested = [&[*object, slot], deeper].concat();
            let value = self.insert(part_type, &nested)?;
            let id = self.fresh();
            self.emit(id, part_type, value);
            id
        };
        parts[*index as usize] = new;
        Some(Value::Parts(parts))
    }

    /// Ids of a composite's parts; those of a null composite are made first.
    fn parts(&mut self, id: u32, ty: u32) -> Option<Vec<u32>> {
        match &self.constants.value(id)?.1 {
            Value::Parts(parts) => Some(parts.clone()),
            Value::Null => {
                let count = match self.constants.ty(ty)? {
                    Type::Vector { count, .. } => *count,
                    Type::Struct { members } => members.len() as u32,
                    _ => return None,
                };
                (0..count)
                    .map(|index| {
                        let part = self.constants.part_type(ty, index)?;
                        let id = self.fresh();
                        self.emit(id, part, Value::Null);
                        Some(id)
                    })
                    .collect()
            }
            _ => None,
        }
    }

    fn shuffle(&mut self, ty: u32, args: &[u32]) -> Option<Value> {
        let [a, b, picks @ ..] = args else {
            return None;
        };
        let mut pool = Vec::new();
        for id in [a, b] {
            let vector = self.constants.value(*id)?.0;
            pool.extend(self.parts(*id, vector)?);
        }
        let mut parts = Vec::new();
        for pick in picks {
            parts.push(match pool.get(*pick as usize) {
                Some(id) => *id,
                None => {
                    let element = self.constants.part_type(ty, 0)?;
                    let id = self.fresh();
                    self.emit(id, element, Value::Null);
                    id
                }
            });
        }
        Some(Value::Parts(parts))
    }

    fn select(&mut self, ty: u32, args: &[u32]) -> Option<Value> {
        let [condition, a, b] = args else {
            return None;
        };
        let conditions = self.constants.components(*condition)?;
        if let [single] = conditions[..] {
            let chosen = if single != 0 { a } else { b };
            return Some(self.constants.value(*chosen)?.1.clone());
        }
        let (a, b) = (self.parts(*a, ty)?, self.parts(*b, ty)?);
        let pairs = conditions.iter().zip(a.iter().zip(&b));
        let parts = pairs.map(|(c, (a, b))| if *c != 0 { *a } else { *b });
        Some(Value::Parts(parts.collect()))
    }

    fn componentwise(&mut self, op: Op, ty: u32, args: &[u32]) -> Option<Value> {
        let operand_type = self.constants.value(*args.first()?)?.0;
        let (_, operand) = self.constants.scalar(operand_type)?;
        let (element, result) = self.constants.scalar(ty)?;
        let (operand, result) = (operand.clone(), result.clone());
        let columns: Vec<Vec<u64>> =
            args.iter().map(|id| self.constants.components(*id)).collect::<Option<_>>()?;
        let length = columns[0].len();
        let mut values = Vec::with_capacity(length);
        for component in 0..length {
            let component: Vec<u64> =
                columns.iter().map(|column| column.get(component).copied()).collect::<Option<_>>()?;
            let bits = fold::scalar(op, &operand, &result, &component)?;
            values.push(match result {
                Type::Bool => Value::Bool(bits & 1 != 0),
                _ => Value::Bits(bits),
            });
        }
        if element == ty {
            return values.pop();
        }
        let mut parts = Vec::with_capacity(length);
        for value in values {
            let id = self.fresh();
            self.emit(id, element, value);
            parts.push(id);
        }
        Some(Value::Parts(parts))
    }

    /// The size of a work-group. `WorkgroupSize` wins over the execution modes (SPIR-V, "BuiltIn").
    fn local_size(&self) -> Result<[u32; 3], KernelError> {
        let problem = |what: String| KernelError::LocalSize {
            kernel: self.source.module.to_owned(),
            entry: self.source.entry.to_owned(),
            what,
        };
        let by_id = |id: u32| self.constants.bits(id).and_then(|bits| u32::try_from(bits).ok());
        let size = if let Some(id) = self.survey.workgroup_size {
            let components = self.constants.components(id);
            components
                .and_then(|components| {
                    let sizes: Option<Vec<u32>> = components.iter().map(|c| u32::try_from(*c).ok()).collect();
                    sizes?.try_into().ok()
                })
                .ok_or_else(|| problem("WorkgroupSize is not a vector of three constants".into()))?
        } else if let Some([x, y, z]) = self.survey.local_size_ids {
            match (by_id(x), by_id(y), by_id(z)) {
                (Some(x), Some(y), Some(z)) => [x, y, z],
                _ => return Err(problem("LocalSizeId names something not constant".into())),
            }
        } else if let Some(size) = self.survey.local_size {
            size
        } else {
            return Err(problem("it declares no work-group size".into()));
        };
        if size.contains(&0) {
            let [x, y, z] = size;
            return Err(problem(format!("its work-group size {x}x{y}x{z} is empty")));
        }
        Ok(size)
    }
}

/// Extensions that only bring instructions which are removed here.
fn is_reflection_extension(inst: &Inst<'_>) -> bool {
    words::is_forward_refs_extension(inst)
        || words::string(inst.from(0)).is_some_and(|(name, _)| {
            matches!(
                name.as_str(),
                "SPV_KHR_non_semantic_info"
                    | "SPV_GOOGLE_hlsl_functionality1"
                    | "SPV_GOOGLE_user_type"
                    | "SPV_GOOGLE_decorate_string"
            )
        })
}

/// Decorations that say something to tools and nothing to a driver.
fn is_reflection_decoration(kind: u32) -> bool {
    kind == Decoration::CounterBuffer as u32
}
