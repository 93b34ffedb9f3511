//! Who seals, when, and in which order.

use std::time::Duration;

use hotel::audit::Event;
use hotel::audit::seal::current_head;
use hotel::store::{Db, boxed};
use hotel::testing::on_each_database;

use super::{append, check, insert, record, sealer, trail};

#[tokio::test]
async fn a_row_committed_late_with_a_smaller_id_is_sealed_after_those_before_it() {
    on_each_database(async |rig| {
        let sealer = trail(&rig).await;
        let late = Event::from_record(1, &record(13));
        let digest = rig.hotel.audit_key.digest(&late);
        insert(&rig, late, digest).await;
        assert_eq!(sealer.seal().await.unwrap(), 1);
        let rows = rig.hotel.db.read(|tx| boxed(tx.audit_rows(1, 1))).await.unwrap();
        assert_eq!(rows[0].position, Some(13));
        assert!(check(&rig, None).await.ok);
    })
    .await;
}

#[tokio::test]
async fn of_sealers_at_work_at_once_none_seals_a_row_again_or_breaks_the_chain() {
    on_each_database(async |rig| {
        let other = Db::open(&rig.url).await.unwrap();
        let (one, two) = (sealer(&rig, &rig.hotel.db), sealer(&rig, &other));
        let mut sealed = 0;
        for round in 0..20 {
            let records = [record(2 * round), record(2 * round + 1)];
            let ((), by_one, by_two) = tokio::join!(append(&rig, &records), one.seal(), two.seal());
            sealed += by_one.unwrap() + by_two.unwrap();
            // Whoever holds the lease has to lose it sometimes, or the other would never seal.
            rig.hotel.clock.advance(Duration::from_secs(4));
        }
        rig.hotel.clock.advance(Duration::from_secs(6));
        sealed += one.seal().await.unwrap();
        assert_eq!(sealed, 40);
        let report = check(&rig, None).await;
        assert!(report.ok, "{report:?}");
        assert_eq!((report.records, report.unsealed), (40, 0));
        other.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_sealer_that_died_is_replaced_when_its_lease_ends() {
    on_each_database(async |rig| {
        trail(&rig).await;
        let other = sealer(&rig, &rig.hotel.db);
        append(&rig, &[record(13)]).await;
        assert_eq!(other.seal().await.unwrap(), 0);
        rig.hotel.clock.advance(Duration::from_secs(5));
        assert_eq!(other.seal().await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn at_shutdown_all_is_sealed_and_the_lease_is_free() {
    on_each_database(async |rig| {
        let running = sealer(&rig, &rig.hotel.db).start();
        append(&rig, &[record(1), record(2)]).await;
        running.shutdown().await;
        assert_eq!(current_head(&rig.hotel.db).await.unwrap().count, 2);
        append(&rig, &[record(3)]).await;
        assert_eq!(sealer(&rig, &rig.hotel.db).seal().await.unwrap(), 1);
    })
    .await;
}
