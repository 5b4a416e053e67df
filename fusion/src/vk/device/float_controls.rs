//! What modules may ask of a device's floats.

use vulkano::device::{DeviceProperties, physical::ShaderFloatControlsIndependence as Independence};

use crate::jit::{FloatControls, FloatWidths};
use crate::vk::vendor::Vendor;

/// The float controls of a device, as far as each width can be asked for whatever other widths a module has.
pub(in crate::vk) fn of(p: &DeviceProperties) -> FloatControls {
    let widths = |f16: Option<bool>, f32: Option<bool>, f64: Option<bool>| {
        let [f16, f32, f64] = [f16, f32, f64].map(|is| is == Some(true));
        FloatWidths { f16, f32, f64 }
    };
    let special = widths(
        p.shader_signed_zero_inf_nan_preserve_float16,
        p.shader_signed_zero_inf_nan_preserve_float32,
        p.shader_signed_zero_inf_nan_preserve_float64,
    );
    let denormals = widths(
        p.shader_denorm_preserve_float16,
        p.shader_denorm_preserve_float32,
        p.shader_denorm_preserve_float64,
    );
    let rounding = widths(
        p.shader_rounding_mode_rte_float16,
        p.shader_rounding_mode_rte_float32,
        p.shader_rounding_mode_rte_float64,
    );
    FloatControls {
        special,
        denormals: without_halves(
            together(denormals, p.denorm_behavior_independence),
            Vendor::of(p.driver_id, false, 0).plain_halves,
        ),
        rounding: without_singles(rounding, p.rounding_mode_independence),
    }
}

/// The widths for which denormals are to be preserved: not 16 bits on NVIDIA's driver. Its hardware has denormal halves in any case, and the
/// mode changes the instructions with which *single* floats are divided and their roots taken: an H200 (580.159.04) took 74 instead of 70 us
/// for a softmax with a bias in front of it.
fn without_halves(can: FloatWidths, plain_halves: bool) -> FloatWidths {
    FloatWidths { f16: can.f16 && !plain_halves, ..can }
}

/// The widths for which a mode of rounding is asked for: not 32 bits, where the others may do without. An H200 (580.159.04)
/// takes the mode for an order to divide, and to compute roots and exponentials, as IEEE 754 has them: softmax took 429
/// instead of 371 us. It rounds sums and products to the nearest in any case.
fn without_singles(can: FloatWidths, independence: Option<Independence>) -> FloatWidths {
    let can = together(can, independence);
    match independence {
        Some(Independence::All | Independence::Float32Only) => FloatWidths { f32: false, ..can },
        _ => can,
    }
}

/// The widths that may be asked for where some of them have to be the same.
fn together(can: FloatWidths, independence: Option<Independence>) -> FloatWidths {
    let FloatWidths { f16, f32, f64 } = can;
    match independence {
        Some(Independence::All) => can,
        Some(Independence::Float32Only) => FloatWidths { f16: f16 && f64, f32, f64: f16 && f64 },
        _ if f16 && f32 && f64 => can,
        _ => FloatWidths::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_that_have_to_agree_are_asked_for_together_or_not_at_all() {
        let all = FloatWidths { f16: true, f32: true, f64: true };
        let narrow = FloatWidths { f16: false, ..all };
        let only_32 = FloatWidths { f32: true, ..FloatWidths::NONE };
        for independence in
            [Some(Independence::All), Some(Independence::Float32Only), Some(Independence::None)]
        {
            assert_eq!(together(all, independence), all);
        }
        assert_eq!(together(narrow, Some(Independence::All)), narrow);
        assert_eq!(together(narrow, Some(Independence::Float32Only)), only_32);
        assert_eq!(together(narrow, Some(Independence::None)), FloatWidths::NONE);
        assert_eq!(together(narrow, None), FloatWidths::NONE);
    }

    #[test]
    fn denormal_halves_are_asked_for_where_that_leaves_singles_alone() {
        let all = FloatWidths { f16: true, f32: true, f64: true };
        assert_eq!(without_halves(all, true), FloatWidths { f16: false, ..all });
        assert_eq!(without_halves(all, false), all);
    }

    #[test]
    fn singles_are_rounded_as_the_device_likes_unless_that_takes_it_from_the_others() {
        let all = FloatWidths { f16: true, f32: true, f64: true };
        for independence in [Some(Independence::All), Some(Independence::Float32Only)] {
            assert_eq!(without_singles(all, independence), FloatWidths { f32: false, ..all });
        }
        assert_eq!(without_singles(all, Some(Independence::None)), all);
    }
}
