/** Checks the options of providers. */
import type { ProviderKey } from '../options/accounts.ts';
import { anyString, amount, group, valueThat, type OptionShape, wholeNumber } from '../options/values.ts';
import { union } from '../schema/choices.ts';
import { array } from '../schema/collections.ts';
import { enumeration } from '../schema/scalars.ts';
import { optionProblems } from '../platform/check-options.ts';
import { namedKeys, type NamedKey } from './provider-api.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';

/** What can be wrong with the options of any provider that is called over HTTP. */
interface CheckedOptions {
  readonly slug: string;
  readonly baseURL: string;
  /** A function is only called when a call is made. */
  readonly apiKey?: ProviderKey | undefined;
  readonly keys?: readonly (ProviderKey | NamedKey)[] | undefined;
  readonly net?: object | undefined;
  readonly transport?: object | undefined;
}

/** Everything that is wrong with the options of a provider. */
export function checkProviderOptions(options: CheckedOptions): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const where = `providers.${options.slug}`;
  if (!SLUG.test(options.slug)) problems.push({ path: `${where}.slug`, problem: NO_SLUG });
  const url = URL.canParse(options.baseURL) ? new URL(options.baseURL) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    problems.push({ path: `${where}.baseURL`, problem: 'must be an http(s) address' });
  } else if (url.search !== '' || url.hash !== '' || url.username !== '') {
    problems.push({ path: `${where}.baseURL`, problem: 'must have no query, fragment or user name' });
  }
  const checkKey = (key: unknown, path: string): void => {
    if (typeof key === 'string' && !/^[\x21-\x7e]+$/.test(key)) {
      problems.push({ path: `${where}.${path}`, problem: 'must be one line of visible characters, without spaces' });
    }
  };
  checkKey(options.apiKey, 'apiKey');
  const keys = namedKeys(options.keys ?? []);
  for (const [index, { name, apiKey }] of keys.entries()) {
    checkKey(apiKey, `keys[${index}]`);
    const isTaken = keys.findIndex((one) => one.name === name || one.apiKey === apiKey) < index;
    if (isTaken) problems.push({ path: `${where}.keys[${index}]`, problem: 'must have a name and a key of its own' });
    if (!SLUG.test(name)) problems.push({ path: `${where}.keys[${index}].name`, problem: NO_SLUG });
  }
  if (options.keys !== undefined && (keys.length === 0 || options.apiKey !== undefined)) {
    problems.push({ path: `${where}.keys`, problem: 'must hold a key, and take the place of apiKey' });
  }
  if (options.net !== undefined && options.transport !== undefined) {
    problems.push({ path: `${where}.net`, problem: 'cannot be beside transport, which chooses the connection itself' });
  }
  return problems;
}

const SLUG = /^[a-z0-9][a-z0-9-]*$/;
const NO_SLUG = 'must be lower-case letters, digits and dashes';

/**
 * Refuses options that are not known, or not of their kind, together with what else is wrong with the provider.
 *
 * @param usual - Slug and address where the options name none.
 * @param others - What else was found.
 * @throws {@link ConfigError}
 */
export function checkProviderShape<Options>(
  shape: OptionShape<Options>,
  options: Options,
  usual: { readonly slug?: string; readonly baseURL?: string } = {},
  others: readonly ConfigProblem[] = [],
): void {
  const given = Object(options) as { slug?: unknown; baseURL?: unknown; apiKey?: unknown };
  const slug = typeof given.slug === 'string' ? given.slug : (usual.slug ?? '?');
  const problems = [...optionProblems(group(shape), options, `providers.${slug}`), ...others];
  if (problems.length === 0) return;
  const baseURL = typeof given.baseURL === 'string' ? given.baseURL : (usual.baseURL ?? 'https://provider.example');
  const apiKey = typeof given.apiKey === 'string' ? given.apiKey : undefined;
  throw new ConfigError([...problems, ...checkProviderOptions({ slug, baseURL, apiKey })]);
}

/** A key, whatever it says, or a function that gives keys. */
export const keyOrFunction = valueThat(
  'a string or a function',
  (value) => typeof value === 'string' || typeof value === 'function',
);
/** Several keys, each with what is said of it. */
export const severalKeys = array(
  union([
    group<NamedKey>(
      {
        apiKey: keyOrFunction,
        name: anyString,
        weight: amount,
        rpm: wholeNumber(1),
        tpm: wholeNumber(1),
        concurrency: wholeNumber(1),
      },
      ['apiKey'],
    ),
    valueThat(
      'a string, a function, or { apiKey, name, weight, rpm, tpm, concurrency }',
      (value) => typeof value === 'string' || typeof value === 'function',
    ),
  ]),
);
/** Where a key goes: in the header of the vendor, or as an access token in `authorization`. */
export const keyPlace = enumeration(['api-key', 'bearer']);
/** A number, whatever it is. */
export const anyNumber = valueThat('a number', (value) => typeof value === 'number');
/** What may be behind a header's name. */
export const headerValue = valueThat(
  'one line of text',
  (value) => typeof value === 'string' && !/[\r\n\0]/.test(value),
);
