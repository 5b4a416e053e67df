//! Artifacts that are kept: the same kernel comes out of them, and nothing else ever does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rspirv::binary::Assemble;
use vkfuse_fuzz::wgsl::Generator;
use vkfuse_jit::kernel::{
    Accepted, ArtifactStore, Kernel, KernelError, Module, Origin, SpecType, SpecValue, Specialized,
};

use super::corpus;

/// Artifacts in memory, under all of their origin.
#[derive(Debug, Default)]
struct Shelf {
    artifacts: Mutex<HashMap<String, Vec<u8>>>,
    found: Mutex<usize>,
}

impl Shelf {
    fn counts(&self) -> (usize, usize) {
        (*self.found.lock().unwrap(), self.artifacts.lock().unwrap().len())
    }
}

impl ArtifactStore for Shelf {
    fn find(&self, origin: &Origin<'_>) -> Option<Vec<u8>> {
        let found = self.artifacts.lock().unwrap().get(&format!("{origin:?}")).cloned();
        *self.found.lock().unwrap() += usize::from(found.is_some());
        found
    }

    fn keep(&self, origin: &Origin<'_>, artifact: &[u8]) {
        self.artifacts.lock().unwrap().insert(format!("{origin:?}"), artifact.to_vec());
    }

    fn is_accepted(&self, _: &Accepted) -> bool {
        false
    }

    fn accept(&self, _: &Accepted) {}
}

fn on(shelf: &Arc<Shelf>) -> Option<Arc<dyn ArtifactStore>> {
    Some(shelf.clone())
}

/// Demands two kernels to be the same in all that a later stage can see.
fn assert_same(what: &str, made: &Specialized, kept: &Specialized) {
    let Specialized {
        name,
        entry,
        hash,
        module,
        spec,
        interface,
        plain,
        normal,
        variants: _,
        zeros: _,
        closed: _,
        is_repeated: _,
        lanes: _,
        elements: _,
        is_rewritten: _,
        store: _,
    } = made;
    assert_eq!((name, entry, hash), (&kept.name, &kept.entry, &kept.hash), "{what}");
    assert_eq!((module.words(), module.hash()), (kept.module.words(), kept.module.hash()), "{what}");
    assert_eq!((spec, interface, plain), (&kept.spec, &kept.interface, &kept.plain), "{what}");
    match (normal, &kept.normal) {
        (Ok(normal), Ok(kept)) => {
            assert_eq!(normal.module.assemble(), kept.module.assemble(), "{what}");
            assert_eq!(format!("{:?}", normal.module), format!("{:?}", kept.module), "{what}");
            let found = [&normal.analysis, &kept.analysis].map(|analysis| {
                // All but a map, which has no order.
                let text = format!("{analysis:?}");
                let (nodes, rest) = text.split_once(", index: {").expect("expressions");
                nodes.to_owned() + rest.split_once("} }, accesses").expect("accesses").1
            });
            assert_eq!(found[0], found[1], "{what}");
        }
        (Err(reason), Err(kept)) => assert_eq!(reason, kept, "{what}"),
        _ => panic!("{what}: {normal:?} and {:?}", kept.normal),
    }
}

/// Values for the constants of a kernel besides their defaults.
fn others(kernel: &Kernel) -> Vec<(u32, SpecValue)> {
    let other = |ty: SpecType, bits: u64| match ty {
        SpecType::Bool => ty.value(bits ^ 1),
        _ => ty.value(bits + 1),
    };
    kernel.spec_constants().iter().map(|one| (one.id, other(one.ty, one.default.bits()))).collect()
}

