//! Kernels by rows, for the probes of several rules: a work-group of eight has a row of `p.x` elements.

use super::lab::kernel;

/// A work-group of eight reduces a row of `a` to an element of `z`.
pub(crate) fn reduce(own: &str, both: &str) -> String {
    let body = format!(
        "var<workgroup> part: array<u32, 8>;---
         var own = 0u;
         for (var c = lid.x; c < p.x; c += 8u) {{ let v = a[wid.x * p.x + c]; own = {own}; }}
         part[lid.x] = own;
         workgroupBarrier();
         for (var step = 4u; step > 0u; step /= 2u) {{
             if (lid.x < step) {{ let x = part[lid.x]; let y = part[lid.x + step]; part[lid.x] = {both}; }}
             workgroupBarrier();
         }}
         if (lid.x == 0u) {{ z[wid.x] = part[0]; }}"
    );
    kernel("a z", "8", &body)
}

/// Uses an element of `b` for each row of `a`.
pub(crate) fn spread(value: &str) -> String {
    let body =
        format!("for (var c = lid.x; c < p.x; c += 8u) {{ let at = wid.x * p.x + c; z[at] = {value}; }}");
    kernel("a b z", "8", &body)
}
