import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type OpenApiDocument, openApiDocument } from '../../src/http/openapi/text.ts';

/** An answer to be held against the OpenAPI document. */
export interface SeenAnswer {
  readonly method: string;
  /** Path below the mount, without the query. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
  /** Names of all headers, where they are all the router's own. */
  readonly headers?: readonly string[];
}

interface MediaType {
  readonly schema: { readonly $ref?: string; readonly 'x-event-schema'?: { readonly $ref: string } };
}

interface DocumentedResponse {
  readonly $ref?: string;
  readonly content: Readonly<Record<string, MediaType>>;
  readonly headers?: Readonly<Record<string, object>>;
}

/** Headers that say how an answer travels, and not what it is. */
const OF_HTTP = /^(?:content-type|cache-control|x-accel-buffering|x-content-type-options|vary|access-control-.*)$/;

/** The neutral spelling of the name of a header, in lower case. */
export function neutralHeader(name: string): string {
  return name
    .toLowerCase()
    .replace(/^x-openrouter-/, 'x-router-')
    .replace('-experimental-metadata', '-metadata');
}

const DOCUMENT = 'https://signalbox.test/openapi.json';

let known: { readonly document: OpenApiDocument; readonly ajv: Ajv2020 } | undefined;

/** Made once for each process that runs tests. */
function documentAndValidator(): NonNullable<typeof known> {
  if (known !== undefined) return known;
  const document = openApiDocument();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: DOCUMENT, components: { schemas: closed(document.components['schemas']) } });
  known = { document, ajv };
  return known;
}

/**
 * What the OpenAPI document says against an answer, or undefined. It is read more strictly than by clients: in our own
 * objects, a member that it does not name is a fault too.
 */
export function openApiFault(answer: SeenAnswer): string | undefined {
  const { method, path, status, text } = answer;
  const where = `${method} ${path} → ${status}`;
  const response = responseOf(answer);
  if (typeof response === 'string') return `${where}: ${response}`;
  const type = (answer.contentType ?? '').split(';')[0] ?? '';
  const media = response.content[type];
  if (media === undefined) return `${where}: the content type ${type} is not documented`;
  const documented = new Set(Object.keys(response.headers ?? {}).map(neutralHeader));
  const strange = answer.headers?.find((name) => !OF_HTTP.test(name) && !documented.has(neutralHeader(name)));
  if (strange !== undefined) return `${where}: the header ${strange} is not documented`;
  const { $ref, 'x-event-schema': events } = media.schema;
  if (events !== undefined) return firstOf(dataOf(text), (data) => faultOf(events.$ref, data, where));
  return $ref === undefined ? undefined : faultOf($ref, text, where);
}

/** @throws Error when the OpenAPI document says something else than this answer. */
export function expectDocumented(answer: SeenAnswer): void {
  const fault = openApiFault(answer);
  if (fault !== undefined) throw new Error(`The OpenAPI document says otherwise. ${fault}`);
}

function firstOf<Item>(items: readonly Item[], find: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function responseOf({ method, path, status }: SeenAnswer): DocumentedResponse | string {
  const { document } = documentAndValidator();
  const trimmed = path.length > 1 ? path.replace(/\/$/, '').replace(/%2f/gi, '/') : path;
  const found = Object.entries(document.paths).find(([template]) =>
    new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(trimmed),
  );
  if (found === undefined) return 'the path is not documented';
  const [, operations] = found;
  // A method that the path does not take is answered like an error of those that it does.
  const operation = operations[method.toLowerCase()] ?? Object.values(operations)[0];
  const { responses } = operation as { responses: Readonly<Record<string, DocumentedResponse>> };
  const response = responses[String(status)];
  if (response?.$ref === undefined) return response ?? 'the status is not documented';
  const name = response.$ref.split('/').pop() ?? '';
  const shared = document.components['responses'] as Readonly<Record<string, DocumentedResponse>>;
  return shared[name] ?? `${response.$ref} is not there`;
}

/** Data of the events that are JSON. */
function dataOf(frames: string): readonly string[] {
  return frames
    .split('\n\n')
    .flatMap((frame) => frame.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => line.slice('data: '.length))
    .filter((data) => data !== '[DONE]');
}

function faultOf(reference: string, text: string, where: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text.replaceAll('"openrouter_metadata":', '"router_metadata":'));
  } catch {
    return `${where}: not JSON: ${text.slice(0, 200)}`;
  }
  const validate = validatorOf(reference);
  if (validate(value)) return undefined;
  const faults = (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  return `${where} (${reference}): ${faults.slice(0, 4).join('; ')} in ${text.slice(0, 600)}`;
}

function validatorOf(reference: string): ValidateFunction {
  const { ajv } = documentAndValidator();
  const validate = ajv.getSchema(`${DOCUMENT}${reference}`);
  if (validate === undefined) throw new Error(`${reference} is not there`);
  return validate as ValidateFunction;
}

/** Makes objects that list their members take no others, apart from those that say that they do. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, closed(member)]));
  const isObject = copy['type'] === 'object' && copy['properties'] !== undefined;
  return isObject && copy['additionalProperties'] === undefined ? { ...copy, additionalProperties: false } : copy;
}

/** Bases of the calls that are watched now: several may run at once, and the last one to end puts `fetch` back. */
const watchedBases: string[] = [];
let unwatchedFetch = globalThis.fetch;

/** Runs something with a `fetch` whose answers from routers must be what the OpenAPI document says. */
export async function withDocumentedFetch<Result>(base: string, run: () => Promise<Result>): Promise<Result> {
  if (watchedBases.length === 0) {
    unwatchedFetch = globalThis.fetch;
    globalThis.fetch = documentedFetch;
  }
  watchedBases.push(base);
  try {
    return await run();
  } finally {
    watchedBases.splice(watchedBases.indexOf(base), 1);
    if (watchedBases.length === 0) globalThis.fetch = unwatchedFetch;
  }
}

const documentedFetch: typeof fetch = async (input, init) => {
  const response = await unwatchedFetch(input, init);
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  const base = watchedBases.find((one) => pathname.startsWith(one));
  // Hosts answer too; only routers name their calls.
  const isOurs = base !== undefined && response.headers.has('x-request-id');
  if (!isOurs || response.body === null || init?.method === 'HEAD') return response;
  return watched(response, init?.method ?? 'GET', pathname.slice(base.length));
};

/** The same answer, which is checked when it has been read to its end, and then fails where it is not as documented. */
function watched(response: Response, method: string, path: string): Response {
  const { status, headers } = response;
  const decoder = new TextDecoder();
  let text = '';
  const watch = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(bytes, controller) {
      text += decoder.decode(bytes, { stream: true });
      controller.enqueue(bytes);
    },
    flush() {
      expectDocumented({ method, path, status, contentType: headers.get('content-type') ?? undefined, text });
    },
  });
  return new Response(response.body?.pipeThrough(watch) ?? null, { status, headers });
}
