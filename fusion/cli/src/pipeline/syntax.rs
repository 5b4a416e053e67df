//! What is wrong with a text that is not TOML, in more words than the parser has.
//!
//! The parser says where it stopped and what it expected there. From the text around it follows what was meant: another language, a
//! name that was given before, a number with a unit.

use super::node::list;
use super::problem::{Place, Problem};
use std::ops::Range;
use std::path::Path;

/// The complaint about `text`, where the parser says `message` at `span`. A pipeline file has `keys` at its top.
pub(super) fn problem(
    file: &Path,
    text: &str,
    message: &str,
    span: Option<Range<usize>>,
    keys: &[&str],
) -> Problem {
    if let Some(what) = other_language(text) {
        return Problem::file(
            file,
            format!("it looks like {what}; a pipeline file is TOML, and names modules"),
        );
    }
    let span = span.unwrap_or(text.len()..text.len());
    let at =
        |offset: usize, message: String| Problem::at(file, &Place::new(text, offset, String::new()), message);
    if message == "duplicate key" {
        // A table under another name than it should have leaves its parts to be declared first.
        if let Some((offset, name)) = unknown_table(text, keys) {
            return at(offset, format!("unknown key {name:?}, expected {}", list(keys.iter().copied())));
        }
        let key = text.get(span.clone()).unwrap_or_default();
        let first =
            first_of(text, span.start, key).map(|offset| Place::new(text, offset, String::new()).line);
        let mut first = first.map_or_else(String::new, |line| format!(", first given in line {line}"));
        if key == "submit" {
            first.push_str("; each submission begins with [[submit]]");
        }
        return at(span.start, format!("duplicate key {key:?}{first}"));
    }
    if let Some(offset) = slashes(text, span.start) {
        return at(offset, "a comment begins with #".to_owned());
    }
    let word: String =
        text.get(span.start..).unwrap_or_default().chars().take_while(|c| is_of_word(*c)).collect();
    if message.starts_with("string values must be quoted") && word.starts_with(|c: char| c.is_ascii_digit()) {
        return at(span.start, format!("expected an integer or another value, found {word}"));
    }
    // Where a value should stand the parser guesses at its kind from one letter.
    let before = text.get(..span.start).unwrap_or_default().trim_end_matches([' ', '\t']);
    if before.ends_with('=') {
        let rest = text.get(span.start..).unwrap_or_default().trim_start_matches([' ', '\t']);
        if rest.is_empty() || rest.starts_with(['\n', '\r', '#']) {
            return at(span.start, "expected a value, found nothing".to_owned());
        }
        let number = match word.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str() {
            "nan" => Some("nan"),
            "inf" | "infinity" => Some("inf"),
            _ => None,
        };
        if let Some(number) = number {
            return at(span.start, format!("expected a value, found {word}; TOML writes {number}"));
        }
        if word.starts_with(char::is_alphabetic) {
            let message = format!("expected a value, found {word}; a string has quotation marks: \"{word}\"");
            return at(span.start, message);
        }
    }
    if message.contains("missing escaped value") {
        let message = "a backslash begins an escape: paths are written with `/`, or in '…'";
        return at(span.start, message.to_owned());
    }
    at(span.start, message.replace('\n', ", "))
}

/// Where the line around an offset has `//` outside of strings and comments.
fn slashes(text: &str, offset: usize) -> Option<usize> {
    let start = text.get(..offset)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..)?.lines().next()?;
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return None,
            (None, '/') if before == '/' => return Some(start + at - 1),
            (None, '"' | '\'') => quote = Some(c),
            (Some(own), c) if own == c && before != '\\' => quote = None,
            _ => {}
        }
        before = c;
    }
    None
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')
}

/// The language that a text is in, if it is another one whose files are near at hand.
fn other_language(text: &str) -> Option<&'static str> {
    let mut lines = text.lines().map(str::trim_start);
    if text.trim_start().starts_with('{') {
        Some("JSON")
    } else if lines.clone().any(|line| line.starts_with("#version ")) {
        Some("GLSL")
    } else if lines.clone().any(|line| line.starts_with("OpCapability ")) {
        Some("SPIR-V assembly")
    } else if lines.any(|line| line.starts_with("@compute") || line.starts_with("@group(")) {
        Some("WGSL")
    } else {
        None
    }
}

/// The first table whose name begins with none of `keys`: where the name begins, and that part of it.
fn unknown_table<'t>(text: &'t str, keys: &[&str]) -> Option<(usize, &'t str)> {
    headers(text).find_map(|(offset, name)| {
        let first = name.split('.').next().unwrap_or(name).trim();
        (!keys.contains(&first)).then_some((offset, first))
    })
}

/// The tables of a text: where their names begin, and the names.
fn headers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(text).filter_map(|(start, line)| header(line).map(|(skipped, name)| (start + skipped, name)))
}

/// Lines, and where they begin.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |next, line| {
        let start = *next;
        *next += line.len();
        Some((start, line))
    })
}

