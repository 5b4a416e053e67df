//! A long run over a folder: each file in a process of its own, with a limit on the time without a result, a line for each file, and a
//! table.
//!
//! A process for each file bounds what drivers keep, and costs one file where a driver dies or does not end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use super::compare::{Class, short};
use super::worker::{FILE, Said, UNKNOWN};
use super::{kernels, number};

/// Lists that are not equal and whose names are printed.
const NAMED: usize = 30;

/// What the lists of some files came to.
#[derive(Default)]
struct Row {
    files: usize,
    /// Files with a list that was compared.
    compared: usize,
    classes: BTreeMap<Class, usize>,
    fused: usize,
    skipped: usize,
    wrong: usize,
}

impl Row {
    fn add(&mut self, file: &Outcome) {
        self.files += 1;
        self.compared += usize::from(!file.classes.is_empty());
        for (class, fused, _) in &file.classes {
            *self.classes.entry(*class).or_default() += 1;
            self.fused += usize::from(*fused);
        }
        self.skipped += file.skipped.len();
        self.wrong += file.wrong.len();
    }
}

/// What the lists of one file came to.
#[derive(Default)]
struct Outcome {
    /// With whether some was fused, and the list's name.
    classes: Vec<(Class, bool, String)>,
    skipped: Vec<String>,
    wrong: Vec<String>,
}

/// All of a run.
#[derive(Default)]
struct Table {
    rows: BTreeMap<String, Row>,
    reasons: BTreeMap<&'static str, BTreeMap<String, usize>>,
    named: Vec<String>,
    wrong: Vec<String>,
}

/// The kind of reason why a list is not compared.
fn kind(why: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| why.contains(word));
    match why {
        _ if has(&["image", "texel", "sampler", "no buffer"]) => "images, samplers, texels",
        _ if has(&["device addresses"]) => "addresses",
        _ if has(&["capability", "feature", "extension", "sub-group", "shared memory are over"]) => {
            "the device or the tools lack what the module declares"
        }
        _ if has(&[
            "invocations race",
            "out of bounds",
            "uninitialised",
            "other findings",
            "a megabyte",
            "writes nothing",
        ]) =>
        {
            "no arguments found"
        }
        _ if has(&["instructions", "too long", "takes at most"]) => "too long",
        _ if has(&["interpret"]) => "not interpreted",
        _ => "other",
    }
}

/// The files that are compared: of equal ones the first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut known = std::collections::HashSet::new();
    let mut found = kernels::files(folder, &["spv", "wgsl", "toml"]);
    found.retain(|path| std::fs::read(path).is_ok_and(|bytes| known.insert(bytes)));
    found
}

/// Compares the files of a folder, prints a table, and returns what is unexplained.
pub(crate) fn compare(folder: &Path) -> Vec<String> {
    let files = files(folder);
    let (table, next) = (Mutex::new(Table::default()), AtomicUsize::new(0));
    let work = || {
        while let Some(path) = files.get(next.fetch_add(1, Relaxed)) {
            let outcome = outcome(path);
            let mut table = table.lock().unwrap();
            let name = path.strip_prefix(folder).unwrap_or(path);
            table.add(name, outcome, files.len());
        }
    };
    std::thread::scope(|scope| {
        (0..number("VKFUSE_ORACLE_JOBS", 1)).for_each(|_| drop(scope.spawn(work)));
    });
    let table = table.into_inner().unwrap();
    println!("{}", table.text());
    table.wrong
}

impl Table {
    fn add(&mut self, name: &Path, file: Outcome, of: usize) {
        let mut parts = name.components();
        let first = parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let row = match parts.next() {
            Some(_) => first.unwrap_or_default(),
            None => ".".to_owned(),
        };
        self.rows.entry(row).or_default().add(&file);
        let done: usize = self.rows.values().map(|row| row.files).sum();
        let mut classes = BTreeMap::<Class, usize>::new();
        file.classes.iter().for_each(|(class, ..)| *classes.entry(*class).or_default() += 1);
        let mut line = format!("{done}/{of} {}:", name.display());
        for (class, count) in &classes {
            let _ = write!(line, " {count} {class:?}");
        }
        for why in &file.skipped {
            *self.reasons.entry(kind(why)).or_default().entry(short(why)).or_default() += 1;
            let _ = write!(line, " skipped ({})", short(why));
        }
        for what in &file.wrong {
            let _ = write!(line, " UNEXPLAINED ({what})");
            self.wrong.push(format!("{}: {what}", name.display()));
        }
        println!("{line}");
        let others = file.classes.into_iter().filter(|(class, ..)| *class != Class::Equal);
        let room = NAMED.saturating_sub(self.named.len());
        self.named.extend(
            others.take(room).map(|(class, _, list)| format!("{class:?}: {}, {list}", name.display())),
        );
    }

