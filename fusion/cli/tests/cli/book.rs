//! The book: links lead somewhere, every page is in the table of contents, code is that of the examples.

use crate::process::{command, finish, has_device, root, vkfuse};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    let others = [
        "README.md",
        "CONTRIBUTING.md",
        "examples/pipelines/README.md",
        "fusion/cli/README.md",
        "fusion/python/README.md",
    ];
    pages.extend(others.map(|name| root().join(name)));
    pages.sort();
    pages
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a heading is called in a link.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines outside of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

fn anchors(path: &Path) -> BTreeSet<String> {
    let text = read(path);
    let headings =
        prose(&text).filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#')));
    headings.collect()
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = read(&page);
        for line in prose(&text) {
            for part in line.split("](").skip(1) {
                let target = part.split([')', ' ']).next().unwrap_or_default();
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                count += 1;
                let (file, heading) = target.split_once('#').unwrap_or((target, ""));
                let path =
                    if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
                let is_there = path.exists() && (heading.is_empty() || anchors(&path).contains(heading));
                if !is_there {
                    wrong.push(format!("{}: {target}", page.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 40, "{count} links");
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let summary = read(&root().join("docs/SUMMARY.md"));
    for page in pages().iter().filter(|page| page.starts_with(root().join("docs"))) {
        let name = page.file_name().expect("a name").to_string_lossy();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("]({name})")), "{name}");
    }
}

/// Code that says where it is from is there, line by line, so that it is compiled where that is.
#[test]
fn code_is_that_of_the_examples() {
    let mut blocks = 0;
    for page in pages() {
        let text = read(&page);
        for part in text.split("<!-- from ").skip(1) {
            let (file, rest) = part.split_once(" -->").expect("the end of the comment");
            let code = rest.split("```").nth(1).expect("a block of code");
            // Of examples in documentation the marks of comments are left out.
            let trimmed = |text: &str| {
                let lines = text.lines().map(|line| line.trim().trim_start_matches("///").trim().to_owned());
                lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
            };
            let wanted: Vec<String> = trimmed(code).into_iter().skip(1).collect();
            let have = trimmed(&read(&root().join(file)));
            let is_there = have.windows(wanted.len()).any(|lines| lines == wanted);
            assert!(is_there, "{}: what is said to be from {file} is not there:{code}", page.display());
            blocks += 1;
        }
    }
    assert!(blocks >= 5, "{blocks} blocks");
}

/// A block of code: the page, what stands before it, its language and its lines.
struct Block {
    page: PathBuf,
    before: String,
    language: String,
    lines: Vec<String>,
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for page in pages() {
        let (mut before, mut open) = (String::new(), None::<Block>);
        for line in read(&page).lines() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(language), None) => {
                    let (page, language) = (page.clone(), language.to_owned());
                    open = Some(Block { page, before: before.clone(), language, lines: Vec::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.lines.push(line.to_owned()),
                (None, None) if line.trim().is_empty() => {}
                (None, None) => line.clone_into(&mut before),
            }
        }
        assert!(open.is_none(), "{}: a block of code has no end", page.display());
    }
    blocks
}

/// Code is that of an example, or is compiled or run where it stands.
#[test]
fn code_is_compiled_or_run() {
    let documented = read(&root().join("fusion/src/lib.rs"));
    for block in blocks() {
        let is_from = block.before.starts_with("<!-- from ");
        let page = block.page.strip_prefix(root()).expect("a page of the repository").display().to_string();
        let is_checked = match block.language.as_str() {
            "" | "text" | "console" => true,
            "rust" | "rust,no_run" => documented.contains(&format!("include_str!(\"../../{page}\")")),
            // `the_project_of_the_readme_depends_on_what_there_is`, `the_pipeline_file_of_the_page_runs`.
            "toml" => is_from || page == "README.md" || page == "docs/command.md",
            // The tests in Python run those of the package's page.
            "python" => is_from || page == "fusion/python/README.md",
            _ => is_from,
        };
        assert!(is_checked, "{page}: nothing compiles this {}:\n{}", block.language, block.lines.join("\n"));
    }
}

/// The pipeline file that the page of the command begins with, beside a kernel of that name.
#[test]
fn the_pipeline_file_of_the_page_runs() {
    let blocks = blocks();
    let of_page = |block: &&Block| block.page.ends_with("docs/command.md") && block.language == "toml";
    let [example] = blocks.iter().filter(of_page).collect::<Vec<_>>()[..] else {
        panic!("not one pipeline file in docs/command.md");
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("scale.toml");
    std::fs::write(&file, example.lines.join("\n")).expect("the folder can be written");
    let (kernel, copy) = (root().join("shaders/pair/scale.spv"), folder.path().join("scale.spv"));
    std::fs::copy(kernel, copy).expect("the kernel");
    let finished = vkfuse(&["check", &file.display().to_string()]);
    assert_eq!(finished.status, 0, "{}{}", finished.stdout, finished.stderr);
}

/// The dependency of the complete project is the library's folder, and has the features that it names.
#[test]
fn the_project_of_the_readme_depends_on_what_there_is() {
    let blocks = blocks();
    let in_readme = |block: &&Block| block.page.ends_with("README.md") && block.language == "toml";
    let [project] = blocks.iter().filter(in_readme).collect::<Vec<_>>()[..] else {
        panic!("not one project in README.md");
    };
    let project: toml::Table = project.lines.join("\n").parse().expect("a manifest");
    let dependency = &project["dependencies"]["vkfuse"];
    let path = dependency["path"].as_str().expect("a path");
    let folder = root().join(path.strip_prefix("../vkfuse/").expect("a path into a clone beside it"));
    let manifest: toml::Table = read(&folder.join("Cargo.toml")).parse().expect("a manifest");
    assert_eq!(manifest["package"]["name"].as_str(), Some("vkfuse"));
    for feature in dependency.get("features").and_then(toml::Value::as_array).into_iter().flatten() {
        let feature = feature.as_str().expect("a name");
        assert!(manifest["features"].get(feature).is_some(), "no feature {feature}");
    }
}

/// The table of variables is that of the library. `BLESS=1` writes it.
#[test]
fn the_table_of_variables_is_that_of_the_library() {
    let path = root().join("docs/environment.md");
    let text = read(&path);
    let start = text.find("| variable | meaning | default |").expect("the table");
    let end = start + text[start..].find("\n\n").expect("its end");
    let rows = vkfuse::environment::VARIABLES.iter();
    let rows = rows.map(|one| format!("\n| `{}` | {} | {} |", one.name, one.meaning, one.default));
    let table = format!("| variable | meaning | default |\n| --- | --- | --- |{}", rows.collect::<String>());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{}{table}{}", &text[..start], &text[end..])).expect("it is written");
        return;
    }
    assert_eq!(&text[start..end], table, "BLESS=1 writes it");
}

/// Every variable that the library reads is in its table.
#[test]
fn every_variable_that_is_read_is_in_the_table() {
    let files = [
        "fusion/src/options/environment.rs",
        "cache/src/config.rs",
        "cache/src/config/parse.rs",
        "fusion/cli/src/main.rs",
    ];
    let mut count = 0;
    for file in files {
        let text = read(&root().join(file));
        for part in text.split("\"VKFUSE_").skip(1) {
            let (name, _) = part.split_once('"').expect("the end of the name");
            let name = format!("VKFUSE_{name}");
            let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c == '_') && !name.ends_with('_');
            if is_name {
                count += 1;
                assert!(vkfuse::environment::VARIABLES.iter().any(|one| one.name == name), "{file}: {name}");
            }
        }
    }
    assert!(count > 30, "{count}");
}

/// The commands of the pages, with what follows `$ `, less the comments.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut commands = Vec::new();
    for block in blocks().iter().filter(|block| block.language == "console") {
        let page = block.page.strip_prefix(root()).expect("a page of the repository").display().to_string();
        for line in block.lines.iter().filter_map(|line| line.trim().strip_prefix("$ ")) {
            let words = line.split("  #").next().unwrap_or_default().split_whitespace();
            commands.push((page.clone(), words.map(str::to_owned).collect()));
        }
    }
    commands
}

