//! What bodies and captures cannot contain is refused where it stands, by a message that names it and says what to use
//! instead. `TRYBUILD=overwrite cargo test -p vkfuse-kernel --test refused` writes the expected messages anew.

use std::{fs, path::Path, process::Command};

use proc_macro2::{TokenStream, TokenTree};

/// The compiler whose words `types.stderr` has: those messages are partly its own.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn each_is_named() {
    let cases = trybuild::TestCases::new();
    for case in ["captures", "values", "functions", "bodies", "closures"] {
        cases.compile_fail(format!("tests/refused/cases/{case}.rs"));
    }
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().expect("a compiler").stdout;
    if String::from_utf8_lossy(&version).starts_with(COMPILER) {
        cases.compile_fail("tests/refused/cases/types.rs");
        cases.compile_fail("tests/refused/cases/mismatches.rs");
        cases.compile_fail("tests/refused/cases/elements.rs");
        cases.compile_fail("tests/refused/cases/uses.rs");
    }
}

/// What is said of syntax that the macros' parser does not know yet, which no case can have.
const UNKNOWN: [&str; 7] = [
    "this expression",
    "this literal",
    "this pattern",
    "use a name",
    "use a number",
    "the guide lists what kernels can contain",
    "this operator in a kernel: the guide lists what kernels can contain",
];

/// The texts of messages: literals of several words, outside of attributes and comments.
fn texts(tokens: TokenStream, into: &mut Vec<String>) {
    let mut attribute = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if !attribute => texts(group.stream(), into),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if let Some(text) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'))
                    && text.contains(' ')
                {
                    into.push(text.to_owned());
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '#' || (attribute && punct.as_char() == '!') => {
                attribute = true;
                continue;
            }
            _ => {}
        }
        attribute = false;
    }
}

/// Every message that the macros have is one that a case expects.
#[test]
fn no_message_is_left_out() {
    let folder = std::env::current_dir().expect("the folder of the package");
    let read = |path: &Path, ending: &str| -> Vec<String> {
        let files = fs::read_dir(path).expect("a folder").map(|file| file.expect("a file").path());
        let chosen = files.filter(|file| file.extension().is_some_and(|extension| extension == ending));
        chosen.map(|file| fs::read_to_string(file).expect("text")).collect()
    };
    let expected = read(&folder.join("tests/refused/cases"), "stderr").concat();
    let mut messages = Vec::new();
    for source in read(&folder.join("macros/src"), "rs") {
        texts(source.parse().expect("Rust"), &mut messages);
    }
    assert!(messages.len() > 100, "{} messages", messages.len());
    // What is between the places that are filled in.
    let shown = |message: &&String| message.split(['{', '}']).step_by(2).all(|part| expected.contains(part));
    messages.retain(|message| !UNKNOWN.contains(&message.as_str()));
    let missing: Vec<&String> = messages.iter().filter(|message| !shown(message)).collect();
    assert!(missing.is_empty(), "no case has {missing:#?}");
}
