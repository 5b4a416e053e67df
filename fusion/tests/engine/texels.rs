//! Kernels that see buffers through a format: in order with everything else that uses the buffers, alone, in lists and in kept ones.

use super::around::{Around, N, line};
use crate::support::{Rig, own};
use vkfuse::error::{DeviceError, SubmitError};
use vkfuse::vulkano::{buffer::BufferUsage, format::Format};
use vkfuse::{Buffer, Error, Event, FusedList, FusionProperties, FusionWrapper, Texels};

fn numbers() -> Vec<f32> {
    (0..N).map(|i| (i.wrapping_mul(2_654_435_761) >> 20) as f32).collect()
}

fn turned(numbers: &[f32]) -> Vec<f32> {
    numbers.iter().rev().map(|x| x * 2.0 + 1.0).collect()
}

fn turn(rig: &Rig, from: &Texels, to: &Texels) -> Result<Event, Error> {
    let kernel = rig.kernel("texels/turn");
    rig.queue.submit(|h| {
        h.arg(0, from.read()).arg(1, to.write()).dispatch_items(&kernel, [N, 1, 1]);
    })
}

fn buffer(rig: &Rig) -> Buffer<f32> {
    rig.context.buffer_from(&vec![-1.0f32; N as usize]).unwrap()
}

/// Written through the format and read without, and the other way round, also where a run is known.
#[test]
fn buffers_are_read_and_written_through_a_format() {
    let rig = rig!();
    let [a, b, c, d] = [(); 4].map(|()| buffer(&rig));
    let [from, to] = [&b, &c].map(|buffer| buffer.texels(Format::R32_SFLOAT).unwrap());
    for round in 0..5 {
        let start: Vec<f32> = numbers().iter().map(|x| x + round as f32).collect();
        a.upload(&start).unwrap();
        line(&rig, &a, &b);
        turn(&rig, &from, &to).unwrap();
        line(&rig, &c, &d);
        let wanted: Vec<f32> = turned(&start.iter().map(|x| x + 1.0).collect::<Vec<_>>());
        assert_eq!(c.download().unwrap(), wanted, "round {round}");
        let wanted: Vec<f32> = wanted.iter().map(|x| x + 1.0).collect();
        assert_eq!(d.download().unwrap(), wanted, "round {round}");
    }
    rig.assert_no_validation_messages();
}

