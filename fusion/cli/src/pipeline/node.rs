//! A view of a parsed TOML document that knows where it is.
//!
//! The tree is walked by hand and not through `serde`: every key and value then
//! carries its place, a wrong size found late points as exactly as a wrong type
//! found early, and 64-bit unsigned integers keep their full range.

use super::problem::{Place, Problem};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The file that is being read: its name and text, for the places of problems.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a Path,
    pub(crate) text: &'a str,
}

/// One value of the document, with the key that leads to it.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    source: Source<'a>,
    key: String,
    offset: usize,
    value: &'a DeValue<'a>,
}

/// A table whose keys have been checked against what may stand there.
pub(crate) struct Table<'a> {
    node: Node<'a>,
    entries: Vec<(&'a str, Node<'a>)>,
}

/// Where a key belongs, of those that are often written elsewhere.
fn place_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "policy" | "no_barriers" | "force" | "float" | "robust" | "outputs" => "`[fusion]`",
        "path" | "entry" | "local_size" | "subgroup_size" => "a kernel, `[kernels.NAME]`",
        "type" | "init" | "seed" => "a buffer, `[buffers.NAME]`",
        "kernel" | "groups" | "global" | "push" | "args" | "spec" => "a submission, `[[submit]]`",
        "promote" | "len" => "a buffer, `[buffers.NAME]`, or of a part of it, `{ buffer = NAME, len = … }`",
        "offset" | "cast" | "constant" | "texels" => "an argument, `{ buffer = NAME, offset = … }`",
        _ => return None,
    })
}

impl<'a> Node<'a> {
    /// The value under no key at all: used for the elements of a parsed document.
    fn new(source: Source<'a>, key: String, offset: usize, value: &'a DeValue<'a>) -> Node<'a> {
        Node { source, key, offset, value }
    }

    /// Where this value stands.
    pub(crate) fn place(&self) -> Place {
        Place::new(self.source.text, self.offset, self.key.clone())
    }

    /// A complaint about this value.
    pub(crate) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::at(self.source.file, &self.place(), message)
    }

    /// The complaint that this value has the wrong type.
    pub(crate) fn expected(&self, what: &str) -> Problem {
        self.problem(format!("expected {what}, found {}", describe(self.value)))
    }

    pub(crate) fn value(&self) -> &'a DeValue<'a> {
        self.value
    }

    pub(crate) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    pub(crate) fn is_array(&self) -> bool {
        self.value.is_array()
    }

    pub(crate) fn string(&self) -> Result<&'a str, Problem> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    pub(crate) fn boolean(&self) -> Result<bool, Problem> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// An integer of any size TOML can spell here, -2^127 to 2^127 - 1.
    pub(crate) fn integer(&self) -> Result<i128, Problem> {
        let integer = self.value.as_integer().ok_or_else(|| self.expected("an integer"))?;
        i128::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| self.problem(format!("{integer} is out of range for an integer")))
    }

    /// An integer between `low` and `high`, both included.
    pub(crate) fn integer_in(&self, low: u64, high: u64) -> Result<u64, Problem> {
        let value = self.integer()?;
        match u64::try_from(value) {
            Ok(value) if (low..=high).contains(&value) => Ok(value),
            _ => Err(self.problem(format!("{value} is out of range, expected {low} to {high}"))),
        }
    }

    /// The elements of an array.
    pub(crate) fn array(&self, what: &str) -> Result<Vec<Node<'a>>, Problem> {
        let array = self.value.as_array().ok_or_else(|| self.expected(what))?;
        let elements = array.iter().enumerate();
        Ok(elements
            .map(|(index, element)| {
                let key = format!("{}[{index}]", self.key);
                Node::new(self.source, key, element.span().start, element.get_ref())
            })
            .collect())
    }

    /// A word out of a fixed list.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Problem> {
        let names = || words.iter().map(|(name, _)| *name);
        let found = self.value.as_str().ok_or_else(|| self.expected(&format!("one of {}", list(names()))))?;
        words.iter().find(|(name, _)| *name == found).map(|(_, value)| *value).ok_or_else(|| {
            let meant = meant(found, names()).unwrap_or_default();
            self.problem(format!("unknown word \"{found}\", expected {}{meant}", list(names())))
        })
    }

    /// A table with keys out of `known`; the entries come in the order of the file.
    pub(crate) fn table(&self, known: &[&str]) -> Result<Table<'a>, Problem> {
        let table = self.open_table()?;
        for (key, node) in &table.entries {
            if !known.contains(key) {
                let expected = list(known.iter().copied());
                let place = || place_of(key).map(|place| format!("; \"{key}\" is a key of {place}"));
                let place = meant(key, known.iter().copied()).or_else(place).unwrap_or_default();
                return Err(node.problem(format!("unknown key \"{key}\", expected {expected}{place}")));
            }
        }
        Ok(table)
    }

    /// A table whose keys are names that the user chooses.
    pub(crate) fn open_table(&self) -> Result<Table<'a>, Problem> {
        match self.value {
            DeValue::Table(table) => Ok(Table::new(self.clone(), table)),
            _ => Err(self.expected("a table")),
        }
    }
}

