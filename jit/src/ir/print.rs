//! A module as text, to be read.

use std::fmt::{self, Display, Write as _};

use rspirv::binary::Disassemble as _;
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, GlslStd450Op};

use super::entity::{
    Const, Construct, Entity as _, Func, Global, Inst, Place, Region, SecondaryMap, Type, Value,
};
use super::function::{Def, Function, Root};
use super::inst::{Access, Arg, Operation};
use super::module::{ConstKind, Module, Named};
use super::region::{ConstructKind, End, Node};
use super::types::TypeKind;

impl Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (global, data) in self.globals.iter() {
            let ty = self.types.pointer(data.pointer).map_or(data.pointer, |(_, pointee)| pointee);
            writeln!(f, "{:?} {}: {}", data.class, self.global_name(global), self.type_name(ty))?;
        }
        for &function in &self.defined {
            let mut printer = Printer::new(self, function);
            printer.function(function).map_err(|_| fmt::Error)?;
            f.write_str(&printer.text)?;
        }
        Ok(())
    }
}

impl Module {
    fn type_name(&self, ty: Type) -> String {
        if let Some(name) = self.names.get(&Named::Type(ty)) {
            return name.clone();
        }
        let of = |ty: &Type| self.type_name(*ty);
        match self.types.kind(ty) {
            TypeKind::Void => "void".to_owned(),
            TypeKind::Bool => "bool".to_owned(),
            TypeKind::Int { width, signed } => format!("{}{width}", if *signed { 'i' } else { 'u' }),
            TypeKind::Float { width } => format!("f{width}"),
            TypeKind::Vector { element, count } => format!("{}x{count}", of(element)),
            TypeKind::Matrix { column, count } => format!("{}x{count}", of(column)),
            TypeKind::Array { element, length } => format!("[{}; {}]", of(element), self.const_name(*length)),
            TypeKind::RuntimeArray { element } => format!("[{}]", of(element)),
            TypeKind::Struct { .. } => format!("{ty:?}"),
            TypeKind::Pointer { class, pointee } => match self.types.kind(*pointee) {
                TypeKind::Struct { .. } => format!("*{class:?} {pointee:?}"),
                _ => format!("*{class:?} {}", of(pointee)),
            },
            TypeKind::Function { .. } => "function".to_owned(),
            TypeKind::Forward { class } => format!("*{class:?}"),
            TypeKind::Other { op, .. } => format!("{op:?}"),
        }
    }

    fn const_name(&self, constant: Const) -> String {
        let data = self.const_data(constant);
        match (&data.kind, self.types.kind(data.ty)) {
            (ConstKind::Bool(truth), _) => truth.to_string(),
            (ConstKind::Bits(bits), TypeKind::Int { signed: true, .. }) if bits.len() == 1 => {
                format!("{}i", bits[0] as i32)
            }
            (ConstKind::Bits(bits), TypeKind::Int { .. }) if bits.len() == 1 => bits[0].to_string(),
            (ConstKind::Bits(bits), TypeKind::Float { width: 32 }) if bits.len() == 1 => {
                format!("{:?}", f32::from_bits(bits[0]))
            }
            (ConstKind::Bits(bits), _) => format!("{}:{:x?}", self.type_name(data.ty), bits.as_slice()),
            (ConstKind::Composite(parts), _) => {
                let parts: Vec<String> = parts.iter().map(|&part| self.const_name(part)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            (ConstKind::Null, _) => "null".to_owned(),
            (ConstKind::Undef, _) => "undef".to_owned(),
            (ConstKind::Other { .. }, _) => {
                let name = self.names.get(&Named::Const(constant));
                name.cloned().unwrap_or_else(|| format!("{constant:?}"))
            }
        }
    }

    fn global_name(&self, global: Global) -> String {
        if let Some(name) = self.names.get(&Named::Global(global)) {
            return format!("@{name}");
        }
        let find = |wanted| Some(self.decoration(global, wanted)?.first()?.disassemble());
        match (find(Decoration::BuiltIn), find(Decoration::DescriptorSet), find(Decoration::Binding)) {
            (Some(builtin), ..) => format!("@{builtin}"),
            (_, Some(set), Some(binding)) => format!("@binding.{set}.{binding}"),
            _ => {
                let class = format!("{:?}", self.globals[global].class).to_lowercase();
                format!("@{class}.{}", global.index())
            }
        }
    }

    fn func_name(&self, function: Func) -> String {
        let name = self.names.get(&Named::Func(function));
        name.cloned().unwrap_or_else(|| format!("{function:?}"))
    }
}

struct Printer<'m> {
    module: &'m Module,
    f: &'m Function,
    text: String,
    indent: usize,
    /// Values by their order.
    names: SecondaryMap<Value, Option<u32>>,
    count: u32,
}

impl<'m> Printer<'m> {
    fn new(module: &'m Module, function: Func) -> Self {
        let f = &module.functions[function];
        let names = SecondaryMap::of(&f.values);
        Self { module, f, text: String::new(), indent: 0, names, count: 0 }
    }

