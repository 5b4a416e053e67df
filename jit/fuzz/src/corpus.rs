//! Lists with all their modules in one file, for machines without a front end.
//!
//! A file is a sequence of sections, one for each pool: the modules with what they contain, then lists that name them by
//! number. Numbers are
//! LEB128; a section begins with its length, so that a reader skips those that are not its own. Contents of buffers are
//! not stored, they follow from seeds.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use vkfuse_jit::plan::Promote;

use crate::list::{Bound, List, Object, Shot};
use crate::pool::{self, Pool, PoolKernel, Source};
use crate::work::Bounds;

/// How many lists in a row submit the same kernels: drivers compile slowly.
const REPEATS: usize = 16;

const MAGIC: &[u8; 8] = b"vkfuzz\x00\x02";

/// A pool and the numbers and lists over it.
pub struct Section {
    /// The seed that they come from.
    pub seed: u64,
    /// The kernels.
    pub pool: Pool,
    /// Lists that any device takes.
    pub lists: Vec<(usize, List)>,
}

fn bad(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u32>) {
        numbers.into_iter().for_each(|number| self.number(u64::from(number)));
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(|| bad("a section ends early"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or_else(|| bad("a section ends early"))?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(bad("a number is too long"))
    }

    fn word(&mut self) -> io::Result<u32> {
        u32::try_from(self.number()?).map_err(|_| bad("a number is too large"))
    }

    fn words<const N: usize>(&mut self) -> io::Result<[u32; N]> {
        let mut out = [0; N];
        for word in &mut out {
            *word = self.word()?;
        }
        Ok(out)
    }
}

/// Drops names and other text that is for people.
fn stripped(words: &[u32]) -> Vec<u32> {
    let mut out = words[..5].to_vec();
    let mut at = 5;
    while at < words.len() {
        let len = ((words[at] >> 16) as usize).max(1);
        let inst = &words[at..(at + len).min(words.len())];
        // OpSourceContinued to OpString, OpLine, OpNoLine, OpModuleProcessed.
        if !matches!(words[at] & 0xffff, 2..=8 | 317 | 330) {
            out.extend_from_slice(inst);
        }
        at += len;
    }
    out
}

fn section(seed: u64, pool: &Pool, lists: &[(usize, List)]) -> Vec<u8> {
    let mut out = Writer(Vec::new());
    out.number(seed);
    out.number(pool.kernels.len() as u64);
    for kernel in &pool.kernels {
        let words = stripped(&kernel.words);
        out.number(words.len() as u64);
        out.numbers([u32::from(kernel.constant)]);
        words.iter().for_each(|word| out.0.extend_from_slice(&word.to_le_bytes()));
        out.number(kernel.features.len() as u64);
        for name in &kernel.features {
            out.number(name.len() as u64);
            out.0.extend_from_slice(name.as_bytes());
        }
    }
    out.number(lists.len() as u64);
    for (number, list) in lists {
        out.number(*number as u64);
        out.numbers([list.shape, list.objects.len() as u32, list.shots.len() as u32]);
        for object in &list.objects {
            out.numbers([object.len, object.seed, object.promote as u32]);
        }
        for shot in &list.shots {
            out.numbers([shot.kernel as u32]);
            out.numbers(shot.groups);
            out.numbers(shot.push);
            out.numbers([shot.constant.map_or(0, |value| value + 1), shot.bound.len() as u32]);
            for b in &shot.bound {
                out.numbers([b.set, b.binding, b.object as u32, b.offset, b.len]);
            }
        }
    }
    out.0
}

/// The name as one that lasts; there are a few dozen.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match names.get(name) {
        Some(known) => known,
        None => {
            let name: &'static str = Box::leak(name.into());
            names.insert(name);
            name
        }
    }
}

