/** How endpoints count tokens, learned for each account from what was reported of its own prompts: by that its calls are paid. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { calibrate, type TokenCalibration, UNCALIBRATED, wantsReport } from '../../core/tokens/likely-tokens.ts';
import { boundedMap } from '../../storage/memory.ts';

/** Accounts that are kept, and endpoints of each: what one account sends makes no other forget. */
const MOST_ACCOUNTS = 10_000;
const MOST_ENDPOINTS = 64;

/** What each account knows of how endpoints count. */
export class TokenCounts {
  readonly #accounts = boundedMap<Map<string, TokenCalibration>>(MOST_ACCOUNTS);

  /** Undefined where no prompt of the account was reported. */
  of({ id }: Endpoint, account: string): TokenCalibration | undefined {
    return this.#accounts.get(account)?.get(id);
  }

  /** Whether a report of how many tokens a prompt of the account had would teach anything. */
  wants(endpoint: Endpoint, account: string, now: number): boolean {
    return wantsReport(this.of(endpoint, account) ?? UNCALIBRATED, now);
  }

  /** Notes how many tokens an endpoint counted in a prompt of the account, and how many were estimated. */
  reported(
    endpoint: Endpoint,
    account: string,
    { estimated, reported }: { readonly estimated: number; readonly reported: number },
    now: number,
  ): void {
    const endpoints = this.#accounts.get(account) ?? boundedMap<TokenCalibration>(MOST_ENDPOINTS);
    this.#accounts.set(account, endpoints);
    endpoints.set(endpoint.id, calibrate(this.of(endpoint, account) ?? UNCALIBRATED, estimated, reported, now));
  }
}
