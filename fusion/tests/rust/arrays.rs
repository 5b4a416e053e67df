//! Local arrays, indexed by numbers made of comparisons, in kernels that have another function beside: the shape in which one driver's
//! compiler takes wrong elements of arrays of structs ([drivers](../../../docs/drivers.md)), in the one random function that shows it.

use vkfuse::{
    Buffer,
    rust::{Captures, HostBuffer, Item, Read, Value, Vec4, Write, device, host::on_host, kernel},
};

use crate::support::Rig;

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Two {
    word: u32,
    small: i16,
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Many {
    word: u32,
    many: [u32; 3],
}

#[derive(Clone, Copy, Value)]
#[repr(C)]
struct Deep {
    two: [Two; 2],
    flat: [[u32; 2]; 3],
    part: Many,
}

#[device]
impl Two {
    fn mixed(self) -> u32 {
        self.word * 31 + self.small as u32
    }

    fn step(&mut self, by: u32) -> u32 {
        self.word += by;
        if self.word % 3 == 1 {
            return self.mixed();
        }
        self.small -= 1;
        self.word
    }
}

#[device]
impl Many {
    fn mixed(self) -> u32 {
        ((self.word * 31 + self.many[0]) * 31 + self.many[1]) * 31 + self.many[2]
    }

    fn step(&mut self, by: u32) -> u32 {
        self.word += by;
        if self.word % 3 == 1 {
            return self.mixed();
        }
        self.many[by % 4] ^= self.word;
        self.word
    }
}

const TABLE: [Many; 3] = [
    Many { word: 0x1234_5678, many: [9, 8, 7] },
    Many { word: 5, many: [0x8000_0001, 2, 3] },
    Many { word: 6, many: [4, 77, u32::MAX] },
];

#[device]
fn read(x: u32, y: u32) -> u32 {
    let t = [Two { word: x, small: 3 }, Two { word: y, small: -4 }];
    t[(x < y) as u32].mixed()
}

#[device]
fn read_field(x: u32, y: u32) -> u32 {
    let t = [Two { word: x, small: 3 }, Two { word: y, small: -4 }];
    t[(x < y) as u32].word
}

#[device]
fn write_field(x: u32, y: u32) -> u32 {
    let mut t = [Two { word: x, small: 3 }, Two { word: y, small: -4 }];
    let b = (x < y) as u32;
    t[b].word += 5;
    t[1 - b].small -= 7;
    t[0].mixed() ^ t[1].mixed() * 3
}

#[device]
fn write_all(x: u32, y: u32) -> u32 {
    let mut t = [Two { word: x, small: 3 }; 2];
    t[(x < y) as u32] = Two { word: y, small: 9 };
    t[0].mixed() ^ t[1].mixed() * 3
}

#[device]
fn write_and_copy(x: u32, y: u32) -> u32 {
    let mut t = [Two { word: x, small: 3 }; 2];
    t[1].word += 1;
    t[(x < y) as u32].small = 9;
    let copy = t;
    t[(x > y) as u32].word = 5;
    copy[(x != y) as u32].mixed() ^ t[(x == y) as u32].mixed() * 3
}

#[device]
fn out_of_range(x: u32, y: u32) -> u32 {
    let mut t = [Two { word: x, small: 3 }; 2];
    t[1].word += 1;
    let b = (x < y) as u32;
    t[b * 2].word ^= 77;
    t[x % 3].small += 2;
    t[b * 2].mixed() ^ t[x % 3].word
}

#[device]
fn method(x: u32, y: u32) -> u32 {
    let mut t = [Two { word: x, small: 3 }; 2];
    t[1].word += 1;
    let b = (x < y) as u32;
    let stepped = Two::step(&mut t[b % 3], y);
    stepped ^ t[x % 3].word ^ t[1].mixed()
}

#[device]
fn method_of_many(x: u32, y: u32) -> u32 {
    let mut s = Many { word: (x < y) as u32, many: [x, y, 3] };
    let mut t = [s; 2];
    t[1].word += 1;
    let b = (true == (x < y)) as u32;
    let i = (s.word + x) % 7;
    let sum = s.step(b) + Many::step(&mut t[b % 3], i);
    let mut all = sum ^ t[1].word;
    for k in 0..3 {
        all = all * 31 + s.many[k];
    }
    for k in 0..3 {
        all = all * 31 + t[sum % 3].many[k];
    }
    all * 7 + t[sum % 3].word
}

#[device]
fn arrays_in_structs(x: u32, y: u32) -> u32 {
    let mut t = [Many { word: x, many: [1, 2, 3] }; 3];
    let b = (x < y) as u32;
    t[b].many[b + 1] = x;
    t[2 * b].many[x % 4] ^= y;
    t[b + 1].mixed() ^ t[x % 4].many[b]
}

#[device]
fn array_in_a_struct(x: u32, y: u32) -> u32 {
    let mut s = Many { word: x, many: [x, y, 3] };
    let b = (x < y) as u32;
    s.many[b] += 5;
    s.many[x % 4] ^= s.many[b + 1];
    s.mixed()
}

#[device]
fn deep(x: u32, y: u32) -> u32 {
    let two = [Two { word: x, small: 3 }, Two { word: y, small: -4 }];
    let mut d = [Deep { two, flat: [[x, y], [1, 2], [3, 4]], part: TABLE[1] }; 2];
    let b = (x < y) as u32;
    d[b].two[1 - b].word += 3;
    d[1 - b].flat[2 * b][b] ^= y;
    d[b].part.many[b + 1] -= x;
    let one = d[(x > y) as u32];
    one.two[b].mixed() ^ one.flat[x % 4][b] ^ one.part.mixed() ^ d[0].flat[b + 1][x % 3] ^ d[1].two[b].word
}

#[device]
fn of_a_table(x: u32, y: u32) -> u32 {
    let b = (x < y) as u32;
    TABLE[b].mixed() ^ TABLE[b * 2].many[b] ^ TABLE[x % 4].word
}

#[device]
fn tuples(x: u32, y: u32) -> u32 {
    let mut t = [(x, y as i16), (y, 5)];
    let b = (x < y) as u32;
    t[b].0 += 9;
    t[1 - b] = (t[b].0, 7);
    let (word, small) = t[(x != y) as u32];
    word * 31 + small as u32
}

#[device]
fn options(x: u32, y: u32) -> u32 {
    let mut t = [None, Some(x)];
    let b = (x < y) as u32;
    if let Some(word) = t[b] {
        t[1 - b] = Some(word + y);
    }
    t[0].unwrap_or(3) * 31 + t[x % 3].unwrap_or(4)
}

#[device]
fn vectors(x: u32, y: u32) -> u32 {
    let mut t = [Vec4::new(1.0, 2.0, 3.0, 4.0), Vec4::new((x % 64) as f32, (y % 64) as f32, 5.0, 6.0)];
    let b = (x < y) as u32;
    t[b].z += 7.0;
    t[1 - b].x = 9.0;
    (t[b].dot(t[x % 3]) + t[b].x) as u32
}

#[device]
fn arrays_of_arrays(x: u32, y: u32) -> u32 {
    let mut t = [[x, y, 5], [7, x, y]];
    let b = (x < y) as u32;
    t[b][b + 1] += 3;
    t[1 - b] = t[b];
    t[x % 3][b] ^ t[1][x % 4] * 31
}

#[device]
fn words(x: u32, y: u32) -> u32 {
    let mut t = [x, y];
    let b = (x < y) as u32;
    t[b] += 3;
    t[0] ^ t[x % 3] * 31
}

#[device]
fn in_a_loop(x: u32, y: u32) -> u32 {
    let mut t = [Two { word: x, small: 3 }, Two { word: y, small: -4 }];
    for k in 0..5 {
        let b = (t[0].word % 8 < t[1].word % 8) as u32;
        t[b].word = t[b].word / 2 + k;
        t[1 - b].small += k as i16;
    }
    t[0].mixed() ^ t[1].mixed() * 3
}

#[device]
fn changed(t: &mut [Two; 2], b: u32) -> u32 {
    t[b].word += 1;
    t[1 - b].mixed()
}

#[device]
fn lent(x: u32, y: u32) -> u32 {
    let mut t = [Two { word: x, small: 3 }, Two { word: y, small: -4 }];
    let b = (x < y) as u32;
    changed(&mut t, b) ^ t[b].mixed() ^ changed(&mut t, 1 - b)
}

#[device]
fn chosen(x: u32, y: u32) -> u32 {
    let a = [Two { word: x, small: 3 }, Two { word: y, small: -4 }];
    let c = [Two { word: 8, small: 1 }, Two { word: x, small: 2 }];
    let t = if x % 3 == 0 { a } else { c };
    let mut all = 0;
    for one in t {
        all = all * 31 + one.mixed();
    }
    all ^ t[(x < y) as u32].word
}

/// Functions beside them: one of values alone, one with a loop, and one with an array of its own.
#[device]
fn twisted(x: u32, y: u32) -> u32 {
    (x ^ y.rotate_left(7)) * 0x9e37_79b9
}

#[device]
fn halvings(x: u32, y: u32) -> u32 {
    let (mut rest, mut rounds) = (x, 0);
    while rest > y % 16 {
        rest /= 2;
        rounds += 1;
    }
    rounds
}

#[device]
fn sorted(x: u32, y: u32) -> u32 {
    let mut s = [Two { word: x, small: 1 }, Two { word: y, small: 2 }];
    if s[0].word > s[1].word {
        let first = s[0];
        s[0] = s[1];
        s[1] = first;
    }
    s[(s[0].small > 1) as u32].word ^ s[x % 2].mixed()
}

struct Inputs<T> {
    x: T,
    y: T,
    out: T,
}

/// A form, and what gives its results and those of the function beside it: on the host, on a device.
struct Form {
    name: &'static str,
    host: fn(&Inputs<HostBuffer<u32>>, u32),
    device: fn(&Rig, &Inputs<Buffer<u32>>, u32),
}

macro_rules! form {
    ($form:ident, $beside:ident) => {{
        #[derive(Captures)]
        struct Beside {
            x: Read<u32>,
            y: Read<u32>,
            out: Write<u32>,
        }

        #[kernel]
        impl Beside {
            fn run(&self, item: Item<1>) {
                let i = item.index();
                let (x, y) = (self.x[i], self.y[i]);
                self.out[2 * i] = $form(x, y);
                self.out[2 * i + 1] = $beside(y, x);
            }
        }

        Form {
            name: concat!(stringify!($form), " beside ", stringify!($beside)),
            host: |on, count| {
                let Inputs { x, y, out } = on;
                on_host([count], &Beside { x: x.into(), y: y.into(), out: out.into() });
            },
            device: |rig, on, count| {
                let Inputs { x, y, out } = on;
                let kernel = Beside { x: x.into(), y: y.into(), out: out.into() };
                let submitted = rig.queue.submit(|h| {
                    h.parallel_for(count, &kernel);
                });
                submitted.expect("submits");
            },
        }
    }};
}

macro_rules! forms {
    ($($form:ident)+) => {
        [$(form!($form, twisted), form!($form, halvings), form!($form, sorted)),+]
    };
}

/// Pairs in which the first number is less than, equal to, and greater than the second: small numbers, and random ones.
fn inputs() -> (Vec<u32>, Vec<u32>) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    let mut state = 0x9e37_79b9_u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    for k in 0..48 {
        let (x, y) = if k % 2 == 0 { (random() % 8, random() % 8) } else { (random(), random()) };
        xs.push(x);
        ys.push(if k % 5 == 0 { x } else { y });
    }
    (xs, ys)
}

