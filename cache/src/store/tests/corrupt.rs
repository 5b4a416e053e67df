//! Damaged files: every truncation, every bit of a header, foreign and swapped contents.
//!
//! All of it must be a miss with a reason, and the next put must heal it.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use crate::container::{HEADER, TRAILER};
use crate::store::Store;
use crate::store::tests::{Yard, driver, key, payload};
use crate::{Entry, Miss};

struct Patient {
    yard: Yard,
    store: Store,
    entry: Entry,
}

impl Patient {
    fn new() -> Patient {
        let yard = Yard::new();
        let store = yard.open();
        let patient = Patient { yard, store, entry: payload(1, 300) };
        patient.heal();
        patient
    }

    fn heal(&self) {
        assert!(self.store.put(&key(1), &self.entry).is_published());
        let blob = self.store.put_blob(&key(1), &driver(1), &[5; 200]);
        assert!(blob.is_published(), "{blob:?}");
        assert_eq!(self.store.get(&key(1)), Ok(self.entry.clone()));
    }

    fn path(&self, end: &str) -> PathBuf {
        self.yard.files(end).remove(0)
    }

    /// Checks that a file with these contents is refused. Returns the reason.
    fn refuse(&self, end: &str, contents: &[u8], what: &str) -> Miss {
        fs::write(self.path(end), contents).unwrap();
        self.refused(end, what)
    }

    fn refused(&self, end: &str, what: &str) -> Miss {
        let result = match end {
            ".blob" => self.store.begin_load(&key(1), &driver(1)).err(),
            _ => self.store.get(&key(1)).err(),
        };
        let miss = result.unwrap_or_else(|| panic!("{end} accepted: {what}"));
        assert!(miss.is_defect(), "{end}: {miss} after {what}");
        self.heal();
        miss
    }
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

#[test]
fn refuses_and_heals_every_damage() {
    let long = std::env::var_os("VKFUSE_LONG_TESTS").is_some();
    let patient = Patient::new();
    let mut damages = 0;
    for end in [".bin", ".src", ".blob"] {
        let sound = fs::read(patient.path(end)).unwrap();
        let step = if long { 1 } else { 3 };
        for length in (0..HEADER + 64).step_by(step).chain([sound.len() - 1]) {
            let miss = patient.refuse(end, &sound[..length], "truncation");
            assert!(matches!(miss, Miss::Length { .. }), "{miss}");
            damages += 1;
        }
        for bit in (0..HEADER * 8).step_by(step) {
            let miss = patient.refuse(end, &flipped(&sound, bit), "a bit of the header");
            match bit / 8 {
                0..8 => assert_eq!(miss, Miss::Magic),
                8..12 => assert!(matches!(miss, Miss::Version { .. })),
                16..24 => assert!(matches!(miss, Miss::Length { .. })),
                _ => assert_eq!(miss, Miss::Checksum),
            }
            damages += 1;
        }
        let flips = if long { 10_000 } else { 300 };
        for index in 0..flips {
            let bits = (sound.len() - HEADER) * 8;
            let bit = HEADER * 8 + (index * 7919) % bits;
            assert_eq!(patient.refuse(end, &flipped(&sound, bit), "a bit of the contents"), Miss::Checksum);
            damages += 1;
        }
        let mut longer = sound.clone();
        longer.extend_from_slice(b"junk");
        patient.refuse(end, &longer, "appended junk");
        let mut zeroed = sound.clone();
        zeroed[HEADER..].fill(0);
        patient.refuse(end, &zeroed, "a tail of zeros");
        patient.refuse(end, &vec![0; sound.len()], "nothing but zeros");
        patient.refuse(end, b"", "an empty file");
        let mut huge = sound.clone();
        huge[16..24].copy_from_slice(&(1u64 << 63).to_le_bytes());
        patient.refuse(end, &huge, "a length of 2^63");
        damages += 5;
    }
    println!("{damages} damaged files");
}

#[test]
fn refuses_a_sound_file_of_another_key() {
    let patient = Patient::new();
    let store = &patient.store;
    assert!(store.put(&key(2), &payload(2, 300)).is_published());
    let outcome = store.put_blob(&key(2), &driver(1), &[6; 200]);
    assert!(outcome.is_published());
    for end in [".bin", ".blob", ".src"] {
        let files = patient.yard.files(end);
        let swap = |a: &Path, b: &Path| {
            let (first, second) = (fs::read(a).unwrap(), fs::read(b).unwrap());
            fs::write(a, second).unwrap();
            fs::write(b, first).unwrap();
        };
        swap(&files[0], &files[1]);
        if end == ".blob" {
            for number in [1, 2] {
                let miss = store.begin_load(&key(number), &driver(1)).err();
                assert_eq!(miss, Some(Miss::Binding));
            }
            swap(&files[0], &files[1]);
            continue;
        }
        for number in [1, 2] {
            let miss = store.get(&key(number)).unwrap_err();
            let expected = match end {
                ".bin" => Miss::Binding,
                _ => Miss::OtherKey,
            };
            assert_eq!(miss, expected, "{end}");
            let entry = payload(number, 300);
            assert!(store.put(&key(number), &entry).is_published());
            assert_eq!(store.get(&key(number)), Ok(entry));
        }
    }
}

#[test]
fn never_allocates_what_a_file_merely_claims() {
    let patient = Patient::new();
    let path = patient.path(".bin");
    let file = OpenOptions::new().write(true).open(path).unwrap();
    // A sparse file that takes no room.
    file.set_len(1 << 40).unwrap();
    let miss = patient.refused(".bin", "a huge sparse file");
    assert_eq!(miss, Miss::TooLarge { found: 1 << 40 });
}

#[test]
fn a_file_of_a_newer_format_is_left_for_its_program_and_missed() {
    let patient = Patient::new();
    let mut newer = fs::read(patient.path(".bin")).unwrap();
    newer[8] = 3;
    let miss = patient.refuse(".bin", &newer, "another version");
    assert_eq!(miss, Miss::Version { found: 3 });
}

#[test]
fn decoders_take_any_bytes() {
    let runs: u64 = match std::env::var_os("VKFUSE_LONG_TESTS") {
        Some(_) => 10_000_000,
        None => 200_000,
    };
    let patient = Patient::new();
    let sound = fs::read(patient.path(".bin")).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for run in 0..runs {
        let mut bytes = match run % 4 {
            0 => (0..next() % 200).map(|_| next() as u8).collect(),
            _ => sound[..(next() as usize % (sound.len() + 1))].to_vec(),
        };
        for _ in 0..next() % 4 {
            if !bytes.is_empty() {
                let at = next() as usize % bytes.len();
                bytes[at] = next() as u8;
            }
        }
        if bytes.len() >= HEADER + TRAILER && run % 2 == 0 {
            // A right length and checksum lead further into the decoder.
            let length = bytes.len() as u64;
            bytes[16..24].copy_from_slice(&length.to_le_bytes());
            let body = bytes.len() - TRAILER;
            let hash =
                blake3::Hasher::new_derive_key("vkfuse-cache container v1").update(&bytes[..body]).finalize();
            bytes[body..].copy_from_slice(hash.as_bytes());
        }
        let _ = crate::container::decode(crate::container::Kind::Entry, &bytes);
        let _ = crate::Part::from_bytes(&bytes[bytes.len().min(HEADER)..]);
    }
    println!("{runs} inputs");
}
