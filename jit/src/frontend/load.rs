//! Words into the module representation that every later stage works on.
//!
//! The parser is rspirv's; its loader is not used because it has no place for `OpExecutionModeId` and
//! for module-level instructions newer than itself.

use rspirv::binary::{Consumer, ParseAction, parse_words};
use rspirv::dr::{Block, Function, Instruction, Module, ModuleHeader};
use rspirv::grammar::reflect;
use rspirv::spirv::Op;

use super::words::{self, HEADER};

/// The parser, in the version that the manifest pins: what it does not know may be newer.
pub(super) const GRAMMAR: &str = "rspirv 0.13.0, SDK 1.4.341";

/// Decodes words that passed the input checks.
pub(crate) fn module(words: &[u32]) -> Result<Module, String> {
    let mut loader = Loader::default();
    parse_words(words, &mut loader).map_err(|state| state.to_string())?;
    Ok(loader.module)
}

#[derive(Default)]
struct Loader {
    module: Module,
    function: Option<Function>,
    block: Option<Block>,
}

fn refuse(what: &'static str) -> ParseAction {
    ParseAction::Error(what.into())
}

impl Loader {
    fn global(&mut self, inst: Instruction) {
        let module = &mut self.module;
        let list = match inst.class.opcode {
            Op::Capability => &mut module.capabilities,
            Op::Extension => &mut module.extensions,
            Op::ExtInstImport => &mut module.ext_inst_imports,
            Op::EntryPoint => &mut module.entry_points,
            Op::ExecutionMode | Op::ExecutionModeId => &mut module.execution_modes,
            Op::MemoryModel => {
                module.memory_model = Some(inst);
                return;
            }
            op if op.is_annotation() => &mut module.annotations,
            _ => &mut module.types_global_values,
        };
        list.push(inst);
    }

    fn local(&mut self, mut function: Function, inst: Instruction) -> ParseAction {
        match inst.class.opcode {
            Op::FunctionParameter if self.block.is_none() => function.parameters.push(inst),
            Op::FunctionEnd if self.block.is_none() => {
                function.end = Some(inst);
                self.module.functions.push(function);
                return ParseAction::Continue;
            }
            Op::Label if self.block.is_none() => {
                self.block = Some(Block { label: Some(inst), instructions: Vec::new() });
            }
            op => {
                let Some(block) = &mut self.block else {
                    return refuse("an instruction stands outside of a block");
                };
                if matches!(op, Op::Label | Op::FunctionEnd | Op::FunctionParameter) {
                    return refuse("a block has no terminator");
                }
                block.instructions.push(inst);
                if reflect::is_block_terminator(op) {
                    function.blocks.extend(self.block.take());
                }
            }
        }
        self.function = Some(function);
        ParseAction::Continue
    }
}

impl Consumer for Loader {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        if self.function.is_some() {
            return refuse("a function has no end");
        }
        ParseAction::Continue
    }

    fn consume_header(&mut self, header: ModuleHeader) -> ParseAction {
        self.module.header = Some(header);
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, inst: Instruction) -> ParseAction {
        if let Some(function) = self.function.take() {
            return self.local(function, inst);
        }
        if inst.class.opcode == Op::Function {
            self.function = Some(Function { def: Some(inst), ..Function::default() });
        } else if matches!(inst.class.opcode, Op::Label | Op::FunctionEnd | Op::FunctionParameter)
            || !self.module.functions.is_empty()
        {
            return refuse("an instruction stands outside of a function");
        } else {
            self.global(inst);
        }
        ParseAction::Continue
    }
}

/// A copy of a module's words that the parser can decode, for checking that it can: without debug
/// text, which need not be UTF-8, and with undefined values in the place of every `OpSpecConstantOp`, since the parser
/// does not know all forms of that.
pub(super) fn decodable(words: &[u32]) -> Vec<u32> {
    let words = words::without_debug(words);
    let mut out = words[..HEADER].to_vec();
    for inst in words::instructions(&words) {
        match inst.op() {
            Some(Op::DecorateString | Op::MemberDecorateString | Op::EntryPoint) => {}
            Some(Op::SpecConstantOp) => {
                words::push(&mut out, Op::Undef, &[inst.at(0), inst.at(1)]);
            }
            _ => out.extend_from_slice(inst.words),
        }
    }
    out
}
