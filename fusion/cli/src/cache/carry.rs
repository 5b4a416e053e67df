//! `vkfuse cache export`, `import` and `rm`: entries in a file for another machine, and single ones removed.

use super::{find, identity, with_bar};
use crate::progress::Bar;
use crate::report::json::FORMAT;
use crate::report::print_json;
use crate::stop::{Status, Stop};
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use vkfuse_cache::{Exported, Imported, PackError, Store};

/// Writes entries into a file: those with these keys, or all. The file appears when it is whole.
pub(super) fn export(
    as_json: bool,
    store: &Store,
    file: &Path,
    keys: &[String],
    driver_blobs: bool,
    out: &mut dyn Write,
) -> Result<Status, Stop> {
    let wanted = keys.iter().map(|key| find(store, key)).collect::<Result<Vec<_>, _>>()?;
    let wanted: Vec<_> = wanted.iter().filter_map(vkfuse_cache::EntryInfo::id).collect();
    let failed = |error: std::io::Error| Stop::wrong(format!("{}: {error}", file.display()));
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let mut to = BufWriter::new(File::create(&part).map_err(failed)?);
    let is_wanted = |id: &vkfuse_cache::KeyId| keys.is_empty() || wanted.contains(id);
    let exported = with_bar(|progress| store.export(&mut to, driver_blobs, is_wanted, progress));
    let renamed = exported.and_then(|done| std::fs::rename(&part, file).map(|()| done));
    let Exported { entries, blobs, bytes, left_out, .. } = renamed.map_err(|error| {
        // What was begun is of no use to anybody.
        let _ = std::fs::remove_file(&part);
        failed(error)
    })?;
    let status = if left_out == 0 { Status::Success } else { Status::Different };
    if as_json {
        let report = json!({
            "format": FORMAT, "file": file.display().to_string(), "entries": entries, "driver_blobs": blobs,
            "bytes": bytes, "left_out": left_out,
        });
        print_json(out, &report)?;
        return Ok(status);
    }
    writeln!(out, "{entries} entries and {blobs} driver blobs written, {bytes} bytes")?;
    if left_out > 0 {
        writeln!(out, "{left_out} left out: damaged, or removed meanwhile")?;
    }
    Ok(status)
}

/// Stores what is in a file; exit status 1 if not all of it is stored.
pub(super) fn import(
    as_json: bool,
    store: &Store,
    file: &Path,
    driver_blobs: bool,
    out: &mut dyn Write,
) -> Result<Status, Stop> {
    let failed = |error: &dyn std::fmt::Display| Stop::wrong(format!("{}: {error}", file.display()));
    if !vkfuse::module::is_validated() {
        return Err(failed(
            &"nothing is imported without spirv-val, which says whether it is valid: install SPIRV-Tools",
        ));
    }
    let mut from = BufReader::new(File::open(file).map_err(|error| failed(&error))?);
    let bar = Bar::new("entries", 0);
    let mut approvals = 0;
    let mut is_taken = |entry: &vkfuse_cache::Entry| {
        let is_approval = vkfuse::cache::is_approval(entry);
        approvals += u64::from(is_approval);
        !is_approval && vkfuse::cache::is_valid_entry(entry)
    };
    let result = store.import(&mut from, driver_blobs, &mut is_taken, &mut |entries| {
        let entries = usize::try_from(entries).unwrap_or(usize::MAX);
        bar.at(entries, entries);
    });
    drop(bar);
    let (done, problem) = match result {
        Ok(done) => (done, None),
        Err((error @ (PackError::NotAPack | PackError::Disabled), _)) => return Err(failed(&error)),
        Err((error, done)) => (done, Some(error.to_string())),
    };
    let Imported {
        entries, blobs, blobs_left_out, damaged, refused: invalid, skipped, problem: refused, ..
    } = done;
    let invalid = invalid - approvals;
    let is_complete = problem.is_none() && damaged == 0 && invalid == 0 && skipped == 0;
    let status = if is_complete { Status::Success } else { Status::Different };
    if as_json {
        let report = json!({
            "format": FORMAT, "file": file.display().to_string(), "entries": entries, "driver_blobs": blobs,
            "driver_blobs_left_out": blobs_left_out, "damaged": damaged, "invalid": invalid, "approvals_left_out": approvals, "not_written": skipped,
            "reason": refused.map(|refused| refused.to_string()), "problem": problem, "complete": is_complete,
        });
        print_json(out, &report)?;
        return Ok(status);
    }
    writeln!(out, "{entries} entries and {blobs} driver blobs stored")?;
    if blobs_left_out > 0 {
        writeln!(
            out,
            "{blobs_left_out} driver blobs left out: --driver-blobs takes them, from whom you trust"
        )?;
    }
    if approvals > 0 {
        writeln!(
            out,
            "{approvals} approvals of modules left out: modules are validated where they are used"
        )?;
    }
    if damaged > 0 {
        writeln!(out, "{damaged} records are damaged")?;
    }
    if invalid > 0 {
        writeln!(out, "{invalid} records hold modules that spirv-val does not accept, and were left out")?;
    }
    if let Some(refused) = refused {
        writeln!(out, "{skipped} records were not stored: {refused}")?;
    }
    if let Some(problem) = problem {
        writeln!(out, "{}: {problem}", file.display())?;
    }
    Ok(status)
}

/// Removes the entries with these keys; exit status 1 if one of them is still there.
pub(super) fn remove(
    as_json: bool,
    store: &Store,
    keys: &[String],
    out: &mut dyn Write,
) -> Result<Status, Stop> {
    // All of them are looked for before the first is removed.
    let entries = keys.iter().map(|key| find(store, key)).collect::<Result<Vec<_>, _>>()?;
    let (mut removed, mut bytes, mut kept) = (Vec::new(), 0, Vec::new());
    for entry in &entries {
        match store.remove(entry) {
            Ok(freed) => {
                removed.push(identity(entry));
                bytes += freed;
            }
            Err(reason) => kept.push((identity(entry), reason.to_string())),
        }
    }
    let status = if kept.is_empty() { Status::Success } else { Status::Different };
    if as_json {
        let kept: Vec<_> = kept.iter().map(|(key, reason)| json!({ "key": key, "reason": reason })).collect();
        let report = json!({ "format": FORMAT, "removed": removed, "removed_bytes": bytes, "kept": kept });
        print_json(out, &report)?;
        return Ok(status);
    }
    writeln!(out, "{} entries removed, {bytes} bytes", removed.len())?;
    for (key, reason) in &kept {
        writeln!(out, "{key} is still there: {reason}")?;
    }
    Ok(status)
}

/// Makes a key for signing.
#[cfg(feature = "remote")]
pub(super) fn keygen(as_json: bool, file: &Path, out: &mut dyn Write) -> Result<Status, Stop> {
    let public = vkfuse_cache::generate_signing_key(file).map_err(|error| Stop::wrong(error.to_string()))?;
    if as_json {
        print_json(out, &json!({ "format": FORMAT, "file": file.display().to_string(), "public": public }))?;
    } else {
        writeln!(out, "{public}")?;
    }
    Ok(Status::Success)
}
