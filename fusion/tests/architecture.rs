//! The drawing of rooms in `docs/architecture.md`, made from the `use` lines: it is as the page says, and has no circle. And what only one
//! file may know.
//!
//! `BLESS=1 cargo test -p vkfuse --test architecture` writes the drawing anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// What a room uses: other rooms of the same crate.
type Rooms = BTreeMap<String, BTreeSet<String>>;

/// The crates that are drawn: folder, and the arrows that are still to go. An arrow that is gone has to leave the list.
const CRATES: &[(&str, &[(&str, &str)])] = &[("fusion", &[])];

/// How many floors `fusion` may have.
const FLOORS: usize = 7;

#[test]
fn the_rooms_are_as_drawn_and_have_no_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = root.join("docs/architecture.md");
    let mut text = fs::read_to_string(&page).unwrap();
    let mut wrong = Vec::new();
    for (name, to_go) in CRATES {
        let mut rooms = rooms(&root.join(name).join("src"));
        for (from, to) in *to_go {
            let was = rooms.get_mut(*from).is_some_and(|uses| uses.remove(*to));
            assert!(was, "{name}: {from} does not use {to} any more; take it from the list");
        }
        let Some(floors) = floors(&rooms) else {
            wrong.push(format!("{name}: a circle among {:?}", circle(&rooms)));
            continue;
        };
        let height = floors.values().max().copied().unwrap_or(0);
        if *name == "fusion" {
            assert!(height <= FLOORS, "{height} floors");
        }
        let drawing = drawing(&rooms, &floors, to_go);
        let (start, end) = (format!("<!-- rooms of {name} -->\n"), format!("<!-- end of {name} -->"));
        let from = text.find(&start).unwrap_or_else(|| panic!("no place for {name}")) + start.len();
        let to = text.find(&end).unwrap_or_else(|| panic!("no end of {name}"));
        if text[from..to] != drawing {
            wrong.push(format!("{name}: the page has another drawing than\n{drawing}"));
            text.replace_range(from..to, &drawing);
        }
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&page, text).unwrap();
        wrong.retain(|what| what.contains("circle"));
    }
    assert!(wrong.is_empty(), "{}\n(BLESS=1 writes the drawings)", wrong.join("\n"));
}

/// The table of drivers, and the profile of Apple's devices, which says whose it is.
const DRIVERS: [&str; 2] = ["vk/device/device_profile.rs", "vk/vendor.rs"];

#[test]
fn drivers_are_told_apart_in_one_table() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&src, &mut files);
    let names_driver = |text: &str| {
        let mut named = text.split("DriverId::").skip(1);
        named.any(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
            || ["vendor.name ==", "vendor_id ==", "driver_id =="].iter().any(|part| text.contains(part))
    };
    let named = files.iter().filter(|file| names_driver(&fs::read_to_string(file).unwrap()));
    let named: BTreeSet<_> = named.map(|file| file.strip_prefix(&src).unwrap().to_str().unwrap()).collect();
    assert_eq!(named, DRIVERS.into_iter().collect());
}

#[test]
fn nested_and_relative_paths_are_understood() {
    let text = "//! use crate::no::No;\nuse crate::{a::{B, c::D}, e, Public};\nfn f() { crate::g::h() }\n\
                use super::super::i::J;\nuse super::k::L;\n#[cfg(test)]\nmod tests {\nuse crate::no::No;\n}\n";
    let found = uses(text, &["room", "file"]);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["Public", "a", "e", "g", "i", "room"]);
}

#[test]
fn a_circle_is_found() {
    let rooms = |arrows: &[(&str, &str)]| {
        let mut rooms = Rooms::new();
        for (from, to) in arrows {
            rooms.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            rooms.entry((*to).to_owned()).or_default();
        }
        rooms
    };
    assert_eq!(floors(&rooms(&[("a", "b"), ("b", "c"), ("a", "c")])).unwrap()["a"], 3);
    let round = rooms(&[("a", "b"), ("b", "c"), ("c", "b")]);
    assert!(floors(&round).is_none());
    assert_eq!(circle(&round), ["b", "c"]);
}

