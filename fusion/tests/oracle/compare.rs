//! One list in Vulkan and in the engine, compared.

use std::collections::BTreeMap;
use std::fmt;

use vkfuse::FloatMode;
use vkfuse::report::CodeChange;

use super::engine::{Engine, How};
use super::list::List;
use super::raw::Device;
use super::words;

/// What comparing a list came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// All bytes are equal.
    Equal,
    /// Words differ that are NaNs on both sides: which NaN an operation makes of another is the device's.
    OtherNan,
    /// Unfused under strict floats, other bits than the user's module has: those of that module with `NoContraction`, without
    /// `RelaxedPrecision` and with the device's float controls.
    StrictFloats,
    /// Unfused under strict floats, other bits than either of these modules has: the closed form ran, or formulas were expanded.
    ClosedForms,
    /// The device, or the engine, does not take the list.
    Skipped,
}

/// A list that is not what it has to be.
#[derive(Debug)]
pub(crate) struct Wrong(pub(crate) String);

impl Wrong {
    /// Whether the user's module was read wrongly: what runs alone, under `contract`, gives other bits.
    pub(crate) fn is_of_reading(&self) -> bool {
        self.0.contains("`contract`")
    }
}

/// Lists that are named.
const NAMED: usize = 20;

/// How many lists there were of each class, and why others were skipped.
#[derive(Default)]
pub(crate) struct Counts {
    classes: BTreeMap<Class, usize>,
    skipped: BTreeMap<String, usize>,
    /// The first lists of classes other than the equal ones.
    named: Vec<String>,
    /// Lists of several calls that ran in fewer dispatches.
    pub(crate) fused: usize,
    wrong: Vec<String>,
}

impl Counts {
    pub(crate) fn of(&self, class: Class) -> usize {
        self.classes.get(&class).copied().unwrap_or(0)
    }

    /// Lists that were compared.
    pub(crate) fn compared(&self) -> usize {
        self.classes.iter().filter(|(class, _)| **class != Class::Skipped).map(|(_, count)| count).sum()
    }

    pub(crate) fn skip(&mut self, why: &str) {
        *self.skipped.entry(short(why)).or_default() += 1;
        *self.classes.entry(Class::Skipped).or_default() += 1;
    }

    /// Compares a list, and counts what that comes to.
    pub(crate) fn check(&mut self, oracle: &mut Oracle, list: &List) {
        let result = oracle.check(list, list);
        self.count(&list.name, result);
    }

    /// Counts what comparing a list came to.
    pub(crate) fn count(&mut self, name: &str, result: Result<(Class, bool), Verdict>) {
        match result {
            Ok((class, fused)) => {
                *self.classes.entry(class).or_default() += 1;
                self.fused += usize::from(fused);
                if class != Class::Equal && self.named.len() < NAMED {
                    self.named.push(format!("{class:?}: {name}"));
                }
            }
            Err(Verdict::Skipped(why)) => self.skip(&why),
            Err(Verdict::Wrong(Wrong(what))) => self.wrong.push(format!("{name}: {what}")),
        }
    }

    /// Prints the counts, and demands that nothing was unexplained.
    pub(crate) fn end(&self, what: &str) {
        println!("{what}: {self}");
        assert!(self.wrong.is_empty(), "{} wrong:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lists compared", self.compared())?;
        for (class, count) in &self.classes {
            write!(f, ", {count} {class:?}")?;
        }
        write!(f, "; {} fused, {} unexplained", self.fused, self.wrong.len())?;
        self.named.iter().try_for_each(|name| write!(f, "\n    {name}"))?;
        self.skipped.iter().try_for_each(|(why, count)| write!(f, "\n    skipped {count}: {why}"))
    }
}

/// One line for each kind of complaint.
pub(crate) fn short(why: &str) -> String {
    let why = why.split(['\n', ';']).next().unwrap_or(why);
    why.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).take(90).collect()
}

/// Why a list has no class.
#[derive(Debug)]
pub(crate) enum Verdict {
    Skipped(String),
    Wrong(Wrong),
}

/// Both sides.
pub(crate) struct Oracle {
    pub(crate) raw: Device,
    pub(crate) engine: Engine,
}

/// How two runs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Difference {
    None,
    /// In NaNs alone.
    Nan,
    Word(String),
}

impl Oracle {
    /// Opens one device twice, as Vulkan and in the engine; nothing where there is none and none is required.
    pub(crate) fn open() -> Option<Oracle> {
        let validation = std::env::var("VKFUSE_ORACLE_VALIDATION").is_ok_and(|on| on != "0");
        let engine = Engine::open(validation)?;
        let raw = Device::open(&engine.context.device_info().name, validation).expect("the same device");
        Some(Oracle { raw, engine })
    }

