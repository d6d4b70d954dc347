import { Webhook } from 'standardwebhooks';
import OpenAI from 'openai';
import { WebhookVerificationError, createRouter, verifyWebhook } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/platform/secret.ts';
import { webhookHeaders } from '../../../src/runtime/batches/deliver-webhook.ts';
import { NEXT_SECRET, SECRET } from '../../support/webhook-receiver.ts';

const BODY = '{"id":"evt_1","object":"event","type":"batch.completed","note":"ü \\/ 1.0"}';
const ID = 'evt_batch_1_completed';

async function signed(secrets: readonly string[] = [SECRET], timestamp = Math.floor(Date.now() / 1_000), body = BODY) {
  const list = await webhookHeaders(
    { id: ID, timestamp, body },
    secrets.map((secret) => new Secret(secret)),
    'router',
  );
  const headers: Record<string, string> = {};
  for (let index = 0; index < list.length; index += 2) headers[list[index] ?? ''] = list[index + 1] ?? '';
  return headers;
}

describe('a signed webhook', () => {
  it('is accepted by the standardwebhooks package and by openai', async () => {
    const headers = await signed();
    expect(new Webhook(SECRET).verify(BODY, headers)).toMatchObject({ type: 'batch.completed' });
    const client = new OpenAI({ apiKey: 'any', webhookSecret: SECRET });
    expect(await client.webhooks.unwrap(BODY, headers)).toMatchObject({ type: 'batch.completed' });
  });

  it('is accepted by ours, from text or bytes, from Headers or an object, under either of two secrets', async () => {
    const headers = await signed([NEXT_SECRET, SECRET]);
    for (const body of [BODY, Buffer.from(BODY)]) {
      for (const carried of [headers, new Headers(headers)]) {
        for (const secrets of [SECRET, [SECRET], [NEXT_SECRET], ['whsec_' + 'A'.repeat(32), SECRET]]) {
          expect(await verifyWebhook({ body, headers: carried, secrets })).toMatchObject({ id: 'evt_1' });
        }
      }
    }
  });

  it('of the standardwebhooks package is accepted by ours', async () => {
    const at = new Date();
    const headers = {
      'webhook-id': ID,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(SECRET).sign(ID, at, BODY),
    };
    expect(await verifyWebhook({ body: BODY, headers, secrets: SECRET })).toMatchObject({ id: 'evt_1' });
  });

  it.each<[string, (headers: Record<string, string>) => Record<string, string | undefined>]>([
    ['another id', (headers) => ({ ...headers, 'webhook-id': 'evt_2' })],
    [
      'another time',
      (headers) => ({ ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }),
    ],
    ['a time that is none', (headers) => ({ ...headers, 'webhook-timestamp': '1e9' })],
    ['no time', ({ 'webhook-timestamp': _, ...headers }) => headers],
    ['no id', ({ 'webhook-id': _, ...headers }) => headers],
    ['no signature', ({ 'webhook-signature': _, ...headers }) => headers],
    ['an empty signature', (headers) => ({ ...headers, 'webhook-signature': '' })],
    [
      'half a signature',
      (headers) => ({ ...headers, 'webhook-signature': headers['webhook-signature']?.slice(0, 20) }),
    ],
    [
      'another version',
      (headers) => ({ ...headers, 'webhook-signature': headers['webhook-signature']?.replace('v1,', 'v1a,') }),
    ],
    ['no base64', (headers) => ({ ...headers, 'webhook-signature': 'v1,%%%%' })],
    ['a megabyte of signatures', (headers) => ({ ...headers, 'webhook-signature': 'v1,AAAA '.repeat(131_072) })],
  ])('with %s is refused', async (_name, change) => {
    const headers = change(await signed());
    await expect(verifyWebhook({ body: BODY, headers, secrets: SECRET })).rejects.toThrow(WebhookVerificationError);
  });

  it('with another body, or under another secret, is refused', async () => {
    const headers = await signed();
    await expect(verifyWebhook({ body: `${BODY} `, headers, secrets: SECRET })).rejects.toThrow('No signature');
    await expect(verifyWebhook({ body: BODY, headers, secrets: NEXT_SECRET })).rejects.toThrow('No signature');
    await expect(verifyWebhook({ body: BODY, headers, secrets: [] })).rejects.toThrow('No signature');
  });

  it('is refused when it is older than five minutes, or from the future', async () => {
    const sentAt = 1_800_000_000;
    const headers = await signed([SECRET], sentAt);
    const at = (seconds: number) =>
      verifyWebhook({ body: BODY, headers, secrets: SECRET, now: () => (sentAt + seconds) * 1_000 });
    expect(await at(300)).toMatchObject({ id: 'evt_1' });
    expect(await at(-300)).toMatchObject({ id: 'evt_1' });
    await expect(at(301)).rejects.toThrow('too old');
    await expect(at(-301)).rejects.toThrow('too new');
  });
});

describe('the secrets of webhooks', () => {
  it.each([
    ['no-prefix', 'webhooks.secrets[0] must begin with "whsec_"'],
    ['whsec_short', 'webhooks.secrets[0] must be base64'],
    ['whsec_AAAA', 'webhooks.secrets[0] must hold 24 to 64 bytes, not 3'],
  ])('must be secrets: %s', (secret, problem) => {
    const make = (): unknown => createRouter({ webhooks: { secrets: [secret] } });
    expect(make).toThrow(problem);
    if (secret.length > 12) expect(make).not.toThrow(secret);
  });

  it('are not shown by a router', () => {
    const router = createRouter({ webhooks: { secrets: [SECRET] }, on: { warning: () => {} } });
    expect(JSON.stringify(router.internals.config.webhooks)).not.toContain(SECRET);
  });
});
