//! The documented shape of the report: every field is there and has its type.

use serde_json::Value;

/// A check of one value, with the path that leads to it.
type Check = fn(&Value, &str);

/// Checks that `value` is an object with exactly the documented fields, or more.
fn object(value: &Value, path: &str, fields: &[(&str, Check)]) {
    let object = value.as_object().unwrap_or_else(|| panic!("{path} is no object: {value}"));
    for (name, check) in fields {
        let path = format!("{path}.{name}");
        check(object.get(*name).unwrap_or_else(|| panic!("{path} is missing")), &path);
    }
}

fn each(value: &Value, path: &str, check: Check) {
    let array = value.as_array().unwrap_or_else(|| panic!("{path} is no array: {value}"));
    for (index, element) in array.iter().enumerate() {
        check(element, &format!("{path}[{index}]"));
    }
}

fn named(value: &Value, path: &str, check: Check) {
    let object = value.as_object().unwrap_or_else(|| panic!("{path} is no object: {value}"));
    for (name, element) in object {
        check(element, &format!("{path}.{name}"));
    }
}

fn or_null(value: &Value, path: &str, check: Check) {
    if !value.is_null() {
        check(value, path);
    }
}

fn one(value: &Value, path: &str) {
    assert_eq!(value, 1, "{path}");
}

fn text(value: &Value, path: &str) {
    assert!(value.is_string(), "{path} is no string: {value}");
}

fn text_or_null(value: &Value, path: &str) {
    or_null(value, path, text);
}

fn boolean(value: &Value, path: &str) {
    assert!(value.is_boolean(), "{path} is no boolean: {value}");
}

fn boolean_or_null(value: &Value, path: &str) {
    or_null(value, path, boolean);
}

fn count(value: &Value, path: &str) {
    assert!(value.is_u64(), "{path} is no count: {value}");
}

fn count_or_null(value: &Value, path: &str) {
    or_null(value, path, count);
}

fn time_or_null(value: &Value, path: &str) {
    or_null(value, path, |value, path| {
        assert!(value.as_f64().is_some_and(|time| time >= 0.0), "{path} is no time: {value}");
    });
}

fn number(value: &Value, path: &str) {
    let special = value.as_str().is_some_and(|word| ["nan", "inf", "-inf"].contains(&word));
    assert!(value.is_number() || special, "{path} is no number: {value}");
}

fn three(value: &Value, path: &str) {
    each(value, path, count);
    assert_eq!(value.as_array().map(Vec::len), Some(3), "{path}");
}

fn mode(value: &Value, path: &str) {
    assert!(["unfused", "fused", "both"].iter().any(|word| value == word), "{path}: {value}");
}

fn promotion(value: &Value, path: &str) {
    assert!(["none", "private", "local", "auto"].iter().any(|word| value == word), "{path}: {value}");
}

fn level(value: &Value, path: &str) {
    or_null(value, path, |value, path| assert!(value == "hit" || value == "miss", "{path}: {value}"));
}

fn counts(value: &Value, path: &str) {
    each(value, path, count);
}

fn barrier(value: &Value, path: &str) {
    object(value, path, &[("after", count), ("kept", boolean), ("reason", text)]);
}

fn group(value: &Value, path: &str) {
    object(
        value,
        path,
        &[
            ("kernels", counts),
            ("fused", boolean),
            ("work_group", three),
            ("schedule", text),
            ("items_per_invocation", count),
            ("loads_kept", count),
            ("work_groups", count),
            ("push_buffer_bytes", count),
            ("alone", text_or_null),
            ("barriers", |value, path| each(value, path, barrier)),
            ("key", |value, path| or_null(value, path, hash)),
            ("statistics", numbers),
        ],
    );
}

/// Numbers by names that are the driver's.
fn numbers(value: &Value, path: &str) {
    let all = value.as_object().map(|names| names.values().all(Value::is_number));
    assert_eq!(all, Some(true), "{path}: {value}");
}

fn split(value: &Value, path: &str) {
    let fields: &[(&str, Check)] = &[
        ("after", count),
        ("buffer", text_or_null),
        ("reason", text),
        ("detail", text),
        ("tried", text_or_null),
        ("explained_at", text),
    ];
    object(value, path, fields);
}

fn rewrite(value: &Value, path: &str) {
    let fields: &[(&str, Check)] = &[
        ("kind", text),
        ("kernel", |value, path| or_null(value, path, count)),
        ("partner", |value, path| or_null(value, path, count)),
        ("pi", |value, path| or_null(value, path, pi)),
        ("again", |value, path| or_null(value, path, again)),
        ("order", |value, path| or_null(value, path, |value, path| each(value, path, count))),
        ("value", |value, path| or_null(value, path, renamed)),
        ("detail", text),
    ];
    object(value, path, fields);
}

