//! Completions, pages of the manual, `--quiet`.

use crate::process::{example, has_device, json, vkfuse};

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let finished = vkfuse(&["completions", shell]);
        assert_eq!(finished.status, 0, "{}", finished.stderr);
        for word in ["bench", "inspect", "warm", "html"] {
            assert!(finished.stdout.contains(word), "{word} for {shell}");
        }
    }
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("man1");
    let finished = vkfuse(&["man", path.to_str().expect("UTF-8")]);
    assert_eq!((finished.status, finished.stdout.as_str()), (0, ""), "{}", finished.stderr);
    for name in ["vkfuse", "vkfuse-run", "vkfuse-bench", "vkfuse-cache-warm"] {
        let page = std::fs::read_to_string(path.join(name).with_extension("1")).expect("a page");
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
    }
}

#[test]
fn quiet_prints_nothing_and_ends_the_same_way() {
    if !has_device() {
        return;
    }
    for file in ["chain.toml", "defects/race.toml"] {
        let command = if file == "chain.toml" { "run" } else { "check" };
        let loud = vkfuse(&[command, &example(file)]);
        let quiet = vkfuse(&[command, &example(file), "--quiet"]);
        assert_eq!(loud.status, quiet.status);
        assert_eq!(quiet.stdout, "");
        assert!(!loud.stdout.is_empty());
    }
    let (_, report) = json(&["run", &example("chain.toml"), "--quiet"]);
    assert_eq!(report["format"], 1, "what is asked for is printed");
    let wrong = vkfuse(&["--quiet", "run", "/nowhere.toml"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("/nowhere.toml"));
}