/// Makes a kernel without a store, with an empty one, and from that one; all three are the same.
fn check(what: &str, module: &Module, entry: &str, values: &[(u32, SpecValue)]) -> bool {
    let shelf = Arc::default();
    let plainly = Kernel::new(module, Some(entry)).unwrap().specialize(values);
    let first = Kernel::with_artifacts(module, Some(entry), on(&shelf)).unwrap().specialize(values);
    let second = Kernel::with_artifacts(module, Some(entry), on(&shelf)).unwrap().specialize(values);
    match (plainly, first, second) {
        (Ok(plainly), Ok(first), Ok(second)) => {
            assert_eq!(shelf.counts(), (1, 1), "{what} is kept and found");
            assert_same(what, &plainly, &first);
            assert_same(what, &plainly, &second);
            true
        }
        (Err(plainly), Err(first), Err(second)) => {
            assert_eq!(shelf.counts(), (0, 0), "{what}: only what was made is kept");
            assert_eq!((&plainly, &plainly), (&first, &second));
            false
        }
        _ => panic!("{what}: a store changes what is refused"),
    }
}

#[test]
fn every_module_comes_back_as_it_was_made() {
    let (mut kernels, mut failures) = (0, 0);
    for name in corpus::names().iter().filter(|name| *name != "fragment") {
        let module = corpus::module(name);
        for entry in module.entry_points() {
            let kernel = Kernel::new(&module, Some(entry)).unwrap();
            let mut sets = vec![Vec::new(), others(&kernel)];
            sets.dedup();
            for values in sets {
                let made = check(&format!("{name} {entry} {values:?}"), &module, entry, &values);
                kernels += usize::from(made);
                failures += usize::from(!made);
            }
        }
    }
    println!("{kernels} kernels made and taken back, {failures} with constants that do not work");
    assert!(kernels > 60);
}

#[test]
fn random_kernels_come_back_as_they_were_made() {
    let pools = std::env::var("FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut kernels, mut specialised) = (0, 0);
    for seed in 0..pools {
        let mut load = |module: &Module, values: &[(u32, SpecValue)]| {
            let entry = &module.entry_points()[0];
            assert!(check(&format!("seed {seed} kernel {kernels}"), module, entry, values));
            kernels += 1;
            specialised += usize::from(!values.is_empty());
            Kernel::new(module, None).unwrap().specialize(values).unwrap()
        };
        Generator::with(seed, 3, &mut load);
    }
    println!("{kernels} random kernels, {specialised} of them with constants");
    assert!(kernels > 40 && specialised > 0);
}

#[test]
fn a_module_whose_form_is_kept_is_not_validated_again_and_any_other_is() {
    for name in ["chain", "chain.g", "spec", "atomics", "image", "hlsl"] {
        let shelf = Arc::default();
        let bytes = corpus::bytes(name);
        let first = Kernel::from_bytes(name, &bytes, on(&shelf)).unwrap().specialize(&[]).unwrap();
        assert_eq!(shelf.counts(), (0, 1));
        let second = Kernel::from_bytes("again", &bytes, on(&shelf)).unwrap();
        assert_eq!((shelf.counts(), second.name()), ((1, 1), "again"));
        let second = second.specialize(&[]).unwrap();
        assert_same(name, &first, &Specialized { name: name.to_owned(), ..(*second).clone() });
        // Words and bytes of either byte order are the same module.
        let (words, _) = bytes.as_chunks::<4>();
        let swapped: Vec<u32> = words.iter().map(|word| u32::from_be_bytes(*word)).collect();
        Kernel::from_words(name, &swapped, on(&shelf)).unwrap();
        assert_eq!(shelf.counts(), (2, 1));
        // In a module that differs in one bit nothing is found.
        let mut random = 1_u64;
        for _ in 0..40 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut other = bytes.clone();
            let at = 20 + (random >> 33) as usize % (other.len() - 20);
            other[at] ^= 1 << (random >> 29 & 7);
            let alone = Kernel::from_bytes(name, &other, None).map(drop);
            assert_eq!(alone, Kernel::from_bytes(name, &other, on(&shelf)).map(drop), "{name}, byte {at}");
            assert_eq!(shelf.counts().0, 2, "{name}, byte {at}: the artifact of another module");
        }
    }
}

