/** Writes the chunks of a stream, and the frames that carry them. */
import type { FinishReason, Logprobs } from '../../protocol/chat-result.ts';
import type { ChatChunk, Delta } from '../../protocol/chunk.ts';
import type { ErrorDetail } from '../../protocol/error.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import { unescapeText } from './pieces.ts';
import type { Usage } from '../../protocol/usage.ts';

/** Members that stay the same through a stream. */
interface EnvelopeFacts {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly provider: string;
  readonly systemFingerprint?: string | undefined;
}

/** Builds the chunks of one stream, all with the same id, model, provider and time. */
export class ChunkEnvelope {
  readonly #head: Omit<ChatChunk, 'choices'>;
  readonly #textPrefix: string;

  constructor({ id, created, model, provider, systemFingerprint }: EnvelopeFacts) {
    this.#head = {
      id,
      provider,
      model,
      object: 'chat.completion.chunk',
      created,
      ...(systemFingerprint === undefined ? {} : { system_fingerprint: systemFingerprint }),
    };
    const head = JSON.stringify(this.#head).slice(0, -1);
    this.#textPrefix = `data: ${head},"choices":[{"index":0,"delta":{"content":"`;
  }

  /** Frame of a plain content delta, from text that is escaped already. The shortest way a chunk can take. */
  textFrame(escaped: string): string {
    return `${this.#textPrefix}${escaped}${TEXT_SUFFIX}`;
  }

  /** Chunk of a plain content delta. */
  text(escaped: string): ChatChunk {
    return this.delta(0, { content: unescapeText(escaped) });
  }

  /** Chunk that adds to a choice. */
  delta(index: number, delta: Delta, logprobs: Logprobs | null = null): ChatChunk {
    return {
      ...this.#head,
      choices: [{ index, delta, finish_reason: null, native_finish_reason: null, logprobs }],
    };
  }

  /** Chunk that ends a choice. */
  finish(index: number, reason: FinishReason, native: string | null): ChatChunk {
    return {
      ...this.#head,
      choices: [{ index, delta: { content: '' }, finish_reason: reason, native_finish_reason: native, logprobs: null }],
    };
  }

  /** The usage chunk: no choices, last before the end. */
  usage(usage: Usage, serviceTier: string | null, metadata: RouterMetadata | undefined): ChatChunk {
    return {
      ...this.#head,
      choices: [],
      service_tier: serviceTier,
      usage,
      ...(metadata === undefined ? {} : { router_metadata: metadata }),
    };
  }

  /** Chunk of a failure after the stream had begun (gaps 4.4). */
  error(error: ErrorDetail, metadata: RouterMetadata | undefined): ChatChunk {
    return {
      ...this.finish(0, 'error', null),
      error,
      ...(metadata === undefined ? {} : { router_metadata: metadata }),
    };
  }

  /** Chunk that shows what was sent to a provider. */
  debug(body: JsonValue): ChatChunk {
    return { ...this.#head, choices: [], debug: { echo_upstream_body: body } };
  }
}

const TEXT_SUFFIX = '"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}\n\n';

/** The last event of every stream (contract: events). */
export const DONE_FRAME = 'data: [DONE]\n\n';

/** One server-sent event with JSON data. */
export function dataFrame(json: string): string {
  return `data: ${json}\n\n`;
}

/** A comment: keeps proxies from closing a quiet connection, and means nothing to clients. */
export function commentFrame(text: string): string {
  return `: ${text}\n\n`;
}
