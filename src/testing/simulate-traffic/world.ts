/** The description of a simulated world. */
import type { Price } from '../../catalog/price.ts';

/** The time to the first token of an endpoint: lognormal, as measured times are. */
export interface LatencyDistribution {
  /** Half of the first tokens come within so many milliseconds. */
  readonly medianMs: number;
  /** Standard deviation of the natural logarithm of the time. Default 0.35: the slowest percent takes 2.3 medians. */
  readonly spread?: number | undefined;
}

/**
 * How a response says when to come back: `retry-after-ms`, or `Retry-After` in whole seconds rounded up, in seconds with
 * decimals, or as a date.
 */
export type SimulatedAdviceForm = 'milliseconds' | 'seconds' | 'decimals' | 'date';

/** What a response says about when to come back. */
export interface SimulatedAdvice {
  readonly form: SimulatedAdviceForm;
  /** Milliseconds from the response on. */
  readonly ms: number;
}

/** A rate limit, as providers enforce it: a bucket of calls that fills at a constant speed. */
export interface SimulatedRateLimit {
  /** Calls, or tokens, that the bucket gains in a second. */
  readonly perSecond: number;
  /** Calls, or tokens, that the bucket holds at most. Default: those of two seconds, at least 1. */
  readonly burst?: number | undefined;
  /** What is counted: calls, or the tokens of their prompts and answers. Default `requests`. */
  readonly counts?: 'requests' | 'tokens' | undefined;
  /** Milliseconds of windows at whose beginning the whole amount is there again. Default: a bucket, without windows. */
  readonly windowMs?: number | undefined;
  /** Whether accounts with keys of their own (`traffic.ownKeys`) have this limit each. Default false: one for all. */
  readonly perKey?: boolean | undefined;
  /** What a 429 says about when to come back. Default `none`. */
  readonly retryAfter?: 'none' | SimulatedAdviceForm | undefined;
}

/**
 * How a single call fails: with an error status; with a connection that is reset; with status 200 and nothing after it,
 * or an error object; after half of the answer; or never, without a word.
 */
export type SimulatedFault = number | 'reset' | 'empty' | 'error in a 200' | 'cut' | 'silence';

/** Something that is wrong with an endpoint for a while. */
export type Outage = {
  /** Milliseconds from the start of the simulation. */
  readonly fromMs: number;
  readonly toMs: number;
} & (
  | {
      /** Every call fails with a 500, after `failMs` milliseconds (default 60). */
      readonly kind: 'fail';
      readonly failMs?: number;
    }
  | { /** No call ever answers. */ readonly kind: 'hang' }
  | { /** First tokens take `factor` times as long. Default 8. */ readonly kind: 'slow'; readonly factor?: number }
  | {
      /**
       * A share of the calls fails with a 500 (`errors`, default 0.4), and first tokens take `factor` times as long
       * (default 6; 1 for failures alone).
       */
      readonly kind: 'brownout';
      readonly errors?: number;
      readonly factor?: number;
      /** Milliseconds after which calls fail. Default: when their first token would have come. */
      readonly failMs?: number;
      /**
       * Failures come in bursts in which every call fails, of so many milliseconds in the mean, exponentially distributed;
       * `errors` is then the share of the time. Endpoints of one `provider` have them together. Default: each call fails
       * or not by itself.
       */
      readonly burstMs?: number;
    }
  | {
      /** A share of the streams (default 0.5) ends early, as when a connection is cut; so do non-streaming answers. */
      readonly kind: 'break';
      readonly share?: number;
      /** Whether streams break before their first token, or after it, at half of the answer. Default `after`. */
      readonly at?: 'before' | 'after';
    }
  | {
      /** A share of the calls (default 0.1) fails as `as` says. An endpoint may have several; each call meets one at most. */
      readonly kind: 'fault';
      readonly as: SimulatedFault;
      readonly share?: number;
      /** Milliseconds after which calls fail. Default 60. */
      readonly failMs?: number;
      /** What the headers of an error status say. Default: nothing. */
      readonly retryAfter?: SimulatedAdvice | undefined;
      /** As in a brown-out: failures come in bursts of so many milliseconds in the mean, in which every call fails. */
      readonly burstMs?: number | undefined;
    }
  | {
      /** Up for `upMs` (default 20,000), then failing for `downMs` (default 10,000), over and over. */
      readonly kind: 'flap';
      readonly upMs?: number;
      readonly downMs?: number;
    }
  | {
      /** Costs something else meanwhile. */
      readonly kind: 'price';
      readonly price: Price;
      /** Whether it is declared to the router. Default true; otherwise only the cost of each answer says so. */
      readonly announced?: boolean;
    }
);

