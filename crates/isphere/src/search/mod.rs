//! Finding people, groups and text as people expect: folding, pinyin, ranks.
