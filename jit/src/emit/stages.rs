//! Emission as one watches it: what each pass changed as text, how long it ran, and whether its module is valid.
//!
//! For snapshots, benches, and for reading what a pass did. Ids are names: types by what they are, constants by their value, variables by
//! their built-in or binding, and the values of a function by their order in it. A stage prints the functions that it changed.

use std::fmt::{self, Display, Write as _};
use std::time::Duration;

use ahash::{AHashMap, AHashSet};
use rspirv::binary::{Assemble, Disassemble};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op, Word};

use super::JitError;
use super::pipeline::Observer;
use crate::plan::Step;
use crate::plan::step::Source;

/// The code after one stage of emission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Name of the pass.
    pub name: &'static str,
    /// The functions that it added or changed.
    pub text: String,
}

impl Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "== {}\n{}", self.name, self.text)
    }
}

impl Step {
    /// Emits this step and keeps what each pass changed, in order. Passes that changed nothing are left out, and a step that runs
    /// one of the user's modules as it is has none.
    ///
    /// # Errors
    /// As [`Step::build`].
    pub fn stages(&self) -> Result<Vec<Stage>, JitError> {
        let mut stages = Vec::new();
        let mut before: AHashSet<String> = AHashSet::new();
        self.observed(&mut |after| {
            let module = after.module();
            let names = Names::of(&module);
            let functions: Vec<String> = module.functions.iter().map(|one| names.function(one)).collect();
            let new = functions.iter().filter(|function| !before.contains(*function));
            let text: String = new.map(String::as_str).collect();
            before = functions.into_iter().collect();
            if !text.is_empty() {
                stages.push(Stage { name: after.pass, text });
            }
            Ok(())
        })?;
        Ok(stages)
    }

    /// Emits this step and measures each pass, in order. Validation of the result is not one.
    ///
    /// # Errors
    /// As [`Step::build`].
    pub fn pass_times(&self) -> Result<Vec<(&'static str, Duration)>, JitError> {
        let mut times = Vec::new();
        self.observed(&mut |after| {
            times.push((after.pass, after.took));
            Ok(())
        })?;
        Ok(times)
    }

    /// Emits this step and runs spirv-val over what each pass leaves. For tests: it takes as many times as long as there are passes.
    ///
    /// # Errors
    /// As [`Step::build`]; [`JitError::pass`] is the first one whose module is not valid.
    pub fn verify_passes(&self) -> Result<(), JitError> {
        self.observed(&mut |after| {
            let words = after.finished()?.assemble();
            super::verify(&words).map_err(|error| JitError { pass: after.pass, ..error })
        })
    }

    /// Emits a fused step and shows what each pass leaves.
    fn observed(&self, observer: &mut Observer<'_>) -> Result<(), JitError> {
        if let Source::Fused { kernels, recipe } = &self.source {
            super::emit_observed(recipe, kernels, self.floats, observer)?;
        }
        Ok(())
    }
}

/// Names of everything that is declared outside of functions, and of functions.
struct Names<'a> {
    globals: AHashMap<Word, String>,
    decorations: AHashMap<Word, Vec<(Decoration, &'a [Operand])>>,
}

impl<'a> Names<'a> {
    fn of(module: &'a Module) -> Self {
        let mut decorations: AHashMap<Word, Vec<_>> = AHashMap::new();
        for inst in &module.annotations {
            if let [Operand::IdRef(id), Operand::Decoration(decoration), rest @ ..] = inst.operands.as_slice()
            {
                decorations.entry(*id).or_default().push((*decoration, rest));
            }
        }
        let mut names = Self { globals: AHashMap::new(), decorations };
        let imports = module.ext_inst_imports.iter();
        names.globals.extend(imports.filter_map(|inst| Some((inst.result_id?, "ext".to_owned()))));
        let mut taken: AHashMap<String, u32> = AHashMap::new();
        for inst in &module.types_global_values {
            let Some(id) = inst.result_id else { continue };
            let name = names.global(inst, id);
            let count = taken.entry(name.clone()).or_default();
            let name = if *count == 0 { name } else { format!("{name}_{count}") };
            *count += 1;
            names.globals.insert(id, name);
        }
        for (number, function) in module.functions.iter().enumerate() {
            names.globals.extend(function.def_id().map(|id| (id, format!("fn{number}"))));
        }
        names
    }

    /// The variable of the push constants is declared by the last stage only.
    fn name(&self, id: Word) -> String {
        self.globals.get(&id).cloned().unwrap_or_else(|| "pushconstant".to_owned())
    }

