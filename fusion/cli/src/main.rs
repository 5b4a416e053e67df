//! The `vkfuse` command: run, check, bench and inspect fusion lists from files.
//!
//! `pipeline` turns a file into a checked model, `session` puts it on a device, `run` and `bench`
//! drive it, `gather` and `outputs` collect what came of it, `report` prints that. Each command is
//! one function in a file of its own; the exit statuses are in `stop`.

mod args;
mod bench;
mod bench_page;
mod cache;
mod capture;
mod check;
mod compare;
mod devices;
mod fuse;
mod gather;
mod inspect;
mod interrupt;
mod limits;
mod manual;
mod null_hardware;
mod outputs;
mod page;
mod pipeline;
mod plan;
mod progress;
mod reasons;
mod report;
mod run;
mod run_page;
mod save;
mod session;
mod stop;

use args::{Color, Command, CommandLine};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use stop::{Status, Stop};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        // A wrong command line ends here, with exit status 2 and clap's message, unless there is a better one.
        Err(error) => match file_as_command(&error)
            .or_else(|| program_without_dashes(&error))
            .or_else(|| option_elsewhere(&error))
        {
            Some(message) => {
                let _ = writeln!(std::io::stderr(), "error: {message}");
                return Status::Wrong.into();
            }
            None => error.exit(),
        },
    };
    log(line.color);
    if matches!(line.command, Command::CompileGuard) {
        // Nothing else may write to its output.
        let served = vkfuse::guard::serve_compile_guard().map_err(Stop::from);
        return served.map_or_else(|stop| stop.status, |()| Status::Success).into();
    }
    let mut out: Box<dyn Write> = match line.quiet && !line.command.is_json() {
        true => Box::new(std::io::sink()),
        false => Box::new(std::io::BufWriter::new(std::io::stdout().lock())),
    };
    if line.quiet {
        progress::be_quiet();
    }
    if let Some(family) = null_hardware::family(&line.command) {
        return null_hardware::run(family).unwrap_or_else(|stop| {
            let _ = writeln!(std::io::stderr(), "error: {}", stop.message);
            stop.status.into()
        });
    }
    let ended = execute(&line.command, &mut *out).map_err(|stop| null_hardware::hint(&line.command, stop));
    let flushed = out.flush().map_err(Stop::from);
    let stop = match (ended, flushed) {
        (Ok(status), Ok(())) => return status.into(),
        (Err(stop), _) | (Ok(_), Err(stop)) => stop,
    };
    if stop.status != Status::Success {
        // There is no way left to report that this fails.
        let _ = writeln!(std::io::stderr(), "error: {}", stop.message);
    }
    stop.status.into()
}

/// What to say where a file stands in the place of the command.
fn file_as_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let path = Path::new(word);
    let command = match path.extension()?.to_str()? {
        "toml" => "run",
        "spv" | "wgsl" => "inspect",
        _ => return None,
    };
    path.is_file().then(|| format!("{word} is a file, and a command is missing: `vkfuse {command} {word}`"))
}

/// What to say where a program does not stand behind `--`.
fn program_without_dashes(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    let command = std::env::args().nth(1).filter(|command| command == "capture" || command == "fuse")?;
    let is_program = error.kind() == ErrorKind::UnknownArgument && !given.starts_with('-');
    is_program.then(|| format!("a program and its arguments stand behind `--`: vkfuse {command} -- {given}"))
}

/// What to say of an option that another command has.
fn option_elsewhere(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let option = given.strip_prefix("--")?;
    let line = CommandLine::command();
    let has = |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(option));
    let names: Vec<String> = line
        .get_subcommands()
        .filter(has)
        .map(|command| format!("`vkfuse {}`", command.get_name()))
        .collect();
    (!names.is_empty()).then(|| format!("{given} is no option here, but one of {}", names.join(", ")))
}

fn execute(command: &Command, out: &mut dyn Write) -> Result<Status, Stop> {
    match command {
        Command::Run(args) => run::run(args, out),
        Command::Plan(args) => plan::plan(args, out),
        Command::Check(args) => check::check(args, out),
        Command::Bench(args) => bench::bench(args, out),
        Command::Inspect(args) => inspect::inspect(args, out),
        Command::Devices(args) => devices::devices(args, out),
        Command::Capture(args) => capture::capture(args, out),
        Command::Fuse(args) => fuse::fuse(args),
        Command::Cache(args) => cache::cache(args, out),
        Command::CompileGuard => Ok(Status::Success),
        Command::Completions { shell } => manual::completions(*shell, out),
        Command::Man { folder } => manual::pages(folder),
    }
}

/// Prints log records on the standard error: those that `VKFUSE_LOG` asks for, warnings otherwise.
fn log(color: Color) {
    let colored = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
        }
    };
    let asked = std::env::var("VKFUSE_LOG").ok().filter(|filter| !filter.is_empty());
    // A filter of one word that is no level names a target, and would silence all others.
    let is_target = |filter: &String| {
        let is_word = filter.chars().all(char::is_alphabetic);
        is_word
            && !filter.starts_with("vkfuse")
            && filter.parse::<tracing::level_filters::LevelFilter>().is_err()
    };
    let (asked, unknown) = match asked {
        Some(filter) if is_target(&filter) => (None, Some(filter)),
        asked => (asked, None),
    };
    let parsed = asked.as_deref().map(EnvFilter::try_new);
    let subscriber = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(colored);
    match parsed {
        Some(Ok(filter)) => subscriber.with_env_filter(filter).init(),
        wrong => {
            subscriber
                // What is odd about a request or a list the command says itself, with its place in the file.
                .with_env_filter(EnvFilter::new("vkfuse=warn,vkfuse::request=off,vkfuse::notes=off"))
                .without_time()
                .with_target(false)
                .init();
            if let Some(Err(error)) = wrong {
                tracing::warn!("VKFUSE_LOG is left out: {error}; vkfuse=debug is an example");
            }
            if let Some(word) = unknown {
                tracing::warn!(
                    "VKFUSE_LOG is left out: {word} is no level (error, warn, info, debug, trace, off); vkfuse=debug is an example"
                );
            }
        }
    }
}
