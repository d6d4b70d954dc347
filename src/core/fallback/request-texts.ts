/**
 * Whether a request says a word itself, so that an error which repeats it may have it from there. Loaded when something
 * was refused.
 */
import type { AttemptFailure } from '../../contracts/failure.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import { isJsonObject } from '../../protocol/json.ts';

/** Characters of a request that are looked at: of a longer one nothing is learned, because looking would take too long. */
const MOST_CHARACTERS = 400_000;

/** Members that lead to texts elsewhere, which a provider may repeat as well. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'previous_response_id',
  'conversation',
  'prompt',
  'container',
  'cached_content',
  'mcp_servers',
  'file_id',
  'item_reference',
]);

/** Members of a schema whose names are those of whoever wrote it. */
const NAMED_BY_CLIENT: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependentRequired',
]);

/**
 * Whether what a provider says of a word may come from the request itself: from any of its texts and names, however they
 * are escaped, cut or divided, or from what it only points to.
 *
 * @param words - As the provider wrote them.
 * @param keywords - Names that every schema has, and that are not its author's there. Default: none.
 */
export function mayHoldWords(
  request: NormalizedRequest,
  words: readonly string[],
  keywords: ReadonlySet<string> = NO_KEYWORDS,
): boolean {
  const { needs, serverTools, native, extra, parameters } = request;
  if (needs.inputModalities.length > 0 || needs.files === true || serverTools.length > 0) return true;
  const reader = new TextReader(keywords);
  // The names of what the router defines are nobody's text.
  for (const value of Object.values(parameters)) reader.read(value);
  for (const value of Object.values(native?.body ?? {})) reader.read(value);
  const { messages, tools, toolChoice, responseFormat, audio, imageConfig, cache } = request;
  const { metadata, trace, session, requested, plugins, anthropicBetas } = request;
  reader.read([messages, tools, toolChoice, responseFormat, audio, imageConfig, cache.options, cache.key]);
  reader.read([metadata, trace, session.id, requested, plugins, anthropicBetas, extra]);
  const leads = native !== undefined && Object.keys(native.body).some((name) => ELSEWHERE.has(name));
  return leads || reader.leadsElsewhere || reader.left < 0 || reader.holds(words);
}

/**
 * A failure as it is counted: where the request itself may have said the words by which it was understood, it may concern
 * this request alone.
 */
export function doubtedOf(failed: AttemptFailure, request: RoutedRequest): AttemptFailure {
  const { evidence } = failed;
  if (evidence === undefined || request.operation !== 'chat') return failed;
  const words = evidence.map((said) => said.replace(/^\W+|\W+$/g, ''));
  if (!mayHoldWords(request as NormalizedRequest, words)) return failed;
  return { ...failed, doubtful: true, retryAfterMs: undefined };
}

const NO_KEYWORDS: ReadonlySet<string> = new Set();

/** Collects all texts and names of a value. */
class TextReader {
  left = MOST_CHARACTERS;
  leadsElsewhere = false;
  readonly #keywords: ReadonlySet<string>;
  /** In their order, without anything between them: what a provider puts together may only then be a word. */
  readonly #texts: string[] = [];
  readonly #names: string[] = [];

  constructor(keywords: ReadonlySet<string>) {
    this.#keywords = keywords;
  }

  read(value: unknown, within = ''): void {
    if (this.left < 0) return;
    if (typeof value === 'string') this.#add(this.#texts, value);
    else if (Array.isArray(value)) for (const one of value) this.read(one, within);
    else if (isJsonObject(value)) {
      for (const [name, one] of Object.entries(value)) {
        if (!this.#keywords.has(name) || NAMED_BY_CLIENT.has(within)) this.#add(this.#names, name);
        if (ELSEWHERE.has(name) && typeof one === 'string') this.leadsElsewhere = true;
        // What kind a part is would be between the texts of two.
        if ((name === 'type' || name === 'role') && typeof one === 'string') this.#add(this.#names, one);
        else this.read(one, name);
      }
    }
  }

  #add(list: string[], text: string): void {
    this.left -= text.length + 1;
    if (this.left >= 0) list.push(text);
  }

  holds(words: readonly string[]): boolean {
    const said = unescaped(`${this.#names.join('\n')}\n${this.#texts.join('')}\n${this.#texts.join('\n')}`);
    const bare = said.replace(NO_LETTER, '');
    return words.some((word) => {
      const plain = word.toLowerCase();
      const letters = plain.replace(NO_LETTER, '');
      // A short word would be found in nearly every text without its blanks.
      return said.includes(plain) || (letters.length >= LONG && bare.includes(letters));
    });
  }
}

const NO_LETTER = /[^a-z0-9]/g;
const LONG = 8;

/** A text as a server may read it that takes escapes out of it: twice, because texts hold JSON that holds texts. */
function unescaped(text: string): string {
  const plain = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return ESCAPES.test(plain) ? `${plain}\n${onceUnescaped(onceUnescaped(plain))}`.toLowerCase() : plain.toLowerCase();
}

const ESCAPES = /[\\%&]/;
const ESCAPE =
  /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|%u([0-9a-f]{4})|%([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#(\d{1,7});|\\(.)/gi;

function onceUnescaped(text: string): string {
  return text.replace(ESCAPE, (whole: string, ...groups: (string | undefined)[]) => {
    const [braces, long, short, unit, percent, hex, decimal, escaped] = groups;
    if (escaped !== undefined) return 'nrtbf'.includes(escaped) ? ' ' : escaped;
    const code = parseInt(
      braces ?? long ?? short ?? unit ?? percent ?? hex ?? decimal ?? '',
      decimal === undefined ? 16 : 10,
    );
    return code <= 0x10_ffff ? String.fromCodePoint(code) : whole;
  });
}