    fn line(&mut self, text: impl Display) -> fmt::Result {
        writeln!(self.text, "{:width$}{text}", "", width = 2 * self.indent)
    }

    fn value(&mut self, value: Value) -> String {
        match self.f.values[value].def {
            Def::Const(constant) => return self.module.const_name(constant),
            Def::Address(place) => return format!("&{}", self.place(place)),
            _ => {}
        }
        if let Some(name) = self.f.names.get(&value) {
            return format!("%{name}");
        }
        let count = &mut self.count;
        let number = self.names[value].get_or_insert_with(|| {
            *count += 1;
            *count - 1
        });
        format!("v{number}")
    }

    fn defined(&mut self, value: Value) -> String {
        let mut text = format!("{}: {}", self.value(value), self.module.type_name(self.f.values[value].ty));
        for decoration in self.module.decoration_list(self.f.values[value].decorations) {
            let words: Vec<String> = decoration.iter().map(Operand::disassemble).collect();
            text += &format!(" @{}", words.join(" "));
        }
        text
    }

    fn list(&mut self, values: &[Value]) -> String {
        let values: Vec<String> = values.iter().map(|&value| self.value(value)).collect();
        values.join(", ")
    }

    fn definitions(&mut self, values: &[Value]) -> String {
        let values: Vec<String> = values.iter().map(|&value| self.defined(value)).collect();
        values.join(", ")
    }

    fn place(&mut self, place: Place) -> String {
        let data = &self.f.places[place];
        let mut text = match data.root {
            Root::Global(global) => self.module.global_name(global),
            Root::Local(local) => format!("@{local:?}"),
            Root::Pointer(value) => format!("*{}", self.value(value)),
        };
        for &index in &data.path {
            text += &format!("[{}]", self.value(index));
        }
        text
    }

    fn function(&mut self, function: Func) -> fmt::Result {
        let f = self.f;
        let params = self.definitions(&f.params);
        let result = self.module.type_name(f.result);
        self.line(format_args!("\nfn {}({params}) -> {result} {{", self.module.func_name(function)))?;
        self.indent += 1;
        for &local in &f.variables {
            let ty = self.module.type_name(f.locals[local].pointer);
            let initializer = f.locals[local].initializer.map(|constant| self.module.const_name(constant));
            let initializer = initializer.map(|text| format!(" = {text}")).unwrap_or_default();
            self.line(format_args!("@{local:?}: {ty}{initializer}"))?;
        }
        self.indent -= 1;
        self.region(f.body, None)?;
        self.line("}")
    }

    fn region(&mut self, region: Region, own: Option<Construct>) -> fmt::Result {
        let f = self.f;
        self.indent += 1;
        for node in &f.regions[region].nodes {
            match *node {
                Node::Inst(inst) => self.inst(inst)?,
                Node::Construct(construct) => self.construct(construct)?,
            }
        }
        self.end(region, own)?;
        self.indent -= 1;
        Ok(())
    }

    fn end(&mut self, region: Region, own: Option<Construct>) -> fmt::Result {
        let f = self.f;
        let text = match &f.regions[region].end {
            End::Exit { to, args } if own == Some(*to) && args.is_empty() => return Ok(()),
            End::Exit { to, args } if own == Some(*to) => format!("yield {}", self.list(args)),
            End::Exit { to, args } => format!("break {to:?} {}", self.list(args)),
            End::Continue { to, args } => format!("continue {to:?} {}", self.list(args)),
            End::Repeat { args, until: None } => format!("repeat {}", self.list(args)),
            End::Repeat { args, until: Some(until) } => {
                let (args, results) = (self.list(args), self.list(&until.args));
                let condition = self.value(until.condition);
                let not = if until.is { "" } else { "not " };
                format!("repeat {args} until {not}{condition} -> {results}")
            }
            End::Fall { to, args } => format!("fall into {to:?} {}", self.list(args)),
            End::Return(None) => "return".to_owned(),
            End::Return(Some(value)) => format!("return {}", self.value(*value)),
            End::Unreachable => "unreachable".to_owned(),
            End::Terminate(op) => format!("{op:?}"),
        };
        self.line(text.trim_end())
    }

