//! What administrators run.

mod tokens;

use govern::gate::Policy;
use hotel::console::ConsoleOptions;
use hotel::domain::role::Role;
use hotel::testing::{Rig, on_each_database};

use crate::browser::{Browser, House};

/// What the trail has of an operation: caller and target, the newest last.
async fn trail(rig: &Rig, operation: &str) -> Vec<(String, String)> {
    let rows = rig.hotel.db.read(|tx| hotel::store::boxed(tx.audit_tail(1_000))).await.unwrap();
    let own = rows.into_iter().filter(|row| row.event.operation == operation && row.event.outcome == "ok");
    own.map(|row| (row.event.caller, row.event.target.unwrap_or_default())).collect()
}

/// A browser with an administrator in it.
async fn admin(house: &House) -> Browser {
    house.logged_in("boss", Role::Admin).await
}

const ADMIN_PATHS: [&str; 1] = ["/console/admin/tokens"];

#[tokio::test]
async fn under_a_read_only_policy_the_pages_say_so_and_nothing_is_changed() {
    on_each_database(async |rig| {
        let policy = Policy { read_only: true, ..Policy::default() };
        let house = House::with(rig, policy, ConsoleOptions::default()).await;
        let mut boss = admin(&house).await;
        for path in ADMIN_PATHS {
            let page = boss.get(path).await;
            assert!(page.text.contains("系统处于只读模式"), "{path}");
            assert!(!page.text.contains("<form class=\"card\" method=\"post\""), "{path}");
        }
        let refused = boss.post("/console/admin/tokens", &[("name", "agent"), ("scope-read", "1")]).await;
        assert_eq!(refused.status, 503);
        assert_eq!(hotel::app::tokens::list(&house.rig.hotel).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn only_administrators_are_led_to_what_they_run() {
    on_each_database(async |rig| {
        let house = House::open(rig).await;
        let link = "href=\"/console/admin";
        assert!(admin(&house).await.get("/console/tasks").await.text.contains(link));
        for (name, role) in [("viewer", Role::Viewer), ("clerk", Role::Clerk)] {
            let page = house.logged_in(name, role).await.get("/console/tasks").await;
            assert!(!page.text.contains(link), "{name}");
        }
    })
    .await;
}
