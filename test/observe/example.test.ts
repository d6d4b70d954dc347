import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readProjectFile } from '../support/source-files.ts';

/** Times differ from run to run; nothing else does. */
function withoutTimes(text: string): string {
  return text.replace(/ *\d+ ms/g, ' _ ms').trim();
}

it('prints the trace that the documentation shows', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const printed = execFileSync(process.execPath, ['examples/observability/trace.ts'], { cwd: root, encoding: 'utf8' });
  const [, shown = ''] = /```text\n([\s\S]*?)```/.exec(readProjectFile('docs/observability.md')) ?? [];
  expect(shown).toContain('execute_tool');
  expect(withoutTimes(printed)).toBe(withoutTimes(shown));
});
