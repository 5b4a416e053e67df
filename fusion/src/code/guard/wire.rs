//! What a context and its compile guard say to each other: numbers of 32 bits in the machine's order, and runs of bytes behind their
//! lengths. Both are of one build, which the first number says.

use std::io::{Error, ErrorKind, Read, Result};

use crate::{
    jit::SetBinding,
    vk::{BindingKind, PipelineSource},
};

/// First word of a context; to be raised with any change of this file.
const MAGIC: u32 = 0x766b_6701;

/// Longer than anything that is sent.
const MOST_BYTES: usize = 1 << 30;

/// Which device the context is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) driver_version: u32,
    /// Whether robust buffer access is on, which changes what drivers make of code.
    pub(crate) robust: bool,
}

/// A pipeline that is to be made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) words: Vec<u32>,
    bindings: Vec<(SetBinding, BindingKind)>,
    push_bytes: u32,
    subgroups: bool,
    lanes: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It was made, with this blob.
    Made(Vec<u8>),
    /// The driver does not take it.
    Refused,
    /// The child cannot say anything about this device.
    NotMine(String),
}

impl Hello {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, MAGIC);
        put(&mut out, self.index as u32);
        put(&mut out, self.driver_version);
        put(&mut out, u32::from(self.robust));
        put_bytes(&mut out, self.name.as_bytes());
        out
    }

    pub(crate) fn read(from: &mut impl Read) -> Result<Hello> {
        if get(from)? != MAGIC {
            return Err(Error::new(ErrorKind::InvalidData, "this is not what a context of this build sends"));
        }
        let (index, driver_version, robust) = (get(from)? as usize, get(from)?, get(from)? != 0);
        let name = String::from_utf8_lossy(&get_bytes(from)?).into_owned();
        Ok(Hello { index, name, driver_version, robust })
    }
}

/// The bytes of a question. The entry point of all code is `main`.
pub(crate) fn question(source: &PipelineSource<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let words: Vec<u8> = source.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    put_bytes(&mut out, &words);
    put(&mut out, source.push_bytes);
    put(&mut out, u32::from(source.subgroups));
    put(&mut out, source.lanes.unwrap_or(0));
    put(&mut out, source.bindings.len() as u32);
    for (at, kind) in source.bindings {
        put(&mut out, at.set);
        put(&mut out, at.binding);
        put(&mut out, at.element);
        put(&mut out, kind.number());
    }
    out
}

impl Question {
    /// None where there are no more.
    pub(crate) fn read(from: &mut impl Read) -> Result<Option<Question>> {
        let words = match get_bytes(from) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            words => words?,
        };
        let (words, _) = words.as_chunks::<4>();
        let words = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let (push_bytes, subgroups) = (get(from)?, get(from)? != 0);
        let lanes = Some(get(from)?).filter(|&lanes| lanes > 0);
        let count = get(from)?;
        let mut bindings = Vec::new();
        for _ in 0..count {
            let at = SetBinding { set: get(from)?, binding: get(from)?, element: get(from)? };
            let kind = BindingKind::of_number(get(from)?);
            bindings.push((at, kind.ok_or_else(|| Error::new(ErrorKind::InvalidData, "a kind of binding"))?));
        }
        Ok(Some(Question { words, bindings, push_bytes, subgroups, lanes }))
    }

    pub(crate) fn source(&self) -> PipelineSource<'_> {
        PipelineSource {
            words: &self.words,
            entry: c"main",
            bindings: &self.bindings,
            push_bytes: self.push_bytes,
            // Nothing is dispatched.
            push_buffer: 0,
            subgroups: self.subgroups,
            lanes: self.lanes,
            statistics: false,
            blob: None,
        }
    }
}

impl Answer {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (kind, bytes) = match self {
            Answer::Made(blob) => (1, &blob[..]),
            Answer::Refused => (2, &[][..]),
            Answer::NotMine(problem) => (3, problem.as_bytes()),
        };
        let mut out = Vec::new();
        put(&mut out, kind);
        put_bytes(&mut out, bytes);
        out
    }

    pub(crate) fn read(from: &mut impl Read) -> Result<Answer> {
        let (kind, bytes) = (get(from)?, get_bytes(from)?);
        match kind {
            1 => Ok(Answer::Made(bytes)),
            2 => Ok(Answer::Refused),
            3 => Ok(Answer::NotMine(String::from_utf8_lossy(&bytes).into_owned())),
            _ => Err(Error::new(ErrorKind::InvalidData, "an answer of another kind")),
        }
    }
}

fn put(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

fn get(from: &mut impl Read) -> Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn get_bytes(from: &mut impl Read) -> Result<Vec<u8>> {
    let length = get(from)? as usize;
    if length > MOST_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "a length that nothing has"));
    }
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_what_is_read() {
        let hello = Hello { index: 3, name: "a device".to_owned(), driver_version: 7, robust: true };
        assert_eq!(Hello::read(&mut &hello.bytes()[..]).ok(), Some(hello.clone()));
        assert!(Hello::read(&mut &hello.bytes()[1..]).is_err());
        let binding = |binding| SetBinding { set: 1, binding, element: binding / 4 };
        let bindings = [(binding(2), BindingKind::Uniform), (binding(4), BindingKind::Sampler)];
        let words = [1, 2, 3];
        let source = PipelineSource {
            words: &words,
            entry: c"main",
            bindings: &bindings,
            push_bytes: 12,
            push_buffer: 0,
            subgroups: true,
            lanes: Some(16),
            statistics: false,
            blob: None,
        };
        let bytes = question(&source);
        let read = Question::read(&mut &bytes[..]).ok().flatten();
        let asked = Question {
            words: words.to_vec(),
            bindings: bindings.to_vec(),
            push_bytes: 12,
            subgroups: true,
            lanes: Some(16),
        };
        assert_eq!(read, Some(asked));
        assert!(matches!(Question::read(&mut &[][..]), Ok(None)));
        assert!(Question::read(&mut &bytes[..bytes.len() - 1]).is_err());
        for answer in [Answer::Made(vec![1, 2]), Answer::Refused, Answer::NotMine("another".to_owned())] {
            assert_eq!(Answer::read(&mut &answer.bytes()[..]).ok(), Some(answer));
        }
    }
}