/// The rooms of a crate: what is directly below its `src`.
fn rooms(src: &Path) -> Rooms {
    let mut files = Vec::new();
    collect(src, &mut files);
    let mut rooms = Rooms::new();
    for file in &files {
        let path = file.strip_prefix(src).unwrap().with_extension("");
        let module: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let module = if module.last() == Some(&"mod") { &module[..module.len() - 1] } else { &module[..] };
        if module == ["lib"] || module.contains(&"tests") {
            continue;
        }
        let mut found = uses(&fs::read_to_string(file).unwrap(), module);
        found.remove(module[0]);
        rooms.entry(module[0].to_owned()).or_default().append(&mut found);
    }
    // What is used from the root itself, a macro or a re-exported name, is no room.
    let names: BTreeSet<String> = rooms.keys().cloned().collect();
    rooms.values_mut().for_each(|uses| uses.retain(|name| names.contains(name)));
    rooms
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The names at the crate's root that a file uses, in `use` lines and in paths.
fn uses(text: &str, module: &[&str]) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    let word = |c: char| c.is_alphanumeric() || c == '_';
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = &code[..at];
            if before.ends_with("::") || before.ends_with(word) || before.ends_with("pub(in ") {
                continue;
            }
            let (mut rest, mut up) = (&code[at..], module.len());
            if let Some(path) = rest.strip_prefix("crate::") {
                (rest, up) = (path, 0);
            }
            while let Some(path) = rest.strip_prefix("super::") {
                (rest, up) = (path, up.saturating_sub(1));
            }
            if up > 0 {
                found.insert(module[0].to_owned());
            } else if let Some(list) = rest.strip_prefix('{') {
                found.extend(first_names(list));
            } else {
                found.extend(rest.split(|c| !word(c)).next().map(str::to_owned));
            }
        }
    }
    found
}

/// The first name of each path of a list, up to the brace that closes it.
fn first_names(list: &str) -> Vec<String> {
    let (mut depth, mut names) = (0, vec![String::new()]);
    for c in list.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => names.push(String::new()),
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c != ',' || depth > 0 {
            names.last_mut().into_iter().for_each(|name| name.push(c));
        }
    }
    let first = |path: String| path.split("::").next().map(|name| name.trim().to_owned());
    let names = names.into_iter().filter_map(first);
    names.filter(|name| !name.is_empty() && name != "self").collect()
}

/// The floor of each room: one above the highest that it uses. Nothing where there is a circle.
fn floors(rooms: &Rooms) -> Option<BTreeMap<&str, usize>> {
    let mut floors = BTreeMap::new();
    while floors.len() < rooms.len() {
        let before = floors.len();
        for (room, uses) in rooms {
            let below: Option<Vec<usize>> = uses.iter().map(|used| floors.get(&**used).copied()).collect();
            if let Some(below) = below {
                floors.entry(&**room).or_insert(below.into_iter().max().unwrap_or(0) + 1);
            }
        }
        if floors.len() == before {
            return None;
        }
    }
    Some(floors)
}

/// The rooms that can be reached from themselves.
fn circle(rooms: &Rooms) -> Vec<&str> {
    let reaches = |start: &str| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&String> = rooms[start].iter().collect();
        while let Some(room) = next.pop() {
            if seen.insert(&**room) {
                next.extend(&rooms[room]);
            }
        }
        seen.contains(start)
    };
    rooms.keys().map(|room| &**room).filter(|room| reaches(room)).collect()
}

/// From the top floor down: a room, and what it uses.
fn drawing(rooms: &Rooms, floors: &BTreeMap<&str, usize>, to_go: &[(&str, &str)]) -> String {
    let mut order: Vec<(&str, usize)> = floors.iter().map(|(room, floor)| (*room, *floor)).collect();
    order.sort_by_key(|(room, floor)| (usize::MAX - floor, *room));
    let mut text = "```text\n".to_owned();
    for (room, floor) in order {
        let mut uses: Vec<&str> = rooms[room].iter().map(|used| &**used).collect();
        uses.sort_by_key(|used| (usize::MAX - floors[used], *used));
        let line = match &uses[..] {
            [] => format!("{floor}  {room}\n"),
            uses => format!("{floor}  {room:<10} → {}\n", uses.join(", ")),
        };
        text.push_str(&line);
    }
    for (from, to) in to_go {
        text.push_str(&format!("to go: {from} → {to}\n"));
    }
    text + "```\n"
}

/// How many rows the table of what is remembered may have.
const REMEMBERED: usize = 24;

#[test]
fn what_is_remembered_is_where_the_table_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let table = page.split("### Everything that is remembered").nth(1).expect("the table");
    let rows: Vec<&str> =
        table.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!((10..=REMEMBERED).contains(&rows.len()), "{} rows", rows.len());
    for row in rows {
        let places = row.split('|').nth(1).unwrap();
        for place in places.split('`').skip(1).step_by(2).filter(|place| place.contains('/')) {
            let is_there = |folder: &str| {
                root.join(folder)
                    .join(format!("{}.rs", place.replacen("cache/", "", usize::from(folder == "cache/src"))))
                    .exists()
            };
            assert!(["fusion/src", "cache/src"].into_iter().any(is_there), "{place} is not there");
        }
    }
}
