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

/// A step of a file. Places are buffers by number and bytes in them.
pub(crate) enum Step {
    Call(Call),
    Copy { from: (usize, usize), to: (usize, usize), len: usize },
    Fill { to: (usize, usize), len: usize, word: [u8; 4] },
}

/// The list of a file without copies and fills; an `Err` is why there is none.
pub(crate) fn list(engine: &mut Engine, path: &Path) -> Result<List, String> {
    let (steps, buffers) = read_file(engine, path)?;
    let call = |step| match step {
        Step::Call(call) => Ok(call),
        _ => Err("a copy or a fill".to_owned()),
    };
    let calls = steps.into_iter().map(call).collect::<Result<_, _>>()?;
    Ok(List { name: path.display().to_string(), calls, buffers })
}

/// The steps of a file, and the contents of its buffers.
pub(crate) fn read_file(engine: &mut Engine, path: &Path) -> Result<(Vec<Step>, Vec<Vec<u8>>), String> {
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
        let subgroup = kernel.get("subgroup_size").and_then(Value::as_integer).map(|size| size as u32);
        kernels.insert(name.as_str(), (modules[file].clone(), entry, subgroup));
    }
    let (mut buffers, mut types, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
    for (name, buffer) in table(&file, "buffers")? {
        let ty = buffer.get("type").and_then(Value::as_str).ok_or("a buffer without a type")?;
        let len = buffer.get("len").and_then(Value::as_integer).ok_or("a buffer without a length")?;
        numbers.insert(name.as_str(), (buffers.len(), width(ty)?));
        types.push(ty);
        buffers.push(contents(folder, ty, len as usize, buffer.get("init"))?);
    }
    let place = |at: Option<&Value>| -> Result<((usize, usize), usize), String> {
        let at = at.and_then(Value::as_table).ok_or("a copy or a fill without a buffer")?;
        let name = at.get("buffer").and_then(Value::as_str).ok_or("a copy of an image")?;
        let (number, width) = *numbers.get(name).ok_or("an image")?;
        let field =
            |name: &str| at.get(name).and_then(Value::as_integer).map(|n| n as usize * width as usize);
        let offset = field("offset").unwrap_or(0);
        let len = field("len").unwrap_or(buffers[number].len() - offset);
        Ok(((number, offset), len))
    };
    let mut steps = Vec::new();
    for submit in file.get("submit").and_then(Value::as_array).ok_or("no submissions")? {
        let submit = submit.as_table().ok_or("a submission that is no table")?;
        if let Some(copy) = submit.get("copy") {
            let ((from, len), (to, _)) = (place(copy.get("from"))?, place(copy.get("to"))?);
            steps.push(Step::Copy { from, to, len });
            continue;
        }
        if let Some(fill) = submit.get("fill") {
            let (to, len) = place(Some(fill))?;
            let word = fill_word(fill.get("value"), types[to.0])?;
            steps.push(Step::Fill { to, len, word });
            continue;
        }
        let name = submit.get("kernel").and_then(Value::as_str).ok_or("no kernel")?;
        let (words, entry, subgroup) = kernels.get(name).ok_or("an unknown kernel")?;
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
        match submit.get("push") {
            Some(Value::Array(values)) => {
                for one in values {
                    push.extend(bytes(one)?);
                }
            }
            Some(one) => push = bytes(one)?,
            None => {}
        }
        let mut call = call.push(&push);
        call.vulkan.subgroup = *subgroup;
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
        steps.push(Step::Call(call));
    }
    Ok((steps, buffers))
}

/// What a fill writes, of buffers whose elements are words.
fn fill_word(value: Option<&Value>, ty: &str) -> Result<[u8; 4], String> {
    let value = value.ok_or("a fill without a value")?;
    let float = value.as_float().or(value.as_integer().map(|n| n as f64)).ok_or("no number")?;
    match ty {
        "f32" => Ok((float as f32).to_le_bytes()),
        "i32" | "u32" => Ok((float as i64 as u32).to_le_bytes()),
        ty => Err(format!("a fill of {ty}")),
    }
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

fn contents(folder: &Path, ty: &str, len: usize, init: Option<&Value>) -> Result<Vec<u8>, String> {
    if let Some(file) = init.and_then(|init| init.get("file")).and_then(Value::as_str) {
        let mut bytes = std::fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
        bytes.resize(len * width(ty)? as usize, 0);
        return Ok(bytes);
    }
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
