//! No folder of `src` uses one that comes later in the pipeline, no folder of `plan` one that comes later in it, and files import each other in no circles.
//! Nor is a parameter a tuple of three, or a number an id that is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The folders in order. What is not named here (the switches of `mutation`) may be used by all.
const ROOMS: &[&str] = &[
    "ir", "frontend", "analysis", "reason", "kernel", "rewrite", "schedule", "plan", "emit", "validate",
    "certify",
];

fn rank(name: &str) -> Option<usize> {
    let name = if name == "Reason" { "reason" } else { name };
    ROOMS.iter().position(|room| *room == name)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// Names of the rooms that a text names as `crate::ROOM` or in `crate::{…}`.
fn named(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for after in text.split("crate::").skip(1) {
        let list = match after.strip_prefix('{') {
            // Names at the outer level of the braces.
            Some(inner) => {
                let mut depth = 0;
                let mut outer = String::new();
                for c in inner.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        c if depth == 0 => outer.push(c),
                        _ => {}
                    }
                }
                outer
            }
            None => after.split_inclusive([';', ' ', '\n', '(', '{']).next().unwrap_or_default().to_owned(),
        };
        for part in list.split(',') {
            let name =
                part.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            names.push(name.to_owned());
        }
    }
    names
}

#[test]
fn names_are_found() {
    assert_eq!(named("use crate::plan::{Step, a::B};"), ["plan"]);
    assert_eq!(named("use crate::{Reason, plan::{Step, emit}, kernel};"), ["Reason", "plan", "kernel"]);
    assert_eq!(named("let x: crate::kernel::Specialized = y"), ["kernel"]);
}

#[test]
fn no_use_line_runs_back() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&source, &mut paths);
    let mut seen = vec![0; ROOMS.len()];
    let mut back = Vec::new();
    for path in paths {
        let inside = path.strip_prefix(&source).expect("inside").to_string_lossy().into_owned();
        let own = inside.split(['/', '\\', '.']).next().unwrap_or_default();
        let Some(own) = rank(own) else { continue };
        seen[own] += 1;
        let text = std::fs::read_to_string(&path).expect("text");
        for line in text.split_inclusive(';').filter(|line| line.contains("crate::")) {
            let later = named(line).into_iter().filter(|name| rank(name).is_some_and(|room| room > own));
            back.extend(later.map(|name| format!("{inside} uses {name}")));
        }
    }
    assert!(seen.iter().all(|files| *files > 0), "a room is empty: {seen:?}");
    assert!(back.is_empty(), "{back:#?}");
}

/// The folders of `plan` in order, and what comes behind them. A file may use those of its own folder and of earlier ones.
const PLAN: &[&str] = &[
    "input",
    "output",
    "grouping",
    "promotion",
    "rewrites",
    "dispatch",
    "growth",
    "planner",
    "doubt",
    "overrun",
    "repeated",
    "old_contents",
    "touching",
    "stored",
    "races",
    "notes",
];

/// One `use` of a file: the path as written, the name it has here, and whether it is a re-export.
struct Import {
    path: Vec<String>,
    name: String,
    is_public: bool,
}

/// A source file as far as imports go.
#[derive(Default)]
struct File {
    imports: Vec<Import>,
    /// Paths of two and more segments in the code itself.
    paths: Vec<Vec<String>>,
}

