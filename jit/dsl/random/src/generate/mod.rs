//! Random functions as Rust source: expressions of all types, and small programs.
//!
//! Of an expression, the result is compared bit for bit; of some, the last step is a function that Vulkan only bounds the
//! error of, and its arguments are compared bit for bit. Floats stay where every device computes the same: no infinities,
//! nothing that is no number, nothing denormal, and nothing that hangs on the sign of a zero. Integers are not held back.

mod expression;
mod program;
mod random;

use random::Random;

/// Functions called by one kernel.
const PER_KERNEL: usize = 8;

/// Writes functions.
struct Writer {
    random: Random,
    /// Names and types that can be read.
    names: Vec<(String, &'static str)>,
    /// Arrays of `u32`: name and length.
    arrays: Vec<(String, u32)>,
    /// Names of structs.
    parts: Vec<String>,
    /// Loops around, whose labels are `'l0` to the one below.
    loops: usize,
    /// Names with numbers of their own so far.
    numbers: usize,
    /// Functions of `(u32, i32, f32)` that can be called.
    functions: Vec<String>,
    /// Functions of `(u32, i64)` that the compiler can evaluate; of each there is a constant, too, whose name is in capitals.
    constants: Vec<String>,
}

/// What a function of a case gives, as the kernel calls it, and as the test knows it.
struct Function {
    /// Three words: result and, where there is a last step, its arguments.
    call: String,
    /// The last step, by name.
    last: &'static str,
}

/// What is computed last where Vulkan only bounds the error: name, domains of the arguments, the step.
const LAST: [(&str, &str, &str, &str); 20] = [
    ("divide", "plain(a)", "divisor(b)", "a / b"),
    ("divide_wide", "plain(a)", "divisor(b)", "((a as f64) / (b as f64)) as f32"),
    ("recip", "divisor(a)", "0.0", "a.recip()"),
    ("sqrt", "plain(a).abs()", "0.0", "a.sqrt()"),
    ("sqrt_wide", "plain(a).abs()", "0.0", "(a as f64).sqrt() as f32"),
    ("sin", "plain(a).clamp(-3.0, 3.0)", "0.0", "a.sin()"),
    ("cos", "plain(a).clamp(-3.0, 3.0)", "0.0", "a.cos()"),
    ("tan", "plain(a).clamp(-1.25, 1.25)", "0.0", "a.tan()"),
    ("asin", "plain(a).clamp(-1.0, 1.0)", "0.0", "a.asin()"),
    ("acos", "plain(a).clamp(-1.0, 1.0)", "0.0", "a.acos()"),
    ("atan", "plain(a)", "0.0", "a.atan()"),
    ("atan2", "divisor(a)", "divisor(b)", "a.atan2(b)"),
    ("sinh", "plain(a).clamp(-10.0, 10.0)", "0.0", "a.sinh()"),
    ("cosh", "plain(a).clamp(-10.0, 10.0)", "0.0", "a.cosh()"),
    ("tanh", "plain(a).clamp(-10.0, 10.0)", "0.0", "a.tanh()"),
    ("exp", "plain(a).clamp(-30.0, 30.0)", "0.0", "a.exp()"),
    ("exp2", "plain(a).clamp(-30.0, 30.0)", "0.0", "a.exp2()"),
    ("ln", "plain(a).abs() + 0.125", "0.0", "a.ln()"),
    ("log2", "plain(a).abs() + 0.125", "0.0", "a.log2()"),
    ("powf", "(plain(a).abs() + 0.125).min(64.0)", "plain(b).clamp(-4.0, 4.0)", "a.powf(b)"),
];

impl Writer {
    fn parameters(&mut self) {
        self.names = vec![("x".to_owned(), "u32"), ("y".to_owned(), "i32"), ("z".to_owned(), "f32")];
        self.arrays.clear();
        self.parts.clear();
    }

