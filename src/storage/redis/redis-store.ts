/** The state store in Redis. */
import { unknown } from '../../schema/scalars.ts';
import { checkShape } from '../../platform/check-options.ts';
import { anyString, type OptionShape } from '../../options/values.ts';
import { ConfigError, type ConfigProblem } from '../../protocol/router-error.ts';
import type { JsonValue } from '../../protocol/json.ts';
import { AcknowledgedChanges } from '../acknowledged-changes.ts';
import { LOCAL_FALLBACK_OPTIONS, type LocalFallbackOptions, TIMEOUT_MS, withLocalFallback } from '../local-fallback.ts';
import type { ChangedCounters, ChangeName, CounterChange, StateStore } from '../../contracts/state-store.ts';
import { StorageError } from '../../contracts/storage-error.ts';
import { addressProblem, CONNECTION_MEANINGS, type CodeMeaning, meaningOf } from '../server-address.ts';
import * as read from '../../platform/json.ts';
import type { MaybePromise } from '../../platform/wait.ts';
import type * as Ioredis from 'ioredis';

/**
 * A client of Redis that can send any command: one of the package `ioredis` (`call`), or one of the package `redis` that
 * is connected (`sendCommand`).
 */
export type RedisClient =
  | { call(command: string, ...values: string[]): Promise<unknown> }
  | { sendCommand(command: string[]): Promise<unknown> };

/** Options of {@link redisStore}. Either `client` or `url` says where Redis is. */
export interface RedisStoreOptions extends LocalFallbackOptions {
  /** Stays open when the store is closed. */
  readonly client?: RedisClient | undefined;
  /** For example `redis://user:password@host:6379/0`. Needs the package `ioredis`. */
  readonly url?: string | undefined;
  /** Beginning of every key. Default `signalbox:`. */
  readonly prefix?: string | undefined;
}

/** Milliseconds for which the changes of a writer are remembered after the last of them. */
const REMEMBERED_MS = 86_400_000;

/** Adds to a number and keeps its time; what is no number, or not there, becomes one with a time of its own. */
const INCREMENT = `
local known = redis.call('GET', KEYS[1])
if known and tonumber(known) then return redis.call('INCRBYFLOAT', KEYS[1], ARGV[1]) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`;

/**
 * Changes counters if none comes above its maximum. KEYS are all counters; ARGV are, for each change: the index of its
 * key, what is added, its time, its maximum or nothing, and the indexes of the keys beside it, by commas.
 *
 * Behind the counters in KEYS is the hash of the writer's changes, by their numbers: 1 for made, 0 for revoked. At the
 * end of ARGV are the number of this change, or nothing for one without a name; 1 when it revokes; the numbers that may
 * be forgotten, by commas; and the server's time in milliseconds after which nobody waits for the change any more, or
 * nothing: a server that was stopped must not carry out then what was done elsewhere meanwhile.
 *
 * Gives the server's time, what became of the change (1, 0 for refused, -1 for too late), and the sums.
 */
const CHANGE = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local deadline = tonumber(table.remove(ARGV))
if deadline and now > deadline then return { now, -1 } end
local forgettable, revokes, number = table.remove(ARGV), table.remove(ARGV), table.remove(ARGV)
local made = number ~= '' and table.remove(KEYS)
local isDue = true
if made then
  for one in string.gmatch(forgettable, '%d+') do redis.call('HDEL', made, one) end
  local before = redis.call('HGET', made, number)
  if revokes == '' and before == '0' then return { now, -1 } end
  isDue = before == (revokes == '1' and '1')
end
local counts, sums = {}, {}
for index, key in ipairs(KEYS) do counts[index] = tonumber(redis.call('GET', key) or '') or 0 end
local function sum(change)
  local total = counts[tonumber(ARGV[change])]
  for index in string.gmatch(ARGV[change + 4], '%d+') do total = total + counts[tonumber(index)] end
  return total
end
local applied = 1
for change = 1, #ARGV, 5 do
  local max = tonumber(ARGV[change + 3])
  if max and sum(change) + tonumber(ARGV[change + 1]) > max then applied = 0 end
end
if applied == 1 and isDue then
  for change = 1, #ARGV, 5 do
    local index = tonumber(ARGV[change])
    counts[index] = math.max(0, counts[index] + tonumber(ARGV[change + 1]))
    local text = string.format('%.17g', counts[index])
    if tonumber(redis.call('GET', KEYS[index]) or '') then redis.call('SET', KEYS[index], text, 'KEEPTTL')
    else redis.call('SET', KEYS[index], text, 'PX', ARGV[change + 2]) end
  end
