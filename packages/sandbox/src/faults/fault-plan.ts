import type { SandboxSettings } from '../options.ts';
import { hashText, Random } from '../random.ts';
import {
  type Fault,
  type FaultKind,
  type FeedKind,
  faultFrom,
  PAGE_FAULTS,
  RECORD_FAULTS,
  type ScriptedFault,
} from './fault.ts';
import type { SeenRequest } from './seen-request.ts';

export type FaultPlan = ReturnType<typeof faultPlanOf>;

/** How many cursors are remembered. A circle closes right after it began, so the oldest can go. */
const MOST_REMEMBERED = 10_000;

/** Decides which request gets which fault. */
export function faultPlanOf(options: SandboxSettings['faults']) {
  const random = new Random(hashText(options.seed));
  const odds = Object.entries(options.random) as [FaultKind, number][];
  const predecessors = new Map<string, string>();
  let steps: { readonly step: Fault; left: number }[] = [];

  const canHave = (kind: FaultKind, { token }: SeenRequest, feed: FeedKind | null) => {
    if (PAGE_FAULTS.has(kind) && feed !== 'paged') return feed === 'plain' && RECORD_FAULTS.has(kind);
    if (kind === 'repeat-token') return token !== null;
    if (kind === 'cycle-token') return token !== null && predecessors.has(token);
    return true;
  };

  function script(scripted: readonly ScriptedFault[]): void {
    steps = scripted.map((step) => ({ step: faultFrom(step), left: step.times ?? 1 }));
  }
  script(options.script);

  return {
    /** Replaces the script. */
    script,

    /** Takes the first step of the script that matches this request, else a random fault, else none. */
    next(request: SeenRequest, feed: FeedKind | null): Fault | null {
      const due = steps.find(
        ({ step }) => canHave(step.kind, request, feed) && (step.match?.(request) ?? true),
      );
      if (due !== undefined) {
        due.left -= 1;
        if (due.left <= 0) steps = steps.filter((it) => it !== due);
        return due.step;
      }
      if (odds.length === 0) return null;
      let draw = random.share();
      for (const [kind, probability] of odds) {
        draw -= probability;
        if (draw < 0) return canHave(kind, request, feed) ? faultFrom({ kind }) : null;
      }
      return null;
    },

    /** Remembers which cursor led to which, for the fault `cycle-token`. */
    noteSuccessor(token: string | null, next: string): void {
      if (token === null || token === next) return;
      predecessors.delete(next);
      predecessors.set(next, token);
      if (predecessors.size > MOST_REMEMBERED) {
        const [oldest] = predecessors.keys();
        predecessors.delete(oldest!);
      }
    },

    predecessorOf(token: string | null): string | null {
      return token === null ? null : (predecessors.get(token) ?? null);
    },
  };
}
