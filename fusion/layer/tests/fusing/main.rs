//! A program under the fusing layer, with the validation layer above or below it: its results are what they are without, bit for bit, and
//! the layer's report says that something was fused.
//!
//! The program is this one, as its own child process: the loader reads its variables once.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Plain use of Vulkan on one device.

use ash::vk;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod away;
mod foreign;
mod rig;
mod scenes;

use scenes::SCENES;

/// The scene that a child process plays.
const SCENE: &str = "VKFUSE_TEST_SCENE";

const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";

fn main() {
    if let Ok(scene) = std::env::var(SCENE) {
        let (number, robust) = scene.split_once(' ').expect("a number and a word");
        let api = if robust == "old" { vk::API_VERSION_1_1 } else { vk::API_VERSION_1_2 };
        let rig = rig::Rig::new(api, robust == "robust");
        SCENES[number.parse::<usize>().expect("a number")].1(&rig);
        return;
    }
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let library = library();
    let text = vkfuse_layer::FUSE_MANIFEST.replace("./libvkfuse_layer.so", &library.display().to_string());
    std::fs::write(folder.path().join("layer.json"), text).expect("it is written");
    let own = vkfuse_layer::FUSE_NAME;
    let (above, below) = (format!("{VALIDATION}:{own}"), format!("{own}:{VALIDATION}"));
    for (number, (name, _, fuses)) in SCENES.iter().enumerate() {
        let mut told = Vec::new();
        for (layers, how, words) in
            [(&above, "old", "report,wait"), (&below, "plain", "report,wait"), (&below, "robust", "report")]
        {
            let (replaced, said) = play(folder.path(), number, layers, how, words);
            // Without waiting it depends on the time that building takes.
            if words.contains("wait") {
                assert_eq!(replaced > 0, *fuses, "{name}, {how}: {said}");
                assert!(said.contains("the same as before") || !name.contains("again"), "{name}: {said}");
                assert_eq!(said.contains("not looked at"), name.contains("looks away"), "{name}: {said}");
            }
            told.push(replaced.to_string());
        }
        println!("{name}: {} command buffers replaced", told.join(", "));
    }
    let (_, said) = play(folder.path(), 0, &own.to_owned(), "plain", "");
    assert!(!said.contains("vkfuse:"), "it was not asked to report: {said}");
}

/// The layer's library, beside this program.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("this program");
    let library = own.parent().unwrap_or(Path::new("")).join("libvkfuse_layer.so");
    assert!(library.exists(), "{} is not built", library.display());
    library
}

/// Plays a scene: how many command buffers were replaced, and all that was said.
fn play(folder: &Path, scene: usize, layers: &String, how: &str, words: &str) -> (u64, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(SCENE, format!("{scene} {how}")).env("VK_ADD_LAYER_PATH", folder);
    command.env("VK_INSTANCE_LAYERS", layers).env(vkfuse_layer::FUSE, words);
    command.env("VKFUSE_CACHE_DIR", folder.join("cache"));
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{}, {layers}, {how}: {status}\n{said}", SCENES[scene].0);
    assert!(!said.contains("VUID") && !said.contains("Validation"), "{}, {layers}: {said}", SCENES[scene].0);
    let line = said.lines().find(|line| line.contains("command buffers replaced"));
    let [replaced, of] = line.map_or([0; 2], |line| {
        let words = line.strip_prefix("vkfuse: ").and_then(|line| line.split_once(" of "));
        let words = words.map(|(replaced, of)| [replaced, of.split(' ').next().unwrap_or_default()]);
        let counts = words.map(|words| words.map(|word| word.parse::<u64>().unwrap_or(u64::MAX)));
        counts.unwrap_or_else(|| panic!("no counts: {line}"))
    });
    let submitted = said.lines().find_map(|line| line.strip_suffix(" command buffers submitted"));
    assert!(line.is_none() || submitted == Some(&of.to_string()), "{}: {said}", SCENES[scene].0);
    (replaced, said)
}