end
if made and applied == 1 then
  redis.call('HSET', made, number, revokes == '1' and '0' or '1')
  redis.call('PEXPIRE', made, ${REMEMBERED_MS})
end
for change = 1, #ARGV, 5 do sums[#sums + 1] = string.format('%.17g', sum(change)) end
return { now, applied, unpack(sums) }`;

/**
 * Adds to a text of a length; what is there already counts as added. ARGV are the text, the length and the time of the text.
 */
const APPEND = `
local length = redis.call('STRLEN', KEYS[1])
if length == tonumber(ARGV[2]) then redis.call('APPEND', KEYS[1], ARGV[1])
elseif length < tonumber(ARGV[2]) or redis.call('GETRANGE', KEYS[1], ARGV[2], -1) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`;

/**
 * Small state that several processes share, in Redis: sticky sessions, cooldowns, counters. Redis may go at any time,
 * and lose everything: each process then keeps state of its own, a warning says so, and no request fails.
 *
 * @throws {@link ConfigError}
 *
 * @example
 * ```ts
 * const router = createRouter({ providers, state: redisStore({ url: process.env.REDIS_URL }) });
 * ```
 */
export function redisStore(options: RedisStoreOptions): StateStore {
  checkShape<RedisStoreOptions>(OPTIONS, options, 'redisStore');
  const { client, url, prefix = 'signalbox:', ...fallback } = options;
  checkOptions(client, url);
  const redis = new RedisCommands(
    () => (client === undefined ? connectIoredis(url ?? '') : { send: sender(client), close: nothing }),
    fallback,
  );
  const acknowledged = new AcknowledgedChanges();
  const shared: StateStore = {
    async open() {
      await redis.send('PING');
    },
    async get(key) {
      return valueOf(await redis.send('GET', prefix + key));
    },
    async set(key, value, ttlMs) {
      await redis.send('SET', prefix + key, JSON.stringify(value), 'PX', life(ttlMs));
    },
    async delete(key) {
      await redis.send('DEL', prefix + key);
    },
    async increment(key, by, ttlMs) {
      return Number(await redis.send('EVAL', INCREMENT, '1', prefix + key, String(by), life(ttlMs)));
    },
    async append(key, text, at, ttlMs) {
      return (await redis.send('EVAL', APPEND, '1', prefix + key, text, String(at), life(ttlMs))) === 1;
    },
    async slice(key, from, to = 0) {
      if (to > 0 && to <= from) return '';
      const text = await redis.send('GETRANGE', prefix + key, String(from), String(to - 1));
      return typeof text === 'string' ? text : '';
    },
    async change(changes, name) {
      const { keys, words, made = '' } = changeCommand(prefix, changes, name);
      return acknowledged.along(made, name, async (forgettable) => {
        const command = ['EVAL', CHANGE, String(keys.length), ...keys, ...words, forgettable.join()];
        // Where the server's clock was set, the first answer says so.
        return (await redis.inTime(command)) ?? (await redis.inTime(command)) ?? lateFailure();
      });
    },
    close: () => redis.close(),
  };
  const guarded = withLocalFallback(shared, fallback);
  return {
    ...guarded,
    async open() {
      try {
        await guarded.open?.();
      } catch (error) {
        throw redisFailure(error);
      }
    },
  };
}

/** Sends commands over a connection that the first of them opens. */
class RedisCommands {
  readonly #connect: () => MaybePromise<RedisConnection>;
  readonly #clock: ServerClock;
  #connecting: Promise<RedisConnection> | undefined;

  constructor(connect: () => MaybePromise<RedisConnection>, fallback: LocalFallbackOptions) {
    this.#connect = connect;
    this.#clock = new ServerClock(fallback);
  }

  async send(...command: string[]): Promise<unknown> {
    this.#connecting ??= (async () => this.#connect())();
    const { send } = await this.#connecting;
    return send(command).catch((error: unknown) => {
      throw redisFailure(error);
    });
  }

  /** Makes a change, unless the server gets to it when nobody waits any more; undefined then. */
  async inTime(command: readonly string[]): Promise<ChangedCounters | undefined> {
    const sentAt = this.#clock.now();
    const [serverTime, applied, ...sums] = (await this.send(...command, this.#clock.deadline(sentAt))) as unknown[];
    const isLate = this.#clock.read(Number(serverTime), sentAt);
    if (Number(applied) >= 0) return { applied: Number(applied) === 1, sums: sums.map(Number) };
    return isLate ? lateFailure() : undefined;
  }

  async close(): Promise<void> {
    await (await this.#connecting?.catch(() => undefined))?.close();
  }
}

/** What the script of changes is called with, and the key of the changes that their writer has made. */
function changeCommand(
  prefix: string,
  changes: readonly CounterChange[],
  name: ChangeName | undefined,
): { readonly keys: readonly string[]; readonly words: readonly string[]; readonly made: string | undefined } {
  const counters = [...new Set(changes.flatMap(({ key, beside = [] }) => [key, ...beside]))];
  const indexOf = (key: string): string => String(counters.indexOf(key) + 1);
  const shown = changes.flatMap(({ key, by, ttlMs, max, beside = [] }) => [
    indexOf(key),
    String(by),
    life(ttlMs),
    max === undefined ? '' : String(max),
    beside.map(indexOf).join(),
  ]);
  const keys = counters.map((key) => prefix + key);
  const made = name && `${prefix}changes\n${placeOf(counters)}\n${name.writer}`;
  if (made !== undefined) keys.push(made);
  const number = [name === undefined ? '' : String(name.number), name?.isRevoked === true ? '1' : ''];
  return { keys, words: [...shown, ...number], made };
}

/** What keeps another key in the same place of a cluster: the account in braces, or a key without one. */
function placeOf([key = '']: readonly string[]): string {
  return /\{[^}]+\}/.exec(key)?.[0] ?? `{${key}}`;
}

function lateFailure(): never {
  throw new StorageError('busy', 'Redis: the server reached a change after its time limit.');
}

/** What the clock of a server shows, as far as its answers say. */
class ServerClock {
  readonly #timeoutMs: number;
  /** Milliseconds that the server's clock is ahead of ours; undefined until it has answered. */
  #ahead: number | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;

  constructor({ timeoutMs = TIMEOUT_MS, now = () => performance.now() }: LocalFallbackOptions) {
    this.#timeoutMs = timeoutMs;
    this.now = now;
  }

  /** The server's time after which nobody waits for a command that is sent now; empty when that is not known. */
  deadline(sentAt: number): string {
    return this.#ahead === undefined ? '' : String(Math.ceil(sentAt + this.#ahead + this.#timeoutMs));
  }

  /** Notes the server's time in an answer. True for an answer that nobody waits for any more. */
  read(serverTime: number, sentAt: number): boolean {
    const isLate = this.now() - sentAt > this.#timeoutMs;
    // Of a late answer it is not known on which way the time was lost: better a deadline that is too early.
    this.#ahead = serverTime - (isLate ? this.now() : sentAt);
    return isLate;
  }
}

function sender(client: RedisClient): RedisConnection['send'] {
  if ('call' in client) return ([name = '', ...values]) => client.call(name, ...values);
  return (command) => client.sendCommand(command);
}

/** What somebody else wrote under our keys is like nothing. */
function valueOf(text: unknown): JsonValue | undefined {
  return typeof text === 'string' ? (read.parse(text) as JsonValue | undefined) : undefined;
}

function life(ttlMs: number): string {
  return String(Math.max(1, Math.ceil(ttlMs)));
}

function nothing(): Promise<void> {
  return Promise.resolve();
}

const OWN_OPTIONS = { client: unknown, url: anyString, prefix: anyString };
const OPTIONS: OptionShape<RedisStoreOptions> = { ...OWN_OPTIONS, ...LOCAL_FALLBACK_OPTIONS };

function checkOptions(client: RedisClient | undefined, url: string | undefined): void {
  const problems: ConfigProblem[] = [];
  if ((client === undefined) === (url === undefined)) {
    problems.push({ path: 'redisStore', problem: 'needs either `client` or `url`' });
  }
  if (client !== undefined && !('call' in client) && !('sendCommand' in client)) {
    problems.push({ path: 'client', problem: 'must be a client of the package ioredis or redis' });
  }
  if (url !== undefined && !/^rediss?:\/\//.test(url)) {
    problems.push({ path: 'url', problem: 'must begin with redis:// or rediss://' });
  }
  const unreadable = url === undefined ? undefined : addressProblem(url);
  if (unreadable !== undefined) problems.push({ path: 'url', problem: unreadable });
  if (problems.length > 0) throw new ConfigError(problems);
}

/** What codes of the operating system, and the first words of Redis's own errors, mean for somebody who has to act. */
const MEANINGS: Readonly<Record<string, CodeMeaning>> = {
  ...CONNECTION_MEANINGS,
  NOAUTH: ['unavailable', 'the server requires a password; add it to the url'],
  WRONGPASS: ['unavailable', 'the server refused the user or the password'],
  NOPERM: ['unavailable', 'the user lacks a permission; let it use all keys below the prefix, EVAL and PING'],
  LOADING: ['unavailable', 'the server is still reading its data'],
  READONLY: ['read_only', 'the server takes no changes; connect to the one that does'],
  MASTERDOWN: ['unavailable', 'the server is a replica that has lost its master'],
  MISCONF: ['read_only', 'the server takes no changes because it cannot save its data; see its log'],
  NOREPLICAS: ['read_only', 'the server takes no changes because it has too few replicas'],
  OOM: ['full', 'the server has no memory left'],
};

/** The code in an error of Redis. Older servers put that of a script's command into their sentence about the script. */
function codeIn(message: string): string | undefined {
  return message.match(UNFIT)?.[0] ?? /^[A-Z]+(?= )/.exec(message)?.[0];
}

/** What a server says that is no longer the one to write to, or not yet. */
const UNFIT = /\b(?:READONLY|LOADING|MASTERDOWN)\b/;

/** What Redis or its driver says, in our own words: theirs may name the user, or repeat what was sent. */
function redisFailure(error: unknown): unknown {
  if (StorageError.isInstance(error) && error.reason === 'busy') {
    const message = `Redis: ${error.message} Is the server up, and are host and port right?`;
    return new StorageError('unavailable', message);
  }
  if (StorageError.isInstance(error) || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : codeIn(error.message);
  const known = code === undefined ? undefined : meaningOf(MEANINGS, code);
  if (known !== undefined) return new StorageError(known[0], `Redis: ${known[1]} (${code}).`, code);
  const isTimeout = /timed? ?out|ETIMEDOUT/i.test(error.message);
  const advice = isTimeout ? 'the server does not answer' : 'the connection broke, or the server refused a command';
  return new StorageError('unavailable', `Redis: ${advice}${code === undefined ? '' : ` (${code})`}.`, code);
}

/** A connection: how to send a command, and how to let go of it. */
interface RedisConnection {
  readonly send: (command: string[]) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** Milliseconds that connecting may take. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Milliseconds after which a command is given up, so that those to a silent server do not pile up. */
const COMMAND_TIMEOUT_MS = 2_000;
/** Milliseconds between two tries to connect. */
const RECONNECT_MS = 500;

/**
 * Loads the optional package `ioredis` and connects. Where nobody answers it goes on trying by itself; commands fail at
 * once meanwhile instead of waiting.
 */
async function connectIoredis(url: string): Promise<RedisConnection> {
  const { Redis } = await importIoredis();
  const client = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy: () => RECONNECT_MS,
    // After a failover the same address may lead to another server, and only a new connection gets there.
    reconnectOnError: ({ message }) => UNFIT.test(message),
  });
  // Commands only say that there is no connection, and this event why. Unheard, it would end the process.
  let reason: unknown;
  client.on('error', (error) => (reason = error));
  client.on('ready', () => (reason = undefined));
  await client.connect().catch(() => undefined);
  return {
    send: ([name = '', ...values]) =>
      client.call(name, ...values).catch((error: unknown) => {
        throw reason ?? error;
      }),
    close() {
      client.disconnect();
      return Promise.resolve();
    },
  };
}

async function importIoredis(): Promise<Pick<typeof Ioredis, 'Redis'>> {
  let found: Partial<typeof Ioredis>;
  try {
    found = await import('ioredis');
  } catch {
    throw new StorageError('driver_missing', 'redisStore needs the package ioredis; run: npm install ioredis');
  }
  // Any version may be installed beside this package; before 5, the class was the default export only.
  if (found.Redis !== undefined) return { Redis: found.Redis };
  const message = 'redisStore needs ioredis 5 or newer, and an older one is installed; run: npm install ioredis@latest';
  throw new StorageError('driver_missing', message);
}
