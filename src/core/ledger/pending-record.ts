/** The draft of a record: what a request leaves behind for the ledger. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { LedgerPlugin, LedgerTool } from '../../contracts/ledger.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import { normalizePreferences } from '../normalize/preset.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';
import { shortened } from '../../protocol/fault.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { Account, RoutingPolicy } from '../../contracts/account.ts';
import type { PlanStep, RoutePlan } from '../selection/route-plan.ts';
import type { AttemptFailure } from '../../contracts/failure.ts';
import type { Attempt } from '../fallback/attempt.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { PromptCacheReport } from '../../contracts/prompt-cache.ts';
import type { PromptPrint } from './prompt-print.ts';
import type { Usage } from '../../protocol/usage.ts';

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
  | 'applied'
> & {
  readonly parent: string | undefined;
  readonly mirror: string | undefined;
  readonly noReasoning: boolean;
  readonly pro: boolean;
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

/** What a record needs of an upstream call. */
export interface DraftedAttempt extends Pick<
  Attempt,
  'startedAt' | 'endedAt' | 'hedge' | 'firstTokenAt' | 'chargedNanoUsd' | 'refusal' | 'kept' | 'continued'
> {
  readonly step: Pick<PlanStep, 'endpoint'>;
  readonly usage?: DraftedUsage | undefined;
  readonly outcome:
    | { readonly ok: true }
    | { readonly ok: false; readonly failure: Pick<AttemptFailure, 'kind' | 'status' | 'address'> };
}

/** What a record needs of what was used. */
export type DraftedUsage = Pick<
  Usage,
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'prompt_tokens_details'
  | 'completion_tokens_details'
  | 'estimated'
  | 'cost_details'
>;

/** What is known of a request when it is over, by reference. {@link writeRecord} makes a record of it. */
export interface PendingRecord {
  /** When it began, milliseconds since 1970. */
  readonly at: number;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** What the router that decided knew: records do not repeat it. */
  readonly facts: DecisionContext;
  readonly request: DraftedRequest;
  readonly plan: RoutePlan;
  readonly attempts: readonly DraftedAttempt[];
  readonly works: readonly DraftedWork[];
  readonly cache?: 'hit' | 'miss' | undefined;
  /** True when nothing was planned, because the request was refused before that. */
  readonly refused?: true | undefined;
  readonly answer?: DraftedAnswer | undefined;
  /** Hashes of the blocks of the prompt, and how much of it came from a cache. Absent where that is unknown. */
  readonly prompt?: DraftedPrompt | undefined;
  readonly error?:
    | {
        readonly status: number;
        readonly errorType: string;
        readonly committed: boolean;
        /** As the caller got it. May repeat what the caller sent. */
        readonly message?: string | undefined;
      }
    | undefined;
}

/** What a request leaves of its prompt. */
export interface DraftedPrompt {
  readonly print: PromptPrint;
  readonly report: PromptCacheReport;
}

/** How a request was answered. */
export interface DraftedAnswer {
  readonly endpoint: Endpoint;
  /** Monotonic milliseconds. */
  readonly firstTokenAt: number;
  readonly usage: DraftedUsage;
  readonly finishReason: string | null;
  readonly nativeFinishReason?: string | undefined;
}

/** A request that was refused before anything was planned, as far as it was understood. */
export interface RefusedRequest {
  readonly operation: RoutedRequest['operation'];
  readonly account: Account;
  readonly format?: ApiFormatName | undefined;
  /** Generation id of the request whose plugin or tool makes this one. */
  readonly parent?: string | undefined;
  /** As it was sent; undefined where it could not be read. */
  readonly body?: unknown;
  /** Present where it was understood, and refused for another reason. */
  readonly request?: RoutedRequest | undefined;
}

/**
 * What can be said of a request that was refused: its own words are looked at with care, because nobody has checked them.
 *
 * @param id - Where it has none yet.
 * @param tags - Names of members of `metadata` that are kept; nobody has counted the others.
 */
export function draftedRefusal(
  { operation, account, format, parent, body, request }: RefusedRequest,
  { id, created }: Pick<RoutedRequest, 'id' | 'created'>,
  tags: readonly string[],
): DraftedRequest {
  if (request !== undefined) return drafted(request, undefined);
  const requested: JsonObject = isJsonObject(body) ? body : {};
  const { model, stream } = requested;
  return {
    id,
    operation,
    created,
    stream: stream === true,
    requested: typeof model === 'string' ? shortened(model) : '',
    targets: [],
    needs: NO_NEEDS,
    preferences: normalizePreferences({}, []),
    session: {},
    account,
    metadata: textsOf(requested['metadata'], tags),
    format,
    applied: undefined,
    parent,
    mirror: undefined,
    noReasoning: false,
    pro: false,
    native: undefined,
    likelyTokens: undefined,
  };
}

const NO_NEEDS: RoutedRequest['needs'] = {
  inputModalities: [],
  outputModalities: [],
  tools: false,
  parameters: [],
  promptTokens: 0,
  images: 0,
};

function textsOf(metadata: unknown, names: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const texts = names.flatMap((name) => {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    return typeof value === 'string' ? [[name, shortened(value)] as const] : [];
  });
  return Object.fromEntries(texts);
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
    applied: request.applied,
    native: native?.requiredBy === undefined ? undefined : [native.apiFormat, native.requiredBy],
    likelyTokens: likelyTokens ?? (request as Partial<NormalizedRequest> & { likelyTokens?: number }).likelyTokens,
  };
}

/** What a decision is written down against: what everybody knows need not be in a record. */
export interface DecisionContext {
  readonly catalog: Catalog;
  /** The router's own policy. */
  readonly policy: RoutingPolicy;
}
