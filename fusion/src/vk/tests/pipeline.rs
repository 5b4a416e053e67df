//! Pipelines and the driver's blobs.

use super::*;
use crate::vk::{DeviceLimits, pipeline::compute::within};

fn source<'a>(words: &'a [u32], blob: Option<&'a [u8]>) -> PipelineSource<'a> {
    PipelineSource {
        words,
        entry: c"main",
        bindings: &ADD_BINDINGS,
        push_bytes: 8,
        push_buffer: 0,
        subgroups: false,
        lanes: None,
        statistics: false,
        blob,
    }
}

#[test]
fn a_blob_is_taken_again_where_the_driver_makes_one() {
    let Some(gpu) = open(false) else { return };
    let words = add_words();
    let (_, cold) = gpu.pipeline(&source(&words, None)).unwrap();
    assert!(!cold.blob_taken);
    // lavapipe makes none.
    let Some(blob) = cold.blob else { return };
    let (_, warm) = gpu.pipeline(&source(&words, Some(&blob))).unwrap();
    assert!(warm.blob_taken);
    assert_ne!(warm.from_blob, Some(false));
    assert_eq!(warm.blob, None);
}

#[test]
fn a_blob_of_another_driver_never_reaches_this_one() {
    let Some(gpu) = open(false) else { return };
    let words = add_words();
    let p = gpu.device().physical_device().properties();
    let mut good = Vec::new();
    for word in [32, 1, p.vendor_id, p.device_id] {
        good.extend_from_slice(&word.to_le_bytes());
    }
    good.extend_from_slice(&p.pipeline_cache_uuid);
    let mut wrong: Vec<Vec<u8>> = vec![Vec::new(), vec![0; 5], good.clone(), good[..31].to_vec()];
    good.push(0);
    for at in [0, 4, 8, 12, 16, 31] {
        let mut blob = good.clone();
        blob[at] ^= 1;
        wrong.push(blob);
    }
    for blob in &wrong {
        let (_, origin) = gpu.pipeline(&source(&words, Some(blob))).unwrap();
        assert!(!origin.blob_taken, "{blob:?}");
    }
}

#[test]
fn words_that_are_no_module() {
    let Some(gpu) = open(false) else { return };
    let words = add_words();
    let swapped: Vec<u32> = words.iter().map(|w| w.swap_bytes()).collect();
    for wrong in [&[][..], &[1, 2, 3, 4, 5, 6], &words[..5], &swapped] {
        let error = gpu.pipeline(&source(wrong, None)).unwrap_err();
        assert!(matches!(error, DeviceError::NotSpirv { .. }), "{error}");
    }
}

#[test]
fn interfaces_over_the_limits() {
    let Some(gpu) = open(false) else { return };
    let words = add_words();
    let limits = gpu.caps().limits().clone();
    let storage = |count: u32| -> Vec<(SetBinding, BindingKind)> {
        (0..count).map(|b| (at(0, b), BindingKind::Storage)).collect()
    };
    let attempt = |bindings: &[(SetBinding, BindingKind)], push_bytes| {
        gpu.pipeline(&PipelineSource { bindings, push_bytes, ..source(&words, None) }).unwrap_err()
    };
    let over = |error: DeviceError, wanted: &str| {
        assert!(matches!(error, DeviceError::OverLimit { name, .. } if name == wanted), "{error}");
    };
    over(attempt(&ADD_BINDINGS, limits.max_push_bytes + 4), "maxPushConstantsSize");
    if limits.max_storage_bindings < 10_000 {
        let many = storage(limits.max_storage_bindings + 1);
        over(attempt(&many, 8), "maxPerStageDescriptorStorageBuffers");
    }
    let far = [(at(limits.max_sets, 0), BindingKind::Storage)];
    over(attempt(&far, 8), "maxBoundDescriptorSets");
    let far = [(at(u32::MAX, 0), BindingKind::Storage)];
    over(attempt(&far, 8), "maxBoundDescriptorSets");
    assert!(matches!(attempt(&ADD_BINDINGS, 6), DeviceError::Misaligned { .. }));
    let twice = [(at(0, 1), BindingKind::Storage), (at(0, 1), BindingKind::Uniform)];
    assert!(matches!(
        attempt(&twice, 8),
        DeviceError::Binding { at: SetBinding { set: 0, binding: 1, .. }, .. }
    ));
}

