//! Bearer tokens: made, rotated and revoked; a secret is shown by the answer that made it and by no other.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::{SecretPage, is_for_the_form, refused};
use crate::app::tokens::{self, OVERLAP_MS, OldSecret, SCOPES, TokenView};
use crate::console::visit::{Visit, page, see_other};
use crate::console::words;
use crate::error::Error;

const HERE: &str = "/console/admin/tokens";
const OVERLAP_HOURS: i64 = OVERLAP_MS / 3_600_000;

#[derive(Template)]
#[template(path = "admin_tokens.html")]
struct TokensPage<'v> {
    visit: &'v Visit,
    /// Live ones first, then the newest first.
    tokens: Vec<TokenView>,
    error: Option<String>,
}

/// GET /console/admin/tokens
pub(in crate::console) async fn list(visit: &Visit) -> Result<Response, Error> {
    page(StatusCode::OK, &tokens_page(visit, None).await?)
}

/// POST /console/admin/tokens: name, and `scope-…` for each scope.
pub(in crate::console) async fn create(visit: &Visit) -> Result<Response, Error> {
    let name = visit.fields.text("name");
    let scopes: Vec<&str> =
        SCOPES.into_iter().filter(|scope| !visit.fields.text(&format!("scope-{scope}")).is_empty()).collect();
    let made = tokens::add(&visit.hotel, visit.request.clone(), name, &scopes).await;
    let secret = match made {
        Ok(secret) => secret,
        Err(error) => return again(visit, error).await,
    };
    let title = visit.language.pick(format!("已创建令牌 {name}"), format!("Token {name} is made"));
    show(visit, title, secret.expose())
}

/// POST /console/admin/tokens/{id}/rotate: `at_once` ends the old secret.
pub(in crate::console) async fn rotate(visit: &Visit) -> Result<Response, Error> {
    let at_once = !visit.fields.text("at_once").is_empty();
    let old = if at_once { OldSecret::Ends } else { OldSecret::Overlaps };
    let (name, secret) = match tokens::rotate(&visit.hotel, visit.request.clone(), visit.id()?, old).await {
        Ok(rotated) => rotated,
        Err(error) => return again(visit, error).await,
    };
    let title = if at_once {
        visit.language.pick(
            format!("令牌 {name} 的新密钥；旧密钥已失效"),
            format!("A new secret of {name}; the old one has ended"),
        )
    } else {
        visit.language.pick(
            format!("令牌 {name} 的新密钥；旧密钥 {OVERLAP_HOURS} 小时后失效"),
            format!("A new secret of {name}; the old one ends in {OVERLAP_HOURS} hours"),
        )
    };
    show(visit, title, secret.expose())
}

/// POST /console/admin/tokens/{id}/revoke
pub(in crate::console) async fn revoke(visit: &Visit) -> Result<Response, Error> {
    match tokens::revoke(&visit.hotel, visit.request.clone(), visit.id()?).await {
        Ok(()) => see_other(HERE),
        Err(error) => again(visit, error).await,
    }
}

async fn tokens_page(visit: &Visit, error: Option<String>) -> Result<TokensPage<'_>, Error> {
    let mut tokens = tokens::list(&visit.hotel).await?;
    tokens.reverse();
    tokens.sort_by_key(|token| !token.live);
    Ok(TokensPage { visit, tokens, error })
}

async fn again(visit: &Visit, error: Error) -> Result<Response, Error> {
    if !is_for_the_form(&error) {
        return Err(error);
    }
    refused(&tokens_page(visit, Some(error.message(visit.language))).await?, &error)
}

fn show(visit: &Visit, title: String, secret: &str) -> Result<Response, Error> {
    let advice = visit.say(
        "密钥只显示这一次，任何地方都不保存。请立即复制到智能体的配置中；如果丢失，请轮换令牌。",
        "The secret is shown this once and kept nowhere. Copy it into the agent's configuration now; if it is lost, rotate the token.",
    );
    page(StatusCode::OK, &SecretPage { visit, title, advice: advice.to_owned(), secret, back: HERE })
}

impl TokensPage<'_> {
    /// The one who is in the form again after a refusal.
    fn typed(&self, name: &str) -> &str {
        if self.visit.id.is_none() { self.visit.fields.text(name) } else { "" }
    }

    fn is_chosen(&self, scope: &str) -> bool {
        !self.typed(&format!("scope-{scope}")).is_empty()
    }

    /// How a token stands: the style of its tag and the words.
    fn standing(&self, token: &TokenView) -> (&'static str, String) {
        let say = |chinese: &str, english: &str| self.visit.say(chinese, english).to_owned();
        match &token.revoked_at {
            None => ("done", say("有效", "live")),
            Some(end) if token.live => {
                let end = self.visit.moment(end);
                let text = self
                    .visit
                    .language
                    .pick(format!("旧密钥，{end} 失效"), format!("old secret, ends {end}"));
                ("confirm", text)
            }
            Some(end) => {
                let end = self.visit.moment(end);
                ("stop", self.visit.language.pick(format!("已于 {end} 撤销"), format!("revoked {end}")))
            }
        }
    }
}
