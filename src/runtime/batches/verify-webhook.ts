/** Verifies webhooks on the side of their receiver. */
import { isJsonObject } from '../../protocol/json.ts';
import type { BatchWebhookEvent } from '../../protocol/batch.ts';

/** A delivery whose sender is in doubt. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/** What a receiver got, and what it knows. */
export interface WebhookDelivery {
  /** The body exactly as it came: parsing and writing it again changes bytes. */
  readonly body: string | Uint8Array;
  /** Headers of the request: a `Headers`, or an object with lower-case names as Node has it. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret, or several while they are being changed. */
  readonly secrets: string | readonly string[];
  /** Seconds that the delivery may be old, or ahead of the receiver's clock. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Epoch milliseconds. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
}

/** More signatures than anybody needs; what comes behind is not looked at. */
const MAX_SIGNATURES = 16;
const ENCODER = new TextEncoder();
const HMAC = { name: 'HMAC', hash: 'SHA-256' };

/**
 * Checks that a webhook comes from a router with this secret, that nobody changed it, and that it is not an old one sent
 * again (Standard Webhooks, signatures `v1`). Signatures are compared in constant time. Deliveries are repeated when
 * they seem lost: remember the event's id where doing something twice matters.
 *
 * @example
 * ```ts
 * const event = await verifyWebhook({ body: await request.text(), headers: request.headers, secrets });
 * if (event.type === 'batch.completed') await collect(event.data.id);
 * ```
 * @throws {@link WebhookVerificationError} when there is any doubt; RangeError when a secret is not one.
 */
export async function verifyWebhook(delivery: WebhookDelivery): Promise<BatchWebhookEvent> {
  const { headers, toleranceSeconds = 300, now = Date.now } = delivery;
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signature = headerOf(headers, 'webhook-signature');
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a time');
  const age = now() / 1_000 - Number(timestamp);
  if (Math.abs(age) > toleranceSeconds) {
    throw new WebhookVerificationError(`The webhook is too ${age > 0 ? 'old' : 'new'}`);
  }
  const body = typeof delivery.body === 'string' ? ENCODER.encode(delivery.body) : delivery.body;
  const signed = joined(ENCODER.encode(`${id}.${timestamp}.`), body);
  const { secrets } = delivery;
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets) {
    const key = await crypto.subtle.importKey('raw', bytesOfSecret(secret), HMAC, false, ['verify']);
    for (const mac of signaturesOf(signature)) {
      if (await crypto.subtle.verify(HMAC.name, key, mac, signed)) return parse(body);
    }
  }
  throw new WebhookVerificationError('No signature of the webhook is valid');
}

function headerOf(headers: WebhookDelivery['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError(`The header ${name} is missing`);
}

function signaturesOf(header: string): readonly Uint8Array<ArrayBuffer>[] {
  return header.split(' ', MAX_SIGNATURES).flatMap((one) => {
    const bytes = one.startsWith('v1,') ? fromBase64(one.slice('v1,'.length)) : undefined;
    return bytes === undefined ? [] : [bytes];
  });
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.byteLength + second.byteLength);
  whole.set(first);
  whole.set(second, first.byteLength);
  return whole;
}

function parse(body: Uint8Array): BatchWebhookEvent {
  const event: unknown = JSON.parse(new TextDecoder().decode(body));
  if (isJsonObject(event)) return event as unknown as BatchWebhookEvent;
  throw new WebhookVerificationError('The webhook is signed, but no event');
}

/** Fewest bytes of a secret: shorter ones can be guessed. */
const MIN_BYTES = 24;
/** Most bytes of a secret, as the receivers' libraries have it. */
const MAX_BYTES = 64;
const PREFIX = 'whsec_';

/**
 * The bytes of a webhook secret: `whsec_` and base64, as Standard Webhooks writes them.
 *
 * @throws RangeError that ends a sentence which begins with the secret's place; it does not hold the secret.
 */
// Bytes with a buffer of their own. TypeScript before 5.7 has no type argument for that, and reads this declaration too.
export function bytesOfSecret(secret: string): ReturnType<Uint8Array['slice']> {
  if (!secret.startsWith(PREFIX)) throw new RangeError(`must begin with "${PREFIX}"`);
  const bytes = fromBase64(secret.slice(PREFIX.length));
  if (bytes === undefined) throw new RangeError(`must be base64 behind "${PREFIX}"`);
  if (bytes.byteLength < MIN_BYTES || bytes.byteLength > MAX_BYTES) {
    throw new RangeError(`must hold ${MIN_BYTES} to ${MAX_BYTES} bytes, not ${bytes.byteLength}`);
  }
  return bytes;
}

/** Base64 as bytes, or undefined for what is none. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
