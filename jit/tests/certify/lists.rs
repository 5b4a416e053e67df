//! Lists of the kernels in `shaders/`, and of kernels that a planner may get wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vkfuse_fuzz::devices::desktop;
use vkfuse_jit::kernel::{Kernel, Module, Specialized};
use vkfuse_jit::plan::{Arg, BufferId, Limits, Promote, ShapeLimits, SmallScalars, Submission};

/// A list with a name.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) list: Vec<Submission>,
}

/// Bytes of every buffer.
const BYTES: u64 = 1 << 16;

pub(crate) fn limits(items: u32) -> Limits {
    Limits {
        max_storage_buffers: 32,
        shape: ShapeLimits { group_size: 0, items, vectors: items > 1, ..ShapeLimits::default() },
        small_scalars: SmallScalars { int8: true, int16: true, float16: true },
        ..desktop()
    }
}

fn load(file: &Path) -> Option<Arc<Specialized>> {
    let bytes = std::fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let name = file.file_stem()?.to_str()?;
    let module = Module::from_bytes(name, &bytes).ok()?;
    Kernel::new(&module, None).ok()?.specialize(&[]).ok()
}

/// A kernel on these buffers, one for each of its bindings; `wish` for those it shares with another.
fn submit(
    kernel: &Arc<Specialized>,
    buffers: &[u64],
    shared: &[u64],
    wish: Promote,
    push: &[u32],
) -> Submission {
    let interface = &kernel.interface;
    let args = interface.bindings.iter().zip(buffers).map(|(binding, &buffer)| Arg {
        at: binding.at,
        buffer: BufferId(buffer),
        offset: 0,
        len: BYTES,
        promote: if shared.contains(&buffer) { wish } else { Promote::None },
        numbers: None,
        image: None,
    });
    let size = interface.push.as_ref().map_or(0, |p| p.size as usize);
    let mut bytes: Vec<u8> = push.iter().cycle().take(32).flat_map(|n| n.to_le_bytes()).collect();
    bytes.resize(size.max(4), 0);
    bytes.truncate(size);
    let is_line = interface.local_size[1..] == [1, 1];
    Submission {
        kernel: kernel.clone(),
        base: [0; 3],
        groups: if is_line { [16, 1, 1] } else { [4, 4, 1] },
        args: args.collect(),
        push: bytes.into(),
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "spv") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A kernel, and one that reads what the first writes.
fn pair(a: &Arc<Specialized>, b: &Arc<Specialized>, wish: Promote) -> Option<Vec<Submission>> {
    let (first, second) = (&a.interface.bindings, &b.interface.bindings);
    let out = first.iter().position(|b| b.writes)?;
    let into = second.iter().position(|b| b.reads)?;
    let buffers_a: Vec<u64> = (0..first.len() as u64).collect();
    let mut buffers_b: Vec<u64> = (0..second.len() as u64).map(|n| 100 + n).collect();
    buffers_b[into] = out as u64;
    let shared = [out as u64];
    let push = [1000, 40, 25];
    Some(vec![submit(a, &buffers_a, &shared, wish, &push), submit(b, &buffers_b, &shared, wish, &push)])
}

/// Every kernel of `shaders/` followed by itself and by its neighbour.
pub(crate) fn corpus() -> Vec<Named> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders");
    let loaded: Vec<(PathBuf, Arc<Specialized>)> =
        files(&folder).into_iter().filter_map(|file| Some((file.clone(), load(&file)?))).collect();
    let mut lists = Vec::new();
    for (n, (file, kernel)) in loaded.iter().enumerate() {
        let next = loaded.get(n + 1).filter(|(other, _)| other.parent() == file.parent());
        for (to, other) in [Some(&loaded[n]), next].into_iter().flatten() {
            for wish in [Promote::None, Promote::Auto, Promote::Local] {
                if let Some(list) = pair(kernel, other, wish) {
                    let name = |p: &Path| p.strip_prefix(&folder).unwrap_or(p).display().to_string();
                    lists.push(Named { name: format!("{} and {}, {wish:?}", name(file), name(to)), list });
                }
            }
        }
    }
    lists
}

