//! Who may address the server: the hosts it answers to and the web origins it answers.

use std::net::Ipv6Addr;

use axum::http::{HeaderMap, header};
use thiserror::Error;

use super::one_text;

/// The names by which this server may be addressed and the web origins that may address it. A web page that
/// reaches a local server under another name (DNS rebinding) is refused by these.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Why [`Origins::check`] refused a request. The message is fit for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OriginError {
    /// The `Host` header is absent, double, or not an allowed name.
    #[error("This server does not answer under that Host; the operator can add it to `allowed_hosts`.")]
    Host,
    /// The `Origin` header is not an allowed origin.
    #[error("Requests from that Origin are not allowed; the operator can add it to `allowed_origins`.")]
    Origin,
}

impl Origins {
    /// Allows these hosts (`name` for any port, or `name:port`; an IPv6 address in brackets) and origins
    /// (`https://name[:port]`) besides the loopback names, which are always allowed.
    pub fn new(hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self { hosts, origins }
    }

    /// Refuses a request that names another host or comes from another origin.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), OriginError> {
        let host = one_text(headers, &header::HOST).map_err(|_| OriginError::Host)?;
        if !host.is_some_and(|host| self.allows_host(host)) {
            return Err(OriginError::Host);
        }
        let origin = one_text(headers, &header::ORIGIN).map_err(|_| OriginError::Origin)?;
        if !origin.is_none_or(|origin| self.allows_origin(origin)) {
            return Err(OriginError::Origin);
        }
        Ok(())
    }

    /// [`Self::check`] for this server's own pages: a form that they send has their own origin, the addressed host.
    pub fn check_own(&self, headers: &HeaderMap) -> Result<(), OriginError> {
        match self.check(headers) {
            Err(OriginError::Origin) if is_own(headers) => Ok(()),
            checked => checked,
        }
    }

    fn allows_host(&self, authority: &str) -> bool {
        host_name(authority).is_some_and(|name| {
            let allowed =
                |host: &String| host.eq_ignore_ascii_case(authority) || host.eq_ignore_ascii_case(name);
            is_loopback(name) || self.hosts.iter().any(allowed)
        })
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let web = ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme));
        web && host_name(authority).is_some_and(|name| {
            is_loopback(name) || self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
        })
    }
}

/// Whether the origin is the addressed host, as both headers write it.
fn is_own(headers: &HeaderMap) -> bool {
    let [host, origin] = [header::HOST, header::ORIGIN].map(|name| one_text(headers, &name).ok().flatten());
    let authority =
        origin.and_then(|origin| origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://")));
    host.is_some() && host == authority
}

/// The host of `host[:port]` (RFC 9110, section 7.2), an IPv6 address in its brackets; `None` for anything else, user
/// information included.
fn host_name(authority: &str) -> Option<&str> {
    let end = if authority.starts_with('[') {
        authority.find(']')? + 1
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, port) = authority.split_at(end);
    let good_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name_byte),
    };
    let good_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    (good_host && good_port).then_some(host)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn check(origins: &Origins, headers: &[(HeaderName, &'static str)]) -> Result<(), OriginError> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_static(value));
        }
        origins.check(&map)
    }

    /// What is no `host[:port]`, though it holds a loopback name.
    const NO_AUTHORITIES: [&str; 21] = [
        "",
        ":80",
        "localhost:",
        "localhost:evil",
        "localhost:80:80",
        "localhost:65536",
        "localhost:+80",
        "localhost: 80",
        "localhost/",
        "localhost\\.evil.example",
        "localhost,evil.example",
        "localhost evil.example",
        "localhost:1@evil.example",
        "localhost@evil.example",
        "evil.example@localhost",
        "::1",
        "[::1",
        "[::1]evil.example",
        "[::1]:evil",
        "[localhost]",
        "[]",
    ];

    #[test]
    fn loopback_names_are_allowed_in_any_case_and_on_any_port() {
        let origins = Origins::default();
        for host in ["localhost", "LOCALHOST:8750", "127.0.0.1:1", "[::1]:8750", "[::1]"] {
            assert_eq!(check(&origins, &[(header::HOST, host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_double_and_absent_hosts_are_refused() {
        let origins = Origins::default();
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]"] {
            assert_eq!(check(&origins, &[(header::HOST, host)]), Err(OriginError::Host), "{host}");
        }
        assert_eq!(check(&origins, &[]), Err(OriginError::Host));
        let both = [(header::HOST, "localhost"), (header::HOST, "localhost")];
        assert_eq!(check(&origins, &both), Err(OriginError::Host));
    }

    #[test]
    fn a_configured_host_is_allowed_on_any_port_or_on_its_own() {
        let hosts = ["hotel.example", "desk.example:8750", "[fd00::1]"];
        let origins = Origins::new(hosts.map(str::to_owned).to_vec(), Vec::new());
        for host in ["hotel.example", "Hotel.Example:1", "DESK.example:8750", "[FD00::1]:8750"] {
            assert_eq!(check(&origins, &[(header::HOST, host)]), Ok(()), "{host}");
        }
        for host in ["desk.example", "desk.example:8751", "hotel.example:x", "a@hotel.example"] {
            assert_eq!(check(&origins, &[(header::HOST, host)]), Err(OriginError::Host), "{host}");
        }
    }

    #[test]
    fn an_origin_must_be_loopback_or_configured() {
        let origins = Origins::new(vec!["hotel.example".into()], vec!["https://hotel.example".into()]);
        let from = |origin| check(&origins, &[(header::HOST, "hotel.example:443"), (header::ORIGIN, origin)]);
        for origin in
            ["https://hotel.example", "HTTPS://Hotel.Example", "http://localhost:5173", "HTTP://[::1]"]
        {
            assert_eq!(from(origin), Ok(()), "{origin}");
        }
        for origin in
            ["http://hotel.example", "https://evil.example", "null", "localhost", "file://localhost"]
        {
            assert_eq!(from(origin), Err(OriginError::Origin), "{origin}");
        }
    }

    #[test]
    fn a_page_of_the_servers_own_may_send_its_forms_under_an_allowed_host_only() {
        let origins = Origins::new(vec!["hotel.example".into()], Vec::new());
        let own = |host, origin| {
            let mut map = HeaderMap::new();
            map.append(header::HOST, HeaderValue::from_static(host));
            map.append(header::ORIGIN, HeaderValue::from_static(origin));
            origins.check_own(&map)
        };
        assert_eq!(own("hotel.example", "https://hotel.example"), Ok(()));
        assert_eq!(own("hotel.example:8750", "http://hotel.example:8750"), Ok(()));
        for origin in ["https://evil.example", "https://hotel.example:8751", "null", "ftp://hotel.example"] {
            assert_eq!(own("hotel.example", origin), Err(OriginError::Origin), "{origin}");
        }
        assert_eq!(own("evil.example", "https://evil.example"), Err(OriginError::Host));
    }

    #[test]
    fn a_host_or_an_origin_that_is_malformed_is_refused_whatever_it_holds() {
        let origins = Origins::default();
        for authority in NO_AUTHORITIES {
            assert!(!origins.allows_host(authority), "{authority}");
            assert!(!origins.allows_origin(&format!("http://{authority}")), "{authority}");
        }
    }
}
