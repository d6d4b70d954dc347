import { type Checked, failed, faultAt, passed } from '../fault.ts';
import { FIRST_PROBLEM } from '../fields.ts';
import { inspectJson } from '../inspect-json.ts';
import { describeIssues, nameOf } from '../issues.ts';
import { isJsonObject } from '../json.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from '../limits.ts';
import { checkMessages } from './check-messages.ts';
import { type MessagesRequest, messagesRequestSchema } from './messages-request.ts';

/** Where a request asks for a conversation that the server keeps. Its clients know how to go on without one. */
export const THREAD_PATH = 'thread';

const NO_THREADS =
  'is not supported here: the next request may go to another provider, so send the whole conversation each time';

/**
 * Checks the body of `POST /messages`. What is wrong comes back as data, with the path in the caller's own body.
 * Fields that it shares with the chat request, such as `provider`, are checked there.
 */
export function parseMessagesRequest(
  body: unknown,
  limits: RequestLimits = DEFAULT_REQUEST_LIMITS,
): Checked<MessagesRequest> {
  if (!isJsonObject(body)) {
    return failed(faultAt('', `must be a JSON object with "messages" and "max_tokens", not ${nameOf(body)}`));
  }
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  if (body['thread'] != null) return failed(faultAt(THREAD_PATH, NO_THREADS));
  const parsed = messagesRequestSchema.safeParse(body, FIRST_PROBLEM);
  if (!parsed.success) {
    const { path, problem } = describeIssues(parsed.error.issues, body);
    return failed(faultAt(path, problem));
  }
  // What passed is given back as it came: members that no schema names stay where they are.
  const request = body as unknown as MessagesRequest;
  const fault = checkMessages(request);
  return fault === undefined ? passed(request) : failed(fault);
}
