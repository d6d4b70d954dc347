/** What a name or a code looks like. Anything longer might be a sentence, with an address in it. */
const PLAIN = /^\w{1,60}$/;
/** Words of drivers about connections that have no code. Only these words are told, not what stands around them. */
const CONNECTION = /connection terminated|connection timeout|timeout expired|query read timeout|not queryable/i;

/**
 * What may be told of an error: its name, its code, and a few words that are known to hold nothing else. Its message may
 * hold the address and the password of a database. Also for errors that somebody has copied into a plain object, and for
 * several in one.
 *
 * @returns For example `AggregateError, ECONNREFUSED`.
 */
export function problemName(error: unknown): string {
  const known = [nameOf(error), codeOf(error), wordsOf(error)].filter((part) => part !== undefined);
  return known.length === 0 ? `${typeof error} without a name or a code` : [...new Set(known)].join(', ');
}

function nameOf(error: unknown): string | undefined {
  // A copy has lost the name, which its class had; the stack begins with it.
  return plain(field(error, 'name')) ?? /^\w{1,60}(?=: |\n|$)/.exec(textField(error, 'stack'))?.[0];
}

function codeOf(error: unknown): string | undefined {
  const several = field(error, 'errors');
  const all = [error, ...(Array.isArray(several) ? (several as readonly unknown[]) : []), field(error, 'cause')];
  for (const one of all) {
    const code = plain(field(one, 'code')) ?? plain(field(one, 'reason'));
    if (code !== undefined) return code;
  }
  return undefined;
}

function wordsOf(error: unknown): string | undefined {
  return CONNECTION.exec(textField(error, 'message'))?.[0].toLowerCase();
}

function plain(value: unknown): string | undefined {
  return typeof value === 'string' && PLAIN.test(value) ? value : undefined;
}

function textField(error: unknown, name: string): string {
  const value = field(error, name);
  return typeof value === 'string' ? value : '';
}

function field(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? (Reflect.get(error, name) as unknown) : undefined;
}