/// The lists of `examples/pipelines`, and others as they are benched.
pub(crate) fn workloads() -> Vec<Named> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders");
    let kernel = |name: &str| load(&folder.join(name)).expect("a kernel of shaders/");
    let mut lists = Vec::new();
    let mut add = |name: &str, wish: Promote, inner: &[u64], push: &[u32], kernels: &[(&str, &[u64])]| {
        let list = kernels.iter().map(|&(file, buffers)| submit(&kernel(file), buffers, inner, wish, push));
        lists.push(Named { name: format!("{name}, {wish:?}"), list: list.collect() });
    };
    for wish in [Promote::None, Promote::Private, Promote::Local, Promote::Auto] {
        let (mul, sub) = ("chain/mul.spv", "chain/sub.spv");
        let chain: [(&str, &[u64]); 4] =
            [(mul, &[0, 1, 4]), (sub, &[0, 2, 5]), (mul, &[5, 3, 6]), (sub, &[4, 6, 7])];
        add("chain", wish, &[4, 5, 6], &[1000], &chain);
        add("chain of whole groups", wish, &[4, 5, 6], &[1024], &chain);
        let softmax: [(&str, &[u64]); 4] = [
            ("softmax/row_max.spv", &[0, 1]),
            ("softmax/exp_sub.spv", &[0, 1, 2]),
            ("softmax/row_sum.spv", &[2, 3]),
            ("softmax/divide.spv", &[2, 3, 4]),
        ];
        add("softmax", wish, &[1, 2, 3], &[1024], &softmax);
        add("softmax of 1,000", wish, &[1, 2, 3], &[1000], &softmax);
        add(
            "mirrored",
            wish,
            &[2],
            &[1024],
            &[("pair/add_mirrored.spv", &[0, 1, 2]), ("pair/mul.spv", &[2, 3, 4])],
        );
        add(
            "four",
            wish,
            &[2],
            &[1024],
            &[("pair/add_four.spv", &[0, 1, 2]), ("pair/mul_four.spv", &[2, 3, 4])],
        );
        add(
            "2-D",
            wish,
            &[2],
            &[40, 25],
            &[("pair/add_2d.spv", &[0, 1, 2]), ("pair/mul_2d.spv", &[2, 3, 4])],
        );
    }
    for wish in [Promote::None, Promote::Auto] {
        for (border, buffers) in [("constant", &[0, 1][..]), ("channel", &[0, 4, 1]), ("replicate", &[0, 1])]
        {
            let padding = kernel(&format!("mobile/padding.{border}.spv"));
            let (numbers, filter) = ([3, 14, 14, 196, 16, 16, 1, 256, 1, 1], [16, 16, 256, 14, 14, 1, 196]);
            let list = vec![
                submit(&padding, buffers, &[1], wish, &numbers),
                submit(&kernel("mobile/depthwise.spv"), &[1, 2, 3], &[1], wish, &filter),
            ];
            lists.push(Named { name: format!("padding, {border}, {wish:?}"), list });
        }
    }
    lists
}

/// Kernels that return too early, access other places than it seems, or leave gaps.
pub(crate) fn traps() -> Vec<Named> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certify/kernels");
    let kernel = |name: &str| load(&folder.join(format!("{name}.spv"))).expect("a kernel of this test");
    let mut lists = Vec::new();
    let mut add = |a: (&str, &[u64]), b: (&str, &[u64]), push: &[u32]| {
        for wish in [Promote::None, Promote::Private, Promote::Local, Promote::Auto] {
            let shared: Vec<u64> = a.1.iter().copied().filter(|n| b.1.contains(n)).collect();
            let list = [a, b].map(|(name, buffers)| submit(&kernel(name), buffers, &shared, wish, push));
            lists.push(Named {
                name: format!("{} and {}, {push:?}, {wish:?}", a.0, b.0),
                list: list.to_vec(),
            });
        }
    };
    add(("early_return", &[0, 1]), ("twice", &[1, 2]), &[]);
    add(("test_after", &[0, 1]), ("sum_four", &[1, 2]), &[]);
    add(("test_after_cell", &[0, 3, 1]), ("sum_four", &[1, 2]), &[]);
    for m in [0, 2, 3] {
        add(("test_after_number", &[0, 1]), ("sum_four", &[1, 2]), &[m]);
        add(("test_after_exit", &[0, 1]), ("sum_four", &[1, 2]), &[m]);
    }
    add(("cell_write", &[0, 1, 2]), ("cell_read", &[2, 1, 3]), &[]);
    add(("two_arrays", &[0, 1]), ("two_arrays_read", &[1, 2]), &[]);
    add(("columns", &[0, 1]), ("column_tail", &[1, 2]), &[]);
    lists
}
