//! Kernels with arrays of descriptors: each element is bound, ordered and rebound as an argument of its own.

use super::around::{Around, N, line};
use crate::support::{Rig, own, shader};
use vkfuse::error::SubmitError;
use vkfuse::vulkano::{
    format::Format,
    image::{
        sampler::{Filter, SamplerCreateInfo},
        view::ImageViewType,
    },
};
use vkfuse::{
    Accessor, Buffer, Context, Error, Event, FusionProperties, FusionWrapper, Image, Kernel, QueueOptions,
    SetBinding,
};

fn numbers(seed: u32) -> Vec<f32> {
    (0..N).map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 20) as f32).collect()
}

fn plus(numbers: &[f32], add: f32) -> Vec<f32> {
    numbers.iter().map(|x| x + add).collect()
}

fn buffer(rig: &Rig, numbers: &[f32]) -> Buffer<f32> {
    rig.context.buffer_from(numbers).unwrap()
}

/// A kernel that chooses elements by numbers that are no constants, if the device can do that. If not, it says so.
fn dynamic(rig: &Rig, name: &str) -> Option<Kernel> {
    match rig.context.load_spirv(shader(name)) {
        Ok(kernel) => Some(kernel),
        Err(Error::Submit { problem, .. }) => {
            let is_typed =
                matches!(problem, SubmitError::DynamicIndexing { .. } | SubmitError::Requirement { .. });
            assert!(is_typed, "{problem}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// `rows[to] = rows[from] + 1`
fn pushed(rig: &Rig, rows: &[&Buffer<f32>], from: u32, to: u32) -> Result<Event, Error> {
    let kernel = rig.kernel("arrays/pushed");
    rig.queue.submit(|h| {
        h.args((1, 2), rows.iter().copied()).push(&[N, from, to]).dispatch_items(&kernel, [N, 1, 1]);
    })
}

fn problem(of: Result<Event, Error>) -> SubmitError {
    match of {
        Err(Error::Submit { problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

/// By constants, by a push constant and by what each item chooses; in order with everything else that uses an element.
#[test]
fn elements_are_bound_and_ordered() {
    let rig = rig!();
    let rows: Vec<Buffer<f32>> = (0..4).map(|seed| buffer(&rig, &numbers(seed))).collect();
    let biases = [1.0f32, 0.5].map(|bias| rig.context.buffer_from(&[bias; 4]).unwrap());
    let (constant, chosen) = (rig.kernel("arrays/constant"), dynamic(&rig, "arrays/chosen"));
    let out = buffer(&rig, &numbers(9));
    for round in 0..4 {
        rows[3].upload(&numbers(3)).unwrap();
        rig.queue
            .submit(|h| {
                // In any order, and one by one.
                h.arg(SetBinding::from(0).element(3), &rows[3]);
                h.args(1, biases.iter().map(Buffer::read));
                h.arg(SetBinding::from(0).element(1), rows[1].read_write()).arg(0, &rows[0]);
                h.arg(SetBinding::from(0).element(2), &rows[2]).push(&N).dispatch_items(&constant, [N, 1, 1]);
            })
            .unwrap();
        let sum: Vec<f32> =
            (0..N as usize).map(|i| (0..4).map(|seed| numbers(seed)[i]).sum::<f32>() + 0.5).collect();
        pushed(&rig, &[&rows[3], &out, &rows[0], &rows[1], &rows[2]], 0, 1).unwrap();
        assert_eq!(out.download().unwrap(), plus(&sum, 1.0), "round {round}");
        let Some(chosen) = &chosen else { continue };
        let with = [&rows[3], &out, &rows[0]];
        rig.queue
            .submit(|h| {
                h.args(0, with.map(Buffer::read)).arg(1, rows[1].write()).push(&N);
                h.dispatch_items(chosen, [N, 1, 1]);
            })
            .unwrap();
        let wanted: Vec<f32> =
            (0..N as usize).map(|i| [sum[i], sum[i] + 1.0, numbers(0)[i]][i % 3] * 2.0).collect();
        assert_eq!(rows[1].download().unwrap(), wanted, "round {round}");
        rows[1].upload(&numbers(1)).unwrap();
    }
    rig.assert_no_validation_messages();
}

/// A chain through a pool, one dispatch behind another that writes another element than it reads: each has to be seen.
#[test]
fn every_element_is_a_hazard() {
    let rig = rig!();
    let rows: Vec<Buffer<f32>> = (0..5).map(|_| buffer(&rig, &[0.0; N as usize])).collect();
    let all: Vec<&Buffer<f32>> = rows.iter().collect();
    for fused in [false, true, true, true] {
        rows[0].upload(&numbers(7)).unwrap();
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        if fused {
            fusion.start_fusion().unwrap();
        }
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (2, 1)] {
            pushed(&rig, &all, from, to).unwrap();
            // Between them one that knows nothing of arrays.
            line(&rig, &rows[to as usize], &rows[(to as usize + 1) % 5]);
            pushed(&rig, &all, (to + 1) % 5, to).unwrap();
        }
        if fused {
            let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
            event.wait().unwrap();
            assert_eq!(event.report().unwrap().dispatches, 21);
        }
        let mut model = vec![vec![0.0; N as usize]; 5];
        model[0] = numbers(7);
        // What the rows held before is overwritten before it is read.
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (2, 1usize)] {
            model[to] = plus(&model[from], 1.0);
            let next = (to + 1) % 5;
            model[next] = plus(&model[to], 1.0);
            model[to] = plus(&model[next], 1.0);
        }
        for (row, wanted) in rows.iter().zip(&model) {
            assert_eq!(row.download().unwrap(), *wanted, "fused: {fused}");
        }
    }
    rig.assert_no_validation_messages();
}

/// A barrier stands between two dispatches exactly where they have an element in common, whichever it is.
#[test]
fn barriers_stand_where_elements_meet() {
    let rig = rig!();
    let rows: Vec<Buffer<f32>> = (0..11).map(|_| buffer(&rig, &numbers(0))).collect();
    let (pool, other): (Vec<&Buffer<f32>>, Vec<&Buffer<f32>>) =
        (rows[..5].iter().collect(), rows[5..10].iter().collect());
    // The pipelines, and what is read below, are there before anything is counted.
    pushed(&rig, &pool, 0, 1).unwrap();
    pushed(&rig, &other, 0, 1).unwrap();
    line(&rig, &rows[0], &rows[10]);
    rig.context.wait().unwrap();
    let barriers = |submit: &dyn Fn()| {
        rig.context.wait().unwrap();
        let before = rig.context.stats();
        let done = rig.queue.fuse(|_| {
            submit();
            Err(Error::custom("cancelled, so that all run one by one"))
        });
        assert!(done.is_err());
        let ran = rig.context.stats() - before;
        assert_eq!(ran.dispatches, 2);
        ran.barriers
    };
    let run = |rows: &[&Buffer<f32>]| drop(pushed(&rig, rows, 0, 1).unwrap());
    assert_eq!(barriers(&|| [&pool, &other].into_iter().for_each(|rows| run(rows))), 0);
    assert_eq!(barriers(&|| [&pool, &pool].into_iter().for_each(|rows| run(rows))), 1);
    for element in 0..5 {
        let mut met = other.clone();
        met[4 - element] = pool[element];
        assert_eq!(barriers(&|| [&pool, &met].into_iter().for_each(|rows| run(rows))), 1, "{element}");
        let write = || {
            run(&pool);
            line(&rig, &rows[10], pool[element]);
        };
        assert_eq!(barriers(&write), 1, "element {element} is written afterwards");
        let read = || {
            line(&rig, pool[element], &rows[10]);
            run(&pool);
        };
        assert_eq!(barriers(&read), 1, "element {element} was read before");
    }
    // An array that is only read.
    let constant = rig.kernel("arrays/constant");
    let sum = || {
        let submitted = rig.queue.submit(|h| {
            h.args(0, pool[..4].iter().copied()).args(1, [other[0].read(), other[1].read()]).push(&N);
            h.dispatch_items(&constant, [N, 1, 1]);
        });
        submitted.unwrap();
    };
    sum();
    for (element, bias) in other.iter().enumerate().take(2) {
        let write = || {
            line(&rig, &rows[10], bias);
            sum();
        };
        assert_eq!(barriers(&write), 1, "element {element} is read");
        let read = || {
            line(&rig, bias, &rows[10]);
            sum();
        };
        assert_eq!(barriers(&read), 0, "element {element} is only read");
    }
    let apart = || {
        run(&pool);
        line(&rig, &rows[10], other[0]);
    };
    assert_eq!(barriers(&apart), 0);
    rig.assert_no_validation_messages();
}

/// What the host reads, or another queue uses, of a list that is not complete, ends it, whichever element it is.
#[test]
fn lists_end_where_an_element_is_used() {
    let rig = rig!();
    let rows: Vec<Buffer<f32>> = (0..6).map(|_| buffer(&rig, &numbers(0))).collect();
    let pool: Vec<&Buffer<f32>> = rows[..5].iter().collect();
    let other = rig.context.queue(QueueOptions::new()).unwrap();
    let kernel = rig.kernel("library/line");
    for element in 1..5 {
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        rows[element].upload(&numbers(3)).unwrap();
        pushed(&rig, &pool, 0, element as u32).unwrap();
        assert!(fusion.is_in_fusion_mode());
        assert_eq!(rows[5].download().unwrap(), numbers(0));
        assert!(fusion.is_in_fusion_mode());
        assert_eq!(rows[element].download().unwrap(), plus(&numbers(0), 1.0));
        assert!(!fusion.is_in_fusion_mode());

        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        pushed(&rig, &pool, element as u32, 0).unwrap();
        other
            .submit(|h| {
                h.arg(0, rows[5].read()).arg(1, rows[element].write()).push(&N);
                h.dispatch_items(&kernel, [N, 1, 1]);
            })
            .unwrap();
        assert!(!fusion.is_in_fusion_mode());
        assert_eq!(rows[0].download().unwrap(), plus(&numbers(0), 2.0));
        rows[0].upload(&numbers(0)).unwrap();
    }
    rig.assert_no_validation_messages();
}

/// The same buffer in several places of an array, and parts of one buffer as elements.
#[test]
fn elements_may_be_the_same_bytes_or_disjoint_ones() {
    let rig = rig!();
    let (a, b) = (buffer(&rig, &numbers(1)), buffer(&rig, &numbers(2)));
    pushed(&rig, &[&a, &a, &b, &a, &b], 3, 4).unwrap();
    pushed(&rig, &[&a, &a, &b, &a, &b], 2, 1).unwrap();
    assert_eq!(a.download().unwrap(), plus(&numbers(1), 2.0));
    // In place.
    pushed(&rig, &[&a, &a, &a, &a, &a], 1, 3).unwrap();
    assert_eq!(a.download().unwrap(), plus(&numbers(1), 3.0));

    let pool = rig.context.buffer_from(&vec![0.0f32; 5 * 1024]).unwrap();
    let kernel = rig.kernel("arrays/pushed");
    let parts = |starts: [usize; 5]| {
        rig.queue.submit(|h| {
            let parts = starts.map(|start| pool.read_write().range(start, 1024));
            h.args((1, 2), parts).push(&[N, 0, 4]).dispatch_items(&kernel, [N, 1, 1]);
        })
    };
    pool.upload(&(0..5 * 1024).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    parts([0, 1024, 2048, 3072, 4096]).unwrap();
    let held = pool.download().unwrap();
    assert_eq!((held[4096], held[4096 + 999], held[4096 + 1000]), (1.0, 1000.0, 5096.0));
    // Elements that overlap in part: what is written is not what another one reads.
    pool.upload(&(0..5 * 1024).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    parts([0, 512, 2048, 3072, 4096]).unwrap();
    let held = pool.download().unwrap();
    assert_eq!((held[4096], held[4096 + 999], held[4096 + 1000]), (1.0, 1000.0, 5096.0));
    rig.assert_no_validation_messages();
}

/// Constants say which elements are only read, and all of them may overlap.
#[test]
fn elements_may_overlap() {
    let rig = rig!();
    let held: Vec<f32> = (0..5 * 1024).map(|i| i as f32).collect();
    let pool = rig.context.buffer_from(&held).unwrap();
    let biases = [1.0f32, 0.5].map(|bias| rig.context.buffer_from(&[bias; 4]).unwrap());
    let kernel = rig.kernel("arrays/constant");
    let specialized = kernel.specialized(&[]).unwrap();
    let bindings = specialized.interface.bindings.iter();
    let of_rows = bindings.filter(|binding| binding.at.whole() == SetBinding::from(0));
    let accessed: Vec<(bool, bool)> = of_rows.map(|binding| (binding.reads, binding.writes)).collect();
    assert_eq!(accessed, [(true, false), (true, false), (true, false), (true, true)]);
    let sum = |starts: [usize; 4]| {
        rig.queue.submit(|h| {
            let accessors = [pool.read(), pool.read(), pool.read(), pool.read_write()];
            h.args(0, accessors.into_iter().zip(starts).map(|(accessor, start)| accessor.range(start, 1024)));
            h.args(1, biases.iter().map(Buffer::read)).push(&N).dispatch_items(&kernel, [N, 1, 1]);
        })
    };
    sum([0, 512, 1024, 4096]).unwrap();
    let found = pool.download().unwrap();
    let wanted = |i: usize| match i.checked_sub(4096) {
        Some(k) if k < N as usize => held[i] + held[k] + held[512 + k] + held[1024 + k] + 0.5,
        _ => held[i],
    };
    (0..held.len()).for_each(|i| assert_eq!(found[i], wanted(i), "element {i}"));
    // What is written may overlap what is read, by elements that the kernel does not write.
    if rig.context.device_info().limits.storage_offset_align > 32 {
        return;
    }
    pool.upload(&held).unwrap();
    sum([1024, 2048, 3072, 4096 - 24]).unwrap();
    let found = pool.download().unwrap();
    (0..N as usize).for_each(|k| {
        let wanted = held[4072 + k] + held[1024 + k] + held[2048 + k] + held[3072 + k] + 0.5;
        assert_eq!(found[4072 + k], wanted, "element {k}");
    });
    rig.assert_no_validation_messages();
}

#[test]
fn lists_fuse_around_them_and_are_kept_and_rebound() {
    let rig = rig!();
    let (before, after) = (numbers(0), plus(&numbers(0), 5.0));
    let around = Around { rig: &rig, before, after, why: "DescriptorArray" };
    let alone = |[_, b, c, d, e]: &[Buffer<f32>; 5]| {
        pushed(&rig, &[e, c, b, d, b], 1, 3).unwrap();
    };
    let (buffers, others) = (around.buffers(), around.buffers());
    for (round, buffers) in [&buffers, &buffers, &buffers, &buffers, &others].into_iter().enumerate() {
        around.check(&around.run(buffers, &|| alone(buffers)), buffers, &format!("round {round}"));
    }
    let kept = around.kept_and_rebound(&buffers, &|| alone(&buffers));
    // One element that no other kernel of the list has; another length; one that is in the list already.
    let one = buffer(&rig, &vec![-1.0; N as usize]);
    assert!(kept.rebind().buffer(&buffers[3], &one).finish().is_ok());
    let longer = rig.context.buffer::<f32>(N as usize + 1).unwrap();
    assert!(kept.rebind().buffer(&buffers[3], &longer).finish().is_err());
    assert!(kept.rebind().buffer(&buffers[3], &buffers[4]).finish().is_err());
    rig.assert_no_validation_messages();
}

/// An imported buffer is an element like any other, and its aliases are seen. The device was opened without what indexing by numbers
/// that are no constants needs.
#[test]
fn imported_buffers_are_elements() {
    let Some(own) = own::Own::open() else { return };
    let rig = Rig::over(own.context());
    let given = own.buffer(u64::from(4 * N), true);
    let [imported, alias] = [(); 2].map(|()| own::import::<f32>(&rig.context, &given, 0..u64::from(4 * N)));
    let (b, c) = (buffer(&rig, &numbers(1)), buffer(&rig, &numbers(2)));
    let bias = rig.context.buffer_from(&[0.0f32; 4]).unwrap();
    let kernel = rig.kernel("arrays/constant");
    // Sums of three, and of the last itself.
    let sum = |rows: [&Buffer<f32>; 4]| {
        let submitted = rig.queue.submit(|h| {
            h.args(0, rows).args(1, [bias.read(), bias.read()]).push(&N).dispatch_items(&kernel, [N, 1, 1]);
        });
        submitted.unwrap();
    };
    for round in 0..6 {
        imported.upload(&numbers(5)).unwrap();
        b.upload(&numbers(1)).unwrap();
        c.upload(&numbers(2)).unwrap();
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        if round > 1 {
            fusion.start_fusion().unwrap();
        }
        sum([&imported, &b, &b, &c]);
        // In place, by way of the other one.
        sum([&c, &b, &c, &alias]);
        line(&rig, &imported, &b);
        if round > 1 {
            fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
        }
        let wanted = |i: usize| {
            let (x, y, z) = (numbers(5)[i], numbers(1)[i], numbers(2)[i]);
            let sum = x + y + y + z;
            x + (sum + y + sum) + 1.0
        };
        let found = b.download().unwrap();
        (0..N as usize).for_each(|i| assert_eq!(found[i], wanted(i), "round {round}, element {i}"));
        assert_eq!(alias.download().unwrap(), plus(&found, -1.0), "round {round}");
    }
    assert!(!own.device.enabled_features().shader_storage_buffer_array_dynamic_indexing);
    let lacking = |name: &str| rig.context.load_spirv(shader(name)).unwrap_err().to_string();
    assert!(lacking("arrays/pushed").contains("lacks `shaderStorageBufferArrayDynamicIndexing`"));
    assert!(lacking("arrays/images.counted").contains("lacks `shaderSampledImageArrayDynamicIndexing`"));
    for name in ["arrays/chosen", "arrays/texels.pushed"] {
        assert!(lacking(name).contains("Indexing, which"), "{}", lacking(name));
    }
    drop((rig, imported, alias, b, c, bias, kernel));
    assert_eq!(own.close(), 0);
}

const W: u32 = 21;
const H: u32 = 13;

fn image(context: &Context) -> Image {
    context.image(ImageViewType::Dim2d, Format::R32_SFLOAT, [W, H, 1], 1).unwrap()
}

fn texels(image: &Image) -> Vec<f32> {
    let bytes = image.download().unwrap();
    bytes.as_chunks::<4>().0.iter().map(|texel| f32::from_ne_bytes(*texel)).collect()
}

#[test]
fn images_and_samplers_come_in_arrays() {
    let rig = rig!();
    let kernels: Vec<Kernel> = ["arrays/images.constant", "arrays/images.counted"]
        .into_iter()
        .filter_map(|name| dynamic(&rig, name))
        .collect();
    let kernel = &kernels[0];
    let filled = |value: f32| {
        let image = image(&rig.context);
        image.upload(bytemuck::cast_slice(&vec![value; (W * H) as usize])).unwrap();
        image
    };
    let textures = [1.0, 2.0, 4.0].map(filled);
    let images = [0.0, 100.0].map(filled);
    let nearest = |filter| {
        let info =
            SamplerCreateInfo { mag_filter: filter, min_filter: filter, ..SamplerCreateInfo::default() };
        rig.context.sampler(info).unwrap()
    };
    let samplers = [nearest(Filter::Nearest), nearest(Filter::Nearest)];
    let run = |kernel: &Kernel| {
        rig.queue.submit(|h| {
            h.args(0, textures.iter().map(Image::read)).args(1, &samplers).args(2, &images);
            let combined = [textures[1].sampled(&samplers[0]), textures[2].sampled(&samplers[1])];
            h.args(3, combined).dispatch_items(kernel, [W, H, 1]);
        })
    };
    for (round, kernel) in (1..4).zip(kernels.iter().cycle()) {
        run(kernel).unwrap();
        assert_eq!(texels(&images[0]), vec![13.0; (W * H) as usize]);
        assert_eq!(texels(&images[1]), vec![100.0 + 13.0 * round as f32; (W * H) as usize]);
    }
    // An element of another kind, of another format, and a buffer; the same image as sampled and as written.
    let ints = rig.context.image(ImageViewType::Dim2d, Format::R32_UINT, [W, H, 1], 1).unwrap();
    let with = |element: Accessor| {
        rig.queue.submit(|h| {
            h.args(0, [textures[0].read(), element, textures[2].read()]).args(1, &samplers).args(2, &images);
            let combined = [textures[1].sampled(&samplers[0]), textures[2].sampled(&samplers[1])];
            h.args(3, combined).dispatch_items(kernel, [W, H, 1]);
        })
    };
    let numbers = buffer(&rig, &numbers(0));
    for wrong in [ints.read(), Accessor::from(&samplers[0]), numbers.read()] {
        match problem(with(wrong)) {
            SubmitError::WrongResource { at: SetBinding { binding: 0, element: 1, .. }, .. } => {}
            other => panic!("{other}"),
        }
    }
    rig.assert_no_validation_messages();
}

#[test]
fn texels_come_in_arrays() {
    let rig = rig!();
    let constant = rig.kernel("arrays/texels.constant");
    let pushed = dynamic(&rig, "arrays/texels.pushed");
    let buffers: Vec<Buffer<f32>> = (0..4).map(|seed| buffer(&rig, &numbers(seed))).collect();
    let views: Vec<_> = buffers.iter().map(|buffer| buffer.texels(Format::R32_SFLOAT).unwrap()).collect();
    let sum = |round: usize| {
        let kernel = pushed.as_ref().filter(|_| round % 2 == 1);
        rig.queue.submit(|h| {
            h.args(0, &views[..2]).args(1, &views[2..]);
            if kernel.is_some() {
                h.push(&1i32);
            }
            h.dispatch_items(kernel.unwrap_or(&constant), [N, 1, 1]);
        })
    };
    let wanted: Vec<f32> = numbers(0).iter().zip(numbers(1)).map(|(x, y)| x + y).collect();
    for round in 0..4 {
        buffers[1].upload(&plus(&numbers(1), -1.0)).unwrap();
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        line(&rig, &buffers[1], &buffers[2]);
        line(&rig, &buffers[2], &buffers[1]);
        sum(round).unwrap();
        line(&rig, &buffers[3], &buffers[2]);
        fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
        assert_eq!(buffers[2].download().unwrap(), plus(&wanted, 2.0), "round {round}");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn what_does_not_fit_is_an_error() {
    let rig = rig!();
    let rows: Vec<Buffer<f32>> = (0..6).map(|seed| buffer(&rig, &numbers(seed))).collect();
    let all: Vec<&Buffer<f32>> = rows.iter().collect();
    for given in [1, 4, 6] {
        let found = problem(pushed(&rig, &all[..given], 0, 1));
        match &found {
            SubmitError::ArrayLength { at, len: 5, given: counted, .. } if *counted == given => {
                assert_eq!(*at, SetBinding::from((1, 2)));
            }
            other => panic!("{other}"),
        }
        assert!(found.to_string().contains(&format!("has 5 elements, and got {given}")), "{found}");
    }
    assert!(matches!(problem(pushed(&rig, &[], 0, 1)), SubmitError::MissingBinding { .. }));
    let kernel = rig.kernel("arrays/pushed");
    let at = SetBinding::from((1, 2));
    let elements = |elements: [u32; 5]| {
        rig.queue.submit(|h| {
            for (row, element) in rows.iter().zip(elements) {
                h.arg(at.element(element), row);
            }
            h.push(&[N, 0, 1]).dispatch_items(&kernel, [N, 1, 1]);
        })
    };
    let repeated = problem(elements([0, 1, 2, 3, 3]));
    assert!(matches!(repeated, SubmitError::RepeatedBinding { at: found } if found == at.element(3)));
    let missing = problem(elements([0, 1, 2, 3, u32::MAX]));
    assert!(matches!(missing, SubmitError::MissingBinding { at: found, .. } if found == at.element(4)));
    assert_eq!(at.element(4).to_string(), "element 4 of binding 2 of set 1");
    // Several arguments where there is no array.
    let line = rig.kernel("library/line");
    let found = problem(rig.queue.submit(|h| {
        h.args(0, &rows[..2]).arg(1, &rows[2]).push(&N).dispatch_items(&line, [N, 1, 1]);
    }));
    assert!(matches!(found, SubmitError::ArrayLength { len: 1, given: 2, .. }), "{found}");
    // Of the elements, each is checked.
    let short = rig.context.buffer::<f32>(4).unwrap();
    let kernel = rig.kernel("arrays/constant");
    let biases = |second: Accessor| {
        rig.queue.submit(|h| {
            h.args(0, &rows[..4])
                .args(1, [rows[4].read(), second])
                .push(&N)
                .dispatch_items(&kernel, [N, 1, 1]);
        })
    };
    biases(short.read()).unwrap();
    let found = problem(biases(rig.context.buffer::<u8>(2).unwrap().read()));
    assert!(matches!(found, SubmitError::TooSmall { at: SetBinding { element: 1, .. }, .. }), "{found}");
    let found = problem(rig.queue.submit(|h| {
        h.args(0, rows[..4].iter().map(Buffer::read)).args(1, [&rows[4], &rows[5]]).push(&N);
        h.dispatch_items(&kernel, [N, 1, 1]);
    }));
    assert!(
        matches!(found, SubmitError::WriteThroughRead { at: SetBinding { element: 3, .. }, .. }),
        "{found}"
    );
    // A length that no one says.
    assert!(dynamic(&rig, "arrays/unsized").is_none());
    rig.assert_no_validation_messages();
}