/// What is said to `vkfuse`: by its name, or by Cargo.
fn vkfuse_arguments(words: &[String]) -> Option<&[String]> {
    let start = ["cargo", "run", "--bin", "vkfuse", "--"];
    if words.len() > start.len() && words.iter().zip(start).all(|(word, wanted)| word == wanted) {
        return Some(&words[start.len()..]);
    }
    words.strip_prefix(&["vkfuse".to_owned()])
}

#[test]
fn commands_do_what_the_pages_say() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    for name in ["examples", "shaders"] {
        std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).expect("a link");
    }
    let mut ran = BTreeSet::new();
    for (page, words) in commands() {
        let Some(arguments) = vkfuse_arguments(&words) else { continue };
        // The reader's own, and lists that are written first and take their time.
        let is_there = |word: &String| {
            let is_file =
                word.ends_with(".toml") || word.ends_with(".spv") || word.starts_with("vkfuse-capture");
            word != "./app" && (!is_file || folder.path().join(word).exists())
        };
        if !arguments.iter().all(is_there) || !ran.insert(arguments.to_vec()) {
            continue;
        }
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        // Nothing outside of this folder is touched.
        if let Some(at) = arguments.iter().position(|word| *word == "--cache-dir") {
            arguments[at + 1] = "cache";
        }
        let finished =
            finish(command().args(&arguments).current_dir(folder.path()).env("VKFUSE_CACHE_DIR", "cache"));
        assert_eq!(finished.status, 0, "{page}: {words:?}\n{}", finished.stderr);
    }
    assert!(ran.len() >= 8, "{ran:?}");
}

