//! The address of a visitor, as attempts to log in are counted by it.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::request::Parts;
use govern::http::Peer;

/// The other end of the connection; behind a proxy, whom the proxy names last in `X-Forwarded-For`. One subscriber has
/// a whole /64 of IPv6, so that is what counts.
pub(super) fn of(head: &Parts, behind_proxy: bool) -> String {
    let peer = head.extensions.get::<Peer>().map(|peer| peer.0.ip());
    let forwarded = head.headers.get_all("x-forwarded-for").iter().next_back();
    let forwarded = forwarded
        .filter(|_| behind_proxy)
        .and_then(|list| list.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    forwarded.or(peer).map_or_else(|| "unknown".to_owned(), shown)
}

fn shown(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(peer: &str, forwarded: &[&str], behind_proxy: bool) -> String {
        let (mut head, ()) = axum::http::Request::new(()).into_parts();
        head.extensions.insert(Peer(peer.parse().unwrap()));
        for value in forwarded {
            head.headers.append("x-forwarded-for", value.parse().unwrap());
        }
        of(&head, behind_proxy)
    }

    #[test]
    fn only_a_proxy_that_was_said_to_be_there_is_believed() {
        assert_eq!(asked("10.0.0.1:4000", &["203.0.113.7"], false), "10.0.0.1");
        assert_eq!(asked("10.0.0.1:4000", &["203.0.113.7"], true), "203.0.113.7");
        assert_eq!(asked("10.0.0.1:4000", &[], true), "10.0.0.1");
        assert_eq!(asked("10.0.0.1:4000", &["nonsense"], true), "10.0.0.1");
    }

    #[test]
    fn what_a_visitor_wrote_into_the_header_is_before_the_proxys_entry() {
        assert_eq!(asked("10.0.0.1:4000", &["1.1.1.1, 203.0.113.7"], true), "203.0.113.7");
        assert_eq!(asked("10.0.0.1:4000", &["1.1.1.1", "203.0.113.7"], true), "203.0.113.7");
    }

    #[test]
    fn an_ipv6_subscriber_is_one_address_and_a_mapped_one_is_ipv4() {
        assert_eq!(asked("[2001:db8:1:2:3:4:5:6]:4000", &[], false), "2001:db8:1:2::/64");
        assert_eq!(asked("[::ffff:10.0.0.1]:4000", &[], false), "10.0.0.1");
    }
}
