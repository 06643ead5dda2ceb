//! Where lanes that a branch parted meet again: the branch's immediate post-dominator among the ways to the end that its
//! block follows.
//!
//! Post-dominators by the iterative algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm",
//! 2001) on the reversed flow graph, from one virtual exit.

mod ends;

use self::ends::Block;
use crate::program::{Inst, NO_MEETING, Op, Program, Slot};

/// Most basic blocks of a kernel.
pub(crate) const MAX_BLOCKS: usize = 1 << 16;

/// Most edges between them.
const MAX_EDGES: usize = 1 << 20;

/// Fills in the meeting point of every branch.
pub(crate) fn set_meeting_points(program: &mut Program) -> Result<(), String> {
    let (insts, targets) = (&mut program.insts, &program.targets);
    let starts = block_starts(insts, targets);
    if starts.len() > MAX_BLOCKS {
        return Err(format!("the kernel has {} basic blocks; allowed: {MAX_BLOCKS}", starts.len()));
    }
    let graph = Graph::new(insts, targets, &starts)?;
    let meet = graph.immediate_post_dominators();
    for (block, meet) in meet.iter().enumerate().take(starts.len()) {
        let end = starts.get(block + 1).map_or(insts.len(), |&s| s as usize);
        let last = &mut insts[end - 1];
        if matches!(last.op, Op::Branch(_) | Op::BranchIndexed(_)) {
            let meeting = meet.and_then(|b| starts.get(b).copied()).unwrap_or(NO_MEETING);
            last.imm = i64::from(last.target()) | (i64::from(meeting) << 32);
        }
    }
    Ok(())
}

fn ends_block(inst: &Inst) -> bool {
    matches!(inst.op, Op::Branch(_) | Op::BranchIndexed(_) | Op::Return(_) | Op::Exit(_) | Op::Trap)
}

/// Whether lanes wait at an instruction for others; a function may have such a one.
fn waits(inst: &Inst) -> bool {
    matches!(inst.op, Op::Barrier { .. } | Op::BarrierVote { .. } | Op::Call(_))
}

fn is_strong(inst: &Inst) -> bool {
    inst.op.access().is_some_and(|access| access.order.is_strong())
}

/// First instruction of each basic block, rising.
fn block_starts(insts: &[Inst], targets: &[Vec<u32>]) -> Vec<u32> {
    let mut is_start = vec![false; insts.len() + 1];
    is_start[0] = true;
    for (i, inst) in insts.iter().enumerate() {
        if ends_block(inst) {
            is_start[i + 1] = true;
        }
        if matches!(inst.op, Op::Branch(_)) {
            is_start[inst.target() as usize] = true;
        }
    }
    targets.iter().flatten().for_each(|&target| is_start[target as usize] = true);
    (0..insts.len()).filter(|&i| is_start[i]).map(|i| i as u32).collect()
}

/// The flow graph; the node behind the last block is the virtual exit.
struct Graph {
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl Graph {
    fn new(insts: &[Inst], targets: &[Vec<u32>], starts: &[u32]) -> Result<Self, String> {
        let exit = starts.len();
        let block_of = |at: u32| starts.binary_search(&at).unwrap_or(exit);
        let (mut successors, mut blocks) = (Vec::with_capacity(exit + 1), Vec::with_capacity(exit));
        let mut edges = 0;
        for block in 0..exit {
            let end = starts.get(block + 1).map_or(insts.len(), |&s| s as usize);
            let last = &insts[end - 1];
            let mut to: Vec<usize> = match last.op {
                Op::Branch(_) => vec![block_of(last.target())],
                Op::BranchIndexed(_) => {
                    let list = &targets[last.target() as usize];
                    edges += list.len();
                    if edges > MAX_EDGES {
                        return Err(format!(
                            "the kernel's indexed branches have too many targets; allowed: {MAX_EDGES}"
                        ));
                    }
                    list.iter().map(|&target| block_of(target)).collect()
                }
                Op::Return(_) | Op::Exit(_) | Op::Trap => vec![exit],
                _ => Vec::new(),
            };
            if to.is_empty() || last.guard != Slot::NONE {
                to.push(block_of(end as u32));
            }
            successors.push(to);
            let body = &insts[starts[block] as usize..end];
            blocks.push(Block {
                instructions: body.len(),
                traps: last.op == Op::Trap,
                waits: body.iter().any(waits),
                is_strong: body.iter().any(is_strong),
            });
        }
        successors.push(Vec::new());
        ends::follow_one(&blocks, &mut successors);
        let predecessors = ends::reversed(&successors);
        Ok(Self { successors, predecessors })
    }

    /// Nodes that reach the exit, in post-order of a walk of the reversed graph.
    fn post_order(&self) -> Vec<usize> {
        let exit = self.successors.len() - 1;
        let mut seen = vec![false; exit + 1];
        let mut order = Vec::new();
        let mut stack = vec![(exit, 0)];
        seen[exit] = true;
        while let Some((node, next)) = stack.pop() {
            match self.predecessors[node].get(next) {
                Some(&child) => {
                    stack.push((node, next + 1));
                    if !std::mem::replace(&mut seen[child], true) {
                        stack.push((child, 0));
                    }
                }
                None => order.push(node),
            }
        }
        order
    }

    fn immediate_post_dominators(&self) -> Vec<Option<usize>> {
        let exit = self.successors.len() - 1;
        let order = self.post_order();
        let mut rank = vec![usize::MAX; exit + 1];
        for (i, &node) in order.iter().enumerate() {
            rank[node] = i;
        }
        let mut dominator: Vec<Option<usize>> = vec![None; exit + 1];
        dominator[exit] = Some(exit);
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().rev().filter(|&&n| n != exit) {
                let known = self.successors[node].iter().copied().filter(|&s| dominator[s].is_some());
                let new = known.reduce(|a, b| intersect(a, b, &dominator, &rank));
                if new != dominator[node] {
                    dominator[node] = new;
                    changed = true;
                }
            }
        }
        dominator
    }
}

/// The closest node that post-dominates both.
fn intersect(mut a: usize, mut b: usize, dominator: &[Option<usize>], rank: &[usize]) -> usize {
    while a != b {
        while rank[a] < rank[b] {
            a = dominator[a].unwrap_or(b);
        }
        while rank[b] < rank[a] {
            b = dominator[b].unwrap_or(a);
        }
    }
    a
}