/// Identifiers, `::` and single characters, without comments, literals and lifetimes.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skip =
            |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |n| from + n + end.len());
        at += match bytes[at] {
            b'/' if rest.starts_with("//") => skip("\n", 2),
            b'/' if rest.starts_with("/*") => skip("*/", 2),
            b'r' if rest.starts_with("r#\"") => skip("\"#", 3),
            b'"' => {
                let mut end = 1;
                while bytes.get(at + end).is_some_and(|&b| b != b'"') {
                    end += if bytes[at + end] == b'\\' { 2 } else { 1 };
                }
                end + 1
            }
            // A character; a lifetime has no quote behind its first letter.
            b'\'' if rest.starts_with("'\\") => skip("'", 3),
            b'\'' if rest.chars().nth(2) == Some('\'') => {
                rest.char_indices().nth(3).map_or(rest.len(), |(n, _)| n)
            }
            b if is_word(b) => {
                let end = rest.bytes().position(|b| !is_word(b)).unwrap_or(rest.len());
                found.push(&rest[..end]);
                end
            }
            b':' if rest.starts_with("::") => {
                found.push("::");
                2
            }
            b if b.is_ascii_whitespace() || !b.is_ascii() => 1,
            _ => {
                found.push(&rest[..1]);
                1
            }
        };
        while at < bytes.len() && !text.is_char_boundary(at) {
            at += 1;
        }
    }
    found
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The imports of a `use` from `at` on, behind `prefix`; where it ends.
fn tree(tokens: &[&str], mut at: usize, prefix: &[String], found: &mut Vec<(Vec<String>, String)>) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(at).copied() {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|&token| token != "}") {
                    at = tree(tokens, at, &path, found);
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                return at + 1;
            }
            Some("::") => at += 1,
            Some("self") if path.len() > prefix.len() || !prefix.is_empty() => at += 1,
            Some(token) if is_name(token) && token != "as" || token == "*" => {
                path.push(token.to_owned());
                at += 1;
            }
            _ => break,
        }
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if tokens.get(at) == Some(&"as") {
        name = tokens[at + 1].to_owned();
        at += 2;
    }
    found.push((path, name));
    at
}

impl File {
    fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let mut file = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]", "mod"])
                && tokens.get(at + 9) == Some(&"{")
            {
                at += 10;
                let mut depth = 1;
                while depth > 0 && at < tokens.len() {
                    depth += i32::from(tokens[at] == "{") - i32::from(tokens[at] == "}");
                    at += 1;
                }
            } else if tokens[at] == "use"
                && !tokens[..at].ends_with(&[">"])
                && tokens.get(at + 1) != Some(&"<")
            {
                let before = if at > 0 { tokens[at - 1] } else { "" };
                let scope = tokens[..at].iter().rposition(|&token| token == "(").unwrap_or(0);
                let is_public = before == "pub" || before == ")" && scope > 0 && tokens[scope - 1] == "pub";
                let mut all = Vec::new();
                at = tree(&tokens, at + 1, &[], &mut all);
                file.imports.extend(all.into_iter().map(|(path, name)| Import { path, name, is_public }));
            } else if is_name(tokens[at]) && (at == 0 || tokens[at - 1] != "::") {
                let mut path = vec![tokens[at].to_owned()];
                while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|t| is_name(t)) {
                    path.push(tokens[at + 2].to_owned());
                    at += 2;
                }
                at += 1;
                if path.len() > 1 {
                    file.paths.push(path);
                }
            } else {
                at += 1;
            }
        }
        file
    }
}

/// The imports between files of a crate, by file names without `.rs`. Declarations of modules and re-exports are not imports: an
/// import through a re-export counts as one of the file that declares the item.
struct Imports {
    files: BTreeMap<Vec<String>, File>,
}

