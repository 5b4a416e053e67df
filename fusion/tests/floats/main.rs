//! Floats across the seam: `t = f(a, b)` in one kernel and `g(t, c)` in the next give the same bits unfused and fused,
//! for every pair of operations, on zeros, denormals, infinities and NaNs.
//!
//! By default the pairs that some driver is known to rewrite run, and a few others. The full table:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_FLOATS` | `all` runs every pair |
//! | `VKFUSE_FLOATS_WIDTHS` | widths of floats; `32,16,64` by default, as far as the device has them |
//! | `VKFUSE_FLOATS_OPS` | the operations, by the names in `ops.rs`; all by default |
//! | `VKFUSE_FLOATS_SECOND` | the operations that follow; those of `VKFUSE_FLOATS_OPS` by default |
//! | `VKFUSE_FLOATS_BATCH` | operations a kernel applies in the full table; 24 by default, 1 is slow and makes the smallest kernels |
//! | `VKFUSE_FLOATS_PROMOTE` | where the values stay: `private,local,none` by default |
//! | `VKFUSE_FLOATS_NANS` | set, also prints pairs that differ in nothing but which NaN they give |
//! | `VKFUSE_FLOATS_VALIDATION` | `0` runs without the validation layers |
//!
//! `VKFUSE_FLOATS=all cargo test -p vkfuse --test floats every_pair -- --nocapture`

mod data;
#[cfg(feature = "wgsl")]
mod decided;
mod ops;
#[cfg(feature = "wgsl")]
mod own;
mod random;
mod table;
mod text;

use std::collections::BTreeMap;
use std::time::Instant;

use ops::Op;
use table::{Bench, Difference, Setting};
use text::Carrier;
#[cfg(feature = "wgsl")]
use vkfuse::{CacheOptions, Context, ContextOptions, Queue, QueueOptions};
use vkfuse::{Promote, Tuning};

/// A device with a queue that can fuse, under the validation layers. Without a device the test says nothing, unless one is required.
#[cfg(feature = "wgsl")]
fn device() -> Option<(Context, Queue)> {
    let options = ContextOptions::from_env().validation_layer(true).cache(CacheOptions::default().no_disk());
    let context = match Context::with(options) {
        Ok(context) => context,
        Err(error) => {
            assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {error}");
            return None;
        }
    };
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue");
    Some((context, queue))
}

fn list<T>(name: &str, default: &str, read: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let text = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    text.split(',').map(|one| read(one).unwrap_or_else(|| panic!("{name}: {one}"))).collect()
}

fn promotion(name: &str) -> Option<Promote> {
    match name {
        "private" => Some(Promote::Private),
        "local" => Some(Promote::Local),
        "none" => Some(Promote::None),
        _ => None,
    }
}

fn named(width: u32, name: &str) -> Option<Op> {
    ops::all(width).into_iter().find(|op| op.name == name)
}

fn validation() -> bool {
    std::env::var("VKFUSE_FLOATS_VALIDATION").as_deref() != Ok("0")
}

/// Pairs that come out different on some driver if the second kernel's compiler sees the first.
const KNOWN: &[(&str, &str)] = &[
    ("log", "exp"),
    ("exp", "log"),
    ("log2", "exp2"),
    ("exp2", "log2"),
    ("exp2", "sqrt"),
    ("sqrt", "log2"),
    ("pow", "log2"),
    ("floor", "fract"),
    ("ldexp", "ldexp-"),
    ("degrees", "radians"),
    ("fma", "fma"),
    ("sqrt", "1/x"),
    ("rsqrt", "1/x"),
    ("length", "y/x"),
    ("1/x", "1/x"),
    ("exp(-x)", "1/x"),
    ("mix", "mix"),
    ("min1", "max0"),
    ("x", "x"),
    ("x*y", "x+y"),
    ("-x", "x*y"),
    ("int", "int"),
    ("x*0", "x-y"),
    ("x*0", "0-x"),
];

#[test]
fn known_pairs_keep_their_bits() {
    let vectors = Tuning::new().work_group(64).items(4).vectors(true).superword(1);
    for tuning in [Tuning::new(), vectors] {
        let Some(mut bench) = Bench::open(tuning, true) else { return };
        // All in registers. Where they stay in memory, too, or by turns: each is another module to compile.
        let promotions = [&[Promote::None][..], &[Promote::Private], &[Promote::Local]];
        let mut found = Vec::new();
        for (number, (first, second)) in KNOWN.iter().enumerate() {
            let pair = |width| Some(([named(width, first)?], named(width, second)?));
            let (first, second) = pair(32).expect("operations of the table");
            let turns = if tuning == vectors { &[][..] } else { &[Promote::Private] };
            for &promote in promotions[number % 3].iter().chain(turns) {
                found.extend(bench.compare(
                    Setting { width: 32, carrier: Carrier::Float, promote },
                    &first,
                    second,
                ));
            }
        }
        report("known pairs", &found);
        assert!(bench.lists >= KNOWN.len());
        assert_eq!(bench.context.validation_messages(), 0, "the validation layers complained");
        assert_eq!(broken(&found), 0, "pairs that differ");
    }
}

