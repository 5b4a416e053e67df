//! How fast the interpreter is. Run by hand: `cargo test --test interp -- --ignored --nocapture speed`.

use std::time::Instant;

use vkfuse_interp::{Memory, Options, Order, Program, execute};

use crate::harness::{dispatch, shader, words};

fn measure(name: &str, program: &Program, groups: u32, buffers: &[usize], push: &[u32]) {
    for order in [Order::Forward, Order::Shuffled, Order::Interleaved] {
        let mut memory = Memory::new();
        let objects: Vec<_> = buffers.iter().map(|len| memory.add(vec![0; *len])).collect();
        let dispatch = dispatch(program, [groups, 1, 1], &memory, &objects, push);
        let options = Options { order, ..Options::default() };
        let (mut steps, mut runs) = (0, 0);
        let begin = Instant::now();
        while begin.elapsed().as_millis() < 300 {
            steps += execute(std::slice::from_ref(&dispatch), &mut memory, &options).expect("runs").steps;
            runs += 1;
        }
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{name} {order:?}: {:.1} M instructions/s, {:.0} us a run",
            steps as f64 / seconds / 1e6,
            seconds * 1e6 / f64::from(runs)
        );
    }
}

#[test]
#[ignore = "measures, checks nothing"]
fn speed() {
    measure("saxpy 1024", &shader!("saxpy"), 16, &[4096, 4096, 4096], &[1024, 0]);
    measure("saxpy 32", &shader!("saxpy"), 1, &[4096, 4096, 4096], &[32, 0]);
    measure("control 1024", &shader!("control_optimised"), 128, &[4096, 4096], &[]);
    measure("histogram 1024", &shader!("histogram"), 32, &[4096, 32], &[]);
    measure("rows 64 x 256", &shader!("rows"), 64, &[65536], &[256]);
    let module = words(include_bytes!("shaders/rows.spv"));
    let begin = Instant::now();
    for _ in 0..1000 {
        Program::decode(&module).expect("decodes");
    }
    println!("decode rows ({} words): {:.1} us", module.len(), begin.elapsed().as_secs_f64() * 1e3);
}
