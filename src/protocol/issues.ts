import type * as z from 'zod';
import { nearName } from './near-name.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** The one problem worth telling: where it is and what would be right. */
export interface Problem {
  readonly path: string;
  readonly problem: string;
}

/** Characters of a caller's own value that an error may repeat. */
const MAX_ECHO = 100;

/** Turns the issues of a schema into the one sentence that helps most. */
export function describeIssues(issues: readonly Issue[], input: unknown): Problem {
  const { issue, path } = mostSpecific(issues, []);
  return { path: formatPath(path), problem: describe(issue, valueAt(input, path)) };
}

/** `['messages', 2, 'content']` as `messages[2].content`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[a-zA-Z_][\w-]*$/.test(String(step))) text += text === '' ? String(step) : `.${String(step)}`;
    else text += `[${echo(String(step))}]`;
  }
  return text;
}

/** Follows unions to the branch that understood the input best: the one that failed deepest inside. */
function mostSpecific(issues: readonly Issue[], prefix: Path): { issue: Issue; path: Path } {
  const issue = issues[0];
  if (issue === undefined) throw new RangeError('a failed parse has at least one issue');
  const path = [...prefix, ...issue.path];
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return { issue, path };
  const branches = issue.errors.filter((branch) => branch.length > 0).map((branch) => mostSpecific(branch, path));
  const deepest = branches.reduce<{ issue: Issue; path: Path } | undefined>(
    (best, branch) => (best === undefined || branch.path.length > best.path.length ? branch : best),
    undefined,
  );
  return deepest !== undefined && deepest.path.length > path.length ? deepest : { issue, path };
}

function valueAt(input: unknown, path: Path): unknown {
  let value = input;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
}

function describe(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? `is required and must be ${article(issue.expected)}`
        : `must be ${article(issue.expected)}, not ${nameOf(value)}`;
    case 'invalid_value':
      return `must be ${oneOf(issue.values)}, not ${nameOf(value)}`;
    case 'too_small':
      return `must ${bound(issue.origin, 'least', Number(issue.minimum), issue.inclusive)}${got(value)}`;
    case 'too_big':
      if (!issue.message.startsWith('Too big')) return issue.message;
      return `must ${bound(issue.origin, 'most', Number(issue.maximum), issue.inclusive)}${got(value)}`;
    case 'unrecognized_keys':
      return unknownMembers(issue.keys);
    case 'invalid_union':
      return describeUnion(issue, value);
    case 'invalid_key':
      return `has a key that ${firstMessage(issue.issues)}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}${got(value)}`;
    default:
      return sentence(issue.message);
  }
}

function describeUnion(issue: Extract<Issue, { code: 'invalid_union' }>, value: unknown): string {
  const { options } = issue as { options?: readonly unknown[] };
  if (options !== undefined) return `must be ${oneOf(options)}, not ${nameOf(value)}`;
  const forms = issue.errors.flatMap((branch) => {
    const first = branch[0];
    if (first === undefined || first.path.length > 0) return [];
    if (first.code === 'invalid_type') return [article(first.expected)];
    if (first.code === 'invalid_value') return [oneOf(first.values)];
    return [];
  });
  const unique = [...new Set(forms)];
  if (unique.length === 0) return `has a form that is not accepted here: ${nameOf(value)}`;
  return `must be ${unique.join(' or ')}, not ${nameOf(value)}`;
}

function unknownMembers(keys: readonly string[]): string {
  const [first = ''] = keys;
  return `has a member that is not known here: ${echo(first)}`;
}

/** Adds the near name to an "unknown member" problem when the caller knows the accepted names. */
export function suggest(problem: string, name: string, accepted: Iterable<string>): string {
  const near = nearName(name, accepted);
  return near === undefined ? problem : `${problem}; did you mean "${near}"?`;
}

function bound(origin: string, side: 'least' | 'most', limit: number, inclusive: boolean | undefined): string {
  const amount = limit.toLocaleString('en-US', { maximumFractionDigits: 20 });
  if (origin === 'string') return `have at ${side} ${plural(amount, limit, 'character')}`;
  if (origin === 'array' || origin === 'set') return `have at ${side} ${plural(amount, limit, 'item')}`;
  if (inclusive === false) return `be ${side === 'least' ? 'more' : 'less'} than ${amount}`;
  return `be at ${side} ${amount}`;
}

function plural(amount: string, count: number, noun: string): string {
  return `${amount} ${noun}${count === 1 ? '' : 's'}`;
}

function got(value: unknown): string {
  if (typeof value === 'number') return `, not ${value}`;
  if (typeof value === 'string') return `, not ${value.length.toLocaleString('en-US')}`;
  if (Array.isArray(value)) return `, not ${value.length.toLocaleString('en-US')}`;
  return '';
}

function article(expected: string): string {
  const names: Readonly<Record<string, string>> = {
    int: 'an integer',
    array: 'an array',
    object: 'an object',
    record: 'an object',
    boolean: 'true or false',
    number: 'a number',
    string: 'a string',
    null: 'null',
  };
  return names[expected] ?? `a ${expected}`;
}

function oneOf(values: readonly unknown[]): string {
  const quoted = values.map((value) => JSON.stringify(value));
  return quoted.length === 1 ? (quoted[0] ?? '') : `one of ${quoted.join(', ')}`;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return echo(value);
  return echo(JSON.stringify(value) ?? typeof value);
}

function echo(text: string): string {
  return JSON.stringify(text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO - 1)}…` : text);
}

function firstMessage(issues: readonly Issue[]): string {
  const [issue] = issues;
  return issue === undefined ? 'is not accepted' : describe(issue, undefined);
}

function sentence(message: string): string {
  return /^(?:must|may|needs|has|is)\b/.test(message) ? message : `is not accepted: ${message}`;
}
