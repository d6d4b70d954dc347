/** What normalization depends on besides the body of a request. */
import type { Catalog } from '../../catalog/catalog.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';
import type { Account, RoutingPolicy } from '../../contracts/account.ts';
import type { AppliedConfiguration, NormalizedRequest, NativeRequest, Preferences } from '../../contracts/request.ts';
import type { RequestFault } from '../../protocol/fault.ts';
import type { ProviderPreferences } from '../../protocol/provider-preferences.ts';
import type { RequestedBeside } from './mirror.ts';
import type { TargetContext } from './targets.ts';
import type { Preset } from './preset.ts';
import type { CompiledRules } from './rules.ts';

/** What a request says of itself that rules, splits and mirrors look at. */
export interface Applicant {
  /** What it requires in the first place. */
  readonly requested: string;
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
  /** What its session, or its conversation, is known by; undefined where it has none. */
  readonly session: () => string | undefined;
}

/** Rules, splits and mirrors at work on one request. */
export interface AppliedRules {
  /** What resolving its models takes. */
  readonly targets: Pick<TargetContext, 'rules' | 'splitKey' | 'onSplit' | 'onMirror'>;
  /** A refusal of the request whatever its models are. */
  readonly fault: () => RequestFault | undefined;
  /** The provider preferences of a request, with those of rules beneath. */
  readonly provider: (
    own: ProviderPreferences | null | undefined,
    slug: string,
  ) => ProviderPreferences | null | undefined;
  /** Preferences that also keep models away which rules deny. */
  readonly preferences: (preferences: Preferences) => Preferences;
  /**
   * What took part; undefined where nothing did.
   *
   * @param beside - What the request requires beside an answer. Default: it is never copied.
   */
  readonly record: (beside?: RequestedBeside) => AppliedConfiguration | undefined;
}

/** What the router has before it reads a request. */
export interface RouterFacts {
  readonly catalog: Catalog;
  /** Rules for all accounts. */
  readonly policy: RoutingPolicy;
  /** Preferences of requests without any, under these rules alone. Default: folded when a request comes. */
  readonly preferences?: Preferences | undefined;
  readonly defaultModel?: string | undefined;
  readonly presets: Readonly<Record<string, Preset>>;
  /** What becomes of requests before they are routed. Default: nothing. */
  readonly ruleTable?: CompiledRules | undefined;
  /** True when some alias divides its requests among models, or has them copied. Default false. */
  readonly divides?: boolean | undefined;
  /** What applies rules, splits and mirrors to a request. Absent where the configuration has none. */
  readonly applying?: ((context: RequestContext, facts: RouterFacts, applicant: Applicant) => AppliedRules) | undefined;
  /** Router models that plugins resolve. */
  readonly routerModels: ReadonlySet<string>;
  /** Where the error pages are; a code is appended after `#`. */
  readonly docsUrl: string;
}

/** What comes with one request, besides its body. */
export interface RequestContext {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly account: Account;
  /** Keyed hash of the end user. */
  readonly endUser: string;
  readonly sessionHeader?: string | undefined;
  readonly wantsMetadata: boolean;
  /** True where each message is a role and a text, so that there is less to look for. Default false. */
  readonly onlyTexts?: boolean | undefined;
  readonly within?: NormalizedRequest['within'];
  /** Rules of the request or the batch that this one is a part of. */
  readonly policies?: readonly RoutingPolicy[] | undefined;
  readonly native?: NativeRequest | undefined;
  /** API format in which it came. Default: that of chat. */
  readonly format?: ApiFormatName | undefined;
  /** True for a request of a batch. Default false. */
  readonly batch?: boolean | undefined;
  /** Value of the header `x-anthropic-beta`. */
  readonly anthropicBeta?: string | undefined;
  /** Long texts of the body that need no escape. */
  readonly verbatim?: readonly string[] | undefined;
  readonly traceContext?: NormalizedRequest['traceContext'];
}
