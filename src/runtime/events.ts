import type { CostPart } from '../catalog/cost.ts';
import type { Operation } from '../catalog/operation.ts';
import type { AttemptFailure } from '../core/fallback/failure.ts';
import type { Batch, BatchStatus } from '../protocol/batch.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { Usage } from '../protocol/usage.ts';

/** Facts that every event about a request carries. No prompts, no keys, no raw user ids. */
export interface RequestFacts {
  /** Generation id. */
  readonly id: string;
  readonly operation: Operation;
  /** Generation id of the request whose plugin or server tool makes this one; its cost is part of that one's. */
  readonly parent?: string | undefined;
  readonly account: string;
  readonly requested: string;
  readonly stream: boolean;
  readonly session?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly trace?: JsonObject | undefined;
}

/** One upstream call ended. */
export interface AttemptEvent {
  readonly request: RequestFacts;
  /** Counted from 1. */
  readonly attempt: number;
  readonly provider: string;
  readonly model: string;
  readonly endpoint: string;
  readonly durationMs: number;
  /** Milliseconds to the first token of a stream, or to the end of a whole answer. */
  readonly firstTokenMs?: number | undefined;
  /** Absent when the call succeeded. Without the provider's own words, which may repeat a prompt. */
  readonly failure?: AttemptFailure | undefined;
  /** What the provider says this call used, also when its answer was no good. Absent when it said nothing. */
  readonly usage?: Usage | undefined;
}

/** A request was answered. */
export interface ResultEvent {
  readonly request: RequestFacts;
  readonly provider: string;
  readonly model: string;
  readonly attempts: number;
  readonly durationMs: number;
  readonly usage: Usage;
  /**
   * What the provider charges for, part by part, in whole nano-dollars that add up to the cost. Absent when the
   * provider reported its cost itself, or when no price is known.
   */
  readonly costParts?: readonly CostPart[] | undefined;
  /** Null for embeddings, which end in one way only. */
  readonly finishReason: string | null;
}

/** A request failed, or its caller went away. */
export interface ErrorEvent {
  readonly request: RequestFacts;
  /** HTTP status of the answer; 499 when the caller went away. */
  readonly status: number;
  readonly errorType: string;
  readonly attempts: number;
  readonly durationMs: number;
  /** True when part of a stream had been sent. */
  readonly committed: boolean;
}

/** The router notices something that its operator should know. */
export interface WarningEvent {
  readonly code: string;
  readonly message: string;
  /** What a plugin or server tool threw. For a debugger: it may hold anything, so it is never printed by us. */
  readonly thrown?: unknown;
}

/** Something about a batch changed. Told in the process that changed it. */
export type BatchUpdateEvent =
  | {
      readonly type: 'status';
      readonly account: string;
      /** Without its results. */
      readonly batch: Batch;
      /** Absent for a new batch. */
      readonly previous?: BatchStatus | undefined;
    }
  /** Requests came to their outcomes: `batch.request_counts` is up to date. */
  | { readonly type: 'progress'; readonly account: string; readonly batch: Batch }
  /** A try to deliver the webhook is over. */
  | {
      readonly type: 'webhook';
      readonly account: string;
      readonly batch: Batch;
      readonly outcome: 'delivered' | 'again' | 'given_up';
      /** Counted from 1. */
      readonly tries: number;
      /** Status of the receiver; absent when it did not answer. */
      readonly status?: number | undefined;
    };

/** Events by name. */
export interface RouterEvents {
  readonly attempt: AttemptEvent;
  readonly result: ResultEvent;
  readonly error: ErrorEvent;
  readonly warning: WarningEvent;
  readonly batch: BatchUpdateEvent;
}

/** A function that is told of one kind of event. What it throws is ignored. */
export type RouterListener<Name extends keyof RouterEvents> = (event: RouterEvents[Name]) => void;

/** Calls listeners. Costs nothing where nobody listens: events are only built when {@link EventHub.heard} says so. */
export class EventHub {
  readonly #listeners = new Map<keyof RouterEvents, Set<(event: never) => void>>();

  /** Adds a listener and gives the function that removes it. */
  on<Name extends keyof RouterEvents>(name: Name, listener: RouterListener<Name>): () => void {
    let listeners = this.#listeners.get(name);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(name, listeners);
    }
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  heard(name: keyof RouterEvents): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends keyof RouterEvents>(name: Name, event: RouterEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        const returned: unknown = (listener as RouterListener<Name>)(event);
        if (returned instanceof Promise) returned.catch(ignore);
      } catch {
        // A listener observes; it must not be able to break a request.
      }
    }
  }
}

function ignore(): void {}
