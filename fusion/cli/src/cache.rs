//! `vkfuse cache`: looks into the persistent store and tidies it.
//!
//! Everything here is a listing of, or a call to, what `vkfuse-cache` offers; a store that cannot be
//! opened is said to be off and why.

mod ahead;
mod carry;
mod explain;
mod listing;

use crate::args::{CacheAction, CacheArgs, WorkArgs};
use crate::interrupt;
use crate::progress::Bar;
use crate::report::json::FORMAT;
use crate::report::{Table, print_json};
use crate::stop::{Status, Stop};
use ahead::Skipped;
use listing::{EntryRow, identity};
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use vkfuse_cache::{CacheOptions, Disabled, EntryInfo, PartKind, Progress, Pruned, Skip, Store};

/// Does one thing with the store.
pub(crate) fn cache(args: &CacheArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    match &args.action {
        CacheAction::Warm { files, work } => return warm(args, files, work, out),
        CacheAction::Explain { what, other: None, device, robust } => {
            return explain::file(args, Path::new(what), device.as_deref(), *robust, out);
        }
        #[cfg(feature = "remote")]
        CacheAction::Keygen { file } => return carry::keygen(args.json, file, out),
        #[cfg(not(feature = "remote"))]
        CacheAction::Keygen { .. } => {
            return Err(Stop::wrong(
                "keygen needs the feature `remote`, which this vkfuse was built without",
            ));
        }
        _ => {}
    }
    let options = CacheOptions {
        dir: args.cache_dir.as_deref().map(folder).transpose()?,
        // A folder that is named is meant, whatever the environment says.
        persistent: args.cache_dir.is_some().then_some(true),
        ..CacheOptions::default()
    };
    let mut resolved = options.resolve(|name| std::env::var_os(name));
    // What is done here is done when the command says so.
    resolved.store.background = false;
    // The context that builds says it otherwise.
    let builds = matches!(&args.action, CacheAction::Verify { files, .. } if !files.is_empty());
    for warning in resolved.warnings.iter().filter(|_| !builds) {
        tracing::warn!("{warning}");
    }
    let Some(folder) = resolved.store.dir.clone() else {
        let reason = resolved.store.off.unwrap_or(Disabled::NoFolder);
        return Err(Stop::wrong(format!("there is no cache folder: {reason}")));
    };
    if matches!(args.action, CacheAction::Path) {
        return path(args.json, &folder, out);
    }
    // A listing must not make the folder that it finds empty.
    let makes_it = matches!(args.action, CacheAction::Import { .. });
    let is_there =
        makes_it || !matches!(folder.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound);
    if !is_there && args.cache_dir.is_some() {
        tracing::warn!("there is no folder {}", folder.display());
    }
    let store = if is_there {
        Store::open(resolved.store)
    } else {
        Store::open(vkfuse_cache::StoreConfig::disabled())
    };
    if is_there && let Some(reason) = store.disabled_reason() {
        return Err(Stop::wrong(format!("the cache cannot be used: {reason}")));
    }
    match &args.action {
        CacheAction::Ls => list(args.json, &with_bar(|progress| store.entries(progress)), out),
        CacheAction::Verify { files, work } => {
            interrupt::listen();
            let entries = with_bar(|progress| {
                store.verify_while(&mut |at| {
                    progress(at);
                    !interrupt::is_asked()
                })
            });
            let rebuilt = match files[..] {
                [] => None,
                _ if interrupt::is_asked() => None,
                _ => {
                    let skipped = Skipped::default();
                    let device = open(args, files, work, ahead::Use::Verify, &skipped)?;
                    Some(ahead::warm(&device, files, work.jobs))
                }
            };
            verify(args.json, &entries, rebuilt.as_ref(), out)
        }
        CacheAction::Show { key } => show(args.json, find(&store, key)?, out),
        CacheAction::Explain { what, other, .. } => {
            let other = find(&store, other.as_deref().unwrap_or(what))?;
            explain::keys(args.json, &find(&store, what)?, &other, out)
        }
        CacheAction::Stats => stats(args.json, &store, out),
        CacheAction::Prune { to } => {
            let to = bytes(to)?;
            removed(args.json, is_there.then(|| store.prune_to(to)), to, out)
        }
        CacheAction::Clear => removed(args.json, is_there.then(|| store.clear()), 0, out),
        CacheAction::Forgive { key } => {
            let entry = key.as_deref().map(|key| find(&store, key)).transpose()?;
            forgive(args.json, &store, entry.as_ref(), out)
        }
        CacheAction::Export { file, keys, driver_blobs } => {
            carry::export(args.json, &store, file, keys, *driver_blobs, out)
        }
        CacheAction::Import { file, driver_blobs } => {
            carry::import(args.json, &store, file, *driver_blobs, out)
        }
        CacheAction::Rm { keys } => carry::remove(args.json, &store, keys, out),
        CacheAction::Keygen { .. } | CacheAction::Warm { .. } | CacheAction::Path => Ok(Status::Success),
    }
}

