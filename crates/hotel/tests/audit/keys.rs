//! The key of a trail: made once, never replaced.

use govern::key::KeyFileError;
use govern::random::Random;
use hotel::audit::verify::verify;
use hotel::audit::{AuditKey, KeyError};
use hotel::testing::on_each_database;

#[tokio::test]
async fn a_key_is_made_for_a_new_trail_and_found_again() {
    on_each_database(async |rig| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/audit.key");
        let made = AuditKey::open(&rig.hotel.db, &path, &Random::System).await.unwrap();
        let again = AuditKey::open(&rig.hotel.db, &path, &Random::System).await.unwrap();
        assert_eq!(made.fingerprint(), again.fingerprint());
        assert_eq!(std::fs::read_dir(folder.path().join("keys")).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    })
    .await;
}

#[tokio::test]
async fn a_trail_whose_key_is_missing_or_another_is_refused_and_no_new_key_is_made() {
    on_each_database(async |rig| {
        let folder = tempfile::tempdir().unwrap();
        let [right, wrong, missing] = ["right", "wrong", "missing"].map(|name| folder.path().join(name));
        AuditKey::open(&rig.hotel.db, &right, &Random::System).await.unwrap();
        std::fs::write(&wrong, format!("{}\n", "ab".repeat(32))).unwrap();
        let mismatch = AuditKey::open(&rig.hotel.db, &wrong, &Random::System).await.unwrap_err();
        assert!(matches!(mismatch, KeyError::Mismatch(_)), "{mismatch}");
        let refused = AuditKey::open(&rig.hotel.db, &missing, &Random::System).await.unwrap_err();
        assert!(matches!(refused, KeyError::Missing(_)), "{refused}");
        assert!(refused.to_string().contains(&missing.display().to_string()));
        assert!(!missing.exists());
        let other = AuditKey::load(&wrong).unwrap();
        let report = verify(&rig.hotel.db, other.as_ref(), None).await.unwrap();
        assert!(report.reason.unwrap().contains("the key is not the one"));
    })
    .await;
}

#[tokio::test]
async fn a_key_file_with_something_else_in_it_is_refused() {
    on_each_database(async |rig| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.key");
        std::fs::write(&path, "ab".repeat(31)).unwrap();
        let refused = AuditKey::open(&rig.hotel.db, &path, &Random::System).await.unwrap_err();
        assert!(matches!(refused, KeyError::File(KeyFileError::Malformed(_))), "{refused}");
    })
    .await;
}
