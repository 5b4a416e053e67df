//! Random SPIR-V assembly, for what GLSL cannot say: phis, selected indices, copies of pointers, switches of odd widths,
//! cases that fall into the next, blocks in any order that dominance allows.

use std::fmt::Write as _;

use crate::compile::{self, Treatment};
use crate::place::Family;
use crate::pool::{self, PoolKernel, Port, Source};
use crate::random::Random;
use crate::theme::Theme;

/// A kernel of a theme.
pub(crate) fn source(random: &mut Random, theme: &Theme) -> Result<PoolKernel, String> {
    let treatment = Treatment::random(random);
    let homes = [random.below(theme.blocks.len()), random.below(theme.blocks.len())];
    let text = text(random, theme);
    let words = compile::assemble(&text, &treatment)
        .map_err(|error| format!("{error}\n{}\n{text}", treatment.name()))?;
    let (module, entry) =
        pool::load(&words).map_err(|error| format!("{error}\n{}\n{text}", treatment.name()))?;
    let port = |binding: u32| Port {
        set: 0,
        binding,
        home: homes[binding as usize],
        uniform: false,
        writes: binding == 1,
        header: 0,
        least: 4,
        step: Some(4),
    };
    Ok(PoolKernel {
        source: Source::Assembly { text, treatment },
        words,
        module,
        entry,
        ports: vec![port(0), port(1)],
        local: theme.local,
        two_dimensions: false,
        share: (1, 1),
        constant: false,
        features: vec!["SPIR-V assembly"],
    })
}

struct Block {
    label: String,
    /// A block that has to stand before.
    after: Option<String>,
    lines: Vec<String>,
}

struct Assembly<'a> {
    random: &'a mut Random,
    family: Family,
    other: Family,
    next: u32,
    done: Vec<Block>,
    open: Block,
    /// Words that are known here.
    words: Vec<String>,
    depth: u32,
    budget: u32,
}

const HEAD: &str = "OpCapability Shader
OpCapability Int64
OpCapability Int16
%glsl = OpExtInstImport \"GLSL.std.450\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %gid
";

const TYPES: &str = "OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpMemberDecorate %pushed 0 Offset 0
OpMemberDecorate %pushed 1 Offset 4
OpMemberDecorate %pushed 2 Offset 8
OpMemberDecorate %pushed 3 Offset 12
OpMemberDecorate %pushed 4 Offset 16
OpDecorate %pushed Block
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%u = OpTypeInt 32 0
%i = OpTypeInt 32 1
%u16 = OpTypeInt 16 0
%u64 = OpTypeInt 64 0
%f = OpTypeFloat 32
%u3 = OpTypeVector %u 3
%pair = OpTypeStruct %u %u
%array = OpTypeRuntimeArray %u
%block = OpTypeStruct %array
%pushed = OpTypeStruct %u %u %u %u %f
%p_block = OpTypePointer StorageBuffer %block
%p_u = OpTypePointer StorageBuffer %u
%p_pushed = OpTypePointer PushConstant %pushed
%pp_u = OpTypePointer PushConstant %u
%p_u3 = OpTypePointer Input %u3
%in = OpVariable %p_block StorageBuffer
%out = OpVariable %p_block StorageBuffer
%push = OpVariable %p_pushed PushConstant
%gid = OpVariable %p_u3 Input
";