#[test]
fn known_pairs_keep_their_bits_in_other_forms() {
    let Some(mut bench) = Bench::open(Tuning::new(), true) else { return };
    let mut found = Vec::new();
    let settings = [
        Setting { width: 32, carrier: Carrier::Bits, promote: Promote::Private },
        Setting { width: 32, carrier: Carrier::Number, promote: Promote::None },
        Setting { width: 16, carrier: Carrier::Float, promote: Promote::Private },
        Setting { width: 64, carrier: Carrier::Float, promote: Promote::Private },
    ];
    for setting in settings {
        if !bench.has(setting.width) {
            continue;
        }
        // One kernel applies several operations, so that there are few to compile.
        let known = |name: &&str| named(setting.width, name);
        let first = ["exp", "floor", "sqrt", "1/x", "min1", "int", "x*y"];
        let first: Vec<Op> = first.iter().filter_map(known).collect();
        for second in ["log", "1/x", "fract"].iter().filter_map(known) {
            found.extend(bench.compare(setting, &first, second));
        }
        report(&setting.name(), &found);
    }
    assert_eq!(bench.context.validation_messages(), 0, "the validation layers complained");
    assert_eq!(broken(&found), 0, "pairs that differ");
}

#[test]
fn every_pair_keeps_its_bits() {
    if std::env::var("VKFUSE_FLOATS").as_deref() != Ok("all") {
        return;
    }
    let Some(mut bench) = Bench::open(Tuning::new(), validation()) else { return };
    let batch = list("VKFUSE_FLOATS_BATCH", "24", |text| text.parse::<usize>().ok())[0].max(1);
    let mut differ = 0;
    for width in list("VKFUSE_FLOATS_WIDTHS", "32,16,64", |text| text.parse::<u32>().ok()) {
        if !bench.has(width) {
            println!("f{width}: not on this device");
            continue;
        }
        let named = |variable: &str, or: &str| {
            let names = list(variable, or, |text| Some(text.to_owned()));
            let wanted = |op: &Op| names.iter().any(|name| name.is_empty() || name == op.name);
            ops::all(width).into_iter().filter(wanted).collect::<Vec<Op>>()
        };
        let all = named("VKFUSE_FLOATS_OPS", "");
        let ops = std::env::var("VKFUSE_FLOATS_OPS").unwrap_or_default();
        let seconds = named("VKFUSE_FLOATS_SECOND", &ops);
        let carriers: &[Carrier] = match width {
            16 => &[Carrier::Float],
            _ => &[Carrier::Float, Carrier::Bits],
        };
        for promote in list("VKFUSE_FLOATS_PROMOTE", "private,local,none", promotion) {
            for &carrier in carriers {
                let (start, lists, pairs) = (Instant::now(), bench.lists, bench.pairs);
                let setting = Setting { width, carrier, promote };
                let mut found = Vec::new();
                for second in &seconds {
                    for first in all.chunks(batch) {
                        found.extend(bench.compare(setting, first, *second));
                    }
                }
                println!(
                    "{}: {} pairs in {} lists, {} differ, {} more in which NaN, {:.0} s",
                    setting.name(),
                    bench.pairs - pairs,
                    bench.lists - lists,
                    broken(&found),
                    found.len() - broken(&found),
                    start.elapsed().as_secs_f64()
                );
                report(&setting.name(), &found);
                differ += broken(&found);
            }
        }
    }
    assert_eq!(bench.context.validation_messages(), 0, "the validation layers complained");
    assert_eq!(differ, 0, "pairs that differ");
}

/// Pairs that break the promise: numbers must be equal, and so must all bits of what is only moved. Which NaN an operation
/// makes of two is up to the driver, which orders operands anew in every kernel; whether it is one must agree.
fn broken(found: &[Difference]) -> usize {
    found.iter().filter(|one| one.numbers > 0 || one.pair == ("x", "x")).count()
}

/// Prints, for each second operation, the first ones with which it differs: how many results of each kind, and how
/// many of them are not one NaN for another. With `VKFUSE_FLOATS_NANS`, pairs too that differ in nothing else.
fn report(name: &str, found: &[Difference]) {
    let nans = std::env::var_os("VKFUSE_FLOATS_NANS").is_some();
    let mut rows: BTreeMap<&str, Vec<&Difference>> = BTreeMap::new();
    let shown = found.iter().filter(|one| nans || one.numbers > 0);
    shown.for_each(|one| rows.entry(one.pair.1).or_default().push(one));
    for (second, row) in &rows {
        let cells = row.iter().map(|one| format!("{} {:?}/{}", one.pair.0, one.results, one.numbers));
        println!("{name} | {second} after: {}", cells.collect::<Vec<_>>().join(", "));
        if let Some(one) = row.iter().find(|one| one.numbers > 0) {
            println!("{name} |   {}, {}: {}", one.pair.0, one.pair.1, one.example);
        }
    }
}
