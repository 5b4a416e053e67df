//! The text of a pipeline file.

use super::kernels;
use super::lists::{Access, Action, Step};
use super::memory::Span;
use super::program::{Program, Section};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// A section as a list.
pub(super) struct List<'a> {
    pub(super) program: &'a Program,
    pub(super) section: &'a Section,
    pub(super) steps: &'a [Step],
    /// The buffers.
    pub(super) pieces: &'a [Span],
    /// Which of them are temporaries.
    pub(super) temporaries: &'a [bool],
}

/// The name of a buffer.
pub(super) fn name(index: usize) -> String {
    format!("b{index}")
}

/// Keeps bytes in a file beside the lists, and returns its path from there.
pub(super) fn keep(folder: &Path, bytes: &[u8]) -> io::Result<String> {
    let path = format!("bytes/{}.bin", blake3::hash(bytes).to_hex());
    if !folder.join(&path).exists() {
        std::fs::write(folder.join(&path), bytes)?;
    }
    Ok(path)
}

/// The elements that a file has a buffer of.
#[derive(Clone, Copy)]
struct Elements {
    name: &'static str,
    size: u64,
}

impl List<'_> {
    /// The name of its file.
    pub(super) fn file_name(&self) -> String {
        match self.section.part {
            0 => format!("{:04}.toml", self.section.submission),
            part => format!("{:04}-{part}.toml", self.section.submission),
        }
    }

    /// The file, where each buffer starts from a file or from zeros; or why a list cannot say it. Without a title, sections that
    /// are one list are the same text.
    pub(super) fn text(
        &self,
        folder: &Path,
        contents: &[Option<String>],
        has_title: bool,
    ) -> Result<String, String> {
        let mut text = String::from("format = 1\n");
        let (submission, part) = (self.section.submission, self.section.part);
        if has_title {
            let part = if part > 0 { format!(" part {part}") } else { String::new() };
            let title = format!("{} submission {submission}{part}", self.program.name);
            let _ = writeln!(text, "name = {}", quoted(&title));
        }
        let names = self.kernels(folder, &mut text);
        let elements = (0..self.pieces.len()).map(|index| self.elements(index));
        let elements: Vec<Elements> = elements.collect::<Result<_, _>>()?;
        for (index, (piece, elements)) in self.pieces.iter().zip(&elements).enumerate() {
            let (name, len) = (name(index), piece.len() / elements.size);
            let _ = writeln!(text, "\n[buffers.{name}]\ntype = \"{}\"\nlen = {len}", elements.name);
            if let Some(path) = contents.get(index).and_then(Option::as_ref) {
                let _ = writeln!(text, "init = {{ file = {} }}", quoted(path));
            }
            if self.temporaries[index] {
                text.push_str("promote = \"auto\"\n");
            }
        }
        let mut submits = String::new();
        for (number, step) in self.steps.iter().enumerate() {
            let place = |access: &Access| self.place(access, &elements);
            submits.push_str("\n[[submit]]\n");
            match &step.action {
                Action::Dispatch { .. } => self.dispatch(step, &names, contents, &elements, &mut submits),
                Action::Copy => {
                    let [from, to] = [place(&step.accesses[0]), place(&step.accesses[1])];
                    let _ =
                        writeln!(submits, "copy = {{ from = {{ {from}, cast = true }}, to = {{ {to} }} }}");
                }
                Action::Fill(value) => {
                    let _ = writeln!(submits, "fill = {{ {}, value = {value} }}", place(&step.accesses[0]));
                }
                Action::Update(hex) => {
                    let bytes: Option<Vec<u8>> = (0..hex.len())
                        .step_by(2)
                        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
                        .collect();
                    let path = keep(folder, &bytes.unwrap_or_default()).map_err(|error| error.to_string())?;
                    let (len, path) = (hex.len() / 8, quoted(&path));
                    let _ = writeln!(
                        text,
                        "\n[buffers.u{number}]\ntype = \"u32\"\nlen = {len}\ninit = {{ file = {path} }}"
                    );
                    let to = place(&step.accesses[0]);
                    let _ = writeln!(
                        submits,
                        "copy = {{ from = {{ buffer = \"u{number}\", cast = true }}, to = {{ {to} }} }}"
                    );
                }
            }
        }
        if self.program.robust {
            text.push_str("\n[fusion]\nrobust = true\n");
        }
        Ok(text + &submits)
    }

    /// Writes the kernels, and returns their names by their pipelines.
    fn kernels(&self, folder: &Path, text: &mut String) -> BTreeMap<u64, String> {
        let mut known: BTreeMap<(&str, &str, u32), String> = BTreeMap::new();
        let mut names = BTreeMap::new();
        for step in self.steps {
            let Action::Dispatch { pipeline: id, .. } = &step.action else { continue };
            let Some(pipeline) = self.program.pipelines.get(id) else { continue };
            let key = (&*pipeline.module, &*pipeline.entry, pipeline.subgroup_size);
            if let Some(name) = known.get(&key) {
                names.insert(*id, name.clone());
                continue;
            }
            let name = pipeline.name.as_deref().unwrap_or(&pipeline.module[..8.min(pipeline.module.len())]);
            let mut name: String =
                name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            while name.is_empty() || known.values().any(|other| *other == name) {
                name.push('_');
            }
            let path = kernels::path(self.program, &pipeline.module);
            let beside = folder.parent() == Some(&self.program.folder);
            let path = if beside { format!("../modules/{}.spv", pipeline.module) } else { whole(&path) };
            let _ = writeln!(
                text,
                "\n[kernels.{name}]\npath = {}\nentry = {}",
                quoted(&path),
                quoted(&pipeline.entry)
            );
            if pipeline.subgroup_size > 0 {
                let _ = writeln!(text, "subgroup_size = {}", pipeline.subgroup_size);
            }
            known.insert(key, name.clone());
            names.insert(*id, name);
        }
        names
    }

    fn dispatch(
        &self,
        step: &Step,
        names: &BTreeMap<u64, String>,
        contents: &[Option<String>],
        elements: &[Elements],
        text: &mut String,
    ) {
        let Action::Dispatch { pipeline, used, base, groups, push } = &step.action else { return };
        let _ = writeln!(text, "kernel = \"{}\"", names.get(pipeline).map_or("", String::as_str));
        match groups {
            Some(groups) => drop(writeln!(text, "groups = {groups:?}")),
            None => {
                let counts = &step.accesses[0];
                let index = self.piece(counts.span);
                let offset = (counts.span.start - self.pieces[index].start) / elements[index].size;
                let _ = writeln!(text, "indirect = {{ buffer = \"{}\", offset = {offset} }}", name(index));
            }
        }
        if *base != [0; 3] {
            let _ = writeln!(text, "base = {base:?}");
        }
        if !used.spec.is_empty() {
            let _ = writeln!(text, "spec = {{ {} }}", used.spec.join(", "));
        }
        if !push.is_empty() && used.kernel.interface.push.is_some() {
            let _ = writeln!(text, "push = {{ hex = \"{push}\" }}");
        }
        text.push_str("[submit.args]\n");
        let mut slots: BTreeMap<(u32, u32), Vec<(u32, String)>> = BTreeMap::new();
        for access in &step.accesses {
            let Some(at) = access.slot else { continue };
            let index = self.piece(access.span);
            let is_written = |other: &Access| other.writes && self.pieces[index].contains(other.span);
            let is_constant = access.is_uniform
                && contents.get(index).is_some_and(Option::is_some)
                && !self.steps.iter().flat_map(|step| &step.accesses).any(is_written);
            let constant = if is_constant { ", constant = true" } else { "" };
            let argument = format!("{{ {}, cast = true{constant} }}", self.place(access, elements));
            slots.entry((at.set, at.binding)).or_default().push((at.element, argument));
        }
        for ((set, binding), mut own) in slots {
            own.sort_by_key(|(element, _)| *element);
            let _ = match &own[..] {
                [(0, one)] => writeln!(text, "\"{set}.{binding}\" = {one}"),
                all => {
                    let all: Vec<&str> = all.iter().map(|(_, one)| &**one).collect();
                    writeln!(text, "\"{set}.{binding}\" = [{}]", all.join(", "))
                }
            };
        }
    }

    /// The buffer that a span is in.
    fn piece(&self, span: Span) -> usize {
        let found = self.pieces.iter().position(|piece| piece.contains(span));
        found.expect("invariant: the buffers are made of the spans of all accesses")
    }

    /// A part of a buffer.
    fn place(&self, access: &Access, elements: &[Elements]) -> String {
        let index = self.piece(access.span);
        let Elements { size, .. } = elements[index];
        let offset = (access.span.start - self.pieces[index].start) / size;
        format!("buffer = \"{}\", offset = {offset}, len = {}", name(index), access.span.len() / size)
    }

    /// The largest element type whose size divides the offsets and sizes of all parts of a buffer.
    fn elements(&self, index: usize) -> Result<Elements, String> {
        let piece = self.pieces[index];
        let mut of = vec![piece.len()];
        let mut is_words = false;
        for step in self.steps {
            for (number, access) in step.accesses.iter().enumerate() {
                if !piece.contains(access.span) {
                    continue;
                }
                of.extend([access.span.start - piece.start, access.span.len()]);
                let is_counts = number == 0 && matches!(step.action, Action::Dispatch { groups: None, .. });
                is_words |= access.is_uniform || is_counts || matches!(step.action, Action::Fill(_));
            }
        }
        let fits = |size: u64| of.iter().all(|number| number % size == 0);
        let elements = |name, size| Elements { name, size };
        Ok(match (is_words, fits(4), fits(2)) {
            (false, true, _) => elements("f32", 4),
            (true, true, _) => elements("u32", 4),
            (true, false, _) => return Err("a buffer is filled whose parts are no whole words".to_owned()),
            (false, false, true) => elements("u16", 2),
            (false, false, false) => elements("u8", 1),
        })
    }
}

/// A path from the root.
fn whole(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
