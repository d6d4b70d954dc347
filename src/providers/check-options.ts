import { kind, optionProblems, type OptionShape } from '../platform/option-kinds.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';

/** What can be wrong with the options of any provider that is called over HTTP. */
interface CheckedOptions {
  readonly slug: string;
  readonly baseURL: string;
  /** A function is only asked when a call is made. */
  readonly apiKey?: string | (() => unknown) | undefined;
}

/** Everything that is wrong with the options of a provider. */
export function checkProviderOptions(options: CheckedOptions): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const where = `providers.${options.slug}`;
  if (!/^[a-z0-9][a-z0-9-]*$/.test(options.slug)) {
    problems.push({ path: `${where}.slug`, problem: 'must be lower-case letters, digits and dashes' });
  }
  const url = URL.canParse(options.baseURL) ? new URL(options.baseURL) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    problems.push({ path: `${where}.baseURL`, problem: 'must be an http(s) address' });
  } else if (url.search !== '' || url.hash !== '' || url.username !== '') {
    problems.push({ path: `${where}.baseURL`, problem: 'must have no query, fragment or user name' });
  }
  if (typeof options.apiKey === 'string' && !/^[\x21-\x7e]+$/.test(options.apiKey)) {
    problems.push({ path: `${where}.apiKey`, problem: 'must be one line of visible characters, without spaces' });
  }
  return problems;
}

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
  const problems = [...optionProblems(shape, options, `providers.${slug}`), ...others];
  if (problems.length === 0) return;
  const baseURL = typeof given.baseURL === 'string' ? given.baseURL : (usual.baseURL ?? 'https://provider.example');
  const apiKey = typeof given.apiKey === 'string' ? given.apiKey : undefined;
  throw new ConfigError([...problems, ...checkProviderOptions({ slug, baseURL, apiKey })]);
}

/** A text, whatever it says: what it must look like is checked elsewhere. */
export const anyText = kind('a string', (value) => typeof value === 'string');
/** A number, whatever it is. */
export const anyNumber = kind('a number', (value) => typeof value === 'number');
/** What may be behind a header's name. */
export const headerValue = kind('one line of text', (value) => typeof value === 'string' && !/[\r\n\0]/.test(value));
