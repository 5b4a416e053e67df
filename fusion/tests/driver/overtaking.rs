//! Several hardware queues that hand on their work whenever they like: order comes from waits alone.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use vkfuse::{
    Buffer, CacheOptions, Context, ContextOptions, Error, FusionProperties, FusionWrapper, QueueOptions,
};
use vulkano::buffer::{BufferCreateInfo, BufferUsage, Subbuffer};
use vulkano::memory::allocator::{AllocationCreateInfo, StandardMemoryAllocator};

use super::{context_with, mock, mock::queues, pick, support, support::own::import};

const N: usize = 200;

/// Random submissions to queues on different hardware queues, over few buffers; some listed. Whether all bytes are right.
fn random(seed: u64, rounds: usize) -> Option<bool> {
    let context = context_with(queues::QUEUES, CacheOptions::new().no_disk())?;
    let kernel = context.load_spirv(support::shader("pair/scale")).unwrap();
    let copy = context.load_spirv(support::shader("pair/add")).unwrap();
    let queues: Vec<_> = (0..queues::QUEUES)
        .map(|_| context.queue(QueueOptions::new().enable_fusion(true)).unwrap())
        .collect();
    let mut held: Vec<Vec<i32>> = (0..5).map(|b| (0..N as i32).map(|i| i * (b + 1)).collect()).collect();
    let buffers: Vec<Buffer<i32>> = held.iter().map(|data| context.buffer_from(data).unwrap()).collect();
    let mut state = seed | 1;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let mut is_right = true;
    for _ in 0..rounds {
        let (queue, n) = (&queues[below(queues.len())], N as u32);
        let [x, y, z] = [below(5), below(5), below(5)];
        match below(12) {
            0 => is_right &= buffers[x].download().unwrap() == held[x],
            1 => {
                let value = below(100) as i32 + 1;
                queue.fill(buffers[z].write(), value).unwrap();
                held[z] = vec![value; N];
            }
            2 => {
                let wrapper = FusionWrapper::new(queue).unwrap();
                let _ = wrapper.start_fusion();
                wrapper.detach();
            }
            3 => drop(FusionWrapper::new(queue).unwrap().cancel_fusion()),
            4..8 => {
                let factor = below(3) as i32 + 1;
                queue
                    .submit(|h| {
                        h.arg(0, buffers[x].read()).arg(1, buffers[z].write()).push(&n).push(&factor);
                        h.dispatch_items(&kernel, [n, 1, 1]);
                    })
                    .unwrap();
                held[z] = held[x].iter().map(|value| value.wrapping_mul(factor)).collect();
            }
            _ => {
                queue
                    .submit(|h| {
                        h.arg(0, buffers[x].read()).arg(1, buffers[y].read()).arg(2, buffers[z].write());
                        h.push(&n).dispatch_items(&copy, [n, 1, 1]);
                        Ok::<(), Error>(())
                    })
                    .unwrap();
                let sum = |(x, y): (&i32, &i32)| x.wrapping_add(*y);
                held[z] = held[x].iter().zip(&held[y]).map(sum).collect();
            }
        }
    }
    for (buffer, held) in buffers.iter().zip(&held) {
        is_right &= buffer.download().unwrap() == *held;
    }
    Some(is_right)
}

#[test]
fn work_on_several_hardware_queues_takes_place_in_order() {
    let _alone = mock::alone();
    let waited = queues::WAITED.load(SeqCst);
    for seed in 0..pick(6, 100) {
        let Some(is_right) = random(seed, 150) else { return };
        assert!(is_right, "seed {seed}");
    }
    let waited = queues::WAITED.load(SeqCst) - waited;
    assert!(waited > 50, "{waited} waits for another queue");
    println!("{waited} waits for another queue");
}

/// Without the waits it goes wrong: the queues do overtake each other.
#[test]
fn queues_that_do_not_wait_are_noticed() {
    let _alone = mock::alone();
    queues::DEAF.store(true, SeqCst);
    let right: Vec<_> = (0..6).map_while(|seed| random(seed, 150)).collect();
    queues::DEAF.store(false, SeqCst);
    assert!(right.is_empty() || right.contains(&false), "nothing overtook anything");
}

