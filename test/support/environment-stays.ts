import { afterAll } from 'vitest';

/**
 * Test files share a process, so one that changes `process.env` for good changes it for all that follow: it once broke
 * tests in an order that only CI had. Every file must leave the environment as it was; `vi.stubEnv` with
 * `vi.unstubAllEnvs` does.
 */
const before = process.env;
const values = { ...process.env };

afterAll(() => {
  const now = process.env;
  const isReplaced = now !== before;
  // What runs the tests has variables of its own.
  const changed = [...new Set([...Object.keys(values), ...Object.keys(now)])].filter(
    (name) => !name.startsWith('VITEST') && now[name] !== values[name],
  );
  process.env = before;
  for (const name of changed) {
    if (values[name] === undefined) delete before[name];
    else before[name] = values[name];
  }
  if (isReplaced) throw new Error('this file replaced process.env for all tests after it: use vi.stubEnv');
  if (changed.length > 0) {
    throw new Error(`this file left ${changed.join(', ')} changed in process.env: call vi.unstubAllEnvs afterwards`);
  }
});
