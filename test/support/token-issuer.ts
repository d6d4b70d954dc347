import type { ProviderKeyFunction, ProviderToken } from 'signalbox';
import { type UpstreamHandler, sendJson } from './upstream.ts';

/** Plays a service that issues tokens, and the check that an upstream makes of them. */
export interface TokenIssuer {
  /** What a provider gets as `apiKey`. */
  readonly give: ProviderKeyFunction;
  /** Tokens issued so far. */
  readonly issued: readonly string[];
  /** Calls of {@link give} that were open at the same time, at most. */
  readonly mostAtOnce: number;
  /** From now on no token is accepted that was issued so far. */
  revoke(): void;
  /** Lets only accepted tokens through to a handler; the others get 401, or what else is said. */
  guard(handler: UpstreamHandler, refuse?: UpstreamHandler): UpstreamHandler;
  /** What issuing comes to. Replaced to let it fail. */
  issue: () => Promise<void>;
}

/** Starts an issuer. */
export function tokenIssuer(expiresAt: () => number | undefined = () => undefined): TokenIssuer {
  const issued: string[] = [];
  let accepted = new Set<string>();
  let open = 0;
  let mostAtOnce = 0;
  const issuer: TokenIssuer = {
    issued,
    get mostAtOnce() {
      return mostAtOnce;
    },
    issue: () => new Promise((resolve) => setImmediate(resolve)),
    async give(): Promise<ProviderToken> {
      open += 1;
      mostAtOnce = Math.max(mostAtOnce, open);
      try {
        await issuer.issue();
        const token = `token-of-the-house-${issued.length + 1}`;
        issued.push(token);
        accepted.add(token);
        return { token, expiresAt: expiresAt() };
      } finally {
        open -= 1;
      }
    },
    revoke() {
      accepted = new Set();
    },
    guard(handler, refuse = refuseWith401) {
      return (request, response, raw) => {
        const {
          authorization,
          'x-api-key': apiKey,
          'api-key': azureKey,
          'x-goog-api-key': googleKey,
        } = request.headers;
        const key = [authorization?.replace('Bearer ', ''), apiKey, azureKey, googleKey].find(Boolean);
        (accepted.has(String(key)) ? handler : refuse)(request, response, raw);
      };
    },
  };
  return issuer;
}

const refuseWith401: UpstreamHandler = (_request, response) =>
  sendJson(response, 401, { error: { message: 'Access token is missing, invalid, or expired', code: '401' } });
