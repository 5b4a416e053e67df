//! Lists of what common libraries' kernels do: each is one dispatch with the bits of the unfused run.

use crate::process::{has_device, json, root};
use serde_json::json;

#[test]
fn every_pattern_is_one_dispatch_with_the_same_bits() {
    if !has_device() {
        return;
    }
    let folder = root().join("shaders/patterns");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 7);
    for file in files {
        let file = file.display().to_string();
        let (status, report) = json(&["run", &file, "--no-cache"]);
        assert_eq!((status, &report["outcome"]), (0, &json!("fused")), "{file}: {report:#}");
        assert_eq!(report["groups"].as_array().map(Vec::len), Some(1), "{file}: {report:#}");
        let outputs = report["outputs"].as_object().expect("outputs");
        assert!(outputs.len() > 1, "{file}");
        assert!(outputs.values().all(|output| output["equal"] == json!(true)), "{file}: {report:#}");
    }
}
