/** The errors that calls of a router reject with. */
import type { Availability, ErrorDetail, ErrorType } from './error.ts';
import type { JsonObject } from './json.ts';
import type { RouterMetadata } from './metadata.ts';

/** Marks our errors across copies of this package: `instanceof` fails when two of them are loaded. */
const ROUTER_ERROR = Symbol.for('signalbox.RouterError');
const CONFIG_ERROR = Symbol.for('signalbox.ConfigError');

/** Frames of the stack that are kept where the program that calls is to blame: those nearest to it. */
const KEPT_FRAMES = 3;

/**
 * Keeps the end of an error's stack, without Node's own frames: what ends a program is printed with its stack and its
 * members, and the sentence at the top should still be in sight where a terminal ends.
 */
function keepStackOfCaller(error: Error): void {
  const [, ...frames] = (error.stack ?? '').split('\n    at ');
  const kept = frames.filter((frame) => !frame.includes('node:internal/')).slice(-KEPT_FRAMES);
  error.stack = [`${error.name}: ${error.message}`, ...kept].join('\n    at ');
}

/** Sets members that programs read and that are not printed with an error. */
function setUnprinted(error: Error, members: Readonly<Record<string | symbol, unknown>>): void {
  for (const name of Reflect.ownKeys(members)) Object.defineProperty(error, name, { value: members[name] });
}

/** What a {@link RouterError} is made of. */
export interface RouterErrorOptions {
  /** HTTP status (contract: errors). */
  readonly status: number;
  /** Kind of the error, such as `rate_limit_exceeded`: what programs branch on. */
  readonly errorType: ErrorType;
  readonly message: string;
  /** Context for the caller: provider, its code, earlier errors and so on. */
  readonly metadata?: JsonObject | undefined;
  /** Present when no endpoint could serve the request. */
  readonly availability?: Availability | undefined;
  /** Milliseconds after which the same request may work. */
  readonly retryAfterMs?: number | undefined;
  /** False when the same request cannot succeed by being sent again. */
  readonly retryable?: boolean | undefined;
  readonly routerMetadata?: RouterMetadata | undefined;
  /** Generation id, when the request had got one. */
  readonly generationId?: string | undefined;
}

/** The one error that calls of a router reject with, and that HTTP answers are made from. */
export class RouterError extends Error {
  override readonly name = 'RouterError';
  /** HTTP status that goes with this error. */
  readonly status: number;
  /** Kind of the error, such as `rate_limit_exceeded`: what programs branch on. */
  readonly errorType: ErrorType;
  readonly metadata: JsonObject;
  declare readonly availability: Availability | undefined;
  /** Milliseconds after which the same request may work; undefined when unknown. */
  declare readonly retryAfterMs: number | undefined;
  /** False when the same request cannot succeed by being sent again; undefined when unknown. */
  declare readonly retryable: boolean | undefined;
  declare readonly routerMetadata: RouterMetadata | undefined;
  declare readonly generationId: string | undefined;

  constructor(options: RouterErrorOptions) {
    super(options.message);
    this.status = options.status;
    this.errorType = options.errorType;
    this.metadata = options.metadata ?? {};
    const { availability, retryAfterMs, retryable, routerMetadata, generationId } = options;
    setUnprinted(this, {
      [ROUTER_ERROR]: true,
      availability,
      retryAfterMs,
      retryable,
      routerMetadata,
      generationId,
    });
    if (isFaultOfCaller(options.status)) keepStackOfCaller(this);
  }

  /** True for a RouterError of any copy of this package. */
  static isInstance(value: unknown): value is RouterError {
    return typeof value === 'object' && value !== null && ROUTER_ERROR in value;
  }

  /** The `error` member of an error body or an error chunk (contract: errors; gaps 7.1). */
  toDetail(): ErrorDetail {
    const { status, errorType, availability } = this;
    return {
      code: status,
      message: this.message,
      metadata: { ...this.metadata, error_type: errorType },
      ...(availability === undefined ? {} : { error_type: errorType, http_status: status, availability }),
    };
  }
}

/** Whether a status blames the request itself, and not the time at which it came. */
function isFaultOfCaller(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** The error type that goes with a status, where nothing more is to be said. */
const TYPE_OF_STATUS = {
  400: 'invalid_request',
  401: 'authentication',
  403: 'permission_denied',
  404: 'not_found',
  408: 'timeout',
  409: 'precondition_failed',
  413: 'payload_too_large',
  415: 'invalid_request',
  422: 'unprocessable',
  500: 'server',
  502: 'provider_unavailable',
} as const satisfies Readonly<Record<number, ErrorType>>;

/** The error of a status, with the error type that goes with it. */
export function errorOf(
  status: keyof typeof TYPE_OF_STATUS,
  message: string,
  details: Omit<RouterErrorOptions, 'status' | 'errorType' | 'message'> = {},
): RouterError {
  return new RouterError({ ...details, status, errorType: TYPE_OF_STATUS[status], message });
}

/** One thing that is wrong with a configuration. */
export interface ConfigProblem {
  /** Where, for example `providers.groq.baseURL`. */
  readonly path: string;
  /** What would be right, as the end of a sentence that begins with the path. */
  readonly problem: string;
}

/** Everything that is wrong with a configuration, at once. Thrown at start-up, never while serving. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** Not printed with the error: its message has all of them. */
  declare readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(({ path, problem }) => `${path} ${problem}${problem.endsWith('?') ? '' : '.'}`).join('\n'));
    setUnprinted(this, { [CONFIG_ERROR]: true, problems });
    keepStackOfCaller(this);
  }

  /** True for a ConfigError of any copy of this package. */
  static isInstance(value: unknown): value is ConfigError {
    return typeof value === 'object' && value !== null && CONFIG_ERROR in value;
  }
}
