//! Keys: what code and driver blobs depend on, and why something cannot be kept.

use vkfuse_cache::{Key, Part, PartKind};

use crate::{
    jit::{
        Accepted, BlockCoarseningLimits, Limits, Origin, ShapeLimits, Step, SubgroupLimits,
        ThreadCoarseningLimits, UnrollLimits,
    },
    options::environment,
    vk::Gpu,
};

/// What the keys of a context have in common. Read once, when the context is made.
#[derive(Debug)]
pub(crate) struct Identity {
    /// What of the device the code depends on: its limits, and not its driver.
    device: Part,
    /// What the driver's blobs depend on besides the code.
    driver: Part,
    /// An environment variable that makes the driver take code from files of unknown contents.
    pub(crate) replaces: Option<String>,
}

impl Identity {
    pub(crate) fn new(gpu: &Gpu, limits: &Limits) -> Identity {
        let switches = environment::driver_switches();
        let replaces = switches.iter().map(|(name, _)| name);
        let replaces = replaces
            .filter(|name| name.ends_with("_READ_PATH") || name.ends_with("_OVERRIDE_PATH"))
            .min()
            .cloned();
        Identity { device: device(limits), driver: driver(&gpu.caps().driver_identity, &switches), replaces }
    }

    /// The store's key of a step: everything that the code depends on.
    pub(crate) fn key(&self, step: &Step) -> Key {
        let made_of = step.ingredients();
        let mut image = Part::new();
        for (number, (kernel, artifact)) in made_of.kernels.iter().zip(&made_of.artifacts).enumerate() {
            image = image.bytes(&format!("kernel {number}"), kernel);
            image = image.bytes(&format!("kernel {number} form"), artifact);
        }
        for (name, value) in &made_of.fusion {
            image = image.str(name, value);
        }
        image = image.bytes("recipe", &step.recipe);
        let mut spec = Part::new();
        for (number, constants) in made_of.spec.iter().enumerate() {
            for (id, bits) in constants {
                spec = spec.u64(&format!("kernel {number} constant {id}"), *bits);
            }
        }
        let options = Part::new()
            .str("generator", GENERATOR)
            .u32(CODE_VERSION, made_of.code_version)
            .bool("strict floats", made_of.strict)
            .str("entry", Step::ENTRY);
        Key::new(self.device.clone(), image, spec, options)
    }

    /// What a blob of the driver depends on besides the key of its entry.
    pub(crate) fn driver(&self, code: &[u8]) -> Part {
        self.driver.clone().bytes("code", blake3::hash(code).as_bytes())
    }
}

impl Identity {
    /// The store's key of the record of compiler crashes for the code that has this driver key.
    pub(crate) fn of_deaths(driver: &Part, bindings: &str) -> Key {
        let options = Part::new().str("generator", GENERATOR).str("what", DEATHS);
        Key::new(driver.clone(), Part::new().str("bindings", bindings), Part::new(), options)
    }
}

impl Identity {
    /// The store's key of how a list is fastest, by what makes it this list. Time depends on the device and its driver.
    pub(crate) fn of_choice(&self, list: &[u8; 32]) -> Key {
        let options = Part::new().str("generator", GENERATOR).str("what", CHOICES);
        Key::new(self.driver.clone(), Part::new().bytes("list", list), Part::new(), options)
    }
}

/// Whether a key is that of a step's code.
pub(crate) fn is_of_step(key: &Key) -> bool {
    key.part(PartKind::Options).fields().iter().any(|field| field.name == CODE_VERSION)
}

/// The store's key of a kernel's normal form. It depends on no device.
pub(crate) fn of_kernel(origin: &Origin<'_>) -> Key {
    // All of it by name: a new ingredient does not compile until it is here.
    let Origin { module, words, entry, spec, version, tools } = origin;
    let device = Part::new().str("device", "any");
    let image = Part::new().bytes("module", module).u64("words", *words).str("entry", entry);
    let mut constants = Part::new();
    for (id, bits) in *spec {
        constants = constants.u64(&format!("constant {id}"), *bits);
    }
    let options = Part::new().str("generator", GENERATOR).u32(ARTIFACT_VERSION, *version).str("tools", tools);
    Key::new(device, image, constants, options)
}

/// The store's key of words that a validator accepted.
pub(crate) fn of_accepted(accepted: &Accepted) -> Key {
    let Accepted { module, words, tools } = accepted;
    let device = Part::new().str("device", "any");
    let image = Part::new().bytes("words", module).u64("count", *words);
    let options = Part::new().str("generator", GENERATOR).str("what", ACCEPTED).str("tools", tools);
    Key::new(device, image, Part::new(), options)
}

/// Whether a key is that of a kernel's normal form.
#[cfg(test)]
pub(crate) fn is_of_kernel(key: &Key) -> bool {
    key.part(PartKind::Options).fields().iter().any(|field| field.name == ARTIFACT_VERSION)
}

