//! `run --html`: what is on the page, and that a browser shows it.

use crate::process::{command, example, finish, has_device, root, vkfuse};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The page of an example.
fn page(folder: &Path, name: &str) -> (PathBuf, String) {
    let path = folder.join(name).with_extension("html");
    // Medians, where they are kept.
    let repeat = if std::env::var_os("BLESS").is_some() { "9" } else { "1" };
    let path_text = path.to_str().expect("UTF-8");
    let finished = vkfuse(&["run", &example(name), "--no-cache", "--repeat", repeat, "--html", path_text]);
    assert_eq!(finished.status, 0, "{}", finished.stderr);
    let text = std::fs::read_to_string(&path).expect("the page");
    (path, text)
}

/// The tags of XML that are open at its end; nothing if each is closed where it should be.
fn open_tags(xml: &str) -> Vec<&str> {
    let mut open = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("tags end");
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "what ends at {tag}"),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    open
}

#[test]
fn a_page_shows_kernels_buffers_dispatches_and_splits() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    let (_, chain) = page(folder.path(), "chain.toml");
    let (_, softmax) = page(folder.path(), "softmax.toml");
    let (_, split) = page(folder.path(), "reverse_split.toml");
    for page in [&chain, &softmax, &split] {
        let svg = &page[page.find("<svg").expect("a picture")..page.rfind("</svg>").expect("its end") + 6];
        assert_eq!(open_tags(svg), [""; 0]);
        // It needs nothing beside it.
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("<link"));
    }
    let has =
        |page: &str, all: &[&str]| all.iter().all(|one| page.contains(one) || panic!("{one} in {page}"));
    assert!(has(
        &chain,
        &["4 kernels in 1 dispatch", "in registers", ">tmp1 · ", ">out · ", "dispatch 0 ", " before, "]
    ));
    assert!(has(&softmax, &["in shared memory", ">barrier<"]));
    // The only dispatch has the times of the list, wherever they stand.
    for page in [&chain, &softmax] {
        let cells = |start: &str| -> Vec<String> {
            let row = page.split("<tr>").find(|row| row.starts_with(start)).expect("the row");
            let cells = row.split("</td>").filter_map(|cell| Some(cell.rsplit_once('>')?.1.to_owned()));
            cells.collect()
        };
        let (list, dispatch) = (cells("<td>on the device</td>"), cells("<td>0</td>"));
        assert_eq!(list[1..3], dispatch[2..4], "{page}");
    }
    let accesses = [
        "split: cross-work-group dependency",
        " reads ",
        " writes ",
        "dispatch 1 ",
        // What can be done about it is on the page itself.
        "<a href=\"#cross-group\">",
        "<h3 id=\"cross-group\">",
        "Within a dispatch work-groups cannot wait for each other",
        "<th>µs unfused</th><th>µs</th>",
    ];
    assert!(has(&split, &accesses));
    assert!(!split.contains("4 kernels in 1 dispatch"));
    // The time of each dispatch: the code is the same when it runs by itself.
    let titles = split.split("dispatch ").skip(1).filter(|title| title.starts_with(['0', '1']));
    let timed = titles.filter(|title| title.split('<').next().is_some_and(|title| title.ends_with(" µs")));
    assert_eq!(timed.count(), 2, "{split}");
    let row = split.split("<tr>").find(|row| row.starts_with("<td>1</td>")).expect("the second dispatch");
    assert!(!row.contains('–'), "{row}");
}

/// The screenshot of a page in a window of this size, or nothing where there is no browser.
fn screenshot(page: &Path, size: &str, dark: bool) -> Option<Vec<u8>> {
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    })?;
    let folder = tempfile::tempdir().expect("temporary folder");
    let image = folder.path().join("image.png");
    let mut command = Command::new("timeout");
    command.args(["60", browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("--screenshot={}", image.display())).arg(format!("--window-size={size}"));
    // 0 is dark.
    command.arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)));
    command.arg(format!("file://{}", page.display()));
    let output = command.output().expect("the browser starts");
    let taken = std::fs::read(&image);
    Some(taken.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

/// A screenshot of the page is much larger than one of an empty page: a picture of one colour is compressed to next to nothing.
#[test]
fn a_browser_shows_the_page_in_light_and_dark_and_on_a_phone() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    let empty = folder.path().join("empty.html");
    std::fs::write(&empty, "<!doctype html><html><head><style></style></head><body></body></html>")
        .expect("it is written");
    let (page, _) = page(folder.path(), "chain.toml");
    for (size, dark) in [("1000,1000", false), ("1000,1000", true), ("390,844", true)] {
        let (Some(nothing), Some(shown)) = (screenshot(&empty, size, dark), screenshot(&page, size, dark))
        else {
            let _ = writeln!(std::io::stderr(), "SKIPPED a_browser_shows_the_page: no chromium");
            return;
        };
        let (shown, nothing) = (shown.len(), nothing.len());
        assert!(shown > 4 * nothing && shown > 10_000, "{size}: {shown} bytes, an empty page has {nothing}");
    }
}

