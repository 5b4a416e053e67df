//! Compile guard: compiles new code in a child process first, so that a crash of the driver's compiler does not end this process.
//!
//! The child is a program that calls [`serve`]: it opens the same device and makes pipelines of the modules that it is sent,
//! until its input ends. One child serves a context until it dies; the next question starts another.
//!
//! # Guarantees
//! - while a guard works, a module reaches the driver of this process only after a driver of the same build has returned from compiling it
//!
//! # Leaves alone
//! - what the driver refuses: then this process asks it as well, and has its own error
//! - a guard that cannot be started, or that sees another device: that is a warning, and code is compiled without it

pub(crate) mod wire;

use std::{
    io::{ErrorKind, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use self::wire::{Answer, Hello};
use crate::{
    error::DeviceError,
    options::{environment::warn_once, guard::CompileGuard},
    vk::{Gpu, GpuOptions, PipelineSource},
};

/// A compiler that takes longer than this is taken for one that never ends.
const PATIENCE: Duration = Duration::from_secs(120);

/// What came of a question.
#[derive(Debug)]
pub(crate) enum Guarded {
    /// The driver came back, with this blob if it keeps anything in one.
    Alive(Option<Vec<u8>>),
    /// It did not: how it ended.
    Died(String),
    /// There is no child process to ask.
    NotAsked,
}

/// Compiles in child processes.
#[derive(Debug)]
pub(crate) struct Guard {
    options: CompileGuard,
    hello: Hello,
    worker: Mutex<Option<Worker>>,
}

/// A child, and what it answers.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Option<Answer>>,
    /// It has not answered in time.
    is_late: bool,
}

impl Guard {
    /// None if there is to be no guard.
    pub(crate) fn new(options: &CompileGuard, gpu: &Gpu) -> Option<Guard> {
        let info = &gpu.caps().info;
        let hello = Hello {
            index: info.index,
            name: info.name.clone(),
            driver_version: info.driver_version,
            robust: gpu.caps().robust,
        };
        options.is_on().then(|| Guard { options: options.clone(), hello, worker: Mutex::new(None) })
    }

    /// Has a child compile this; another one if the first does not come back, which may have been killed for another reason.
    pub(crate) fn ask(&self, source: &PipelineSource<'_>) -> Guarded {
        match self.ask_one(source) {
            Guarded::Died(_) => self.ask_one(source),
            asked => asked,
        }
    }

    fn ask_one(&self, source: &PipelineSource<'_>) -> Guarded {
        let mut worker = self.worker.lock();
        // A child that ended between two questions says nothing about the next one.
        let is_over = worker.as_mut().is_some_and(|old| !matches!(old.child.try_wait(), Ok(None)));
        if is_over {
            *worker = None;
        }
        let asked = match &mut *worker {
            Some(running) => running.ask(source),
            none => match Worker::start(&self.options, &self.hello) {
                Ok(started) => none.insert(started).ask(source),
                Err(problem) => return not_asked(&problem),
            },
        };
        match asked {
            Some(Answer::Made(blob)) => Guarded::Alive((!blob.is_empty()).then_some(blob)),
            Some(Answer::Refused) => Guarded::Alive(None),
            Some(Answer::NotMine(problem)) => {
                *worker = None;
                not_asked(&problem)
            }
            None => match worker.take().map(Worker::end) {
                Some(End { died: true, how }) => Guarded::Died(how),
                Some(End { how, .. }) => not_asked(&how),
                None => Guarded::NotAsked,
            },
        }
    }
}

fn not_asked(problem: &str) -> Guarded {
    warn_once(&format!(
        "code is compiled without the compile guard: {problem}; it has to be the `vkfuse` command, see VKFUSE_COMPILE_GUARD"
    ));
    Guarded::NotAsked
}

impl Worker {
    fn start(options: &CompileGuard, hello: &Hello) -> Result<Worker, String> {
        let (program, args) = options.program.clone().unwrap_or((PathBuf::new(), Vec::new()));
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", program.display());
        let mut child = Command::new(&program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(&error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (tell, answers) = channel();
        let reads = move || {
            let Some(mut output) = output else { return };
            loop {
                let read = Answer::read(&mut output);
                let is_over = read.is_err();
                let answer = match read {
                    Ok(answer) => Some(answer),
                    Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
                    // The output holds something else than answers.
                    Err(error) => Some(Answer::NotMine(error.to_string())),
                };
                if tell.send(answer).is_err() || is_over {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name("vkfuse compile guard".to_owned()).spawn(reads);
        let mut worker = Worker { child, input, answers, is_late: false };
        started.map_err(|error| failed(&error))?;
        if let Err(error) = worker.send(&hello.bytes()) {
            let End { how, .. } = worker.end();
            return Err(failed(&format!("{error}, {how}")));
        }
        // The child is there once it has the device: what it dies of before that is no module's fault.
        match worker.answers.recv_timeout(PATIENCE) {
            Ok(Some(Answer::Made(_))) => Ok(worker),
            Ok(Some(Answer::NotMine(problem))) => Err(problem),
            _ => {
                let End { how, .. } = worker.end();
                Err(failed(&how))
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let input = self.input.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        input.write_all(bytes)?;
        input.flush()
    }

    /// None if it ended instead of answering.
    fn ask(&mut self, source: &PipelineSource<'_>) -> Option<Answer> {
        self.send(&wire::question(source)).ok()?;
        let answer = self.answers.recv_timeout(PATIENCE);
        self.is_late = answer == Err(RecvTimeoutError::Timeout);
        answer.unwrap_or_default()
    }

    /// How it ended; it is made to, if it has not.
    fn end(mut self) -> End {
        drop(self.input.take());
        let late = || End { died: true, how: format!("it took longer than {} s", PATIENCE.as_secs()) };
        if self.is_late {
            return late();
        }
        // A process whose output has ended is about to end itself, which may take a while if its memory is dumped.
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.child.try_wait() {
                // One that ends by itself has lost its device, or was not asked anything.
                return End { died: !status.success(), how: in_words(status) };
            }
            thread::sleep(Duration::from_millis(5));
        }
        late()
    }
}

/// How a child ended.
struct End {
    /// By a signal, or with another status than success.
    died: bool,
    how: String,
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.input.take());
        // Errors say that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn in_words(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.to_string()
}

/// What the child does: answers questions from its standard input on its standard output until there are no more.
///
/// # Errors
///
/// Its input is not what a context sends, or its output is closed.
pub(crate) fn serve(
    input: &mut impl std::io::Read,
    output: &mut impl Write,
    mut looks_at: impl FnMut(&[u32]),
) -> std::io::Result<()> {
    let hello = Hello::read(input)?;
    let opened = open(&hello);
    let answer = match &opened {
        Ok(_) => Answer::Made(Vec::new()),
        Err(problem) => Answer::NotMine(problem.clone()),
    };
    output.write_all(&answer.bytes())?;
    output.flush()?;
    let Ok(gpu) = opened else { return Ok(()) };
    while let Some(question) = wire::Question::read(input)? {
        looks_at(&question.words);
        let answer = match gpu.pipeline(&question.source()) {
            Ok((_, origin)) => Answer::Made(origin.blob.unwrap_or_default()),
            Err(DeviceError::Lost) => return Ok(()),
            Err(_) => Answer::Refused,
        };
        output.write_all(&answer.bytes())?;
        output.flush()?;
    }
    Ok(())
}

fn open(hello: &Hello) -> Result<Gpu, String> {
    let options = GpuOptions {
        device: hello.index.into(),
        max_queues: Some(1),
        robust: hello.robust,
        ..GpuOptions::default()
    };
    let gpu = Gpu::open(&options).map_err(|error| error.to_string())?;
    let info = &gpu.caps().info;
    let is_it = info.name == hello.name && info.driver_version == hello.driver_version;
    let other = || format!("device {} is {} there, and {} here", hello.index, info.name, hello.name);
    if is_it { Ok(gpu) } else { Err(other()) }
}
