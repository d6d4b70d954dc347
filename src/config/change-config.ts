/** Changes of a running configuration: own copies of its options, patches, and what is shown of it. */
import { sameOption } from '../options/option.ts';
import { ConfigError } from '../protocol/router-error.ts';
import { ROUTER, type RouterConfig } from './router.ts';

/** Options that belong to the process: what is stored, open or listening cannot change under requests. */
export const FIXED = [
  'net',
  'state',
  'streams',
  'ledger',
  'batches',
  'webhooks',
  'identitySecret',
  'environment',
  'on',
] as const;

/** A configuration in force. */
export interface ConfigurationVersion {
  /** Counted from 1, the configuration of the start, in this process. */
  readonly version: number;
  /** Milliseconds since 1970 at which it came into force. */
  readonly since: number;
}

/**
 * The options in force, as they were given; what was left out is absent. Frozen. Its version is no member that spreading
 * copies, so `{ ...configuration, breaker: false }` is a patch. Printed, logged or serialised, secrets are `[redacted]`.
 */
export type CurrentConfiguration = RouterConfig & ConfigurationVersion;

/**
 * What {@link Router.update} takes: options that take the place of those of the same name, or a function that makes them of
 * the options in force. An option that is not named stays; one that is named as `undefined` is removed.
 */
export type ConfigurationPatch = RouterConfig | ((current: CurrentConfiguration) => RouterConfig);

/** Options after a change. */
export interface ChangedOptions {
  readonly given: RouterConfig;
  /** Whether the change said something of an option; the others are as they were, what was computed for them too. */
  readonly names: (option: string) => boolean;
}

/**
 * A copy of options that changes with nobody's objects. What has functions, such as a provider, and what a class made stay
 * the objects that they are.
 */
export function ownCopy(given: RouterConfig): RouterConfig {
  const copies = new Map<object, unknown>();
  const copy = (value: unknown): unknown => {
    if (!isData(value)) return value;
    const known = copies.get(value);
    if (known !== undefined) return known;
    const own: unknown[] | Record<string, unknown> = Array.isArray(value) ? [] : {};
    copies.set(value, own);
    for (const [name, member] of Object.entries(value)) define(own, name, copy(member));
    return Object.freeze(own);
  };
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  // Facts of vendors are megabytes that their programs do not change either.
  const members = Object.entries(given).map(([name, member]) => [name, name === 'catalog' ? member : copy(member)]);
  return Object.freeze(Object.fromEntries(members) as RouterConfig);
}

/** Also a member with the name of a setter, as JSON may have it. */
function define(own: object, name: string, value: unknown): void {
  Object.defineProperty(own, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The options after a patch, which is read once. */
export function patched(current: () => CurrentConfiguration, patch: ConfigurationPatch): RouterConfig {
  const given: unknown = typeof patch === 'function' ? patch(current()) : patch;
  if (typeof given !== 'object' || given === null || Array.isArray(given) || 'then' in given) {
    const made = typeof patch === 'function' ? 'what the function gives' : 'what update is given';
    throw new ConfigError([
      { path: 'The patch', problem: `must be an object with options: ${made} is ${kindOf(given)}` },
    ]);
  }
  return { ...given };
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a promise; await first, and update then';
  return `a ${typeof value}`;
}

/** Puts a patch over the options in force. */
export function changedOptions(before: RouterConfig, patch: RouterConfig): ChangedOptions {
  const members = Object.entries({ ...before, ...patch });
  // What is unknown stays, so that it is refused by its name.
  const left = members.filter(([name, value]) => value !== undefined || !Object.hasOwn(ROUTER, name));
  const given = ownCopy(Object.fromEntries(left));
  return { given, names: (option) => Object.hasOwn(patch, option) };
}

/** A patch after which nothing is left of the options before, but what cannot change and the page of the program. */
export function replacement(config: RouterConfig): RouterConfig {
  const stay: ReadonlySet<string> = new Set([...FIXED, 'inspector']);
  const removed = Object.keys(ROUTER).filter((name) => !stay.has(name));
  return { ...Object.fromEntries(removed.map((name) => [name, undefined])), ...config };
}

/** Whether options of these names are what they were. */
export function areSame(names: readonly (keyof RouterConfig)[], one: RouterConfig, other: RouterConfig): boolean {
  return names.every((name) => sameOption(one[name], other[name]));
}

/** The options in force, as a program may see them. */
export function shownConfiguration(given: RouterConfig, version: ConfigurationVersion): CurrentConfiguration {
  return shownOf(given, [], new Map(), version) as CurrentConfiguration;
}

/** Names under which nothing is printed. */
const SECRET_NAME =
  /secret|password|passphrase|token$|tokens$|api_?keys?$|authori[sz]ation|credential|cookie|headers$|^env$|^keys?$/i;
/** Options of which no text is printed: addresses with passwords, signing secrets, options of plugins. */
const SECRET_OPTIONS: ReadonlySet<string> = new Set(['identitySecret', 'webhooks', 'net', 'pluginDefaults']);
/** Levels that are printed: more has only what refers to itself. */
const DEEPEST = 20;
const REDACTED = '[redacted]';
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** A frozen copy whose every part prints itself without secrets, also where it is printed alone. */
function shownOf(
  value: unknown,
  path: readonly string[],
  copies: Map<object, object>,
  own?: ConfigurationVersion,
): unknown {
  if (!isShown(value, path)) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  const shown: object = Array.isArray(value) ? [] : {};
  copies.set(value, shown);
  for (const [name, member] of Object.entries(value)) define(shown, name, shownOf(member, [...path, name], copies));
  const print = (): unknown => ({ ...own, ...(printed(shown, path) as object) });
  const printList = (): unknown => printed(shown, path);
  const hidden = { toJSON: Array.isArray(value) ? printList : print };
  for (const [name, member] of Object.entries({ ...hidden, ...own })) {
    Object.defineProperty(shown, name, { value: member });
  }
  Object.defineProperty(shown, INSPECT, { value: hidden.toJSON });
  return Object.freeze(shown);
}

function printed(value: unknown, path: readonly string[]): unknown {
  if (path.length > DEEPEST) return '…';
  if (typeof value === 'string') return isSecret(value, path) ? REDACTED : value;
  if (typeof value === 'function') return '[function]';
  if (typeof value !== 'object' || value === null) return value;
  if (!isShown(value, path)) return `[${nameOf(value)}]`;
  if (Array.isArray(value)) return value.map((one) => printed(one, path));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, printed(one, [...path, name])]));
}

function isSecret(text: string, path: readonly string[]): boolean {
  if (SECRET_OPTIONS.has(path[0] ?? '') && path.at(-1) !== 'id') return true;
  return (
    path.some((name) => SECRET_NAME.test(name)) ||
    /^[a-z][\w+.-]*:\/\/[^/]*@|[?&][\w-]*(?:key|token|sig|secret)[\w-]*=/i.test(text)
  );
}

function nameOf(value: object): string {
  const { slug, id } = value as { slug?: unknown; id?: unknown };
  const name = typeof slug === 'string' ? slug : typeof id === 'string' ? id : undefined;
  return name ?? (Array.isArray(value) ? 'list' : 'object');
}

/** Whether the members of a value are shown: of the options themselves always, though some of them are functions. */
function isShown(value: unknown, path: readonly string[]): value is object {
  if (path.length === 0) return typeof value === 'object' && value !== null;
  return path[0] !== 'catalog' && isData(value);
}

/** Plain data: an object without functions and class, or a list. */
function isData(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((member) => typeof member !== 'function');
}
