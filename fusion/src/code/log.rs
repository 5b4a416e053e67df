//! Recorded lists: what was fused, written down so that its code can be built elsewhere ahead of time.
//!
//! A recording is a text file to which programs append. A line is a record and ends with a checksum, so that a line of a
//! program that died is passed over. A list names its kernels by the hash of their module, and every process writes
//! a module before the first list that needs it.
//!
//! ```text
//! module HASH NAME WORDS                     name and words in hexadecimal, words as in the file
//! list POLICY FLOAT BARRIERS FORCE SUBMISSION…     prove|trust strict|contract barriers|none free|forced, and -as-is
//!   SUBMISSION = HASH/ENTRY/GROUPS/SPEC/PUSH/ARGUMENTS
//!   ARGUMENT = SET.BINDING.BUFFER.OFFSET.LENGTH.PROMOTION, then .iX,Y,Z,LEVELS,SAMPLES or .iX,Y,Z,LEVELS,SAMPLES,VIEW for an image of this size, then
//!     .OFFSET,WIDTH,VALUE for each number that it holds
//! ```

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

use super::programs::hex;
use crate::jit::{
    Arg, BufferId, FloatMode, FuseOptions, ImageSize, Module, Numbers, Policy, Promote, SetBinding,
    Submission,
};
use crate::options::environment::warn_once;

/// A recording that cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot read the recording {}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file holds no list.
    #[error("{} is no recording of fused lists, or an empty one", .0.display())]
    Empty(PathBuf),
}

/// Lists that were recorded by [`CacheOptions::record`](crate::CacheOptions::record).
#[derive(Debug, Clone)]
pub struct Recording {
    /// The lists, each once, in the order in which they were first fused.
    pub lists: Vec<RecordedList>,
    /// Lines that were not whole, or not understood.
    pub skipped: usize,
}

/// One recorded list.
#[derive(Debug, Clone)]
pub struct RecordedList {
    pub(crate) options: FuseOptions,
    pub(crate) submissions: Vec<Recorded>,
}

#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) module: Module,
    pub(crate) entry: String,
    pub(crate) groups: [u32; 3],
    pub(crate) spec: Vec<(u32, u64)>,
    pub(crate) push: Vec<u8>,
    pub(crate) args: Vec<Arg>,
}

/// Appends lists to a file.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    /// Hashes of the modules and of the lists that this process has written.
    written: Mutex<HashSet<[u8; 32]>>,
}

impl Recorder {
    pub(crate) fn new(path: PathBuf) -> Recorder {
        Recorder { path, written: Mutex::default() }
    }

