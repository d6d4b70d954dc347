/** The error that stores fail with. */

/** Marks our errors across copies of this package: `instanceof` fails when two of them are loaded. */
const STORAGE_ERROR = Symbol.for('signalbox.StorageError');

/** Why a store cannot do its work. */
export type StorageErrorReason =
  /** The package or the part of the runtime that it needs is not there. */
  | 'driver_missing'
  /** It cannot be reached or opened. */
  | 'unavailable'
  /** Its data was written by a newer version of this package. */
  | 'schema_too_new'
  /** Its tables are older, and making them newer was forbidden. */
  | 'schema_too_old'
  /** Its tables are not those that its version says. */
  | 'schema_changed'
  /** It holds something else. */
  | 'not_ours'
  /** It is damaged. */
  | 'corrupt'
  | 'read_only'
  /** No room is left. */
  | 'full'
  /** Somebody else held it for too long, or it did not answer in time. */
  | 'busy'
  /** It was not opened, or was closed. */
  | 'not_open'
  /** Anything else. */
  | 'failed';

/**
 * A store cannot do its work. Its text says what would help, and never repeats what is stored.
 *
 * @example
 * ```ts
 * if (StorageError.isInstance(error) && error.reason === 'full') pageSomebody();
 * ```
 */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly reason: StorageErrorReason;
  /** The driver's own code, for example `SQLITE_FULL` or `57P01`. */
  readonly code: string | undefined;

  constructor(reason: StorageErrorReason, message: string, code?: string) {
    super(message);
    this.reason = reason;
    this.code = code;
    Object.defineProperty(this, STORAGE_ERROR, { value: true });
  }

  /** True for a StorageError of any copy of this package. */
  static isInstance(value: unknown): value is StorageError {
    return typeof value === 'object' && value !== null && STORAGE_ERROR in value;
  }
}