const CODE_VERSION: &str = "code version";
const DEATHS: &str = "compiler deaths";
const CHOICES: &str = "fastest way";
const ACCEPTED: &str = "accepted words";
const GENERATOR: &str = concat!("vkfuse ", env!("CARGO_PKG_VERSION"));
const ARTIFACT_VERSION: &str = "normal form version";

fn device(limits: &Limits) -> Part {
    // All of them by name: a new limit does not compile until it is here.
    let Limits {
        max_push_bytes,
        max_shared_bytes,
        max_storage_buffers,
        max_uniform_buffers,
        max_images,
        max_work_group_size,
        max_work_group_invocations,
        max_groups,
        max_loop_rounds,
        shape,
        block_coarsening,
        thread_coarsening,
        unroll,
        late_stores,
        subgroups: SubgroupLimits { size: subgroup_size, together },
        max_subgroups,
        kept_result_bytes,
        // It decides what is fused with what, and each fused list is a recipe of its own.
        max_broadcast_bytes: _,
        cached_bytes: _,
        overlapping_invocations: _,
        small_scalars,
        float_controls,
        robust,
    } = limits;
    let ShapeLimits {
        group_size,
        items,
        vectors,
        rounds: vectors_in_turn,
        least: groups_left,
        superword,
        lanes,
        conditions,
    } = shape;
    let BlockCoarseningLimits { work_groups, least, private_bytes, shared_bytes } = block_coarsening;
    let ThreadCoarseningLimits {
        invocations,
        least: narrow_least,
        private_bytes: narrow_private,
        any_loops,
        subgroup: narrow_subgroup,
        shuffles,
        packed,
        side_by_side,
        lane_elements,
        uniform,
    } = thread_coarsening;
    let UnrollLimits { rounds, at_once, private_bytes: kept_private, keep, registers } = unroll;
    Part::new()
        .u32("push-constant bytes", *max_push_bytes)
        .u32("shared bytes", *max_shared_bytes)
        .u32("storage buffers", *max_storage_buffers)
        .u32("uniform buffers", *max_uniform_buffers)
        .u32("images", *max_images)
        .str("work-group size", &format!("{max_work_group_size:?}"))
        .u32("work-group invocations", *max_work_group_invocations)
        .str("work-groups", &format!("{max_groups:?}"))
        .u64("loop rounds", max_loop_rounds.unwrap_or(u64::MAX))
        .u32("shape: work-group size", *group_size)
        .u32("shape: items", *items)
        .bool("shape: vectors", *vectors)
        .u32("shape: vectors one after another", *vectors_in_turn)
        .u32("shape: work-groups left", *groups_left)
        .u32("shape: items in lockstep", *superword)
        .u32("shape: lanes left", *lanes)
        .u32("shape: conditions", conditions.unwrap_or(u32::MAX))
        .u32("late stores", *late_stores)
        .u32("sub-group size", *subgroup_size)
        .bool("sub-groups: together", *together)
        .u32("sub-groups", *max_subgroups)
        .u32("kept bytes of results", *kept_result_bytes)
        .u32("side by side: work-groups", *work_groups)
        .u32("side by side: left", *least)
        .u32("side by side: private bytes", *private_bytes)
        .u32("side by side: shared bytes", *shared_bytes)
        .u32("narrow: invocations", *invocations)
        .u32("narrow: work-groups", *narrow_least)
        .u32("narrow: private bytes", *narrow_private)
        .bool("narrow: any loops", *any_loops)
        .u32("narrow: sub-group size", *narrow_subgroup)
        .bool("narrow: shuffles", *shuffles)
        .u32("narrow: packed", *packed)
        .u32("narrow: side by side", *side_by_side)
        .u32("narrow: lane elements", *lane_elements)
        .bool("narrow: uniform", *uniform)
        .u32("written out: rounds", *rounds)
        .u32("written out: rounds at once", *at_once)
        .u32("written out: private bytes", *kept_private)
        .u32("unrolled loops: words in registers", *keep)
        .u32("registers per processor", *registers)
        .str("small scalars", &format!("{small_scalars:?}"))
        .str("float controls", &format!("{float_controls:?}"))
        .bool("robust buffer access", *robust)
}

