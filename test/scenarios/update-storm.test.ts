/** Runs in a process of its own: it sends requests at a rate, which others would disturb. */
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createRouter, openaiCompatible, type RouterConfig } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { listen } from '../support/mounts.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import { chunkEvent, dataEvent, sendJson, startUpstream, type UpstreamHandler } from '../support/upstream.ts';

const PER_SECOND = 500;
const SECONDS = STORMS_ARE_FULL ? 4 : 2;
const UPDATE_MS = 100;
/** Requests under way at the same time: a machine that is too busy for the rate sends the next ones later. */
const MOST_UNDER_WAY = 250;
/** Such a machine sends fewer of them. */
const MOST_SECONDS = 40;
/** Pieces of a stream, over so long a time that most streams see an update. */
const PIECES = 4;
const PIECE_MS = 40;
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** Says which upstream it is, and which model it was asked for; a stream says so in each of its pieces. */
function upstreamNamed(name: string): UpstreamHandler {
  return ({ body }, response) => {
    const text = `${name} ${String(body['model'])};`;
    if (body['stream'] !== true) {
      const message = { role: 'assistant', content: text };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      return sendJson(response, 200, {
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices,
        usage: USAGE,
      });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let left = PIECES;
    const say = (): void => {
      response.write(chunkEvent({ content: text }));
      left -= 1;
      if (left > 0) return void setTimeout(say, PIECE_MS);
      response.end(`${chunkEvent({}, 'stop')}${dataEvent({ choices: [], usage: USAGE })}data: [DONE]\n\n`);
    };
    say();
  };
}

/** What an answer tells of the configuration that made it: each is another part of that. */
interface Seen {
  /** `one v7` for each piece that the upstream sent. */
  readonly said: readonly string[];
  readonly provider: string;
  readonly model: string;
  readonly rules: readonly string[];
  readonly cost: number;
}

/** What all answers of a configuration tell. */
function expectedOf(version: number, pieces: number): Seen {
  const slug = version % 2 === 0 ? 'two' : 'one';
  return {
    said: Array.from({ length: pieces }, () => `${slug} v${version}`),
    provider: slug,
    model: `${slug}/model-${version}`,
    rules: [`rule-${version}`],
    cost: Math.round(version * 15) / 1e6,
  };
}

/** Reads the body of an answer, streaming or not. */
function seenIn(text: string): Seen {
  const events = text.startsWith('{') ? [text] : (text.match(/(?<=^data: )\{.*$/gm) ?? []);
  const chunks = events.map(
    (event) =>
      JSON.parse(event) as {
        provider: string;
        model: string;
        choices: { delta?: { content?: string }; message?: { content: string } }[];
        usage?: { cost: number };
        router_metadata?: { applied?: { rules: string[] } };
      },
  );
  const content = chunks.map(({ choices: [one] }) => one?.message?.content ?? one?.delta?.content ?? '').join('');
  const only = (values: readonly string[]): string => [...new Set(values)].join(' and ');
  return {
    said: content.split(';').filter((one) => one !== ''),
    provider: only(chunks.map(({ provider }) => provider.toLowerCase())),
    model: only(chunks.map(({ model }) => model)),
    rules: chunks.flatMap(({ router_metadata: metadata }) => metadata?.applied?.rules ?? []),
    cost: Math.max(...chunks.map(({ usage }) => usage?.cost ?? 0)),
  };
}

/** Sends a request, and gives its answer once its status is there. */
function post(url: string, agent: Agent, body: object): Promise<IncomingMessage> {
  const headers = { 'content-type': 'application/json', 'x-router-metadata': 'enabled' };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, resolve);
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  answer.setEncoding('utf8');
  for await (const piece of answer) text += String(piece);
  return text;
}

describe('a configuration that changes ten times a second', () => {
  it(`fails and mixes none of ${PER_SECOND} requests a second, half of which stream`, async () => {
    await using one = await startUpstream(upstreamNamed('one'));
    await using two = await startUpstream(upstreamNamed('two'));
    const configOf = (version: number): RouterConfig => {
      const { provider: slug, model } = expectedOf(version, 1);
      const price = { prompt: version, completion: version };
      const { baseURL } = slug === 'one' ? one : two;
      const models = { [model]: { price, upstreamModel: `v${version}` } };
      return {
        providers: [openaiCompatible({ slug, baseURL, apiKey: 'sk-1', models })],
        aliases: { fast: model },
        rules: [{ id: `rule-${version}`, preferences: { require_parameters: false } }],
        allowAnonymous: true,
      };
    };
    const router = createRouter(configOf(1));
    // Connections that nobody uses stay open: a client must not write to one that is just being closed.
    await using mounted = await listen(createServer({ keepAliveTimeout: 120_000 }, nodeRouter(router)));
    const agent = new Agent({ keepAlive: true });
    let version = 1;
    const wrong: unknown[] = [];
    const versions = { whole: new Set<number>(), streamed: new Set<number>() };
    let changedUnderway = 0;

    const send = async (stream: boolean): Promise<void> => {
      const earliest = version;
      const messages = [{ role: 'user', content: 'Hello' }];
      const answer = await post(`${mounted.baseURL}/chat/completions`, agent, { model: 'fast', stream, messages });
      const latest = version;
      const text = await textOf(answer);
      const served = Number(/v(\d+);/.exec(text)?.[1]);
      if (version > latest) changedUnderway += 1;
      const isServed = answer.statusCode === 200 && served >= earliest && served <= latest;
      const seen = isServed ? seenIn(text) : undefined;
      if (JSON.stringify(seen) !== JSON.stringify(expectedOf(served, stream ? PIECES : 1))) {
        wrong.push({ status: answer.statusCode, earliest, served, latest, seen, text: text.slice(0, 500) });
      }
      versions[stream ? 'streamed' : 'whole'].add(served);
    };

    await Promise.all([send(false), send(true)]);
    const results: Promise<void>[] = [];
    let underWay = 0;
    let wasTooBusy = false;
    const startedAt = performance.now();
    const elapsed = (): number => performance.now() - startedAt;
    const total = PER_SECOND * SECONDS;
    let updatedAt = startedAt;
    while (results.length < total && elapsed() < MOST_SECONDS * 1_000) {
      // At its rate whatever the answers do: what a pause of the process has missed is made up for.
      const due = Math.min(total, Math.floor((elapsed() / 1_000) * PER_SECOND));
      while (results.length < due && underWay < MOST_UNDER_WAY) {
        underWay += 1;
        results.push(send(results.length % 2 === 0).finally(() => (underWay -= 1)));
      }
      wasTooBusy ||= results.length < due;
      if (performance.now() - updatedAt >= UPDATE_MS) {
        // Counted from the end of the last one: a machine that takes long for them has to come to the requests, too.
        router.update(configOf((version += 1)));
        updatedAt = performance.now();
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const perSecond = Math.round(results.length / (elapsed() / 1_000));
    const ends = await Promise.allSettled(results);
    agent.destroy();
    await router.close();

    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(wrong).toEqual([]);
    if (wasTooBusy) console.info(`This machine was too busy for ${PER_SECOND} requests a second: ${perSecond}.`);
    else expect(perSecond).toBeGreaterThan(PER_SECOND * 0.9);
    // Otherwise it would not be shown that there was anything to mix.
    expect(versions.whole.size).toBeGreaterThan(SECONDS * 5);
    expect(versions.streamed.size).toBeGreaterThan(SECONDS * 5);
    expect(changedUnderway).toBeGreaterThan(SECONDS * 25);
  }, 120_000);
});