/// The folder that an option names, from the working folder on.
pub(crate) fn folder(named: &Path) -> Result<PathBuf, Stop> {
    std::path::absolute(named)
        .map_err(|error| Stop::wrong(format!("--cache-dir \"{}\": {error}", named.display())))
}

/// Runs something that tells how far it is.
fn with_bar<T>(work: impl FnOnce(&mut dyn FnMut(Progress)) -> T) -> T {
    let bar = Bar::new("entries", 0);
    work(&mut |progress| bar.at(progress.done, progress.total))
}

fn path(json: bool, folder: &Path, out: &mut dyn Write) -> Result<Status, Stop> {
    let folder = folder.display().to_string();
    if json {
        print_json(out, &json!({ "format": FORMAT, "path": folder }))?;
    } else {
        writeln!(out, "{folder}")?;
    }
    Ok(Status::Success)
}

fn list(json: bool, entries: &[EntryInfo], out: &mut dyn Write) -> Result<Status, Stop> {
    let rows: Vec<EntryRow> = entries.iter().map(EntryRow::new).collect();
    if json {
        print_json(out, &json!({ "format": FORMAT, "entries": rows }))?;
        return Ok(Status::Success);
    }
    let mut table = Table::new(&["key", "bytes", "sections", "driver blobs", "state"]);
    for row in rows {
        let sections: Vec<String> =
            row.sections.iter().map(|(name, bytes)| format!("{name} {bytes}")).collect();
        let state = row.defect.unwrap_or_else(|| "sound".to_owned());
        table.row([row.key, row.bytes.to_string(), sections.join(", "), row.blobs.len().to_string(), state]);
    }
    table.print(out)?;
    writeln!(out, "{} entries", entries.len())?;
    Ok(Status::Success)
}

/// Lists what is damaged, and what is other than it is built now; exit status 1 if anything is.
fn verify(
    json: bool,
    entries: &[EntryInfo],
    rebuilt: Option<&ahead::Outcome>,
    out: &mut dyn Write,
) -> Result<Status, Stop> {
    let damaged: Vec<EntryRow> = entries.iter().map(EntryRow::new).filter(EntryRow::is_damaged).collect();
    let status = match rebuilt.map_or(Status::Success, ahead::Outcome::status) {
        _ if interrupt::is_asked() => Status::Interrupted,
        Status::Success if !damaged.is_empty() => Status::Different,
        status => status,
    };
    if json {
        let rebuilt = rebuilt.map(|rebuilt| {
            let (equal, different) = rebuilt.verified;
            json!({ "files": rebuilt.files, "equal": equal, "different": different })
        });
        print_json(
            out,
            &json!({ "format": FORMAT, "checked": entries.len(), "damaged": damaged, "rebuilt": rebuilt }),
        )?;
        return Ok(status);
    }
    for row in &damaged {
        let blobs = row.blobs.iter().filter_map(|blob| blob.defect.as_ref());
        let defects: Vec<&String> = row.defect.iter().chain(blobs).collect();
        for defect in defects {
            writeln!(out, "{}: {defect}", row.key)?;
        }
    }
    writeln!(out, "{} entries checked, {} damaged", entries.len(), damaged.len())?;
    if let Some(rebuilt) = rebuilt {
        let (equal, different) = rebuilt.verified;
        writeln!(out, "{} built again, {different} different", equal + different)?;
        errors(rebuilt, out)?;
    }
    Ok(status)
}

fn open(
    args: &CacheArgs,
    files: &[PathBuf],
    work: &WorkArgs,
    wanted: ahead::Use,
    skipped: &Skipped,
) -> Result<ahead::Device, Stop> {
    ahead::Device::open(args, work.device.as_deref(), work.robust, files, wanted, skipped)
}

