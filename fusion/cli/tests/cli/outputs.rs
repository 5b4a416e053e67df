//! What a run leaves for others: files of buffers, and a table of promotions.

use crate::process::{changed, example, has_device, json, vkfuse};

/// What a buffer holds after the list, as bytes and as numpy has them; of one that stays inside, from the unfused run.
#[test]
fn buffers_are_saved_as_files() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (raw, npy, inside) = (path("out.bin"), path("out.npy"), path("tmp1.bin"));
    let [out, numpy, tmp1] =
        [("out", &raw), ("out", &npy), ("tmp1", &inside)].map(|(name, file)| format!("{name}={file}"));
    let file = example("chain.toml");
    let saved = ["run", &file, "--no-cache", "--save", &out, "--save", &numpy, "--save", &tmp1];
    let (status, report) = json(&saved);
    assert_eq!((status, report["buffers"]["tmp1"]["got"].as_str()), (0, Some("private")), "{report:#}");
    let bytes = std::fs::read(&raw).expect("it was written");
    assert_eq!(report["outputs"]["out"]["blake3"], blake3::hash(&bytes).to_hex().to_string());
    assert_eq!(std::fs::metadata(&inside).map(|file| file.len()).ok(), Some(4 * 65539));
    let text = std::fs::read(&npy).expect("it was written");
    let (head, rest) = text.split_at(text.len() - bytes.len());
    assert!(head.len() % 64 == 0 && head.ends_with(b"\n") && head.starts_with(b"\x93NUMPY\x01\x00"));
    let head_text = String::from_utf8_lossy(&head[10..]);
    assert!(
        head_text.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (65539,), }"),
        "{head_text}"
    );
    assert_eq!(usize::from(u16::from_le_bytes([head[8], head[9]])), head.len() - 10);
    assert_eq!(rest, bytes);
    for (save, args, wanted) in [
        ("none=x.bin", &["--no-cache"][..], "--save: the file has no buffer none, but in1, "),
        (&*tmp1, &["--mode", "fused"], "--save: tmp1 was promoted and stays inside of the fused kernel"),
        ("out", &[], "expected the name of a buffer and a file, `out=out.bin`"),
    ] {
        let finished = vkfuse(&[&["run", &file, "--save", save], args].concat());
        assert!(finished.status == 2 && finished.stderr.contains(wanted), "{save}: {}", finished.stderr);
    }
}

/// The table of promotions is that of `run` also where nothing runs, and says where a reason is explained.
#[test]
fn what_became_of_promotions_is_said_with_its_page() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = changed(folder.path(), "chain.toml", "global = [65539]", "global = [65539]");
    let text = std::fs::read_to_string(&file).expect("it was written");
    let file = folder.path().join("short.toml").display().to_string();
    // The first kernel writes less than the second reads.
    std::fs::write(&file, text.replacen("u32 = 65539", "u32 = 1000", 1)).expect("the folder can be written");
    let wanted = "reads what no earlier one of the group certainly wrote, docs/reasons.md#old-contents";
    for command in ["run", "plan"] {
        let finished = vkfuse(&[command, &file, "--no-cache"]);
        let row = finished.stdout.lines().find(|line| line.contains(wanted));
        assert!(
            row.is_some_and(|row| row.contains("submission ") && row.contains("private")),
            "{command}: {}",
            finished.stdout
        );
        assert!(!finished.stdout.contains("vkfuse check"), "{}", finished.stdout);
    }
}
