import {
  type AnswerScript,
  type NormalizedRequest,
  type ReasoningDetail,
  type RouterConfig,
  createRouter,
  simulated,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import type { PluginBench } from './plugins.ts';

/** What models say, by id; the others say `I am <id>`. */
export type Cast = Readonly<Record<string, AnswerScript>>;

/** Models from the cheapest to the dearest, of four authors. */
export const CAST_PRICES: Readonly<Record<string, number>> = {
  'ant/tiny': 0.1,
  'bee/tiny': 0.2,
  'ant/small': 0.5,
  'cat/small': 1,
  'bee/middle': 2,
  'ant/large': 5,
  'cat/large': 6,
  'dog/large': 8,
  'bee/large': 10,
  'dog/huge': 600,
};

/** A router whose models play roles, and the requests that they got. */
export interface FusionBench extends PluginBench {
  readonly asked: { readonly model: string; readonly request: NormalizedRequest }[];
  /** Requests that one model got. */
  askedOf(model: string): readonly NormalizedRequest[];
}

/** Makes a {@link FusionBench} over the models of {@link CAST_PRICES}; those that hang never answer. */
export function fusionBench(
  cast: Cast = {},
  config: Omit<RouterConfig, 'providers'> = {},
  hanging: readonly string[] = [],
): FusionBench {
  const environment = fakeEnvironment();
  const asked: FusionBench['asked'] = [];
  const warnings: PluginBench['warnings'] = [];
  const providers = Object.entries(CAST_PRICES).map(([model, price]) =>
    simulated({
      slug: model.replace('/', '-'),
      models: { [model]: { price: { prompt: price, completion: price }, parameters: ['tools', 'tool_choice'] } },
      answer(request) {
        asked.push({ model, request });
        const said = cast[model];
        return said === undefined ? `I am ${model}` : said(request);
      },
      firstTokenMs: hanging.includes(model) ? 1e9 : 0,
      tokensPerSecond: 0,
      environment,
    }),
  );
  const router = createRouter({
    environment,
    on: { warning: (warning) => void warnings.push(warning) },
    fallback: { triesPerEndpoint: 1, maxAttempts: 1 },
    ...config,
    providers,
  });
  const askedOf: FusionBench['askedOf'] = (model) =>
    asked.filter((one) => one.model === model).map(({ request }) => request);
  return { router, environment, warnings, asked, askedOf };
}

/** The results of server tool calls that an answer carries, parsed. */
export function toolResults(details: readonly object[]): readonly unknown[] {
  return details.flatMap((detail) => {
    const { type, result } = detail as ReasoningDetail & { readonly result?: string };
    return type === 'reasoning.server_tool_call' && result !== undefined ? [JSON.parse(result) as unknown] : [];
  });
}

/** An outer model that calls a tool first, and then says what it was told. */
export function caller(name: string, args: object): AnswerScript {
  return ({ messages }) => {
    const last = messages.at(-1);
    return last?.role === 'tool' ? 'The final answer.' : { toolCalls: [{ name, arguments: JSON.stringify(args) }] };
  };
}