impl Imports {
    fn of<'a>(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let module = |name: &str| match name {
            "lib" => Vec::new(),
            name => name.split('/').map(str::to_owned).collect(),
        };
        Self { files: sources.into_iter().map(|(name, text)| (module(name), File::of(text))).collect() }
    }

    /// A path from the root of the crate; nothing for those of other crates.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut base = module.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                base.push(first.to_owned());
                if !self.files.contains_key(&base) {
                    return None;
                }
                rest = &rest[1..];
            }
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The file that declares what a path leads to, and whether it is an item in it and not the file itself.
    fn declared(&self, path: &[String], depth: u32) -> Option<(Vec<String>, bool)> {
        let length = (0..=path.len()).rev().find(|&n| self.files.contains_key(&path[..n]))?;
        let (module, rest) = path.split_at(length);
        let Some(name) = rest.first() else { return Some((module.to_vec(), false)) };
        let import = self.files[module].imports.iter().find(|import| import.name == *name);
        let Some(import) = import else { return Some((module.to_vec(), true)) };
        let mut onward = self.absolute(module, &import.path)?;
        onward.extend_from_slice(&rest[1..]);
        self.declared(&onward, depth.checked_sub(1)?)
    }

    /// The files that a file uses items of.
    fn used(&self, module: &[String]) -> BTreeSet<Vec<String>> {
        let file = &self.files[module];
        let mut used = BTreeSet::new();
        let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for import in &file.imports {
            let Some(mut path) = self.absolute(module, &import.path) else { continue };
            let is_glob = path.last().is_some_and(|last| last == "*");
            if is_glob {
                path.pop();
            }
            match self.declared(&path, 8) {
                Some((declared, is_item)) if (is_item || is_glob) && !import.is_public => {
                    used.insert(declared);
                }
                Some((declared, false)) => {
                    modules.insert(&import.name, declared);
                }
                _ => {}
            }
        }
        for path in &file.paths {
            let absolute = match modules.get(path[0].as_str()) {
                Some(imported) => Some([imported, &path[1..]].concat()),
                None => self.absolute(module, path),
            };
            if let Some((declared, true)) = absolute.and_then(|path| self.declared(&path, 8)) {
                used.insert(declared);
            }
        }
        used.remove(module);
        used
    }

    /// All uses, by names of files.
    fn all(&self) -> BTreeMap<String, BTreeSet<String>> {
        let name = |module: &[String]| if module.is_empty() { "lib".to_owned() } else { module.join("/") };
        self.files.keys().map(|m| (name(m), self.used(m).iter().map(|m| name(m)).collect())).collect()
    }
}

/// Files that use each other, directly or through others.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<&str>> {
    let reached = |from: &str| {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for used in uses.get(next).into_iter().flatten() {
                if reached.insert(used) {
                    open.push(used);
                }
            }
        }
        reached
    };
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|file| (file.as_str(), reached(file))).collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for (file, reached) in &reach {
        if reached.contains(file) && !found.iter().any(|circle| circle.contains(file)) {
            found.push(reached.iter().copied().filter(|other| reach[other].contains(file)).collect());
        }
    }
    found
}

fn sources() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&source, &mut paths);
    let name = |path: &Path| {
        let inside = path.with_extension("").strip_prefix(&source).expect("inside").to_owned();
        inside.to_string_lossy().replace('\\', "/")
    };
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("text"))).collect()
}

fn uses_of(sources: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    Imports::of(sources.iter().map(|(name, text)| (name.as_str(), text.as_str()))).all()
}

#[test]
fn imports_are_found() {
    let uses = Imports::of([
        ("lib", "mod a; mod b; pub use a::{Deep, low as down};"),
        (
            "a",
            "pub mod low; mod deep;\n/// use crate::b::No;\npub use deep::Deep; pub(crate) use low::{self, Low};",
        ),
        ("a/low", "pub struct Low; fn x() -> &'static str { \"crate::b::No\" }"),
        ("a/deep", "use super::low::{Low}; pub struct Deep;\n#[cfg(test)]\nmod tests { use crate::b::B; }"),
        (
            "b",
            "use crate::{Deep as D, down}; fn f() { down::f(); crate::a::Low; let 'x' = '\\''; } pub struct B;",
        ),
        ("c", "use crate::b; use std::fmt; fn f() { b::B::new(); self::d::x() }"),
        ("c/d", "use super::*;"),
    ]);
    let uses = uses.all();
    let of = |file: &str| uses[file].iter().map(String::as_str).collect::<Vec<_>>();
    assert!(of("lib").is_empty() && of("a").is_empty() && of("a/low").is_empty(), "{uses:?}");
    assert_eq!(of("a/deep"), ["a/low"]);
    assert_eq!(of("b"), ["a/deep", "a/low"]);
    assert_eq!(of("c"), ["b", "c/d"]);
    assert_eq!(circles(&uses), [BTreeSet::from(["c", "c/d"])]);
}