impl<'a> Table<'a> {
    /// The table that is the whole document, with any keys.
    pub(crate) fn any(source: Source<'a>, document: &'a Spanned<DeValue<'a>>) -> Result<Table<'a>, Problem> {
        Node::new(source, String::new(), 0, document.get_ref()).open_table()
    }

    /// The table that is the whole document, its keys out of `known`.
    pub(crate) fn document(
        source: Source<'a>,
        document: &'a Spanned<DeValue<'a>>,
        known: &[&str],
    ) -> Result<Table<'a>, Problem> {
        Node::new(source, String::new(), 0, document.get_ref()).table(known)
    }

    fn new(node: Node<'a>, table: &'a DeTable<'a>) -> Table<'a> {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                let name: &'a str = key.get_ref();
                let path = join(&node.key, name);
                // A complaint about an entry points at its key: the value of a `[table]` has no
                // useful place of its own, and a key says more than the number beside it.
                (name, Node::new(node.source, path, key.span().start, value.get_ref()))
            })
            .collect();
        entries.sort_by_key(|(_, entry)| entry.offset);
        Table { node, entries }
    }

    /// The entry called `key`, if there is one.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        let found = self.entries.iter().find(|(name, _)| *name == key);
        found.map(|(_, node)| node.clone())
    }

    /// The entry called `key`, or the complaint that it is missing.
    pub(crate) fn require(&self, key: &str) -> Result<Node<'a>, Problem> {
        let how = if key == "submit" { ": each submission begins with [[submit]]" } else { "" };
        self.get(key).ok_or_else(|| self.node.problem(format!("missing key \"{key}\"{how}")))
    }

    /// All entries, in the order of the file.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &(&'a str, Node<'a>)> {
        self.entries.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// What may be meant by a word that is none of some names: the same in other letters, one that other languages have, or one that is mistyped.
pub(crate) fn meant<'n>(found: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<String> {
    let other = match found {
        "float" | "single" => "f32",
        "double" => "f64",
        "half" => "f16",
        "int" => "i32",
        "uint" => "u32",
        "byte" => "u8",
        "file" => "path",
        "from" => "buffer",
        _ => "",
    };
    let lower = found.to_lowercase();
    let is_near = |name: &&str| {
        let most = if name.len() < 4 { 1 } else { 2 };
        name.len() > 1 && distance(&lower, name) <= most
    };
    let exact = names.clone().find(|name| *name == other || name.to_lowercase() == lower);
    let near = || names.clone().filter(is_near).min_by_key(|name| distance(&lower, name));
    exact.or_else(near).map(|name| format!("; did you mean \"{name}\"?"))
}

/// How many letters have to be put in, left out or replaced to make one word of another; two that are swapped count as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    let swapped = if is_swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                    replaced.min(swapped).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

/// `a, b or c`.
pub(crate) fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => (*only).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => {
            let start: String = text.chars().take(40).collect();
            let dots = if text.chars().count() > 40 { "…" } else { "" };
            format!("the string {start:?}{dots}")
        }
        DeValue::Integer(integer) => format!("the integer {integer}"),
        DeValue::Float(float) => format!("the float {float}"),
        DeValue::Boolean(value) => format!("{value}"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// `path.name`, with quotes around a name that is no bare TOML key.
fn join(path: &str, name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let name = if bare { name.to_owned() } else { format!("{name:?}") };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
