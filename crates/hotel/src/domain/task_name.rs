//! What people call the kinds of tasks.

/// The names of a catalogue's task_type, Chinese and English; none for one that a catalogue of the house has added.
pub fn names(task_type: &str) -> Option<(&'static str, &'static str)> {
    Some(match task_type {
        "CREATE_RESERVATION" => ("新建散客预订", "New reservation"),
        "CREATE_GROUP_BLOCK" => ("新建团队预留", "New group block"),
        "AMEND_RESERVATION" => ("修改散客预订", "Amend reservation"),
        "AMEND_GROUP_BLOCK" => ("修改团队预留", "Amend group block"),
        "CANCEL_RESERVATION" => ("取消散客预订", "Cancel reservation"),
        "CANCEL_GROUP_BLOCK" => ("取消团队预留", "Cancel group block"),
        "REINSTATE_RESERVATION" => ("恢复预订", "Reinstate reservation"),
        "PROCESS_ROOMING_LIST" => ("处理分房名单", "Rooming list"),
        "ATTACH_PAYMENT_PROOF" => ("登记付款凭证", "Payment proof"),
        "PAYMENT_FOLLOW_UP" => ("跟进付款", "Payment follow-up"),
        "UPDATE_GUARANTEE" => ("更新担保", "Update guarantee"),
        "ISSUE_INVOICE" => ("开具发票", "Issue invoice"),
        "SEND_CONFIRMATION" => ("发送确认函", "Send confirmation"),
        "ANSWER_INQUIRY" => ("回复询价", "Answer inquiry"),
        "HANDLE_SPECIAL_REQUEST" => ("处理特殊要求", "Special request"),
        "HANDLE_DISPUTE_OR_COMPLAINT" => ("处理争议或投诉", "Dispute or complaint"),
        "INFORMATION_ONLY" => ("仅供参考", "Information only"),
        "MANUAL_REVIEW" => ("人工处理", "Manual review"),
        _ => return None,
    })
}
