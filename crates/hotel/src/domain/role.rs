//! What a person of the console may do.

/// A person's role; each may do what the one before may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Also confirms and rejects.
    Clerk,
    /// Also runs the console: people, tokens, the trail.
    Admin,
}

/// All roles, the weakest first.
pub const ROLES: [Role; 3] = [Role::Viewer, Role::Clerk, Role::Admin];

impl Role {
    /// The stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Clerk => "clerk",
            Self::Admin => "admin",
        }
    }

    /// Reads the stored word.
    pub fn parse(word: &str) -> Option<Self> {
        ROLES.into_iter().find(|role| role.as_str() == word)
    }

    /// The scopes by which the gate knows the role. They are not those of tokens: no token opens the console, and
    /// nobody of the console can call as an agent.
    pub fn scopes(self) -> &'static [&'static str] {
        const SCOPES: [&str; 3] = ["console-view", "console-decide", "console-run"];
        match self {
            Self::Viewer => &SCOPES[..1],
            Self::Clerk => &SCOPES[..2],
            Self::Admin => &SCOPES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_what_the_one_before_may_and_more() {
        for pair in ROLES.windows(2) {
            assert!(pair[0] < pair[1]);
            assert!(pair[1].scopes().starts_with(pair[0].scopes()));
            assert!(pair[1].scopes().len() > pair[0].scopes().len());
        }
    }

    #[test]
    fn every_word_reads_back() {
        for role in ROLES {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("owner"), None);
    }
}
