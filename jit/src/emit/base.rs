//! Work-group ids that start elsewhere than at zero, written into a module that runs unfused.
//!
//! `vkCmdDispatchBase` would do the same. NVIDIA 580.159.04 forgets the base, though, where the device has a pipeline of the
//! same module that was made without `DISPATCH_BASE`: the first work-groups run instead. So the base is part of the code,
//! and another base is another pipeline.

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, Word};

use super::JitError;
use crate::frontend::additions::Additions;

/// Adds `base` work-groups of `local_size` invocations to every id that is loaded.
///
/// # Errors
/// A module that does something else with a pointer to an id than to load it, all of it or a component.
pub(super) fn start_at(module: &mut Module, base: [u32; 3], local_size: [u32; 3]) -> Result<(), JitError> {
    let mut first: AHashMap<Word, [u32; 3]> = AHashMap::new();
    for inst in &module.annotations {
        let [Operand::IdRef(id), Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(builtin)] =
            inst.operands.as_slice()
        else {
            continue;
        };
        let by = match builtin {
            BuiltIn::WorkgroupId => [1; 3],
            BuiltIn::GlobalInvocationId => local_size,
            _ => continue,
        };
        first.insert(*id, std::array::from_fn(|axis| base[axis].wrapping_mul(by[axis])));
    }
    let pointers = Pointers::find(module, first)?;
    let mut writer = Writer::new(module)?;
    let mut functions = std::mem::take(&mut module.functions);
    for block in functions.iter_mut().flat_map(|function| &mut function.blocks) {
        for mut inst in std::mem::take(&mut block.instructions) {
            let from = inst.operands.first().and_then(Operand::id_ref_any);
            let place = from.filter(|_| inst.class.opcode == Op::Load).and_then(|id| pointers.0.get(&id));
            let (Some(place), Some(ty), Some(result)) = (place, inst.result_type, inst.result_id) else {
                block.instructions.push(inst);
                continue;
            };
            let loaded = writer.added.fresh();
            inst.result_id = Some(loaded);
            block.instructions.push(inst);
            let (by, line) = writer.first(place, ty)?;
            block.instructions.extend(line);
            let operands = vec![Operand::IdRef(loaded), Operand::IdRef(by)];
            block.instructions.push(Instruction::new(Op::IAdd, Some(ty), Some(result), operands));
        }
    }
    module.functions = functions;
    writer.added.finish(module);
    Ok(())
}

/// What a pointer leads to.
#[derive(Clone, Debug)]
enum Place {
    /// All three numbers, which start at these.
    All([u32; 3]),
    /// The component whose number has this id.
    One([u32; 3], Word),
}

/// Every pointer to an id, or to a component of one.
struct Pointers(AHashMap<Word, Place>);

impl Pointers {
    fn find(module: &Module, first: AHashMap<Word, [u32; 3]>) -> Result<Pointers, JitError> {
        let mut found: AHashMap<Word, Place> =
            first.into_iter().map(|(id, first)| (id, Place::All(first))).collect();
        let other = |inst: &Instruction| {
            Err(JitError::new("base", format!("Op{:?} of a pointer to a work-group's id", inst.class.opcode)))
        };
        for inst in module.functions.iter().flat_map(|function| function.all_inst_iter()) {
            let used = |id: &Word| found.contains_key(id);
            if !inst.operands.iter().filter_map(Operand::id_ref_any).any(|id| used(&id)) {
                continue;
            }
            let place = match inst.operands.as_slice() {
                [Operand::IdRef(from), ..] => found.get(from).cloned(),
                _ => None,
            };
            match (inst.class.opcode, place, inst.operands.as_slice()) {
                (Op::Load, Some(_), _) => {}
                (Op::CopyObject, Some(place), _) => {
                    inst.result_id.map(|id| found.insert(id, place));
                }
                (
                    Op::AccessChain | Op::InBoundsAccessChain,
                    Some(Place::All(first)),
                    [_, Operand::IdRef(component)],
                ) => {
                    inst.result_id.map(|id| found.insert(id, Place::One(first, *component)));
                }
                _ => return other(inst),
            }
        }
        Ok(Pointers(found))
    }
}

/// New constants.
struct Writer {
    added: Additions,
    /// Component type of each vector type.
    vectors: AHashMap<Word, Word>,
    /// The three numbers of a constant's vector type.
    vector_of: AHashMap<Word, Word>,
    /// Values of integer constants.
    values: AHashMap<Word, u32>,
    made: AHashMap<(Word, [u32; 3]), Word>,
}

impl Writer {
    fn new(module: &Module) -> Result<Writer, JitError> {
        let added = Additions::to(module);
        let mut writer = Writer {
            added: added.ok_or_else(|| JitError::new("base", "a module without a header"))?,
            vectors: AHashMap::new(),
            vector_of: AHashMap::new(),
            values: AHashMap::new(),
            made: AHashMap::new(),
        };
        for inst in &module.types_global_values {
            match (inst.class.opcode, inst.result_id, inst.operands.as_slice()) {
                (Op::TypeVector, Some(id), [Operand::IdRef(scalar), Operand::LiteralBit32(3)]) => {
                    writer.vectors.insert(id, *scalar);
                    writer.vector_of.insert(*scalar, id);
                }
                (Op::Constant, Some(id), [Operand::LiteralBit32(value)]) => {
                    writer.values.insert(id, *value);
                }
                _ => {}
            }
        }
        Ok(writer)
    }