    fn expression(&mut self, k: usize, out: &mut String) -> Function {
        self.parameters();
        if k % 4 == 3 {
            return self.bounded(k, out);
        }
        let body = self.result(4);
        *out += &format!("#[device]\nfn e{k}(x: u32, y: i32, z: f32) -> u32 {{\n{body}\n}}\n");
        self.functions.push(format!("e{k}"));
        Function { call: format!("[e{k}(x, y, z), 0, 0]"), last: "" }
    }

    /// A `const fn`, and what it gives of two numbers.
    fn evaluated(&mut self, k: usize, out: &mut String) {
        let (body, more) = (self.constant("u32", 3), self.constant("u32", 2));
        let (x, y) = (self.random.next() as u32, self.random.next() as i64 % 1000);
        *out += &format!(
            "#[device]\nconst fn c{k}(x: u32, y: i64) -> u32 {{\nlet mut sum = {body};\nlet mut n = 0_u32;\n\
             while n < 3 {{\nn += 1;\nsum ^= {more} * n;\n}}\nsum\n}}\nconst C{k}: u32 = c{k}({x}, {y});\n"
        );
        self.constants.push(format!("c{k}"));
    }

    /// An expression whose last step is bounded.
    fn bounded(&mut self, k: usize, out: &mut String) -> Function {
        let (last, first, second, step) = LAST[k / 4 % LAST.len()];
        let (a, b) = (self.expr("f32", 3), self.expr("f32", if second == "0.0" { 0 } else { 3 }));
        *out += &format!(
            "#[device]\nfn e{k}(x: u32, y: i32, z: f32) -> [u32; 3] {{\nlet a: f32 = {a};\nlet b: f32 = {b};\n\
             let a: f32 = {first};\nlet b: f32 = {second};\nlet c: f32 = {step};\n[bits(c), bits(a), bits(b)]\n}}\n"
        );
        Function { call: format!("e{k}(x, y, z)"), last }
    }
}

/// A kernel that calls some functions, each for itself.
fn kernel(out: &mut String, name: &str, functions: &[Function]) {
    *out += &format!(
        "#[derive(Captures)]\npub struct {name} {{\nx: Read<u32>,\ny: Read<i32>,\nz: Read<f32>,\n\
         out: Write<[u32; 3]>,\n}}\n#[kernel]\nimpl {name} {{\nfn run(&self, item: Item<1>) {{\nlet i = item.index();\n\
         let x = self.x.get(i);\nlet y = self.y.get(i);\nlet z = self.z.get(i);\n"
    );
    for (k, Function { call, .. }) in functions.iter().enumerate() {
        *out += &format!("self.out.set(i * {PER_KERNEL} + {k}, {call});\n");
    }
    *out += "}\n}\n";
}

/// The file: functions, kernels, and the list of the kernels.
pub(crate) fn file(expressions: usize, programs: usize, seed: u64) -> String {
    let random = Random::new(seed);
    let mut writer = Writer {
        random,
        names: Vec::new(),
        arrays: Vec::new(),
        parts: Vec::new(),
        loops: 0,
        numbers: 0,
        functions: Vec::new(),
        constants: Vec::new(),
    };
    let (mut out, mut list) = (String::new(), String::new());
    let mut all = Vec::new();
    for k in 0..expressions.div_ceil(20) {
        writer.evaluated(k, &mut out);
    }
    for k in 0..expressions {
        all.push(writer.expression(k, &mut out));
    }
    for k in 0..programs {
        all.push(writer.program(k, &mut out));
    }
    for (number, functions) in all.chunks(PER_KERNEL).enumerate() {
        let name = format!("Kernel{number}");
        kernel(&mut out, &name, functions);
        let named =
            |f: &Function| format!("({:?}, {:?}),", f.call.trim_start_matches('[').split('(').next(), f.last);
        let functions: String = functions.iter().map(named).collect();
        list += &format!("case!({name}, [{functions}]),\n").replace("Some(", "(");
    }
    out + &format!(
        "/// Functions called by one kernel.\npub const PER_KERNEL: usize = {PER_KERNEL};\n\
         /// All kernels.\npub fn cases() -> Vec<Case> {{\nvec![\n{list}]\n}}\n"
    )
}