/// The lists of the gallery: the name of the picture, the file, the height of its page down to where a section ends.
const GALLERY: [(&str, &str, u32); 3] = [
    ("chain", "chain.toml", 955),
    ("softmax", "softmax.toml", 1125),
    ("reverse", "reverse_split.toml", 1125),
];

/// The words of a page or of a picture, a line for each element.
fn words(html: &str) -> Vec<&str> {
    let without_style = html
        .split("<style>")
        .flat_map(|part| part.split_once("</style>").map_or(part, |(_, rest)| rest).split('<'));
    let texts = without_style.map(|part| part.split_once('>').map_or("", |(_, text)| text).trim());
    texts.filter(|text| !text.is_empty()).collect()
}

/// A line with `#` for times and what is computed from them.
fn without_times(line: &str) -> String {
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    if line == "–" || is_number(line) && line.contains('.') {
        return "#".to_owned();
    }
    let all: Vec<&str> = line.split(' ').collect();
    let shown = all.iter().enumerate().map(|(at, word)| {
        let is_time = is_number(word) && all.get(at + 1).is_some_and(|unit| unit.starts_with("µs"));
        let is_ratio = word.strip_suffix('×').is_some_and(|ratio| is_number(ratio) && ratio.contains('.'));
        if is_time || is_ratio { "#" } else { word }
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The pages in the gallery say what the command says now. A screenshot cannot be read, so its words are in a file beside it, which is
/// written when it is taken; the picture beside them is from the same run. `./x pictures` takes all of them anew.
#[test]
fn the_gallery_shows_what_the_command_says() {
    if !has_device() {
        return;
    }
    let gallery = std::fs::read_to_string(root().join("docs/gallery.md")).expect("the gallery");
    let bless = std::env::var_os("BLESS").is_some();
    for (name, list, height) in GALLERY {
        let image = root().join("docs/pictures").join(name).with_extension("png");
        let folder = tempfile::tempdir().expect("temporary folder");
        let (path, text) = page(folder.path(), list);
        let now = words(&text);
        if bless {
            let shown = screenshot(&path, &format!("900,{height}"), false).expect("a browser");
            std::fs::write(&image, shown).expect("it is written");
            let svg = &text[text.find("<svg").expect("a picture")..text.find("</svg>").expect("its end") + 6];
            std::fs::write(image.with_extension("svg"), format!("{svg}\n")).expect("it is written");
            std::fs::write(image.with_extension("txt"), now.join("\n") + "\n").expect("it is written");
        }
        let read = |extension: &str| {
            let path = image.with_extension(extension);
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let taken = read("png");
        assert!(taken.starts_with(b"\x89PNG") && (10_000..400_000).contains(&taken.len()), "{name}");
        assert!(gallery.contains(&format!("](pictures/{name}.png)")), "{name}");
        let (then, picture) = (read("txt"), read("svg"));
        let then: Vec<&str> = std::str::from_utf8(&then).expect("UTF-8").lines().collect();
        for line in words(std::str::from_utf8(&picture).expect("UTF-8")) {
            assert!(
                then.contains(&line),
                "{name}: the picture and the screenshot are of different runs: {line}"
            );
        }
        // The title and the device; another device has other schedules.
        let device =
            |lines: &[&str]| lines.iter().find(|line| line.contains(", mode ")).map(ToString::to_string);
        if device(&then) != device(&now) {
            let _ = writeln!(std::io::stderr(), "SKIPPED {name}: taken on {:?}", device(&then));
            continue;
        }
        let compared = |lines: &[&str]| lines.iter().map(|line| without_times(line)).collect::<Vec<_>>();
        assert_eq!(compared(&then), compared(&now), "{name} is out of date: ./x pictures");
    }
}

#[test]
fn times_are_left_out_where_pages_are_compared() {
    let cases = [
        (
            "4 kernels in 1 dispatch · 1420 µs before, 340.1 µs after, 4.17×",
            "4 kernels in 1 dispatch · # µs before, # µs after, #",
        ),
        ("dispatch 1 · work-groups of 256×1×1 · 346.7 µs", "dispatch 1 · work-groups of 256×1×1 · # µs"),
        ("12.5", "#"),
        ("12", "12"),
        ("tmp1 · 262 kB", "tmp1 · 262 kB"),
        ("0.5 0.25", "0.5 0.25"),
    ];
    cases.iter().for_each(|(line, wanted)| assert_eq!(without_times(line), *wanted));
    assert_eq!(words("<p>a</p><style>x{}</style><b>c d</b>\n<i/>e"), ["a", "c d", "e"]);
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    if !has_device() {
        return;
    }
    let arguments = ["run", &example("chain.toml"), "--no-cache", "--html", "/nowhere/page.html"];
    let finished = finish(command().args(arguments));
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("cannot write the page /nowhere/page.html"), "{}", finished.stderr);
}
