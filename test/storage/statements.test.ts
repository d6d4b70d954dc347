import { describe, expect, it } from 'vitest';
import {
  accountStatements as postgresStatements,
  workerStatements as postgresWorkerStatements,
} from '../../src/storage/postgres/statements.ts';
import {
  ACCOUNT_STATEMENTS as SQLITE_STATEMENTS,
  WORKER_STATEMENTS as SQLITE_WORKER_STATEMENTS,
} from '../../src/storage/sqlite/statements.ts';

const POSTGRES = postgresStatements('s');
const ALL = [...Object.entries(SQLITE_STATEMENTS), ...Object.entries(POSTGRES)];
/** A part of a statement that reads or changes rows, and its conditions. */
const TOUCHING =
  /\b(?:FROM|UPDATE|JOIN|INTO)\s+(?:s\.)?(?:batches|items|requests|outcomes|tasks|keys|files|file_pieces)\b/g;
const CONDITION = /\baccount\s*=\s*:account\b/g;
const INSERTED = /INSERT INTO (?:s\.)?\w+(?: AS known)? \(account,[^)]*\)\s*(?:VALUES \(:account,|SELECT :account,)/;

describe('the statements of stores', () => {
  it.each(ALL)('%s asks for rows of one account', (_, text) => {
    expect(text).toMatch(text.startsWith('INSERT') ? INSERTED : /WHERE[\s\S]*\baccount\s*=\s*:account\b/);
  });

  it.each(ALL)('%s names the account for every table that it touches', (_, text) => {
    const inserted = text.match(/INSERT INTO/g)?.length ?? 0;
    // Rows that are joined by their account need one condition for both.
    const joined = text.match(/JOIN \w+ USING \(account,/g)?.length ?? 0;
    const conditions = text.match(CONDITION)?.length ?? 0;
    const touched = text.match(TOUCHING)?.length ?? 0;
    expect(conditions + inserted + joined).toBeGreaterThanOrEqual(touched);
  });

  it('are on behalf of no account where workers look for something to do, and nowhere else', () => {
    expect(Object.keys(SQLITE_WORKER_STATEMENTS)).toEqual([
      'claimTasks',
      'findShared',
      'nextTask',
      'findOver',
      'findOverFiles',
      'deleteOldKeys',
    ]);
    expect(Object.keys(postgresWorkerStatements('s'))).toEqual([
      'now',
      'claimTasks',
      'findShared',
      'nextTask',
      'hideOver',
      'findOverFiles',
      'deleteOldKeys',
    ]);
  });

  it('have the clock of the database in PostgreSQL, and not that of the transaction', () => {
    const texts = Object.values({ ...POSTGRES, ...postgresWorkerStatements('s') }).join('\n');
    expect(texts).toContain('clock_timestamp()');
    expect(texts).not.toMatch(/\bnow\(\)|current_timestamp/i);
  });
});
