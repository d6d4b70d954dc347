import { hmacBytes, hmacSha256 } from '../hash.ts';
import type { Secret } from '../secret.ts';
import { bytesOfSecret, toBase64 } from './secrets.ts';

/** One delivery, as it is signed. */
export interface SignedDelivery {
  /** Id of the event. */
  readonly id: string;
  /** Unix seconds of this try. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Headers that prove where a webhook comes from: those of Standard Webhooks, and `x-router-signature` (gaps 8.8), over
 * the same bytes. Every secret signs, so that receivers can be moved from one to the other. The first kind is keyed with
 * the bytes behind `whsec_`, the second with the secret's text.
 *
 * @returns Names and values in turn. Without secrets only the id and the time.
 */
export async function webhookHeaders(delivery: SignedDelivery, secrets: readonly Secret[]): Promise<readonly string[]> {
  const { id, timestamp, body } = delivery;
  const headers = ['webhook-id', id, 'webhook-timestamp', String(timestamp)];
  if (secrets.length === 0) return headers;
  const standard = secrets.map(async (secret) => {
    const mac = await hmacBytes(bytesOfSecret(secret.reveal()), `${id}.${timestamp}.${body}`);
    return `v1,${toBase64(mac)}`;
  });
  const plain = secrets.map(async (secret) => `v1=${await hmacSha256(secret.reveal(), `${timestamp},${body}`)}`);
  return [
    ...headers,
    'webhook-signature',
    (await Promise.all(standard)).join(' '),
    'x-router-signature',
    [`t=${timestamp}`, ...(await Promise.all(plain))].join(','),
  ];
}