#[test]
fn local_arrays_have_the_element_that_a_comparison_chooses() {
    let rig = rig!();
    let forms = forms! {
        read read_field write_field write_all write_and_copy out_of_range method method_of_many arrays_in_structs
        array_in_a_struct deep of_a_table tuples options vectors arrays_of_arrays words in_a_loop lent chosen
    };
    let (x, y) = inputs();
    let (count, nothing) = (x.len() as u32, vec![0; 2 * x.len()]);
    let buffer = |data: &[u32]| rig.context.buffer_from(data).expect("a buffer");
    let device = Inputs { x: buffer(&x), y: buffer(&y), out: buffer(&nothing) };
    let host = Inputs { x: HostBuffer::new(x), y: HostBuffer::new(y), out: HostBuffer::new(nothing) };
    let mut differing = Vec::new();
    for form in &forms {
        (form.host)(&host, count);
        (form.device)(&rig, &device, count);
        let results = device.out.download().expect("downloads");
        let wrong = results.iter().zip(&host.out.to_vec()).filter(|(device, host)| device != host).count();
        if wrong > 0 {
            differing.push(format!("{}: {wrong} of {}", form.name, results.len()));
        }
    }
    assert!(differing.is_empty(), "{} of {} differ: {differing:#?}", differing.len(), forms.len());
    rig.assert_no_validation_messages();
}
