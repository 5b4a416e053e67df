//! Pipeline files: their kernels, constants, push constants and ranges, on contents of the test's own.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use toml::{Table, Value};
use vkfuse::Promote;
use vkfuse::module::SpecValue;

use super::engine::Engine;
use super::kernels::read;
use super::list::{Call, List};

/// The list of a file; an `Err` is why there is none.
pub(crate) fn list(engine: &mut Engine, path: &Path) -> Result<List, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let file: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let folder = path.parent().ok_or("no folder")?;
    if file.contains_key("images") || file.contains_key("include") {
        return Err("images".to_owned());
    }
    let mut modules: HashMap<String, Arc<[u32]>> = HashMap::new();
    let mut kernels = HashMap::new();
    for (name, kernel) in table(&file, "kernels")? {
        let file = kernel.get("path").and_then(Value::as_str).ok_or("a kernel without a path")?;
        if !modules.contains_key(file) {
            modules.insert(file.to_owned(), words_of(&folder.join(file))?);
        }
        let entry = kernel.get("entry").and_then(Value::as_str);
        kernels.insert(name.as_str(), (modules[file].clone(), entry));
    }
    let (mut buffers, mut numbers) = (Vec::new(), HashMap::new());
    for (name, buffer) in table(&file, "buffers")? {
        let ty = buffer.get("type").and_then(Value::as_str).ok_or("a buffer without a type")?;
        let len = buffer.get("len").and_then(Value::as_integer).ok_or("a buffer without a length")?;
        numbers.insert(name.as_str(), (buffers.len(), width(ty)?));
        buffers.push(contents(ty, len as usize, buffer.get("init"))?);
    }
    let mut calls = Vec::new();
    for submit in file.get("submit").and_then(Value::as_array).ok_or("no submissions")? {
        let submit = submit.as_table().ok_or("a submission that is no table")?;
        let name = submit.get("kernel").and_then(Value::as_str).ok_or("a copy or a fill")?;
        let (words, entry) = kernels.get(name).ok_or("an unknown kernel")?;
        let own = super::words::compute_entries(words);
        let entry = entry.or(own.first().map(String::as_str)).ok_or("no entry point")?;
        let mut spec = Vec::new();
        for (id, value) in submit.get("spec").and_then(Value::as_table).into_iter().flatten() {
            spec.push((id.parse().map_err(|_| "an id that is no number")?, constant(value)?));
        }
        let mut call = Call::new(words, entry, [1; 3]).spec(&spec);
        for (at, arg) in table(submit, "args")? {
            let (set, binding) = at.split_once('.').unwrap_or(("0", at));
            let at = (set.parse().map_err(|_| "no set")?, binding.parse().map_err(|_| "no binding")?);
            let name = arg.as_str().or_else(|| arg.get("buffer")?.as_str()).ok_or("an image")?;
            let (number, width) = *numbers.get(name).ok_or("an image")?;
            let all = buffers[number].len() as u64;
            let field = |name: &str| arg.get(name).and_then(Value::as_integer).map(|n| n as u64 * width);
            let offset = field("offset").unwrap_or(0);
            call = call.arg(at, number, offset, field("len").unwrap_or(all - offset));
            let promote = file["buffers"][name].get("promote").and_then(Value::as_str);
            call.promote.pop();
            call.promote.push(match arg.get("promote").and_then(Value::as_str).or(promote) {
                Some("private") => Promote::Private,
                Some("local") => Promote::Local,
                Some("auto") => Promote::Auto,
                _ => Promote::None,
            });
        }
        let mut push = Vec::new();
        for one in submit.get("push").and_then(Value::as_array).into_iter().flatten() {
            push.extend(bytes(one)?);
        }
        let mut call = call.push(&push);
        let three = |name: &str| submit.get(name).and_then(Value::as_array).map(|list| sizes(list));
        let kernel = engine.kernel(&call)?.specialized(&spec).map_err(|error| error.to_string())?;
        call.vulkan.groups = match (three("groups"), three("global")) {
            (Some(groups), _) => groups,
            (_, Some(items)) => [0, 1, 2].map(|axis| items[axis].div_ceil(kernel.interface.local_size[axis])),
            _ => return Err("no size".to_owned()),
        };
        call.vulkan.base = three("base").map_or([0; 3], |base| match submit.contains_key("base") {
            true => base,
            false => [0; 3],
        });
        calls.push(call);
    }
    Ok(List { name: path.display().to_string(), calls, buffers })
}

