//! Comments and pages are in plain English: some phrases, for which there is always a plainer sentence, are kept out of them.
//!
//! Code, string literals and names in backticks are not looked at.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The phrases. Case, line breaks and the marks of comments between their words do not matter.
const PHRASES: &[&str] =
    &["nobody", "whoever", "so many", "of which", "worked out", "written out", "but for", "told"];

/// Takes the place of everything that is not prose, and ends a phrase.
const CODE: char = '\0';

#[test]
fn comments_and_pages_are_in_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let (mut wrong, mut read) = (Vec::new(), 0);
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(prose) = prose(&path, &text) else { continue };
        let path = path.strip_prefix(&root).unwrap().display();
        wrong.extend(phrases(&prose).iter().map(|(line, phrase)| format!("{path}:{line}: {phrase}")));
        read += 1;
    }
    assert!(read > 1000, "only {read} files were found");
    assert!(wrong.is_empty(), "say it in other words:\n{}", wrong.join("\n"));
}

/// All files below a folder, without build output and hidden folders other than `.cargo` and `.ci`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy();
        let is_built = ["target", "dist", "__pycache__", "node_modules"].contains(&&*name);
        let is_hidden = name.starts_with('.') && !matches!(&*name, ".cargo" | ".ci");
        if is_built || is_hidden || path.is_symlink() {
            continue;
        }
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

/// The prose of a file line by line, with [`CODE`] in the place of the rest; `None` for kinds of files without prose.
fn prose(path: &Path, text: &str) -> Option<String> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    match &*extension {
        "md" => Some(text.to_owned()),
        "rs" | "comp" | "wgsl" | "hlsl" | "c" | "h" | "cpp" | "hpp" | "mjs" => Some(after_slashes(text)),
        "toml" | "sh" => Some(after_hashes(text)),
        "py" | "pyi" => Some(after_hashes(&with_docstrings(text))),
        "" if text.starts_with("#!") => Some(after_hashes(text)),
        "spvasm" => Some(after(text, ';')),
        _ => None,
    }
}

/// Comments that begin with `//` or stand between `/*` and `*/`.
fn after_slashes(text: &str) -> String {
    let (mut out, mut at) = (String::new(), 0);
    while at < text.len() {
        let start = text[at..].find(['/', '"', '\'']).map_or(text.len(), |found| at + found);
        push_code(&mut out, &text[at..start]);
        let rest = &text[start..];
        let (len, is_prose) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), true)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), true)
        } else {
            (literal(&text[at..start], rest).unwrap_or(rest.len().min(1)), false)
        };
        match is_prose {
            true => out.push_str(rest[..len].trim_start_matches(['/', '*', '!'])),
            false => push_code(&mut out, &rest[..len]),
        }
        at = start + len;
    }
    out
}

/// Adds the lines of code, and [`CODE`] in those that are not empty.
fn push_code(out: &mut String, code: &str) {
    for line in code.split_inclusive('\n') {
        if !line.trim().is_empty() {
            out.push(CODE);
        }
        if line.ends_with('\n') {
            out.push('\n');
        }
    }
}

/// The length of the string or character that begins with a quote, if one does.
fn literal(before: &str, text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let name = before.trim_end_matches('#');
    let is_raw = ["r", "br", "cr"].iter().any(|prefix| {
        name.strip_suffix(prefix)
            .is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    });
    if quote == '"' && is_raw {
        let end = format!("\"{}", "#".repeat(before.len() - name.len()));
        return Some(1 + text[1..].find(&end)? + end.len());
    }
    // `'a` is a lifetime if no other quote follows, and `/` divides.
    let is_char = text.starts_with("'\\") || text.chars().nth(2) == Some('\'');
    if quote == '/' || quote == '\'' && !is_char {
        return None;
    }
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Comments that begin with `#`.
fn after_hashes(text: &str) -> String {
    after(text, '#')
}

/// Comments that begin with a mark at the start of a line or behind a space, outside of quotes.
fn after(text: &str, mark: char) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let begins = |&(at, _): &(usize, &str)| {
            let before = &line[..at];
            let is_quoted = ['"', '\''].iter().any(|&quote| before.matches(quote).count() % 2 == 1);
            (before.is_empty() || before.ends_with(char::is_whitespace)) && !is_quoted
        };
        let start = line.match_indices(mark).find(begins).map_or(line.len(), |(at, _)| at);
        push_code(&mut out, &line[..start]);
        out.push_str(line[start..].trim_start_matches(mark));
        out.push('\n');
    }
    out
}

