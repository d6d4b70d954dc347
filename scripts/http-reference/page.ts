import { type OperationExample, EXAMPLES } from '../../src/http/openapi/examples.ts';
import type { OpenApiDocument } from '../../src/http/openapi/text.ts';
import { isCatalog, matchRoute, type HttpOperation, scopesFor } from '../../src/http/routes.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly required?: boolean;
}

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}

/** Sections of the page by the first word of a path. Paths of no section fail the script. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  'Ask a model': ['chat', 'messages', 'responses', 'embeddings'],
  'Resume a stream': ['streams'],
  Batches: ['batches', 'files'],
  'Models and providers': ['models', 'model', 'endpoints', 'providers'],
  'API keys': ['key', 'keys'],
  'Records and costs': ['generation', 'ledger'],
  'This document': ['openapi.json'],
};

/** What the page begins with, before its sections. */
const HEAD = `# HTTP API

This page lists every path that a mounted router answers: who may call it, one call, and its answer. It is generated from the OpenAPI document, which the package has as \`signalbox/openapi.json\` and a router serves:

\`\`\`sh
curl -s "$BASE/openapi.json"
\`\`\`

- \`$BASE\` is where the router is mounted, such as \`http://127.0.0.1:3000/v1\`, and \`$KEY\` the key of a caller. It may come in \`x-api-key\` instead. Without \`authenticate\`, callers on the same machine need none.
- Answers may get new members in minor versions. Errors have [one format](fallback-and-errors.md#what-the-caller-sees-when-every-attempt-failed), on \`/messages\` and \`/responses\` that of their API.
- **Anybody** may call what reads the catalog. A key with the scope **inference** is for requests to models and for the batches and files of its account, one with the scope **management** for [keys](operating.md#keys-in-a-store) and the [ledger](ledger-and-replay.md).
- A probe of a load balancer is \`GET /models/count\`: it calls no provider, needs no key, and is a 503 once the router is closed ([Deployment](deployment.md#probes)).
`;

/** The reference of the HTTP API, as `docs/http-api.md` has it. */
export function httpReference({ paths }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation: operation as Described })),
  );
  const sections = Object.entries(SECTIONS).map(([title, words]) => {
    const own = operations.filter(({ path }) => words.includes(path.split('/')[1] ?? ''));
    return `## ${title}\n\n${own.map(({ path, method, operation }) => entry(method, path, operation)).join('\n')}`;
  });
  const placed = new Set(Object.values(SECTIONS).flat());
  const lost = operations.filter(({ path }) => !placed.has(path.split('/')[1] ?? ''));
  if (lost.length > 0) throw new Error(`no section has ${lost.map(({ path }) => path).join(', ')}`);
  return `${HEAD}\n${sections.join('\n')}`;
}

function entry(method: string, path: string, operation: Described): string {
  const { operationId, summary } = operation;
  const example = Object.hasOwn(EXAMPLES, operationId) ? EXAMPLES[operationId] : undefined;
  const isOtherSpelling = summary.includes('another spelling');
  const parts = [
    `### \`${method.toUpperCase()} ${path}\``,
    `${summary} **${capital(whoMay(method, path))}** may call it.${streams(operation)}`,
    ...parametersOf(operation),
    `\`\`\`sh\n${curl(method, path, operation, example)}\n\`\`\``,
    ...(example === undefined || isOtherSpelling ? [] : [answerOf(example)]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function whoMay(method: string, path: string): string {
  const match = matchRoute(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'));
  if (match?.type !== 'operation') throw new Error(`${method} ${path} is no path of the router`);
  return callersOf(match.operation);
}

function callersOf(operation: HttpOperation): string {
  if (operation.name === 'openapi' || isCatalog(operation)) return 'anybody';
  if (operation.name === 'generation') return 'the account that made the request, and management keys,';
  if (operation.name === 'key_current') return 'any key';
  return `keys with the scope ${(scopesFor(operation) ?? ['inference']).join(' or ')}`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function streams({ responses }: Described): string {
  const types = Object.values(responses).flatMap(({ content = {} }) => Object.keys(content));
  return types.includes('text/event-stream')
    ? ' With `"stream": true`, the answer is [server-sent events](streaming.md).'
    : '';
}

function parametersOf({ parameters = [] }: Described): readonly string[] {
  if (parameters.length === 0) return [];
  const rows = parameters.map(
    (one) => `| \`${one.name}\` | ${one.in}${one.required === true ? ', required' : ''} | ${cell(one.description)} |`,
  );
  return [['| Parameter | In | Meaning |', '|---|---|---|', ...rows].join('\n')];
}

function cell(description = ''): string {
  return description.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function curl(method: string, path: string, { requestBody }: Described, example: OperationExample | undefined): string {
  const isPublic = whoMay(method, path) === 'anybody';
  const isForm = requestBody !== undefined && Object.hasOwn(requestBody.content, 'multipart/form-data');
  const body = example?.request;
  const options = [
    ...(method === 'get' || body !== undefined || isForm ? [] : [`-X ${method.toUpperCase()}`]),
    ...(method === 'patch' && body !== undefined ? ['-X PATCH'] : []),
    `"$BASE${example?.path ?? path}"`,
    ...(isPublic ? [] : ['-H "authorization: Bearer $KEY"']),
    ...(isForm ? ['-F purpose=batch', '-F file=@requests.jsonl'] : []),
    ...(body === undefined ? [] : ["-H 'content-type: application/json'", `-d '${JSON.stringify(body)}'`]),
  ];
  return `curl -s ${options.join(' \\\n  ')}`;
}

function answerOf({ status, response }: OperationExample): string {
  const text = typeof response === 'string' ? response.trimEnd() : JSON.stringify(response, null, 2);
  return `Answer, with the status ${status}:\n\n\`\`\`json\n${text}\n\`\`\``;
}
