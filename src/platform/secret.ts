/** A secret that shows itself only to code that reveals it by name: printed, logged or serialised it is `[redacted]`. */
export class Secret {
  #value: string | (() => string);

  /** @param value - The secret, or what makes it when it is needed for the first time. */
  constructor(value: string | (() => string)) {
    this.#value = value;
  }

  /** The secret itself. */
  reveal(): string {
    if (typeof this.#value !== 'string') this.#value = this.#value();
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** What consoles print. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}

const REDACTED = '[redacted]';
