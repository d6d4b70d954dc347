/** The commands `signalbox keys create`, `list`, `rotate` and `revoke`. */
import { parseArgs } from 'node:util';
import type { CreatedKey, KeyManagement, StoredKey } from '../contracts/key-store.ts';
import type { Account, Scope } from '../contracts/account.ts';
import { RouterError } from '../protocol/router-error.ts';
import { type Command, CommandError, MisuseError, type CommandIo, tableOf } from './command.ts';
import { loadConfig } from './load-config.ts';

const CONFIG = `  --config <path>  A file whose authenticate is storedApiKeys({ … }). Default: that of this folder`;
const HOUR_MS = 3_600_000;
const RESETS = { daily: 'day', weekly: 'week', monthly: 'month' } as const;

/** Works with the keys of a configuration; the store is closed in any case. */
async function withKeys(
  io: CommandIo,
  path: string | undefined,
  work: (keys: KeyManagement) => Promise<void>,
): Promise<number> {
  const { config, from } = await loadConfig(io, path);
  const { keys } = config.authenticate ?? {};
  if (keys === undefined) {
    throw new CommandError(`${from} stores no API keys; its authenticate must be storedApiKeys({ store: … }).`);
  }
  try {
    await work(keys);
    return 0;
  } catch (error) {
    if (RouterError.isInstance(error)) throw new CommandError(error.message);
    throw error;
  } finally {
    await keys.close();
  }
}

/** The key alone is the result, so that it can be put into a variable; what is to be known about it goes beside it. */
function show(io: CommandIo, { key, stored }: CreatedKey, { json }: { readonly json?: boolean | undefined }): void {
  if (json === true) return io.print(JSON.stringify({ key, ...stored }));
  io.complain(`${stored.name}: ${stored.hash}`);
  io.complain('The key is not shown again:');
  io.print(key);
}

function numberOf(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && value >= 0) return value;
  throw new MisuseError(`${option} must be a non-negative number, not "${text}".`);
}

/** The one hash that begins so. */
async function hashOf(keys: KeyManagement, positionals: readonly string[]): Promise<string> {
  const [hash, ...others] = positionals;
  if (hash === undefined || others.length > 0 || !/^[0-9a-f]{8,64}$/.test(hash)) {
    throw new MisuseError('Name one key by its hash, or by the first 8 digits of it or more.');
  }
  if (hash.length === 64) return hash;
  // Hashes come in their order, and those that begin so are the first behind it.
  const found = (await keys.list({ after: hash })).filter((key) => key.hash.startsWith(hash));
  const [only, another] = found;
  if (only === undefined) throw new CommandError(`There is no API key whose hash begins with ${hash}.`);
  if (another !== undefined) throw new CommandError(`Several hashes begin with ${hash}; give more of it.`);
  return only.hash;
}

/** `signalbox keys create`: makes a key. */
export const keysCreate: Command = {
  name: 'keys create',
  summary: 'Make an API key in the store of keys',
  usage: `--account <id> [options]

Prints the key, this once: what is stored is its hash.

  --account <id>   Account that the key belongs to
  --name <text>    A name to show. Default: the id of the account
  --scope <scope>  inference, management or operator; may be repeated. Default: inference
  --limit <usd>    What may be spent with the key, in US dollars. Default: no limit
  --limit-reset <period>  daily, weekly or monthly. Default: never
  --expires <time> As 2027-01-01T00:00:00Z. Default: never
  --json           Print the key and what is stored of it as one JSON object
${CONFIG}`,
  async run(args, io) {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: {
        account: text,
        name: text,
        scope: { type: 'string', multiple: true },
        limit: text,
        'limit-reset': text,
        expires: text,
        config: text,
        json: { type: 'boolean' },
      },
    });
    const { account: id, name, scope, expires, config } = values;
    if (id === undefined || id === '') throw new MisuseError('Name the account of the key with --account.');
    const expiresAt = expires === undefined ? undefined : Date.parse(expires);
    if (Number.isNaN(expiresAt)) throw new MisuseError('--expires must be a time such as 2027-01-01T00:00:00Z.');
    const account: Account = {
      id,
      ...(scope !== undefined && { scopes: scope as Scope[] }),
      ...budgetOf(numberOf(values.limit, '--limit'), values['limit-reset']),
    };
    return withKeys(io, config, async (keys) => show(io, await keys.create({ account, name, expiresAt }), values));
  },
};

function budgetOf(limitUsd: number | undefined, reset: string | undefined): Pick<Account, 'keyBudget'> {
  if (reset !== undefined && !Object.hasOwn(RESETS, reset)) {
    throw new MisuseError(`--limit-reset must be daily, weekly or monthly, not "${reset}".`);
  }
  if (limitUsd === undefined) {
    if (reset !== undefined) throw new MisuseError('--limit-reset needs a --limit.');
    return {};
  }
  return { keyBudget: { limitUsd, ...(reset !== undefined && { period: RESETS[reset as keyof typeof RESETS] }) } };
}

/** `signalbox keys list`: shows the keys. */
export const keysList: Command = {
  name: 'keys list',
  summary: 'List the API keys in the store of keys',
  usage: `[options]

  --account <id>   Only those of this account
  --json           One JSON object per line
${CONFIG}`,
  async run(args, io) {
    const { values } = parseArgs({
      args: [...args],
      options: { account: { type: 'string' }, json: { type: 'boolean' }, config: { type: 'string' } },
    });
    return withKeys(io, values.config, async (keys) => {
      const found: StoredKey[] = [];
      let page: readonly StoredKey[];
      do {
        page = await keys.list({ account: values.account, after: found.at(-1)?.hash });
        found.push(...page);
      } while (page.length > 0);
      const rows = found.map((key) => [
        key.hash.slice(0, 12),
        key.label,
        key.account.id,
        key.name,
        stateOf(key, io.now()),
      ]);
      const lines = values.json
        ? found.map((key) => JSON.stringify(key))
        : tableOf([['hash', 'key', 'account', 'name', 'state'], ...rows]);
      for (const line of lines) io.print(line);
    });
  },
};

function stateOf({ disabled, expiresAt }: StoredKey, now: number): string {
  if (disabled) return 'disabled';
  if (expiresAt === undefined) return 'works';
  return `${expiresAt <= now ? 'expired' : 'works until'} ${new Date(expiresAt).toISOString()}`;
}

/** `signalbox keys rotate`: makes a key in the place of another one. */
export const keysRotate: Command = {
  name: 'keys rotate',
  summary: 'Make an API key in the place of another one, which works for a while',
  usage: `<hash> [options]

Prints the new key, this once.

  --overlap <hours>  How long the old key still works. Default 24
  --json             Print the key and what is stored of it as one JSON object
${CONFIG}`,
  async run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { overlap: { type: 'string' }, config: { type: 'string' }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const hours = numberOf(values.overlap, '--overlap') ?? 24;
    return withKeys(io, values.config, async (keys) =>
      show(io, await keys.rotate(await hashOf(keys, positionals), hours * HOUR_MS), values),
    );
  },
};

/** `signalbox keys revoke`: removes a key. */
export const keysRevoke: Command = {
  name: 'keys revoke',
  summary: 'Remove an API key: every instance refuses it within a second',
  usage: `<hash> [options]

  --json           Print the hash of the key as one JSON object
${CONFIG}`,
  async run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { config: { type: 'string' }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    return withKeys(io, values.config, async (keys) => {
      const hash = await hashOf(keys, positionals);
      await keys.revoke(hash);
      io.print(values.json === true ? JSON.stringify({ hash, revoked: true }) : `Revoked ${hash}`);
    });
  },
};
