import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
}

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Manifest;
const doors = Object.keys(manifest.exports).filter((door) => !door.endsWith('.json'));

/** The source of the main door, with the lists of exports that it takes over as a whole. */
function sourceOfMainDoor(): string {
  const index = new URL('../src/index.ts', import.meta.url);
  const source = readFileSync(index, 'utf8');
  const lists = [...source.matchAll(/export (?:type )?\* from '([^']+)'/g)];
  return [source, ...lists.map(([, path = '']) => readFileSync(new URL(path, index), 'utf8'))].join('\n');
}

/** Types leave no trace at run time, so their names are read from the source of the main door. */
function typeNames(): readonly string[] {
  const source = sourceOfMainDoor();
  const declared = [...source.matchAll(/^export (?:interface|type) (\w+)/gm)].map((match) => match[1] ?? '');
  return [...source.matchAll(/export type \{([^}]+)\}/g)]
    .flatMap((match) => (match[1] ?? '').split(','))
    .concat(declared)
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .sort();
}

describe('the public surface', () => {
  it.each(doors)('%s exports exactly these names', async (door) => {
    const names = Object.keys((await import(door.replace('.', 'signalbox'))) as object).sort();
    expect(names).toMatchSnapshot();
  });

  it('exports exactly these types from the main door', () => {
    expect(typeNames()).toMatchSnapshot();
  });
});
