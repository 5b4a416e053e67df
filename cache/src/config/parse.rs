//! Values of environment variables: switches, numbers, sizes, ages, folders.
//!
//! An unset and an empty variable mean the same. Everything that is not plainly one of the documented
//! forms is a warning and counts as unset.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::ConfigWarning;

/// Longer paths are refused by every system this runs on.
const MAX_PATH: usize = 3800;

pub(crate) struct Reader<'a> {
    pub(crate) env: &'a dyn Fn(&str) -> Option<OsString>,
    pub(crate) warnings: Vec<ConfigWarning>,
}

impl Reader<'_> {
    fn read<T>(
        &mut self,
        variable: &'static str,
        parse: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let value = (self.env)(variable).filter(|value| !value.is_empty())?;
        let parsed = match value.to_str() {
            Some(text) => parse(text.trim()),
            None => Err("not UTF-8"),
        };
        parsed.map_err(|problem| self.warn(variable, value, problem)).ok()
    }

    fn warn(&mut self, variable: &'static str, value: OsString, problem: &'static str) {
        self.warnings.push(ConfigWarning { variable, value, problem });
    }

    /// Warns of a variable that has no effect, if it is set.
    pub(crate) fn leave_out(&mut self, variable: &'static str, problem: &'static str) {
        if let Some(value) = (self.env)(variable).filter(|value| !value.is_empty()) {
            self.warn(variable, value, problem);
        }
    }

    pub(crate) fn switch(&mut self, variable: &'static str) -> Option<bool> {
        self.read(variable, switch)
    }

    pub(crate) fn size(&mut self, variable: &'static str) -> Option<u64> {
        self.read(variable, size)
    }

    pub(crate) fn count(&mut self, variable: &'static str) -> Option<usize> {
        self.read(variable, |text| text.parse().map_err(|_| "not a number"))
    }

    pub(crate) fn age(&mut self, variable: &'static str) -> Option<Duration> {
        self.read(variable, age)
    }

    /// The folder that the environment asks for. Never the working folder, never one for all users.
    pub(crate) fn folder(&mut self) -> Option<PathBuf> {
        if let Some(folder) = self.absolute("VKFUSE_CACHE_DIR") {
            return Some(folder);
        }
        if let Some(base) = self.absolute("XDG_CACHE_HOME") {
            return Some(base.join("vkfuse"));
        }
        let home = self.absolute("HOME")?;
        Some(home.join(".cache").join("vkfuse"))
    }

    /// Folders or files with the separator of `PATH` between them.
    pub(crate) fn folders(&mut self, variable: &'static str) -> Vec<PathBuf> {
        let value = (self.env)(variable).unwrap_or_default();
        let each = std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty());
        each.filter_map(|path| self.check(variable, path.into_os_string())).collect()
    }

    pub(crate) fn text(&mut self, variable: &'static str) -> Option<String> {
        self.read(variable, |text| Ok(text.to_owned()))
    }

    pub(crate) fn absolute(&mut self, variable: &'static str) -> Option<PathBuf> {
        let value = (self.env)(variable).filter(|value| !value.is_empty())?;
        self.check(variable, value)
    }

    fn check(&mut self, variable: &'static str, value: OsString) -> Option<PathBuf> {
        let path = Path::new(&value);
        let problem = if !path.is_absolute() {
            "not an absolute path"
        } else if value.len() > MAX_PATH {
            "too long"
        } else if value.as_encoded_bytes().contains(&0) {
            "not a path"
        } else {
            return Some(path.to_owned());
        };
        self.warn(variable, value, problem);
        None
    }
}

fn switch(text: &str) -> Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("neither 0 nor 1"),
    }
}

/// A number and what follows it.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

/// `digits[.digits]` times a factor, exactly, rounded down.
fn scaled(number: &str, factor: u64) -> Result<u64, &'static str> {
    const TOO_LARGE: &str = "too large";
    const NO_NUMBER: &str = "not a number of bytes, such as 512M or 1.5G";
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || number.ends_with('.') {
        return Err(NO_NUMBER);
    }
    let whole: u64 = whole.parse().map_err(|_| TOO_LARGE)?;
    let mut total = u128::from(whole) * u128::from(factor);
    let mut scale = 1;
    for digit in fraction.bytes().take(9) {
        scale *= 10;
        total += u128::from(digit - b'0') * u128::from(factor) / scale;
    }
    u64::try_from(total).map_err(|_| TOO_LARGE)
}

/// Bytes, with K, M, G or T for powers of 1024; `iB` or `B` may follow.
pub(crate) fn size(text: &str) -> Result<u64, &'static str> {
    let (number, unit) = split(text);
    let unit = unit.to_ascii_lowercase();
    let unit = unit
        .strip_suffix("ib")
        .filter(|prefix| !prefix.is_empty())
        .or_else(|| unit.strip_suffix('b'))
        .unwrap_or(&unit);
    let factor = match unit {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Err("not a number of bytes, such as 512M or 1.5G"),
    };
    scaled(number, factor)
}

/// A duration: seconds, or with ms, s, m, h, d or w. Whole milliseconds.
pub(crate) fn age(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "not a duration, such as 12h or 30d";
    let (number, unit) = split(text);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return Err(FORM),
    };
    scaled(number, factor).map(Duration::from_millis).map_err(|_| FORM)
}
