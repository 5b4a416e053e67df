//! What depends on the version of Mesa.

/// Iterations after which llvmpipe leaves all loops of a shader, counted together. It does so silently, and fusing adds up what
/// was below the limit in each kernel.
const LOOP_ITERATIONS: u64 = 65_535;

/// The first version without that limit among those that were tried: 22.3.6 has it.
const WITHOUT_LOOP_LIMIT: [u32; 3] = [25, 0, 7];

/// See [`Limits::max_loop_rounds`](crate::jit::Limits::max_loop_rounds), given what llvmpipe says of its version. One that is not known has
/// the limit.
pub(in crate::vk) fn max_loop_rounds(driver_info: &str) -> Option<u64> {
    let is_limited = version(driver_info).is_none_or(|version| version < WITHOUT_LOOP_LIMIT);
    is_limited.then_some(LOOP_ITERATIONS)
}

/// The version in a text such as `Mesa 25.0.7-2 (LLVM 19.1.7)`. A release candidate counts as the version before it.
fn version(info: &str) -> Option<[u32; 3]> {
    let text = info.strip_prefix("Mesa ")?.split([' ', '-', '(']).next()?;
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let version = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("Mesa 22.3.6 (LLVM 15.0.6)"), Some([22, 3, 6]));
        assert_eq!(version("Mesa 25.0.7-2+deb13u1 (LLVM 19.1.7)"), Some([25, 0, 7]));
        assert!(version("Mesa 25.0.7 (LLVM 19.1.7)") >= Some(WITHOUT_LOOP_LIMIT));
        assert!(version("Mesa 25.1.0-devel (git-0000000000)") >= Some(WITHOUT_LOOP_LIMIT));
        for unknown in ["", "Mesa", "Mesa 25", "Mesa 25.0", "25.0.7", "Mesa x.0.7", "Mesa 25.0.7.1"] {
            assert_eq!(version(unknown), None, "{unknown}");
        }
    }
}
