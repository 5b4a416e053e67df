//! A solver program as the checker of certificates. Equal questions are asked once in a process.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use vkfuse_jit::certify::{Answer, Question, Solver};

/// Milliseconds for one question.
const PATIENCE: u32 = 20_000;

/// What was answered to questions, by their hash: the texts of a long run would fill the memory.
static KNOWN: Mutex<Option<HashMap<[u8; 32], Answer>>> = Mutex::new(None);

/// A running `z3`, or what `VKFUSE_SOLVER` names: a program that reads SMT-LIB 2 from its input.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// From then on nothing is asked, and no answer says anything.
    pub(crate) until: Option<Instant>,
    /// Questions that were asked, and the time they took.
    pub(crate) asked: u64,
    pub(crate) time: Duration,
}

impl Process {
    /// Starts the solver; nothing if there is none, which fails where `VKFUSE_REQUIRE_SOLVER` is set.
    pub(crate) fn start() -> Option<Self> {
        let name = std::env::var("VKFUSE_SOLVER").unwrap_or_else(|_| "z3 -in -smt2".to_owned());
        let mut words = name.split_whitespace();
        let started = Command::new(words.next().unwrap_or("z3"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var_os("VKFUSE_REQUIRE_SOLVER").is_none(), "{name}: {error}");
                println!("SKIPPED: {name}: {error}");
                return None;
            }
        };
        let input = child.stdin.take()?;
        let output = BufReader::new(child.stdout.take()?);
        Some(Self { child, input, output, until: None, asked: 0, time: Duration::ZERO })
    }

    /// What the solver prints to some commands.
    fn exchange(&mut self, commands: &str) -> std::io::Result<Vec<String>> {
        self.input.write_all(commands.as_bytes())?;
        self.input.write_all(b"(echo \"done\")\n")?;
        self.input.flush()?;
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(std::io::Error::other("the solver ended"));
            }
            let line = line.trim_end().to_owned();
            if line == "done" || line == "\"done\"" {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    fn answer(&mut self, question: &Question) -> std::io::Result<Answer> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()).as_millis());
        let patience = left.map_or(PATIENCE, |left| PATIENCE.min(left.try_into().unwrap_or(u32::MAX)));
        if patience == 0 {
            return Ok(Answer::Unknown("no time left".to_owned()));
        }
        let head = format!("(reset)\n(set-option :timeout {patience})\n");
        let lines = self.exchange(&format!("{head}{}(check-sat)\n", question.text))?;
        Ok(match lines.last().map(String::as_str) {
            Some("unsat") if lines.len() == 1 => Answer::Never,
            Some("sat") if lines.len() == 1 => {
                let names: Vec<String> = (0..question.symbols.len()).map(|n| format!("s{n}")).collect();
                if names.is_empty() {
                    return Ok(Answer::Possible(Vec::new()));
                }
                let lines = self.exchange(&format!("(get-value ({}))\n", names.join(" ")))?;
                Answer::Possible(values(&lines.join(" ")))
            }
            Some("unknown") if lines.len() == 1 => Answer::Unknown("no answer in time".to_owned()),
            _ => panic!("the solver does not understand: {lines:?}\n{}", question.text),
        })
    }
}

/// `((s0 #x0001) (s1 true))` as pairs; words as decimal numbers.
fn values(text: &str) -> Vec<(String, String)> {
    let flat = text.replace(['(', ')'], " ");
    let words: Vec<&str> = flat.split_whitespace().collect();
    let number = |word: &str| {
        let (digits, radix) = match (word.strip_prefix("#x"), word.strip_prefix("#b")) {
            (Some(digits), _) => (digits, 16),
            (_, Some(digits)) => (digits, 2),
            _ => return word.to_owned(),
        };
        u64::from_str_radix(digits, radix).map_or_else(|_| word.to_owned(), |n| n.to_string())
    };
    words.chunks_exact(2).map(|pair| (pair[0].to_owned(), number(pair[1]))).collect()
}

impl Solver for Process {
    fn ask(&mut self, question: &Question) -> Answer {
        let name = *blake3::hash(question.text.as_bytes()).as_bytes();
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known().as_ref().and_then(|known| known.get(&name)) {
            return answer.clone();
        }
        let start = Instant::now();
        let answer = self.answer(question).expect("the solver runs");
        self.time += start.elapsed();
        self.asked += 1;
        // In less time a question may stay open that has an answer.
        if self.until.is_none() || !matches!(answer, Answer::Unknown(_)) {
            known().get_or_insert_default().insert(name, answer.clone());
        }
        answer
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