/// Where the name in a line `[name]` or `[[name]]` begins, and the name.
fn header(line: &str) -> Option<(usize, &str)> {
    let inner = line.trim_start().trim_start_matches('[');
    let skipped = line.len() - inner.len();
    let is_header = line.trim_start().starts_with('[');
    let name = inner.split(']').next().filter(|_| is_header && inner.contains(']'))?;
    // A line of an array begins with a bracket, too.
    let is_name = name.chars().all(|c| is_of_word(c) || matches!(c, '"' | ' '));
    (is_name && !name.is_empty()).then_some((skipped, name))
}

/// Where the key at `offset` was given before: in its table, or as a table of the same name.
fn first_of(text: &str, offset: usize, key: &str) -> Option<usize> {
    let own = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[own..].lines().next().unwrap_or_default();
    if let Some((_, name)) = header(line) {
        let part = format!("{name}.");
        let same = |other: &str| other == name || other.starts_with(&part);
        return headers(text).find(|(at, other)| *at < own && same(other)).map(|(at, _)| at);
    }
    let table = lines(text).filter(|(start, line)| *start < own && header(line).is_some()).last();
    let start = table.map_or(0, |(start, line)| start + line.len());
    let is_key = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    };
    let before = lines(text).find(|(at, line)| *at >= start && *at < own && is_key(line));
    // Both are in one line: `{ len = 1, len = 2 }`.
    before.map(|(at, _)| at).or_else(|| text[own..offset].contains(key).then_some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str, message: &str, span: Range<usize>) -> String {
        problem(Path::new("f.toml"), text, message, Some(span), &["format", "buffers", "submit"]).to_string()
    }

    #[test]
    fn another_language_is_named() {
        for (text, what) in [
            ("{ \"format\": 1 }", "JSON"),
            ("#version 450\nlayout(local_size_x = 64) in;", "GLSL"),
            ("  OpCapability Shader\n", "SPIR-V assembly"),
            ("@compute @workgroup_size(64) fn main() {}", "WGSL"),
        ] {
            let said = complaint(text, "invalid key", 0..1);
            assert!(
                said.starts_with(&format!("f.toml: it looks like {what}; a pipeline file is TOML")),
                "{said}"
            );
        }
    }

    #[test]
    fn a_key_that_is_given_twice_is_named_with_its_first_place() {
        let key = |text: &str, key: &str| text.rfind(key).map(|at| at..at + key.len()).unwrap_or_default();
        for (text, name, line) in [
            ("format = 1\n[buffers.x]\nlen = 1\n[buffers.y]\ntype = \"f32\"\nlen = 2\nlen = 3\n", "len", 6),
            ("format = 1\nformat = 1\n", "format", 1),
            ("[buffers.x]\nlen = 1\n\n[buffers.x]\n", "x", 1),
            ("[buffers]\nx = { len = 1, len = 2 }\n", "len", 2),
        ] {
            let said = complaint(text, "duplicate key", key(text, name));
            let wanted = format!("duplicate key \"{name}\", first given in line {line}");
            assert!(said.ends_with(&wanted), "{said} is not {wanted}");
        }
    }

    #[test]
    fn a_misnamed_table_is_found_behind_the_clash_that_it_makes() {
        let text = "[[submits]]\nkernel = \"k\"\n[submit.args]\n0 = \"x\"\n[[submit]]\n";
        let said = complaint(text, "duplicate key", text.len() - 9..text.len() - 3);
        assert_eq!(said, "f.toml:1:3: unknown key \"submits\", expected format, buffers or submit");
    }

    #[test]
    fn a_number_with_a_unit_is_none() {
        let said = complaint("len = 2k\n", "string values must be quoted, expected literal string", 6..8);
        assert_eq!(said, "f.toml:1:7: expected an integer or another value, found 2k");
    }

    #[test]
    fn a_string_without_quotation_marks_and_a_missing_value_are_named() {
        let quoted = "string values must be quoted, expected literal string";
        for (text, message, wanted) in [
            (
                "type = f32\n",
                "invalid boolean, expected `false`",
                "found f32; a string has quotation marks: \"f32\"",
            ),
            ("type = many\n", quoted, "found many; a string has quotation marks: \"many\""),
            ("type = \n", quoted, "expected a value, found nothing"),
            ("type =", quoted, "expected a value, found nothing"),
            ("fill = NaN\n", quoted, "found NaN; TOML writes nan"),
            ("fill = -Infinity\n", quoted, "found -Infinity; TOML writes inf"),
            ("type = # later\n", quoted, "expected a value, found nothing"),
        ] {
            let start = (text.find('=').unwrap_or_default() + 2).min(text.len());
            let said = complaint(text, message, start..start);
            assert!(said.ends_with(wanted), "{said} is not {wanted}");
        }
        let said = complaint("type = \"f32\n", "invalid basic string", 7..12);
        assert!(said.ends_with("invalid basic string"), "{said}");
    }
}
