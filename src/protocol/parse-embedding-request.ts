import { read } from './accept/schema.ts';
import { checkInput, isMultimodalInput, isTokenInput } from './embedding-input.ts';
import { type EmbeddingRequest, embeddingRequestSchema, multimodalInputSchema } from './embedding-request.ts';
import { type Checked, failed, faultAt, passed } from './fault.ts';
import { inspectJson, isJsonObject } from './json.ts';
import { nameOf } from './issues.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from './limits.ts';

/** Fields of chat requests that would do nothing here, and must not reach a provider as if they were its own. */
const CHAT_ONLY: Readonly<Record<string, string>> = {
  messages: 'belongs to chat requests; what is to be embedded goes into input',
  tools: 'belongs to chat requests; embeddings call no tools',
  plugins: 'belongs to chat requests; plugins do not run for embeddings',
  preset: 'belongs to chat requests; presets do not apply to embeddings',
};

/** Checks the body of `POST /embeddings` (gaps 10). What is wrong comes back as data, with status 400. */
export function parseEmbeddingRequest(
  body: unknown,
  limits: RequestLimits = DEFAULT_REQUEST_LIMITS,
): Checked<EmbeddingRequest> {
  if (!isJsonObject(body)) return failed(faultAt('', `must be a JSON object with an "input", not ${nameOf(body)}`));
  const stray = Object.keys(CHAT_ONLY).find((name) => body[name] != null);
  if (stray !== undefined) return failed(faultAt(stray, CHAT_ONLY[stray] ?? ''));
  const { input, ...rest } = body;
  const inputFault = checkInput(input, limits);
  if (inputFault !== undefined) return failed(inputFault);
  const inspection = inspectJson(isTokenInput(input) ? rest : body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const parsed = read(embeddingRequestSchema, rest);
  if (!parsed.ok) return failed(faultAt(parsed.path, parsed.problem));
  if (!isMultimodalInput(input)) return passed({ ...parsed.value, input } as EmbeddingRequest);
  const multimodal = read(multimodalInputSchema, { input });
  if (!multimodal.ok) return failed(faultAt(multimodal.path, multimodal.problem));
  return passed({ ...parsed.value, ...multimodal.value } as unknown as EmbeddingRequest);
}