fn driver(identity: &[(&'static str, Vec<u8>)], switches: &[(String, String)]) -> Part {
    let mut part = Part::new();
    for (name, bytes) in identity {
        part = match std::str::from_utf8(bytes) {
            Ok(text) if text.chars().all(|c| !c.is_control()) && !text.is_empty() => part.str(name, text),
            _ => part.bytes(name, bytes),
        };
    }
    for (name, value) in switches {
        part = part.str(name, value);
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_changes_the_device() {
        let changes: [fn(&mut Limits); 44] = [
            |l| l.shape.group_size += 32,
            |l| l.shape.items += 1,
            |l| l.shape.vectors = !l.shape.vectors,
            |l| l.shape.conditions = Some(48),
            |l| l.block_coarsening.work_groups += 2,
            |l| l.block_coarsening.least += 1,
            |l| l.block_coarsening.private_bytes += 4,
            |l| l.block_coarsening.shared_bytes += 4,
            |l| l.thread_coarsening.invocations += 1,
            |l| l.thread_coarsening.least += 1,
            |l| l.thread_coarsening.private_bytes += 4,
            |l| l.thread_coarsening.any_loops = !l.thread_coarsening.any_loops,
            |l| l.thread_coarsening.subgroup = 32,
            |l| l.thread_coarsening.shuffles = !l.thread_coarsening.shuffles,
            |l| l.thread_coarsening.packed += 2,
            |l| l.thread_coarsening.side_by_side += 2,
            |l| l.thread_coarsening.lane_elements += 2,
            |l| l.thread_coarsening.uniform = !l.thread_coarsening.uniform,
            |l| l.unroll.rounds += 1,
            |l| l.unroll.at_once += 1,
            |l| l.unroll.private_bytes += 4,
            |l| l.unroll.keep += 1,
            |l| l.unroll.registers += 1,
            |l| l.late_stores += 1,
            |l| l.subgroups.size = 32,
            |l| l.subgroups.together = true,
            |l| l.max_subgroups -= 1,
            |l| l.kept_result_bytes += 4,
            |l| l.robust = !l.robust,
            |l| l.max_push_bytes += 4,
            |l| l.max_shared_bytes += 1,
            |l| l.max_storage_buffers += 1,
            |l| l.max_uniform_buffers += 1,
            |l| l.max_images += 1,
            |l| l.max_work_group_size[2] += 1,
            |l| l.max_work_group_invocations += 1,
            |l| l.max_groups[0] -= 1,
            |l| l.max_loop_rounds = Some(65_535),
            |l| l.small_scalars.int8 = !l.small_scalars.int8,
            |l| l.small_scalars.int16 = !l.small_scalars.int16,
            |l| l.small_scalars.float16 = !l.small_scalars.float16,
            |l| l.float_controls.special.f32 = !l.float_controls.special.f32,
            |l| l.float_controls.denormals.f16 = !l.float_controls.denormals.f16,
            |l| l.float_controls.rounding.f64 = !l.float_controls.rounding.f64,
        ];
        let mut seen = vec![device(&Limits::default())];
        // Two devices with the same limits are one.
        assert_eq!(device(&Limits::default()).as_bytes(), seen[0].as_bytes());
        for change in changes {
            let mut limits = Limits::default();
            change(&mut limits);
            let changed = device(&limits);
            assert!(seen.iter().all(|part| part.as_bytes() != changed.as_bytes()), "{limits:?}");
            seen.push(changed);
        }
    }

    #[test]
    fn every_ingredient_of_a_form_changes_its_key() {
        const SPEC: &[(u32, u64)] = &[(3, 7), (4, 1)];
        let usual =
            Origin { module: [1; 32], words: 9, entry: "main", spec: SPEC, version: 1, tools: "tools 1" };
        let others = [
            Origin { module: [2; 32], ..usual },
            Origin { words: 10, ..usual },
            Origin { entry: "mai", ..usual },
            Origin { spec: &SPEC[..1], ..usual },
            Origin { spec: &[(3, 7), (4, 2)], ..usual },
            Origin { spec: &[(3, 7), (5, 1)], ..usual },
            Origin { version: 2, ..usual },
            Origin { tools: "tools 2", ..usual },
        ];
        let usual = of_kernel(&usual);
        assert!(is_of_kernel(&usual));
        let mut seen = vec![usual];
        for origin in others {
            let key = of_kernel(&origin);
            assert!(!seen.contains(&key), "{origin:?}");
            seen.push(key);
        }
    }

    #[test]
    fn every_field_of_the_driver_and_every_switch_changes_the_blob() {
        let identity =
            || vec![("vendorID", vec![1, 0, 0, 0]), ("driverName", b"mock".to_vec()), ("uuid", vec![0; 16])];
        let switches = || vec![("RADV_DEBUG".to_owned(), "nocache".to_owned())];
        let usual = driver(&identity(), &switches());
        assert_eq!(usual.as_bytes(), driver(&identity(), &switches()).as_bytes());
        for at in 0..3 {
            let mut changed = identity();
            changed[at].1[0] ^= 1;
            assert_ne!(driver(&changed, &switches()).as_bytes(), usual.as_bytes(), "{}", changed[at].0);
        }
        let one = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let other = [
            vec![],
            vec![one("RADV_DEBUG", "nocaches")],
            vec![one("RADV_DEBUG", "nocache"), one("LP_NATIVE_VECTOR_WIDTH", "128")],
        ];
        for set in other {
            assert_ne!(driver(&identity(), &set).as_bytes(), usual.as_bytes(), "{set:?}");
        }
    }
}
