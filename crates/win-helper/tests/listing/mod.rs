//! All types and methods of an assembly, for comparisons; and the small assembly that the tests share.

use win_helper::assembly::{Image, Metadata, TypeDefinition, Unreadable};

/// `IMPlatformClient.cs`, compiled.
pub const CLIENT: &[u8] = include_bytes!("../assemblies/IMPlatformClient.exe");

/// The deepest nesting of types that is followed: a damaged file may have a circle.
const MOST_NESTING: usize = 64;

/// Each type's name, as reflection writes it, with its methods.
pub fn listing(file: &[u8]) -> Result<Vec<(String, Vec<String>)>, Unreadable> {
    let metadata = Metadata::open(Image::open(file)?)?;
    let types = metadata.types().map(|definition| {
        let methods = definition.methods()?.map(|name| name.map(text)).collect::<Result<_, _>>()?;
        Ok((full_name(definition)?, methods))
    });
    types.collect()
}

fn full_name(definition: TypeDefinition<'_, '_>) -> Result<String, Unreadable> {
    let mut name = own_name(definition)?;
    let mut at = definition;
    for _ in 0..MOST_NESTING {
        let Some(outer) = at.enclosing()? else { break };
        name = format!("{}+{name}", own_name(outer)?);
        at = outer;
    }
    Ok(name)
}

fn own_name(definition: TypeDefinition<'_, '_>) -> Result<String, Unreadable> {
    let (namespace, name) = (text(definition.namespace()?), text(definition.name()?));
    Ok(if namespace.is_empty() { name } else { format!("{namespace}.{name}") })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