/**
 * An inference server with continuous batching, as vLLM and SGLang are. What a request takes follows from its tokens,
 * from what of its prompt is cached, and from the other requests: see {@link SimulatedEndpoint.inference}.
 */
export interface SimulatedInference {
  /** Tokens of prompts that it computes in a second while it writes nothing. Those in its cache take no time. */
  readonly prefillPerSecond: number;
  /** Tokens of an answer that it writes in a second when it is the only one. */
  readonly decodePerSecond: number;
  /** Further answers at a time that halve the speed of each. Default 64. */
  readonly halvedBy?: number | undefined;
  /** Requests at a time that it works on; the others wait, in the order of arrival. Default 256. */
  readonly maxBatch?: number | undefined;
  /** Tokens of a prompt that it computes in one step, between which answers go on. Default 8,192. */
  readonly chunkTokens?: number | undefined;
  /** Tokens that its memory holds: those of requests under way, and what of earlier prompts still fits. Default 400,000. */
  readonly memoryTokens?: number | undefined;
}

/** One provider's offer of the simulated model. */
export interface SimulatedEndpoint {
  /** Unique in the world: the slug of its provider, unless it has a `provider`, and then what follows that in its slug. */
  readonly name: string;
  /**
   * Slug of the provider that it belongs to with others: their random outages and the bursts of their brown-outs come
   * together. Default: it is the only endpoint of its provider.
   */
  readonly provider?: string | undefined;
  /** US dollars per million tokens. `cacheRead` defaults to a tenth of `prompt`. */
  readonly price: Price;
  /** What is declared of the price. Default: what is true; `false`: nothing, as with servers of one's own. */
  readonly declaresPrice?: boolean | undefined;
  /** Whether the usage of its answers says what they cost. Default false. */
  readonly reportsCost?: boolean | undefined;
  /** With `inference`: what comes on top of it, such as the network. */
  readonly latency: LatencyDistribution;
  /** The server behind it, where times follow from load and tokens. Default: times come from `latency` alone. */
  readonly inference?: SimulatedInference | undefined;
  /** Tokens per second after the first one. Default: the answer is complete with its first token. */
  readonly tokensPerSecond?: number | undefined;
  /** Default: no limit. */
  readonly rate?: SimulatedRateLimit | undefined;
  /** Calls at a time above which it answers 429, and what that says about when to come back. Default: no limit. */
  readonly concurrencyLimit?: { readonly calls: number; readonly retryAfter?: SimulatedAdvice | undefined } | undefined;
  /** Calls at a time from which on the time to the first token grows with the cube of their number. Default: no end. */
  readonly concurrencyKnee?: number | undefined;
  /**
   * Milliseconds after its last use for which a prompt stays in its cache. Default 300,000, and without end with
   * `inference`, where only its memory limits the cache; 0 for no cache.
   */
  readonly cacheMs?: number | undefined;
  /** Share of its tool calls whose arguments are no JSON. Default 0. */
  readonly brokenToolCalls?: number | undefined;
  readonly outages?: readonly Outage[] | undefined;
  /** What is declared of its limits. Default: nothing, so it has to find out. */
  readonly declared?:
    | {
        readonly rpm?: number | undefined;
        readonly tpm?: number | undefined;
        readonly concurrency?: number | undefined;
      }
    | undefined;
}

/** Outages that come at random, at every provider by itself. */
export interface RandomOutages {
  /** Share of the time in which something is wrong with an endpoint. */
  readonly share: number;
  /** Mean length of an outage in milliseconds, exponentially distributed. Default 120,000. */
  readonly meanMs?: number | undefined;
  /** Default: all four. */
  readonly kinds?: readonly ('fail' | 'hang' | 'slow' | 'brownout')[] | undefined;
}