    /// Compares what Vulkan makes of one list with what the engine makes of another, which should be the same. Also says whether the
    /// engine fused some of it.
    pub(crate) fn check(&mut self, list: &List, engines: &List) -> Result<(Class, bool), Verdict> {
        let wrong = |what: String| Err(Verdict::Wrong(Wrong(what)));
        for call in &engines.calls {
            self.engine.kernel(call).map_err(Verdict::Skipped)?;
        }
        let calls: Vec<_> = list.calls.iter().map(|call| call.vulkan.clone()).collect();
        let alone = match self.engine.run(engines, How::Alone(FloatMode::Contract)) {
            Ok(alone) => alone,
            Err(what) if what.contains("could not be built") => return wrong(what),
            Err(why) => return Err(Verdict::Skipped(why)),
        };
        let user = self.raw.run(&calls, &list.buffers).map_err(Verdict::Skipped)?;
        let mut class = Class::Equal;
        // Under `contract` the user's module runs.
        let is_of_floats = |change: &&CodeChange| {
            !matches!(
                change,
                CodeChange::Folded | CodeChange::Normalised | CodeChange::BaseInCode | CodeChange::Layouts
            )
        };
        if let Some(change) = alone.changes.iter().find(is_of_floats) {
            return wrong(format!("under `contract`: {change}"));
        }
        match difference(&user, &alone.buffers) {
            Difference::None => {}
            Difference::Nan => class = Class::OtherNan,
            Difference::Word(what) => return wrong(format!("Vulkan and unfused under `contract`: {what}")),
        }
        let unfused = match self.engine.run(engines, How::Unfused) {
            Ok(unfused) => unfused,
            Err(what) => return wrong(format!("under `strict` alone: {what}")),
        };
        match difference(&user, &unfused.buffers) {
            Difference::None => {}
            Difference::Nan => class = class.max(Class::OtherNan),
            Difference::Word(what) => class = self.explained(list, engines, &unfused.buffers, &what)?,
        }
        let fused = match self.engine.run(engines, How::Fused) {
            Ok(fused) => fused,
            Err(what) => return wrong(format!("fused: {what}")),
        };
        let expected: Vec<Vec<u8>> = unfused.buffers.into_iter().map(Option::unwrap_or_default).collect();
        match difference(&expected, &fused.buffers) {
            Difference::None => {}
            Difference::Nan => class = class.max(Class::OtherNan),
            Difference::Word(what) => return wrong(format!("unfused and fused: {what}")),
        }
        Ok((class, fused.dispatches < list.calls.len()))
    }

    /// The class of a list whose strict bits are not the user's.
    fn explained(
        &mut self,
        list: &List,
        engines: &List,
        strict: &[Option<Vec<u8>>],
        what: &str,
    ) -> Result<Class, Verdict> {
        let wrong = |why: &str| Err(Verdict::Wrong(Wrong(format!("Vulkan and unfused: {what}; {why}"))));
        let changes = match self.engine.run(engines, How::Alone(FloatMode::Strict)) {
            Ok(ran) => ran.changes,
            Err(error) => return wrong(&error),
        };
        if changes.is_empty() {
            return wrong("and no kernel was changed");
        }
        let changed = list.calls.iter().map(|call| {
            let words = words::with_strict_floats(&call.vulkan.words, self.raw.controls).into();
            super::raw::Call { words, ..call.vulkan.clone() }
        });
        let changed: Vec<_> = changed.collect();
        if let Ok(decorated) = self.raw.run(&changed, &list.buffers) {
            match difference(&decorated, strict) {
                Difference::None | Difference::Nan => return Ok(Class::StrictFloats),
                Difference::Word(_) => {}
            }
        }
        let is_closed = changes.iter().any(|one| matches!(one, CodeChange::Closed | CodeChange::Formulas));
        if is_closed { Ok(Class::ClosedForms) } else { wrong(&format!("{changes:?} does not explain that")) }
    }
}

/// How bytes differ; those that stayed inside do not.
fn difference(want: &[Vec<u8>], got: &[Option<Vec<u8>>]) -> Difference {
    let mut found = Difference::None;
    for (number, (want, got)) in want.iter().zip(got).enumerate() {
        let Some(got) = got else { continue };
        for (at, (a, b)) in want.chunks(8).zip(got.chunks(8)).enumerate().filter(|(_, (a, b))| a != b) {
            if are_nans(a, b) {
                found = Difference::Nan;
            } else {
                return Difference::Word(format!(
                    "buffer {number}, from byte {}: {a:02x?} and {b:02x?}",
                    8 * at
                ));
            }
        }
    }
    found
}

/// Whether whatever differs in these eight bytes is a NaN on both sides, as floats of one of the widths.
fn are_nans(a: &[u8], b: &[u8]) -> bool {
    let pairs = |width: usize| a.chunks(width).zip(b.chunks(width)).filter(|(a, b)| a != b);
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    let half = |bytes: &[u8]| bits(bytes) & 0x7fff > 0x7c00;
    let single = |bytes: &[u8]| f32::from_bits(bits(bytes) as u32).is_nan();
    let double = |bytes: &[u8]| bytes.len() == 8 && f64::from_bits(bits(bytes)).is_nan();
    pairs(4).all(|(a, b)| single(a) && single(b))
        || pairs(2).all(|(a, b)| half(a) && half(b))
        || pairs(8).all(|(a, b)| double(a) && double(b))
}
