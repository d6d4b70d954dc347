import { readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '../../src/protocol/json.ts';

/**
 * Ways in which answers of models broke, by public reports of users: each is an own minimal reproduction of what a report
 * describes, with what the model meant. Whoever reports something is in `source`, as a repository and a number of GitHub.
 */
export interface ReportedAnswer {
  readonly kind: string;
  readonly source: string;
  readonly schema: JsonObject;
  readonly text: string;
  readonly meant: JsonValue;
}

const schemas = JSON.parse(
  readFileSync(new URL('../fixtures/healing/schemas.json', import.meta.url), 'utf8'),
) as Readonly<Record<'person' | 'order' | 'verdict' | 'tags' | 'tree', JsonObject>>;

const ADA = { name: 'Ada', age: 36 };
const ORDER = { id: 'A-1', status: 'paid', lines: [{ sku: 'x', count: 2 }] };
const YES = { verdict: true, reason: 'It holds' };
const TAGS = ['red', 'green'];
const TREE = { label: 'a', children: [{ label: 'b' }] };
const reason = (text: string): JsonValue => ({ verdict: true, reason: text });
const fence = '```';

type Row = readonly [source: string, schema: keyof typeof schemas, text: string, meant: JsonValue];

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'a fence': [
    ['vectorize-io/hindsight#645', 'person', `${fence}json\n${JSON.stringify(ADA)}\n${fence}`, ADA],
    ['topoteretes/cognee#2735', 'order', `${fence}\n${JSON.stringify(ORDER, null, 2)}\n${fence}\n`, ORDER],
    ['ggml-org/llama.cpp#20223', 'tags', `${fence}JSON\n["red", "green"]${fence}`, TAGS],
    ['Open-Historia/open-historia#354', 'verdict', `${fence}javascript\n${JSON.stringify(YES)}\n${fence}`, YES],
    ['vercel/ai#12491', 'tree', `${fence}json\n${JSON.stringify(TREE)}`, TREE],
    ['wihlarkop/applykit#13', 'person', `\n\n${fence}json ${JSON.stringify(ADA)} ${fence}`, ADA],
    [
      'coze-dev/coze-studio#573',
      'verdict',
      `${fence}json\n{\n  "verdict": true,\n  "reason": "“It” holds"\n}\n${fence}`,
      reason('“It” holds'),
    ],
  ],
  'text around it': [
    ['redis/agent-memory-server#254', 'person', `Sure! Here is the JSON:\n${JSON.stringify(ADA)}`, ADA],
    ['arm/metis#139', 'person', `Explanation first.\n${JSON.stringify(ADA)}\nMore text.`, ADA],
    [
      'arm/metis#139',
      'order',
      `Explanation first.\n${fence}json\n${JSON.stringify(ORDER)}\n${fence}\nMore text.`,
      ORDER,
    ],
    ['Open-Historia/open-historia#354', 'verdict', `The form {verdict, reason} is used. ${JSON.stringify(YES)}`, YES],
    ['aden-hive/hive#1784', 'tags', `Output: ["red", "green"]\n\nLet me know if you need more!`, TAGS],
    ['MinLL/SkyrimNet-GamePlugin#455', 'person', `The answer: ${JSON.stringify(ADA)}`, ADA],
    [
      'igmarin/rs-nightshift#98',
      'person',
      `Okay, the user wants a name and an age. So:\n\n${JSON.stringify(ADA)}`,
      ADA,
    ],
    ['elizaOS/eliza#148', 'verdict', `json\n${JSON.stringify(YES)}`, YES],
  ],
  'thinking in front': [
    ['datacrystals/AIStoryWriter#71', 'person', `<think>\nA name.\n</think>\n${JSON.stringify(ADA)}`, ADA],
    [
      'open-webui/open-webui#25986',
      'verdict',
      `<think>Does it hold? {"verdict": false}</think>${JSON.stringify(YES)}`,
      YES,
    ],
    ['admonstrator/zettelrobbe#74', 'order', `<think></think>\n\n${JSON.stringify(ORDER)}`, ORDER],
    ['HKUDS/RAG-Anything#209', 'tags', `<think>["blue"] or not</think>\n["red","green"]`, TAGS],
    [
      'langchain-ai/langchain#35530',
      'person',
      `<think>Let me see.</think>\n${fence}json\n${JSON.stringify(ADA)}\n${fence}`,
      ADA,
    ],
    ['igmarin/rs-nightshift#98', 'tree', `<thinking>a, b</thinking>${JSON.stringify(TREE)}`, TREE],
  ],
  'tags within a text, which are part of it': [
    [
      'probelabs/probe#440',
      'verdict',
      '{"verdict": true, "reason": "<thinking>it holds"}',
      reason('<thinking>it holds'),
    ],
    [
      'probelabs/probe#440',
      'verdict',
      '{"verdict": true, "reason": "a <think>b</think> c"}',
      reason('a <think>b</think> c'),
    ],
  ],
  commas: [
    ['ducroo/SICTIC-AI#37', 'person', '{"name": "Ada", "age": 36,}', ADA],
    ['ducroo/SICTIC-AI#37', 'order', '{"id": "A-1", "status": "paid", "lines": [{"sku": "x", "count": 2,},],}', ORDER],
    ['kgabis/parson#178', 'tags', '["red", "green", ]', TAGS],
    ['ducroo/SICTIC-AI#37', 'verdict', '{"verdict": true, "reason": "a, }",}', reason('a, }')],
    ['mangiucugna/json_repair#44', 'verdict', '{"verdict": true "reason": "It holds"}', YES],
    ['mangiucugna/json_repair#44', 'person', '{"name": "Ada"\n"age": 36}', ADA],
    ['josdejong/jsonrepair#102', 'tags', '["red" "green"]', TAGS],
  ],
  comments: [
    ['langchain4j/langchain4j#3233', 'person', '{\n  "name": "Ada", // her first name\n  "age": 36\n}', ADA],
    ['langchain4j/langchain4j#3233', 'order', `/* an order */ ${JSON.stringify(ORDER)}`, ORDER],
    [
      'langchain4j/langchain4j#3233',
      'verdict',
      '{"verdict": true, "reason": "see https://a.b/c" // a link\n}',
      reason('see https://a.b/c'),
    ],
    ['mangiucugna/json_repair#49', 'person', '{"name": "Ada", # first\n "age": 36}', ADA],
  ],
  quotes: [
    ['mangiucugna/json_repair#128', 'person', "{'name': 'Ada', 'age': 36}", ADA],
    ['mangiucugna/json_repair#128', 'verdict', `{'verdict': true, 'reason': '12"34"'}`, reason('12"34"')],
    ['Open-Historia/open-historia#354', 'person', '{“name”: “Ada”, “age”: 36}', ADA],
    ['josdejong/jsonrepair#102', 'verdict', `{'verdict': true, 'reason': "This isn't it"}`, reason("This isn't it")],
    ['mangiucugna/json_repair#26', 'person', '{name: "Ada", age: 36}', ADA],
    ['elizaOS/eliza#148', 'order', '{"id": "A-1", "status": paid, "lines": [{"sku": "x", "count": 2}]}', ORDER],
    ['ollama/ollama#10929', 'verdict', '{"{"verdict": true, "reason": "It holds"}', YES],
  ],
  'quotes within a text': [
    [
      'josdejong/jsonrepair#114',
      'verdict',
      '{"verdict": true, "reason": "I want a 65" television"}',
      reason('I want a 65" television'),
    ],
    [
      'josdejong/jsonrepair#116',
      'verdict',
      '{"verdict": true, "reason": "apple "bee" carrot"}',
      reason('apple "bee" carrot'),
    ],
    [
      'mangiucugna/json_repair#49',
      'verdict',
      '{"verdict": true, "reason": "Lorem "ipsum", dolor"}',
      reason('Lorem "ipsum", dolor'),
    ],
    [
      'josdejong/jsonrepair#161',
      'verdict',
      '{"verdict": true, "reason": "know "micheal", jackson"}',
      reason('know "micheal", jackson'),
    ],
    [
      'mangiucugna/json_repair#26',
      'verdict',
      '{"verdict": true, "reason": "<h3 id="title">more</h3>"}',
      reason('<h3 id="title">more</h3>'),
    ],
    ['mangiucugna/json_repair#94', 'verdict', '{"verdict": true, "reason": "a"bcd"e"}', reason('a"bcd"e')],
    ['josdejong/jsonrepair#169', 'verdict', '{"verdict": true, "reason": "53""}', reason('53"')],
    [
      'mangiucugna/json_repair#140',
      'verdict',
      '{"verdict": true, "reason": "The 1/2" wrench was, launched."}',
      reason('The 1/2" wrench was, launched.'),
    ],
    [
      'commontoolsinc/labs#896',
      'verdict',
      '{"verdict": true, "reason": "owner of "Team standup"."}',
      reason('owner of "Team standup".'),
    ],
  ],
  'characters that JSON forbids': [
    ['langroid/langroid#569', 'verdict', '{"verdict": true, "reason": "one\ntwo"}', reason('one\ntwo')],
    ['langroid/langroid#569', 'verdict', '{"verdict": true, "reason": "one\ttwo"}', reason('one\ttwo')],
    ['ducroo/SICTIC-AI#37', 'verdict', String.raw`{"verdict": true, "reason": "C:\data"}`, reason(String.raw`C:\data`)],
    ['ducroo/SICTIC-AI#37', 'verdict', String.raw`{"verdict": true, "reason": "it\'s so"}`, reason("it's so")],
  ],
  'words of Python': [
    ['mangiucugna/json_repair#128', 'verdict', "{'verdict': True, 'reason': 'It holds'}", YES],
    [
      'mangiucugna/json_repair#128',
      'order',
      "{'id': 'A-1', 'status': 'paid', 'lines': [], 'note': None}",
      { id: 'A-1', status: 'paid', lines: [], note: null },
    ],
  ],
  'several answers': [
    [
      'ConardLi/easy-dataset#507',
      'person',
      `${fence}json\n${JSON.stringify(ADA)}\n${fence}\n${fence}json\n${JSON.stringify(ADA)}\n${fence}`,
      ADA,
    ],
    ['letta-ai/letta#269', 'person', `${JSON.stringify(ADA)}\n{"function": "send_message", "params": {}}`, ADA],
    ['letta-ai/letta#269', 'person', `${JSON.stringify({ name: 'Eve', age: 9 })}\n${JSON.stringify(ADA)}`, ADA],
  ],
  'cut off': [
    ['mangiucugna/json_repair#59', 'order', '{"id": "A-1", "status": "paid", "lines": [{"sku": "x", "count": 2', ORDER],
    ['josdejong/jsonrepair#102', 'verdict', '{"verdict": true, "reason": "It hol', YES],
    ['mangiucugna/json_repair#59', 'tree', '{"label": "a", "children": [{"label": "b"}', TREE],
  ],
  'JSON that does not fit': [
    ['datachain-ai/datachain#1930', 'order', JSON.stringify({ ...ORDER, lines: JSON.stringify(ORDER.lines) }), ORDER],
    [
      'coze-dev/coze-studio#573',
      'person',
      JSON.stringify({ output: `${fence}json\n${JSON.stringify(ADA)}\n${fence}` }),
      ADA,
    ],
    ['langgenius/dify#3860', 'person', JSON.stringify(JSON.stringify(ADA)), ADA],
    ['vercel/ai#10730', 'person', JSON.stringify({ ...ADA, age: -20 }), ADA],
    ['growthxai/output#245', 'person', JSON.stringify({ ...ADA, name: 5 }), ADA],
    ['mastra-ai/mastra#8804', 'tags', '"red"', TAGS],
    ['Gitlawb/openclaude#1261', 'tags', '{"result": ["red", "green"]}', TAGS],
    ['Gitlawb/openclaude#1261', 'tags', '{}', TAGS],
    ['lmstudio-ai/lmstudio-bug-tracker#173', 'person', JSON.stringify({ type: 'object', properties: ADA }), ADA],
    ['waybarrios/vllm-mlx#133', 'order', JSON.stringify({ ...ORDER, status: 'PAID' }), ORDER],
  ],
  'nothing of it': [
    ['scouzi1966/maclocal-api#44', 'person', '', ADA],
    ['MinLL/SkyrimNet-GamePlugin#455', 'person', 'The provider is overloaded.', ADA],
    ['igmarin/rs-nightshift#98', 'person', '<think>First I have to', ADA],
  ],
};

/** All of them. */
export const REPORTED_ANSWERS: readonly ReportedAnswer[] = Object.entries(ROWS).flatMap(([kind, rows]) =>
  rows.map(([source, schema, text, meant]) => ({ kind, source, schema: schemas[schema], text, meant })),
);