/// What a queue did once is waited for by others until somebody saw that it is done, also if no one looks at that queue any more: anyone who would wait looks.
#[test]
fn what_another_queue_has_done_is_waited_for_once() {
    let _alone = mock::alone();
    let Some(context) = context_with(queues::QUEUES, CacheOptions::new().no_disk()) else { return };
    let kernel = context.load_spirv(support::shader("pair/scale")).unwrap();
    let [first, second] = [0, 1].map(|_| context.queue(QueueOptions::new().enable_fusion(true)).unwrap());
    // With values of their own, so that nothing fills them; what uploads them is waited for with the first wait behind it.
    let buffer = || context.buffer_from(&[1; N]).unwrap();
    let [x, y, z] = [0, 1, 2].map(|_| buffer());
    let inside = context.scratch::<i32>(N).unwrap();
    let scale = |from: &Buffer<i32>, to: &Buffer<i32>| {
        second.submit(|h| {
            h.arg(0, from.read()).arg(1, to.write()).push(&(N as u32)).push(&5);
            h.dispatch_items(&kernel, [N as u32, 1, 1]);
        })
    };
    let fusion = FusionWrapper::new(&second).unwrap();
    fusion.start_fusion().unwrap();
    scale(&x, &inside).unwrap();
    scale(&inside, &z).unwrap();
    let (_, list) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    for round in 0..16 {
        let other = buffer();
        first.fill(x.write(), round).unwrap();
        scale(&x, &z).unwrap().wait().unwrap();
        let waited = queues::WAITED.load(SeqCst);
        let wanted = 25 * round;
        let to = match round % 4 {
            0 => {
                list.run().unwrap();
                &z
            }
            1 => {
                second.fuse(|_| scale(&x, &inside).and_then(|_| scale(&inside, &other)).map(drop)).unwrap();
                &other
            }
            2 => {
                second.copy(x.read(), y.write()).unwrap();
                second.fill(x.write(), 5 * round).unwrap();
                scale(&x, &other).unwrap();
                &other
            }
            _ => {
                scale(&x, &y).unwrap();
                scale(&y, &z).unwrap();
                &z
            }
        };
        assert_eq!(to.download().unwrap(), [wanted; N], "round {round}");
        assert_eq!(queues::WAITED.load(SeqCst), waited, "round {round} waits for what is done");
    }
}

/// Work that was submitted with a handle that is gone comes before work on another handle of the same bytes.
#[test]
fn a_handle_that_is_gone_leaves_its_work_in_order() {
    let _alone = mock::alone();
    let Some((device, queues)) = mock::device_with(queues::QUEUES) else { return };
    let allocator = Arc::new(StandardMemoryAllocator::new_default(device.clone()));
    let usage = BufferUsage::STORAGE_BUFFER | BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST;
    let info = BufferCreateInfo { usage, ..BufferCreateInfo::default() };
    let bytes = (4 * N) as u64;
    let given = vulkano::buffer::Buffer::new_slice(allocator, info, AllocationCreateInfo::default(), bytes);
    let given: Subbuffer<[u8]> = given.unwrap();
    let options = ContextOptions::new().cache(CacheOptions::new().no_disk());
    let context = Context::over(device, queues, options).unwrap();
    let queues: Vec<_> = (0..queues::QUEUES).map(|_| context.queue(QueueOptions::new()).unwrap()).collect();
    let kernel = context.load_spirv(support::shader("pair/scale")).unwrap();
    let data: Vec<i32> = (0..N as i32).collect();
    let (x, z) = (context.buffer_from(&data).unwrap(), context.buffer::<i32>(N).unwrap());
    let scale = |queue: usize, from: &Buffer<i32>, to: &Buffer<i32>, factor: i32| {
        queues[queue % queues.len()]
            .submit(|h| {
                h.arg(0, from.read()).arg(1, to.write()).push(&(N as u32)).push(&factor);
                h.dispatch_items(&kernel, [N as u32, 1, 1]);
            })
            .unwrap()
    };
    for round in 0..pick(60, 600) {
        let factor = round as i32 + 1;
        let handle = || import::<i32>(&context, &given, 0..bytes);
        scale(round, &x, &handle(), factor);
        scale(round + 1 + round % 3, &handle(), &z, 3);
        let expected: Vec<i32> = data.iter().map(|value| 3 * factor * value).collect();
        assert_eq!(z.download().unwrap(), expected, "round {round}");
    }
}
