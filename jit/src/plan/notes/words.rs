//! Parts of sentences about a list: runs of elements, and submissions.

use crate::plan::old_contents::Span;

/// Most runs of elements, and most submissions, that a sentence names.
const NAMED: usize = 3;

/// Runs of elements of `size` bytes, in words: `elements 0 to 31 and 64`, where `what` is `element`.
#[must_use]
pub fn in_words(what: &str, spans: &[Span], size: u64) -> String {
    let size = size.max(1);
    let runs = spans.iter().map(|&(from, to)| (from / size, to.saturating_sub(1) / size));
    let text = |(first, last)| if first == last { format!("{first}") } else { format!("{first} to {last}") };
    let is_one = matches!(*spans, [(from, to)] if to.saturating_sub(from) <= size);
    format!("{what}{} {}", if is_one { "" } else { "s" }, named(runs.map(text).collect()))
}

/// The submissions that write something, in words: `submission 0 writes`, or `submissions 0 and 1 write`.
#[must_use]
pub fn writers_in_words(writers: &[usize]) -> String {
    match writers {
        [one] => format!("submission {one} writes"),
        all => format!("submissions {} write", named(all.iter().map(usize::to_string).collect())),
    }
}

/// The first of some names.
fn named(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let last = match more {
        0 => names.pop().unwrap_or_default(),
        more => format!("{more} more"),
    };
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_elements_in_words() {
        assert_eq!(in_words("element", &[(16, 20)], 4), "element 4");
        assert_eq!(in_words("element", &[(0, 128), (256, 260)], 4), "elements 0 to 31 and 64");
        assert_eq!(in_words("byte", &[(0, 4)], 1), "bytes 0 to 3");
        let many: Vec<Span> = (0..6).map(|at| (8 * at, 8 * at + 4)).collect();
        assert_eq!(in_words("element", &many, 4), "elements 0, 2, 4 and 3 more");
        assert_eq!(writers_in_words(&[2]), "submission 2 writes");
        assert_eq!(writers_in_words(&[0, 1, 4]), "submissions 0, 1 and 4 write");
    }
}
