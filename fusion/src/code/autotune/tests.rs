use super::*;

fn trial(others: &[Way]) -> Trial {
    Trial::new(others, None)
}

/// Lets a way have this many turns, each this long.
fn took(trial: &mut Trial, way: Way, times: &[u64]) {
    let one = trial.ways.iter_mut().find(|one| one.way == way).unwrap();
    one.turns += times.len();
    one.times.extend(times.iter().copied());
    trial.gather(|_| true);
}

fn decided(trial: &Trial) -> Option<Way> {
    trial.decide().map(|chosen| chosen.way)
}

/// The ways whose turn it is, one after another, where each takes a time of its own.
fn turns(trial: &mut Trial, time: impl Fn(Way) -> u64) -> Vec<Way> {
    let mut had = Vec::new();
    for _ in 0..40 {
        if trial.decide().is_some() {
            break;
        }
        let way = trial.next(&mut |_| Code::Ready);
        had.push(way);
        let is_cold = trial.ways.iter().find(|one| one.way == way).unwrap().turns < COLD;
        if is_cold {
            trial.ways.iter_mut().find(|one| one.way == way).unwrap().turns += 1;
        } else {
            took(trial, way, &[time(way)]);
        }
    }
    had
}

#[test]
fn the_faster_way_stays() {
    let mut trial = trial(&[Way::Apart]);
    let had = turns(&mut trial, |way| if way == Way::Apart { 90 } else { 100 });
    assert_eq!(had.len(), 2 * (COLD + TURNS), "{had:?}");
    assert_eq!(had[..4], [Way::Usual, Way::Apart, Way::Usual, Way::Apart], "by turns, the usual one first");
    assert_eq!(decided(&trial), Some(Way::Apart));
}

#[test]
fn what_is_hardly_faster_is_not_worth_it() {
    let mut trial = trial(&[Way::Apart]);
    turns(&mut trial, |way| if way == Way::Apart { 98 } else { 100 });
    assert_eq!(decided(&trial), Some(Way::Usual));
}

#[test]
fn what_is_much_slower_gets_no_third_time() {
    let mut trial = trial(&[Way::Forced, Way::Apart]);
    let had = turns(&mut trial, |way| match way {
        Way::Usual => 100,
        Way::Forced => 300,
        _ => 80,
    });
    assert_eq!(had.iter().filter(|way| **way == Way::Forced).count(), COLD + EARLY);
    assert_eq!(decided(&trial), Some(Way::Apart));
}

#[test]
fn one_slow_run_decides_nothing() {
    let mut trial = trial(&[Way::Apart]);
    took(&mut trial, Way::Usual, &[100, 100, 900, 100, 100]);
    took(&mut trial, Way::Apart, &[120, 120, 120, 120, 120]);
    assert_eq!(decided(&trial), Some(Way::Usual));
}

#[test]
fn a_way_whose_code_never_comes_is_not_waited_for() {
    let mut trial = trial(&[Way::Forced]);
    for _ in 0..PATIENCE {
        assert_eq!(decided(&trial), None);
        assert_eq!(trial.next(&mut |_| Code::Missing), Way::Usual);
    }
    assert_eq!(decided(&trial), Some(Way::Usual));
}

#[test]
fn a_way_that_is_being_built_is_waited_for() {
    let mut trial = trial(&[Way::Forced, Way::Apart]);
    for _ in 0..2 * PATIENCE {
        let way = trial.next(&mut |way| if way == Way::Apart { Code::Building } else { Code::Ready });
        took(&mut trial, way, &[if way == Way::Forced { 120 } else { 100 }]);
        assert_eq!(decided(&trial), None);
    }
    turns(&mut trial, |_| 80);
    assert_eq!(decided(&trial), Some(Way::Apart));
}

#[test]
fn what_is_worse_than_the_usual_way_was_is_measured_anew() {
    let mut trial = trial(&[Way::Forced]);
    turns(&mut trial, |way| if way == Way::Forced { 50 } else { 100 });
    trial.chosen = trial.decide();
    let chosen = trial.chosen.unwrap();
    assert_eq!(chosen, Chosen { way: Way::Forced, usual: 100 });
    trial.saw(chosen, Duration::from_nanos(101));
    assert_eq!(trial.chosen, Some(chosen));
    trial.saw(chosen, Duration::from_nanos(170));
    assert_eq!(trial.chosen, None);
    turns(&mut trial, |way| if way == Way::Forced { 170 } else { 90 });
    assert_eq!(decided(&trial), Some(Way::Usual));
}

#[test]
fn a_way_that_comes_later_is_measured_with_the_others() {
    let mut trial = trial(&[Way::Forced]);
    took(&mut trial, Way::Usual, &[100; TURNS]);
    trial.allow(&[Way::Forced, Way::Apart]);
    took(&mut trial, Way::Forced, &[90; TURNS]);
    assert_eq!(decided(&trial), None);
    took(&mut trial, Way::Apart, &[80; TURNS]);
    assert_eq!(decided(&trial), Some(Way::Apart));
    assert_eq!(trial.ways.len(), 3);
}
