//! Accesses and loops as reports name them.

use std::borrow::Cow;
use std::fmt;

use crate::analysis::access::AccessKind;
use crate::frontend::SetBinding;

/// A loop whose number of rounds is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnboundedLoop {
    /// The kernel.
    pub kernel: String,
    /// Lines of the source text in which it may begin; none where debug information does not say.
    pub lines: Vec<u32>,
}

impl fmt::Display for UnboundedLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = &self.kernel;
        match self.lines.as_slice() {
            [] => write!(f, "the trip count of a loop in {kernel} is unknown"),
            [line] => write!(f, "the trip count of the loop in line {line} of {kernel} is unknown"),
            lines => {
                let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
                let lines = lines.join(", ");
                write!(f, "the trip count of a loop in {kernel} is unknown (lines {lines})")
            }
        }
    }
}

/// The two accesses that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPair {
    /// The earlier access.
    pub first: AccessSite,
    /// The later one.
    pub second: AccessSite,
}

/// One access, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSite {
    /// Position in the list.
    pub submission: usize,
    /// Name of the kernel.
    pub kernel: String,
    /// Where its buffer is bound.
    pub at: SetBinding,
    /// Read, write or atomic.
    pub kind: AccessKind,
    /// Byte offset as an expression; of a texel, its coordinates.
    pub index: String,
    /// Lines of the source text, as far as debug information says them: those of all accesses of its kind to the binding.
    pub lines: Vec<u32>,
    /// Whether it is to a texel of an image.
    pub is_texel: bool,
    /// What the offset, or whether the access happens, depends on that is not followed, and what could be done about it.
    pub unfollowed: Option<String>,
}

/// Characters of an expression that are shown to people; its start says most.
const MAX_INDEX: usize = 160;

/// With `{:#}` the whole expression, without it a part of a long one.
impl std::fmt::Display for AccessSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = self.verb();
        let SetBinding { set, binding, .. } = self.at;
        write!(
            f,
            "submission {} ({}) {verb} binding {set}.{binding} at {} ",
            self.submission,
            self.kernel,
            if self.is_texel { "texel" } else { "byte" }
        )?;
        f.write_str(&if f.alternate() { self.index.as_str().into() } else { self.short_index() })?;
        if let Some(lines) = self.in_lines() {
            write!(f, ", {lines}")?;
        }
        match &self.unfollowed {
            Some(unfollowed) => write!(f, " ({unfollowed})"),
            None => Ok(()),
        }
    }
}

impl AccessSite {
    /// What the kernel does there: `reads`, `writes`, `atomically updates`.
    pub fn verb(&self) -> &'static str {
        match self.kind {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Atomic => "atomically updates",
        }
    }

    /// `line 14`, or `line 14 or 18`; of many lines the first.
    pub fn in_lines(&self) -> Option<String> {
        const MOST: usize = 4;
        let shown: Vec<String> = self.lines.iter().take(MOST).map(u32::to_string).collect();
        let more = if self.lines.len() > MOST { " or elsewhere" } else { "" };
        (!shown.is_empty()).then(|| format!("line {}{more}", shown.join(" or ")))
    }

    /// The index, of a long one the beginning.
    pub fn short_index(&self) -> Cow<'_, str> {
        match self.index.char_indices().nth(MAX_INDEX) {
            Some((end, _)) => format!("{}…", &self.index[..end]).into(),
            None => self.index.as_str().into(),
        }
    }
}

/// As its sites.
impl std::fmt::Display for AccessPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if f.alternate() {
            write!(f, "{:#}; {:#}", self.first, self.second)
        } else {
            write!(f, "{}; {}", self.first, self.second)
        }
    }
}
