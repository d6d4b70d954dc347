/** Reads values by schemas, and describes in one sentence what a schema refused. */
import { echoKey, type Issue, NOT_ACCEPTED, type Schema } from '../schema/form.ts';
import { echo } from './fault.ts';

type Path = readonly PropertyKey[];

/** The one problem to report: where it is and what would be right. */
export interface Problem {
  readonly path: string;
  readonly problem: string;
}

/** A value that satisfies a schema, or the one problem to report. */
type Reading<Output> = { readonly ok: true; readonly value: Output } | ({ readonly ok: false } & Problem);

/** The value as a schema gives it back, or a refusal without reasons. */
export function valueOf<Output>(schema: Schema<Output>, value: unknown): Output | typeof NOT_ACCEPTED {
  const accepted = schema.accept(value);
  if (accepted !== NOT_ACCEPTED) return accepted;
  const issues: Issue[] = [];
  const parsed = schema.parse(value, issues);
  return issues.length === 0 ? parsed : NOT_ACCEPTED;
}

/**
 * Reads a value by a schema. Only a refused one is looked at in order, to say what is wrong with it.
 *
 * @param shown - What the caller sent, when the value was made from it: problems name what is there.
 */
export function read<Output>(schema: Schema<Output>, value: unknown, shown: unknown = value): Reading<Output> {
  const accepted = schema.accept(value);
  return accepted === NOT_ACCEPTED ? readRefused(schema, value, shown) : { ok: true, value: accepted };
}

/** Reads a value that was refused without reasons, to say what is wrong with it. */
export function readRefused<Output>(schema: Schema<Output>, value: unknown, shown: unknown = value): Reading<Output> {
  const issues: Issue[] = [];
  const parsed = schema.parse(value, issues);
  return issues.length === 0 ? { ok: true, value: parsed } : { ok: false, ...describeIssues(issues, shown) };
}

/** Turns the issues of a schema into the one sentence that helps most. */
export function describeIssues(issues: readonly Issue[], input: unknown): Problem {
  const { issue, path } = mostSpecific(issues, []);
  return { path: formatPath(path), problem: describe(issue, valueAt(input, path)) };
}

/** `['messages', 2, 'content']` as `messages[2].content`. Keys that the caller made up are cut. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path) {
    const name = echoKey(String(step));
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[a-zA-Z_][\w-]*…?$/.test(name)) text += text === '' ? name : `.${name}`;
    else text += `[${JSON.stringify(name)}]`;
  }
  return text;
}

interface Located {
  readonly issue: Issue;
  readonly path: Path;
}

/** Follows unions to the branch that was meant: the one that got deepest, or that objects to more than the kind. */
function mostSpecific(issues: readonly Issue[], prefix: Path): Located {
  const issue = issues[0];
  if (issue === undefined) throw new RangeError('a failed parse has at least one issue');
  const path = [...prefix, ...issue.path];
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return { issue, path };
  const meant = issue.errors
    .filter((branch) => branch.length > 0)
    .map((branch) => mostSpecific(branch, path))
    .filter((branch) => branch.path.length > path.length || !isAboutKind(branch.issue));
  return meant.reduce<Located | undefined>(deeper, undefined) ?? { issue, path };
}

/** Of two as deep, the one whose `type` was right. */
function deeper(best: Located | undefined, branch: Located): Located {
  if (best === undefined || branch.path.length > best.path.length) return branch;
  return branch.path.length === best.path.length && best.path.at(-1) === 'type' ? branch : best;
}

function isAboutKind({ code }: Issue): boolean {
  return code === 'invalid_type' || code === 'invalid_value' || code === 'invalid_union';
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
  if (issue.message?.startsWith(MUST_BE) === true) return mustBe(issue.message.slice(MUST_BE.length), value);
  switch (issue.code) {
    case 'invalid_type':
      return mustBe(article(issue.expected), value);
    case 'invalid_value':
      return mustBe(oneOf(issue.values), value);
    case 'too_small':
      if (!issue.inclusive) return `must be more than ${written(issue.minimum)}${got(value)}`;
      return `must ${bound(issue.origin, 'least', issue.minimum)}${got(value)}`;
    case 'too_big':
      if (issue.message !== undefined) return issue.message;
      return `must ${bound(issue.origin, 'most', issue.maximum)}${got(value)}`;
    case 'invalid_union':
      return mustBe(formsOf(issue), value);
    case 'custom':
      return inOwnWords(issue.message, value);
  }
}

/** How messages of our own schemas begin that say what a value has to be. */
const MUST_BE = 'must be ';

function mustBe(expected: string, value: unknown): string {
  return value === undefined ? `is required and must be ${expected}` : `must be ${expected}, not ${shownValue(value)}`;
}

/** What a union accepts: the words of a discriminator, or the kinds of its branches. */
function formsOf(issue: Extract<Issue, { code: 'invalid_union' }>): string {
  if (issue.options !== undefined) return oneOf(issue.options);
  const forms = issue.errors.flatMap(([first]) => {
    if (first?.code === 'invalid_type') return [article(first.expected)];
    return first?.code === 'invalid_value' ? first.values.map((value) => JSON.stringify(value)) : [];
  });
  return listOf([...new Set(forms)]);
}

function listOf(forms: readonly string[]): string {
  const [last = 'of another form', ...others] = forms.toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(', ')} or ${last}`;
}

/** Messages of our own schemas are ends of sentences. */
function inOwnWords(message: string, value: unknown): string {
  if (message.startsWith('may hold only ')) return `${message}; it is ${shownValue(value)}`;
  return /^(?:must|may|needs|has|is)\b/.test(message) ? message : `is not accepted: ${message}`;
}

function bound(origin: string, side: 'least' | 'most', limit: number): string {
  const amount = written(limit);
  if (origin === 'string') return `have at ${side} ${plural(amount, limit, 'character')}`;
  if (origin === 'array') return `have at ${side} ${plural(amount, limit, 'item')}`;
  return `be at ${side} ${amount}`;
}

function written(limit: number): string {
  return limit.toLocaleString('en-US', { maximumFractionDigits: 20 });
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
  return quoted.length > 2 ? `one of ${quoted.join(', ')}` : quoted.join(' or ');
}

/** A value of the caller, as an error may show it. */
export function shownValue(value: unknown): string {
  if (typeof value === 'string') return echo(value);
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : String(value);
}
