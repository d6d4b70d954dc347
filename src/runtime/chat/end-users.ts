import type { MaybePromise } from '../../platform/wait.ts';
import type { RecordMap } from './endpoint-records.ts';
import { hmacSha256 } from '../../platform/hash.ts';
import type { Secret } from '../../platform/secret.ts';

/**
 * Stand-ins for end users, for providers who isolate abuse by user (contract: `user`). A keyed hash per account: the
 * same user always has the same stand-in, two accounts never share one, and nobody can get back to the name.
 */
export class EndUsers {
  readonly #secret: Secret;
  readonly #known: RecordMap<{ readonly id: string }>;

  constructor(secret: Secret, known: RecordMap<{ readonly id: string }>) {
    this.#secret = secret;
    this.#known = known;
  }

  /** The stand-in of an account's user, or of the account itself where the request names none. */
  standIn(account: string, user: string | null | undefined): MaybePromise<string> {
    const key = `${account}\0${user ?? ''}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known.id;
    const hash = hmacSha256(this.#secret.reveal(), key);
    return typeof hash === 'string' ? this.#remember(key, hash) : hash.then((hex) => this.#remember(key, hex));
  }

  #remember(key: string, hash: string): string {
    const id = `user_${hash.slice(0, 32)}`;
    this.#known.set(key, { id });
    return id;
  }
}
