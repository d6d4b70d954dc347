import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { heal, type Healed } from '../../src/plugins/response-healing/heal.ts';
import { isJsonObject, type JsonValue } from '../../src/protocol/json.ts';

/**
 * What healing makes of answers that real models gave and that are not JSON: those of WildEval/ZeroEval (Apache-2.0),
 * `result_dirs/{crux,gsm,math-l5,numersense-v2}`, where 60 models were asked for `{"reasoning": …, "answer": …}`. The
 * files are not part of this project; give the path of a copy.
 *
 * What was meant is read without the code that is measured: where both names stand in an answer once, the texts between
 * them, with escapes as JSON has them unless they are commands of LaTeX. Compared are the names, the answers, and the
 * reasonings without their white space and backslashes. Answers with a name twice or not at all are counted apart, and so
 * are those that need nothing but the text around them taken away.
 *
 * Half of the models (by a hash of their names) were looked at while healing was written; the other half is held back.
 */
export function tellRealAnswers(folder: string): void {
  for (const half of ['held-back', 'development'] as const) {
    const answers = readAnswers(folder).filter(({ model }) => (hashOf(model) % 2 === 0) === (half === 'development'));
    const tally = { right: 0, wrong: 0, refused: 0, unclear: 0 };
    for (const { text } of answers) tally[outcomeOf(text)] += 1;
    const clear = tally.right + tally.wrong + tally.refused;
    const share = (count: number): string => `${((100 * count) / Math.max(1, clear)).toFixed(2)} %`;
    console.log(
      `healing, ${clear} real answers of the ${half} half of models: ${share(tally.right)} right, ` +
        `${share(tally.wrong)} silently wrong, ${share(tally.refused)} left alone (${tally.unclear} more are unclear)`,
    );
  }
}

interface RealAnswer {
  readonly model: string;
  readonly text: string;
}

const SETS = ['crux', 'gsm', 'math-l5', 'numersense-v2'];

function readAnswers(folder: string): readonly RealAnswer[] {
  return SETS.flatMap((set) =>
    readdirSync(join(folder, set))
      .filter((file) => file.endsWith('.json'))
      .flatMap((file) => {
        const rows = JSON.parse(readFileSync(join(folder, set, file), 'utf8')) as JsonValue;
        const model = basename(file, '.json').replace(/\.\d+$/, '');
        return Array.isArray(rows) ? rows.flatMap((row) => textsOf(row).map((text) => ({ model, text }))) : [];
      }),
  ).filter(({ text }) => text.includes('{') && !isAlmostJson(text));
}

function textsOf(row: JsonValue): readonly string[] {
  const output = isJsonObject(row) ? row['output'] : undefined;
  const first = Array.isArray(output) ? output[0] : output;
  return typeof first === 'string' ? [first] : [];
}

function isAlmostJson(text: string): boolean {
  return isJson(text) || isJson(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function outcomeOf(text: string): 'right' | 'wrong' | 'refused' | 'unclear' {
  const meant = meaningOf(text);
  if (meant === undefined) return 'unclear';
  const healed: Healed = heal(text);
  if (healed.type !== 'healed') return 'refused';
  const value = JSON.parse(healed.json) as JsonValue;
  if (!isJsonObject(value) || Object.keys(value).join() !== 'reasoning,answer') return 'wrong';
  const isSame =
    lettersOf(value['reasoning'] ?? null) === meant.reasoning && lettersOf(value['answer'] ?? null) === meant.answer;
  return isSame ? 'right' : 'wrong';
}

interface Meaning {
  readonly reasoning: string;
  readonly answer: string;
}

/** What an answer means, by its names; undefined where that is not clear. */
function meaningOf(text: string): Meaning | undefined {
  const [opening, ...moreReasonings] = text.matchAll(/\{\s*["']reasoning["']\s*:\s*(["'`])/g);
  const [name, ...moreAnswers] = text.matchAll(/"answer"\s*:/g);
  if (opening === undefined || name === undefined || moreReasonings.length + moreAnswers.length > 0) return undefined;
  const began = opening.index + opening[0].length;
  if (name.index < began || text.match(/["']reasoning["']\s*:/g)?.length !== 1) return undefined;
  const quote = opening[1] === '`' ? '["`]' : '"';
  const reasoning = text
    .slice(began, name.index)
    .replace(new RegExp(`${quote}?\\s*,?\\s*$`), '')
    // Texts that are put together.
    .replaceAll(/"\s*\+\s*\n\s*"/g, '');
  const behind = text.slice(name.index + name[0].length).replace(/```[^]*$/, '');
  const end = /\}\s*$/.exec(behind)?.index ?? /\}\s*\n/.exec(behind)?.index;
  if (end === undefined) return undefined;
  const written = behind.slice(0, end).trim().replace(/,$/, '');
  const quoted = /^"([^]*)"$/.exec(written)?.[1];
  if (quoted === undefined && !isJson(written)) return undefined;
  return {
    reasoning: lettersOf(unescaped(reasoning)),
    answer: lettersOf(quoted === undefined ? written : unescaped(quoted)),
  };
}

function lettersOf(value: JsonValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replaceAll(/[\\\s\p{Cc}]/gu, '');
}

/** Commands of LaTeX that begin like an escape of JSON. */
const COMMAND =
  /^(?:n(?:eq?|abla|u|ot|otin|i|mid|leq|geq|exists|olimits|parallel)|t(?:ext\w*|imes|heta|anh?|o|au|frac|riangle\w*|op|ilde|herefore|binom|ag)|r(?:ightarrow|ho|ight|angle|floor|ceil|brace|m)|b(?:oxed|inom|eta|egin|ar|mod|igg?|ullet|ecause|ot|f|old\w*|race|matrix|mathbf)|f(?:rac|orall|loor|lat))(?![a-z])/;

/** A text with escapes as they are meant; a backslash that is no escape stays. */
function unescaped(text: string): string {
  return text.replaceAll(
    /\\(?:u([\da-fA-F]{4})|(["\\/])|([ntrbf])([a-z]{0,20}))/g,
    (
      all,
      code: string | undefined,
      plain: string | undefined,
      letter: string | undefined,
      word: string | undefined,
    ) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      if (plain !== undefined) return plain;
      return COMMAND.test(`${letter ?? ''}${word ?? ''}`) ? all : ` ${word ?? ''}`;
    },
  );
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 12)) >>> 0;
}