/// A format converts, texels are changed in place by atomics, and parts of a buffer are seen.
#[test]
fn formats_and_ranges() {
    let rig = rig!();
    let bytes: Vec<u8> = (0..2048u32).map(|i| (i * 7 + i / 5) as u8).collect();
    let from = rig.context.buffer_from(&bytes).unwrap();
    let counts = rig.context.buffer_from(&[5u32; 192]).unwrap();
    let kernel = rig.kernel("texels/count");
    // Two views of the same bytes with different formats, in one list.
    let views = [
        (from.texels_of(Format::R8_UINT, 1024..2048).unwrap(), bytes[1024..].to_vec()),
        (
            from.texels_of(Format::R8G8B8A8_UINT, 1024..2048).unwrap(),
            bytes[1024..].chunks(4).map(|texel| texel[0]).collect(),
        ),
    ];
    let part = counts.texels_of(Format::R32_UINT, 64..128).unwrap();
    let mut wanted = vec![5u32; 192];
    for round in 0..3 {
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        for (view, seen) in &views {
            rig.queue
                .submit(|h| {
                    h.arg(0, view.read()).arg(1, &part).dispatch_items(&kernel, [1024, 1, 1]);
                })
                .unwrap();
            seen.iter().for_each(|x| wanted[64 + usize::from(*x % 64)] += 1);
        }
        fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
        assert_eq!(counts.download().unwrap(), wanted, "round {round}");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn lists_fuse_around_them_and_are_kept_and_rebound() {
    let rig = rig!();
    let turned_between: Vec<f32> = numbers().iter().map(|x| x + 2.0).collect();
    let after = turned(&turned_between).iter().map(|x| x + 2.0).collect();
    let around = Around { rig: &rig, before: numbers(), after, why: "Resource" };
    let (buffers, others) = (around.buffers(), around.buffers());
    let [from, to] = [2, 3].map(|k: usize| buffers[k].texels(Format::R32_SFLOAT).unwrap());
    let alone = || {
        turn(&rig, &from, &to).unwrap();
    };
    for round in 0..3 {
        around.check(&around.run(&buffers, &alone), &buffers, &format!("round {round}"));
    }
    // The same list on other buffers, with the views as they were: they are other bytes now.
    let held = buffers[3].download().unwrap();
    around.run(&others, &alone);
    assert_eq!(others[0].download().unwrap(), vec![1.0; N as usize]);
    assert_eq!(buffers[3].download().unwrap(), held);
    // Other buffers take their views with them.
    around.kept_and_rebound(&buffers, &alone);
    rig.assert_no_validation_messages();
}

#[test]
fn what_does_not_fit_is_an_error() {
    let rig = rig!();
    let [a, b] = [(); 2].map(|()| buffer(&rig));
    let see = |format| a.texels(format);
    // Formats, ranges and limits.
    assert!(matches!(see(Format::BC1_RGB_UNORM_BLOCK), Err(Error::Device(DeviceError::Texels { .. }))));
    assert!(matches!(see(Format::D32_SFLOAT_S8_UINT), Err(Error::Device(DeviceError::Texels { .. }))));
    let odd = rig.context.buffer_from(&[0u8; 6]).unwrap();
    assert!(matches!(odd.texels(Format::R32_SFLOAT), Err(Error::Device(DeviceError::Texels { .. }))));
    assert!(matches!(a.texels_of(Format::R32_SFLOAT, 4..4), Err(Error::Buffer { .. })));
    assert!(matches!(a.texels_of(Format::R32_SFLOAT, 4..N as usize + 1), Err(Error::Buffer { .. })));
    // The limit of lavapipe; a device may take more.
    let large = rig.context.buffer::<u8>((1 << 27) + 16).unwrap().texels(Format::R8_UINT);
    match large {
        Err(error) => assert!(error.to_string().contains("maxTexelBufferElements"), "{error}"),
        Ok(_) => assert!(!rig.context.device_info().name.contains("llvmpipe")),
    }
    // A buffer where a view is due, and the other way round; an image's texels; another format; too few; a write through a read.
    let floats = b.texels(Format::R32_SFLOAT).unwrap();
    let ints = b.texels(Format::R32_UINT).unwrap();
    let pairs = b.texels(Format::R32G32_SFLOAT).unwrap();
    let turn = rig.kernel("texels/turn");
    let line = rig.kernel("library/line");
    let problem = |of: Result<Event, Error>| of.unwrap_err().to_string();
    let submit = |from: vkfuse::Accessor, to: vkfuse::Accessor| {
        problem(rig.queue.submit(|h| {
            h.arg(0, from).arg(1, to).dispatch_items(&turn, [N, 1, 1]);
        }))
    };
    let from = a.texels(Format::R32_SFLOAT).unwrap();
    for (message, part) in [
        (submit(a.read(), floats.write()), "what is passed is a buffer"),
        (submit(ints.read(), floats.write()), "declared with texels of floats"),
        (submit(from.read(), pairs.write()), "declared with the format VK_FORMAT_R32_SFLOAT"),
        (submit(from.read(), floats.read()), "read"),
    ] {
        assert!(message.contains(part), "{message}");
    }
    let missing = rig.queue.submit(|h| {
        h.arg(0, from.read()).dispatch_items(&turn, [N, 1, 1]);
    });
    assert!(matches!(missing, Err(Error::Submit { problem: SubmitError::MissingBinding { .. }, .. })));
    let message = problem(rig.queue.submit(|h| {
        h.arg(0, from.read()).arg(1, b.write()).push(&N).dispatch_items(&line, [N, 1, 1]);
    }));
    assert!(message.contains("it is a buffer"), "{message}");
    rig.assert_no_validation_messages();
}

/// An error, without all that there would be otherwise.
fn failed<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("nothing failed"),
        Err(error) => error,
    }
}

const BYTES: u64 = 4 * N as u64;
const BOTH: BufferUsage = BufferUsage::UNIFORM_TEXEL_BUFFER.union(BufferUsage::STORAGE_TEXEL_BUFFER);

/// A kept list of one kernel that sees `from` and `to` through a format.
fn kept(rig: &Rig, from: &Buffer<f32>, to: &Buffer<f32>) -> Result<FusedList, Error> {
    let [seen, written] = [from, to].map(|buffer| buffer.texels(Format::R32_SFLOAT));
    let (seen, written) = (seen?, written?);
    let fusion = FusionWrapper::new(&rig.queue)?;
    fusion.start_fusion()?;
    line(rig, from, to);
    turn(rig, &seen, &written)?;
    let (event, kept) = fusion.complete_and_keep(&FusionProperties::default())?;
    event.wait()?;
    Ok(kept)
}

