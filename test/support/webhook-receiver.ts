import { TransportError } from '../../src/net/transport.ts';
import type { Environment } from '../../src/platform/environment.ts';
import { failure } from '../../src/contracts/failure.ts';
import type { GuardedTransportFactory } from '../../src/net/outbound-request.ts';

/** A secret of Standard Webhooks. */
export const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes ok!').toString('base64')}`;
/** Another one. */
export const NEXT_SECRET = `whsec_${Buffer.from('the secret after that, as long..').toString('base64')}`;
/** Where the receiver is said to be. */
export const HOOK_URL = 'https://hooks.example.com/batches';

/** One delivery, as a receiver saw it. */
export interface Delivery {
  readonly url: string;
  readonly at: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How a receiver answers: with a status and headers, or not at all. */
export type ReceiverAnswer =
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** True: the connection breaks behind the headers. */
      readonly breaks?: boolean;
    }
  | 'no answer';

/** A receiver of webhooks without a network. */
export interface WebhookReceiver {
  readonly deliveries: readonly Delivery[];
  /** For the option `webhooks`. */
  readonly createTransport: GuardedTransportFactory;
}

/** Makes a receiver; one answer per delivery, the last one for ever. */
export function webhookReceiver(
  environment: Environment,
  answers: readonly ReceiverAnswer[] = [{ status: 204 }],
): WebhookReceiver {
  const deliveries: Delivery[] = [];
  return {
    deliveries,
    createTransport: () =>
      Promise.resolve({
        send({ url, headers, body = '' }) {
          const answer = answers[Math.min(deliveries.length, answers.length - 1)];
          const pairs = headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1] ?? '']] : []));
          deliveries.push({
            url: url.href,
            at: environment.now(),
            headers: Object.fromEntries(pairs) as Record<string, string>,
            body,
          });
          if (answer === undefined || answer === 'no answer') {
            return Promise.reject(new TransportError(failure('connection', 'refused')));
          }
          return Promise.resolve({
            status: answer.status,
            header: (name) => answer.headers?.[name],
            read: () =>
              answer.breaks === true
                ? Promise.reject(new TransportError(failure('connection', 'reset')))
                : Promise.resolve(undefined),
            cancel: () => {},
          });
        },
        close: () => Promise.resolve(),
      }),
  };
}
