//! What is wrong with a pipeline file, and where.
//!
//! Every complaint about a file has one form, `FILE:LINE:COLUMN: KEY: MESSAGE`,
//! which editors and terminals turn into a link.

use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a pipeline file: the key, spelled as a dotted path, and where its text starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Dotted path of the key, such as `buffers.in1.len` or `submit[2].args."0"`; empty for the whole file.
    pub(crate) key: String,
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// Column in characters, counted from 1.
    pub(crate) column: usize,
}

impl Place {
    /// The place `offset` bytes into `text`.
    pub(crate) fn new(text: &str, offset: usize, key: String) -> Place {
        let offset = offset.min(text.len());
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            key,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// One complaint about a pipeline file or about something it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The pipeline file.
    pub(crate) file: PathBuf,
    /// Where in it; `None` when the file could not be read at all.
    pub(crate) place: Option<Place>,
    /// What is wrong, and what would be right.
    pub(crate) message: String,
}

impl Problem {
    /// A complaint about `place` in `file`.
    pub(crate) fn at(file: &Path, place: &Place, message: impl Into<String>) -> Problem {
        Problem { file: file.to_owned(), place: Some(place.clone()), message: message.into() }
    }

    /// A complaint about the file as a whole.
    pub(crate) fn file(file: &Path, message: impl Into<String>) -> Problem {
        Problem { file: file.to_owned(), place: None, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(place) = &self.place {
            write!(f, "{}:{}:", place.line, place.column)?;
            if !place.key.is_empty() {
                write!(f, " {}:", place.key)?;
            }
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let text = "a = 1\nnäme = 2\n";
        let offset = text.find('=').map(|_| text.rfind('=').unwrap_or(0)).unwrap_or(0);
        let place = Place::new(text, offset, "näme".into());
        assert_eq!((place.line, place.column), (2, 6));
        let end = Place::new(text, 10_000, String::new());
        assert_eq!((end.line, end.column), (3, 1));
    }
}
