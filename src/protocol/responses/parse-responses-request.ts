import type * as z from 'zod';
import { type Checked, type RequestFault, failed, faultAt, passed } from '../fault.ts';
import { FIRST_PROBLEM } from '../fields.ts';
import { inspectJson } from '../inspect-json.ts';
import { describeIssues, nameOf } from '../issues.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { RequestLimits } from '../limits.ts';
import { checkItems } from './check-items.ts';
import { checkStateless } from './check-stateless.ts';
import { schemaOfItem } from './input-item.ts';
import { type ResponsesRequest, responsesRequestSchema } from './responses-request.ts';
import { schemaOfChoice, schemaOfTool } from './tool.ts';

/**
 * Checks what is peculiar to the body of `POST /responses` (gaps 10). What it shares with chat completions is checked
 * there, under the same names. 400 for syntax, shape, range and for what needs stored answers, 422 for a body that
 * contradicts itself.
 */
export function parseResponsesRequest(body: unknown, limits: RequestLimits): Checked<ResponsesRequest> {
  if (!isJsonObject(body)) return failed(faultAt('', `must be a JSON object with an "input", not ${nameOf(body)}`));
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const fault =
    checkStateless(body) ??
    mismatch(responsesRequestSchema, body, '') ??
    mismatchInList(body, 'input', schemaOfItem, limits.messages) ??
    mismatchInList(body, 'tools', schemaOfTool, limits.tools) ??
    (body['tool_choice'] == null
      ? undefined
      : mismatch(schemaOfChoice(body['tool_choice']), body['tool_choice'], 'tool_choice'));
  if (fault !== undefined) return failed(fault);
  const request = body as unknown as ResponsesRequest;
  const contradiction = checkItems(request);
  return contradiction === undefined ? passed(request) : failed(contradiction);
}

/** What is wrong with one value, if anything, told under its path in the body. */
function mismatch(schema: z.ZodType, value: unknown, path: string): RequestFault | undefined {
  const parsed = schema.safeParse(value, FIRST_PROBLEM);
  if (parsed.success) return undefined;
  const { path: inner, problem } = describeIssues(parsed.error.issues, value);
  const joint = path === '' || inner === '' || inner.startsWith('[') ? '' : '.';
  return faultAt(`${path}${joint}${inner}`, problem);
}

function mismatchInList(
  body: JsonObject,
  name: 'input' | 'tools',
  schemaOf: (entry: JsonObject) => z.ZodType,
  most: number,
): RequestFault | undefined {
  const list = body[name];
  if (!Array.isArray(list)) return undefined;
  if (list.length > most) return faultAt(name, `must have at most ${most} items, not ${list.length}`);
  for (const [index, entry] of (list as readonly JsonObject[]).entries()) {
    const fault = mismatch(schemaOf(entry), entry, `${name}[${index}]`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
