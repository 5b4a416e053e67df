//! Names of variables and lines of instructions, for findings.
//!
//! What runs is the kernel's module without debug information and with other ids. Dropping what is not
//! used leaves the instructions of functions alone, so those of the module as it was loaded are the same
//! ones, in the same order. Where they are not, nothing is known.

use crate::pipeline::check::CheckedSubmit;
use std::collections::HashMap;
use vkfuse_jit::plan::Step;

const HEADER: usize = 5;
const NAME: u16 = 5;
const STRING: u16 = 7;
const LINE: u16 = 8;
const EXT_INST_IMPORT: u16 = 11;
const EXT_INST: u16 = 12;
const ENTRY_POINT: u16 = 15;
const CONSTANT: u16 = 43;
const FUNCTION: u16 = 54;
const FUNCTION_END: u16 = 56;
const FUNCTION_CALL: u16 = 57;
const VARIABLE: u16 = 59;
const LOAD: u16 = 61;
const STORE: u16 = 62;
const COPY_MEMORY: u16 = 63;
const ACCESS_CHAIN: u16 = 65;
const IN_BOUNDS_ACCESS_CHAIN: u16 = 66;
const LABEL: u16 = 248;
const NO_LINE: u16 = 317;
const EXT_INST_WITH_FORWARD_REFS: u16 = 4433;
/// The atomic instructions with a result; the first has the code of `OpAtomicLoad`.
const ATOMIC_LOAD: u16 = 227;
const ATOMIC_STORE: u16 = 228;
const ATOMIC_XOR: u16 = 242;
const GL_COMPUTE: u32 = 5;

/// The instruction set in which newer compilers say lines, and two of its instructions.
const DEBUG_SET: &str = "NonSemantic.Shader.DebugInfo.100";
const DEBUG_SOURCE: u32 = 35;
const DEBUG_LINE: u32 = 103;

/// A line of the source text. The file is empty where the module does not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) file: String,
    pub(super) line: u32,
}

/// What the debug information says of a module that runs.
#[derive(Default)]
pub(super) struct Source {
    /// By the word of the instruction in the module that runs.
    lines: HashMap<usize, Line>,
    /// Names by the ids of the module as it was loaded.
    names: HashMap<u32, String>,
    /// From ids of variables in the module that runs to those of the module as it was loaded.
    ids: HashMap<u32, u32>,
}

impl Source {
    /// That of a submission's kernel.
    pub(super) fn of(step: &Step, checked: &CheckedSubmit) -> Source {
        let Ok(words) = step.build() else { return Source::default() };
        let kernel = &checked.kernel;
        Source::between(&words, kernel.module.words(), &kernel.entry).unwrap_or_default()
    }

    /// The line of an instruction.
    pub(super) fn line(&self, word: usize) -> Option<&Line> {
        self.lines.get(&word)
    }

    /// The id that a variable has in the module as it was loaded, if it is known.
    pub(super) fn id(&self, variable: u32) -> Option<u32> {
        self.ids.get(&variable).copied()
    }

    /// The name of a variable of the module that runs.
    pub(super) fn name(&self, variable: u32) -> Option<&str> {
        self.names.get(self.ids.get(&variable)?).map(String::as_str)
    }

    /// `None` where the two modules are not alike.
    fn between(runs: &[u32], loaded: &[u32], entry: &str) -> Option<Source> {
        let (runs, mut loaded) = (Module::of(runs), Module::of(loaded));
        let mut source = Source { names: std::mem::take(&mut loaded.names), ..Source::default() };
        let entry = *loaded.entries.iter().find(|(name, _)| name == entry).map(|(_, id)| id)?;
        let mut queue = vec![(runs.entries.first()?.1, entry)];
        let mut seen: HashMap<u32, u32> = HashMap::new();
        while let Some((ours, theirs)) = queue.pop() {
            if let Some(known) = seen.insert(ours, theirs) {
                if known != theirs {
                    return None;
                }
                continue;
            }
            let (ours, theirs) = (runs.functions.get(&ours)?, loaded.functions.get(&theirs)?);
            if ours.len() != theirs.len() {
                return None;
            }
            for (ours, theirs) in ours.iter().zip(theirs) {
                if ours.words[0] != theirs.words[0] {
                    return None;
                }
                source.lines.extend(theirs.line.clone().map(|line| (ours.at, line)));
                for operand in pointers(ours.words) {
                    source.ids.insert(ours.words[operand], theirs.words[operand]);
                }
                if ours.code() == FUNCTION_CALL && ours.words.len() > 3 {
                    queue.push((ours.words[3], theirs.words[3]));
                }
            }
        }
        Some(source)
    }
}

