/** What is remembered of the last prompt of a session. */
interface CachedPrompt {
  readonly fingerprints: readonly number[];
  readonly tokens: readonly number[];
}

/** Sessions that are remembered at a time; the oldest go first. */
const MAX_SESSIONS = 1_000;

/** The prompt caches of all endpoints. A session that moves to another endpoint finds nothing there, as in reality. */
export class PromptCache {
  readonly #prompts = new Map<string, CachedPrompt>();

  /**
   * Tokens of the leading messages that this prompt shares with the last one under the same key. Remembers the new one.
   *
   * @param key - Account, session and endpoint.
   * @param prompt - A hash and the tokens of each message.
   */
  read(key: string, prompt: CachedPrompt): number {
    const known = this.#prompts.get(key);
    this.#prompts.delete(key);
    this.#prompts.set(key, prompt);
    for (const oldest of this.#prompts.keys()) {
      if (this.#prompts.size <= MAX_SESSIONS) break;
      this.#prompts.delete(oldest);
    }
    let cached = 0;
    for (const [index, fingerprint] of prompt.fingerprints.entries()) {
      if (known?.fingerprints[index] !== fingerprint) break;
      cached += prompt.tokens[index] ?? 0;
    }
    return cached;
  }
}
