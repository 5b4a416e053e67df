//! Kernels that store columns of each row, and together all of them, unless something is wrong with one.

use super::{Draft, Epilogues, INPUTS, WORK, text};

/// Columns of each of a number of rows.
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    columns: u32,
    rows: u32,
}

impl Epilogues {
    /// What stores the elements in parts; returns where.
    pub(super) fn parts(&mut self, draft: &mut Draft) -> u64 {
        let (width, height) = (draft.width, draft.height);
        let random = &mut draft.random;
        let to = *random.pick(&WORK);
        let mut parts = Vec::new();
        let mut first = 0;
        let count = 2 + random.below(3) as u32;
        for left in (0..count).rev() {
            let rest = width - first;
            let columns = match left {
                0 => rest,
                _ if random.one_in(2) => (rest / (left + 1)).max(1),
                _ => 1 + random.below((rest - left) as usize) as u32,
            };
            parts.push(Part { first, columns, rows: height });
            first += columns;
        }
        // Half of the lists are not what they look like.
        let wrong = random.below(parts.len());
        let part = &mut parts[wrong];
        let mut pitch = width;
        match random.below(16) {
            0 => pitch += 1,
            1 => part.columns = part.columns.saturating_sub(1).max(1),
            2 => part.first += 1,
            3 => part.first = part.first.saturating_sub(1),
            4 => part.rows = part.rows.saturating_sub(1).max(1),
            5 => {
                part.rows += 1;
                let other = (wrong + 1) % parts.len();
                parts[other].rows = parts[other].rows.saturating_sub(1).max(1);
            }
            6 => parts[wrong].columns += 1,
            7 => parts[wrong] = parts[(wrong + 1) % count as usize],
            _ => {}
        }
        let order = random.below(parts.len());
        parts.rotate_left(order);
        let is_mixed = random.one_in(4);
        let form = random.below(5);
        for part in parts {
            let form = if is_mixed { draft.random.below(5) } else { form };
            self.part(draft, to, (part, form, pitch));
            if draft.random.one_in(24) {
                self.beside(draft, to);
            }
        }
        to
    }

    /// One part, in a form.
    fn part(&mut self, draft: &mut Draft, to: u64, (part, form, pitch): (Part, usize, u32)) {
        let Part { first, columns, rows } = part;
        let random = &mut draft.random;
        let value = *random.pick(&["a[i] * 3u + c", "a[i] ^ b[c]", "a[i] + b[r] * 5u", "a[i]"]);
        let store = format!("z[r * p.z + p.w + c] = {value};");
        let store = match random.below(40) {
            0 => format!("if (a[i] % 3u != 0u) {{ {store} }}"),
            1 => format!("for (var k = 0u; k < a[i] % 2u + 1u; k++) {{ {store} }}"),
            _ => store,
        };
        let less = u32::from(random.one_in(40));
        let (size, groups, body) = match form {
            0 | 1 => {
                let size = *random.pick(&[16, 16, 8, 32]);
                let body = format!(
                    "let i = gid.x; if (i + {less}u >= p.x * p.y) {{ return; }} let r = i / p.x; let c = i % p.x; {store}"
                );
                (size.to_string(), [(columns * rows).div_ceil(size), 1, 1], body)
            }
            2 => {
                let [x, y] = *random.pick(&[[4u32, 4], [8, 2], [16, 1], [8, 8]]);
                let body = format!(
                    "let c = gid.x; let r = gid.y; if (c + {less}u >= p.x || r >= p.y) {{ return; }} let i = r * p.x + c; {store}"
                );
                (format!("{x}, {y}"), [columns.div_ceil(x), rows.div_ceil(y), 1], body)
            }
            3 => {
                let body = format!(
                    "let r = wid.x; for (var c = lid.x; c + {less}u < p.x; c += 8u) {{ let i = r * p.x + c; {store} }}"
                );
                ("8".to_owned(), [rows, 1, 1], body)
            }
            // Neighbours in a row.
            _ => {
                let mut body = "let r = gid.y; if (r >= p.y) { return; } ".to_owned();
                for k in 0..2 {
                    body += &format!(
                        "{{ let c = gid.x * 2u + {k}u; if (c + {less}u < p.x) {{ let i = r * p.x + c; {store} }} }} "
                    );
                }
                ("8, 2".to_owned(), [columns.div_ceil(16), rows.div_ceil(2), 1], body)
            }
        };
        let push = [columns, rows, pitch, first];
        let text = text("a b z", size, &body);
        // As constants, now and then.
        let text = match draft.random.one_in(4) {
            true => constant(&text, push),
            false => text,
        };
        self.submit(draft, &text, groups, &[INPUTS[0], INPUTS[1], to], push);
    }

    /// What has nothing to do with the parts, or looks at them while they are stored.
    fn beside(&mut self, draft: &mut Draft, to: u64) {
        let total = draft.width * draft.height;
        let random = &mut draft.random;
        let others: Vec<u64> = WORK.into_iter().filter(|&one| one != to).collect();
        let (own, from) = (*random.pick(&others), if random.one_in(2) { to } else { INPUTS[0] });
        let body = "let i = gid.x; if (i >= p.z) { return; } z[i] = a[i] + 1u;";
        let push = [draft.width, draft.height, total, 0];
        self.submit(draft, &text("a z", 16, body), [total.div_ceil(16), 1, 1], &[from, own], push);
    }
}

/// A kernel's text with its push constants as constants.
fn constant(text: &str, push: [u32; 4]) -> String {
    let lines = text.lines().filter(|line| !line.contains("struct P") && !line.contains("var<immediate>"));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    for (name, word) in ["p.x", "p.y", "p.z", "p.w"].into_iter().zip(push) {
        text = text.replace(name, &format!("{word}u"));
    }
    text
}
