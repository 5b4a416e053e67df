//! Push constants of a submission: typed numbers at their natural alignment, or
//! bytes in hexadecimal.

use super::element::{ElementType, Scalar};
use super::node::Node;
use super::problem::Problem;
use smallvec::SmallVec;

/// More than any device has; keeps a slip of the keyboard from becoming megabytes.
const LIMIT: usize = 64 * 1024;

/// Push constants as they are given.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) bytes: SmallVec<[u8; 32]>,
    /// The numbers among them whose types are given, by their offsets.
    pub(crate) typed: Vec<(usize, ElementType)>,
}

/// Reads `push`: an array of `{ TYPE = VALUE }`, or `{ hex = "…" }`. An element of the array
/// may be `{ hex = "…" }` too: its bytes follow without padding.
pub(crate) fn read(node: &Node<'_>) -> Result<Given, Problem> {
    const WANTED: &str = "an array of typed numbers, [{ u32 = 64 }], or { hex = \"…\" }";
    let mut given = Given::default();
    if is_hex(node) {
        append_hex(node, &mut given.bytes)?;
    } else {
        for element in node.array(WANTED)? {
            append(&element, &mut given)?;
        }
    }
    let bytes = given.bytes.len();
    if bytes > LIMIT {
        return Err(node.problem(format!("{bytes} bytes of push constants, at most {LIMIT} are accepted")));
    }
    Ok(given)
}

fn is_hex(node: &Node<'_>) -> bool {
    node.value().as_table().is_some_and(|table| table.contains_key("hex"))
}

fn append(node: &Node<'_>, given: &mut Given) -> Result<(), Problem> {
    let bytes = &mut given.bytes;
    if is_hex(node) {
        return append_hex(node, bytes);
    }
    match Scalar::read(node, false)? {
        Scalar::Number(ty, element) => {
            bytes.resize(bytes.len().next_multiple_of(ty.size()), 0);
            given.typed.push((bytes.len(), ty));
            bytes.extend_from_slice(&element);
        }
        Scalar::Bool(_) => return Err(node.expected("a number")),
    }
    Ok(())
}

fn append_hex(node: &Node<'_>, bytes: &mut SmallVec<[u8; 32]>) -> Result<(), Problem> {
    let hex = node.table(&["hex"])?.require("hex")?;
    let text = hex.string()?;
    let mut digits = Vec::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_ascii_whitespace() && *c != '_') {
        match c.to_digit(16) {
            Some(digit) => digits.push(digit as u8),
            None => {
                let prefix = if text.trim_start().starts_with("0x") { "; leave out 0x" } else { "" };
                return Err(hex.problem(format!("{c:?} is not a hexadecimal digit{prefix}")));
            }
        }
    }
    if digits.len() % 2 != 0 {
        return Err(hex.problem(format!("{} hexadecimal digits do not make whole bytes", digits.len())));
    }
    bytes.extend(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    Ok(())
}

/// The typed numbers of `spec`, sized like the constants they replace.
pub(crate) fn bits(ty: ElementType, element: &[u8]) -> u64 {
    let mut wide = [0; 8];
    let size = ty.size().min(element.len());
    wide[..size].copy_from_slice(&element[..size]);
    u64::from_le_bytes(wide)
}
