//! Builds the model from a pipeline file.
//!
//! # Guarantees
//! - every key is known, every name resolves, every number fits its type
//! - accessors lie inside their buffers, buffer sizes fit 64 bits
//!
//! # Refuses
//! - anything else, with the file, the key, the line and what would be right

use super::element::{ElementType, Scalar};
use super::image::{ImageDecl, Sampling, Texel};
use super::model::{
    Argument, BufferDecl, Extent, Fusion, Init, KernelDecl, Pipeline, Promotion, SpecValue, Submit,
};
use super::node::{Node, Source, Table, list, meant};
use super::problem::{Place, Problem};
use super::push;
use super::steps::{self, Step};
use super::syntax;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use vkfuse_jit::kernel::SetBinding;

/// Text of this many bytes is read; more is no pipeline file but something else under its name.
const LIMIT: u64 = 64 << 20;

/// What a pipeline file has at its top.
const KEYS: [&str; 7] = ["format", "name", "kernels", "buffers", "images", "submit", "fusion"];

/// Reads and checks the pipeline file `file`.
pub(crate) fn load(file: &Path) -> Result<Pipeline, Problem> {
    let unreadable = |error: std::io::Error| Problem::file(file, format!("cannot read the file: {error}"));
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(unreadable)?;
    opened.take(LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LIMIT {
        return Err(Problem::file(file, format!("the file is larger than {LIMIT} bytes")));
    }
    if matches!(bytes.get(..4), Some([0x03, 0x02, 0x23, 0x07] | [0x07, 0x23, 0x02, 0x03])) {
        let shown = file.display();
        return Err(Problem::file(
            file,
            format!(
                "it is a SPIR-V module, not a pipeline file that names modules; `vkfuse inspect {shown}` shows it"
            ),
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => parse(file, &text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            let place = Place::new(&before, valid, String::new());
            Err(Problem::at(file, &place, "the file is not UTF-8 text"))
        }
    }
}

/// Checks `text`, which came from `file`.
pub(crate) fn parse(file: &Path, text: &str) -> Result<Pipeline, Problem> {
    let document = DeTable::parse(text)
        .map_err(|error| syntax::problem(file, text, error.message(), error.span(), &KEYS))?;
    let span = document.span();
    let document = Spanned::new(span, DeValue::Table(document.into_inner()));
    let source = Source { file, text };
    // The version comes first: a file of another version must hear that, not about an odd key.
    let version = Table::any(source, &document)?;
    let version = version.get("format").ok_or_else(|| {
        let start = Place::new(text, 0, String::new());
        Problem::at(file, &start, "missing key \"format\": a pipeline file says `format = 1`")
    })?;
    if version.integer()? != 1 {
        return Err(version.problem(format!("format {} is not known, expected 1", version.integer()?)));
    }
    let root = Table::document(source, &document, &KEYS)?;

    let name = root.get("name").map(|name| name.string().map(str::to_owned)).transpose()?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let list = root.require("submit")?;
    let nodes = list.array("an array of tables, [[submit]]")?;
    // A list of copies and fills alone has no kernels.
    let mut kernels = match root.get("kernels") {
        None if nodes.iter().all(|node| is_step(node) || !has_kernel(node)) => Vec::new(),
        _ => named(&root, "kernels", |name, node| kernel(folder, name, node))?,
    };
    // A list on images alone has no buffers.
    let mut buffers = match (root.get("buffers"), root.get("images")) {
        (None, Some(_)) => Vec::new(),
        _ => named(&root, "buffers", |name, node| buffer(folder, name, node))?,
    };
    if let Some(images) = root.get("images") {
        for (name, node) in images.open_table()?.entries() {
            if buffers.iter().any(|buffer| buffer.name == *name) {
                return Err(node.problem(format!("\"{name}\" is a buffer, too")));
            }
            buffers.push(image(folder, name, node)?);
        }
    }
    let submits: Vec<Submit> =
        nodes.iter().map(|node| submit(node, &mut kernels, &buffers)).collect::<Result<_, _>>()?;
    if submits.is_empty() {
        return Err(list.problem("there is nothing to run, expected at least one [[submit]]"));
    }
    let fusion = fusion(root.get("fusion").as_ref(), &buffers)?;
    Ok(Pipeline { file: file.to_owned(), name, kernels, buffers, submits, fusion })
}

/// The tables under `key`, whose names the user chooses.
fn named<T>(
    root: &Table<'_>,
    key: &str,
    read: impl Fn(&str, &Node<'_>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    let table = root.require(key)?.open_table()?;
    table.entries().map(|(name, node)| read(name, node)).collect()
}

fn kernel(folder: &Path, name: &str, node: &Node<'_>) -> Result<KernelDecl, Problem> {
    let table = node.table(&["path", "entry", "local_size", "subgroup_size"])?;
    let path = table.require("path")?;
    let entry = table.get("entry");
    Ok(KernelDecl {
        name: name.to_owned(),
        path: relative(folder, &path)?,
        path_place: path.place(),
        entry_place: entry.as_ref().unwrap_or(node).place(),
        entry: entry.map(|entry| entry.string().map(str::to_owned)).transpose()?,
        subgroup_size: match table.get("subgroup_size") {
            Some(size) => Some((size.integer_in(1, 128)? as u32, size.place())),
            None => None,
        },
        local_size: match table.get("local_size") {
            Some(size) => Some((extent(&size)?, size.place())),
            None => None,
        },
        step: None,
    })
}

/// A path of the file, relative to the folder that the file is in.
fn relative(folder: &Path, node: &Node<'_>) -> Result<PathBuf, Problem> {
    let text = node.string()?;
    if text.is_empty() {
        return Err(node.problem("expected a path, found an empty string"));
    }
    Ok(folder.join(text))
}

fn buffer(folder: &Path, name: &str, node: &Node<'_>) -> Result<BufferDecl, Problem> {
    let table = node.table(&["type", "len", "init", "seed", "promote"])?;
    let ty = table.require("type")?.word(&ElementType::ALL)?;
    // The byte size must fit what the address arithmetic of the host can hold.
    let len = table.require("len")?.integer_in(1, isize::MAX as u64 / ty.size() as u64)?;
    Ok(BufferDecl {
        name: name.to_owned(),
        ty,
        len,
        init: contents(folder, &table, ty, len)?,
        initialised: table.get("init").is_some(),
        promote: match table.get("promote") {
            Some(promote) => promotion(&promote)?,
            None => Promotion::None,
        },
        image: None,
        place: node.place(),
    })
}

fn image(folder: &Path, name: &str, node: &Node<'_>) -> Result<BufferDecl, Problem> {
    let table = node.table(&["format", "size", "init", "seed"])?;
    let (image, len) = ImageDecl::read(&table.require("format")?, &table.require("size")?)?;
    let ty = image.texel.scalar;
    let integers = |mut problem: Problem| {
        if problem.message.starts_with("expected an integer (") {
            problem.message.push_str("; channels are given as they are in memory, 255 for 1.0 of eight bits");
        }
        problem
    };
    Ok(BufferDecl {
        name: name.to_owned(),
        ty,
        len,
        init: contents(folder, &table, ty, len).map_err(integers)?,
        initialised: table.get("init").is_some(),
        promote: Promotion::None,
        image: Some(image),
        place: node.place(),
    })
}

fn promotion(node: &Node<'_>) -> Result<Promotion, Problem> {
    use Promotion::{Auto, Local, None, Private};
    node.word(&[None, Private, Local, Auto].map(|promotion| (promotion.name(), promotion)))
}

/// What `init` and `seed` say, zeros without them. Only random contents have a seed.
fn contents(folder: &Path, table: &Table<'_>, ty: ElementType, len: u64) -> Result<Init, Problem> {
    let seed = table.get("seed");
    let number = seed.as_ref().map_or(Ok(0), |seed| seed.integer_in(0, u64::MAX))?;
    let init = match table.get("init") {
        Some(init) => self::init(folder, &init, ty, len, number)?,
        None => Init::Zeros,
    };
    match seed {
        Some(seed) if !matches!(init, Init::Random { .. }) => {
            Err(seed.problem("a seed is for `init = \"random\"` alone"))
        }
        _ => Ok(init),
    }
}

fn init(folder: &Path, node: &Node<'_>, ty: ElementType, len: u64, seed: u64) -> Result<Init, Problem> {
    if let Some(word) = node.value().as_str() {
        return match word {
            "zeros" => Ok(Init::Zeros),
            "iota" => Ok(Init::Iota),
            "random" => Ok(Init::Random { seed }),
            _ => Err(node.problem(format!(
                "unknown word \"{word}\", expected zeros, iota, random, {{ fill = NUMBER }}, {{ values = [NUMBERS] }}, \
                 {{ scalars = [TYPED NUMBERS] }} or {{ file = \"PATH\" }}"
            ))),
        };
    }
    if !node.is_table() {
        return Err(node.expected(
            "zeros, iota, random, { fill = NUMBER }, { values = [NUMBERS] }, { scalars = [TYPED NUMBERS] } or { file = \"PATH\" }",
        ));
    }
    let table = node.table(&["fill", "values", "scalars", "file"])?;
    if table.len() != 1 {
        return Err(node.problem("expected exactly one of fill, values, scalars or file"));
    }
    if let Some(fill) = table.get("fill") {
        return Ok(Init::Fill(ty.element(&fill)?));
    }
    if let Some(values) = table.get("values") {
        let elements = values.array("an array of numbers")?;
        if elements.len() as u64 != len {
            return Err(values.problem(format!(
                "{} values for {len} elements (of an image, the channels of its texels)",
                elements.len()
            )));
        }
        let mut bytes = Vec::with_capacity(elements.len() * ty.size());
        for element in &elements {
            bytes.extend_from_slice(&ty.element(element)?);
        }
        return Ok(Init::Values(bytes));
    }
    if let Some(scalars) = table.get("scalars") {
        let bytes = push::read(&scalars)?.bytes.to_vec();
        let needed = len.saturating_mul(ty.size() as u64);
        if bytes.len() as u64 != needed {
            return Err(scalars.problem(format!("{} bytes for a buffer of {needed}", bytes.len())));
        }
        return Ok(Init::Scalars(bytes));
    }
    let file = table.require("file")?;
    Ok(Init::File { path: relative(folder, &file)?, place: file.place() })
}

/// Whether a submission is one that needs no kernel of the file's.
fn is_step(node: &Node<'_>) -> bool {
    node.open_table().is_ok_and(|table| Step::ALL.iter().any(|step| table.get(step.name()).is_some()))
}

/// Whether a submission names a kernel.
fn has_kernel(node: &Node<'_>) -> bool {
    node.open_table().is_ok_and(|table| table.get("kernel").is_some())
}

fn submit(node: &Node<'_>, kernels: &mut Vec<KernelDecl>, buffers: &[BufferDecl]) -> Result<Submit, Problem> {
    let keys = ["kernel", "groups", "global", "indirect", "base", "spec", "push", "args", "copy", "fill"];
    let table = node.table(&keys)?;
    for step in Step::ALL {
        let Some(node) = table.get(step.name()) else { continue };
        if table.len() > 1 {
            return Err(node.problem(format!("expected no other key beside {}", step.name())));
        }
        let known = kernels.iter().position(|kernel| kernel.step == Some(step));
        let kernel = known.unwrap_or_else(|| {
            kernels.push(step.kernel(&node));
            kernels.len() - 1
        });
        return steps::read(step, &node, kernel, buffers);
    }
    let kernel_node = table.require("kernel")?;
    let own = kernels.iter().filter(|kernel| kernel.step.is_none());
    let kernel = lookup(&kernel_node, "kernel", own.map(|kernel| kernel.name.as_str()))?;
    let extent = match (table.get("groups"), table.get("global"), table.get("indirect")) {
        (Some(groups), None, None) => Extent::Groups(counts(&groups, 0, 1)?),
        (None, Some(global), None) => Extent::Global(counts(&global, 0, 1)?),
        (None, None, Some(indirect)) => self::indirect(&indirect, buffers)?,
        (None, None, None) => {
            return Err(node.problem("missing key \"groups\" (or \"global\", or \"indirect\")"));
        }
        (Some(_), Some(other), _) | (_, Some(other), Some(_)) | (Some(_), _, Some(other)) => {
            return Err(other.problem("expected only one of groups, global and indirect"));
        }
    };
    let spec = match table.get("spec") {
        Some(spec) => specialization(&spec)?,
        None => Vec::new(),
    };
    let push = table.get("push");
    Ok(Submit {
        kernel,
        kernel_place: kernel_node.place(),
        extent,
        base: match table.get("base") {
            Some(base) => counts(&base, 0, 0)?,
            None => [0; 3],
        },
        spec,
        push_place: push.as_ref().unwrap_or(node).place(),
        push: match push {
            Some(push) => push::read(&push)?,
            None => push::Given::default(),
        },
        args: match table.get("args") {
            Some(args) => arguments(&args, buffers)?,
            None => Vec::new(),
        },
        place: node.place(),
    })
}

/// `indirect = { buffer = "counts", offset = 0 }`: three elements of 32 bits.
fn indirect(node: &Node<'_>, buffers: &[BufferDecl]) -> Result<Extent, Problem> {
    if !node.is_table() {
        return Err(node.expected("three u32 of a buffer, { buffer = \"NAME\", offset = 0 }"));
    }
    let table = node.table(&["buffer", "offset"])?;
    let buffer_node = table.require("buffer")?;
    let buffer = lookup(&buffer_node, "buffer", buffers.iter().map(|buffer| buffer.name.as_str()))?;
    let declared = &buffers[buffer];
    if declared.ty != ElementType::U32 || declared.len < 3 || declared.image.is_some() {
        let found = if declared.image.is_some() {
            "an image".to_owned()
        } else {
            format!("{} {}", declared.len, declared.ty.name())
        };
        return Err(buffer_node.problem(format!("expected a buffer of at least three u32, found {found}")));
    }
    let offset = match table.get("offset") {
        Some(offset) => offset.integer_in(0, declared.len - 3)?,
        None => 0,
    };
    Ok(Extent::Indirect { buffer, offset })
}

/// `offset` and `len` of a part of this many elements.
pub(super) fn part(table: &Table<'_>, whole: u64) -> Result<(u64, u64), Problem> {
    let offset = match table.get("offset") {
        Some(offset) => offset.integer_in(0, whole - 1)?,
        None => 0,
    };
    let len = match table.get("len") {
        Some(len) => len.integer_in(1, whole - offset)?,
        None => whole - offset,
    };
    Ok((offset, len))
}

/// The index of the thing that `node` names.
pub(super) fn lookup<'n>(
    node: &Node<'_>,
    what: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Result<usize, Problem> {
    let found = node.string()?;
    names.clone().position(|name| name == found).ok_or_else(|| {
        let known = match names.clone().next() {
            Some(_) => format!("expected {}{}", list(names.clone()), meant(found, names).unwrap_or_default()),
            None => format!("and the file has no {what}s"),
        };
        node.problem(format!("unknown {what} \"{found}\", {known}"))
    })
}

/// One to three counts, each at least one.
fn extent(node: &Node<'_>) -> Result<[u32; 3], Problem> {
    counts(node, 1, 1)
}

/// One to three counts, each at least this; those left out are `other`.
fn counts(node: &Node<'_>, least: u32, other: u32) -> Result<[u32; 3], Problem> {
    let given = node.array("an array of one to three counts")?;
    if given.is_empty() || given.len() > 3 {
        return Err(node.problem(format!("expected one to three counts, found {}", given.len())));
    }
    let mut counts = [other; 3];
    for (axis, count) in given.iter().enumerate() {
        counts[axis] = count.integer_in(least.into(), u32::MAX.into())? as u32;
    }
    Ok(counts)
}

fn specialization(node: &Node<'_>) -> Result<Vec<SpecValue>, Problem> {
    let table = node.open_table().map_err(|_| node.expected("a table by id, { 0 = { u32 = 64 } }"))?;
    let values = table.entries().map(|(name, value)| {
        let id = name.parse().map_err(|_| {
            value.problem(format!("\"{name}\" is not a specialization id, expected a number"))
        })?;
        Ok(SpecValue { id, value: Scalar::read(value, true)?, place: value.place() })
    });
    let values: Vec<SpecValue> = values.collect::<Result<_, Problem>>()?;
    for (index, value) in values.iter().enumerate() {
        // "1" and "01" are two keys to TOML but one constant.
        if values[..index].iter().any(|other| other.id == value.id) {
            return Err(node.problem(format!("specialization constant {} is given twice", value.id)));
        }
    }
    Ok(values)
}

fn arguments(node: &Node<'_>, buffers: &[BufferDecl]) -> Result<Vec<Argument>, Problem> {
    let table = node.open_table().map_err(|_| node.expected("a table by binding, { 0 = \"NAME\" }"))?;
    let mut args: Vec<Argument> = Vec::with_capacity(table.len());
    for (name, value) in table.entries() {
        let at = set_binding(name).ok_or_else(|| {
            value.problem(format!(
                "\"{name}\" is not a binding, expected its number, such as \"2\", or its set and number, \"0.2\""
            ))
        })?;
        if args.iter().any(|other| other.at.whole() == at) {
            return Err(value.problem(format!("binding {} of set {} is given twice", at.binding, at.set)));
        }
        if value.is_array() {
            for (element, value) in (0..).zip(value.array("an array of arguments")?) {
                args.push(argument(&value, at.element(element), buffers)?);
            }
        } else {
            args.push(argument(value, at, buffers)?);
        }
    }
    args.sort_by_key(|arg| arg.at);
    Ok(args)
}

/// `"binding"` or `"set.binding"`.
fn set_binding(name: &str) -> Option<SetBinding> {
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    let (set, binding) = name.split_once('.').unwrap_or(("0", name));
    Some(SetBinding::from((number(set)?, number(binding)?)))
}

fn argument(node: &Node<'_>, at: SetBinding, buffers: &[BufferDecl]) -> Result<Argument, Problem> {
    let names = buffers.iter().map(|buffer| buffer.name.as_str());
    if !node.is_table() {
        if node.value().as_str().is_none() {
            return Err(node.expected("the name of a buffer, or a table with the key buffer"));
        }
        let buffer = lookup(node, "buffer", names)?;
        return Ok(Argument {
            at,
            buffer,
            promote: None,
            offset: 0,
            len: buffers[buffer].len,
            constant: false,
            cast: false,
            sampler: None,
            texels: None,
            place: node.place(),
        });
    }
    if let Some(argument) = image_argument(node, at, buffers)? {
        return Ok(argument);
    }
    let table = node.table(&["buffer", "promote", "offset", "len", "constant", "cast", "texels"])?;
    let buffer_node = table.require("buffer")?;
    let buffer = lookup(&buffer_node, "buffer", names)?;
    if buffers[buffer].image.is_some() {
        let name = &buffers[buffer].name;
        return Err(buffer_node.problem(format!("{name} is an image, expected {{ image = \"{name}\" }}")));
    }
    let (offset, len) = part(&table, buffers[buffer].len)?;
    Ok(Argument {
        at,
        buffer,
        promote: table.get("promote").map(|promote| promotion(&promote)).transpose()?,
        offset,
        len,
        constant: flag(table.get("constant"))?,
        cast: flag(table.get("cast"))?,
        sampler: None,
        texels: table.get("texels").map(|format| Texel::read(&format)).transpose()?,
        place: node.place(),
    })
}

/// A boolean, false where it is left out.
pub(super) fn flag(node: Option<Node<'_>>) -> Result<bool, Problem> {
    node.map_or(Ok(false), |node| node.boolean())
}

/// `{ image = "photo", sampler = "linear" }`, if the table has such a key.
fn image_argument(
    node: &Node<'_>,
    at: SetBinding,
    buffers: &[BufferDecl],
) -> Result<Option<Argument>, Problem> {
    if node.open_table()?.get("image").is_none() {
        return Ok(None);
    }
    let table = node.table(&["image", "sampler"])?;
    let image_node = table.require("image")?;
    let name = image_node.value().as_str().unwrap_or_default();
    if buffers.iter().any(|buffer| buffer.name == name && buffer.image.is_none()) {
        return Err(image_node.problem(format!("{name} is a buffer, expected {{ buffer = \"{name}\" }}")));
    }
    let images = buffers.iter().filter(|buffer| buffer.image.is_some());
    let number = lookup(&image_node, "image", images.map(|image| image.name.as_str()))?;
    let first = buffers.iter().position(|buffer| buffer.image.is_some()).unwrap_or(0);
    let buffer = first + number;
    Ok(Some(Argument {
        at,
        buffer,
        promote: None,
        offset: 0,
        len: buffers[buffer].len,
        constant: false,
        cast: false,
        sampler: table.get("sampler").map(|sampler| Sampling::read(&sampler)).transpose()?,
        texels: None,
        place: node.place(),
    }))
}

fn fusion(node: Option<&Node<'_>>, buffers: &[BufferDecl]) -> Result<Fusion, Problem> {
    let mut fusion = Fusion {
        trust: false,
        no_barriers: false,
        no_barriers_place: None,
        force: false,
        contract: false,
        robust: false,
        outputs: None,
        outputs_place: None,
    };
    let Some(node) = node else {
        return Ok(fusion);
    };
    let table = node.table(&["policy", "no_barriers", "force", "float", "robust", "outputs"])?;
    if let Some(policy) = table.get("policy") {
        fusion.trust = policy.word(&[("prove", false), ("trust", true)])?;
    }
    if let Some(no_barriers) = table.get("no_barriers") {
        fusion.no_barriers = no_barriers.boolean()?;
        fusion.no_barriers_place = Some(no_barriers.place());
    }
    if let Some(force) = table.get("force") {
        fusion.force = force.boolean()?;
    }
    if let Some(robust) = table.get("robust") {
        fusion.robust = robust.boolean()?;
    }
    if let Some(float) = table.get("float") {
        fusion.contract = float.word(&[("strict", false), ("contract", true)])?;
    }
    if let Some(outputs) = table.get("outputs") {
        let mut indices = Vec::new();
        for output in outputs.array("an array of buffer names")? {
            let index = lookup(&output, "buffer", buffers.iter().map(|buffer| buffer.name.as_str()))?;
            if indices.contains(&index) {
                return Err(output.problem(format!("output \"{}\" is given twice", buffers[index].name)));
            }
            indices.push(index);
        }
        fusion.outputs = Some(indices);
        fusion.outputs_place = Some(outputs.place());
    }
    Ok(fusion)
}
