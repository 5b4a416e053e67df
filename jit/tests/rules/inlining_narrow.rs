//! Integers of 8 and 16 bits that a kernel may only load, store and convert, where it reads what another one stored.

use vkfuse_jit::RewriteReason;

use super::glsl::glsl;
use super::lab::Lab;

probes! {
    // A value of two ways would be more than a conversion.
    fn narrow_integers_are_not_chosen_among() {
        let write = |ty: &str| {
            let names = format!("a z:{ty}");
            glsl("", &names, "16", &format!("if (i < p.x) z[i] = {ty}(a[i] + 6u);"))
        };
        let read = |ty: &str| {
            let names = format!("b:{ty} z");
            glsl("", &names, "16", "if (i + 5u < p.x) z[i] = uint(b[i + 5u]) * 4u + uint(b[i]);")
        };
        for ty in ["uint16_t", "int16_t", "uint"] {
            let checked = Lab::rewriting(80)
                .submit(&write(ty), [5, 1, 1], &[0, 1], &[70])
                .submit(&read(ty), [5, 1, 1], &[1, 2], &[75])
                .check();
            if ty == "uint" {
                checked.fused(0);
                continue;
            }
            let why = checked.stays_apart(2);
            assert!(matches!(&why, Some(RewriteReason::NotInlined { what, .. }) if what.contains("8 or 16 bits")), "{why:?}");
        }
    }
}
