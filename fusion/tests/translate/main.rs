//! Emitted modules in other languages: Metal's and Direct3D's by SPIRV-Cross, which MoltenVK translates with, WGSL by naga.
//!
//! Runs under `./x translate`. Modules are those of random lists, planned for Apple's limits, and those in a folder.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_REQUIRE_TRANSLATORS` | set by `./x translate`: without it nothing is done |
//! | `VKFUSE_TRANSLATE` | a folder with modules: those in its folder `apple` were emitted for Apple's limits |
//! | `VKFUSE_TRANSLATE_LISTS` | how many random lists; 200 by default |
//! | `VKFUSE_NAGA` | naga's program; no WGSL without it |
//! | `BLESS` | writes `wgsl.txt`, how many modules WGSL cannot say, by cause |

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use vkfuse::device::DeviceProfile;
use vkfuse::{PlannedList, Tuning};
use vkfuse_fuzz::wgsl::{Case, Epilogues, Forms, Generator, Grids, Seams};
use vkfuse_jit::plan::FuseOptions;

/// A language, and how SPIRV-Cross is asked for it.
const LANGUAGES: [(&str, &[&str]); 4] = [
    ("MSL 2.3", &["--msl", "--msl-version", "20300"]),
    ("MSL 3.0", &["--msl", "--msl-version", "30000"]),
    ("HLSL 6.0", &["--hlsl", "--shader-model", "60"]),
    ("HLSL 6.6", &["--hlsl", "--shader-model", "66"]),
];

/// What a language cannot say: its name starts so, a part of what the translator says, and why that is so. Nothing of MSL's may be met by modules for Apple's
/// limits.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "HLSL",
    "cannot be expressed with either HLSL packing layout or packoffset",
    "push constants follow each other as in the user's block, where HLSL begins what is behind a structure at 16 bytes",
)];

/// What naga says of a module that it does not translate, by cause. Every other cause is an error.
const NOT_IN_WGSL: &[(&str, &str)] = &[
    (
        "unsupported extension SPV_KHR_float_controls",
        "float controls, which strict code has on devices that know them",
    ),
    ("Unsupported relational function: IsNan", "`OpIsNan`, by which minima are chosen"),
    (
        "conflict with other resource",
        "two variables at one binding, for members that have other types of one buffer",
    ),
    ("Memory decorations (`@coherent`", "coherent images"),
    ("invalid id", "combined image samplers"),
    ("crosses the structure boundary", "push constants that follow each other as in the user's blocks"),
    ("overlaps the previous member", "push constants that follow each other as in the user's blocks"),
];

/// In WGSL, which naga takes again, or why not.
fn wgsl(naga: &OsStr, module: &Path, into: &Path) -> Result<(), String> {
    translate(module, "WGSL", Command::new(naga).arg(module).arg(into))?;
    translate(into, "WGSL again", Command::new(naga).arg(into))
}

struct Modules {
    folder: PathBuf,
    seen: HashSet<Vec<u32>>,
    apple: Vec<PathBuf>,
}

impl Modules {
    fn add(&mut self, words: &[u32]) {
        if !self.seen.insert(words.to_vec()) {
            return;
        }
        let path = self.folder.join(format!("{}.spv", self.apple.len()));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&path, bytes).expect("a module is written");
        self.apple.push(path);
    }
}

/// The modules of random lists under Apple's limits.
fn random(lists: usize, modules: &mut Modules) {
    let mut refused = 0;
    for seed in 0..lists.div_ceil(25) as u64 {
        let tuning = if seed % 2 == 1 { Tuning::new().least_work_groups(1) } else { Tuning::new() };
        let limits = DeviceProfile::apple().planning(&tuning);
        let generator = Generator::new(seed, 4).sizes(4);
        let (mut seams, mut grids) = (Seams::new(seed), Grids::new(seed));
        let (mut forms, mut epilogues) = (Forms::new(seed), Epilogues::new(seed));
        for list in 0..25 {
            let case: Case = match list % 5 {
                0 => generator.case(list),
                1 => seams.case(list),
                2 => grids.case(list),
                3 => forms.case(list),
                _ => epilogues.case(list),
            };
            match PlannedList::elsewhere(&case.submissions, &FuseOptions::default(), &limits, Vec::new()) {
                Ok((_, code)) => code.iter().for_each(|words| modules.add(words)),
                Err(_) => refused += 1,
            }
        }
    }
    println!("{} modules of {lists} random lists, {refused} lists over Apple's limits", modules.apple.len());
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let found = folder.read_dir().into_iter().flatten().flatten().map(|file| file.path());
    let mut found: Vec<_> = found.filter(|path| path.extension().is_some_and(|end| end == "spv")).collect();
    found.sort();
    found
}

