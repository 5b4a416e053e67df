//! What a module may ask of a device besides capabilities: execution modes and extensions.
//!
//! As with capabilities, a module that declares what the device was not made with is invalid usage, and drivers may crash on it or refuse
//! it without a reason.

use vulkano::{Version, device::physical::ShaderFloatControlsIndependence as Independence};

use crate::jit::Mode;
use crate::vk::spirv_caps::{self, Has};

/// Something that a module declares and a device does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The device, or its driver, does not have it: the feature or extension that is named, if there is one for it.
    Device(Option<&'static str>),
    /// The device has it, and was made without what is named.
    Enabled(&'static str),
}

/// What modules may ask of a device as it was made, and of one with all that it has.
#[derive(Debug, Clone)]
pub(crate) struct Requirements {
    on: Tables,
    had: Tables,
    floats: FloatModes,
}

#[derive(Debug, Clone)]
struct Tables {
    /// By number, sorted, with what each needs.
    capabilities: Vec<(u32, &'static str)>,
    modes: Vec<(u32, &'static str)>,
    extensions: Vec<(&'static str, &'static str, bool)>,
    /// Capabilities and modes that are not there.
    missing: [Vec<(u32, &'static str)>; 2],
}

impl Tables {
    fn of(has: &Has<'_>) -> Tables {
        let ([capabilities, missing], [modes, no_modes]) = (spirv_caps::supported(has), modes(has));
        Tables { capabilities, modes, extensions: extensions(has), missing: [missing, no_modes] }
    }
}

impl Requirements {
    /// Of a device that has all of `had` and was made with what of it is `on`.
    pub(in crate::vk) fn of(on: &Has<'_>, had: &Has<'_>) -> Requirements {
        Requirements { on: Tables::of(on), had: Tables::of(had), floats: FloatModes::of(on) }
    }

    /// The capabilities and execution modes that the device has and was not made with, by number.
    #[cfg(test)]
    pub(in crate::vk) fn left_off(&self) -> Vec<u32> {
        let had = self.had.capabilities.iter().chain(&self.had.modes);
        let is_on = |one: &u32| self.on.capabilities.iter().chain(&self.on.modes).any(|(on, _)| on == one);
        had.map(|(number, _)| *number).filter(|one| !is_on(one)).collect()
    }

    /// The capabilities that modules may declare, by number, sorted.
    pub(in crate::vk) fn capabilities(&self) -> Vec<u32> {
        self.on.capabilities.iter().map(|(number, _)| *number).collect()
    }

    /// Why modules may not declare a capability, if they may not.
    pub(crate) fn lacks_capability(&self, number: u32) -> Option<Lack> {
        lacks(&self.on.capabilities, &self.had.capabilities, &self.had.missing[0], number)
    }

    /// Which of the modes of an entry point the device does not take, in words, and why.
    pub(crate) fn lacks_mode(&self, asked: &[Mode]) -> Option<(String, Lack)> {
        let (on, had, missing) = (&self.on.modes, &self.had.modes, &self.had.missing[1]);
        let lacking = asked
            .iter()
            .filter(|mode| !is_plain(mode.number))
            .find_map(|mode| Some((in_words(mode), lacks(on, had, missing, mode.number)?)));
        lacking.or_else(|| Some((self.floats.lacking(asked)?, Lack::Device(None))))
    }

    /// Why modules may not declare an extension, if they may not.
    pub(crate) fn lacks_extension(&self, name: &str) -> Option<Lack> {
        let find = |of: &Tables| of.extensions.iter().find(|(one, ..)| *one == name).copied();
        let (.., is_on) = find(&self.on)?;
        if is_on {
            return None;
        }
        match find(&self.had) {
            Some((_, extension, true)) => Some(Lack::Enabled(extension)),
            Some((_, extension, false)) => Some(Lack::Device(Some(extension))),
            None => Some(Lack::Device(None)),
        }
    }
}

fn lacks(
    on: &[(u32, &'static str)],
    had: &[(u32, &'static str)],
    missing: &[(u32, &'static str)],
    number: u32,
) -> Option<Lack> {
    let find = |all: &[(u32, &'static str)]| {
        all.binary_search_by_key(&number, |(one, _)| *one).ok().map(|at| all[at].1)
    };
    match (find(on), find(had)) {
        (Some(_), _) => None,
        (None, Some(needs)) if !needs.is_empty() => Some(Lack::Enabled(needs)),
        (None, _) => Some(Lack::Device(find(missing).filter(|needs| !needs.is_empty()))),
    }
}

/// Execution modes that need a feature, by number, with the feature; sorted: those that are there, and those that are not.
fn modes(has: &Has<'_>) -> [Vec<(u32, &'static str)>; 2] {
    let f = has.features;
    let table = [
        (38, "feature `maintenance4`", f.maintenance4),
        (
            4421,
            "feature `shaderSubgroupUniformControlFlow` of VK_KHR_shader_subgroup_uniform_control_flow",
            f.shader_subgroup_uniform_control_flow,
        ),
        (5088, "feature `shaderQuadControl` of VK_KHR_shader_quad_control", f.shader_quad_control),
        (
            5289,
            "feature `computeDerivativeGroupQuads` of VK_KHR_compute_shader_derivatives",
            has.newer.any("computeDerivativeGroupQuads"),
        ),
        (
            5290,
            "feature `computeDerivativeGroupLinear` of VK_KHR_compute_shader_derivatives",
            has.newer.any("computeDerivativeGroupLinear"),
        ),
        (
            6023,
            "feature `shaderMaximalReconvergence` of VK_KHR_shader_maximal_reconvergence",
            f.shader_maximal_reconvergence,
        ),
        (6028, "feature `shaderFloatControls2` of VK_KHR_shader_float_controls2", f.shader_float_controls2),
    ];
    [true, false].map(|which| {
        let those = table.into_iter().filter(|(.., on)| *on == which);
        those.map(|(number, needs, _)| (number, needs)).collect()
    })
}

/// Float modes that a device takes: number, width, and how they may differ between widths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FloatModes {
    taken: Vec<(u32, u32)>,
    denormals: Widths,
    rounding: Widths,
}

/// Which widths of floats may have modes of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Widths {
    /// None.
    #[default]
    Together,
    /// 32 bits, and the others together.
    Singles,
    /// Each.
    Each,
}

impl Widths {
    fn of(independence: Option<Independence>) -> Widths {
        match independence {
            Some(Independence::All) => Widths::Each,
            Some(Independence::Float32Only) => Widths::Singles,
            _ => Widths::Together,
        }
    }

    /// Whether two widths have to have one mode.
    fn ties(self, a: u32, b: u32) -> bool {
        match self {
            Widths::Together => true,
            Widths::Singles => a != 32 && b != 32,
            Widths::Each => a == b,
        }
    }
}

const DENORM_PRESERVE: u32 = 4459;
const DENORM_FLUSH: u32 = 4460;
const SPECIAL: u32 = 4461;
const ROUND_TO_EVEN: u32 = 4462;
const ROUND_TO_ZERO: u32 = 4463;

/// Modes that every device takes: `LocalSize`.
const LOCAL_SIZE: u32 = 17;

impl FloatModes {
    fn of(has: &Has<'_>) -> FloatModes {
        let p = has.properties;
        let table = [
            (DENORM_PRESERVE, 16, p.shader_denorm_preserve_float16),
            (DENORM_PRESERVE, 32, p.shader_denorm_preserve_float32),
            (DENORM_PRESERVE, 64, p.shader_denorm_preserve_float64),
            (DENORM_FLUSH, 16, p.shader_denorm_flush_to_zero_float16),
            (DENORM_FLUSH, 32, p.shader_denorm_flush_to_zero_float32),
            (DENORM_FLUSH, 64, p.shader_denorm_flush_to_zero_float64),
            (SPECIAL, 16, p.shader_signed_zero_inf_nan_preserve_float16),
            (SPECIAL, 32, p.shader_signed_zero_inf_nan_preserve_float32),
            (SPECIAL, 64, p.shader_signed_zero_inf_nan_preserve_float64),
            (ROUND_TO_EVEN, 16, p.shader_rounding_mode_rte_float16),
            (ROUND_TO_EVEN, 32, p.shader_rounding_mode_rte_float32),
            (ROUND_TO_EVEN, 64, p.shader_rounding_mode_rte_float64),
            (ROUND_TO_ZERO, 16, p.shader_rounding_mode_rtz_float16),
            (ROUND_TO_ZERO, 32, p.shader_rounding_mode_rtz_float32),
            (ROUND_TO_ZERO, 64, p.shader_rounding_mode_rtz_float64),
        ];
        let taken = table.into_iter().filter(|(.., on)| *on == Some(true));
        FloatModes {
            taken: taken.map(|(mode, width, _)| (mode, width)).collect(),
            denormals: Widths::of(p.denorm_behavior_independence),
            rounding: Widths::of(p.rounding_mode_independence),
        }
    }

    /// What of the modes of an entry point the device does not take, in words.
    fn lacking(&self, modes: &[Mode]) -> Option<String> {
        for mode in modes.iter().filter(|mode| is_of_floats(mode.number)) {
            if !mode.width().is_some_and(|width| self.taken.contains(&(mode.number, width))) {
                return Some(in_words(mode));
            }
        }
        for (kind, widths) in [
            ([DENORM_PRESERVE, DENORM_FLUSH], self.denormals),
            ([ROUND_TO_EVEN, ROUND_TO_ZERO], self.rounding),
        ] {
            let of_kind = || modes.iter().filter(|mode| kind.contains(&mode.number));
            for (a, b) in of_kind().flat_map(|a| of_kind().map(move |b| (a, b))) {
                let ties = a.width().zip(b.width()).is_some_and(|(a, b)| widths.ties(a, b));
                if a.number != b.number && ties {
                    return Some(format!("{} together with {}", in_words(a), in_words(b)));
                }
            }
        }
        None
    }
}

fn is_of_floats(mode: u32) -> bool {
    (DENORM_PRESERVE..=ROUND_TO_ZERO).contains(&mode)
}

/// Whether a mode is available everywhere, or is checked by `FloatModes`.
fn is_plain(mode: u32) -> bool {
    mode == LOCAL_SIZE || is_of_floats(mode)
}

/// A mode, for messages.
fn in_words(mode: &Mode) -> String {
    match mode.width().filter(|_| is_of_floats(mode.number)) {
        Some(width) => format!("the execution mode {} for floats of {width} bits", mode.name()),
        None => format!("the execution mode {}", mode.name()),
    }
}

/// SPIR-V extensions that a device takes, with the extension of Vulkan that each is for, out of those for which there is one. What no
/// device has to know, such as `SPV_KHR_non_semantic_info`, and what capabilities decide alone, is none of them.
fn extensions(has: &Has<'_>) -> Vec<(&'static str, &'static str, bool)> {
    let (e, n, v) = (has.extensions, has.newer, has.version);
    let newer = |extension: &'static str| n.any_of(extension);
    vec![
        ("SPV_KHR_cooperative_matrix", "VK_KHR_cooperative_matrix", newer("VK_KHR_cooperative_matrix")),
        ("SPV_NV_cooperative_matrix", "VK_NV_cooperative_matrix", newer("VK_NV_cooperative_matrix")),
        ("SPV_NV_cooperative_matrix2", "VK_NV_cooperative_matrix2", newer("VK_NV_cooperative_matrix2")),
        ("SPV_NV_cooperative_vector", "VK_NV_cooperative_vector", newer("VK_NV_cooperative_vector")),
        ("SPV_KHR_bfloat16", "VK_KHR_shader_bfloat16", newer("VK_KHR_shader_bfloat16")),
        ("SPV_EXT_float8", "VK_EXT_shader_float8", newer("VK_EXT_shader_float8")),
        (
            "SPV_EXT_replicated_composites",
            "VK_EXT_shader_replicated_composites",
            newer("VK_EXT_shader_replicated_composites"),
        ),
        (
            "SPV_KHR_untyped_pointers",
            "VK_KHR_shader_untyped_pointers",
            newer("VK_KHR_shader_untyped_pointers"),
        ),
        ("SPV_KHR_fma", "VK_KHR_shader_fma", newer("VK_KHR_shader_fma")),
        (
            "SPV_KHR_relaxed_extended_instruction",
            "VK_KHR_shader_relaxed_extended_instruction",
            newer("VK_KHR_shader_relaxed_extended_instruction"),
        ),
        ("SPV_KHR_expect_assume", "VK_KHR_shader_expect_assume", e.khr_shader_expect_assume),
        ("SPV_KHR_float_controls2", "VK_KHR_shader_float_controls2", e.khr_shader_float_controls2),
        (
            "SPV_KHR_maximal_reconvergence",
            "VK_KHR_shader_maximal_reconvergence",
            e.khr_shader_maximal_reconvergence,
        ),
        (
            "SPV_KHR_subgroup_uniform_control_flow",
            "VK_KHR_shader_subgroup_uniform_control_flow",
            e.khr_shader_subgroup_uniform_control_flow,
        ),
        ("SPV_KHR_subgroup_rotate", "VK_KHR_shader_subgroup_rotate", e.khr_shader_subgroup_rotate),
        ("SPV_KHR_quad_control", "VK_KHR_shader_quad_control", e.khr_shader_quad_control),
        ("SPV_KHR_shader_clock", "VK_KHR_shader_clock", e.khr_shader_clock),
        (
            "SPV_KHR_workgroup_memory_explicit_layout",
            "VK_KHR_workgroup_memory_explicit_layout",
            e.khr_workgroup_memory_explicit_layout,
        ),
        (
            "SPV_KHR_integer_dot_product",
            "VK_KHR_shader_integer_dot_product",
            v >= Version::V1_3 || e.khr_shader_integer_dot_product,
        ),
        ("SPV_EXT_shader_atomic_float_add", "VK_EXT_shader_atomic_float", e.ext_shader_atomic_float),
        ("SPV_EXT_shader_atomic_float_min_max", "VK_EXT_shader_atomic_float2", e.ext_shader_atomic_float2),
        ("SPV_EXT_shader_atomic_float16_add", "VK_EXT_shader_atomic_float2", e.ext_shader_atomic_float2),
        (
            "SPV_NV_shader_atomic_fp16_vector",
            "VK_NV_shader_atomic_float16_vector",
            e.nv_shader_atomic_float16_vector,
        ),
        (
            "SPV_INTEL_shader_integer_functions2",
            "VK_INTEL_shader_integer_functions2",
            e.intel_shader_integer_functions2,
        ),
        ("SPV_NV_shader_sm_builtins", "VK_NV_shader_sm_builtins", e.nv_shader_sm_builtins),
        (
            "SPV_NV_shader_subgroup_partitioned",
            "VK_NV_shader_subgroup_partitioned",
            e.nv_shader_subgroup_partitioned,
        ),
        ("SPV_KHR_ray_query", "VK_KHR_ray_query", e.khr_ray_query),
        ("SPV_EXT_shader_image_int64", "VK_EXT_shader_image_atomic_int64", e.ext_shader_image_atomic_int64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(number: u32, width: u32) -> Mode {
        Mode { number, operands: [width].into() }
    }

    fn all(denormals: Widths, rounding: Widths) -> FloatModes {
        let modes = [DENORM_PRESERVE, DENORM_FLUSH, SPECIAL, ROUND_TO_EVEN, ROUND_TO_ZERO];
        let taken = modes.into_iter().flat_map(|mode| [16, 32, 64].map(|width| (mode, width)));
        FloatModes { taken: taken.collect(), denormals, rounding }
    }

    #[test]
    fn a_mode_of_floats_is_asked_for_by_width() {
        let modes = FloatModes { taken: vec![(SPECIAL, 32)], ..FloatModes::default() };
        assert_eq!(modes.lacking(&[mode(SPECIAL, 32), mode(LOCAL_SIZE, 8)]), None);
        for asked in [mode(SPECIAL, 16), mode(SPECIAL, 64), mode(DENORM_PRESERVE, 32)] {
            let lacking = modes.lacking(&[mode(SPECIAL, 32), asked.clone()]).expect("it is not taken");
            assert_eq!(lacking, in_words(&asked));
        }
        let lacking = modes.lacking(&[mode(SPECIAL, 16)]).expect("it is not taken");
        assert_eq!(lacking, "the execution mode SignedZeroInfNanPreserve for floats of 16 bits");
    }

    #[test]
    fn widths_that_have_to_agree_do() {
        let differs = |a, b| [mode(DENORM_PRESERVE, a), mode(DENORM_FLUSH, b)];
        for (widths, a, b, lacks) in [
            (Widths::Each, 16, 64, false),
            (Widths::Singles, 16, 32, false),
            (Widths::Singles, 32, 64, false),
            (Widths::Singles, 16, 64, true),
            (Widths::Together, 16, 32, true),
            (Widths::Together, 32, 64, true),
        ] {
            assert_eq!(
                all(widths, Widths::Each).lacking(&differs(a, b)).is_some(),
                lacks,
                "{widths:?} {a} {b}"
            );
            let same = [mode(DENORM_PRESERVE, a), mode(DENORM_PRESERVE, b)];
            assert_eq!(all(widths, Widths::Each).lacking(&same), None);
            let rounds = [mode(ROUND_TO_EVEN, a), mode(ROUND_TO_ZERO, b)];
            assert_eq!(all(Widths::Each, widths).lacking(&rounds).is_some(), lacks, "{widths:?} {a} {b}");
        }
    }
}