/// Buffers of the program's own, by vulkano's object and by the handle: with the usages, with one of them, with none, and in places where
/// texels do not start.
#[test]
fn imported_buffers_are_seen_as_they_were_made() {
    let Some(own) = own::Own::open() else { return };
    let rig = Rig::over(own.context());
    let align = own.device.physical_device().properties().min_texel_buffer_offset_alignment.as_devicesize();
    let align = align.max(4);
    for import in [own::import::<f32>, own::import_raw::<f32>] {
        let (from, to) = (own.buffer_for(BYTES, BOTH), own.buffer_for(align + BYTES, BOTH));
        let whole = import(&rig.context, &from, 0..BYTES);
        let part = import(&rig.context, &to, align..align + BYTES);
        let list = kept(&rig, &whole, &part).unwrap();
        for round in 0..3 {
            whole.upload(&numbers()).unwrap();
            list.run().unwrap().wait().unwrap();
            assert_eq!(part.download().unwrap(), turned(&numbers()), "round {round}");
        }
        // Known, and in one list with what sees the bytes without a format.
        for round in 0..4 {
            whole.upload(&numbers()).unwrap();
            let [seen, written] = [&whole, &part].map(|buffer| buffer.texels(Format::R32_SFLOAT).unwrap());
            let fusion = FusionWrapper::new(&rig.queue).unwrap();
            fusion.start_fusion().unwrap();
            turn(&rig, &seen, &written).unwrap();
            line(&rig, &part, &whole);
            turn(&rig, &seen, &written).unwrap();
            fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
            let once: Vec<f32> = turned(&numbers()).iter().map(|x| x + 1.0).collect();
            assert_eq!(part.download().unwrap(), turned(&once), "round {round}");
        }
        // Without the usages.
        let none = import(&rig.context, &own.buffer(BYTES, true), 0..BYTES);
        let missing = failed(none.texels(Format::R32_SFLOAT));
        assert!(matches!(missing, Error::Device(DeviceError::MissingUsage { .. })), "{missing}");
        // With the one that reading needs, and not the one that writing does.
        let read = import(&rig.context, &own.buffer_for(BYTES, BufferUsage::UNIFORM_TEXEL_BUFFER), 0..BYTES);
        read.upload(&numbers()).unwrap();
        let [seen, written] = [&read, &part].map(|buffer| buffer.texels(Format::R32_SFLOAT).unwrap());
        turn(&rig, &seen, &written).unwrap();
        assert_eq!(part.download().unwrap(), turned(&numbers()));
        let wrong = failed(turn(&rig, &written, &seen));
        assert!(
            matches!(&wrong, Error::Submit { problem: SubmitError::WrongResource { .. }, .. }),
            "{wrong}"
        );
        // Where texels do not start.
        if align > 4 {
            let odd = import(&rig.context, &to, 4..4 + BYTES);
            let misaligned = failed(odd.texels(Format::R32_SFLOAT));
            assert!(matches!(misaligned, Error::Device(DeviceError::Misaligned { .. })), "{misaligned}");
            assert!(odd.texels_of(Format::R32_SFLOAT, align as usize / 4 - 1..N as usize).is_ok());
        }
        // A kept list does not get what it cannot see, and goes on with what it has.
        let other = import(&rig.context, &own.buffer_for(BYTES, BOTH), 0..BYTES);
        assert!(list.rebind().buffer(&whole, &other).finish().is_ok());
        let error = failed(list.rebind().buffer(&part, &none).finish());
        assert!(matches!(error, Error::Device(DeviceError::MissingUsage { .. })), "{error}");
        let error = failed(list.rebind().buffer(&part, &read).finish());
        assert!(
            matches!(&error, Error::Submit { problem: SubmitError::WrongResource { .. }, .. }),
            "{error}"
        );
        let with_read = list.rebind().buffer(&whole, &read).finish().unwrap();
        if align > 4 {
            let odd = import(&rig.context, &own.buffer_for(BYTES + 4, BOTH), 4..4 + BYTES);
            let error = failed(list.rebind().buffer(&part, &odd).finish());
            assert!(matches!(error, Error::Device(DeviceError::Misaligned { .. })), "{error}");
        }
        whole.upload(&numbers()).unwrap();
        list.run().unwrap().wait().unwrap();
        assert_eq!(part.download().unwrap(), turned(&numbers()));
        part.upload(&vec![0.0; N as usize]).unwrap();
        with_read.run().unwrap().wait().unwrap();
        assert_eq!(part.download().unwrap(), turned(&numbers()));
    }
    drop(rig);
    assert_eq!(own.close(), 0);
}
