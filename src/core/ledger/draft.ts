import type { CostPart } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { LedgerPlugin, LedgerTool } from '../../contracts/ledger.ts';
import type { Attempt } from '../fallback/failure.ts';
import type { NormalizedRequest, RoutedRequest } from '../normalize/normalized-request.ts';
import type { RoutePlan } from '../selection/route-plan.ts';
import type { DecisionContext } from './write-decision.ts';
import type { Usage } from '../../protocol/chunk.ts';

/** What a record needs of a request. Without its messages: a draft must not keep them in memory. */
export type DraftedRequest = Pick<
  RoutedRequest,
  | 'id'
  | 'operation'
  | 'created'
  | 'stream'
  | 'requested'
  | 'targets'
  | 'serviceTier'
  | 'needs'
  | 'preferences'
  | 'session'
  | 'account'
  | 'metadata'
  | 'format'
> & {
  readonly parent: string | undefined;
  readonly mirror: string | undefined;
  readonly noReasoning: boolean;
  readonly pro: boolean;
  /** Whether rules or splits of the configuration took part. */
  readonly chosen: boolean;
  readonly native: readonly [format: string, member: string] | undefined;
  /** Likely tokens of the prompt, if anybody has asked. */
  readonly likelyTokens: number | undefined;
};

/** A hook of a plugin or a call of a server tool, as records have it. Its times are monotonic milliseconds. */
export type DraftedWork =
  | ({ readonly kind: 'plugin' } & Omit<LedgerPlugin, 'start_ms' | 'end_ms'> & WorkTimes)
  | ({ readonly kind: 'tool' } & Omit<LedgerTool, 'start_ms' | 'end_ms'> & WorkTimes);

interface WorkTimes {
  readonly startedAt: number;
  readonly endedAt: number;
}

/** What is known of a request when it is over, by reference. {@link writeRecord} makes a record of it. */
export interface RequestDraft {
  /** When it began, milliseconds since 1970. */
  readonly at: number;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** What the router that decided knew: records do not repeat it. */
  readonly facts: DecisionContext;
  readonly request: DraftedRequest;
  readonly plan: RoutePlan;
  readonly attempts: readonly Attempt[];
  readonly works: readonly DraftedWork[];
  readonly cache?: 'hit' | 'miss' | undefined;
  readonly answer?: DraftedAnswer | undefined;
  readonly error?: { readonly status: number; readonly errorType: string; readonly committed: boolean } | undefined;
}

/** How a request was answered. */
export interface DraftedAnswer {
  readonly endpoint: Endpoint;
  /** Monotonic milliseconds. */
  readonly firstTokenAt: number;
  readonly usage: Usage;
  readonly costParts?: readonly CostPart[] | undefined;
  readonly finishReason: string | null;
  readonly nativeFinishReason?: string | undefined;
}

/** What a record needs of a request; everything else may go. */
export function drafted(request: RoutedRequest, likelyTokens: number | undefined): DraftedRequest {
  const { native, reasoning, within } = request;
  return {
    id: request.id,
    operation: request.operation,
    created: request.created,
    stream: request.stream,
    requested: request.requested,
    targets: request.targets,
    serviceTier: request.serviceTier,
    needs: request.needs,
    preferences: request.preferences,
    session: request.session,
    account: request.account,
    metadata: request.metadata,
    format: request.format,
    parent: within?.parent,
    mirror: within?.mirror,
    noReasoning: reasoning?.effort === 'none',
    pro: reasoning?.mode === 'pro',
    chosen: (request.applied?.rules ?? request.applied?.splits) !== undefined,
    native: native?.requiredBy === undefined ? undefined : [native.dialect, native.requiredBy],
    likelyTokens: likelyTokens ?? (request as Partial<NormalizedRequest> & { likelyTokens?: number }).likelyTokens,
  };
}