/// Scripts, tests, benches and examples that the pages name exist.
#[test]
fn commands_name_what_there_is() {
    let script = read(&root().join("x"));
    let manifests = [
        "fusion",
        "fusion/cli",
        "fusion/layer",
        "fusion/capi",
        "fusion/python",
        "jit",
        "jit/fuzz",
        "cache",
        "benches",
        "examples",
    ];
    let exists = |kind: &str, name: &str| {
        manifests.iter().any(|folder| {
            let folder = root().join(folder);
            let manifest = read(&folder.join("Cargo.toml"));
            let sections: Vec<&str> = manifest.split(&format!("[[{kind}]]")).skip(1).collect();
            let place = folder.join(if kind == "test" { "tests" } else { "." });
            sections.iter().any(|section| section.contains(&format!("name = \"{name}\"")))
                || place.join(name).with_extension("rs").exists()
                || place.join(name).join("main.rs").exists()
        })
    };
    let mut seen = 0;
    for (page, words) in commands() {
        match words[0].as_str() {
            "./x" => {
                assert!(script.contains(&format!("\n  {})\n", words[1])), "{page}: {words:?}");
                seen += 1;
            }
            "sh" => assert!(root().join(&words[1]).exists(), "{page}: {words:?}"),
            "python" => assert!(root().join(&words[1]).exists(), "{page}: {words:?}"),
            _ => {}
        }
        for pair in words.windows(2).filter(|_| words.iter().any(|word| word == "cargo")) {
            if let Some(kind @ ("test" | "bench" | "example")) = pair[0].strip_prefix("--") {
                assert!(exists(kind, &pair[1]), "{page}: {words:?}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 10, "{seen}");
}

/// The same chain by each of the ways in: short enough to be read at once, and one dispatch. What each prints is looked at where it
/// runs: `./x c`, `./x wgpu`, `./x python`.
#[test]
fn quick_starts_are_short_and_say_how_many_dispatches() {
    for name in
        ["ash_chain.rs", "wgpu_chain.rs", "c/quickstart.c", "c/quickstart.cpp", "python/quickstart.py"]
    {
        let text = read(&root().join("examples").join(name));
        assert!(text.lines().count() <= 80, "{name} has {} lines", text.lines().count());
        assert!(text.contains("} dispatch, ") || text.contains("%u dispatch, "), "{name}");
    }
}
