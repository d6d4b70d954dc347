import type { Explanation } from '../core/selection/explain.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import type { Batches } from '../runtime/batches/batches.ts';
import type { ContentSink } from '../contracts/ledger.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import type { Cors } from '../options/http.ts';
import type { Environment } from '../platform/environment.ts';
import type { RequestLimits } from '../options/limits.ts';
import type { Authenticate, AnonymousCallers } from '../contracts/authenticate.ts';
import type { BatchStore } from '../contracts/batch-store.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { Ledger } from '../contracts/ledger.ts';
import type { ResolvedLimits } from './limits.ts';
import type { WarningEvent } from '../contracts/events.ts';

/**
 * A page that shows what a router does, served by every mount below `<base>/inspector`. Made by `inspector()` of
 * `signalbox/inspector`; nothing of it is loaded before the page is requested.
 */
export interface Inspector {
  /** Answers a request below `/inspector`, or gives undefined for an address that is not one of its own. */
  readonly answer: (router: InspectedRouter, call: InspectorCall) => Promise<InspectorReply | undefined>;
  /** Is called with each warning of the router. */
  readonly warned?: ((warning: WarningEvent) => void) | undefined;
  /** Keeps prompts and answers. Absent where nobody requested it: then nothing of them is kept. */
  readonly content?: ContentSink | undefined;
}

/** What an inspector reads of the configuration. */
export interface InspectedConfig {
  readonly environment: Environment;
  readonly limits: RequestLimits;
  readonly strategy: 'adaptive' | 'balanced';
  readonly authenticate: Authenticate | undefined;
  readonly anonymous: AnonymousCallers;
  readonly cors: Cors | undefined;
  readonly batches: { readonly openStorage: () => MaybePromise<BatchStore> };
  readonly ledger: { readonly tags: readonly string[]; readonly store: Ledger } | undefined;
  readonly usage: ResolvedLimits;
}

/** What an inspector needs of its router. */
export interface InspectedRouter {
  explain(request: ChatRequest): Promise<Explanation>;
  readonly batches: Batches;
  /** Which configuration is in force, and since when, in milliseconds since 1970. */
  readonly configuration: { readonly version: number; readonly since: number };
  readonly internals: {
    readonly config: InspectedConfig;
    readonly services: RuntimeServices;
  };
}

/** A request, as mounts give it; see `HttpCall`. */
export interface InspectorCall {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly header: (name: string) => string | undefined;
  readonly headerNames?: (() => readonly string[]) | undefined;
  readonly signal: AbortSignal;
  readonly remoteAddress?: string | undefined;
  readonly httpVersion?: string | undefined;
}

/** An answer, as mounts take it; see `HttpReply`. */
export type InspectorReply =
  | {
      readonly type: 'whole';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  | {
      readonly type: 'stream';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly frames: AsyncIterator<string, undefined, undefined> &
        AsyncIterable<string> & { readonly ended: boolean };
      readonly stallMs: number;
    };
