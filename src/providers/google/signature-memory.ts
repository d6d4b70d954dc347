/** Calls whose signatures are remembered at most. */
const MAX_CALLS = 10_000;
/** Characters of all remembered signatures together: they are up to some hundred thousand long. */
const MAX_CHARACTERS = 16_000_000;

/**
 * Remembers the thought signatures of tool calls, because many clients send back a call without the fields that they
 * do not know. Lives as long as the process; a signature that is not known any more is replaced by the mark that there
 * is none, which costs the model its thoughts but not the answer.
 */
export class SignatureMemory {
  readonly #signatures = new Map<string, string>();
  #characters = 0;

  /** Keeps the signature of a call. What was kept longest makes room. */
  remember(account: string, callId: string, signature: string): void {
    if (signature.length > MAX_CHARACTERS / 16) return;
    const key = keyOf(account, callId);
    this.#forget(key);
    this.#signatures.set(key, signature);
    this.#characters += signature.length;
    for (const oldest of this.#signatures.keys()) {
      if (this.#signatures.size <= MAX_CALLS && this.#characters <= MAX_CHARACTERS) return;
      this.#forget(oldest);
    }
  }

  /** The signature of a call that this account's model made. */
  recall(account: string, callId: string): string | undefined {
    return this.#signatures.get(keyOf(account, callId));
  }

  #forget(key: string): void {
    this.#characters -= this.#signatures.get(key)?.length ?? 0;
    this.#signatures.delete(key);
  }
}

function keyOf(account: string, callId: string): string {
  return `${account}\n${callId}`;
}
