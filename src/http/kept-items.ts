/** Reads what was kept of a stream back into what it was written from. */
import type { ChunkEnvelope } from '../core/stream/envelope.ts';
import { escapeText } from '../core/stream/pieces.ts';
import * as read from '../platform/json.ts';
import type { JsonObject } from '../protocol/json.ts';
import { errorOf } from '../protocol/router-error.ts';
import type { StreamItem } from '../runtime/chat/chat-stream.ts';
import type { StreamFormat } from '../runtime/streams/stream-layout.ts';

/**
 * The text of the answer that is in kept frames; undefined where it has not begun.
 *
 * @throws {@link RouterError} for an answer that is more than text and reasoning, or has ended.
 */
export function keptText(kept: string, format: StreamFormat): string | undefined {
  const events = eventsIn(kept);
  if (events.length === 0) return undefined;
  return events.map(format === 'chat' ? chunkText : eventText).join('');
}

/** What the frames of an API format were written from. */
export function itemsIn(kept: string, envelope: ChunkEnvelope): readonly StreamItem[] {
  const items: StreamItem[] = [envelope.delta(0, { role: 'assistant', content: '' })];
  for (const event of eventsIn(kept)) {
    const delta = read.object(event['delta']);
    const said = read.string(event['delta']) ?? '';
    const { text, thinking, signature } = delta;
    if (delta['type'] === 'text_delta') items.push(escapeText(read.string(text) ?? ''));
    else if (delta['type'] === 'thinking_delta')
      items.push(envelope.delta(0, { reasoning: read.string(thinking) ?? '' }));
    else if (delta['type'] === 'signature_delta') {
      const detail = { type: 'reasoning.text', text: '', signature: read.string(signature) ?? '' } as const;
      // It is said when the next block begins.
      items.push(envelope.delta(0, { reasoning_details: [detail] }));
    } else if (event['type'] === 'response.output_text.delta') items.push(escapeText(said));
    else if (/^response\.reasoning\w*\.delta$/.test(read.string(event['type']) ?? '')) {
      items.push(envelope.delta(0, { reasoning: said }));
    }
  }
  return items;
}

function eventsIn(kept: string): readonly JsonObject[] {
  return [...kept.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, json = '']) => read.parseObject(json) ?? {})
    .filter(({ type }) => type !== 'ping');
}

/** The text of a chunk of chat completions. */
function chunkText({ choices }: JsonObject): string {
  const [choice] = read.list(choices);
  const { index, delta, finish_reason: finish } = read.object(choice);
  const {
    content,
    role: _,
    reasoning: _reasoning,
    reasoning_details: _details,
    annotations: _notes,
    ...more
  } = read.object(delta);
  if (choice === undefined || index !== 0 || finish != null || Object.keys(more).length > 0) throw notText();
  return read.string(content) ?? '';
}

/** Blocks and items that are nothing but text and reasoning. */
const PLAIN = new Set(['text', 'thinking', 'message', 'reasoning']);

/** The text of an event of Messages or of Responses. */
function eventText({ type, delta, content_block: block, item }: JsonObject): string {
  const opened = read.string(read.object(block ?? item)['type']);
  if (opened !== undefined && !PLAIN.has(opened)) throw notText();
  if (type === 'response.output_text.delta') return read.string(delta) ?? '';
  if (/\.(?:completed|incomplete|failed)$|^error$|^message_delta$/.test(read.string(type) ?? '')) throw notText();
  return read.string(read.object(delta)['text']) ?? '';
}

function notText(): Error {
  return errorOf(409, 'The answer is more than text');
}