/// What the tools refuse is refused each time, in the same words.
#[test]
fn refuses_invalid_modules_with_a_store_too() {
    let shelf = Arc::default();
    let mut bytes = corpus::bytes("chain");
    let valid = Kernel::from_bytes("k", &bytes, on(&shelf)).unwrap();
    valid.specialize(&[]).unwrap();
    // The last instruction but one is the return of the last function.
    let at = bytes.len() - 8;
    assert_eq!(bytes[at..at + 4], 0x0001_00fd_u32.to_le_bytes());
    bytes[at..at + 4].copy_from_slice(&0x0001_00ff_u32.to_le_bytes());
    let plainly = Kernel::from_bytes("k", &bytes[..at], None).unwrap_err();
    for _ in 0..3 {
        let refused = Kernel::from_bytes("k", &bytes[..at], on(&shelf)).unwrap_err();
        assert_eq!(refused, plainly);
    }
    // Valid words that the validator alone has something against: the result type of an addition.
    let mut words: Vec<u32> = valid.module().words().to_vec();
    let types: Vec<usize> = instructions(&words, 22).collect();
    words[types[0] + 2] = 48;
    let plainly = Kernel::from_words("k", &words, None).unwrap_err();
    assert!(matches!(plainly, KernelError::Invalid { .. }), "{plainly}");
    for _ in 0..3 {
        assert_eq!(Kernel::from_words("k", &words, on(&shelf)).unwrap_err(), plainly);
    }
    assert_eq!(shelf.counts(), (0, 1));
}

/// Where the instructions with an opcode are.
fn instructions(words: &[u32], code: u32) -> impl Iterator<Item = usize> {
    let mut at = 5;
    std::iter::from_fn(move || {
        while at < words.len() {
            let here = at;
            at += (words[at] >> 16) as usize;
            if words[here] & 0xffff == code {
                return Some(here);
            }
        }
        None
    })
}

/// Other constants and other entry points are other kernels.
#[test]
fn forms_are_found_under_their_own_origin_alone() {
    let shelf = Arc::default();
    let open = || Kernel::from_bytes("spec", &corpus::bytes("spec"), on(&shelf)).unwrap();
    let values = others(&open());
    let made = [&values[..], &[], &values[..1]].map(|set| open().specialize(set).unwrap());
    let kept = shelf.counts().1;
    assert_eq!(kept, 3);
    let again = [&values[..], &[], &values[..1]].map(|set| open().specialize(set).unwrap());
    for (made, again) in made.iter().zip(&again) {
        assert_same("spec", made, again);
    }
    assert_ne!(again[0].plain, again[1].plain);
    let module = corpus::module("many");
    for entry in module.entry_points() {
        let kernel = |artifacts| Kernel::with_artifacts(&module, Some(entry), artifacts).unwrap();
        let kept = kernel(on(&shelf)).specialize(&[]).unwrap();
        assert_same(entry, &kernel(None).specialize(&[]).unwrap(), &kept);
    }
}

/// Code is made of artifacts: what made them is no part of a kernel's identity, so their contents have to be part of the code's.
#[test]
fn another_form_has_another_hash() {
    let made = Kernel::from_bytes("spec", &corpus::bytes("spec"), None).unwrap().specialize(&[]).unwrap();
    let changes: [fn(&mut Specialized); 4] = [
        |kernel| kernel.plain.strict[6] ^= 1,
        |kernel| kernel.plain.contract[6] ^= 1,
        |kernel| {
            let normal = kernel.normal.as_mut().unwrap();
            drop(normal.module.functions[0].blocks[0].instructions.remove(0));
        },
        |kernel| kernel.normal = Err(vkfuse_jit::Reason::FloatControls),
    ];
    assert_eq!(made.artifact_hash(), Specialized::clone(&made).artifact_hash());
    let mut seen = vec![made.artifact_hash()];
    for change in changes {
        let mut changed = Specialized::clone(&made);
        change(&mut changed);
        assert_eq!(changed.hash, made.hash);
        assert!(!seen.contains(&changed.artifact_hash()));
        seen.push(changed.artifact_hash());
    }
}