fn parse(bytes: &[u8]) -> io::Result<Section> {
    let mut from = Reader(bytes);
    let seed = from.number()?;
    let mut kernels = Vec::new();
    for _ in 0..from.number()? {
        let [len, constant] = from.words()?;
        let bytes = from.bytes(len as usize * 4)?;
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let mut features = Vec::new();
        for _ in 0..from.number()? {
            let len = from.number()? as usize;
            let name = str::from_utf8(from.bytes(len)?).map_err(|_| bad("a name that is no text"))?;
            features.push(interned(name));
        }
        let (module, entry) = pool::load(&words).map_err(bad)?;
        kernels.push(PoolKernel {
            source: Source::Words,
            words,
            module,
            entry,
            ports: Vec::new(),
            local: [1; 3],
            two_dimensions: false,
            share: (1, 1),
            constant: constant == 1,
            features,
        });
    }
    let mut lists = Vec::new();
    for _ in 0..from.number()? {
        let number = from.number()? as usize;
        let [shape, objects, shots] = from.words()?;
        let mut list = List { shots: Vec::new(), objects: Vec::new(), shape };
        for _ in 0..objects {
            let [len, seed, promote] = from.words()?;
            let promote = [Promote::None, Promote::Private, Promote::Local, Promote::Auto]
                .into_iter()
                .find(|p| *p as u32 == promote)
                .ok_or_else(|| bad("an unknown promotion"))?;
            list.objects.push(Object { len, seed, promote });
        }
        for _ in 0..shots {
            let [kernel] = from.words()?;
            if kernel as usize >= kernels.len() {
                return Err(bad("an unknown kernel"));
            }
            let (groups, push) = (from.words()?, from.words()?);
            let [constant, bindings] = from.words()?;
            let mut bound = Vec::new();
            for _ in 0..bindings {
                let [set, binding, object, offset, len] = from.words()?;
                if object >= objects {
                    return Err(bad("an unknown buffer"));
                }
                bound.push(Bound { set, binding, object: object as usize, offset, len });
            }
            list.shots.push(Shot {
                kernel: kernel as usize,
                groups,
                push,
                constant: constant.checked_sub(1),
                bound,
            });
        }
        lists.push((number, list));
    }
    let pool = Pool { kernels, blocks: Vec::new(), local: [1; 3], rejected: Vec::new() };
    Ok(Section { seed, pool, lists })
}

/// Writes lists of this many pools to a file, as far as there is time; only those that any device takes. Says how many
/// there are.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    path: &Path,
    first: u64,
    pools: usize,
    kernels: usize,
    lists: usize,
    bounds: &Bounds,
) -> io::Result<usize> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(MAGIC)?;
    let out = Mutex::new((file, 0));
    let done = bounds.run(pools, |work| {
        while let Some(number) = work.take() {
            let seed = first + number as u64;
            let pool = Pool::new(seed, kernels);
            let all = (0..lists).map(|number| (number, List::new(&pool, seed, number, REPEATS)));
            let kept: Vec<(usize, List)> = all.filter(|(_, list)| list.is_for_devices(&pool)).collect();
            let bytes = section(seed, &pool, &kept);
            let mut out = out.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            out.0.write_all(&(bytes.len() as u64).to_le_bytes())?;
            out.0.write_all(&bytes)?;
            out.1 += kept.len();
        }
        Ok(())
    });
    done.into_iter().collect::<io::Result<()>>()?;
    let (mut file, written) = out.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    file.flush()?;
    Ok(written)
}

/// A file of lists that was written by [`write()`].
#[derive(Clone, Debug)]
pub struct Corpus {
    path: PathBuf,
    /// First byte and length of each section.
    sections: Vec<(u64, u64)>,
}

impl Corpus {
    /// Finds the sections of a file.
    ///
    /// # Errors
    /// If it cannot be read, or is something else.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let end = file.metadata()?.len();
        let mut magic = [0; 8];
        file.read_exact(&mut magic)?;
        if &magic != MAGIC {
            return Err(bad("not a file of lists"));
        }
        let mut sections = Vec::new();
        let mut at = MAGIC.len() as u64;
        while at < end {
            let mut len = [0; 8];
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut len)?;
            let (first, len) = (at + 8, u64::from_le_bytes(len));
            at = first
                .checked_add(len)
                .filter(|&next| next <= end)
                .ok_or_else(|| bad("a section ends early"))?;
            sections.push((first, len));
        }
        Ok(Self { path: path.to_owned(), sections })
    }

    /// How many sections there are.
    pub fn len(&self) -> usize {
        self.sections.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// Reads a section, by its number from 0 on.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn section(&self, number: usize) -> io::Result<Section> {
        let &(first, len) = self.sections.get(number).ok_or_else(|| bad("no such section"))?;
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(first))?;
        let mut bytes = Vec::new();
        file.take(len).read_to_end(&mut bytes)?;
        parse(&bytes)
    }
}
