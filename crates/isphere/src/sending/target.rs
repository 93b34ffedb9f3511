//! To whom a send goes.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::model::{ConversationType, Warning};
use crate::sources::Source;

/// What the id of a target is an id of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A person.
    Contact,
    /// A group.
    Group,
    /// A conversation.
    Conversation,
}

/// A target that is there and that the policy allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name people see, as the source has it.
    pub display_name: String,
    /// What the sender should know of it.
    pub warning: Option<Warning>,
}

impl TargetKind {
    /// `contact`, `group` or `conversation`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contact => "contact",
            Self::Group => "group",
            Self::Conversation => "conversation",
        }
    }

    /// `target_ref` of the contract, such as `contact:<id>`.
    pub fn reference(self, target_id: &str) -> String {
        format!("{}:{target_id}", self.as_str())
    }

    /// Finds the target. Not there: TARGET_NOT_FOUND; forbidden by the policy: PERMISSION_DENIED.
    pub async fn resolve(
        self,
        target_id: &str,
        source: &dyn Source,
        access: &Access,
    ) -> Result<Target, Error> {
        match self {
            Self::Contact => {
                let contact = source.contact(target_id).await?.ok_or_else(|| self.not_found())?;
                access.check_contact(&contact)?;
                let warning = (!contact.active).then(|| inactive("this person has left"));
                Ok(Target { display_name: contact.display_name, warning })
            }
            Self::Group => {
                let group = source.group(target_id).await?.ok_or_else(|| self.not_found())?;
                access.check_group(&group)?;
                let warning = group.archived.then(|| inactive("this group was closed"));
                Ok(Target { display_name: group.display_name, warning })
            }
            Self::Conversation => {
                let conversation = source.conversation(target_id).await?.ok_or_else(|| self.not_found())?;
                access.check_conversation(&conversation)?;
                if conversation.conversation_type == ConversationType::System {
                    let expected = "a direct or group conversation";
                    return Err(Error::argument("target_id", expected, "one of the client's own notices"));
                }
                Ok(Target { display_name: conversation.display_name, warning: None })
            }
        }
    }

    fn not_found(self) -> Error {
        Error::TargetNotFound(match self {
            Self::Contact => {
                "there is no contact of this id; find it with isphere_search_contacts".to_owned()
            }
            Self::Group => "there is no group of this id; find it with isphere_search_groups".to_owned(),
            Self::Conversation => {
                "there is no conversation of this id; find it with isphere_receive_messages".to_owned()
            }
        })
    }
}

fn inactive(why: &str) -> Warning {
    Warning::new("TARGET_INACTIVE", format!("{why}; make sure that it is the target that is meant"))
}
