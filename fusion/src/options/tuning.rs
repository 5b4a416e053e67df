//! Schedule parameters that a program chooses itself, as a value and as text.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use crate::jit::{BlockCoarseningLimits, ShapeLimits, ThreadCoarseningLimits, UnrollLimits};
use crate::vk::{NARROW_BYTES, PRIVATE_BYTES};

/// Declares [`Tuning`] once: its fields, the methods that set them, and their names in text.
macro_rules! parameters {
    ($( $(#[doc = $doc:literal])+ $field:ident: $type:ty, $name:literal; )+) => {
        /// Parameters of the schedules that the planner chooses for fused kernels, for [`ContextOptions::tuning`](crate::ContextOptions::tuning).
        ///
        /// They affect the speed of fused lists, never their results. A parameter that is not set keeps the value that is known to be best
        /// for the device.
        ///
        /// As text, for example in the environment variable `VKFUSE_SCHEDULE`, a tuning is a list of `NAME=VALUE`, separated by commas or
        /// spaces; switches are `on` or `off`:
        ///
        /// ```
        /// # use vkfuse::Tuning;
        /// let tuning: Tuning = "work-group=128 items=4 vectors=on, unroll=64".parse()?;
        /// assert_eq!(tuning, Tuning::new().work_group(128).items(4).vectors(true).unroll(64));
        /// # Ok::<(), vkfuse::ParseTuningError>(())
        /// ```
        ///
        /// | name | parameter |
        /// | --- | --- |
        $( #[doc = concat!("| `", $name, "` | [`", stringify!($field), "`](Tuning::", stringify!($field), ") |")] )+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Tuning {
            $( pub(crate) $field: Option<$type>, )+
        }

        impl Tuning {
            /// The names of all parameters in text.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            $(
                $(#[doc = $doc])+
                #[must_use]
                pub fn $field(mut self, value: $type) -> Tuning {
                    self.$field = Some(value);
                    self
                }
            )+

            /// These parameters, with those that are not set taken from another tuning.
            #[must_use]
            pub fn or(self, other: Tuning) -> Tuning {
                Tuning { $( $field: self.$field.or(other.$field), )+ }
            }

            /// The numbers, by their names.
            fn numbers(&self) -> impl Iterator<Item = (&'static str, u32)> {
                [$( ($name, self.$field.and_then(Value::number)) ),+]
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
            }

            /// Sets a parameter by its name; `None` if there is no parameter of this name, or the value is not valid for it.
            fn set(&mut self, name: &str, value: &str) -> Option<()> {
                match name {
                    $( $name => self.$field = Some(<$type as Value>::parse(value)?), )+
                    _ => return None,
                }
                Some(())
            }
        }

        impl fmt::Display for Tuning {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut separator = "";
                $(
                    if let Some(value) = self.$field {
                        write!(f, "{separator}{}={}", $name, value.text())?;
                        separator = " ";
                    }
                )+
                let _ = separator;
                Ok(())
            }
        }
    };
}

parameters! {
    /// Number of invocations in a work-group of data-parallel kernels, whose results do not depend on it; 0 is the largest size
    /// among the fused kernels.
    work_group: u32, "work-group";
    /// Number of items that an invocation of data-parallel kernels processes; 1 is no coarsening.
    items: u32, "items";
    /// Whether four adjacent elements are accessed as one vector.
    vectors: bool, "vectors";
    /// Number of vectors that an invocation processes one after another where the number of items is no multiple of four.
    serial_vectors: u32, "serial-vectors";
    /// Number of items of its work-group that an invocation processes by superword vectorization, where the work-group size is given by the
    /// kernel; 1 is none.
    superword: u32, "superword";
    /// Number of work-groups of kernels with barriers that one work-group does the work of (block coarsening); 1 is none.
    block_coarsening: u32, "block-coarsening";
    /// Number of invocations that a work-group of kernels with barriers keeps, each doing the work of several (thread
    /// coarsening); 0 is none.
    thread_coarsening: u32, "thread-coarsening";
    /// Largest total size in bytes of the private variables of an invocation after block or thread coarsening. If this is set, thread coarsening
    /// also applies to kernels with loops that are not unrolled.
    private_bytes: u32, "private-bytes";
    /// Smallest number of work-groups that coarsening may leave in a dispatch. If it is not set, it is 1 for the kinds of coarsening that are
    /// set here.
    least_work_groups: u32, "least-work-groups";
    /// Number of work-groups of a single sub-group that are packed into one work-group; 1 is none.
    packed: u32, "packed";
    /// Number of elements of a short row that each lane processes where several rows share a sub-group; 0 gives each row a sub-group of its own.
    lane_elements: u32, "lane-elements";
    /// Whether the shared memory of work-groups of a single sub-group is promoted to registers and shuffles. This requires a device with shuffles
    /// and full sub-groups of a known size.
    shuffles: bool, "shuffles";
    /// Largest number of iterations of a loop that is unrolled completely.
    unroll: u32, "unroll";
    /// Number of iterations that are unrolled at a time in longer loops; 1 is none.
    unroll_by: u32, "unroll-by";
    /// Largest number of bytes of results that an invocation keeps in registers when it stores them, for later kernels that read them; 0 loads them
    /// in each kernel.
    kept_bytes: u32, "kept-bytes";
    /// Number of stores that are moved behind later loads at a time; 0 is none.
    sunk_stores: u32, "sunk-stores";
    /// Largest number of bytes of push constants of a fused kernel, if that is less than the device's `maxPushConstantsSize`. The rest is
    /// passed in a uniform buffer of the engine.
    push_bytes: u32, "push-bytes";
}

impl Tuning {
    /// A tuning with no parameter set: the values that are known to be best for the device.
    #[must_use]
    pub fn new() -> Tuning {
        Tuning::default()
    }

    /// A sentence for each number that cannot be meant: no schedule has it.
    pub(crate) fn out_of_range(&self) -> Vec<String> {
        let problem = |(name, value): (&'static str, u32)| {
            let (_, range) = RANGES.iter().find(|(names, _)| names.contains(&name))?;
            let (low, high) = (range.start(), range.end());
            (!range.contains(&value)).then(|| format!("{name}={value} is out of range, {low} to {high}"))
        };
        self.numbers().filter_map(problem).collect()
    }

    /// The shape of dispatches of data-parallel kernels, given the device's.
    pub(crate) fn shape(&self, known: ShapeLimits) -> ShapeLimits {
        let items = [self.work_group, self.items, self.serial_vectors, self.superword];
        let is_set = self.vectors.is_some() || items.iter().any(Option::is_some);
        ShapeLimits {
            group_size: self.work_group.unwrap_or(known.group_size),
            items: self.items.unwrap_or(known.items),
            vectors: self.vectors.unwrap_or(known.vectors),
            rounds: self.serial_vectors.unwrap_or(known.rounds),
            superword: self.superword.unwrap_or(known.superword),
            least: self.least(is_set, known.least),
            lanes: if is_set { 1 } else { known.lanes },
            conditions: known.conditions.filter(|_| !is_set),
        }
    }

    /// Block coarsening, given the device's.
    pub(crate) fn interleave(&self, known: BlockCoarseningLimits) -> BlockCoarseningLimits {
        let Some(work_groups) = self.block_coarsening else {
            return BlockCoarseningLimits { least: self.least(false, known.least), ..known };
        };
        let private_bytes = self.private_bytes.unwrap_or(PRIVATE_BYTES);
        BlockCoarseningLimits {
            work_groups,
            least: self.least(true, known.least),
            private_bytes,
            shared_bytes: 0,
        }
    }

    /// Thread coarsening, given the device's.
    pub(crate) fn narrow(&self, known: ThreadCoarseningLimits) -> ThreadCoarseningLimits {
        ThreadCoarseningLimits {
            invocations: self.thread_coarsening.unwrap_or(known.invocations),
            least: self.least(self.thread_coarsening.is_some(), known.least),
            private_bytes: self.private_bytes.unwrap_or(match self.thread_coarsening {
                Some(_) => NARROW_BYTES,
                None => known.private_bytes,
            }),
            any_loops: self.private_bytes.is_some() || known.any_loops,
            ..known
        }
    }

    /// Unrolling, given the device's.
    pub(crate) fn loops(&self, known: UnrollLimits) -> UnrollLimits {
        let private_bytes = self.unroll.map_or(known.private_bytes, |rounds| 4 * rounds.max(64));
        UnrollLimits {
            rounds: self.unroll.unwrap_or(known.rounds),
            at_once: self.unroll_by.unwrap_or(known.at_once),
            private_bytes,
            ..known
        }
    }

    /// The fewest work-groups left of a dispatch by coarsening that is set here, or not.
    fn least(&self, is_set: bool, known: u32) -> u32 {
        self.least_work_groups.unwrap_or(if is_set { 1 } else { known })
    }
}

/// Values that parameters can have; what a device has less of ends at that. No device of today has work-groups of more than 2048
/// invocations.
const RANGES: &[(&[&str], RangeInclusive<u32>)] = &[
    (&["work-group", "thread-coarsening"], 0..=2048),
    (&["items", "superword", "block-coarsening", "packed", "serial-vectors", "unroll-by"], 1..=1024),
];

/// What a parameter holds.
trait Value: Sized {
    /// It, if it is a number.
    fn number(self) -> Option<u32>;
    fn parse(text: &str) -> Option<Self>;
    fn text(self) -> String;
}

impl Value for u32 {
    fn number(self) -> Option<u32> {
        Some(self)
    }

    fn parse(text: &str) -> Option<u32> {
        text.parse().ok()
    }

    fn text(self) -> String {
        self.to_string()
    }
}

impl Value for bool {
    fn number(self) -> Option<u32> {
        None
    }

    fn parse(text: &str) -> Option<bool> {
        match text {
            "on" | "1" => Some(true),
            "off" | "0" => Some(false),
            _ => None,
        }
    }

    fn text(self) -> String {
        if self { "on".into() } else { "off".into() }
    }
}

/// Text that is no [`Tuning`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTuningError(String);

impl fmt::Display for ParseTuningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseTuningError(part) = self;
        match part.split_once('=') {
            Some((name, value)) if Tuning::NAMES.contains(&name) => {
                write!(f, "`{value}` is no value of the parameter `{name}`")
            }
            _ => write!(f, "`{part}` is not NAME=VALUE with a NAME of {}", Tuning::NAMES.join(", ")),
        }
    }
}

