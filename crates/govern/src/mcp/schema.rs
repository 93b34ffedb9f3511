//! Small builders, so that a schema is written once for both profiles.

use serde_json::{Map, Value, json};

use crate::tool::SchemaProfile;

/// An object with exactly these properties, of which `required` must be present.
pub fn object<const N: usize>(properties: [(&str, Value); N], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// An array of `items`.
pub fn array(items: &Value, description: &str) -> Value {
    json!({"type": "array", "items": items, "description": description})
}

/// A value of one JSON type.
pub fn typed(kind: &str, description: &str) -> Value {
    json!({"type": kind, "description": description})
}

/// An argument that may be null. The portable profile leaves null out, which model APIs refuse; there, absent
/// means the same, so such an argument must not be among the required ones (see [`required`]).
pub fn nullable_argument(kind: &str, description: &str, profile: SchemaProfile) -> Value {
    match profile {
        SchemaProfile::Contract => json!({"type": [kind, "null"], "description": description}),
        SchemaProfile::Portable => typed(kind, description),
    }
}

/// A property of a result that may be null. The portable profile says no type, for the null is there under both.
pub fn nullable_result(kind: &str, description: &str, profile: SchemaProfile) -> Value {
    match profile {
        SchemaProfile::Contract => json!({"type": [kind, "null"], "description": description}),
        SchemaProfile::Portable => json!({"description": description}),
    }
}

/// An object of a result that may be null: the portable profile says no type.
pub fn nullable_object(mut schema: Value, profile: SchemaProfile) -> Value {
    if let Value::Object(members) = &mut schema {
        match profile {
            SchemaProfile::Portable => members.remove("type"),
            SchemaProfile::Contract => members.insert("type".into(), json!(["object", "null"])),
        };
    }
    schema
}

/// The required arguments: `always`, and under the contract profile also those that may be null.
pub fn required<'a>(always: &[&'a str], nullable: &[&'a str], profile: SchemaProfile) -> Vec<&'a str> {
    match profile {
        SchemaProfile::Contract => [always, nullable].concat(),
        SchemaProfile::Portable => always.to_vec(),
    }
}
