//! `include/vkfuse.h` is what cbindgen makes of this crate.
//!
//! `BLESS=1 cargo test --workspace --locked --test header` writes it anew.

use std::{fs, path::Path};

use cbindgen::{Builder, Config, EnumConfig, ExportConfig, Language, RenameRule, Style};

/// Vulkan's types by the last part of their Rust names.
const VULKAN: [&str; 12] = [
    "Instance",
    "PhysicalDevice",
    "Device",
    "DeviceCreateInfo",
    "Buffer",
    "BufferUsageFlags",
    "DeviceMemory",
    "Semaphore",
    "CommandBuffer",
    "PipelineStageFlags2",
    "AccessFlags2",
    "Result",
];

/// The files, in the order in which a reader wants them.
const FILES: [&str; 9] =
    ["result", "handles", "raw", "context", "kernel", "buffer", "queue", "event", "list"];

const HEAD: &str = "\
/* vkfuse: run-time kernel fusion for Vulkan compute.
 *
 * Made from fusion/capi/src by cbindgen; do not edit.
 *
 * Handles are numbers: one that is null, destroyed or of another kind is an error. Objects may be destroyed in any order.
 * Every call that can fail returns a VkfuseResult, VKFUSE_OK or a failure, and leaves a message (vkfuse_last_error) for the
 * calling thread. Every function may be called from any thread at any time, except where Vulkan itself requires external
 * synchronization of handles that the program passed in. Arrays and texts are copied before the call returns.
 *
 * VkfusePromotion and VkfuseAccess are passed as uint32_t.
 */";

fn config() -> Config {
    let renamed = VULKAN.iter().map(|name| ((*name).to_owned(), format!("Vk{name}"))).collect();
    Config {
        language: Language::C,
        header: Some(HEAD.to_owned()),
        include_guard: Some("VKFUSE_H".to_owned()),
        includes: vec![],
        sys_includes: vec!["stdint.h".into(), "stddef.h".into(), "vulkan/vulkan.h".into()],
        no_includes: true,
        cpp_compat: true,
        documentation: true,
        style: Style::Both,
        line_length: 110,
        export: ExportConfig {
            rename: renamed,
            include: vec!["VkfusePromotion".into(), "VkfuseAccess".into()],
            exclude: vec![],
            ..ExportConfig::default()
        },
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        ..Config::default()
    }
}

#[test]
fn the_header_is_as_checked_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut builder = Builder::new().with_config(config());
    for file in FILES {
        builder = builder.with_src(root.join("src").join(file).with_extension("rs"));
    }
    let mut made = Vec::new();
    builder.generate().expect("a header").write(&mut made);
    let made = String::from_utf8(made).expect("text").replace(" # Safety\n *\n", "");
    let made = for_c(&made);
    let path = root.join("include/vkfuse.h");
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        fs::write(&path, &made).expect("written");
    }
    let checked_in = fs::read_to_string(&path).unwrap_or_default();
    assert!(made == checked_in, "{} is another one (BLESS=1 writes it):\n{made}", path.display());
}

/// Without what only concerns Rust: the sections about safety, and the names of its results.
fn for_c(header: &str) -> String {
    let mut out = String::new();
    let mut lines = header.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "*" && lines.peek().is_some_and(|next| next.trim() == "* # Safety") {
            while lines.peek().is_some_and(|next| next.trim() != "*/") {
                lines.next();
            }
            continue;
        }
        out += &line.replace("VKFUSE_RESULT_", "VKFUSE_");
        out.push('\n');
    }
    out
}
