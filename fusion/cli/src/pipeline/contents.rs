//! The bytes that a buffer starts with.
//!
//! Made once per buffer and used for every run of the list, so that the unfused
//! and the fused run start from the same bytes.

use super::element::ElementBytes;
use super::model::{BufferDecl, Init, Pipeline};
use super::problem::Problem;
use super::random;
use std::io::Read;
use std::path::Path;

/// The initial bytes of `buffer`, or `None` if they are all zero: such a buffer needs no upload.
pub(crate) fn initial(pipeline: &Pipeline, buffer: &BufferDecl) -> Result<Option<Vec<u8>>, Problem> {
    let ty = buffer.ty;
    match &buffer.init {
        Init::Zeros => Ok(None),
        Init::Iota => generate(pipeline, buffer, |index| ty.iota(index)).map(Some),
        Init::Random { seed } => {
            generate(pipeline, buffer, |index| random::element(ty, *seed, index)).map(Some)
        }
        Init::Fill(element) => generate(pipeline, buffer, |_| element.clone()).map(Some),
        Init::Values(bytes) | Init::Scalars(bytes) => Ok(Some(bytes.clone())),
        Init::File { path, place } => match read(path, buffer.bytes()) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(message) => Err(pipeline.problem(place, message)),
        },
    }
}

/// Says what is wrong with the files that buffers start from, without reading them.
pub(crate) fn check_files(pipeline: &Pipeline) -> Result<(), Problem> {
    for buffer in &pipeline.buffers {
        let Init::File { path, place } = &buffer.init else {
            continue;
        };
        let metadata = std::fs::metadata(path)
            .map_err(|error| pipeline.problem(place, format!("cannot read {}: {error}", path.display())))?;
        // A pipe or a device has no size to compare; `initial` counts what comes out of it.
        if metadata.is_file() && metadata.len() != buffer.bytes() {
            return Err(pipeline.problem(place, wrong_size(path, metadata.len(), buffer.bytes())));
        }
        if metadata.is_dir() {
            return Err(pipeline.problem(place, format!("{} is a folder", path.display())));
        }
    }
    Ok(())
}

fn generate(
    pipeline: &Pipeline,
    buffer: &BufferDecl,
    element: impl Fn(u64) -> ElementBytes,
) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let size = buffer.bytes();
    let reserved = usize::try_from(size).map(|size| bytes.try_reserve_exact(size));
    if !matches!(reserved, Ok(Ok(()))) {
        return Err(pipeline.problem(&buffer.place, format!("the host has no memory for {size} bytes")));
    }
    for index in 0..buffer.len {
        bytes.extend_from_slice(&element(index));
    }
    Ok(bytes)
}

fn read(path: &Path, expected: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let found = file.take(expected + 1).read_to_end(&mut bytes).map_err(unreadable)? as u64;
    match found == expected {
        true => Ok(bytes),
        false => Err(wrong_size(path, found, expected)),
    }
}

fn wrong_size(path: &Path, found: u64, expected: u64) -> String {
    let relation = if found > expected { "more" } else { "fewer" };
    let mut start = [0; 6];
    // A pipe has nothing to be read twice.
    let mut open = || std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    let read = if path.is_file() { open() } else { Err(std::io::ErrorKind::Other.into()) };
    let numpy = match read {
        Ok(()) if start == *b"\x93NUMPY" => {
            "; it has numpy's head, and is to be the bytes alone, as `array.tofile` writes them"
        }
        _ => "",
    };
    format!("{} has {found} bytes, {relation} than the {expected} of the buffer{numpy}", path.display())
}

#[cfg(test)]
mod tests {
    use super::super::read::parse;
    use super::*;

    fn first(buffer: &str) -> Option<Vec<u8>> {
        let text = format!(
            "format = 1\n[kernels.k]\npath = \"k.spv\"\n[buffers.b]\n{buffer}\n\
             [[submit]]\nkernel = \"k\"\ngroups = [1]\nargs = {{ 0 = \"b\" }}\n"
        );
        let pipeline = parse(Path::new("t.toml"), &text).unwrap_or_else(|problem| panic!("{problem}"));
        initial(&pipeline, &pipeline.buffers[0]).unwrap_or_else(|problem| panic!("{problem}"))
    }

    #[test]
    fn every_form_of_init() {
        assert_eq!(first("type = \"u8\"\nlen = 3"), None);
        assert_eq!(first("type = \"u8\"\nlen = 3\ninit = \"iota\""), Some(vec![0, 1, 2]));
        assert_eq!(
            first("type = \"i16\"\nlen = 2\ninit = { fill = -2 }"),
            Some(vec![0xfe, 0xff, 0xfe, 0xff])
        );
        let mut values = 1.5f32.to_le_bytes().to_vec();
        values.extend(f32::NEG_INFINITY.to_le_bytes());
        assert_eq!(first("type = \"f32\"\nlen = 2\ninit = { values = [1.5, -inf] }"), Some(values));
        let max = Some(u64::MAX.to_le_bytes().to_vec());
        assert_eq!(first("type = \"u64\"\nlen = 1\ninit = { fill = 18446744073709551615 }"), max);
        assert_eq!(first("type = \"u64\"\nlen = 1\ninit = { fill = 0xffff_ffff_ffff_ffff }"), max);
    }

    #[test]
    fn a_seed_gives_the_same_bytes_again() {
        let random = "type = \"f32\"\nlen = 100\ninit = \"random\"\nseed = ";
        assert_eq!(first(&format!("{random}7")), first(&format!("{random}7")));
        assert_ne!(first(&format!("{random}7")), first(&format!("{random}8")));
    }
}
