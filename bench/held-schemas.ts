import { Ajv2020 } from 'ajv/dist/2020.js';
import { createServer, type Server } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { createRouter, type ChatRequest, type Router, RouterError } from '../src/index.ts';
import { openaiCompatible } from '../src/entries/providers.ts';
import type { JsonObject, JsonValue } from '../src/protocol/json.ts';
import { brokenAnswers } from '../test/support/broken-answers.ts';
import { healingCases } from '../test/support/healing-cases.ts';
import { REPORTED_ANSWERS, type ReportedAnswer } from '../test/support/reported-answers.ts';

/**
 * What becomes of broken answers where answers are held to their schema, over real sockets: three endpoints, of which
 * one can give an answer that fits, at once or once it is shown its fault, or none. The broken ones are recorded answers
 * of models, what users reported in public, answers that a generator breaks, and whole JSON that does not fit. What comes out is compared with what the
 * model meant, and with the schema by another validator.
 * Usage: node bench/held-schemas.ts [answers of the generator]
 */
const count = Number(process.argv[2] ?? 2_000);

/** A question: what each kind of endpoint answers, and what is meant. */
interface Question {
  readonly schema: JsonObject;
  readonly meant: JsonValue;
  readonly broken: string;
}

const PLACES = { first: 0, second: 1, third: 2, 'when shown its fault': -1, none: -2 } as const;
type Place = keyof typeof PLACES;

const recorded: readonly Question[] = [...healingCases('development'), ...healingCases('held-back')].flatMap(
  ({ text, schema, expected }) =>
    schema === undefined || expected === 'unchanged' ? [] : [{ schema, meant: expected, broken: text }],
);
const generated: readonly Question[] = brokenAnswers(36, count).map(({ text, schema, meant }) => ({
  schema,
  meant,
  broken: text,
}));
/** The same as JSON that a model got wrong: a member too few, or of another type. */
const misfits: readonly Question[] = generated.flatMap(({ schema, meant }, index) => {
  const text = spoilt(meant, index);
  return text === undefined ? [] : [{ schema, meant, broken: text }];
});

function spoilt(meant: JsonValue, index: number): string | undefined {
  if (typeof meant !== 'object' || meant === null || Array.isArray(meant)) return undefined;
  const entries = Object.entries(meant);
  const [key = '', value] = entries[index % Math.max(1, entries.length)] ?? [];
  if (key === '') return undefined;
  const others = entries.filter(([name]) => name !== key);
  const wrong = typeof value === 'string' ? { wrong: [value] } : JSON.stringify(value);
  return JSON.stringify(Object.fromEntries(index % 2 === 0 ? others : [...others, [key, wrong]]));
}

let current: { readonly question: Question; readonly place: Place } | undefined;

function answerOf(index: number, messages: readonly unknown[]): string {
  if (current === undefined) throw new Error('no question');
  const { question, place } = current;
  const isShown = messages.length > 1;
  const can = PLACES[place] === index || (place === 'when shown its fault' && isShown);
  return can ? JSON.stringify(question.meant) : question.broken;
}

async function serve(index: number): Promise<{ readonly server: Server; readonly baseURL: string }> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { messages } = JSON.parse(body) as { messages: readonly unknown[] };
      const message = { role: 'assistant', content: answerOf(index, messages) };
      const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { server, baseURL: `http://127.0.0.1:${address.port}/v1` };
}

const upstreams = await Promise.all([0, 1, 2].map(serve));
const router: Router = createRouter({
  providers: upstreams.map(({ baseURL }, index) =>
    openaiCompatible({ slug: `p${index}`, baseURL, models: { 'acme/one': { price: { prompt: 1, completion: 2 } } } }),
  ),
  on: { warning: () => {} },
});
const oracle = new Ajv2020({ strict: false, validateSchema: false, logger: false });

/** What came of the questions of one kind at one place. */
interface Counts {
  questions: number;
  fit: number;
  changed: number;
  misfitsShown: number;
  refused: number;
  calls: number;
}

async function ask(question: Question, place: Place, stream: boolean, counts: Counts): Promise<void> {
  current = { question, place };
  counts.questions += 1;
  const request = {
    model: 'acme/one',
    messages: [{ role: 'user', content: 'Go on' }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: question.schema } },
    plugins: [{ id: 'response-healing', ensure: 'schema' }],
    provider: { order: ['p0', 'p1', 'p2'] },
  } as unknown as ChatRequest;
  try {
    let text = '';
    let cost = 0;
    if (stream) {
      for await (const chunk of router.stream(request)) {
        text += chunk.choices[0]?.delta.content ?? '';
        cost = chunk.usage?.cost ?? cost;
      }
    } else {
      const answer = await router.chat(request);
      text = answer.choices[0]?.message.content ?? '';
      cost = answer.usage?.cost ?? 0;
    }
    counts.calls += Math.round(cost / 0.000_2);
    const value = JSON.parse(text) as JsonValue;
    if (oracle.validate(question.schema, value)) counts.fit += 1;
    else counts.misfitsShown += 1;
    if (!isDeepStrictEqual(value, question.meant)) counts.changed += 1;
  } catch (error) {
    if (!RouterError.isInstance(error) || error.errorType !== 'schema_mismatch') throw error;
    counts.refused += 1;
  }
}

const rows: Record<string, object> = {};
const reported: readonly Question[] = REPORTED_ANSWERS.map(({ schema, meant, text }) => ({
  schema,
  meant,
  broken: text,
}));
const byKind = new Map<string, ReportedAnswer[]>();
for (const answer of REPORTED_ANSWERS) byKind.set(answer.kind, [...(byKind.get(answer.kind) ?? []), answer]);
const kinds = { recorded, reported, 'broken by a generator': generated, 'JSON that does not fit': misfits } as const;
for (const [kind, questions] of Object.entries(kinds)) {
  for (const place of Object.keys(PLACES) as Place[]) {
    const counts: Counts = { questions: 0, fit: 0, changed: 0, misfitsShown: 0, refused: 0, calls: 0 };
    for (const [index, question] of questions.entries()) await ask(question, place, index % 2 === 1, counts);
    rows[`${kind}; can: ${place}`] = {
      requests: counts.questions,
      'fit in the end': `${((100 * counts.fit) / counts.questions).toFixed(2)} %`,
      'shown without fitting': counts.misfitsShown,
      'not as meant': counts.changed,
      'refused with 502': counts.refused,
      'calls charged': (counts.calls / Math.max(1, counts.questions - counts.refused)).toFixed(2),
    };
  }
}
console.table(rows);
/** Reported ones by kind: what repairs alone make of them, where no endpoint can answer better. */
const alone: Record<string, object> = {};
for (const [kind, answers] of byKind) {
  const counts: Counts = { questions: 0, fit: 0, changed: 0, misfitsShown: 0, refused: 0, calls: 0 };
  for (const { schema, meant, text, source } of answers) {
    const before = counts.changed;
    await ask({ schema, meant, broken: text }, 'none', false, counts);
    if (counts.changed > before) console.log(`other than meant (${source}): ${text}`);
  }
  alone[kind] = {
    reports: counts.questions,
    'repaired as meant': counts.fit - counts.changed,
    refused: counts.refused,
    'not as meant': counts.changed,
  };
}
console.table(alone);
await router.close();
for (const { server } of upstreams) {
  server.closeAllConnections();
  server.close();
}