    fn text(&self) -> String {
        let mut text = "\n| folder | files | with a comparison | lists compared | equal | other NaN | strict floats | closed forms | some fused | skipped | unexplained |\n".to_owned();
        text += &format!("|{}\n", " --- |".repeat(11));
        let mut all = Row::default();
        for (name, row) in &self.rows {
            text += &line(name, row);
            all.files += row.files;
            all.compared += row.compared;
            row.classes.iter().for_each(|(class, count)| *all.classes.entry(*class).or_default() += count);
            all.fused += row.fused;
            all.skipped += row.skipped;
            all.wrong += row.wrong;
        }
        text += &line("all", &all);
        text += "\n| skipped | reason |\n| --- | --- |\n";
        for (kind, reasons) in &self.reasons {
            text += &format!("| {} | {kind} |\n", reasons.values().sum::<usize>());
        }
        for (kind, reasons) in &self.reasons {
            reasons.iter().for_each(|(why, count)| text += &format!("\n{kind}: {count} {why}"));
        }
        self.named.iter().for_each(|name| text += &format!("\n{name}"));
        text
    }
}

fn line(name: &str, row: &Row) -> String {
    let of = |class: Class| row.classes.get(&class).copied().unwrap_or(0);
    let [equal, nan, strict, closed] =
        [Class::Equal, Class::OtherNan, Class::StrictFloats, Class::ClosedForms].map(of);
    let Row { files, compared, classes, fused, skipped, wrong } = row;
    let lists: usize = classes.values().sum();
    format!(
        "| {name} | {files} | {compared} | {lists} | {equal} | {nan} | {strict} | {closed} | {fused} | {skipped} | {wrong} |\n"
    )
}

/// Compares one file in a process of its own.
fn outcome(path: &Path) -> Outcome {
    let limit = Duration::from_secs(number("VKFUSE_ORACLE_SECONDS", 60) as u64);
    let own = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(own)
        .args(["--exact", "worker", "--nocapture"])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let (send, heard) = mpsc::channel();
    let lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let reader = std::thread::spawn(move || {
        for line in lines.split(b'\n').map_while(Result::ok) {
            if let Some(said) = Said::read(&String::from_utf8_lossy(&line))
                && send.send(said).is_err()
            {
                return;
            }
        }
    });
    let mut errors = child.stderr.take().expect("a pipe");
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = errors.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut outcome = Outcome::default();
    let mut list = String::new();
    let ended = loop {
        match heard.recv_timeout(limit) {
            Ok(Said::Begins(name)) => list = name,
            Ok(Said::Is(class, fused)) => outcome.classes.push((class, fused, list.clone())),
            Ok(Said::Skipped(why)) => outcome.skipped.push(why),
            Ok(Said::Wrong(what)) => outcome.wrong.push(format!("{list}: {what}")),
            Ok(Said::Done) => break None,
            Err(mpsc::RecvTimeoutError::Timeout) => break Some(format!("too long: {}", stage(&list))),
            Err(mpsc::RecvTimeoutError::Disconnected) => break Some("died".to_owned()),
        }
    };
    let status = stop(&mut child);
    let (_, errors) = (reader.join(), errors.join().unwrap_or_default());
    match ended {
        None => {}
        Some(why) if why == "died" && list.ends_with(UNKNOWN) => {
            outcome.skipped.push("not interpreted, and the process died".to_owned());
        }
        Some(why) if why == "died" => {
            let last = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
            outcome.wrong.push(format!("{list}: the process died, {status}: {last}"));
        }
        Some(why) => outcome.skipped.push(why),
    }
    outcome
}

/// What takes so long.
fn stage(list: &str) -> &'static str {
    if list.ends_with(", arguments") { "the interpreter" } else { "the driver" }
}

/// Ends a process, if it has not ended, and says how.
fn stop(child: &mut Child) -> String {
    let ended = child.try_wait().ok().flatten();
    let _ = child.kill();
    let status = ended.or(child.wait().ok());
    status.map_or_else(String::new, |status| status.to_string())
}

#[test]
fn what_processes_say_is_read() {
    let all = [
        Said::Begins("a list".to_owned()),
        Said::Is(Class::OtherNan, true),
        Said::Skipped("why".to_owned()),
        Said::Wrong("what".to_owned()),
        Said::Done,
    ];
    all.iter().for_each(|said| assert_eq!(Said::read(&said.to_string()).as_ref(), Some(said)));
    assert_eq!(Said::read("test worker ... ok"), None);
}