/// Each kind of binding against the limit that it counts towards, lowered; combined ones count towards two, and elements of arrays by
/// themselves.
#[test]
fn every_kind_of_binding_has_a_limit() {
    use BindingKind::{
        CombinedSampler, SampledImage, Sampler, Storage, StorageImage, StorageTexels, Uniform, UniformTexels,
    };
    type Lower = fn(&mut DeviceLimits, u32);
    let Some(gpu) = open(false) else { return };
    let limits = gpu.caps().limits().clone();
    let storage: (&str, Lower) = ("maxPerStageDescriptorStorageBuffers", |l, n| l.max_storage_bindings = n);
    let uniform: (&str, Lower) = ("maxPerStageDescriptorUniformBuffers", |l, n| l.max_uniform_bindings = n);
    let images: (&str, Lower) = ("maxPerStageDescriptorStorageImages", |l, n| l.max_storage_images = n);
    let sampled: (&str, Lower) = ("maxPerStageDescriptorSampledImages", |l, n| l.max_sampled_images = n);
    let samplers: (&str, Lower) = ("maxPerStageDescriptorSamplers", |l, n| l.max_samplers = n);
    let all: (&str, Lower) = ("maxPerStageResources", |l, n| l.max_bindings = n);
    for (kind, (name, lower)) in [
        (Storage, storage),
        (Uniform, uniform),
        (StorageImage, images),
        (StorageTexels, images),
        (SampledImage, sampled),
        (CombinedSampler, sampled),
        (CombinedSampler, samplers),
        (UniformTexels, sampled),
        (Sampler, samplers),
        (Sampler, all),
        (Storage, all),
    ] {
        let apart: Vec<_> = (0..3).map(|b| (at(0, b), kind)).collect();
        let array: Vec<_> = (0..3).map(|element| (at(0, 0).element(element), kind)).collect();
        for bindings in [apart, array] {
            let with = |limit: u32| {
                let mut limits = limits.clone();
                lower(&mut limits, limit);
                within(&bindings, &limits)
            };
            assert!(with(3).is_ok(), "{kind:?}");
            let over = with(2).unwrap_err();
            let is = matches!(over, DeviceError::OverLimit { asked: 3, limit: 2, name: found, .. } if found == name);
            assert!(is, "{kind:?}: {over}");
        }
    }
}

/// What a set has at a binding is one array of one kind.
#[test]
fn elements_are_those_of_one_array() {
    let Some(gpu) = open(false) else { return };
    let words = add_words();
    let element = |element: u32| at(0, 4).element(element);
    let (storage, uniform) = (BindingKind::Storage, BindingKind::Uniform);
    for wrong in [
        &[(element(1), storage)][..],
        &[(element(0), storage), (element(2), storage)],
        &[(element(0), storage), (element(1), uniform)],
        &[(element(u32::MAX), storage)],
    ] {
        let bindings: Vec<_> = ADD_BINDINGS.iter().chain(wrong).copied().collect();
        let source = PipelineSource { bindings: &bindings, ..source(&words, None) };
        let error = gpu.pipeline(&source).unwrap_err();
        let is = matches!(error, DeviceError::Binding { problem: "is no element of one array", .. });
        assert!(is, "{error}");
    }
    let right: Vec<_> = ADD_BINDINGS.iter().copied().chain((0..3).map(|n| (element(n), storage))).collect();
    gpu.pipeline(&PipelineSource { bindings: &right, ..source(&words, None) }).unwrap();
}

#[test]
fn capabilities_follow_the_enabled_features() {
    let Some(gpu) = open(false) else { return };
    let caps = gpu.caps();
    let features = gpu.device().enabled_features();
    assert!(caps.supports(1), "Shader");
    assert!(!caps.supports(6), "Kernel");
    // A device of our own is made with everything.
    assert!(caps.requirements.left_off().is_empty(), "{:?}", caps.requirements.left_off());
    assert_eq!(caps.supports(10), features.shader_float64);
    assert_eq!(caps.supports(22), features.shader_int16);
    assert_eq!(caps.supports(5347), features.buffer_device_address);
    assert!(caps.spirv_version >= (1, 5));
    assert!(!caps.driver_identity.is_empty());
}
