import type { Choice } from '../protocol/chat-result.ts';
import type { Message } from '../protocol/message.ts';
import type { MaybePromise } from '../platform/wait.ts';

/** Prompt and answer of a chat request, for those who keep them to evaluate models. */
export interface LedgerContent {
  /** Generation id, as in the {@link LedgerRecord} of the request. */
  readonly id: string;
  readonly account: string;
  readonly model: string;
  readonly messages: readonly Message[];
  /** Generation id of the request that this is a copy of; absent for the request of a caller. */
  readonly mirrorOf?: string | undefined;
  /** As the caller got them; those of a copy were shown to nobody. */
  readonly choices: readonly Choice[];
}

/**
 * Takes prompts and answers out of what may be kept; undefined keeps nothing of this request. What it throws keeps
 * nothing either.
 */
export type RedactContent = (content: LedgerContent) => MaybePromise<LedgerContent | undefined>;

/** Keeps prompts and answers. Called after the answer was given; what it throws is a `warning` and nothing else. */
export type ContentSink = (content: LedgerContent) => MaybePromise<void>;
