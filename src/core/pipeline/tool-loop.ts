import { MAX_SERVER_TOOL_STEPS } from '../../protocol/limits.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { NormalizedRequest } from '../normalize/normalized-request.ts';
import { bareToolName } from './tool-names.ts';
import type { StopCondition } from '../../protocol/stop-conditions.ts';

/** What a loop of server tools has done so far. */
export interface LoopProgress {
  /** Calls of server tools that the model asked for. Each is one step. */
  readonly steps: number;
  /** Names of all tools that were called, also the caller's own. */
  readonly called: ReadonlySet<string>;
  /** Sum over all turns; undefined before the first. */
  readonly usage: Usage | undefined;
  /** Why the last turn ended. */
  readonly finishReason: string | null;
}

/** Before the first turn. */
export const NO_PROGRESS: LoopProgress = { steps: 0, called: new Set(), usage: undefined, finishReason: null };

/**
 * Calls of server tools that this request may still make. `stop_server_tools_when` takes the place of
 * `max_tool_calls`, but nothing lifts the contract's own maximum (gaps 2.1).
 */
export function stepsLeft({ maxToolSteps, stopConditions }: NormalizedRequest, { steps }: LoopProgress): number {
  return Math.max(0, (stopConditions.length > 0 ? MAX_SERVER_TOOL_STEPS : maxToolSteps) - steps);
}

/** True when the next turn must be the last: its tools are off (gaps 2.6). */
export function isLoopOver(request: NormalizedRequest, progress: LoopProgress): boolean {
  return stepsLeft(request, progress) === 0 || request.stopConditions.some((condition) => holds(condition, progress));
}

/** Conditions are thresholds: a turn may make several calls, so an exact number could be passed over. */
function holds(condition: StopCondition, { steps, called, usage, finishReason }: LoopProgress): boolean {
  switch (condition.type) {
    case 'step_count_is':
      return steps >= condition.step_count;
    case 'has_tool_call':
      return called.has(bareToolName(condition.tool_name));
    case 'max_tokens_used':
      return (usage?.total_tokens ?? 0) >= condition.max_tokens;
    case 'max_cost':
      return (usage?.cost ?? 0) >= condition.max_cost_in_dollars;
    case 'finish_reason_is':
      return finishReason === condition.reason;
  }
}
