import { isJsonObject, type JsonObject } from '../../../protocol/json.ts';
import type { RouterMetadata } from '../../../protocol/metadata.ts';
import type { Usage } from '../../../protocol/usage.ts';
import type { NativePiece } from '../../stream/pieces.ts';
import { eventFrame, rawFrame } from './frames.ts';
import { costOf } from './usage.ts';

/** What the router adds to the events of a provider. */
export interface RouterFacts {
  /** The model's name in this router. */
  readonly model: string;
  readonly provider?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly metadata?: RouterMetadata | undefined;
}

/**
 * Passes the events of a provider on that speaks this wire itself. Only three are touched: the first gets the model's
 * name in this router, and the last two wait for the cost, which is known when everything else has been said.
 */
export class NativeEvents {
  readonly #metadataField: string;
  #delta: JsonObject | undefined;

  constructor(metadataField: string) {
    this.#metadataField = metadataField;
  }

  /** Writes one event. */
  write({ event, data }: NativePiece, { model, provider }: RouterFacts): string {
    if (event === 'message_stop') return '';
    if (event !== 'message_start' && event !== 'message_delta') return rawFrame(event, data);
    const said = parsed(data);
    if (said === undefined) return rawFrame(event, data);
    if (event === 'message_start') {
      const message = isJsonObject(said['message']) ? said['message'] : {};
      return eventFrame({ ...said, type: event, message: { ...message, model, provider } });
    }
    const before = this.#delta;
    this.#delta = said;
    return before === undefined ? '' : eventFrame({ ...before, type: event });
  }

  /** Writes the last events. */
  end({ usage, metadata }: RouterFacts): string {
    const field = this.#metadataField;
    const last: JsonObject = this.#delta ?? { delta: { stop_reason: null, stop_sequence: null } };
    const counted = isJsonObject(last['usage']) ? last['usage'] : {};
    const delta = {
      ...last,
      type: 'message_delta',
      usage: { ...counted, ...costOf(usage) },
      ...(metadata === undefined ? {} : { [field]: metadata }),
    };
    return eventFrame(delta) + eventFrame({ type: 'message_stop' });
  }
}

function parsed(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