/// Python with each line of a docstring as a comment.
fn with_docstrings(text: &str) -> String {
    let mut out = String::new();
    // Whether a long string is open, and whether it is a docstring.
    let mut open: Option<bool> = None;
    for line in text.lines() {
        let starts = ["\"\"\"", "r\"\"\""].iter().any(|quotes| line.trim_start().starts_with(quotes));
        let is_doc = open.unwrap_or(starts);
        if line.matches("\"\"\"").count() % 2 == 1 {
            open = match open {
                None => Some(starts),
                Some(_) => None,
            };
        }
        match is_doc && !line.trim().is_empty() {
            true => out.push_str(&format!("# {}\n", line.replace("\"\"\"", " "))),
            false => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

/// The phrases in prose, with the number of the line in which each begins. Blocks and spans of code, punctuation and empty
/// lines end a phrase.
fn phrases(prose: &str) -> Vec<(usize, &'static str)> {
    // An empty word stands for an end.
    let mut words: Vec<(usize, String)> = Vec::new();
    let (mut is_block, mut is_span) = (false, false);
    for (number, line) in (1..).zip(prose.lines()) {
        let is_fence = line.trim_start().starts_with("```");
        is_block = (is_block ^ is_fence) && !line.contains(CODE);
        is_span = is_span && !line.trim().is_empty();
        if is_block || is_fence || line.trim().is_empty() {
            words.push((number, String::new()));
            continue;
        }
        let mut word = String::new();
        for c in line.chars().chain([' ']) {
            if c.is_alphabetic() && !is_span {
                word.extend(c.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push((number, std::mem::take(&mut word)));
            }
            is_span = match c {
                '`' => !is_span,
                CODE => false,
                _ => is_span,
            };
            if !c.is_whitespace() && !matches!(c, '*' | '_') {
                words.push((number, String::new()));
            }
        }
    }
    let phrases: Vec<(&str, Vec<&str>)> =
        PHRASES.iter().map(|&phrase| (phrase, phrase.split(' ').collect())).collect();
    let mut found = Vec::new();
    for (at, (number, _)) in words.iter().enumerate() {
        let begins = |(_, parts): &&(&str, Vec<&str>)| {
            let here = words[at..].iter().map(|(_, word)| word.as_str()).take(parts.len());
            here.eq(parts.iter().copied())
        };
        found.extend(phrases.iter().filter(begins).map(|(phrase, _)| (*number, *phrase)));
    }
    found
}

#[test]
fn phrases_are_found_with_their_lines() {
    let find = |name: &str, text: &str| phrases(&prose(Path::new(name), text).unwrap());
    let page = "Nobody was\n*told* `but for`\n\n```\nso many\n```\nit has worked\nout and untold others of\nwhich; so, \
                many of `x`, but\n`y` for, worked\n\nout";
    assert_eq!(find("a.md", page), [(1, "nobody"), (2, "told"), (7, "worked out"), (8, "of which")]);
    let rust = "//! None of\n//! which.\nlet a = \"// told\"; // So many\nlet of = 'a'; // of\nlet which = '\"';\n\
                /* but\n * for */\n/// of\n\n/// which `told`\nf(r#\"\" // nobody\"#); // whoever\nfn g<'a>() {} // told\n\
                let told = b'\\''; // written\n// out";
    let expected =
        [(1, "of which"), (3, "so many"), (6, "but for"), (11, "whoever"), (12, "told"), (13, "written out")];
    assert_eq!(find("a.rs", rust), expected);
    let python = "\"\"\"Of\nwhich.\"\"\"\nx = \"\"\"\ntold\n\"\"\"\ny = \"# told\"  # nobody\n# but\n# for";
    assert_eq!(find("a.py", python), [(1, "of which"), (6, "nobody"), (7, "but for")]);
    assert_eq!(find("a.toml", "a = 1 # told\n# nobody\nb = \"told\""), [(1, "told"), (2, "nobody")]);
    assert_eq!(find("a.spvasm", "; told\nOpNop ; nobody"), [(1, "told"), (2, "nobody")]);
    assert_eq!(find("x", "#!/bin/sh\necho told # nobody"), [(2, "nobody")]);
    assert!(prose(Path::new("a.png"), "").is_none());
}