/** Requests that providers answer with a 500 however often they are sent, such as those with a schema they choke on. */
export interface PoisonRequests {
  /** Share of the requests; of the sessions, where they come from one account. */
  readonly share: number;
  /** Whether all of them come from an account that sends nothing else, `poison`. Default false: from all accounts. */
  readonly oneAccount?: boolean | undefined;
  /** Names of the endpoints or slugs of the providers that fail them; the others answer. Default: everywhere. */
  readonly at?: readonly string[] | undefined;
  /** Milliseconds after which they fail. Default 60. */
  readonly failMs?: number | undefined;
}

/** A document that many sessions begin with, so that it may be cached by whoever asked before. */
export interface SharedDocuments {
  /** How many there are. The n-th is n times as rare as the first, as with most things that are looked up. */
  readonly count: number;
  /** Mean tokens of one. */
  readonly tokens: number;
  /** Share of the sessions that begin with one. Default 1. */
  readonly share?: number | undefined;
}

/** A request of a recorded trace. */
export interface TracedRequest {
  /** Milliseconds from the start. */
  readonly atMs: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
  /** Names of the blocks of 512 tokens that its prompt consists of; the last one may be shorter. Default: all its own. */
  readonly blocks?: readonly string[] | undefined;
  /** Session that it belongs to. Default: one of its own. */
  readonly session?: string | undefined;
}

/** Who asks, and how often. */
export interface SimulatedTraffic {
  /**
   * Requests as they were recorded: then these are sent, at their times, and of the rest of the traffic only `streaming`,
   * `named`, `accounts` and `poison` count. {@link readTrace} reads a file.
   */
  readonly trace?: readonly TracedRequest[] | undefined;
  /** Documents that sessions begin with. Default: none. */
  readonly documents?: SharedDocuments | undefined;
  /** Requests in the whole simulation, about. Default 20,000. */
  readonly requests?: number | undefined;
  /** Requests per second outside of surges. Default 6; five an hour are `5 / 3_600`. */
  readonly perSecond?: number | undefined;
  /** Mean number of turns in a session, geometrically distributed. Default 6. */
  readonly turns?: number | undefined;
  /** Mean pause between the turns of a session in milliseconds. Default 30,000. */
  readonly pauseMs?: number | undefined;
  /** Mean tokens of the first prompt of a session. Default 2,000. */
  readonly promptTokens?: number | undefined;
  /** Mean tokens that the caller adds with each further turn, besides the previous answer. Default 300. */
  readonly turnTokens?: number | undefined;
  /** Mean tokens of an answer. Default 250. */
  readonly answerTokens?: number | undefined;
  /** Share of the requests that are streamed. Default 1. */
  readonly streaming?: number | undefined;
  /** Share of the sessions that send a `session_id`. Default 1. */
  readonly named?: number | undefined;
  /** Accounts that sessions come from, equally often: `account-0` and so on. Default: the anonymous account. */
  readonly accounts?: number | undefined;
  /** Whether every account has a key of its own for every provider, which direct clients send, too. Default false. */
  readonly ownKeys?: boolean | undefined;
  /** Share of the requests that have tools, and are answered with a call of one. Default 0. */
  readonly tools?: number | undefined;
  /** Default: none. */
  readonly poison?: PoisonRequests | undefined;
  /** Times in which `factor` times as many sessions begin. */
  readonly surges?: readonly { readonly fromMs: number; readonly toMs: number; readonly factor: number }[] | undefined;
}

/** Everything that {@link simulateTraffic} needs to know besides the router. */
export interface TrafficWorld {
  /** Same seed, same report. Default 1. */
  readonly seed?: number | undefined;
  readonly endpoints: readonly SimulatedEndpoint[];
  readonly traffic?: SimulatedTraffic | undefined;
  /** Outages at random, in addition to those of the endpoints. Default: none. */
  readonly outages?: RandomOutages | undefined;
  /** Instances of the router, between which requests are spread evenly. Default 1. */
  readonly instances?: number | undefined;
  /** Milliseconds in which the state store that the instances share answers. Default: at once, in memory. */
  readonly storeLatencyMs?: number | undefined;
}

/** Model that all simulated endpoints serve. */
export const SIMULATED_MODEL = 'simulated/model';