    fn construct(&mut self, construct: Construct) -> fmt::Result {
        let f = self.f;
        let data = &f.constructs[construct];
        match &data.kind {
            ConstructKind::If { condition, accept, reject, .. } => {
                let condition = self.value(*condition);
                self.line(format_args!("{construct:?}: if {condition} {{"))?;
                self.region(*accept, Some(construct))?;
                let rejected = &f.regions[*reject];
                let is_empty = rejected.nodes.is_empty() && rejected.end.values().next().is_none();
                if !(is_empty && matches!(rejected.end, End::Exit { to, .. } if to == construct)) {
                    self.line("} else {")?;
                    self.region(*reject, Some(construct))?;
                }
            }
            ConstructKind::Switch { selector, cases, .. } => {
                let selector = self.value(*selector);
                self.line(format_args!("{construct:?}: switch {selector} {{"))?;
                for (number, case) in cases.iter().enumerate() {
                    let numbers: Vec<String> = case.numbers.iter().map(u64::to_string).collect();
                    let default = if number == 0 { "default " } else { "" };
                    let region = case.region;
                    let (params, args) = (self.definitions(&f.regions[region].params), self.list(&case.args));
                    self.line(format_args!(
                        "{default}{} => {region:?} ({params} = {args}):",
                        numbers.join(" ")
                    ))?;
                    self.region(region, Some(construct))?;
                }
            }
            ConstructKind::Loop { args, body, continuing, .. } => {
                let params = self.definitions(&f.regions[*body].params);
                let args = self.list(args);
                self.line(format_args!("{construct:?}: loop ({params}) = ({args}) {{"))?;
                self.region(*body, Some(construct))?;
                let params = self.definitions(&f.regions[*continuing].params);
                self.line(format_args!("}} continuing ({params}) {{"))?;
                self.region(*continuing, Some(construct))?;
            }
        }
        match data.results.as_slice() {
            [] => self.line("}"),
            results => {
                let results = self.definitions(results);
                self.line(format_args!("}} -> {results}"))
            }
        }
    }

    fn inst(&mut self, inst: Inst) -> fmt::Result {
        let f = self.f;
        let data = &f.insts[inst];
        let access = |access: &Access| match access.is_plain() {
            true => String::new(),
            false => format!(" {access:?}"),
        };
        let text = match &data.operation {
            Operation::Pure { op, args, literals } => {
                let literals: Vec<String> = literals.iter().map(|one| format!("#{one}")).collect();
                format!("{op:?} {} {}", self.list(args), literals.join(" "))
            }
            Operation::Ext { set, number, args, .. } => match GlslStd450Op::from_u32(*number) {
                Some(op) if self.module.sets[*set] == "GLSL.std.450" => format!("{op:?} {}", self.list(args)),
                _ => format!("{set:?}.{number} {}", self.list(args)),
            },
            Operation::Load { place, access: how } => format!("load {}{}", self.place(*place), access(how)),
            Operation::Store { place, value, access: how } => {
                format!("store {} = {}{}", self.place(*place), self.value(*value), access(how))
            }
            Operation::Length { place, member } => format!("length {}[#{member}]", self.place(*place)),
            Operation::Atomic { op, place, scope, semantics, args, .. } => {
                let (place, args) = (self.place(*place), self.list(args));
                format!("{op:?} {place} {args} in {scope:?} {semantics:?}")
            }
            Operation::Barrier { execution, memory, semantics } => {
                let who = if execution.is_some() { "control" } else { "memory" };
                let scopes = match execution {
                    Some(execution) if execution != memory => format!("{execution:?} {memory:?}"),
                    _ => format!("{memory:?}"),
                };
                let mut names = semantics.iter_names().map(|(name, _)| name).collect::<Vec<_>>();
                names.dedup();
                format!("{who} barrier {scopes} {}", names.join(" "))
            }
            Operation::Call { function, args } => {
                format!("call {}({})", self.module.func_name(*function), self.list(args))
            }
            Operation::Other { op, operands } => {
                let operands = operands.iter().map(|operand| match operand {
                    Arg::Value(value) | Arg::Scope(value) | Arg::Semantics(value) => self.value(*value),
                    Arg::Type(ty) => self.module.type_name(*ty),
                    Arg::Literal(literal) => literal.disassemble(),
                });
                let operands: Vec<String> = operands.collect();
                format!("{op:?} {}", operands.join(", "))
            }
        };
        match data.result {
            Some(result) => {
                let result = self.defined(result);
                self.line(format_args!("{result} = {}", text.trim_end()))
            }
            None => self.line(text.trim_end()),
        }
    }
}