/// Builds what the files need; exit status 1 if not all of it is stored then.
fn warm(args: &CacheArgs, files: &[PathBuf], work: &WorkArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    let skipped = Skipped::default();
    let device = open(args, files, work, ahead::Use::Fill, &skipped)?;
    if let Err(reason) = device.is_cacheable() {
        return Err(Stop::wrong(format!("nothing can be stored: {reason}")));
    }
    interrupt::listen();
    let mut warmed = ahead::warm(&device, files, work.jobs);
    ahead::count_kept(&device, files, &mut warmed);
    let skipped = skipped.reasons();
    let status = match warmed.status() {
        Status::Success if !skipped.is_empty() => Status::Different,
        status => status,
    };
    if args.json {
        let skipped: Vec<_> =
            skipped.iter().map(|(reason, writes)| json!({ "reason": reason, "writes": writes })).collect();
        print_json(out, &json!({ "format": FORMAT, "files": warmed.files, "not_written": skipped }))?;
        return Ok(status);
    }
    let mut table =
        Table::new(&["file", "lists", "dispatches", "built", "stored before", "stored now", "driver blobs"]);
    for file in &warmed.files {
        let numbers = [file.lists, file.dispatches, file.built, file.stored, file.kept, file.driver_blobs];
        table.row([file.file.clone()].into_iter().chain(numbers.map(|number| number.to_string())));
    }
    table.print(out)?;
    out.flush()?;
    errors(&warmed, &mut std::io::stderr())?;
    let lost: usize = warmed.files.iter().map(ahead::Warmed::lost).sum();
    if lost > 0 {
        writeln!(out, "the code of {lost} dispatches is not stored")?;
    }
    for (reason, writes) in &skipped {
        writeln!(out, "{writes} writes were not done: {reason}")?;
    }
    Ok(status)
}

fn errors(outcome: &ahead::Outcome, out: &mut dyn Write) -> std::io::Result<()> {
    for file in &outcome.files {
        for error in &file.errors {
            // A problem of a pipeline file names the file.
            let is_named = error.starts_with(&format!("{}:", file.file));
            let place = if is_named { String::new() } else { format!("{}: ", file.file) };
            writeln!(out, "error: {place}{error}")?;
        }
    }
    Ok(())
}

fn show(json: bool, entry: EntryInfo, out: &mut dyn Write) -> Result<Status, Stop> {
    let row = EntryRow::new(&entry);
    let parts = listing::parts(&entry);
    if json {
        print_json(out, &json!({ "format": FORMAT, "entry": row, "key": parts }))?;
        return Ok(Status::Success);
    }
    writeln!(out, "{}\n", row.key)?;
    let mut table = Table::new(&["part", "field", "value"]);
    for (part, fields) in &parts {
        for (field, value) in fields {
            table.row([(*part).to_owned(), field.clone(), value.clone()]);
        }
    }
    table.print(out)?;
    let mut table = Table::new(&["section", "bytes"]);
    for (name, bytes) in &row.sections {
        table.row([name.clone(), bytes.to_string()]);
    }
    table.print(out)?;
    let mut table = Table::new(&["driver blob", "bytes", "state"]);
    for blob in &row.blobs {
        let state = blob.defect.clone().unwrap_or_else(|| "sound".to_owned());
        table.row([blob.driver.clone(), blob.bytes.to_string(), state]);
    }
    table.print(out)?;
    Ok(Status::Success)
}

fn stats(json: bool, store: &Store, out: &mut dyn Write) -> Result<Status, Stop> {
    let usage = store.usage();
    let folder = store.path().map(|folder| folder.display().to_string());
    if json {
        let report = json!({
            "format": FORMAT, "path": folder, "entries": usage.entries, "driver_blobs": usage.blobs,
            "bytes": usage.bytes, "limit_bytes": (usage.limit > 0).then_some(usage.limit),
        });
        print_json(out, &report)?;
        return Ok(Status::Success);
    }
    let mut table = Table::new(&["cache", "", ""]);
    table.row(["folder".to_owned(), folder.unwrap_or_else(|| "none".to_owned())]);
    table.row(["entries".to_owned(), usage.entries.to_string()]);
    table.row(["driver blobs".to_owned(), usage.blobs.to_string()]);
    table.row(["bytes".to_owned(), usage.bytes.to_string()]);
    let limit = if usage.limit > 0 { usage.limit.to_string() } else { "none".to_owned() };
    table.row(["limit".to_owned(), limit]);
    table.print(out)?;
    Ok(Status::Success)
}

