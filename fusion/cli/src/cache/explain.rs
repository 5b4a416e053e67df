//! `vkfuse cache explain`: why a list would be found or not, and what makes two keys different.

use super::ahead::{self, Device, Skipped, Use};
use super::listing::{self, identity};
use crate::args::CacheArgs;
use crate::report::json::FORMAT;
use crate::report::{Table, print_json};
use crate::stop::{Status, Stop};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use vkfuse::{Artifact, Explanation, Tier};
use vkfuse_cache::EntryInfo;

/// Where the code of the lists in a file would come from, and why.
pub(super) fn file(
    args: &CacheArgs,
    file: &Path,
    device: Option<&str>,
    robust: bool,
    out: &mut dyn Write,
) -> Result<Status, Stop> {
    if !file.exists() {
        return Err(Stop::wrong(format!(
            "there is no file {}; to compare two keys, name both",
            file.display()
        )));
    }
    let files = [file.to_owned()];
    let device = Device::open(args, device, robust, &files, Use::Look, &Skipped::default())?;
    let lists = ahead::explain(&device, file)?;
    if args.json {
        let lists: Vec<Vec<Value>> = lists.iter().map(|list| list.iter().map(row).collect()).collect();
        print_json(out, &json!({ "format": FORMAT, "file": file.display().to_string(), "lists": lists }))?;
        return Ok(Status::Success);
    }
    for (number, list) in lists.iter().enumerate() {
        for step in list {
            print(number, step, out)?;
        }
    }
    Ok(Status::Success)
}

fn state(found: &Result<(), String>) -> &str {
    match found {
        Ok(()) => "found",
        Err(reason) => reason,
    }
}

/// Where it was found, unless that is the store itself.
fn place(tier: Tier) -> &'static str {
    match tier {
        Tier::Lower => ", in a lower store",
        Tier::Remote => ", in the remote store",
        _ => "",
    }
}

fn name(artifact: Artifact) -> &'static str {
    match artifact {
        Artifact::Pipeline => "pipeline",
        Artifact::Kernel => "normal form",
        Artifact::Code => "code",
        Artifact::DriverBlob => "driver blob",
        _ => "other",
    }
}

fn row(step: &Explanation) -> Value {
    let ingredients: Vec<Value> = step
        .ingredients
        .iter()
        .map(|(part, name, value)| json!({ "part": part, "name": name, "value": value }))
        .collect();
    let driver: Vec<Value> =
        step.driver.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let nearest = step.nearest.as_ref().map(|(key, differences)| {
        let differences: Vec<Value> = differences
            .iter()
            .map(|d| json!({ "part": d.part, "field": d.name, "wanted": d.wanted, "stored": d.stored }))
            .collect();
        json!({ "key": key, "differences": differences })
    });
    let not_cacheable: Vec<Value> = step
        .not_cacheable
        .iter()
        .map(|(artifact, reason)| json!({ "what": name(*artifact), "reason": reason.to_string() }))
        .collect();
    json!({
        "submissions": *step.members, "kernels": step.label, "key": step.key,
        "levels": {
            "pipeline_in_memory": step.pipeline_in_memory, "code_in_memory": step.pipeline_in_memory,
            "code": step.code.is_ok(), "driver_blob": step.driver_blob.is_ok(),
        },
        "code_tier": step.code_tier.word(), "driver_blob_tier": step.driver_blob_tier.word(),
        "code_miss": step.code.as_ref().err(), "driver_blob_miss": step.driver_blob.as_ref().err(),
        "not_cacheable": not_cacheable, "ingredients": ingredients, "driver": driver, "nearest": nearest,
    })
}

fn print(number: usize, step: &Explanation, out: &mut dyn Write) -> Result<(), Stop> {
    writeln!(out, "list {number}, submissions {}: {}", step.members, step.label)?;
    writeln!(out, "  key          {}", step.key)?;
    let schedule = step.ingredients.iter().find(|(_, name, _)| name == "schedule");
    if let Some((_, _, schedule)) = schedule {
        writeln!(out, "  schedule     {schedule}")?;
    }
    writeln!(out, "  code         {}{}", state(&step.code), place(step.code_tier))?;
    writeln!(out, "  driver blob  {}{}", state(&step.driver_blob), place(step.driver_blob_tier))?;
    for (artifact, reason) in &step.not_cacheable {
        writeln!(out, "  the {} is not kept: {reason}", name(*artifact))?;
    }
    let mut table = Table::new(&["part", "ingredient", "value"]);
    for (part, name, value) in &step.ingredients {
        table.row([(*part).to_owned(), name.clone(), value.clone()]);
    }
    for (name, value) in &step.driver {
        table.row(["driver".to_owned(), name.clone(), value.clone()]);
    }
    table.print(out)?;
    if let Some((key, differences)) = &step.nearest {
        writeln!(out, "nearest entry {key}, {} differences", differences.len())?;
        let mut table = Table::new(&["part", "ingredient", "wanted", "stored"]);
        for d in differences {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
            table.row([d.part.to_owned(), d.name.clone(), value(&d.wanted), value(&d.stored)]);
        }
        table.print(out)?;
    }
    writeln!(out)?;
    Ok(())
}

/// Which ingredients make two keys different.
pub(super) fn keys(
    json: bool,
    entry: &EntryInfo,
    other: &EntryInfo,
    out: &mut dyn Write,
) -> Result<Status, Stop> {
    let differences = match (&entry.key, &other.key) {
        (Some(key), Some(other)) => key.differs(other),
        _ => return Err(Stop::wrong("the key of one of the entries cannot be read")),
    };
    if json {
        let list: Vec<_> = differences.iter().map(listing::difference).collect();
        print_json(
            out,
            &json!({ "format": FORMAT, "keys": [identity(entry), identity(other)], "differences": list }),
        )?;
        return Ok(Status::Success);
    }
    let mut table = Table::new(&["part", "field", "first", "second"]);
    for row in differences.iter().map(listing::difference) {
        let value = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
        table.row([row.part.to_owned(), row.field, value(row.first), value(row.second)]);
    }
    table.print(out)?;
    writeln!(out, "{} differences", differences.len())?;
    Ok(Status::Success)
}
