import { checkInput, isMultimodalInput, isTokenInput } from './embedding-input.ts';
import { type EmbeddingRequest, embeddingRequestSchema, multimodalInputSchema } from './embedding-request.ts';
import { type Checked, failed, faultAt, passed } from './fault.ts';
import { FIRST_PROBLEM } from './fields.ts';
import { inspectJson } from './inspect-json.ts';
import { describeIssues, nameOf } from './issues.ts';
import { isJsonObject } from './json.ts';
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
  const parsed = embeddingRequestSchema.safeParse(rest, FIRST_PROBLEM);
  if (!parsed.success) return failed(explain(parsed.error.issues, rest));
  if (!isMultimodalInput(input)) return passed({ ...parsed.data, input } as EmbeddingRequest);
  const multimodal = multimodalInputSchema.safeParse({ input }, FIRST_PROBLEM);
  if (!multimodal.success) return failed(explain(multimodal.error.issues, { input }));
  return passed({ ...parsed.data, ...multimodal.data } as unknown as EmbeddingRequest);
}

function explain(issues: Parameters<typeof describeIssues>[0], value: unknown): ReturnType<typeof faultAt> {
  const { path, problem } = describeIssues(issues, value);
  return faultAt(path, problem);
}