/// Why a module cannot be said in a language, if that is so.
fn translate(module: &Path, language: &str, program: &mut Command) -> Result<(), String> {
    let output = program.output().unwrap_or_else(|error| panic!("{program:?}: {error}"));
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    Err(format!("{} in {language}: {said}", module.display()))
}

/// Compares the counts with those that are committed.
fn compare(in_wgsl: &BTreeMap<(&str, &str), usize>) {
    let mut table = String::from("# Modules of `./x translate` in WGSL, by naga.\n");
    for ((limits, cause), count) in in_wgsl {
        let _ = writeln!(table, "{limits}: {count:>4} {cause}");
    }
    println!("{table}");
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/translate/wgsl.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&committed, &table).expect("the table is written");
    }
    let known = std::fs::read_to_string(&committed).unwrap_or_default();
    assert!(known == table, "other counts than in {}", committed.display());
}

#[test]
fn modules_can_be_said_in_other_languages() {
    if std::env::var_os("VKFUSE_REQUIRE_TRANSLATORS").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut modules = Modules { folder: folder.path().to_owned(), seen: HashSet::new(), apple: Vec::new() };
    let lists =
        std::env::var("VKFUSE_TRANSLATE_LISTS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    random(lists, &mut modules);
    let mut all: Vec<(PathBuf, bool)> = modules.apple.iter().map(|path| (path.clone(), true)).collect();
    if let Some(given) = std::env::var_os("VKFUSE_TRANSLATE").map(PathBuf::from) {
        all.extend(files(&given.join("apple")).into_iter().map(|path| (path, true)));
        all.extend(files(&given).into_iter().map(|path| (path, false)));
    }
    let into = folder.path().join("translated");
    let mut said: BTreeMap<&str, usize> = BTreeMap::new();
    let mut excepted: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut in_wgsl: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let naga = std::env::var_os("VKFUSE_NAGA");
    let mut wrong = Vec::new();
    for (module, is_apple) in &all {
        let mut results = Vec::new();
        for (language, options) in LANGUAGES {
            let mut program = Command::new("spirv-cross");
            program.arg(module).args(options).arg("--output").arg(&into);
            results.push((language, translate(module, language, &mut program)));
        }
        if let Some(naga) = &naga {
            let limits = if *is_apple { "Apple's limits" } else { "other limits" };
            let cause = match wgsl(naga, module, &into.with_extension("wgsl")) {
                Ok(()) => Some("said"),
                Err(what) => {
                    let known = NOT_IN_WGSL.iter().find(|(part, _)| what.contains(part)).map(|(_, why)| *why);
                    wrong.extend(known.is_none().then_some(what));
                    known
                }
            };
            if let Some(cause) = cause {
                *in_wgsl.entry((limits, cause)).or_default() += 1;
            }
        }
        for (language, result) in results {
            let Err(what) = result else {
                *said.entry(language).or_default() += 1;
                continue;
            };
            let known =
                EXCEPTIONS.iter().find(|(of, part, _)| language.starts_with(of) && what.contains(part));
            match known {
                Some((_, _, why)) if !(*is_apple && language.starts_with("MSL")) => {
                    *excepted.entry((language, why)).or_default() += 1;
                }
                _ => wrong.push(what),
            }
        }
    }
    println!("{} modules: {said:?}", all.len());
    for ((language, why), count) in excepted {
        println!("{language}: {count} cannot be said: {why}");
    }
    if naga.is_some() {
        compare(&in_wgsl);
    }
    assert!(wrong.is_empty(), "{} cannot be said:\n{}", wrong.len(), wrong.join("\n"));
}
