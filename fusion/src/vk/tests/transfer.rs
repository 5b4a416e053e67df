//! Uploads and downloads, in place and through staging memory.

use super::*;

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 257) as u8).collect()
}

fn round_trip(plain: bool, size: usize, offset: usize) {
    let Some(gpu) = open(plain) else { return };
    let memory = gpu.allocate((size + offset + 3) as u64, MemoryKind::Device).unwrap();
    let queue = gpu.queue(0).unwrap();
    let fill = Command::Fill {
        dst: memory.clone(),
        offset: 0,
        len: memory.size().next_multiple_of(4),
        word: 0xEEEE_EEEE,
    };
    let filled = queue.submit(&[fill], &[], false).unwrap().point;
    let bytes = pattern(size);
    let written = queue.upload(&memory, offset as u64, &bytes, &[filled]).unwrap();
    let mut all = vec![0; memory.size() as usize];
    queue.download(&memory, 0, &mut all, &[written]).unwrap();
    assert!(all[..offset].iter().all(|b| *b == 0xEE));
    assert!(all[offset..offset + size] == bytes);
    assert!(all[offset + size..].iter().all(|b| *b == 0xEE));
    assert!(!(memory.is_host_visible() && plain));
}

#[test]
fn small_whole_words() {
    round_trip(false, 64, 8);
    round_trip(true, 64, 8);
}

#[test]
fn odd_sizes_and_offsets() {
    round_trip(false, 1001, 3);
    round_trip(true, 1001, 3);
}

#[test]
fn several_chunks() {
    round_trip(true, 3 * Gpu::STAGING_CHUNK + 12345, 4);
}

#[test]
fn more_than_all_chunks() {
    round_trip(true, 11 * Gpu::STAGING_CHUNK + 1, 1);
}

#[test]
fn nothing_at_all() {
    round_trip(false, 0, 0);
    round_trip(true, 0, 0);
}

#[test]
fn out_of_range() {
    for plain in [false, true] {
        let Some(gpu) = open(plain) else { return };
        let memory = zeroed(&gpu, 4);
        let queue = gpu.queue(0).unwrap();
        let error = queue.upload(&memory, 8, &[0; 9], &[]).unwrap_err().error;
        assert!(matches!(error, DeviceError::OutOfRange { offset: 8, len: 9, size: 16, .. }));
        let error = queue.download(&memory, u64::MAX, &mut [0; 1], &[]).unwrap_err();
        assert!(matches!(error, DeviceError::OutOfRange { .. }));
    }
}

#[test]
fn uploads_order_themselves_between_dispatches() {
    let Some(gpu) = open(true) else { return };
    let pipeline = add_pipeline(&gpu);
    let (a, b, c) = (memory_of(&gpu, &[1; 64]), zeroed(&gpu, 64), zeroed(&gpu, 64));
    let queue = gpu.queue(0).unwrap();
    queue.submit(&[Command::Dispatch(add(&pipeline, &a, &b, 1))], &[], false).unwrap();
    let bytes: Vec<u8> = push(&[10; 64]).to_vec();
    queue.upload(&a, 0, &bytes, &[]).unwrap();
    let last = queue.submit(&[Command::Dispatch(add(&pipeline, &a, &c, 1))], &[], false).unwrap();
    assert_eq!(read(&gpu, &b, last.point), vec![2; 64]);
    assert_eq!(read(&gpu, &c, last.point), vec![11; 64]);
}
