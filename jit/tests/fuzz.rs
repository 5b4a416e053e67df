//! Random lists: fused and unfused agree, in every order the interpreter tries.

use vkfuse_jit::fuzzing::smoke;

/// Seeds and lists of a run: `VKFUSE_FUZZ_LISTS` for a long one.
fn lists() -> usize {
    std::env::var("VKFUSE_FUZZ_LISTS").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

#[test]
fn random_lists_give_the_same_bytes_fused() {
    let per_pool = 100;
    let mut total = [0usize; 8];
    for pool in 0..lists().div_ceil(per_pool) {
        let t = smoke(pool as u64, per_pool);
        let parts =
            [t.lists, t.undefined, t.fused, t.split, t.unfused, t.internalized, t.refused, t.barriers];
        total.iter_mut().zip(parts).for_each(|(sum, n)| *sum += n);
    }
    let [lists, undefined, fused, split, unfused, internalized, refused, barriers] = total;
    println!(
        "{lists} lists: {undefined} undefined, {fused} fused, {split} split, {unfused} unfused; \
         {internalized} buffers internalized, {refused} refused, {barriers} barriers"
    );
    // The check means something only if all of these happen.
    assert!(fused > 0 && split > 0 && internalized > 0 && refused > 0 && barriers > 0);
}
