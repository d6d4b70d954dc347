import { describe, expect, it } from 'vitest';
import { problemName } from '../../src/queue/task-pump.ts';
import { StorageError } from '../../src/contracts/storage-error.ts';

const ADDRESS = 'postgres://admin:hunter2@db.internal:5432/app';

function coded(code: string, message = `cannot reach ${ADDRESS}`): Error {
  return Object.assign(new Error(message), { code });
}

/** As pg-boss copies errors of its workers. */
function copied(error: Error): object {
  const { message, stack } = error;
  return Object.assign({}, error, { message, stack, queue: 'signalbox-tasks' });
}

describe('what is told of an error', () => {
  it.each([
    ['its name', new TypeError(ADDRESS), 'TypeError'],
    ['its code', coded('ECONNREFUSED'), 'Error, ECONNREFUSED'],
    ['a code of PostgreSQL', coded('57P01'), 'Error, 57P01'],
    ['the code of a copy', copied(coded('42P01')), 'Error, 42P01'],
    ['the name of a copy', copied(new RangeError(ADDRESS)), 'RangeError'],
    [
      'the first code of several',
      new AggregateError([coded('ENOTFOUND'), coded('ETIMEDOUT')]),
      'AggregateError, ENOTFOUND',
    ],
    ['the code of the cause', new Error(ADDRESS, { cause: coded('ECONNRESET') }), 'Error, ECONNRESET'],
    ['the reason of a storage', new StorageError('full', ADDRESS), 'StorageError, full'],
    ['that the connection broke', new Error('Connection terminated unexpectedly'), 'Error, connection terminated'],
    ['nothing of a text', ADDRESS, 'string without a name or a code'],
    ['nothing of an object with other things', { message: ADDRESS, code: 7 }, 'object without a name or a code'],
    ['nothing of nothing', undefined, 'undefined without a name or a code'],
    [
      'no name or code that is a sentence',
      { name: ADDRESS, code: `at ${ADDRESS}`, stack: `${ADDRESS}\n` },
      'object without a name or a code',
    ],
  ])('%s', (_, error, told) => {
    expect(problemName(error)).toBe(told);
  });
});
