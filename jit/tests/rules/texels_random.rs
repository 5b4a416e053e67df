//! Random lists of kernels over storage images: gains, tones and blurs, at their own texels and their neighbours'. In some, a condition for
//! recomputing them just fails. Each list is run unfused and as planned.

use vkfuse_jit::plan::Promote;

use super::lab::Lab;
use super::texels::{images, in_place};

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A place in the image, whichever the invocation.
fn place(random: &mut Random) -> String {
    let [x, y] = [(); 2].map(|()| random.below(5) as i32 - 2);
    let there = format!("(at + vec2<i32>({x}, {y}))");
    match random.below(6) {
        0 => format!("clamp({there}, vec2<i32>(0), dims - 1)"),
        1 => format!("dims - 1 - abs(dims - 1 - abs({there}))"),
        2 => format!("({there} + dims) % dims"),
        3 => "dims - 1 - at".to_owned(),
        4 => "vec2<i32>(at.y % dims.x, at.x % dims.y)".to_owned(),
        _ => "at".to_owned(),
    }
}

/// What a texel of image `a` becomes.
fn value(random: &mut Random) -> String {
    let x = format!("textureLoad(a, {})", place(random));
    match random.below(4) {
        0 => format!("{x} * 3u + 1u"),
        1 => format!("{x} ^ vec4<u32>(gid.x + 7u * wid.y + 100u * lid.x)"),
        2 => format!("{x} + textureLoad(a, {})", place(random)),
        _ => x,
    }
}

fn kernel(random: &mut Random) -> (String, bool) {
    // Most write every texel; others leave out some that are read.
    let guard = match random.below(12) {
        0 => "at.x >= dims.x - 1 || at.y >= dims.y",
        1 => "at.x >= dims.x || at.y >= dims.y || at.x == 3",
        2 => "at.x >= dims.x || at.y >= dims.y || (at.x + at.y) % 2 == 0",
        _ => "at.x >= dims.x || at.y >= dims.y",
    };
    let size = |image: &str| {
        format!("let dims = vec2<i32>(textureDimensions({image})); if ({guard}) {{ return; }} ")
    };
    if random.chance(20) {
        let body = random.one_of(&[
            "textureStore(b, at, textureLoad(b, at) * 5u + 2u);",
            "textureStore(b, at, textureLoad(b, at) + vec4<u32>(gid.y));",
            "if (at.x < 7) { textureStore(b, at, textureLoad(b, at) + 9u); }",
        ]);
        return (in_place(body), true);
    }
    if random.chance(25) {
        let at = place(random);
        let body = format!(
            "var sum = vec4<u32>();
             for (var y = -1; y <= 1; y++) {{ for (var x = -1; x <= 1; x++) {{
                 sum += textureLoad(a, clamp({at} + vec2<i32>(x, y), vec2<i32>(0), dims - 1)); }} }}
             textureStore(z, at, sum);"
        );
        return (images("a z", &(size("z") + &body)), false);
    }
    let value = value(random);
    // Backwards it is not followed which item writes a texel.
    let to = if random.chance(10) { "dims - 1 - at" } else { "at" };
    let store = match random.chance(15) {
        true => format!(
            "var own = vec4<u32>(gid.x); if (at.x > 2) {{ own = {value}; }} textureStore(z, {to}, own);"
        ),
        false => format!("textureStore(z, {to}, {value});"),
    };
    (images("a z", &(size("z") + &store)), false)
}

/// The same kernel, which fetches what it read.
fn fetching(text: &str) -> String {
    let text = text.replace("var a: texture_storage_2d<r32uint, read>", "var a: texture_2d<u32>");
    let text = text.replace("textureLoad(a, ", "fetched(");
    text + "\nfn fetched(at: vec2<i32>) -> vec4<u32> { return textureLoad(a, at, 0); }"
}

fn list(random: &mut Random) -> Lab {
    let size = [17 + random.below(5) as u32, 9 + random.below(4) as u32];
    let mut lab = Lab::rewriting(4096);
    lab.limits.max_images = 8;
    let images = 3 + random.below(2);
    for image in 0..images {
        lab = lab.sized(image, size);
        if random.chance(50) {
            lab = lab.promote(image, Promote::Auto);
        }
    }
    let mut last = random.below(images);
    for _ in 0..2 + random.below(4) {
        let (text, in_place) = kernel(random);
        if in_place {
            lab = lab.submit(&text, [6, 3, 1], &[last], &[]);
            continue;
        }
        let text = if random.chance(30) { fetching(&text) } else { text };
        let from = if random.chance(80) { last } else { random.below(images) };
        let to = (from + 1 + random.below(images - 1)) % images;
        lab = lab.submit(&text, [6, 3, 1], &[from, to], &[]);
        last = to;
    }
    lab
}

/// `VKFUSE_TEXEL_LISTS=N` tries as many.
#[test]
fn random_lists_over_images_have_the_bits_of_the_unfused_run() {
    let lists = std::env::var("VKFUSE_TEXEL_LISTS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (mut inlined, mut split, mut inside) = (0, 0, 0);
    for seed in 0..lists {
        let checked = list(&mut Random(seed)).check();
        let report = &checked.plan.report;
        inlined += usize::from(!report.inlined.is_empty());
        split += usize::from(checked.plan.steps.len() > 1);
        inside += usize::from(report.inlined.iter().any(|one| one.gone));
    }
    println!(
        "{lists} lists: {inlined} with recomputation, {inside} with an image that stays inside, {split} split"
    );
    assert!(inlined * 5 > lists as usize && split * 10 > lists as usize, "{inlined} and {split} of {lists}");
}
