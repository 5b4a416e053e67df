//! One memory seen in many ways: through several bindings, types, layouts, ranges and qualifiers, which kernels agree on
//! or not. Every list runs unfused and fused, with what goes through `m` in memory or inside the kernel, and with one or
//! several items in an invocation; every byte is compared, and the number of dispatches is the one that is right.
//!
//! The kernels are in `shaders/views`. A list names kernels with their arguments in order of binding: `<` read, `=`
//! written too, and words `@FIRST+COUNT` of a buffer. Work-groups have 64 items, lists 1,024.

use crate::support::{self, Rig, Size, Submit, Workload};
use vkfuse::{CacheOptions, ContextOptions, Promote, Tuning};

const ITEMS: u32 = 1024;

/// Words of every buffer.
const WORDS: u32 = 4 * ITEMS;

/// A list, its kernels apart from each other by `;`, and in how many dispatches it runs as long as all is in memory.
struct List(&'static str, u64);

const LISTS: &[List] = &[
    // A uniform buffer that another kernel writes is read from memory that is no longer constant.
    List("copy_words <a =m; from_uniform <m@0+1024 =o", 2),
    List("from_uniform <m@0+1024 =o; copy_words <a =m", 2),
    List("copy_words <a =m@1024+1024; from_uniform <m@0+1024 =o", 1),
    List("copy_words <a =m@512+1024; from_uniform <m@0+1024 =o", 2),
    List("from_uniform <m@0+1024 =m@1024+1024; words =m@1024+1024; copy_words <m@1024+1024 =o", 1),
    List("from_uniform <m@0+1024 =o; from_uniform <m@0+1024 =p; copy_words <m =a", 1),
    // Words, floats and signed words of one range.
    List("words =m; floats =m; ints =m; words =m; floats =m; copy_words <m =o", 1),
    List("words =m; copy_floats <a =m; words =m; copy_floats <m =o", 1),
    List("two_types =m =o; two_types =m =p; words =m", 1),
    List("copy_words <a =m; two_types =m =o; two_types =m =p", 1),
    List("floats =m; atomics =m =o; copy_floats <m =p; atomics =m =a", 1),
    // Claims that are true of one kernel and false of the list, or of what is bound.
    List("restrict_add <m =m; restrict_add <m =o; restrict_add <o =m", 1),
    List(
        "restrict_copy <m =o; restrict_words =m; restrict_copy <m =p; restrict_words =m; restrict_add <p =o",
        1,
    ),
    List("restrict_copy <a =m; restrict_words =m; floats =m; restrict_copy <m =o; restrict_add <m =o", 1),
    List("coherent_words =m; words =m; floats =m; coherent_words =m", 1),
    List("restrict_add <m@0+1024 =m@1024+1024; restrict_words =m@1024+1024; restrict_add <m@1024+1024 =o", 1),
    // Ranges that overlap.
    List("words =m@0+1024; floats =m; copy_words <m@0+1024 =o; ints =m@0+2048", 1),
    List("copy_words <a =m@0+1024; copy_words <m@64+1024 =o", 2),
    List("copy_words <m@64+1024 =o; restrict_words =m@0+1024", 2),
    List("copy_words <m@0+1024 =m@2048+1024; floats =m@2048+2048; ints =m@0+1024", 1),
    // Narrower and wider elements, and layouts.
    List("copy_words <a =m; bytes =m; copy_words <m =o; byte_vectors =m; words =m", 1),
    List("words =m; byte_vectors =m; floats =m; bytes =m; byte_vectors =m", 1),
    List("words =m; half_words =m; copy_words <m =o; half_words =m; copy_floats <m =p", 1),
    List("longs =m; word_pairs =m; longs =m; word_pairs =m", 1),
    List("structs =m; word_pairs =m; structs =m; longs =m", 1),
    List("structs =m; structs =m; structs =m", 1),
    List("vectors =m; word_quads =m; vectors =m; word_quads =m", 1),
    List("padded =m; padding =m; padded =m; vectors =m; padding =m", 1),
    List("matrices =m; vectors =m; matrix_rows =m; word_quads =m; matrices =m", 1),
    List("spread =m; spread =m; words =o", 1),
    List("spread =m; words =m", 2),
    List("vectors =m; words =m", 2),
    List("words =m; lengths =m =o; lengths =m@0+512 =p; words =o", 1),
    // State of the kernel's own, and an exchange in the work-group.
    List("private_state =m; private_state =m; words =m; private_state =m", 1),
    List("words =m; mirror_floats <m =o; floats =m; mirror_floats <m =p", 1),
    List("restrict_copy <a =m; mirror_floats <m =o; restrict_words =m; mirror_floats <m =p", 1),
];

/// How items are laid out: as the users wrote it, and four to an invocation by vectors.
fn tunings() -> [Tuning; 2] {
    let vectors = Tuning::new().work_group(64).items(4).vectors(true).serial_vectors(1).superword(4);
    [Tuning::new(), vectors]
}

fn rig(tuning: Tuning) -> Option<Rig> {
    let options = ContextOptions::from_env().validation_layer(true).cache(CacheOptions::default().no_disk());
    Rig::with(options.tuning(tuning))
}

/// The list with buffer `m` asked to stay inside or not; `n` is pushed to kernels that take a limit.
fn workload(text: &str, promote: Promote, limits: &[u32]) -> Workload {
    let mut workload = Workload::default();
    let names = ["a", "m", "o", "p"];
    let buffers = names.map(|name| {
        let seed = u32::from(name.as_bytes()[0]);
        workload.words(name, (0..WORDS).map(|i| (i + seed).wrapping_mul(0x9e37_79b9) ^ i << 7))
    });
    workload.promote(buffers[1], promote);
    let mut limits = limits.iter();
    for one in text.split(';') {
        let mut words = one.split_whitespace();
        let kernel = words.next().expect("a kernel");
        let mut submit = Submit::new(&format!("views/{kernel}"), Size::Items([ITEMS, 1, 1]));
        for (binding, argument) in (0..).zip(words) {
            let (access, place) = argument.split_at(1);
            let (name, range) =
                place.split_once('@').map_or((place, None), |(name, range)| (name, Some(range)));
            let buffer = buffers[names.iter().position(|known| *known == name).expect("a buffer")];
            submit = match access {
                "<" => submit.read(binding, buffer),
                _ => submit.read_write(binding, buffer),
            };
            if let Some((first, count)) = range.and_then(|range| range.split_once('+')) {
                submit = submit.range(first.parse().expect("a number"), count.parse().expect("a number"));
            }
        }
        if kernel == "guarded" {
            submit = submit.push(*limits.next().expect("a limit for each guarded kernel"));
        }
        workload.submit(submit);
    }
    workload
}

#[test]
fn every_view_of_one_memory_is_right_fused_and_unfused() {
    for tuning in tunings() {
        let Some(rig) = rig(tuning) else { return };
        for List(text, dispatches) in LISTS {
            let ran = workload(text, Promote::None, &[]).check_as_they_are(&rig);
            assert_eq!(ran.stats.dispatches, *dispatches, "{text}: {:?}", ran.report().plan.splits);
        }
    }
}

#[test]
fn what_is_promoted_is_right_whatever_its_views_are() {
    let mut inside = 0;
    for (tuning, promote) in
        [(tunings()[0], Promote::Auto), (tunings()[0], Promote::Local), (tunings()[1], Promote::Private)]
    {
        let Some(rig) = rig(tuning) else { return };
        for List(text, _) in LISTS {
            let ran = workload(text, promote, &[]).check_equal(&rig);
            inside += u32::from(ran.report().plan.buffers.iter().any(|b| b.reason.is_none()));
        }
    }
    // Some lists need what was in the buffer before, or see it as two types.
    assert!(inside >= 3, "{inside}");
}

/// No item, one, an odd number and all of them, in each kernel apart.
#[test]
fn limits_may_leave_nothing_to_do() {
    for tuning in tunings() {
        let Some(rig) = rig(tuning) else { return };
        for promote in [Promote::None, Promote::Private, Promote::Local, Promote::Auto] {
            for n in [[0; 3], [0, ITEMS, ITEMS], [ITEMS, 0, ITEMS], [ITEMS, ITEMS, 0], [1; 3], [777; 3]] {
                for text in [
                    "guarded <m =o; guarded <a =m; guarded <m =p",
                    "guarded <a =m; guarded <m =o; guarded <m =p",
                    "guarded <m =o; guarded <a =p; guarded <o =a",
                ] {
                    workload(text, promote, &n).check_equal(&rig);
                }
            }
        }
    }
}

/// Where the device has that model: buffers are shared as elsewhere.
#[test]
fn kernels_of_the_vulkan_memory_model_share_buffers() {
    let Some(rig) = rig(Tuning::new()) else { return };
    if rig.context.load_spirv(support::shader("views/vulkan_words")).is_ok() {
        let list = "vulkan_words =m; vulkan_words =m; vulkan_words =m";
        assert_eq!(workload(list, Promote::None, &[]).check_equal(&rig).stats.dispatches, 1);
    }
}
