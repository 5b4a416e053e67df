//! `vkfuse run --save NAME=FILE`: what buffers hold after the list, as files.
//!
//! Raw bytes as they are in memory, little-endian; with the extension `npy` a file that numpy reads.

use crate::pipeline::{BufferDecl, Pipeline};
use crate::session::Buffers;
use crate::stop::Stop;
use std::path::{Path, PathBuf};

/// A name and a file, as they are on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SaveArg {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

impl SaveArg {
    /// Reads `NAME=FILE`.
    pub(crate) fn parse(text: &str) -> Result<SaveArg, String> {
        match text.split_once('=') {
            Some((_, file)) if [".txt", ".csv", ".json"].iter().any(|text| file.ends_with(text)) => {
                Err("it would be raw bytes and not text: name the file `.bin`, or `.npy` for numpy's format"
                    .to_owned())
            }
            Some((name, file)) if !name.is_empty() && !file.is_empty() => {
                Ok(SaveArg { name: name.to_owned(), file: file.into() })
            }
            _ => Err("expected the name of a buffer and a file, `out=out.bin` or `out=out.npy`".to_owned()),
        }
    }
}

/// Buffers to be saved, and what they held.
pub(crate) struct Saves<'p> {
    pipeline: &'p Pipeline,
    wanted: Vec<Save>,
}

struct Save {
    /// Index of the buffer.
    index: usize,
    file: PathBuf,
    bytes: Option<Vec<u8>>,
}

impl<'p> Saves<'p> {
    pub(crate) fn new(pipeline: &'p Pipeline, args: &[SaveArg]) -> Result<Saves<'p>, Stop> {
        let save = |arg: &SaveArg| match pipeline.buffers.iter().position(|buffer| buffer.name == arg.name) {
            Some(index) => {
                check_file(pipeline, &arg.file)?;
                Ok(Save { index, file: arg.file.clone(), bytes: None })
            }
            None => {
                let names: Vec<&str> = pipeline.buffers.iter().map(|buffer| &*buffer.name).collect();
                let (name, names) = (&arg.name, names.join(", "));
                Err(Stop::wrong(format!("--save: the file has no buffer {name}, but {names}")))
            }
        };
        let wanted: Vec<Save> = args.iter().map(save).collect::<Result<_, Stop>>()?;
        for (number, save) in wanted.iter().enumerate() {
            if wanted[..number].iter().any(|other| is_same(&other.file, &save.file)) {
                return Err(Stop::wrong(format!("--save: {} is given for two buffers", save.file.display())));
            }
        }
        Ok(Saves { pipeline, wanted })
    }

    /// Reads what is to be saved, as far as it is `readable`: later runs replace what earlier ones left.
    pub(crate) fn take(&mut self, buffers: &Buffers, readable: impl Fn(usize) -> bool) -> Result<(), Stop> {
        for save in self.wanted.iter_mut().filter(|save| readable(save.index)) {
            save.bytes = Some(buffers.download(save.index)?);
        }
        Ok(())
    }

    /// Writes the files.
    pub(crate) fn write(&self) -> Result<(), Stop> {
        for Save { index, file, bytes } in &self.wanted {
            let buffer = &self.pipeline.buffers[*index];
            let Some(bytes) = bytes else {
                let name = &buffer.name;
                return Err(Stop::wrong(format!(
                    "--save: {name} was promoted and stays inside of the fused kernel; `--mode both` saves it from the unfused run"
                )));
            };
            let text = if is_npy(file) { [&npy(buffer)?, &bytes[..]].concat() } else { bytes.clone() };
            write_whole(file, &text)
                .map_err(|error| Stop::wrong(format!("cannot write {}: {error}", file.display())))?;
        }
        Ok(())
    }
}

/// Formats that somebody may expect, and that nothing is written in.
const OTHERS: [&str; 14] =
    ["bmp", "csv", "exr", "gif", "hdr", "jpeg", "jpg", "json", "npz", "pgm", "png", "ppm", "tif", "tiff"];

/// Refuses a file that the list is made of, and one of a format that is not written.
fn check_file(pipeline: &Pipeline, file: &Path) -> Result<(), Stop> {
    let name = file.display();
    let modules = pipeline.kernels.iter().filter(|kernel| kernel.step.is_none()).map(|kernel| &kernel.path);
    if std::iter::once(&pipeline.file).chain(modules).any(|own| is_same(own, file)) {
        return Err(Stop::wrong(format!("--save: {name} is a file of the list, and would be overwritten")));
    }
    let extension = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if OTHERS.contains(&&*extension) {
        return Err(Stop::wrong(format!(
            "--save: {name} would hold raw bytes, and no .{extension}: name it .bin, or .npy for numpy's format"
        )));
    }
    Ok(())
}

/// Whether two names are of one file, which need not be there yet.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        let path = folder.join(path.file_name()?);
        Some(path.canonicalize().unwrap_or(path))
    };
    one == other || whole(one).is_some_and(|one| whole(other) == Some(one))
}

/// Writes a file. Where that fails, no part of it is left, unless it was there before.
pub(crate) fn write_whole(file: &Path, text: &[u8]) -> std::io::Result<()> {
    let is_new = !file.exists();
    std::fs::write(file, text).inspect_err(|_| {
        if is_new {
            let _ = std::fs::remove_file(file);
        }
    })
}

fn is_npy(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// The head of a file of numpy's, version 1.0: magic, version, length, and a dictionary that ends at a multiple of 64 bytes.
fn npy(buffer: &BufferDecl) -> Result<Vec<u8>, Stop> {
    let shape: Vec<u64> = match &buffer.image {
        None => vec![buffer.len],
        Some(image) => {
            let sides = image.extent.iter().rev().map(|&side| u64::from(side));
            sides.chain([image.texel.channels]).skip_while(|side| *side == 1).collect()
        }
    };
    let shape: String = shape.iter().map(|side| format!("{side},")).collect();
    let name = buffer.ty.name();
    let (kind, order) = (&name[..1], if buffer.ty.size() == 1 { '|' } else { '<' });
    let descr = format!("{order}{kind}{}", buffer.ty.size());
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.push_str(&" ".repeat(length - text.len() - 1));
    text.push('\n');
    let bytes = u16::try_from(length).map_err(|_| Stop::wrong("--save: the head of the file is too long"))?;
    Ok([b"\x93NUMPY\x01\x00", &bytes.to_le_bytes()[..], text.as_bytes()].concat())
}
