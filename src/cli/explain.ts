/** The command `signalbox explain`, which prints the routing plan of a request. */
import { RouterError } from '../protocol/router-error.ts';
import type { ExplainedStep, Explanation } from '../core/selection/explain.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import { createRouter } from '../index.ts';
import { type Command, CommandError, type CommandIo, fileArguments, readFileOrInput, tableOf } from './command.ts';
import { CONFIG_HELP, loadConfig } from './load-config.ts';

const USAGE = `<request.json | -> [options]

Shows what a chat request would do, without calling a provider: the endpoints in order and why, those that are
excluded and why, and the plugins and server tools that would take part.

${CONFIG_HELP}
  --json           Print it as JSON`;

/** `signalbox explain`: shows the plan of a request. */
export const explain: Command = {
  name: 'explain',
  summary: 'Show what a request would do, without calling a provider',
  usage: USAGE,
  async run(args, io) {
    const { file, config: path, json } = fileArguments(args, 'a request');
    const request = await readRequest(file, io);
    const { config } = await loadConfig(io, path);
    const router = createRouter(config);
    try {
      const explanation = await router.explain(request as ChatRequest);
      const lines = json ? [JSON.stringify(explanation, undefined, 2)] : linesOf(explanation);
      for (const line of lines) io.print(line);
      return 0;
    } catch (error) {
      if (!RouterError.isInstance(error)) throw error;
      throw new CommandError(`${file}: ${error.message}`);
    } finally {
      await router.close();
    }
  },
};

async function readRequest(file: string, io: CommandIo): Promise<unknown> {
  const text = await readFileOrInput(file, io);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CommandError(`${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const HEAD = ['', 'endpoint', 'model', 'estimate', 'per million in / out', 'measured', 'why'];

/** What was measured in this process; nothing in one that has just begun. */
function speedOf({ latencyMs, tokensPerSecond }: Pick<ExplainedStep, 'latencyMs' | 'tokensPerSecond'>): string {
  const latency = latencyMs === undefined ? [] : [`${Math.round(latencyMs)} ms`];
  const speed = tokensPerSecond === undefined ? [] : [`${Math.round(tokensPerSecond)} tokens/s`];
  return [...latency, ...speed].join(', ') || '-';
}

function linesOf({ requested, applied, steps, rejected, plugins, serverTools }: Explanation): readonly string[] {
  const order = steps.map(({ tag, model, why, estimatedCostUsd, price, coolingDown, ...measured }, index) => [
    String(index + 1),
    tag,
    model,
    estimatedCostUsd === undefined ? 'unknown' : `$${estimatedCostUsd.toFixed(6)}`,
    price === undefined ? 'unknown' : `$${price.prompt} / $${price.completion}`,
    speedOf(measured),
    coolingDown ? `${why}; cooling down` : why,
  ]);
  const out = rejected.map(({ tag, model, reason, detail }) => [
    '-',
    tag,
    model,
    '',
    '',
    '',
    detail === undefined ? `left out: ${reason}` : `left out: ${reason} (${detail})`,
  ]);
  return [
    `Requested: ${requested}`,
    ...appliedLines(applied),
    ...tableOf([HEAD, ...order, ...out]),
    ...(order.length === 0 ? ['No endpoint is left: the request would fail.'] : []),
    ...plugins.flatMap(({ id, because, hooks, stages }) => [
      `Plugin ${id}: ${hooks.join(', ')} (${because})`,
      ...stages.map(({ summary }) => `  ${summary}`),
    ]),
    ...serverTools.map(({ type, name }) => `Server tool ${type} as ${name}`),
  ];
}

/** What the configuration has made of the request. */
function appliedLines({
  rules = [],
  splits = [],
  mirror,
}: NonNullable<Explanation['applied']> = {}): readonly string[] {
  return [
    ...rules.map((id) => `Rule ${id} applied`),
    ...splits.map(({ alias, model, by }) => `Alias ${alias} stands for ${model} (by ${by})`),
    ...(mirror === undefined ? [] : [`Alias ${mirror.alias} sends a copy to ${mirror.model} (by ${mirror.by})`]),
  ];
}