fn text(random: &mut Random, theme: &Theme) -> String {
    let pick = |random: &mut Random| {
        let mut family = *random.pick(&theme.families);
        if random.percent(15) {
            family = family.perturbed(random);
        }
        family
    };
    let (family, other) = (pick(random), pick(random));
    let open = Block { label: "entry".to_owned(), after: None, lines: Vec::new() };
    let budget = random.between(3, 9);
    let mut code = Assembly {
        random,
        family,
        other,
        next: 0,
        done: Vec::new(),
        open,
        words: Vec::new(),
        depth: 0,
        budget,
    };
    code.begin();
    while code.budget > 0 {
        code.step();
    }
    code.store();
    code.open.lines.push("OpReturn".to_owned());
    let last =
        std::mem::replace(&mut code.open, Block { label: String::new(), after: None, lines: Vec::new() });
    code.done.push(last);
    let Assembly { random, done, .. } = code;
    let blocks = order(random, done);
    let [x, y, z] = theme.local;
    let mut text = format!("{HEAD}OpExecutionMode %main LocalSize {x} {y} {z}\n{TYPES}");
    for number in 0..129u32 {
        let _ = writeln!(text, "%c{number} = OpConstant %u {number}");
    }
    text.push_str("%main = OpFunction %void None %fn\n");
    for block in blocks {
        let _ = writeln!(text, "%{} = OpLabel", block.label);
        block.lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text.push_str("OpFunctionEnd\n");
    text
}

/// Some order in which every block stands behind the one it has to.
fn order(random: &mut Random, mut left: Vec<Block>) -> Vec<Block> {
    let mut out: Vec<Block> = vec![left.remove(left.iter().position(|b| b.after.is_none()).unwrap_or(0))];
    let wild = random.percent(60);
    while !left.is_empty() {
        let ready: Vec<usize> = (0..left.len())
            .filter(|&n| out.iter().any(|o| Some(&o.label) == left[n].after.as_ref()))
            .collect();
        let Some(&first) = ready.first() else {
            out.append(&mut left);
            break;
        };
        let at = if wild { *random.pick(&ready) } else { first };
        out.push(left.remove(at));
    }
    out
}

impl Assembly<'_> {
    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    fn label(&mut self) -> String {
        self.next += 1;
        format!("l{}", self.next)
    }

    fn value(&mut self, ty: &str, rest: &str) -> String {
        let id = self.fresh();
        let (op, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        self.open.lines.push(format!("%{id} = {op} %{ty} {operands}"));
        id
    }

    fn word(&mut self, rest: &str) -> String {
        self.value("u", rest)
    }

    fn pushed(&mut self, member: u32) -> String {
        let pointer = self.value("pp_u", &format!("OpAccessChain %push %c{member}"));
        self.word(&format!("OpLoad %{pointer}"))
    }

    fn begin(&mut self) {
        let gid = self.value("u3", "OpLoad %gid");
        let g = self.fresh();
        self.open.lines.push(format!("%{g} = OpCompositeExtract %u %{gid} 0"));
        self.open.lines.push(format!("%g = OpCopyObject %u %{g}"));
        for (name, member) in [("n", 0), ("m", 1), ("s", 2)] {
            let value = self.pushed(member);
            self.open.lines.push(format!("%{name} = OpCopyObject %u %{value}"));
        }
        let pointer = self.value("p_u", "OpAccessChain %in %c0 %c1");
        let loaded = self.word(&format!("OpLoad %{pointer}"));
        self.open.lines.push(format!("%cell = OpBitwiseAnd %u %{loaded} %c7"));
        self.words = ["g", "m", "cell"].map(str::to_owned).to_vec();
    }

    /// Ends the open block with these lines, and begins another.
    fn close(&mut self, lines: &[String], label: String, after: Option<String>) {
        self.open.lines.extend_from_slice(lines);
        let after = Some(after.unwrap_or_else(|| self.open.label.clone()));
        let block = std::mem::replace(&mut self.open, Block { label, after, lines: Vec::new() });
        self.done.push(block);
    }

    fn any(&mut self) -> String {
        let recent = self.words.len().min(6);
        let at = self.words.len() - 1 - self.random.below(recent);
        if self.random.percent(15) { format!("c{}", self.random.below(17)) } else { self.words[at].clone() }
    }

    fn compute(&mut self) -> String {
        let (a, b) = (self.any(), self.any());
        match self.random.below(12) {
            0..=5 => {
                let op = self.random.one(&["OpIAdd", "OpIMul", "OpBitwiseXor", "OpISub", "OpBitwiseAnd"]);
                self.word(&format!("{op} %{a} %{b}"))
            }
            6 => {
                let both = self.value("pair", &format!("OpUMulExtended %{a} %{b}"));
                let part = self.random.below(2);
                self.word(&format!("OpCompositeExtract %{both} {part}"))
            }
            7 => {
                let cond = self.condition();
                self.word(&format!("OpSelect %{cond} %{a} %{b}"))
            }
            8 => self.word(&format!("OpCopyObject %{a}")),
            9 => {
                let bits = self.random.between(1, 9);
                self.word(&format!("OpBitFieldUExtract %{a} %c2 %c{bits}"))
            }
            10 => {
                let wide = self.value("u64", &format!("OpUConvert %{a}"));
                let product = self.value("u64", &format!("OpIMul %{wide} %{wide}"));
                self.word(&format!("OpUConvert %{product}"))
            }
            _ => self.word(&format!("OpExtInst %glsl UMin %{a} %{b}")),
        }
    }

    fn condition(&mut self) -> String {
        match self.random.below(5) {
            0 | 1 => self.value("bool", "OpULessThan %g %n"),
            2 => {
                let a = self.any();
                let low = self.word(&format!("OpBitwiseAnd %{a} %c3"));
                let c = self.random.below(4);
                self.value("bool", &format!("OpIEqual %{low} %c{c}"))
            }
            3 => self.value("bool", "OpUGreaterThanEqual %cell %c3"),
            _ => {
                let (a, b) = (self.any(), self.any());
                let op = self.random.one(&["OpULessThan", "OpSLessThan", "OpINotEqual"]);
                self.value("bool", &format!("{op} %{a} %{b}"))
            }
        }
    }

    fn index(&mut self, family: Family) -> String {
        let scaled = |code: &mut Self, c: u32, id: &str| code.word(&format!("OpIMul %{id} %c{c}"));
        let base = match family {
            Family::Shifted(c) => self.word(&format!("OpIAdd %g %c{c}")),
            Family::Blocked(c) => scaled(self, c, "g"),
            Family::Reversed => {
                let last = self.word("OpISub %s %c1");
                self.word(&format!("OpISub %{last} %g"))
            }
            Family::Xor(c) => self.word(&format!("OpBitwiseXor %g %c{c}")),
            Family::TakenApart(c) => {
                let (row, rest) =
                    (self.word(&format!("OpUDiv %g %c{c}")), self.word(&format!("OpUMod %g %c{c}")));
                let start = scaled(self, c, &row);
                self.word(&format!("OpIAdd %{start} %{rest}"))
            }
            Family::Cell(a, b) => {
                let (x, y) = (scaled(self, a, "cell"), scaled(self, b, "g"));
                self.word(&format!("OpIAdd %{x} %{y}"))
            }
            Family::Transposed(c) => {
                let (row, rest) =
                    (self.word(&format!("OpUDiv %g %c{c}")), self.word(&format!("OpUMod %g %c{c}")));
                let start = scaled(self, 20, &rest);
                self.word(&format!("OpIAdd %{start} %{row}"))
            }
            _ => "g".to_owned(),
        };
        match self.random.below(8) {
            0..=4 => base,
            5 => {
                // One of two, which are the same on most ways.
                let cond = self.condition();
                let more = self.word(&format!("OpIAdd %{base} %c112"));
                self.word(&format!("OpSelect %{cond} %{base} %{more}"))
            }
            _ => {
                let j = self.random.below(4);
                let offset = self.word(&format!("OpIMul %c112 %c{j}"));
                self.word(&format!("OpIAdd %{base} %{offset}"))
            }
        }
    }

    fn pointer(&mut self, variable: &str, family: Family) -> String {
        let index = self.index(family);
        let mut pointer = self.value("p_u", &format!("OpAccessChain %{variable} %c0 %{index}"));
        if self.random.percent(25) {
            pointer = self.value("p_u", &format!("OpCopyObject %{pointer}"));
        }
        pointer
    }

    fn load(&mut self) {
        let own = self.random.percent(25);
        let (variable, family) = if own { ("out", self.family) } else { ("in", self.other) };
        let pointer = self.pointer(variable, family);
        let value = self.word(&format!("OpLoad %{pointer}"));
        self.words.push(value);
    }

    fn store(&mut self) {
        let value = self.any();
        let pointer = self.pointer("out", self.family);
        self.open.lines.push(format!("OpStore %{pointer} %{value}"));
    }

    fn step(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        let deep = self.depth >= 3;
        match self.random.below(if deep { 9 } else { 16 }) {
            0..=3 => self.load(),
            4 | 5 => {
                let value = self.compute();
                self.words.push(value);
            }
            6..=8 => self.store(),
            9 | 10 => self.selection(),
            11 => self.guard(),
            12 | 13 => self.repeat(),
            _ => self.switch(),
        }
    }

    fn inside(&mut self, most: u32) {
        self.depth += 1;
        for _ in 0..self.random.between(1, most) {
            self.step();
        }
        self.depth -= 1;
    }

    /// `if (…) return;`, or the same the other way round.
    fn guard(&mut self) {
        let cond = self.condition();
        let (out, on) = (self.label(), self.label());
        let branch = if self.random.percent(50) {
            format!("OpBranchConditional %{cond} %{on} %{out}")
        } else {
            format!("OpBranchConditional %{cond} %{out} %{on}")
        };
        let header = self.open.label.clone();
        self.close(&[format!("OpSelectionMerge %{on} None"), branch], out, None);
        self.close(&["OpReturn".to_owned()], on, Some(header));
    }

    /// Two arms and a phi.
    fn selection(&mut self) {
        let cond = self.condition();
        let [yes, no, end] = [self.label(), self.label(), self.label()];
        let header = self.open.label.clone();
        let known = self.words.len();
        let lines =
            [format!("OpSelectionMerge %{end} None"), format!("OpBranchConditional %{cond} %{yes} %{no}")];
        self.close(&lines, yes, None);
        self.inside(3);
        let (a, from_a) = (self.any(), self.open.label.clone());
        self.words.truncate(known);
        self.close(&[format!("OpBranch %{end}")], no, Some(header.clone()));
        self.inside(2);
        let (b, from_b) = (self.any(), self.open.label.clone());
        self.words.truncate(known);
        self.close(&[format!("OpBranch %{end}")], end, Some(header));
        let phi = self.word(&format!("OpPhi %{a} %{from_a} %{b} %{from_b}"));
        self.words.push(phi);
    }

    /// A loop with two phis, tested before, in the middle or behind.
    fn repeat(&mut self) {
        let [header, body, next, end] = [self.label(), self.label(), self.label(), self.label()];
        let before = self.open.label.clone();
        let (start, limit) = (self.any(), self.random.one(&["c3", "c4", "c2"]).to_owned());
        let limit = match self.random.below(20) {
            0..=6 => "m".to_owned(),
            7..=9 => self.word("OpBitwiseAnd %g %c3"),
            _ => limit,
        };
        let known = self.words.len();
        let [k, value, more, step, kept] =
            [self.fresh(), self.fresh(), self.fresh(), self.fresh(), self.fresh()];
        self.close(&[format!("OpBranch %{header}")], header.clone(), None);
        self.open.lines.push(format!("%{k} = OpPhi %u %c0 %{before} %{step} %{next}"));
        self.open.lines.push(format!("%{value} = OpPhi %u %{start} %{before} %{kept} %{next}"));
        let merge = format!("OpLoopMerge %{end} %{next} None");
        let first = self.random.percent(60);
        let test = format!("%{more} = OpULessThan %bool %{k} %{limit}");
        if first {
            let branch = format!("OpBranchConditional %{more} %{body} %{end}");
            self.close(&[test.clone(), merge, branch], body, None);
        } else {
            self.close(&[merge, format!("OpBranch %{body}")], body, None);
        }
        self.words.push(k.clone());
        self.words.push(value.clone());
        self.inside(3);
        if self.random.percent(40) {
            // Another way out.
            let cond = self.condition();
            let on = self.label();
            let how = self.random.below(3);
            match how {
                0 => self.close(&[format!("OpBranchConditional %{cond} %{end} %{on}")], on, None),
                1 => self.close(&[format!("OpBranchConditional %{cond} %{next} %{on}")], on, None),
                _ => {
                    let out = self.label();
                    let here = self.open.label.clone();
                    let branch = format!("OpBranchConditional %{cond} %{out} %{on}");
                    self.close(&[format!("OpSelectionMerge %{on} None"), branch], out, None);
                    self.close(&["OpReturn".to_owned()], on, Some(here));
                }
            }
            self.store();
        }
        self.close(&[format!("OpBranch %{next}")], next.clone(), None);
        self.open.lines.push(format!("%{kept} = OpIAdd %u %{value} %{k}"));
        self.open.lines.push(format!("%{step} = OpIAdd %u %{k} %c1"));
        self.words.truncate(known);
        if first {
            self.close(&[format!("OpBranch %{header}")], end, Some(header));
        } else {
            let test = format!("%{more} = OpULessThan %bool %{step} %{limit}");
            let branch = format!("OpBranchConditional %{more} %{header} %{end}");
            self.close(&[test, branch], end, Some(header));
        }
        self.words.push(value);
    }

    /// A switch of 16, 32 or 64 bits, some of whose cases fall into the next.
    fn switch(&mut self) {
        let (a, end) = (self.any(), self.label());
        let selector = self.word(&format!("OpBitwiseAnd %{a} %c3"));
        let selector = match self.random.below(3) {
            0 => selector,
            1 => self.value("u64", &format!("OpUConvert %{selector}")),
            _ => self.value("u16", &format!("OpUConvert %{selector}")),
        };
        let count = self.random.between(1, 3);
        let cases: Vec<String> = (0..count).map(|_| self.label()).collect();
        let other = if self.random.percent(50) { self.label() } else { end.clone() };
        let header = self.open.label.clone();
        let known = self.words.len();
        let mut branch = format!("OpSwitch %{selector} %{other}");
        for (number, case) in cases.iter().enumerate() {
            let _ = write!(branch, " {number} %{case}");
        }
        let mut labels = cases.clone();
        if other != end {
            labels.push(other);
        }
        self.close(&[format!("OpSelectionMerge %{end} None"), branch], labels[0].clone(), None);
        for number in 0..labels.len() {
            self.inside(2);
            self.words.truncate(known);
            let falls = number + 1 < cases.len() && self.random.percent(30);
            let target = if falls { cases[number + 1].clone() } else { end.clone() };
            let next = labels.get(number + 1).cloned().unwrap_or_else(|| end.clone());
            self.close(&[format!("OpBranch %{target}")], next, Some(header.clone()));
        }
    }
}
