//! Which way out the meeting points count on.
//!
//! An early exit on one side of a branch is a way past every join, and so would be an assert's `trap`: no branch before
//! it would have a post-dominator but the end. But lanes that leave hold up no one. So each block follows one end, the
//! best that it can reach, and its edges to blocks that only reach others are left out: those that stay meet at the
//! join, or wait where they go on until the rest have left.

use std::cmp::Reverse;

/// Blocks and edges that the ranking of ends may visit, about; ends beyond it rank by their place alone.
const MAX_VISITS: usize = 1 << 23;

/// What the search for ends has to know of a basic block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub instructions: usize,
    /// It ends with `trap`.
    pub traps: bool,
    /// Lanes wait in it for others, or may do so in a function.
    pub waits: bool,
    /// It has a strong access: in a loop, lanes may wait there for what others store.
    pub is_strong: bool,
}

/// How a block ends for good, best first: without a guard, for the lanes of a guard, or with the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Leaves,
    LetsLeave,
    Traps,
}

/// Leaves the edges out that lead to another end than the one that their block follows.
///
/// The last of `successors` is the virtual exit.
pub(super) fn follow_one(blocks: &[Block], successors: &mut [Vec<usize>]) {
    let exit = blocks.len();
    let predecessors = reversed(successors);
    let ends = ranked(blocks, successors, &predecessors);
    if ends.len() < 2 {
        return;
    }
    let mut follows: Vec<Option<usize>> = vec![None; exit + 1];
    for &end in &ends {
        walk(&predecessors, vec![end], |block| {
            let is_new = follows[block].is_none();
            follows[block].get_or_insert(end);
            is_new
        });
    }
    let waits = lead_to_waits(blocks, successors, &predecessors);
    for (block, to) in successors.iter_mut().enumerate().take(exit) {
        let own = follows[block];
        // A way out on which lanes wait for others stays one of its own: it must not wait for those that wait for it.
        let cut = |next: usize| match follows[next] {
            _ if next == exit => (own == Some(block)).then_some(exit),
            Some(end) if follows[next] != own => (waits[next] && !blocks[end].traps).then_some(exit),
            _ => Some(next),
        };
        *to = to.iter().filter_map(|&next| cut(next)).collect();
    }
}

pub(super) fn reversed(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (from, to) in successors.iter().enumerate() {
        for &to in to {
            predecessors[to].push(from);
        }
    }
    predecessors
}

/// Visits what leads to the blocks of `stack`, as long as `enter` says that a block is new.
fn walk(predecessors: &[Vec<usize>], mut stack: Vec<usize>, mut enter: impl FnMut(usize) -> bool) {
    while let Some(block) = stack.pop() {
        if enter(block) {
            stack.extend(&predecessors[block]);
        }
    }
}

/// Blocks from which some way leads to a wait.
fn lead_to_waits(blocks: &[Block], successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> Vec<bool> {
    let mut found = vec![false; predecessors.len()];
    let in_loop = may_repeat(successors);
    let waits = |&block: &usize| blocks[block].waits || (blocks[block].is_strong && in_loop[block]);
    let from = (0..blocks.len()).filter(waits).collect();
    walk(predecessors, from, |block| !std::mem::replace(&mut found[block], true));
    found
}

/// Blocks that stand between the two ends of an edge that goes back: all loops, and some others.
fn may_repeat(successors: &[Vec<usize>]) -> Vec<bool> {
    let mut reach: Vec<usize> = (0..successors.len()).collect();
    let mut is_in = vec![false; successors.len()];
    for (from, to) in successors.iter().enumerate() {
        for &to in to.iter().filter(|&&to| to <= from) {
            reach[to] = reach[to].max(from);
            is_in[to] = true;
        }
    }
    let mut end = None;
    for (block, is_in) in is_in.iter_mut().enumerate() {
        if *is_in {
            end = end.max(Some(reach[block]));
        }
        *is_in = end.is_some_and(|end| block <= end);
    }
    is_in
}

/// The blocks from which lanes leave for good, best first.
///
/// Of ends without a guard the best is the one in which most branches join that could lead to others as well, so that an
/// early exit comes last; then the one with the most code before it; then the one that stands last.
fn ranked(blocks: &[Block], successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> Vec<usize> {
    let exit = blocks.len();
    let kind = |block: usize| match () {
        () if blocks[block].traps => Kind::Traps,
        () if successors[block].iter().any(|&next| next != exit) => Kind::LetsLeave,
        () => Kind::Leaves,
    };
    let mut ends: Vec<usize> = predecessors[exit].clone();
    // Where the visits run out, the ends that stand last have a rank: early exits stand before them.
    ends.sort_unstable_by(|a, b| b.cmp(a));
    ends.dedup();
    let out: Vec<usize> = ends.iter().copied().filter(|&end| kind(end) == Kind::Leaves).collect();
    let mut weights = vec![(0, 0); exit + 1];
    if out.len() > 1 {
        weigh(&out, blocks, successors, predecessors, &mut weights);
    }
    ends.sort_by_cached_key(|&end| (kind(end), Reverse((weights[end], end))));
    ends
}

/// Notes for each of `ends` the branches that join in it, of those from which a way leads to another, and the code that
/// leads to it.
fn weigh(
    ends: &[usize],
    blocks: &[Block],
    successors: &[Vec<usize>],
    predecessors: &[Vec<usize>],
    weights: &mut [(usize, usize)],
) {
    let mut choices = vec![0_usize; blocks.len()];
    let mut leads = vec![false; blocks.len() + 1];
    let mut visits = 0;
    let mut weighed = 0;
    for &end in ends {
        let leading = leading(predecessors, end, &mut leads);
        for &block in &leading {
            choices[block] += 1;
            leads[block] = false;
            visits += 1 + predecessors[block].len();
        }
        weighed += 1;
        if visits > MAX_VISITS {
            break;
        }
    }
    for &end in &ends[..weighed] {
        let leading = leading(predecessors, end, &mut leads);
        let joins = |block: usize| {
            let mut ways = successors[block].iter().filter(|&&next| leads[next]);
            choices[block] > 1 && ways.next().is_some_and(|first| ways.any(|other| other != first))
        };
        let joined = leading.iter().filter(|&&block| joins(block)).count();
        weights[end] = (joined, leading.iter().map(|&block| blocks[block].instructions).sum());
        for block in leading {
            leads[block] = false;
        }
    }
}

/// The blocks that lead to an end, which it marks.
fn leading(predecessors: &[Vec<usize>], end: usize, leads: &mut [bool]) -> Vec<usize> {
    let mut all = Vec::new();
    walk(predecessors, vec![end], |block| {
        let is_new = !std::mem::replace(&mut leads[block], true);
        if is_new {
            all.push(block);
        }
        is_new
    });
    all
}
