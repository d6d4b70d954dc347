/** The services that the runtime works with. */
import type { FallbackPolicy } from '../../core/fallback/next-move.ts';
import type { PluginRegistry } from '../../core/pipeline/registry.ts';
import type { SelectionPolicy, SelectionStrategy } from '../../core/selection/world.ts';
import type { RequestLimits } from '../../protocol/limits.ts';
import type { Provider } from '../../contracts/provider.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { Account, RoutingPolicy } from '../../contracts/account.ts';
import type { Within } from '../../contracts/request.ts';
import type { HedgePolicy } from '../../core/selection/adaptive/hedge.ts';
import type { AdaptivePolicy } from '../../core/selection/adaptive/policy.ts';
import type { UsualTokens } from '../endpoints/usual-times.ts';
import type { CheckAccount, EndUsers, AccountRates } from '../limits/accounts.ts';
import type { EndpointRecords } from '../endpoints/endpoint-records.ts';
import type { Environment } from '../../platform/environment.ts';
import type { EventHub } from '../events/events.ts';
import type { Spending } from '../limits/spending.ts';
import type { Responses } from '../limits/responses.ts';
import type { RequestLedger } from '../ledger/request-ledger.ts';
import type { KnownOrigins, StickySessions } from '../endpoints/conversations.ts';
import type { SharedCooldowns } from '../endpoints/shared-cooldowns.ts';
import type { KnownPrompts } from './known-prompts.ts';
import type { RepeatedPrefixes } from '../endpoints/repeated-prefixes.ts';
import type { SharedLimits } from '../endpoints/shared-limits.ts';
import type { SharedPacing } from '../endpoints/shared-pacing.ts';
import type { Timeouts } from './call-watch.ts';
import type { RouterFacts } from '../../core/normalize/context.ts';
import type { Execution } from './answer.ts';

/** Copies of requests, for aliases that have a mirror. */
export interface RequestMirrors {
  /** An execution whose request is copied, if it is to be, once its own answer is there. */
  after(services: RuntimeServices, execution: Execution): Execution;
  /** Cancels copies under way. */
  close(): Promise<void>;
}

/** Everything the runtime works with, put together once from the configuration. */
export interface RuntimeServices {
  readonly environment: Environment;
  readonly facts: RouterFacts;
  readonly limits: RequestLimits;
  readonly timeouts: Timeouts;
  readonly fallback: FallbackPolicy;
  readonly selection: SelectionPolicy;
  readonly strategy: SelectionStrategy;
  readonly adaptive: AdaptivePolicy;
  readonly hedge: HedgePolicy | false;
  readonly pacing: SharedPacing;
  readonly usualTokens: UsualTokens;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly records: EndpointRecords;
  /** Absent where state is not shared. */
  readonly cooldowns: SharedCooldowns | undefined;
  /** Absent where state is not shared. */
  readonly sharedLimits: SharedLimits | undefined;
  /** Who made encrypted reasoning. */
  readonly origins: KnownOrigins;
  readonly prefixes: RepeatedPrefixes | undefined;
  /** Which prompts endpoints have computed lately. */
  readonly prompts: KnownPrompts;
  readonly sticky: StickySessions;
  readonly checkAccount: CheckAccount;
  readonly rates: AccountRates;
  readonly spending: Spending;
  readonly responses: Responses;
  /** Absent where nothing is kept of requests. */
  readonly ledger: RequestLedger | undefined;
  readonly endUsers: EndUsers;
  /** Copies of requests for candidates. Absent where no alias may have one. */
  readonly mirrors: RequestMirrors | undefined;
  readonly events: EventHub;
  /** Warns the operator of what a plugin noticed about the configuration; the same words at most once a minute. */
  readonly notifyOperator: (message: string) => void;
  readonly docsUrl: string;
  readonly registry: PluginRegistry;
  /** Levels of calls that plugins and server tools may make. */
  readonly maxPluginDepth: number;
  /** Answers a call that a plugin or a server tool makes. */
  readonly callWithin: (request: ChatRequest, within: InnerCall) => Promise<ChatResult>;
}

/** Where a call of a plugin comes from. Its depth is 1 for a call that belongs to a request from outside. */
export interface InnerCall extends Within {
  readonly account: Account;
  readonly signal: AbortSignal;
  /** Rules of the request that the call belongs to. */
  readonly policies: readonly RoutingPolicy[];
}
