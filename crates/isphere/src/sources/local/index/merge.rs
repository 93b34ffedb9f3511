//! Reading several ordered chunks as one ordered run.

use std::collections::BTreeMap;

/// The first `limit` hits of all chunks in the order of their keys. Each chunk comes with a key that none of its hits
/// precedes; `next` gives a chunk's next hit. A chunk is not touched before one of its hits can be the next, so chunks
/// whose keys do not overlap are read one after the other, and those after the last hit not at all.
pub fn merge<Key: Ord, Chunk, Hit, Error>(
    mut chunks: Vec<(Key, Chunk)>,
    limit: usize,
    mut next: impl FnMut(&mut Chunk) -> Result<Option<(Key, Hit)>, Error>,
) -> Result<Vec<Hit>, Error> {
    chunks.sort_by(|(one, _), (other, _)| other.cmp(one));
    let mut hits = Vec::new();
    // The next hit of each chunk that was touched; the number keeps equal keys apart.
    let mut heads: BTreeMap<(Key, usize), (Hit, Chunk)> = BTreeMap::new();
    while hits.len() < limit {
        while let Some((_, mut chunk)) =
            chunks.pop_if(|(bound, _)| heads.first_key_value().is_none_or(|((key, _), _)| *bound <= *key))
        {
            if let Some((key, hit)) = next(&mut chunk)? {
                heads.insert((key, chunks.len()), (hit, chunk));
            }
        }
        let Some(((_, number), (hit, mut chunk))) = heads.pop_first() else { break };
        hits.push(hit);
        if hits.len() < limit
            && let Some((key, hit)) = next(&mut chunk)?
        {
            heads.insert((key, number), (hit, chunk));
        }
    }
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_run_is_that_of_all_chunks_sorted(
            mut chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..9), 0..9), limit in 1_usize..40,
        ) {
            for chunk in &mut chunks {
                chunk.sort_unstable();
            }
            let mut expected: Vec<u8> = chunks.iter().flatten().copied().collect();
            expected.sort_unstable();
            expected.truncate(limit);
            let chunks = chunks.into_iter().map(|chunk| (chunk[0], chunk.into_iter())).collect();
            let run = merge(chunks, limit, |chunk| Ok::<_, Infallible>(chunk.next().map(|key| (key, key)))).unwrap();
            prop_assert_eq!(run, expected);
        }
    }

    #[test]
    fn a_chunk_behind_the_last_hit_is_not_touched() {
        let chunks = vec![(1, vec![2, 1]), (5, vec![5])];
        let run = merge(chunks, 2, |chunk| {
            let hit = chunk.pop().map(|key| (key, key));
            if hit == Some((5, 5)) { Err("touched") } else { Ok(hit) }
        });
        assert_eq!(run, Ok(vec![1, 2]));
    }
}