#[test]
fn imports_make_no_circles() {
    let sources = sources();
    let uses = uses_of(&sources);
    assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 1000, "imports are not found");
    let circles = circles(&uses);
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn no_folder_of_the_plan_uses_a_later_one() {
    let sources = sources();
    let room = |file: &str| {
        let inside = file.strip_prefix("plan/")?;
        let name = inside.split('/').next().unwrap_or_default();
        Some(PLAN.iter().position(|room| *room == name).unwrap_or_else(|| panic!("no room for {file}")))
    };
    let mut back = Vec::new();
    for (file, used) in &uses_of(&sources) {
        let Some(own) = room(file) else { continue };
        let later = used.iter().filter(|used| room(used).is_some_and(|room| room > own));
        back.extend(later.map(|used| format!("{file} uses {used}")));
    }
    assert!(back.is_empty(), "{back:#?}");
}

/// A tuple of three and more in a list of parameters: what its `(` is followed by, up to the comma behind the second.
fn wide_parameters(tokens: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in tokens.windows(2).enumerate().filter(|(_, two)| two[0] == "fn" && is_name(two[1])) {
        let (mut depth, mut types, mut commas) = (0, Vec::new(), 0);
        let begin = tokens[at..].iter().position(|token| *token == "(").map_or(tokens.len(), |n| at + n);
        for n in begin..tokens.len() {
            match tokens[n] {
                "(" | "[" | "<" | "{" => {
                    depth += 1;
                    // A type: behind a colon, or a reference behind one.
                    if tokens[n] == "(" && tokens[n - 1] == ":"
                        || tokens[n - 1] == "&" && tokens[n - 2] == ":"
                    {
                        types.push(depth);
                        commas = 0;
                    }
                }
                ">" if tokens[n - 1] == "-" => {}
                ")" | "]" | ">" | "}" => {
                    if types.last() == Some(&depth) {
                        types.pop();
                    }
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                "," if types.last() == Some(&depth) && tokens[n + 1] != ")" => {
                    commas += 1;
                    if commas == 2 {
                        found.push(tokens[at + 1].to_owned());
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Where a number stands for an id that is not there: what names an id, and `unwrap_or(0)` before the statement ends.
fn missing_ids(tokens: &[&str]) -> usize {
    const IDS: &[&str] =
        &["id_ref_any", "result_id", "result_type", "label_id", "def_id", "type_parts", "operand", "ids"];
    let is_missing = |at: usize| tokens[at..].starts_with(&["unwrap_or", "(", "0", ")"]);
    let is_of_id = |at: usize| {
        let ends = |token: &str| matches!(token, ";" | "{" | "}" | "=" | "map_or" | "constant");
        tokens[..at].iter().rev().take_while(|token| !ends(token)).any(|token| IDS.contains(token))
    };
    (0..tokens.len()).filter(|&at| is_missing(at) && is_of_id(at)).count()
}

#[test]
fn tuples_and_missing_ids_are_found() {
    let wide = tokens(
        "fn a(x: (u8, u8), y: &(u8, [u8; 2], u8)) {} fn b((x, y, z): (A, B<C, D>)) -> (u8, u8, u8) {}",
    );
    assert_eq!(wide_parameters(&wide), ["a"]);
    let missing = tokens(
        "let a = inst.result_id.unwrap_or(0); let b = ids(inst).next().map_or(0, f); c(n.unwrap_or(0));",
    );
    assert_eq!(missing_ids(&missing), 1);
}

#[test]
fn parameters_have_names_and_ids_are_there() {
    let mut found = Vec::new();
    for (file, text) in sources() {
        let tokens = tokens(&text);
        found.extend(wide_parameters(&tokens).into_iter().map(|name| format!("{file}: a tuple of {name}")));
        found.extend((0..missing_ids(&tokens)).map(|_| format!("{file}: a number for a missing id")));
        let doubt = tokens.windows(3).any(|three| three == ["Option", "<", "Option"]);
        found.extend(doubt.then(|| format!("{file}: an option of an option")));
    }
    assert!(found.is_empty(), "{found:#?}");
}
