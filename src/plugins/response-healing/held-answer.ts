/** Holds answers to the JSON schema of their request: heals what can be healed, and says where the rest does not fit. */
import type { AnswerVerdict } from '../../contracts/plugin.ts';
import type { Mismatch } from '../../contracts/failure.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import { firstMismatch, fitsSchema } from './fits-schema.ts';
import { heal, type Healed } from './heal.ts';

/** A choice after it was judged, and what was done to it. */
interface JudgedChoice {
  readonly choice: Choice;
  readonly json?: string | undefined;
  readonly repairs: readonly string[];
  /** Undefined where nobody can say whether it fits. */
  readonly fits: boolean | undefined;
  readonly mismatch?: Mismatch | undefined;
}

/** What became of an answer, and in which words. */
interface HeldAnswer {
  readonly verdict: AnswerVerdict;
  /** For `router_metadata.pipeline`: never says a value. */
  readonly summary: string;
  readonly repairs: readonly string[];
  /** Whether it was compared with every word of the schema. */
  readonly isChecked: boolean;
}

/**
 * Judges an answer: taken as it is or healed where every choice fits, or where nobody can say that one does not; refused
 * with the first mismatch otherwise. Never changes a value.
 *
 * @param withText - Puts another text into a choice.
 */
export function heldAnswer(
  choices: readonly Choice[],
  schema: JsonObject,
  withText: (choice: Choice, text: string) => Choice,
): HeldAnswer {
  const judged = choices.map((choice) => judge(choice, schema));
  const misfit = judged.find(({ mismatch }) => mismatch !== undefined)?.mismatch;
  const repairs = [...new Set(judged.flatMap((one) => one.repairs))];
  if (misfit !== undefined) {
    const { path, problem } = misfit;
    return { verdict: { type: 'refused', mismatch: misfit }, summary: `${path} ${problem}`, repairs, isChecked: true };
  }
  const isChecked = judged.every(({ fits }) => fits === true);
  const how = repairs.length === 0 ? '' : `healed (${repairs.join(', ')}), `;
  const summary = `${how}${isChecked ? 'fits the schema' : 'not checked completely'}`;
  if (repairs.length === 0) return { verdict: { type: 'taken' }, summary, repairs, isChecked };
  const healed = judged.map(({ choice, json }) => (json === undefined ? choice : withText(choice, json)));
  return { verdict: { type: 'taken', choices: healed }, summary, repairs, isChecked };
}

function judge(choice: Choice, schema: JsonObject): JudgedChoice {
  const { content, refusal, tool_calls: calls } = choice.message;
  if (refusal !== null || (calls ?? []).length > 0 || choice.finish_reason === 'content_filter') {
    return { choice, repairs: [], fits: true };
  }
  const answer = content ?? '';
  const refused = (fault: Omit<Mismatch, 'answer'>): JudgedChoice => ({
    choice,
    repairs: [],
    fits: false,
    mismatch: { ...fault, answer },
  });
  const complete = choice.finish_reason === 'stop' || choice.finish_reason === null;
  const healed = heal(answer, { schema, complete });
  if (healed.type === 'healed') {
    // Where a text or number was still open, nobody can say that it had come to its end.
    if (healed.repairs.includes('brackets') && !CLOSED_VALUE.test(answer)) return refused(CUT_OFF);
    return { choice, json: healed.json, repairs: healed.repairs, fits: healed.fits ? true : undefined };
  }
  if (healed.type === 'failed') return refused(complete ? faultOf(healed, schema) : CUT_OFF);
  const value = JSON.parse(answer) as JsonValue;
  const fits = fitsSchema(schema, value);
  return fits === false ? refused(mismatchIn(schema, value)) : { choice, repairs: [], fits };
}

/** An answer whose last value has come to its end. */
const CLOSED_VALUE = /["'”’}\]][\s`]*$|(?:true|false|null)[\s`]*$/;

const CUT_OFF = { path: '$', problem: 'must come to its end, but was cut off' };

function faultOf(
  { reason, misfit }: Extract<Healed, { readonly type: 'failed' }>,
  schema: JsonObject,
): Omit<Mismatch, 'answer'> {
  if (reason === 'cut off') return CUT_OFF;
  if (reason === 'too long') return { path: '$', problem: 'is too long to be healed' };
  if (misfit !== undefined) return mismatchIn(schema, JSON.parse(misfit) as JsonValue);
  return { path: '$', problem: 'must be JSON' };
}

function mismatchIn(schema: JsonObject, value: JsonValue): Omit<Mismatch, 'answer'> {
  return firstMismatch(schema, value) ?? { path: '$', problem: 'does not fit its schema' };
}