    /// What to add to a value of a type that was loaded from a place, and the instruction that makes it if it is no constant.
    fn first(&mut self, place: &Place, ty: Word) -> Result<(Word, Option<Instruction>), JitError> {
        let unknown = || JitError::new("base", "an id of another type than three integers");
        match place {
            Place::All(first) => {
                let scalar = *self.vectors.get(&ty).ok_or_else(unknown)?;
                Ok((self.three(ty, scalar, *first), None))
            }
            Place::One(first, component) => {
                if let Some(&axis) = self.values.get(component) {
                    let value = *first.get(axis as usize).ok_or_else(unknown)?;
                    return Ok((self.one(ty, value), None));
                }
                let vector = *self.vector_of.get(&ty).ok_or_else(unknown)?;
                let all = self.three(vector, ty, *first);
                let id = self.added.fresh();
                let operands = vec![Operand::IdRef(all), Operand::IdRef(*component)];
                let line = Instruction::new(Op::VectorExtractDynamic, Some(ty), Some(id), operands);
                Ok((id, Some(line)))
            }
        }
    }

    fn one(&mut self, ty: Word, value: u32) -> Word {
        if let Some(&known) = self.made.get(&(ty, [value; 3])) {
            return known;
        }
        let id = self.added.global(Op::Constant, Some(ty), vec![Operand::LiteralBit32(value)]);
        self.made.insert((ty, [value; 3]), id);
        id
    }

    fn three(&mut self, vector: Word, scalar: Word, values: [u32; 3]) -> Word {
        if let Some(&known) = self.made.get(&(vector, values)) {
            return known;
        }
        let parts = values.map(|value| Operand::IdRef(self.one(scalar, value)));
        let id = self.added.global(Op::ConstantComposite, Some(vector), parts.to_vec());
        self.made.insert((vector, values), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use rspirv::binary::Assemble;
    use spirv_tools::TargetEnv;
    use spirv_tools::assembler::{Assembler, AssemblerOptions, create};

    use super::*;
    use crate::frontend::{load, tools};

    /// Writes one number for each use of an id.
    fn kernel(body: &str) -> Module {
        let text = format!(
            "OpCapability Shader\nOpMemoryModel Logical GLSL450\n\
             OpEntryPoint GLCompute %main \"main\" %group %item %local\nOpExecutionMode %main LocalSize 8 2 1\n\
             OpDecorate %group BuiltIn WorkgroupId\nOpDecorate %item BuiltIn GlobalInvocationId\n\
             OpDecorate %local BuiltIn LocalInvocationId\n\
             %void = OpTypeVoid\n%fn = OpTypeFunction %void\n%u = OpTypeInt 32 0\n%v = OpTypeVector %u 3\n\
             %pv = OpTypePointer Input %v\n%pu = OpTypePointer Input %u\n%pf = OpTypePointer Function %v\n\
             %n0 = OpConstant %u 0\n%n1 = OpConstant %u 1\n\
             %group = OpVariable %pv Input\n%item = OpVariable %pv Input\n%local = OpVariable %pv Input\n\
             %main = OpFunction %void None %fn\n%entry = OpLabel\n{body}\nOpReturn\nOpFunctionEnd\n"
        );
        let assembler = create(Some(TargetEnv::Vulkan_1_1));
        let words = assembler.assemble(&text, AssemblerOptions::default()).expect("text that assembles");
        load::module(words.as_words()).expect("a module")
    }

    fn after(body: &str) -> Result<String, JitError> {
        let mut module = kernel(body);
        start_at(&mut module, [5, 6, 7], [8, 2, 1])?;
        tools::validate(&module.assemble()).expect("a valid module");
        let lines = module.functions[0].blocks[0].instructions.iter();
        let names: Vec<String> = lines.map(|inst| format!("{:?}", inst.class.opcode)).collect();
        let constants = module.types_global_values.iter().filter_map(|inst| match inst.operands.as_slice() {
            [Operand::LiteralBit32(value)] if inst.class.opcode == Op::Constant => Some(value.to_string()),
            _ => None,
        });
        Ok(format!("{} | {}", names.join(" "), constants.skip(2).collect::<Vec<_>>().join(" ")))
    }

    #[test]
    fn all_of_an_id_and_its_components_start_at_the_base() {
        assert_eq!(after("%a = OpLoad %v %group").unwrap(), "Load IAdd Return | 5 6 7");
        assert_eq!(after("%a = OpLoad %v %item").unwrap(), "Load IAdd Return | 40 12 7");
        assert_eq!(
            after("%p = OpAccessChain %pu %item %n1\n%a = OpLoad %u %p").unwrap(),
            "AccessChain Load IAdd Return | 12"
        );
        let dynamic = "%k = OpIAdd %u %n0 %n1\n%p = OpAccessChain %pu %group %k\n%a = OpLoad %u %p";
        assert_eq!(after(dynamic).unwrap(), "IAdd AccessChain Load VectorExtractDynamic IAdd Return | 5 6 7");
    }

    #[test]
    fn other_ids_stay() {
        assert_eq!(after("%a = OpLoad %v %local").unwrap(), "Load Return | ");
    }

    #[test]
    fn a_pointer_that_goes_elsewhere_is_refused() {
        let copied = "%to = OpVariable %pf Function\nOpCopyMemory %to %group";
        assert!(after(copied).unwrap_err().detail.contains("CopyMemory"));
    }
}