impl std::error::Error for ParseTuningError {}

impl FromStr for Tuning {
    type Err = ParseTuningError;

    fn from_str(text: &str) -> Result<Tuning, ParseTuningError> {
        let mut tuning = Tuning::new();
        for part in text.split([',', ' ', '\n', '\t']).filter(|part| !part.is_empty()) {
            let set = part.split_once('=').and_then(|(name, value)| tuning.set(name, value));
            set.ok_or_else(|| ParseTuningError(part.to_owned()))?;
        }
        Ok(tuning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: ShapeLimits = ShapeLimits {
        group_size: 256,
        items: 4,
        vectors: true,
        rounds: 1,
        least: 64,
        superword: 4,
        lanes: 32,
        conditions: Some(48),
    };

    #[test]
    fn text_names_every_parameter_and_comes_back() {
        let text = Tuning::NAMES.iter().map(|name| match *name {
            "vectors" | "shuffles" => format!("{name}=off"),
            _ => format!("{name}=3"),
        });
        let text = text.collect::<Vec<_>>().join(" ");
        assert_eq!(text.parse::<Tuning>().expect("a tuning").to_string(), text);
        assert_eq!("".parse(), Ok(Tuning::new()));
        assert_eq!(" items=4,\tvectors=1 ".parse(), Ok(Tuning::new().items(4).vectors(true)));
    }

    #[test]
    fn numbers_that_no_schedule_has_are_named_with_their_range() {
        let said = Tuning::new().items(0).work_group(100_000).packed(2).vectors(true).out_of_range();
        assert_eq!(
            said,
            ["work-group=100000 is out of range, 0 to 2048", "items=0 is out of range, 1 to 1024"]
        );
        assert!(Tuning::new().work_group(0).items(4).out_of_range().is_empty());
    }

    #[test]
    fn one_tuning_comes_before_another() {
        let (one, other) = (Tuning::new().items(4), Tuning::new().items(8).vectors(true));
        assert_eq!(one.or(other), Tuning::new().items(4).vectors(true));
    }

    #[test]
    fn text_that_is_no_tuning_is_an_error_that_says_what_is_wrong() {
        let error = |text: &str| text.parse::<Tuning>().expect_err("an error").to_string();
        assert_eq!(error("items=4 vectors=maybe"), "`maybe` is no value of the parameter `vectors`");
        assert_eq!(error("items=-1"), "`-1` is no value of the parameter `items`");
        for text in ["items", "Items=4", "=4", "lanes=4"] {
            assert!(
                error(text).starts_with(&format!("`{text}` is not NAME=VALUE with a NAME of work-group, "))
            );
        }
    }

    #[test]
    fn parameters_that_are_not_set_stay_the_devices() {
        assert_eq!(Tuning::new().shape(KNOWN), KNOWN);
        let set = Tuning::new().items(8).shape(KNOWN);
        assert_eq!(set, ShapeLimits { items: 8, least: 1, lanes: 1, conditions: None, ..KNOWN });
        let least = Tuning::new().least_work_groups(500);
        assert_eq!(least.shape(KNOWN), ShapeLimits { least: 500, ..KNOWN });
        let known =
            BlockCoarseningLimits { work_groups: 8, least: 2048, private_bytes: 64, shared_bytes: 18 << 10 };
        assert_eq!(Tuning::new().interleave(known), known);
        assert_eq!(least.block_coarsening(2).interleave(known).least, 500);
        let set = Tuning::new().block_coarsening(2).private_bytes(256).interleave(known);
        assert_eq!((set.work_groups, set.least, set.private_bytes, set.shared_bytes), (2, 1, 256, 0));
        let known = ThreadCoarseningLimits {
            invocations: 32,
            least: 8192,
            private_bytes: 128,
            ..ThreadCoarseningLimits::default()
        };
        assert_eq!(Tuning::new().narrow(known), known);
        let set = Tuning::new().thread_coarsening(16).private_bytes(64).narrow(known);
        assert_eq!((set.invocations, set.least, set.private_bytes, set.any_loops), (16, 1, 64, true));
        let known = UnrollLimits { rounds: 128, at_once: 16, private_bytes: 512, ..UnrollLimits::default() };
        assert_eq!(Tuning::new().loops(known), known);
        assert_eq!(Tuning::new().unroll_by(1).loops(known), UnrollLimits { at_once: 1, ..known });
    }
}
