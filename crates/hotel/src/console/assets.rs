//! What pages load, all of it from this program: one stylesheet, one icon, htmx, and the
//! script of the pages that refresh themselves and are worked with the keyboard.
//!
//! `htmx-2.0.11.min.js` is `dist/htmx.min.js` of the npm package htmx.org 2.0.11, unchanged (licence 0BSD, in
//! `htmx-LICENSE` beside it); a test holds its SHA-256.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use govern::hex::hex;
use sha2::{Digest as _, Sha256};

/// A file that pages load.
pub struct Asset {
    /// Where.
    pub path: &'static str,
    media_type: &'static str,
    content: &'static str,
}

/// All of them.
pub static ASSETS: [Asset; 4] = [
    Asset {
        path: "/console/assets/console.css",
        media_type: "text/css; charset=utf-8",
        content: include_str!("../../assets/console.css"),
    },
    Asset {
        path: "/console/assets/htmx.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("../../assets/htmx-2.0.11.min.js"),
    },
    Asset {
        path: "/console/assets/icon.svg",
        media_type: "image/svg+xml",
        content: include_str!("../../assets/icon.svg"),
    },
    Asset {
        path: "/console/assets/console.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("../../assets/console.js"),
    },
];

/// What tells these contents from those of another version, so that a browser may keep them for good.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    for asset in &ASSETS {
        digest.update(asset.content);
    }
    hex(&digest.finalize()[..8])
});

/// The file.
pub(super) fn answer(asset: &'static Asset) -> Response {
    let mut response = Response::new(Body::from(asset.content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn htmx_is_the_file_of_the_package() {
        let digest = hex(&Sha256::digest(ASSETS[1].content));
        assert_eq!(digest, "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717");
    }
}
