//! Source lines of the accesses of a module, from its debug information.
//!
//! Accesses lose their lines on the way to the normal form, so the lines are found in the user's module: each binding has those of
//! all instructions that read, or write, through it. Often that is one line. Loops are identified by their order.

use ahash::AHashMap;
use rspirv::spirv::{Op, StorageClass};

use super::opcodes::{ATOMIC, has};
use super::set_binding::SetBinding;
use super::words::{Declarations, Inst, instructions, string};

/// Where the source text has the accesses and the loops of a module.
#[derive(Default)]
pub(crate) struct Lines {
    /// By binding and by whether they write, each once and ascending.
    pub(crate) accesses: AHashMap<(SetBinding, bool), Vec<u32>>,
    /// The line of each loop, in the order of the module; 0 if it is unknown.
    pub(crate) loops: Vec<u32>,
}

/// The instruction set in which newer compilers say lines, and the number of that instruction.
const DEBUG_SET: &str = "NonSemantic.Shader.DebugInfo.100";
const DEBUG_LINE: u32 = 103;

/// The lines of all accesses of a module.
pub(crate) fn of(words: &[u32]) -> Lines {
    let mut walk = Walk::new(Declarations::of(words));
    for inst in instructions(words) {
        walk.instruction(&inst);
    }
    for lines in walk.lines.accesses.values_mut() {
        lines.sort_unstable();
        lines.dedup();
    }
    walk.lines
}

struct Walk<'a> {
    declared: Declarations<'a>,
    /// Pointers into bindings, and handles of images.
    roots: AHashMap<u32, SetBinding>,
    /// Those pointers that lead to handles.
    handles: Vec<u32>,
    debug_set: Option<u32>,
    /// The current line; 0 if it is unknown.
    line: u32,
    /// The latest line of the current function.
    latest: u32,
    lines: Lines,
}

impl<'a> Walk<'a> {
    fn new(declared: Declarations<'a>) -> Self {
        let (mut roots, mut handles) = (AHashMap::new(), Vec::new());
        for variable in &declared.variables {
            let (id, class) = (variable.at(1), variable.at(2));
            let is_handle = class == StorageClass::UniformConstant as u32;
            let is_buffer =
                class == StorageClass::StorageBuffer as u32 || class == StorageClass::Uniform as u32;
            if let Some(at) = declared.place(id).filter(|_| is_handle || is_buffer) {
                roots.insert(id, at);
                handles.extend(is_handle.then_some(id));
            }
        }
        Self { declared, roots, handles, debug_set: None, line: 0, latest: 0, lines: Lines::default() }
    }

    fn instruction(&mut self, inst: &Inst<'_>) {
        let Some(op) = inst.op() else { return };
        match op {
            Op::ExtInstImport if string(inst.from(1)).is_some_and(|(name, _)| name == DEBUG_SET) => {
                self.debug_set = Some(inst.at(0));
            }
            Op::Line => self.said(inst.at(1)),
            Op::Function => self.latest = 0,
            // A block begins without a line; what leads to it has said one.
            Op::LoopMerge => self.lines.loops.push(if self.line == 0 { self.latest } else { self.line }),
            Op::ExtInst | Op::ExtInstWithForwardRefsKHR
                if Some(inst.at(2)) == self.debug_set && inst.at(3) == DEBUG_LINE =>
            {
                if let Some(line) = self.declared.constant(inst.at(5)) {
                    self.said(line);
                }
            }
            Op::NoLine | Op::Label | Op::FunctionEnd => self.line = 0,
            Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject | Op::Image | Op::SampledImage => {
                self.passes_on(inst);
            }
            Op::Load if self.handles.contains(&inst.at(2)) => self.passes_on(inst),
            Op::Load | Op::ImageRead | Op::ImageFetch | Op::ImageSampleExplicitLod => {
                self.touch(inst.at(2), false)
            }
            Op::Store | Op::ImageWrite | Op::AtomicStore => self.touch(inst.at(0), true),
            op if has(op, ATOMIC) => {
                self.touch(inst.at(2), false);
                self.touch(inst.at(2), true);
            }
            _ => {}
        }
    }

    fn said(&mut self, line: u32) {
        (self.line, self.latest) = (line, line);
    }

    /// The result stands for what the first operand does.
    fn passes_on(&mut self, inst: &Inst<'_>) {
        if let Some(&at) = self.roots.get(&inst.at(2)) {
            self.roots.insert(inst.at(1), at);
        }
    }

    fn touch(&mut self, id: u32, writes: bool) {
        if let Some(&at) = self.roots.get(&id).filter(|_| self.line != 0) {
            self.lines.accesses.entry((at, writes)).or_default().push(self.line);
        }
    }
}