/// A store that hands out something else than it was given.
#[derive(Debug)]
struct Liar {
    bytes: Vec<u8>,
    kept: Mutex<Vec<u8>>,
}

impl ArtifactStore for Liar {
    fn find(&self, _: &Origin<'_>) -> Option<Vec<u8>> {
        Some(self.bytes.clone())
    }

    fn keep(&self, _: &Origin<'_>, artifact: &[u8]) {
        *self.kept.lock().unwrap() = artifact.to_vec();
    }

    fn is_accepted(&self, _: &Accepted) -> bool {
        true
    }

    fn accept(&self, _: &Accepted) {}
}

/// Whatever a store hands out: no panic, and what is cut short or goes on is made anew and put in its place.
#[test]
fn damaged_forms_never_panic_and_partial_ones_are_made_anew() {
    let (mut damaged, mut replaced) = (0, 0);
    for name in ["chain", "spec", "image", "atomics", "shared"] {
        let shelf = Arc::<Shelf>::default();
        let bytes = corpus::bytes(name);
        let made = Kernel::from_bytes(name, &bytes, on(&shelf)).unwrap().specialize(&[]).unwrap();
        let sound = shelf.artifacts.lock().unwrap().values().next().unwrap().clone();
        let load = |bytes_kept: Vec<u8>| {
            let liar = Arc::new(Liar { bytes: bytes_kept, kept: Mutex::default() });
            let kernel = Kernel::from_bytes(name, &bytes, Some(liar.clone()));
            let kernel = kernel.and_then(|kernel| kernel.specialize(&[]));
            (kernel, std::mem::take(&mut *liar.kept.lock().unwrap()))
        };
        let step = (sound.len() / 60).max(1);
        for at in (0..sound.len()).step_by(step) {
            // The validator would be asked for each of these.
            for bytes in [sound[..at].to_vec(), [&sound[..], &sound[..at + 1]].concat()] {
                let (kernel, kept) = load(bytes);
                assert_same(name, &made, &kernel.unwrap());
                assert_eq!(kept, sound, "{name}: put right");
                replaced += 1;
            }
        }
        for at in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            if at % step != 0 && at > 200 {
                continue;
            }
            let (kernel, kept) = load(bytes);
            if !kept.is_empty() {
                assert_eq!(kept, sound, "{name}: put right");
                assert_same(name, &made, &kernel.unwrap());
            }
            damaged += 1;
        }
    }
    println!("{replaced} partial artifacts made anew, {damaged} damaged ones read");
}

/// The hash of the artifact of every module with its constants at their defaults, beside the version. A line that changes
/// says that something makes artifacts otherwise than before: raise `ARTIFACT_VERSION`, or what earlier processes kept will be
/// taken for what this code makes. `UPDATE_FORMS=1` then writes the file anew, as it does for a module that was added.
/// An installed spirv-val may be of another version, which accepts layouts that the compiled one does not: then artifacts differ, under keys of their own.
#[cfg(feature = "compiled-spirv-tools")]
#[test]
fn forms_change_with_their_version_only() {
    use vkfuse_jit::kernel::ARTIFACT_VERSION;

    let mut text = format!("version {ARTIFACT_VERSION}\n");
    for name in corpus::names().iter().filter(|name| *name != "fragment") {
        let module = corpus::module(name);
        for entry in module.entry_points() {
            let shelf = Arc::<Shelf>::default();
            Kernel::with_artifacts(&module, Some(entry), on(&shelf)).unwrap().specialize(&[]).unwrap();
            let artifacts = shelf.artifacts.lock().unwrap();
            let artifact = artifacts.values().next().expect("kept");
            text += &format!("{name} {entry} {}\n", &blake3::hash(artifact).to_hex()[..16]);
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel/artifacts.txt");
    if std::env::var_os("UPDATE_FORMS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap();
    let changed: Vec<_> = text.lines().filter(|line| !known.lines().any(|known| known == *line)).collect();
    assert!(changed.is_empty() && text == known, "other artifacts than before: {changed:#?}");
}