fn renamed(value: &Value, path: &str) {
    let pair: Check = |value, path| each(value, path, count);
    let fields: &[(&str, Check)] = &[
        ("buffer", text_or_null),
        ("arguments", |value, path| each(value, path, |value, path| each(value, path, count))),
        ("overwritten_by", pair),
        ("bytes", count),
        ("got", promotion),
    ];
    object(value, path, fields);
}

fn again(value: &Value, path: &str) {
    let fields: &[(&str, Check)] =
        &[("buffer", text_or_null), ("loads", count), ("times", count), ("paid", count), ("saved", count)];
    object(value, path, fields);
}

fn pi(value: &Value, path: &str) {
    let fields: &[(&str, Check)] =
        &[("order", text), ("length", count), ("work_group", three), ("groups", three), ("items", count)];
    object(value, path, fields);
}

fn buffer(value: &Value, path: &str) {
    let fields: &[(&str, Check)] =
        &[("asked", promotion), ("got", promotion), ("reason", text_or_null), ("explained_at", text_or_null)];
    object(value, path, fields);
}

fn trusted(value: &Value, path: &str) {
    object(value, path, &[("first", count), ("second", count), ("buffer", text_or_null), ("reason", text)]);
}

fn changed(value: &Value, path: &str) {
    let changes: Check = |value, path| each(value, path, text);
    object(value, path, &[("kernel", count), ("changes", changes), ("detail", text)]);
}

fn cache(value: &Value, path: &str) {
    object(value, path, &[("memory", level), ("disk", level)]);
}

fn times(value: &Value, path: &str) {
    object(
        value,
        path,
        &[
            ("jit", time_or_null),
            ("driver", time_or_null),
            ("unfused_gpu", time_or_null),
            ("fused_gpu", time_or_null),
            ("unfused_wall", time_or_null),
            ("fused_wall", time_or_null),
            ("recorded_gpu", time_or_null),
            ("recorded_wall", time_or_null),
            ("first_unfused_wall", time_or_null),
            ("first_fused_wall", time_or_null),
        ],
    );
}

fn hash(value: &Value, path: &str) {
    let hex = value.as_str().unwrap_or_default();
    assert!(hex.len() == 64 && hex.chars().all(|c| c.is_ascii_hexdigit()), "{path}: {value}");
}

fn head(value: &Value, path: &str) {
    each(value, path, number);
    assert!(value.as_array().is_some_and(|head| head.len() <= 8), "{path}");
}

fn output(value: &Value, path: &str) {
    object(
        value,
        path,
        &[
            ("equal", boolean_or_null),
            ("first_difference", count_or_null),
            ("max_ulp", count_or_null),
            ("blake3", |value, path| or_null(value, path, hash)),
            ("head", |value, path| or_null(value, path, head)),
            ("nan_payloads", count_or_null),
        ],
    );
}

fn run(value: &Value, path: &str) {
    object(value, path, &[("cache", cache), ("time_us", times)]);
}

/// Checks the report of `vkfuse run`.
pub(crate) fn check_run(report: &Value) {
    object(
        report,
        "report",
        &[
            ("format", one),
            ("device", text),
            ("driver", text),
            ("mode", mode),
            ("groups", |value, path| each(value, path, group)),
            ("splits", |value, path| each(value, path, split)),
            ("buffers", |value, path| named(value, path, buffer)),
            ("trusted", |value, path| each(value, path, trusted)),
            ("cache", cache),
            ("time_us", times),
            ("outputs", |value, path| named(value, path, output)),
            // Additions to what the format asks for.
            ("name", text_or_null),
            ("outcome", text_or_null),
            ("runs", |value, path| each(value, path, run)),
            ("rewrites", |value, path| each(value, path, rewrite)),
            ("notes", |value, path| each(value, path, text)),
            ("changed", |value, path| each(value, path, changed)),
        ],
    );
}

fn predicted(value: &Value, path: &str) {
    let fields: &[(&str, Check)] = &[
        ("dispatch_us", number),
        ("bytes_per_us", number),
        ("vector_bytes_per_us", number),
        ("unfused_bytes", count),
        ("fused_bytes", count),
        ("unfused_gpu", number),
        ("fused_gpu", number),
    ];
    object(value, path, fields);
}

/// Checks the report of `vkfuse bench`.
pub(crate) fn check_bench(report: &Value) {
    object(
        report,
        "bench",
        &[
            ("format", one),
            ("name", text_or_null),
            ("device", text),
            ("driver", text),
            ("iters", count),
            ("submissions", count),
            ("elements", count),
            ("bytes", count),
            ("groups", |value, path| each(value, path, group)),
            ("splits", |value, path| each(value, path, split)),
            ("notes", |value, path| each(value, path, text)),
            ("time_us", times),
            ("cold_wall_us", number),
            ("predicted", |value, path| or_null(value, path, predicted)),
        ],
    );
}
