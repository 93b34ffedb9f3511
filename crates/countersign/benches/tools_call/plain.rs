//! The yardstick: plain axum doing the same search on the same request, typed, with the same allocator, but without
//! MCP, validation, gate and audit.

use std::sync::Arc;

use axum::{Json, Router, extract::State, routing::post, serve::ListenerExt};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[derive(Serialize)]
struct Item {
    id: String,
    name: String,
    category: &'static str,
    price_cents: u32,
    stock: u32,
    updated_at: String,
}

#[derive(Deserialize)]
struct Request {
    id: u64,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    arguments: Arguments,
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
    limit: usize,
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: u64,
    result: Outcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    content: [Block; 1],
    structured_content: Found<'a>,
    is_error: bool,
}

#[derive(Serialize)]
struct Block {
    r#type: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Found<'a> {
    query: &'a str,
    total: usize,
    items: Vec<&'a Item>,
}

/// Serves `POST /search` on 127.0.0.1 until the process is ended.
pub async fn serve(port: u16) -> std::io::Result<()> {
    let items: Arc<Vec<Item>> = Arc::new(items());
    let app = Router::new().route("/search", post(search)).with_state(items);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener.tap_io(|stream| drop(stream.set_nodelay(true))), app).await
}

async fn search(State(items): State<Arc<Vec<Item>>>, Json(request): Json<Request>) -> Vec<u8> {
    let Arguments { query, limit } = request.params.arguments;
    let mut matching = items.iter().filter(|item| item.name.contains(&query));
    let first: Vec<&Item> = matching.by_ref().take(limit).collect();
    let total = first.len() + matching.count();
    let text = format!("{total} items match {query:?}; showing {}.", first.len());
    let result = Outcome {
        content: [Block { r#type: "text", text }],
        structured_content: Found { query: &query, total, items: first },
        is_error: false,
    };
    serde_json::to_vec(&Response { jsonrpc: "2.0", id: request.id, result }).unwrap_or_default()
}

/// The 500 items that the fixture and every peer search.
fn items() -> Vec<Item> {
    const CATEGORIES: [&str; 5] = ["bolt", "nut", "washer", "screw", "anchor"];
    let item = |(index, category): (u32, &&'static str)| Item {
        id: format!("itm_{index:05}"),
        name: format!("{category} type {} size M{}", index % 37, 3 + index % 17),
        category,
        price_cents: 100 + (index * 37) % 9900,
        stock: (index * 13) % 1000,
        updated_at: format!("2026-11-{:02}T08:{:02}:00Z", 1 + index % 28, index % 60),
    };
    (0..500).zip(CATEGORIES.iter().cycle()).map(item).collect()
}
