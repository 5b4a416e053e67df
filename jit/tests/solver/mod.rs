//! A solver program as the checker of certificates. Equal questions are asked once.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use vkfuse_jit::certify::{Answer, Question, Solver};

/// Milliseconds for one question.
const PATIENCE: u32 = 20_000;

/// A running `z3`, or what `VKFUSE_SOLVER` names: a program that reads SMT-LIB 2 from its input.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    known: HashMap<String, Answer>,
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
        Some(Self { child, input, output, known: HashMap::new(), asked: 0, time: Duration::ZERO })
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
        let head = format!("(reset)\n(set-option :timeout {PATIENCE})\n");
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
        if let Some(known) = self.known.get(&question.text) {
            return known.clone();
        }
        let start = Instant::now();
        let answer = self.answer(question).expect("the solver runs");
        self.time += start.elapsed();
        self.asked += 1;
        self.known.insert(question.text.clone(), answer.clone());
        answer
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
