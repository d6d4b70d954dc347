/** What is wrong with a request, as data, and how its values are quoted. */
import { cut } from '../schema/form.ts';
import type { Availability, ErrorType } from './error.ts';

/** What is wrong with a request, found before anything was sent upstream. */
export interface RequestFault {
  readonly status: 400 | 403 | 404 | 413 | 422;
  readonly errorType: ErrorType;
  /** Where, for example `messages[2].content[0].image_url.url`; empty for the body as a whole. */
  readonly path: string;
  /** One sentence: where, what was wrong, what would be right. */
  readonly message: string;
  /** Present when no model or endpoint can serve the request. */
  readonly availability?: Availability;
}

/** A checked value, or what is wrong with it. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly fault: RequestFault };

/** A value that passed. */
export function passed<Value>(value: Value): Checked<Value> {
  return { ok: true, value };
}

/** A value that did not pass. */
export function failed(fault: RequestFault): Checked<never> {
  return { ok: false, fault };
}

/** Builds a fault with the sentence "`path` problem."; a problem that begins with its subject in quotes is a sentence. */
export function faultAt(path: string, problem: string, status: RequestFault['status'] = 400): RequestFault {
  const errorType = status === 422 ? 'unprocessable' : status === 413 ? 'payload_too_large' : typeOfPath(path);
  const subject = path === '' ? 'The request body' : path;
  const end = /[.!?]$/.test(problem) ? '' : '.';
  const start = problem.startsWith("'") ? '' : `${subject} `;
  return { status, errorType, path, message: `${start}${problem}${end}` };
}

function typeOfPath(path: string): ErrorType {
  return /^(?:messages|input)(?:$|\[\d+\](?:$|\.(?:role|content)))/.test(path) ? 'invalid_prompt' : 'invalid_request';
}

/** Characters of what a caller sent that an error may repeat. */
const MAX_ECHO = 100;
/** Share of that, for errors that repeat a key that the caller made up and the value under it. */
const MAX_VALUE = 64;

/** A name of the caller without quotes, cut to what an error may repeat. */
export function shortened(name: string): string {
  return cut(name, MAX_ECHO);
}

/** A text of the caller in quotes, cut to what an error may repeat. */
export function echo(text: string): string {
  return JSON.stringify(cut(text, MAX_VALUE));
}