fn table<'a>(of: &'a Table, name: &str) -> Result<&'a Table, String> {
    of.get(name).and_then(Value::as_table).ok_or_else(|| format!("no {name}"))
}

fn words_of(path: &Path) -> Result<Arc<[u32]>, String> {
    read(path).ok_or_else(|| format!("{} is no module", path.display()))
}

fn sizes(list: &[Value]) -> [u32; 3] {
    let at = |axis: usize| list.get(axis).and_then(Value::as_integer).map_or(1, |n| n as u32);
    [at(0), at(1), at(2)]
}

fn width(ty: &str) -> Result<u64, String> {
    match ty {
        "i8" | "u8" => Ok(1),
        "i16" | "u16" | "f16" => Ok(2),
        "i32" | "u32" | "f32" => Ok(4),
        "i64" | "u64" | "f64" => Ok(8),
        ty => Err(format!("buffers of {ty}")),
    }
}

fn contents(ty: &str, len: usize, init: Option<&Value>) -> Result<Vec<u8>, String> {
    if let Some(values) = init.and_then(|init| init.get("values")).and_then(Value::as_array) {
        let one = |value: &Value| bytes(&Value::Table(Table::from_iter([(ty.to_owned(), value.clone())])));
        return Ok(values.iter().map(one).collect::<Result<Vec<_>, _>>()?.concat());
    }
    let one = |at: usize| -> Vec<u8> {
        let number = (at as u32).wrapping_mul(2_654_435_761) >> 20;
        let float = f64::from(number) / 1024.0 - 2.0;
        match ty {
            "f16" => ((number & 0x3ff) as u16 | 0x3800).to_le_bytes().to_vec(),
            "f32" => (float as f32).to_le_bytes().to_vec(),
            "f64" => float.to_le_bytes().to_vec(),
            ty => u64::from(number % 8).to_le_bytes()[..width(ty).map_or(4, |n| n as usize)].to_vec(),
        }
    };
    Ok((0..len).flat_map(one).collect())
}

/// A value of a table with one key, its type.
fn constant(value: &Value) -> Result<SpecValue, String> {
    let (ty, value) =
        value.as_table().and_then(|table| table.iter().next()).ok_or("a value without a type")?;
    let integer = || value.as_integer().ok_or("no integer");
    let float = || value.as_float().or(value.as_integer().map(|n| n as f64)).ok_or("no number");
    Ok(match ty.as_str() {
        "bool" => SpecValue::Bool(value.as_bool().ok_or("no Boolean")?),
        "i32" => SpecValue::I32(integer()? as i32),
        "u32" => SpecValue::U32(integer()? as u32),
        "i64" => SpecValue::I64(integer()?),
        "u64" => SpecValue::U64(integer()? as u64),
        "f32" => SpecValue::F32(float()? as f32),
        "f64" => SpecValue::F64(float()?),
        ty => return Err(format!("constants of {ty}")),
    })
}

/// The bytes of a push constant.
fn bytes(value: &Value) -> Result<Vec<u8>, String> {
    if let Some(hex) = value.get("hex").and_then(Value::as_str) {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap_or(""), 16);
        return digits.chunks(2).map(pair).collect::<Result<_, _>>().map_err(|error| error.to_string());
    }
    let value = constant(value)?;
    let width = match value {
        SpecValue::I64(_) | SpecValue::U64(_) | SpecValue::F64(_) => 8,
        _ => 4,
    };
    Ok(value.bits().to_le_bytes()[..width].to_vec())
}
