//! Sub-group operations.

use vkfuse_interp::{Memory, Options, OracleError, Order, execute};

use crate::harness::{bytes, dispatch, every_order, run, shader};

const X: [u32; 16] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 300];

#[test]
fn operations_match_the_host() {
    every_order(
        &shader!("subgroups"),
        [1, 1, 1],
        &[bytes(&X), bytes(&[0; 144])],
        &[],
        |order, memory, objects, findings| {
            assert!(findings.is_clean(), "{order:?}: {findings:?}");
            let z = memory.words(objects[1]);
            for i in 0..16 {
                let first = i / 8 * 8;
                let group = &X[first..first + 8];
                assert_eq!(z[i], group.iter().sum::<u32>());
                assert_eq!(z[16 + i], X[first..i].iter().sum::<u32>());
                assert_eq!(z[32 + i], *X[first..=i].iter().max().expect("not empty"));
                assert_eq!(z[48 + i], group.iter().rev().fold(0, |mask, v| mask << 1 | v & 1));
                assert_eq!(z[64 + i], X[i ^ 3]);
                assert_eq!(z[80 + i], X[first + 2] + if i % 8 == 0 { 1000 } else { 0 });
                let cluster = i / 4 * 4;
                let low = *X[cluster..cluster + 4].iter().min().expect("not empty");
                assert_eq!(z[96 + i], low + u32::from(first == 0));
                assert_eq!(z[112 + i], (i / 8 * 100 + i % 8 + 80000) as u32);
                assert_eq!(z[128 + i], X[i ^ 3]);
            }
        },
    );
}

#[test]
fn subgroup_barrier_does_not_order_other_subgroups() {
    every_order(
        &shader!("subgroups_across"),
        [1, 1, 1],
        &[bytes(&X), bytes(&[0; 144])],
        &[],
        |order, _, _, findings| {
            assert_eq!(findings.races.count, 16, "{order:?}");
        },
    );
}

#[test]
fn subgroup_size_is_configurable() {
    let program = shader!("subgroups_across");
    let mut memory = Memory::new();
    let objects = [memory.add(bytes(&X)), memory.add(bytes(&[0; 144]))];
    let dispatch = dispatch(&program, [1, 1, 1], &memory, &objects, &[]);
    let options = Options { subgroup_size: 16, ..Options::default() };
    let findings = execute(std::slice::from_ref(&dispatch), &mut memory, &options).expect("runs");
    assert!(findings.is_clean(), "{findings:?}");
    assert_eq!(memory.words(objects[1])[0], X.iter().sum::<u32>());
    let refused = execute(&[dispatch], &mut memory, &Options { subgroup_size: 12, ..Options::default() });
    assert!(matches!(refused, Err(OracleError::Limit { .. })));
}

#[test]
fn divergent_subgroup_operation_is_unsupported() {
    let program = shader!("subgroups_divergent");
    for order in Order::ALL {
        let mut memory = Memory::new();
        let objects = [memory.add(bytes(&X)), memory.add(bytes(&[0; 144]))];
        let outcome = run(&program, [1, 1, 1], &mut memory, &objects, &[], order);
        assert!(matches!(outcome, Err(OracleError::DivergentSubgroup { .. })), "{order:?}: {outcome:?}");
    }
}