/// The words of an instruction that may be ids of variables.
fn pointers(words: &[u32]) -> std::ops::Range<usize> {
    let range = match (words[0] & 0xffff) as u16 {
        VARIABLE => 2..3,
        STORE | ATOMIC_STORE => 1..2,
        COPY_MEMORY => 1..3,
        LOAD | ACCESS_CHAIN | IN_BOUNDS_ACCESS_CHAIN | ATOMIC_LOAD..=ATOMIC_XOR => 3..4,
        FUNCTION_CALL => 4..words.len(),
        _ => 0..0,
    };
    if range.end <= words.len() { range } else { 0..0 }
}

/// An instruction of a function, debug information left out.
struct Inst<'a> {
    words: &'a [u32],
    /// Where it stands.
    at: usize,
    line: Option<Line>,
}

impl Inst<'_> {
    fn code(&self) -> u16 {
        (self.words[0] & 0xffff) as u16
    }
}

/// What there is to know of a module here.
#[derive(Default)]
struct Module<'a> {
    entries: Vec<(String, u32)>,
    names: HashMap<u32, String>,
    functions: HashMap<u32, Vec<Inst<'a>>>,
}

impl<'a> Module<'a> {
    /// Reads words that were read before: each instruction has a length, and stands in them.
    fn of(words: &'a [u32]) -> Module<'a> {
        let mut module = Module::default();
        let mut strings: HashMap<u32, String> = HashMap::new();
        let mut constants: HashMap<u32, u32> = HashMap::new();
        // By the id of a source of the debug set: the id of its file's name.
        let mut sources: HashMap<u32, u32> = HashMap::new();
        let (mut debug_set, mut quiet_sets): (Option<u32>, Vec<u32>) = (None, Vec::new());
        let mut function: Option<u32> = None;
        let mut line: Option<Line> = None;
        let mut at = HEADER;
        while let Some(&first) = words.get(at) {
            let length = (first >> 16).max(1) as usize;
            let Some(inst) = words.get(at..at + length) else { break };
            let operand = |n: usize| inst.get(n + 1).copied().unwrap_or(0);
            let file = |id: u32| strings.get(&id).cloned().unwrap_or_default();
            let code = (first & 0xffff) as u16;
            match code {
                NAME => {
                    let name = string(inst.get(2..).unwrap_or_default());
                    if !name.is_empty() {
                        module.names.insert(operand(0), name);
                    }
                }
                STRING => {
                    strings.insert(operand(0), string(inst.get(2..).unwrap_or_default()));
                }
                EXT_INST_IMPORT => {
                    let name = string(inst.get(2..).unwrap_or_default());
                    if name == DEBUG_SET {
                        debug_set = Some(operand(0));
                    }
                    if name.starts_with("NonSemantic.") {
                        quiet_sets.push(operand(0));
                    }
                }
                ENTRY_POINT if operand(0) == GL_COMPUTE => {
                    module.entries.push((string(inst.get(3..).unwrap_or_default()), operand(1)));
                }
                CONSTANT => {
                    constants.insert(operand(1), operand(2));
                }
                LINE => line = Some(Line { file: file(operand(0)), line: operand(1) }),
                NO_LINE => line = None,
                EXT_INST | EXT_INST_WITH_FORWARD_REFS if quiet_sets.contains(&operand(2)) => {
                    if Some(operand(2)) == debug_set {
                        match operand(3) {
                            DEBUG_SOURCE => {
                                sources.insert(operand(1), operand(4));
                            }
                            DEBUG_LINE => {
                                let file = sources.get(&operand(4)).map(|&id| file(id)).unwrap_or_default();
                                line = constants.get(&operand(5)).map(|&line| Line { file, line });
                            }
                            _ => {}
                        }
                    }
                }
                _ => {
                    match code {
                        FUNCTION => function = Some(operand(1)),
                        // A block begins without a line.
                        LABEL => line = None,
                        _ => {}
                    }
                    if let Some(id) = function {
                        let line = line.clone().filter(|line| line.line != 0);
                        module.functions.entry(id).or_default().push(Inst { words: inst, at, line });
                    }
                    if code == FUNCTION_END {
                        (function, line) = (None, None);
                    }
                }
            }
            at += length;
        }
        module
    }
}

fn string(words: &[u32]) -> String {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_le_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