/// Says what was removed, `None` where there is no store, and what was not. Exit status 1 if more than `to` bytes are left
/// that should have gone; 2 if nothing was removed at all.
fn removed(json: bool, pruned: Option<Pruned>, to: u64, out: &mut dyn Write) -> Result<Status, Stop> {
    let is_there = pruned.is_some();
    let Pruned { files, bytes, left, kept, problem, .. } = pruned.unwrap_or_default();
    let is_complete = left <= to || (kept == 0 && problem.is_none());
    let reason = match problem {
        Some(problem) => problem.to_string(),
        None => "they were used or replaced meanwhile".to_owned(),
    };
    if !is_complete && files == 0 {
        return Err(Stop::wrong(format!("nothing was removed, and {left} bytes are left: {reason}")));
    }
    let status = if is_complete { Status::Success } else { Status::Different };
    if json {
        let report = json!({
            "format": FORMAT, "removed_files": files, "removed_bytes": bytes, "left_bytes": left,
            "complete": is_complete, "kept_files": kept, "problem": problem.map(|problem| problem.to_string()),
        });
        print_json(out, &report)?;
        return Ok(status);
    }
    if !is_there {
        writeln!(out, "there is no cache, and nothing to remove")?;
        return Ok(status);
    }
    writeln!(out, "{files} entries and blobs removed, {bytes} bytes; {left} bytes are left")?;
    if !is_complete {
        writeln!(out, "not all was removed that should have gone ({kept} entries and blobs): {reason}")?;
    }
    Ok(status)
}

fn forgive(
    json: bool,
    store: &Store,
    entry: Option<&EntryInfo>,
    out: &mut dyn Write,
) -> Result<Status, Stop> {
    let forgiven = match store.forgive(entry) {
        Ok(forgiven) => forgiven,
        // There is no store, and so nothing to forgive in it.
        Err(Skip::Disabled) => 0,
        Err(reason) => return Err(Stop::wrong(format!("not everything was forgiven: {reason}"))),
    };
    let died = |entry: &EntryInfo| entry.sections.iter().any(|(name, _)| name == DEATH);
    let mut compiled = 0;
    let all = if entry.is_none() { store.entries(&mut |_| ()) } else { Vec::new() };
    for entry in entry.into_iter().chain(&all).filter(|entry| died(entry)) {
        store
            .remove(entry)
            .map_err(|reason| Stop::wrong(format!("not everything was forgiven: {reason}")))?;
        compiled += 1;
    }
    if json {
        print_json(out, &json!({ "format": FORMAT, "forgiven": forgiven, "forgiven_code": compiled }))?;
    } else {
        writeln!(out, "deaths over the blobs of {forgiven} entries and drivers are forgiven")?;
        if compiled > 0 {
            writeln!(out, "{compiled} modules over which a compiler died may be compiled again")?;
        }
    }
    Ok(Status::Success)
}

/// The one entry whose key starts with these hexadecimal digits.
fn find(store: &Store, key: &str) -> Result<EntryInfo, Stop> {
    let key = key.to_ascii_lowercase();
    let entries = with_bar(|progress| store.entries(progress)).into_iter();
    let mut found: Vec<EntryInfo> = entries.filter(|entry| identity(entry).starts_with(&key)).collect();
    match (found.pop(), found.len()) {
        (Some(entry), 0) => Ok(entry),
        (None, _) => Err(Stop::wrong(format!("the cache has no entry whose key starts with \"{key}\""))),
        (Some(_), more) => {
            Err(Stop::wrong(format!("{} entries have keys that start with \"{key}\"", more + 1)))
        }
    }
}

/// A size as the cache's own settings spell it, such as `512M`.
fn bytes(text: &str) -> Result<u64, Stop> {
    CacheOptions::parse_size(text)
        .map_err(|problem| Stop::wrong(format!("--to: \"{text}\" is not a size: {problem}")))
}

/// The section of an entry that says how a compiler died.
const DEATH: &str = vkfuse::guard::DEATH_SECTION;

/// The parts of a key in the order in which they are shown.
const PARTS: [PartKind; 4] = PartKind::ALL;