    /// What a type, constant or variable is called, apart from others of the same name.
    fn global(&self, inst: &Instruction, id: Word) -> String {
        let operand = |at: usize| match inst.operands.get(at) {
            Some(&Operand::IdRef(id)) => self.name(id),
            Some(other) => other.disassemble(),
            None => String::new(),
        };
        let ty = || inst.result_type.map(|id| self.name(id)).unwrap_or_default();
        match inst.class.opcode {
            Op::TypeVoid => "void".to_owned(),
            Op::TypeBool => "bool".to_owned(),
            Op::TypeInt if operand(1) == "0" => format!("u{}", operand(0)),
            Op::TypeInt => format!("i{}", operand(0)),
            Op::TypeFloat => format!("f{}", operand(0)),
            Op::TypeVector => format!("{}x{}", operand(0), operand(1)),
            Op::TypeArray => format!("{}_array", operand(0)),
            Op::TypeRuntimeArray => format!("{}_unsized", operand(0)),
            Op::TypeStruct => "struct".to_owned(),
            Op::TypePointer => format!("{}_{}", operand(0).to_lowercase(), operand(1)),
            Op::TypeFunction => "signature".to_owned(),
            Op::ConstantTrue => "true".to_owned(),
            Op::ConstantFalse => "false".to_owned(),
            Op::Constant => match inst.operands.first() {
                Some(&Operand::LiteralBit32(bits)) if ty() == "i32" => format!("i32_{}", bits as i32),
                Some(&Operand::LiteralBit32(bits)) if ty() == "f32" => {
                    format!("f32_{}", f32::from_bits(bits))
                }
                _ => format!("{}_{}", ty(), operand(0)),
            },
            Op::ConstantNull => format!("{}_null", ty()),
            Op::ConstantComposite => format!("{}_constant", ty()),
            Op::Undef => format!("{}_undef", ty()),
            Op::Variable => self.variable(id, &operand(0)),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    fn variable(&self, id: Word, class: &str) -> String {
        let decorations = self.decorations.get(&id).map_or(&[][..], Vec::as_slice);
        let find = |wanted| decorations.iter().find(|(decoration, _)| *decoration == wanted);
        if let Some((_, [builtin, ..])) = find(Decoration::BuiltIn) {
            return builtin.disassemble();
        }
        match find(Decoration::Binding) {
            Some((_, [binding, ..])) => format!("binding_{}", binding.disassemble()),
            _ => class.to_lowercase(),
        }
    }

    /// A function with its values numbered in order.
    fn function(&self, function: &Function) -> String {
        let mut locals: AHashMap<Word, String> = AHashMap::new();
        for (number, inst) in function.parameters.iter().enumerate() {
            locals.extend(inst.result_id.map(|id| (id, format!("p{number}"))));
        }
        let mut values = 0;
        for (number, block) in function.blocks.iter().enumerate() {
            locals.extend(
                block.label.as_ref().and_then(|label| label.result_id).map(|id| (id, format!("b{number}"))),
            );
            for id in block.instructions.iter().filter_map(|inst| inst.result_id) {
                locals.insert(id, format!("v{values}"));
                values += 1;
            }
        }
        let name = |id: &Word| locals.get(id).cloned().unwrap_or_else(|| self.name(*id));
        let id = function.def_id().unwrap_or_default();
        let mut text = format!("{}:", name(&id));
        for parameter in &function.parameters {
            let ty = parameter.result_type.map(|ty| name(&ty)).unwrap_or_default();
            write!(text, " {ty}").expect("a string takes all");
        }
        text.push('\n');
        for block in &function.blocks {
            let label = block.label.as_ref().and_then(|label| label.result_id).map(|id| name(&id));
            writeln!(text, " {}:", label.unwrap_or_default()).expect("a string takes all");
            for inst in &block.instructions {
                let result = inst.result_id.map(|id| format!("{} = ", name(&id))).unwrap_or_default();
                let ty = inst.result_type.map(|ty| format!(" {}", name(&ty))).unwrap_or_default();
                write!(text, "  {result}{}{ty}", inst.class.opname).expect("a string takes all");
                for operand in &inst.operands {
                    let operand = match operand.id_ref_any() {
                        Some(id) => name(&id),
                        None => operand.disassemble(),
                    };
                    write!(text, " {operand}").expect("a string takes all");
                }
                text.push('\n');
            }
        }
        text
    }
}