    /// Writes a list, unless this process has. That it cannot is logged and nothing more.
    pub(crate) fn record(&self, submissions: &[Submission], options: &FuseOptions) {
        let line = list(submissions, options);
        let mut written = self.written.lock();
        if !written.insert(*blake3::hash(line.as_bytes()).as_bytes()) {
            return;
        }
        let mut text = String::new();
        for module in submissions.iter().map(|one| &one.kernel.module) {
            if written.insert(module.hash()) {
                let (hash, name) = (hex(&module.hash()), hex(module.name().as_bytes()));
                push_line(
                    &mut text,
                    &format!("module {hash} {name} {}", hex(&crate::code::programs::bytes(module.words()))),
                );
            }
        }
        push_line(&mut text, &line);
        // One write, so that the lines of processes do not mix.
        let file = fs::OpenOptions::new().create(true).append(true).open(&self.path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            warn_once(&format!(
                "no fused list can be recorded in {}: {error}; VKFUSE_CACHE_RECORD names a file to append to",
                self.path.display()
            ));
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    let _ = writeln!(text, "{line} #{}", checksum(line));
}

fn checksum(line: &str) -> String {
    hex(&blake3::hash(line.as_bytes()).as_bytes()[..8])
}

fn list(submissions: &[Submission], options: &FuseOptions) -> String {
    let mut line = format!(
        "list {} {} {} {}",
        if options.policy == Policy::Trust { "trust" } else { "prove" },
        if options.float == FloatMode::Contract { "contract" } else { "strict" },
        if options.no_barriers { "none" } else { "barriers" },
        match (options.force, options.no_rewrites) {
            (false, false) => "free",
            (true, false) => "forced",
            (false, true) => "free-as-is",
            (true, true) => "forced-as-is",
        },
    );
    // The numbers of buffers differ from run to run; which of them are the same does not.
    let mut buffers: Vec<BufferId> = Vec::new();
    for one in submissions {
        let [x, y, z] = one.groups;
        let name = hex(one.kernel.entry.as_bytes());
        let _ = write!(line, " {}/{name}/{x}.{y}.{z}/", hex(&one.kernel.module.hash()));
        for (id, bits) in &one.kernel.spec {
            let _ = write!(line, "{id}.{bits};");
        }
        let _ = write!(line, "/{}/", hex(&one.push));
        for arg in &one.args {
            let known = buffers.iter().position(|id| *id == arg.buffer).unwrap_or_else(|| {
                buffers.push(arg.buffer);
                buffers.len() - 1
            });
            let (set, binding, offset, len) = (arg.at.set, arg.at.binding, arg.offset, arg.len);
            let promote = match arg.promote {
                Promote::None => 0,
                Promote::Private => 1,
                Promote::Local => 2,
                Promote::Auto => 3,
            };
            let _ = write!(line, "{set}.{binding}");
            if arg.at.element > 0 {
                let _ = write!(line, "+{}", arg.at.element);
            }
            let _ = write!(line, ".{known}.{offset}.{len}.{promote}");
            if let Some(ImageSize { extent: [x, y, z], levels, samples, view }) = arg.image {
                let _ = write!(line, ".i{x},{y},{z},{levels},{samples}");
                let _ = view.map(|view| write!(line, ",{view}"));
            }
            for number in arg.numbers.iter().flat_map(Numbers::iter) {
                let _ = write!(line, ".{},{},{}", number.offset, number.width, number.value);
            }
            line.push(';');
        }
    }
    line
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds no list. Lines that are not whole are counted and passed over.
    pub fn read(path: impl AsRef<Path>) -> Result<Recording, RecordingError> {
        let path = path.as_ref();
        let bytes = fs::read(path)
            .map_err(|error| RecordingError::File { path: path.to_owned(), reason: error.to_string() })?;
        let text = String::from_utf8_lossy(&bytes);
        let mut modules: HashMap<String, Module> = HashMap::new();
        let mut seen = HashSet::new();
        let mut recording = Recording { lists: Vec::new(), skipped: 0 };
        for line in text.lines() {
            let whole = line.rsplit_once(" #").filter(|(record, sum)| checksum(record) == *sum);
            let understood = whole.is_some_and(|(record, _)| match record.split_once(' ') {
                Some(("module", rest)) => module(rest, &mut modules).is_some(),
                Some(("list", rest)) if !seen.insert(record.to_owned()) => !rest.is_empty(),
                Some(("list", rest)) => match parse(rest, &modules) {
                    Some(list) => {
                        recording.lists.push(list);
                        true
                    }
                    None => false,
                },
                _ => false,
            });
            recording.skipped += usize::from(!understood);
        }
        if recording.lists.is_empty() {
            return Err(RecordingError::Empty(path.to_owned()));
        }
        Ok(recording)
    }
}

fn module(rest: &str, modules: &mut HashMap<String, Module>) -> Option<()> {
    let mut words = rest.split(' ');
    let (hash, name, code) = (words.next()?, words.next()?, words.next()?);
    if !modules.contains_key(hash) {
        let name = String::from_utf8(unhex(name)?).ok()?;
        // Loading checks it as it checks any module.
        let module = Module::from_bytes(&name, &unhex(code)?).ok()?;
        modules.insert(hash.to_owned(), module);
    }
    Some(())
}

fn parse(rest: &str, modules: &HashMap<String, Module>) -> Option<RecordedList> {
    let mut words = rest.split(' ');
    let mut options = FuseOptions {
        policy: match words.next()? {
            "prove" => Policy::Prove,
            "trust" => Policy::Trust,
            _ => return None,
        },
        float: match words.next()? {
            "strict" => FloatMode::Strict,
            "contract" => FloatMode::Contract,
            _ => return None,
        },
        no_barriers: match words.next()? {
            "barriers" => false,
            "none" => true,
            _ => return None,
        },
        ..FuseOptions::default()
    };
    (options.force, options.no_rewrites) = match words.next()? {
        "free" => (false, false),
        "forced" => (true, false),
        "free-as-is" => (false, true),
        "forced-as-is" => (true, true),
        _ => return None,
    };
    let submissions = words.map(|word| submission(word, modules)).collect::<Option<Vec<_>>>()?;
    (!submissions.is_empty()).then_some(RecordedList { options, submissions })
}

fn submission(word: &str, modules: &HashMap<String, Module>) -> Option<Recorded> {
    let [hash, entry, groups, spec, push, args] = fields(word, '/')?;
    let [x, y, z] = fields(groups, '.')?;
    let spec = spec.split_terminator(';').map(|pair| {
        let [id, bits] = fields(pair, '.')?;
        Some((id.parse().ok()?, bits.parse().ok()?))
    });
    let args = args.split_terminator(';').map(|arg| {
        let mut parts = arg.splitn(7, '.');
        let [set, binding, buffer, offset, len, promote] =
            std::array::from_fn(|_| parts.next().unwrap_or(""));
        let (binding, element) = binding.split_once('+').unwrap_or((binding, "0"));
        let mut rest = parts.next();
        let sized = rest.and_then(|rest| rest.strip_prefix('i'));
        let mut image = None;
        if let Some(sized) = sized {
            let (size, numbers) = match sized.split_once('.') {
                Some((size, numbers)) => (size, Some(numbers)),
                None => (sized, None),
            };
            (image, rest) = (Some(image_size(size)?), numbers);
        }
        Some(Arg {
            at: SetBinding {
                set: set.parse().ok()?,
                binding: binding.parse().ok()?,
                element: element.parse().ok()?,
            },
            buffer: BufferId(buffer.parse().ok()?),
            offset: offset.parse().ok()?,
            len: len.parse().ok()?,
            promote: match promote {
                "0" => Promote::None,
                "1" => Promote::Private,
                "2" => Promote::Local,
                "3" => Promote::Auto,
                _ => return None,
            },
            numbers: match rest {
                Some(numbers) => Some(held(numbers)?),
                None => None,
            },
            image,
        })
    });
    Some(Recorded {
        module: modules.get(hash)?.clone(),
        entry: String::from_utf8(unhex(entry)?).ok()?,
        groups: [x.parse().ok()?, y.parse().ok()?, z.parse().ok()?],
        spec: spec.collect::<Option<_>>()?,
        push: unhex(push)?,
        args: args.collect::<Option<_>>()?,
    })
}

/// The size of an image.
fn image_size(text: &str) -> Option<ImageSize> {
    let numbers = text.split(',').map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>()?;
    let (&[x, y, z, levels, samples], view) = numbers.split_first_chunk()?;
    let view = match view {
        [] => None,
        &[view] => Some(view),
        _ => return None,
    };
    Some(ImageSize { extent: [x, y, z], levels, samples, view })
}

/// Numbers in a buffer.
fn held(text: &str) -> Option<Numbers> {
    let number = |text: &str| {
        let [offset, width, value] = fields(text, ',')?;
        Some((offset.parse().ok()?, width.parse().ok()?, value.parse().ok()?))
    };
    let numbers = text.split('.').map(number).collect::<Option<Vec<(u32, u8, u64)>>>()?;
    let mut bytes = Vec::new();
    for (offset, width, value) in &numbers {
        let (start, len) = (*offset as usize, usize::from(width / 8));
        // They are few, and near the start of what is bound.
        if start > 64 << 10 || len > 8 {
            return None;
        }
        bytes.resize(bytes.len().max(start + len), 0);
        bytes[start..start + len].copy_from_slice(&value.to_le_bytes()[..len]);
    }
    Numbers::of(numbers.iter().map(|number| (number.0, number.1)), &bytes)
}

/// The parts of a text, if there are exactly this many.
fn fields<const N: usize>(text: &str, between: char) -> Option<[&str; N]> {
    text.split(between).collect::<Vec<_>>().try_into().ok()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    rest.is_empty().then_some(())?;
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

impl RecordedList {
    /// How many submissions it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.submissions.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.submissions.is_empty()
    }
}
